"""Find angles that were rounded in a file, and replace them with exact ones."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.joint import DH, Frame, Joint
from forearm.spatial import RIGHT_ANGLE
from forearm.values import check_number

TOLERANCE = 1e-4  # rad: 1.5708 and 3.1416 are closer than this to the exact angles
STEP = math.pi / 4.0
LARGEST_TOLERANCE = 0.01


@dataclass(frozen=True)
class RoundedAngle:
    """A value of a joint's placement close to an exact one: `what` is roll, pitch, yaw, alpha, theta (rad) or
    a component of the axis.
    """

    joint: str
    what: str
    given: float
    exact: float

    def __str__(self) -> str:
        return f"{self.joint} {self.what} {self.given:.9g}"


def rounded_angles(arm: Arm, tolerance: float = TOLERANCE) -> tuple[RoundedAngle, ...]:
    """The angles of an arm within `tolerance` (rad) of a multiple of 45 degrees, and axis components as close
    to 0; those within 1e-9 already count as exact everywhere and are not included.
    """
    bound = check_number(tolerance, "snap_angles, tolerance (rad)", minimum=0.0, maximum=LARGEST_TOLERANCE)
    return tuple(angle for joint in arm.tree for angle in _of_joint(joint, bound))


def snap_angles(arm: Arm, tolerance: float = TOLERANCE) -> Arm:
    """Return the arm with exact values in place of those in `rounded_angles`."""
    exact: dict[str, dict[str, float]] = {}
    for angle in rounded_angles(arm, tolerance):
        exact.setdefault(angle.joint, {})[angle.what] = angle.exact
    tree = tuple(_snapped(joint, exact[joint.name]) if joint.name in exact else joint for joint in arm.tree)
    return arm.replace(tree=tree)


def _of_joint(joint: Joint, tolerance: float) -> Iterator[RoundedAngle]:
    place = joint.placement
    for what, given in _angles(place).items():
        exact = round(given / STEP) * STEP
        if RIGHT_ANGLE < abs(given - exact) <= tolerance:
            yield RoundedAngle(joint.name, what, given, exact)
    for what, given in (_axis(place) if joint.kind != "fixed" else {}).items():
        if RIGHT_ANGLE < abs(given) <= tolerance:
            yield RoundedAngle(joint.name, what, given, 0.0)


def _angles(place: DH | Frame) -> dict[str, float]:
    if isinstance(place, DH):
        return {"alpha": place.alpha, "theta": place.theta}
    return dict(zip(("roll", "pitch", "yaw"), map(float, place.rpy), strict=True))


def _axis(place: DH | Frame) -> dict[str, float]:
    if isinstance(place, DH):
        return {}
    return {f"axis {letter}": float(value) for letter, value in zip("xyz", place.axis, strict=True)}


def _snapped_table(place: DH, exact: dict[str, float]) -> DH:
    return dataclasses.replace(
        place, alpha=exact.get("alpha", place.alpha), theta=exact.get("theta", place.theta)
    )


def _snapped(joint: Joint, exact: dict[str, float]) -> Joint:
    place = joint.placement
    if isinstance(place, DH):
        return dataclasses.replace(joint, placement=_snapped_table(place, exact))
    rpy = [exact.get(what, given) for what, given in _angles(place).items()]
    axis = [exact.get(what, given) for what, given in _axis(place).items()]
    return dataclasses.replace(joint, placement=Frame(xyz=place.xyz, rpy=np.array(rpy), axis=np.array(axis)))
