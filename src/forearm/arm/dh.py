"""Build an arm from a Denavit-Hartenberg table in arrays."""

from __future__ import annotations

import math
import warnings

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import STANDARD_GRAVITY, Arm, Hand
from forearm.arm.joint import DH, Convention, Joint, Kind, Limits
from forearm.arm.link import Link
from forearm.errors import InputError, ModelWarning, shorten
from forearm.records import anything, choice, flat, record
from forearm.spatial import Floats, parallel_axis
from forearm.values import as_floats, as_pose, frozen_array

MOST_RADIANS = 2.0 * math.pi * 1.001  # of a constant angle: a larger one is likely in degrees
GEOMETRY = ("a", "alpha", "d", "theta")
LETTERS: dict[str, Kind] = {"R": "revolute", "P": "prismatic"}


@record
class LinkMasses:
    """Mass properties of links 1 to n in their frames."""

    mass: ArrayLike | None = anything("masses (n,) of links 1 to n, kg; None: 0", default=None)
    com: ArrayLike | None = anything(
        "centres of mass (n, 3) in the links' frames, m; None: their origins", default=None
    )
    inertia: ArrayLike | None = anything(
        "tensors (n, 3, 3) in the links' axes, kg m^2; None: 0", default=None
    )
    inertia_about: str = choice(
        "reference point of `inertia`, or of each link's frame", ("com", "origin"), default="com"
    )

    def links(self, n: int) -> list[Link]:
        """The links link0, link1, ..., the first without mass."""
        shapes = {"mass": (n,), "com": (n, 3), "inertia": (n, 3, 3)}
        masses, centres, tensors = (
            np.zeros(shape) if getattr(self, name) is None else frozen_array(getattr(self, name), shape, name)
            for name, shape in shapes.items()
        )
        links = [Link(name="link0")]
        for i in range(n):
            shift = parallel_axis(masses[i], centres[i]) if self.inertia_about == "origin" else 0.0
            links.append(
                Link(name=f"link{i + 1}", mass=masses[i], com=centres[i], inertia=tensors[i] - shift)
            )
        return links


@flat(links=LinkMasses)
def from_dh(
    name: str,
    table: ArrayLike,
    *,
    convention: Convention,
    joints: str | None = None,
    links: LinkMasses | None = None,
    limits: ArrayLike | None = None,
    gravity: ArrayLike = STANDARD_GRAVITY,
    tool: ArrayLike | None = None,
) -> Arm:
    """A serial arm from a Denavit-Hartenberg table, with joints joint1, ... and links link0, link1, ...

    Args:
        name: name of the arm.
        table: rows (a, alpha, d, theta), (n, 4), m and rad, one per joint; a ModelWarning asks about
            angles of more than a turn.
        convention: "standard" or "modified".
        joints: one letter per joint, R or P, such as "RRPRRR"; None: all revolute.
        links: mass properties of links 1 to n; None: those given by mass, com and inertia.
        limits: rows (lower, upper), (n, 2), rad or m; None: unlimited.
        gravity: free-fall acceleration (3,) in the base frame, m/s^2.
        tool: the hand (4, 4) in frame n; None: frame n itself.
    """
    rows = as_floats(table, "DH table")
    if rows.ndim != 2 or rows.shape[1] != 4 or not len(rows):
        raise InputError(f"expected rows (a, alpha, d, theta), shape (n, 4), got {rows.shape}.", "DH table")
    n = len(rows)
    _ask_about_degrees(rows)
    kinds = "R" * n if joints is None else str(joints).upper()
    if len(kinds) != n or set(kinds) - set(LETTERS):
        raise InputError(f"expected {n} letters R (revolute) or P (prismatic), got {joints!r}.", "joints")
    ranges = np.tile(Limits(), (n, 1)) if limits is None else as_floats(limits, "limits")
    if ranges.shape != (n, 2):
        raise InputError(f"expected {n} pairs (lower, upper), got {shorten(limits)}.", "limits")
    chain = [
        Joint(
            name=f"joint{i + 1}",
            kind=LETTERS[kinds[i]],
            parent=f"link{i}",
            child=f"link{i + 1}",
            placement=DH(convention=convention, **dict(zip(GEOMETRY, rows[i], strict=True))),
            limits=Limits(*ranges[i]),
        )
        for i in range(n)
    ]
    hand = Hand(link=f"link{n}", pose=as_pose(np.eye(4) if tool is None else tool, "tool"))
    return Arm(
        name=name,
        links=tuple((links or LinkMasses()).links(n)),
        tree=tuple(chain),
        gravity=gravity,  # type: ignore[arg-type]
        hand=hand,
    )


def _ask_about_degrees(rows: Floats) -> None:
    """Warn of the first angle of more than a turn."""
    for i, row in enumerate(rows.tolist(), start=1):
        for name, angle in (("alpha", row[1]), ("theta", row[3])):
            if abs(angle) > MOST_RADIANS:
                warnings.warn(
                    f"DH table, row {i}, {name}: {angle:g} rad is more than a turn: it looks like degrees; "
                    "convert with np.deg2rad.",
                    ModelWarning,
                    stacklevel=4,
                )
                return
