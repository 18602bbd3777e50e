"""An arm as a notebook shows it: one line, its joints with limits and drives, the masses of its links."""

from __future__ import annotations

from forearm.arm.arm import Arm
from forearm.arm.joint import Joint
from forearm.arm.text import headline, kind_cell, limit_cells
from forearm.tables import html_lines, html_table, number


def arm_html(arm: Arm) -> str:
    """The headline and two tables, whatever comes from the arm escaped; angles in degrees, for people."""
    joints = [[j.name, kind_cell(j), *limit_cells(j), j.child, _drive(j)] for j in arm.tree]
    links = [
        [link.name, number(link.mass, 5), *(number(float(x), 4) for x in link.com)] for link in arm.links
    ]
    return "\n".join(
        [
            html_lines(headline(arm).splitlines()),
            html_table(["joint", "kind", "from", "to", "moves", "drive"], joints, "Joints"),
            html_table(["link", "mass kg", "com x m", "y", "z"], links, "Links"),
        ]
    )


def _drive(joint: Joint) -> str:
    """What there is between motor and link, in words."""
    found = [f"motor, gear {number(joint.motor.gear_ratio, 4)}"] if joint.motor is not None else []
    found += ["friction"] if joint.friction is not None else []
    found += [f"{bearing.kind} bearing" for bearing in joint.bearings]
    found += ["transmission"] if joint.transmission is not None else []
    return ", ".join(found) or "-"
