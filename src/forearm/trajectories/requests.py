"""Motion requests: waypoints in joint or hand coordinates, velocities given or open, and limits.

Waters III: a list of position-velocity configurations, some of the velocities left unspecified.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.drives.motor import DAC
from forearm.errors import InputError
from forearm.reading.fields import AngleField, FlagOr, NumberField, OneOrMany
from forearm.records import declaration, declared, number, record, set_field, text
from forearm.spatial import Floats
from forearm.trajectories.limits import MotionLimits, arm_limits
from forearm.trajectories.path_options import PathLimits, PathOptions, is_along
from forearm.values import as_floats, as_pose, check_kind, check_name, frozen, frozen_array

MAX_WAYPOINTS = 10_000
OF_POINTS = ("acceleration", "velocity", "jerk")  # limits of all kinds of motions


@frozen
class Waypoint:
    """One configuration, in joint coordinates or as the hand's pose; its velocity is None where open.

    Args:
        q: joint coordinates (n,), rad or m, or one number for all joints; None: given by `pose`.
        qd: joint velocities at q likewise, NaN for a joint where it is open; None: all open.
        pose: the hand (4, 4) in the base frame; None: given by `q`.
        hand_velocity: linear, then angular velocity (6,) of the hand at `pose`, base axes; None: open.
    """

    q: Any = None
    qd: Any = None
    pose: Any = None
    hand_velocity: Any = None

    def __post_init__(self) -> None:
        q, qd, pose, hand_velocity = self.q, self.qd, self.pose, self.hand_velocity
        if (q is None) == (pose is None):
            raise InputError("a waypoint needs either q (joint coordinates) or pose (of the hand), not both.")
        if q is None and qd is not None:
            raise InputError("only with q; use hand_velocity for a waypoint with a pose.", "qd")
        if pose is None and hand_velocity is not None:
            raise InputError("only with a pose; use qd for a waypoint with q.", "hand_velocity")
        if q is not None:
            shape = as_floats(q, "q").shape
            set_field(self, "q", frozen_array(q, shape[-1:], "q"))
            set_field(self, "qd", None if qd is None else _velocities(qd, shape))
        else:
            set_field(self, "pose", as_pose(pose, "pose"))
        if hand_velocity is not None:
            set_field(self, "hand_velocity", frozen_array(hand_velocity, (6,), "hand_velocity"))

    @property
    def is_open(self) -> bool:
        """Whether the velocity of some joint is open."""
        return self.hand_velocity is None and (self.qd is None or bool(np.isnan(self.qd).any()))


@record
class Request(PathLimits):
    """Waypoints in order, and limits that override the arm's.

    Places of limits along the path are measured from 0 by the distances between waypoints, rad (m).

    Args:
        waypoints: at least two; one may be given by its coordinates alone.
        dac: the converter whose range limits the voltages; None: not used.
        time_optimal: whether to plan the fastest motion along a path through the waypoints: True, or
            `PathOptions`; False: bang-bang.
    """

    waypoints: Any = field(kw_only=False)  # stored as a tuple of Waypoint
    dac: DAC | None = None
    time_optimal: bool | PathOptions | None = None
    name: str = text("used in messages", default="request")
    lower: float | tuple[float, ...] | None = declared(
        OneOrMany(AngleField(infinite=True), "least q, rad (m) (default: the arm's)"), default=None
    )
    upper: float | tuple[float, ...] | None = declared(
        OneOrMany(AngleField(infinite=True), "largest q, rad (m) (default: the arm's)"), default=None
    )
    snap: Any = declared(
        FlagOr(
            OneOrMany(NumberField(above=0.0, infinite=True)),
            "largest |qdddd|, rad/s^4 (m/s^4), or true: continuous, not limited (default: jerks may jump)",
        ),
        default=None,
    )
    duration: float | None = number(
        "duration of a motion of continuous snap (default: the shortest found)", "s", default=None, above=0.0
    )

    def __post_init__(self) -> None:
        where = f"request {self.name!r}"
        check_name(self.name, "request")
        check_kind(self.dac, (DAC, type(None)), f"{where}, dac")
        check_kind(self.time_optimal, (bool, PathOptions, type(None)), f"{where}, time_optimal")
        set_field(
            self, "time_optimal", PathOptions() if self.time_optimal is True else self.time_optimal or None
        )
        set_field(self, "snap", np.inf if self.snap is True else self.snap or None)
        set_field(self, "waypoints", tuple(_waypoint(point, where) for point in self.waypoints))
        if not 2 <= len(self.waypoints) <= MAX_WAYPOINTS:
            raise InputError(f"expected 2 to {MAX_WAYPOINTS} waypoints, got {len(self.waypoints)}.", where)
        sizes = sorted({point.q.size for point in self.waypoints if point.q is not None and point.q.ndim})
        if len(sizes) > 1:
            raise InputError(
                f"expected the same number of joints in all of them, got {' and '.join(map(str, sizes))}.",
                where,
                "waypoints",
            )
        self._check_together(where)

    def _check_together(self, where: str) -> None:
        """Refuse what only other kinds of motion have."""
        if self.time_optimal is None:
            for key in declaration(PathLimits):
                value = getattr(self, key)
                if value is not None and (key not in OF_POINTS or callable(value) or is_along(value)):
                    raise InputError(
                        "this limit is for time-optimal plans; add time_optimal = true, or omit it.",
                        where,
                        key,
                    )
        elif self.snap is not None:
            raise InputError(
                "a time-optimal motion has no continuous snap; omit one of the two.", where, "snap"
            )
        if self.duration is not None and self.snap is None:
            remedy = "PathOptions(duration=...)" if self.time_optimal else "snap = true, or omit it"
            raise InputError(f"only for motions of continuous snap; set {remedy}.", where, "duration")

    def check_for(self, arm: Arm) -> None:
        """Refuse waypoints and limits that do not match the arm's number of joints."""
        where = f"request {self.name!r}"
        values: dict[tuple[str, ...], Any] = {
            (f"waypoint[{k + 1}]", key): getattr(waypoint, key)
            for k, waypoint in enumerate(self.waypoints)
            for key in ("q", "qd")
        }
        values |= {(key,): getattr(self, key) for key in (*OF_POINTS, "lower", "upper", "snap")}
        for place, value in values.items():
            is_constant = value is not None and not callable(value) and not is_along(value)
            if is_constant and np.shape(value) not in ((), (arm.n,)):
                raise InputError(
                    f"expected one number or {arm.n} for {arm.name!r}, got {np.size(value)}.", where, *place
                )

    def changed(self, **values: Any) -> Request:
        """The request with these values of its fields, where they are not None.

        Args:
            values: by the name of the field.
        """
        return replace(self, **{name: value for name, value in values.items() if value is not None})

    def limits(self, arm: Arm, acceleration: ArrayLike | None = None) -> MotionLimits:
        """The arm's limits, overridden by those of the request.

        Args:
            arm: the arm.
            acceleration: largest |qdd|, (n,) or one number, for a request without one.
        """
        self.check_for(arm)
        chosen: Any = acceleration if self.acceleration is None else self.acceleration
        if chosen is None:
            raise InputError(
                "it gives no acceleration; set one under [limits], or pass one here.",
                f"request {self.name!r}",
            )
        base = arm_limits(arm, chosen, cast(Any, self.velocity))
        given = {key: getattr(self, key) for key in ("lower", "upper", "jerk", "snap")}
        return replace(base, **{key: value for key, value in given.items() if value is not None})


def _waypoint(given: Waypoint | ArrayLike, where: str) -> Waypoint:
    if isinstance(given, np.ndarray | list | tuple):
        return Waypoint(q=given)
    check_kind(given, Waypoint, f"{where}, waypoints")
    assert isinstance(given, Waypoint)
    return given


def _velocities(qd: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Velocities for coordinates of this shape, one number or (n,), NaN where they are open."""
    given = as_floats(qd, "qd")
    given = np.broadcast_to(given, shape).copy() if given.ndim == 0 else given
    # validates shape and bounds
    frozen_array(np.where(np.isnan(given), 0.0, given), shape or given.shape[-1:], "qd")
    given.flags.writeable = False
    return given
