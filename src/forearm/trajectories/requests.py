"""Motion requests: waypoints in joint or hand coordinates, velocities given or open, and limits.

Waters III: a list of position-velocity configurations, some of the velocities left unspecified.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.drives.motor import DAC
from forearm.errors import InputError, shorten
from forearm.spatial import Floats
from forearm.trajectories.limits import MotionLimits, arm_limits
from forearm.trajectories.path_options import PathOptions
from forearm.values import as_floats, as_pose, check_kind, check_name, check_number, frozen_array

MAX_WAYPOINTS = 10_000
Along = tuple[Floats, Floats]  # places along the path, and limits there
OVERRIDES = ("acceleration", "velocity", "lower", "upper")
OF_PATHS = ("torque", "current", "voltage", "jerk", "path_jerk", "hand_speed", "hand_acceleration")
OF_TIME_OPTIMAL = tuple(kind for kind in OF_PATHS if kind != "jerk")
ALONG = ("velocity", "acceleration", *OF_PATHS[:4], *OF_PATHS[5:])  # those that may vary along a path


@dataclass(frozen=True, eq=False)
class Waypoint:
    """One configuration, in joint coordinates or as the hand's pose; its velocity is None where open.

    Args:
        q: joint coordinates (n,), rad or m, or one number for all joints; None: given by `pose`.
        qd: joint velocities at q likewise, NaN for a joint where it is open; None: all open.
        pose: the hand (4, 4) in the base frame; None: given by `q`.
        hand_velocity: linear, then angular velocity (6,) of the hand at `pose`, base axes; None: open.
    """

    q: Floats | None
    qd: Floats | None
    pose: Floats | None
    hand_velocity: Floats | None

    def __init__(
        self,
        q: ArrayLike | None = None,
        qd: ArrayLike | None = None,
        pose: ArrayLike | None = None,
        hand_velocity: ArrayLike | None = None,
    ) -> None:
        if (q is None) == (pose is None):
            raise InputError("a waypoint needs either q (joint coordinates) or pose (of the hand), not both.")
        if q is None and qd is not None:
            raise InputError("only with q; use hand_velocity for a waypoint with a pose.", "qd")
        if pose is None and hand_velocity is not None:
            raise InputError("only with a pose; use qd for a waypoint with q.", "hand_velocity")
        checked = {
            "q": None if q is None else _coordinates(q),
            "qd": None if q is None or qd is None else _velocities(qd, as_floats(q, "q").shape),
            "pose": None if pose is None else frozen_array(as_pose(pose, "pose"), (4, 4), "pose"),
            "hand_velocity": None
            if hand_velocity is None
            else frozen_array(hand_velocity, (6,), "hand_velocity"),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def is_open(self) -> bool:
        """Whether the velocity of some joint is open."""
        return self.hand_velocity is None and (self.qd is None or bool(np.isnan(self.qd).any()))


@dataclass(frozen=True, eq=False)
class Request:
    """Waypoints in order, and limits that override the arm's, (n,) or one number for all.

    In a time-optimal request a limit may also be a pair (places, values), linearly interpolated along the
    path, whose places are measured from 0 by the distances between waypoints, rad (m).

    Args:
        waypoints: at least two; one may be given by its coordinates alone.
        acceleration: largest |qdd|, rad/s^2 (m/s^2); None: chosen by the planner.
        velocity: largest |qd|, rad/s (m/s); None: the arm's.
        lower, upper: range of q, rad or m; None: the arm's.
        name: used in messages.
        dac: the converter whose range limits the voltages; None: not used.
        torque, current, voltage: of a time-optimal plan, as in `fa.time_optimal`.
        jerk: largest |qddd|, rad/s^3 (m/s^3); None: unlimited (accelerations may jump).
        snap: largest |qdddd|, rad/s^4 (m/s^4), or True (or infinity) for a continuous, unlimited snap; None:
            jerks may jump.
        duration: of a motion of continuous snap, s; None: the shortest found.
        path_jerk, hand_speed, hand_acceleration: of a time-optimal plan, as in `fa.time_optimal`.
        time_optimal: whether to plan the fastest motion along a path through the waypoints: True, or
            `PathOptions`; False: bang-bang.
    """

    waypoints: tuple[Waypoint, ...]
    acceleration: Floats | Along | None
    velocity: Floats | Along | None
    lower: Floats | None
    upper: Floats | None
    name: str
    dac: DAC | None
    torque: Floats | Along | None
    current: Floats | Along | None
    voltage: Floats | Along | None
    jerk: Floats | Along | None
    snap: Floats | None
    duration: float | None
    path_jerk: Floats | None
    hand_speed: Floats | Along | None
    hand_acceleration: Floats | Along | None
    time_optimal: PathOptions | None

    def __init__(
        self,
        waypoints: Iterable[Waypoint | ArrayLike],
        acceleration: ArrayLike | Along | None = None,
        velocity: ArrayLike | Along | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        name: str = "request",
        dac: DAC | None = None,
        *,
        torque: ArrayLike | Along | None = None,
        current: ArrayLike | Along | None = None,
        voltage: ArrayLike | Along | None = None,
        jerk: ArrayLike | Along | None = None,
        snap: ArrayLike | bool | None = None,
        duration: float | None = None,
        path_jerk: float | None = None,
        hand_speed: ArrayLike | Along | None = None,
        hand_acceleration: ArrayLike | Along | None = None,
        time_optimal: bool | PathOptions | None = None,
    ) -> None:
        check_name(name, "request")
        object.__setattr__(self, "name", name)
        check_kind(dac, (DAC, type(None)), f"request {name!r}, dac")
        object.__setattr__(self, "dac", dac)
        object.__setattr__(self, "waypoints", tuple(_waypoint(point, name) for point in waypoints))
        if not 2 <= len(self.waypoints) <= MAX_WAYPOINTS:
            raise InputError(
                f"expected 2 to {MAX_WAYPOINTS} waypoints, got {len(self.waypoints)}.", f"request {name!r}"
            )
        sizes = sorted({point.q.size for point in self.waypoints if point.q is not None and point.q.ndim})
        if len(sizes) > 1:
            raise InputError(
                f"expected the same number of joints in all of them, got {' and '.join(map(str, sizes))}.",
                f"request {name!r}",
                "waypoints",
            )
        check_kind(time_optimal, (bool, PathOptions, type(None)), f"request {name!r}, time_optimal")
        options = PathOptions() if time_optimal is True else time_optimal or None
        object.__setattr__(self, "time_optimal", options)
        limits = (torque, current, voltage, jerk, path_jerk, hand_speed, hand_acceleration)
        given = dict(zip(OVERRIDES, (acceleration, velocity, lower, upper), strict=True))
        for key, value in (given | dict(zip(OF_PATHS, limits, strict=True))).items():
            what = f"request {name!r}, {key}"
            if value is not None and options is None and (key in OF_TIME_OPTIMAL or is_along(value)):
                kind = (
                    "limits that change along a path are" if key not in OF_TIME_OPTIMAL else "it is a limit"
                )
                raise InputError(f"{kind} for time-optimal plans; add time_optimal = true, or omit it.", what)
            object.__setattr__(self, key, None if value is None else _override(value, what, key in ALONG))
        self._keep_snap(snap, duration)

    def _keep_snap(self, snap: ArrayLike | bool | None, duration: float | None) -> None:
        """Store the options of a motion of continuous snap, or refuse them with the reason."""
        what = f"request {self.name!r}"
        asked = None if snap is None or snap is False else np.inf if snap is True else snap
        if asked is not None and self.time_optimal is not None:
            raise InputError(
                "a time-optimal motion has no continuous snap; omit one of the two.", what, "snap"
            )
        if duration is not None and asked is None:
            where = (
                "PathOptions(duration=...)" if self.time_optimal is not None else "snap = true, or omit it"
            )
            raise InputError(f"only for motions of continuous snap; set {where}.", what, "duration")
        object.__setattr__(self, "snap", None if asked is None else _override(asked, f"{what}, snap", False))
        seconds = None if duration is None else check_number(duration, f"{what}, duration", above=0.0)
        object.__setattr__(self, "duration", seconds)

    def check_for(self, arm: Arm) -> None:
        """Refuse waypoints and limits that do not match the arm's number of joints."""
        for k, waypoint in enumerate(self.waypoints):
            for key, value in (("q", waypoint.q), ("qd", waypoint.qd)):
                if value is not None and value.shape not in ((), (arm.n,)):
                    raise InputError(
                        f"expected {arm.n} numbers for {arm.name!r}, got {value.size}.",
                        f"request {self.name!r}",
                        f"waypoint[{k + 1}]",
                        key,
                    )
        for key in (*OVERRIDES, *OF_PATHS, "snap"):
            value = getattr(self, key)
            if isinstance(value, np.ndarray) and value.shape not in ((), (1,), (arm.n,)):
                raise InputError(
                    f"expected one number or {arm.n} for {arm.name!r}, got {value.size}.",
                    f"request {self.name!r}",
                    key,
                )

    def changed(
        self,
        acceleration: ArrayLike | None,
        velocity: ArrayLike | None,
        dac: DAC | None,
        jerk: ArrayLike | None = None,
        snap: ArrayLike | bool | None = None,
        duration: float | None = None,
    ) -> Request:
        """The request with these values instead of its own, where they are not None.

        Args:
            acceleration, velocity: largest |qdd| and |qd|.
            dac: the converter.
            jerk: largest |qddd|.
            snap: largest |qdddd|, or True.
            duration: of the motion, s.
        """
        given = {"acceleration": acceleration, "velocity": velocity, "dac": dac, "jerk": jerk}
        given |= {"snap": snap, "duration": duration}
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        return replace(self, **changes) if changes else self

    def limits(self, arm: Arm, acceleration: ArrayLike | None = None) -> MotionLimits:
        """The arm's limits, overridden by those of the request.

        Args:
            arm: the arm.
            acceleration: largest |qdd|, (n,) or one number, for a request without one.
        """
        self.check_for(arm)
        chosen = self.acceleration if self.acceleration is not None else acceleration
        if chosen is None:
            raise InputError(
                "it gives no acceleration; set one under [limits], or pass one here.",
                f"request {self.name!r}",
            )
        base = arm_limits(arm, chosen, self.velocity)
        lower = base.lower if self.lower is None else self.lower
        upper = base.upper if self.upper is None else self.upper
        jerk = np.inf if self.jerk is None else self.jerk
        snap = np.inf if self.snap is None else self.snap
        return MotionLimits(base.acceleration, base.velocity, lower, upper, jerk, snap)


def _waypoint(given: Waypoint | ArrayLike, name: str) -> Waypoint:
    if isinstance(given, np.ndarray | list | tuple):
        return Waypoint(q=given)
    check_kind(given, Waypoint, f"request {name!r}, waypoints")
    assert isinstance(given, Waypoint)
    return given


def _coordinates(q: ArrayLike) -> Floats:
    """One number, or (n,)."""
    shape = as_floats(q, "q").shape
    return frozen_array(q, shape if len(shape) <= 1 else (shape[-1],), "q")


def _velocities(qd: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Velocities for coordinates of this shape, one number or (n,), NaN where they are open."""
    given = as_floats(qd, "qd")
    given = np.broadcast_to(given, shape).copy() if given.ndim == 0 else given
    # validates shape and bounds
    frozen_array(np.where(np.isnan(given), 0.0, given), shape or given.shape[-1:], "qd")
    given.flags.writeable = False
    return given


def is_along(value: object) -> bool:
    """Whether a limit is a pair (places, values) along a path."""
    return isinstance(value, tuple) and len(value) == 2 and np.ndim(value[0]) == 1


def _override(value: Any, what: str, along: bool) -> Floats | Along:
    """A limit of the request: a number, one per joint, or places along the path and limits there."""
    if along and is_along(value):
        places, values = (as_floats(part, what) for part in value)
        return places, values
    array = as_floats(value, what)
    if array.ndim > 1 or np.isnan(array).any():
        raise InputError(f"expected one number or one per joint, got {shorten(value)}.", what)
    array.flags.writeable = False
    return array
