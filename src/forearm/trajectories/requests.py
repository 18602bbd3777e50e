"""What a user asks for: configurations to pass, in joint or hand coordinates, velocities given or
open, limits of its own.

Waters III: a list of position-velocity configurations, some of the velocities left unspecified.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError, shorten
from forearm.trajectories.limits import MotionLimits, arm_limits
from forearm.values import as_floats, as_pose, check_kind, check_name, frozen_array

Array = NDArray[np.float64]
MAX_WAYPOINTS = 10_000
OVERRIDES = ("acceleration", "velocity", "lower", "upper")


@dataclass(frozen=True, eq=False)
class Waypoint:
    """One configuration, in joint coordinates or as the hand's pose; its velocity is None where open.

    Args:
        q: joint coordinates (n,), rad or m; None: by `pose`.
        qd: joint velocities (n,) at q, NaN for a joint where it is open; None: all open.
        pose: the hand (4, 4) in the base frame; None: by `q`.
        hand_velocity: linear, then angular velocity (6,) of the hand at `pose`, base axes; None: open.
    """

    q: Array | None
    qd: Array | None
    pose: Array | None
    hand_velocity: Array | None

    def __init__(
        self,
        q: ArrayLike | None = None,
        qd: ArrayLike | None = None,
        pose: ArrayLike | None = None,
        hand_velocity: ArrayLike | None = None,
    ) -> None:
        if (q is None) == (pose is None):
            raise InputError(
                "a waypoint has either q, joint coordinates, or pose, the hand's; give one of them."
            )
        if q is None and qd is not None:
            raise InputError("qd: goes with q; a waypoint with a pose takes hand_velocity.")
        if pose is None and hand_velocity is not None:
            raise InputError("hand_velocity: goes with a pose; a waypoint with q takes qd.")
        n = 0 if q is None else as_floats(q, "q").size
        checked = {
            "q": None if q is None else frozen_array(q, (n,), "q"),
            "qd": None if qd is None else _velocities(qd, n),
            "pose": None if pose is None else frozen_array(as_pose(pose, "pose"), (4, 4), "pose"),
            "hand_velocity": None
            if hand_velocity is None
            else frozen_array(hand_velocity, (6,), "hand_velocity"),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def is_open(self) -> bool:
        """Whether the velocity of some joint may be chosen."""
        return self.hand_velocity is None and (self.qd is None or bool(np.isnan(self.qd).any()))


@dataclass(frozen=True, eq=False)
class Request:
    """Waypoints in order, and limits that take the place of the arm's, (n,) or one number for all.

    Args:
        waypoints: at least two.
        acceleration: largest |qdd|, rad/s^2 (m/s^2); None: for the planner to choose.
        velocity: largest |qd|, rad/s (m/s); None: the arm's.
        lower, upper: range of q, rad or m; None: the arm's.
        name: what messages call it.
    """

    waypoints: tuple[Waypoint, ...]
    acceleration: Array | None
    velocity: Array | None
    lower: Array | None
    upper: Array | None
    name: str

    def __init__(
        self,
        waypoints: Iterable[Waypoint],
        acceleration: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        name: str = "request",
    ) -> None:
        check_name(name, "request")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "waypoints", tuple(waypoints))
        for waypoint in self.waypoints:
            check_kind(waypoint, Waypoint, f"request {name!r}, waypoints")
        if not 2 <= len(self.waypoints) <= MAX_WAYPOINTS:
            raise InputError(
                f"request {name!r}: expected 2 to {MAX_WAYPOINTS} waypoints, got {len(self.waypoints)}."
            )
        for key, value in zip(OVERRIDES, (acceleration, velocity, lower, upper), strict=True):
            object.__setattr__(
                self, key, None if value is None else _override(value, f"request {name!r}, {key}")
            )

    def check_for(self, arm: Arm) -> None:
        """Refuse waypoints and limits that are not for an arm of so many joints."""
        for k, waypoint in enumerate(self.waypoints):
            if waypoint.q is not None and waypoint.q.shape != (arm.n,):
                raise InputError(
                    f"request {self.name!r}, waypoint[{k + 1}], q: expected {arm.n} numbers for "
                    f"{arm.name!r}, got {waypoint.q.size}."
                )
        for key in OVERRIDES:
            value = getattr(self, key)
            if value is not None and value.shape not in ((), (1,), (arm.n,)):
                raise InputError(
                    f"request {self.name!r}, {key}: expected one number or {arm.n} for "
                    f"{arm.name!r}, got {value.size}."
                )

    def limits(self, arm: Arm, acceleration: ArrayLike | None = None) -> MotionLimits:
        """The arm's limits with those of the request in their place.

        Args:
            arm: the arm.
            acceleration: largest |qdd|, (n,) or one number, for a request that has none.
        """
        self.check_for(arm)
        chosen = self.acceleration if self.acceleration is not None else acceleration
        if chosen is None:
            raise InputError(
                f"request {self.name!r}: it gives no acceleration; write one under "
                "[limits], or give one here."
            )
        base = arm_limits(arm, chosen, self.velocity)
        lower = base.lower if self.lower is None else self.lower
        upper = base.upper if self.upper is None else self.upper
        return MotionLimits(base.acceleration, base.velocity, lower, upper)


def _velocities(qd: ArrayLike, n: int) -> Array:
    """Velocities (n,), NaN where they are open."""
    given = as_floats(qd, "qd")
    frozen_array(np.where(np.isnan(given), 0.0, given), (n,), "qd")  # for its shape and bounds
    given.flags.writeable = False
    return given


def _override(value: ArrayLike, what: str) -> Array:
    """A limit of the request: a number, or one per joint."""
    array = as_floats(value, what)
    if array.ndim > 1 or np.isnan(array).any():
        raise InputError(f"{what}: expected one number or one per joint, got {shorten(value)}.")
    array.flags.writeable = False
    return array
