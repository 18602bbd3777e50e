"""Limits of a motion for each joint: range, velocity, acceleration, jerk and snap."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.kinematics.limits import limits_of
from forearm.spatial import Flags, Floats
from forearm.values import LARGEST, as_floats, frozen

FAR = 1e100  # bound of an unlimited range: farther than any joint needs to stop
SLACK = 1e-9  # rad, m, and relative for velocities: tolerance of rounding
SMALLEST = 1e-30  # of a velocity or an acceleration: products of a few such numbers do not underflow


@frozen
class MotionLimits:
    """Range, velocity, acceleration, jerk and snap of n joints: lower <= q <= upper, |qd| <= velocity, |qdd|
    <= acceleration, |qddd| <= jerk, |qdddd| <= snap.

    Each is (n,), or a number for all joints. For many plans at once they may be (B, n), a row for each; if
    one is, all are stored that way. Infinite velocities, jerks and snaps are stored as 1e30, infinite ranges
    as 1e100.

    Args:
        acceleration: largest |qdd|, rad/s^2 (m/s^2), finite.
        velocity: largest |qd|, rad/s (m/s).
        lower, upper: range of q, rad or m.
        jerk: largest |qddd|, rad/s^3 (m/s^3); respected by `jerk_limited` and `smooth`.
        snap: largest |qdddd|, rad/s^4 (m/s^4); respected by `smooth`.
    """

    acceleration: Floats
    velocity: Floats
    lower: Floats
    upper: Floats
    jerk: Floats
    snap: Floats

    def __init__(
        self,
        acceleration: ArrayLike,
        velocity: ArrayLike = np.inf,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        jerk: ArrayLike = np.inf,
        snap: ArrayLike = np.inf,
    ) -> None:
        given = {"acceleration": acceleration, "velocity": velocity, "lower": lower, "upper": upper}
        given |= {"jerk": jerk, "snap": snap}
        arrays = {name: np.atleast_1d(as_floats(value, f"limits, {name}")) for name, value in given.items()}
        n = max(array.shape[-1] for array in arrays.values())
        batches = {name: len(array) for name, array in arrays.items() if array.ndim == 2}
        shape = (max(batches.values()), n) if batches else (n,)
        for name, array in arrays.items():
            if array.shape not in ((1,), (n,), (*shape[:-1], 1), shape):
                rows = f", or shape {shape}" if batches else ""
                raise InputError(
                    f"expected one number or {n}{rows}, got shape {array.shape}.", "limits", name
                )
            if np.isnan(array).any():
                raise InputError("expected numbers, got NaN.", "limits", name)
            most = FAR if name in ("lower", "upper") else LARGEST
            array = np.broadcast_to(np.clip(array, -most, most), shape).copy()
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        self._check(bool(np.isinf(arrays["acceleration"]).any()))

    def _check(self, infinite: bool) -> None:
        if infinite:
            raise InputError(
                "must be finite; otherwise a motion would take no time.", "limits", "acceleration"
            )
        for name in ("acceleration", "velocity", "jerk", "snap"):
            wrong = getattr(self, name) < SMALLEST
            if wrong.any():
                raise InputError(
                    f"must be above 0, got {float(getattr(self, name)[wrong][0])!r}.",
                    "limits",
                    f"{name} of {_joint(wrong)}",
                )
        wrong = self.lower > self.upper
        if wrong.any():
            raise InputError(
                f"lower {float(self.lower[wrong][0])!r} lies above upper "
                f"{float(self.upper[wrong][0])!r}; swap them.",
                "limits",
                _joint(wrong),
            )

    @property
    def arrays(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Accelerations, velocities, lower and upper bounds, (n,) or (B, n) each."""
        return self.acceleration, self.velocity, self.lower, self.upper

    @property
    def n(self) -> int:
        """The number of joints."""
        return int(self.acceleration.shape[-1])

    @property
    def count(self) -> int | None:
        """Number of plans, B, with a row each; None if one is for all."""
        return len(self.acceleration) if self.acceleration.ndim == 2 else None

    @cached_property
    def has_jerk(self) -> bool:
        """Whether the jerk of every joint is limited."""
        return bool((self.jerk < LARGEST).all())

    def with_jerk(self, jerk: ArrayLike) -> MotionLimits:
        """The same with this jerk limit."""
        return replace(self, jerk=cast(Floats, jerk))

    @cached_property
    def of_derivatives(self) -> Floats:
        """Velocities, accelerations, jerks and snaps, stacked, (4, n)."""
        return np.stack([self.velocity, self.acceleration, self.jerk, self.snap])

    @cached_property
    def columns(self) -> tuple[Floats, Floats, Floats]:
        """Velocities, accelerations and jerks of all joints as columns, (n, 1) each."""
        v, a, j = (x.reshape(-1, 1) for x in (self.velocity, self.acceleration, self.jerk))
        return v, a, j

    @cached_property
    def is_bounded(self) -> bool:
        """Whether the range of some joint is limited."""
        return bool((self.lower > -FAR).any() or (self.upper < FAR).any())

    def check_one(self, what: str) -> None:
        """Refuse limits of many plans where one plan is made."""
        if self.count is not None:
            raise InputError(
                f"expected those of one plan, {self.n} numbers each, got {self.count} rows; "
                "bang_bang_many takes a row per plan.",
                what,
                "limits",
            )

    def __repr__(self) -> str:
        names = ["acceleration", "velocity", "lower", "upper"] + ["jerk"] * self.has_jerk
        names += ["snap"] * bool((self.snap < LARGEST).any())
        return f"MotionLimits({', '.join(f'{name}={getattr(self, name).tolist()}' for name in names)})"


def _joint(wrong: Flags) -> str:
    """The first invalid joint, and its row if there are many."""
    *row, i = np.argwhere(wrong)[0]
    return f"joint {i + 1}" + "".join(f" in row {k}" for k in row)


def arm_limits(
    arm: Arm,
    acceleration: ArrayLike,
    velocity: ArrayLike | None = None,
    jerk: ArrayLike = np.inf,
    snap: ArrayLike = np.inf,
) -> MotionLimits:
    """The limits of an arm's joints with the given accelerations.

    Mimic joints count: their range and velocity limit those of their source joint.

    Args:
        arm: the arm.
        acceleration: largest |qdd|, (n,), one number, or (B, n) for many plans, rad/s^2 (m/s^2).
        velocity: largest |qd|, likewise, rad/s (m/s); None: the arm's.
        jerk: largest |qddd|, likewise, rad/s^3 (m/s^3).
        snap: largest |qdddd|, likewise, rad/s^4 (m/s^4).
    """
    lower, upper = limits_of(arm)
    if velocity is None:
        velocity = fastest_of(arm)
        stuck = [
            body.joint.name
            for body in arm.moving.bodies
            if body.joint.max_speed == 0.0 and body.multiplier != 0.0
        ]
        if stuck:
            raise InputError(
                "its max_speed is 0; set velocities for the motion.",
                f"arm {arm.name!r}",
                f"joint {stuck[0]!r}",
            )
    limits = MotionLimits(acceleration, velocity, lower, upper, jerk, snap)
    if limits.n != arm.n:
        raise InputError(f"expected {arm.n} numbers for {arm.name!r}, got {limits.n}.", "limits")
    return limits


def fastest_of(arm: Arm) -> Floats:
    """Velocity limit of each degree of freedom, (n,), including its mimic joints; infinite if undefined."""
    fastest = np.full(arm.n, np.inf)
    for body in arm.moving.bodies:
        if body.joint.max_speed is not None and body.multiplier != 0.0:
            fastest[body.freedom] = min(fastest[body.freedom], body.joint.max_speed / abs(body.multiplier))
    return fastest


def beyond_arm(arm: Arm, least: Floats, most: Floats, fastest: Floats) -> list[str]:
    """Violations by a motion between these positions, up to these velocities, (n,) each, of the arm's own
    limits.
    """
    found = []
    for body in arm.moving.bodies:
        joint, i = body.joint, body.freedom
        unit = "rad" if joint.kind == "revolute" else "m"
        low, high = sorted(body.multiplier * float(x[i]) + body.offset for x in (least, most))
        if low < joint.limits.lower - SLACK or high > joint.limits.upper + SLACK:
            allowed = f"its range {joint.limits.lower:.4g} to {joint.limits.upper:.4g} {unit}"
            found.append(f"{joint.name} goes from {low:.4g} to {high:.4g}, beyond {allowed}.")
        speed = abs(body.multiplier) * float(fastest[i])
        if joint.max_speed is not None and speed > joint.max_speed * (1.0 + SLACK):
            found.append(
                f"{joint.name} moves at {speed:.4g}, above its limit of {joint.max_speed:.4g} {unit}/s."
            )
    return found
