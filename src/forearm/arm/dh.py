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
from forearm.spatial import Floats, parallel_axis
from forearm.values import as_floats, as_pose, check_choice, frozen_array

MOST_RADIANS = 2.0 * math.pi * 1.001  # of a constant angle: a larger one is likely in degrees
LETTERS: dict[str, Kind] = {"R": "revolute", "P": "prismatic"}


def from_dh(
    name: str,
    table: ArrayLike,
    *,
    convention: Convention,
    joints: str | None = None,
    mass: ArrayLike | None = None,
    com: ArrayLike | None = None,
    inertia: ArrayLike | None = None,
    inertia_about: str = "com",
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
        mass: masses (n,) of links 1 to n, kg; None: 0.
        com: centres of mass (n, 3) in the links' frames, m; None: their origins.
        inertia: tensors (n, 3, 3) in the links' axes, kg m^2; None: 0.
        inertia_about: reference point of `inertia`: "com", or "origin" of each link's frame.
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
    check_choice(inertia_about, ("com", "origin"), "inertia_about")
    ranges = np.tile(Limits(), (n, 1)) if limits is None else as_floats(limits, "limits")
    if ranges.shape != (n, 2):
        raise InputError(f"expected {n} pairs (lower, upper), got {shorten(limits)}.", "limits")
    masses = np.zeros(n) if mass is None else frozen_array(mass, (n,), "mass")
    centres = np.zeros((n, 3)) if com is None else frozen_array(com, (n, 3), "com")
    tensors = np.zeros((n, 3, 3)) if inertia is None else frozen_array(inertia, (n, 3, 3), "inertia")
    links, chain = [Link(name="link0")], []
    for i in range(n):
        about_com = tensors[i] - (parallel_axis(masses[i], centres[i]) if inertia_about == "origin" else 0.0)
        links.append(Link(name=f"link{i + 1}", mass=masses[i], com=centres[i], inertia=about_com))
        a, alpha, d, theta = rows[i]
        chain.append(
            Joint(
                name=f"joint{i + 1}",
                kind=LETTERS[kinds[i]],
                parent=f"link{i}",
                child=f"link{i + 1}",
                placement=DH(convention=convention, a=a, alpha=alpha, d=d, theta=theta),
                limits=Limits(*ranges[i]),
            )
        )
    hand = Hand(link=f"link{n}") if tool is None else Hand(link=f"link{n}", pose=as_pose(tool, "tool"))
    return Arm(name=name, links=tuple(links), tree=tuple(chain), gravity=gravity, hand=hand)  # type: ignore[arg-type]


def _ask_about_degrees(rows: Floats) -> None:
    """Warn of the first angle of more than a turn."""
    for i, row in enumerate(rows.tolist(), start=1):
        for name, angle in (("alpha", row[1]), ("theta", row[3])):
            if abs(angle) > MOST_RADIANS:
                warnings.warn(
                    f"DH table, row {i}, {name}: {angle:g} rad is more than a turn: it looks like degrees; "
                    "convert with np.deg2rad.",
                    ModelWarning,
                    stacklevel=3,
                )
                return
