"""An arm in words and tables: what print(arm) and `forearm info` show."""

from __future__ import annotations

import math

from forearm.arm.arm import Arm
from forearm.arm.joint import DH, Joint
from forearm.arm.tree import link_before_fingers, most_articulated_leaf
from forearm.tables import Report, number


def arm_report(arm: Arm) -> Report:
    """The arm as a headline, a table of joints, one of links and one of drives."""
    drives = [_drives(arm)] if any(j.has_drive for j in arm.tree) else []
    return Report(before=headline(arm).splitlines(), parts=[_joints(arm), _links(arm), *drives])


def headline(arm: Arm) -> str:
    """Name, size and the settings that are not tables."""
    shape = "serial chain" if arm.is_serial else "tree"
    lines = [
        f"{arm.name}: {arm.n} joints, {shape}, {len(arm.links)} links, {number(arm.mass)} kg",
        f"gravity {_vector(arm.gravity)} m/s^2 in the base frame; hand on {arm.hand.link}, "
        f"{_vector(arm.hand.pose[:3, 3])} m from its origin",
    ]
    leaf = most_articulated_leaf(arm.links, arm.tree)
    if arm.hand.link == link_before_fingers(leaf, arm.tree):
        lines.append(f"{arm.hand.link} is the last link before the fingers, such as {leaf}")
    return "\n".join(lines)


def _joints(arm: Arm) -> Report:
    """Every joint: kind, place, limits of position, speed and effort. Angles in degrees, for people."""
    dh = next((j.placement.convention for j in arm.tree if isinstance(j.placement, DH)), None)
    if dh and all(isinstance(j.placement, DH) for j in arm.tree):
        header = ["joint", "kind", "a m", "alpha deg", "d m", "theta deg", "from", "to"]
        title = f"Joints, {dh} Denavit-Hartenberg (q adds to theta, to d if it slides)"
        rows = [[j.name, _kind_cell(j), *_dh_cells(j.placement), *_limit_cells(j)] for j in arm.tree]  # type: ignore[arg-type]
    else:
        header = ["joint", "kind", "parent", "child", "xyz m", "rpy deg", "axis", "from", "to"]
        title = "Joints (frames in the parent link)"
        rows = []
        for j in arm.tree:
            place = (
                _dh_words(j.placement)
                if isinstance(j.placement, DH)
                else [
                    _vector(j.placement.xyz),
                    _vector([math.degrees(v) for v in j.placement.rpy]),
                    "-" if j.kind == "fixed" else _vector(j.placement.axis),
                ]
            )
            rows.append([j.name, _kind_cell(j), j.parent, j.child, *place, *_limit_cells(j)])
    for name, cells in (("max speed", _speed_cell), ("max effort", _effort_cell)):
        column = [cells(joint) for joint in arm.tree]
        if any(cell != "-" for cell in column):
            header = [*header, name]
            rows = [[*row, cell] for row, cell in zip(rows, column, strict=True)]
    return Report(header, rows, title)


def _links(arm: Arm) -> Report:
    """Every link: mass, centre of mass, inertia about it, in its own frame."""
    header = ["link", "mass kg", "com x m", "y", "z", "Ixx kg m^2", "Iyy", "Izz", "Ixy", "Ixz", "Iyz"]
    rows = []
    for link in arm.links:
        moments = [link.inertia[i, k] for i, k in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        rows.append([link.name, *(number(v, 5) for v in (link.mass, *link.com, *moments))])
    title = "Links (inertia about the centre of mass, axes of the link's frame)"
    return Report(header, rows, title)


def _drives(arm: Arm) -> Report:
    """Every joint that has a drive: motor, friction, and whether bearings and a
    transmission are described.
    """
    header = ["joint", "gear", "rotor kg m^2", "Kt N m/A", "R ohm", "viscous", "Coulomb + -", "side", "more"]
    rows = []
    for j in arm.tree:
        if not j.has_drive:
            continue
        m, f = j.motor, j.friction
        constants = (
            (m.gear_ratio, m.rotor_inertia, m.torque_constant, m.resistance) if m is not None else (None,) * 4
        )
        motor = [number(v) for v in constants]
        friction = ["-"] * 3 if f is None else [number(f.viscous), " ".join(map(number, f.coulomb)), f.side]
        more = [f"{b.kind} bearing" for b in j.bearings] + (["transmission"] if j.transmission else [])
        more += ["Stribeck"] if f is not None and f.static is not None else []
        rows.append([j.name, *motor, *friction, ", ".join(more) or "-"])
    title = "Drives (friction in N m and N m s/rad on the side said)"
    return Report(header, rows, title)


def _kind_cell(joint: Joint) -> str:
    """The kind of a joint, and which one it follows."""
    return f"{joint.kind}, follows {joint.mimic.joint}" if joint.mimic else joint.kind


def _dh_cells(dh: DH) -> list[str]:
    return [number(v) for v in (dh.a, math.degrees(dh.alpha), dh.d, math.degrees(dh.theta))]


def _dh_words(dh: DH) -> list[str]:
    a, alpha, d, theta = _dh_cells(dh)
    return [f"DH a {a} d {d}", f"alpha {alpha} theta {theta}", "0 0 1"]


def _limit_cells(joint: Joint) -> list[str]:
    """The ends of a joint's range, degrees or metres."""
    if joint.kind == "fixed":
        return ["-", "-"]
    unit, scale = ("deg", 180.0 / math.pi) if joint.kind == "revolute" else ("m", 1.0)
    return [f"{number(v * scale, 4)} {unit}" if math.isfinite(v) else "-" for v in joint.limits]


def _speed_cell(joint: Joint) -> str:
    if joint.max_speed is None:
        return "-"
    unit, scale = ("deg/s", 180.0 / math.pi) if joint.kind == "revolute" else ("m/s", 1.0)
    return f"{number(joint.max_speed * scale, 4)} {unit}"


def _effort_cell(joint: Joint) -> str:
    if joint.max_effort is None:
        return "-"
    return f"{number(joint.max_effort, 4)} {'N m' if joint.kind == 'revolute' else 'N'}"


def _vector(values: object) -> str:
    return " ".join(number(float(v), 5) for v in values)  # type: ignore[attr-defined]
