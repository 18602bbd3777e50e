"""The reference motion, at every period: from a planned motion, from samples, or a configuration to be
held.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.arm.elastic import is_elastic
from forearm.control.controller import States
from forearm.errors import InputError, shorten
from forearm.kinematics.limits import limits_of, middle
from forearm.spatial import Floats
from forearm.trajectories.continuous_snap.motion import Derivatives, SmoothMotion
from forearm.trajectories.continuous_snap.planner import smooth as continuous_snap
from forearm.trajectories.switching import Switching
from forearm.values import as_floats, check_number, frozen_array

MOST_SAMPLES = 5_000_000
REACHED = 1e-9  # of a period: tolerance of a duration that is a whole number of them


class Motion(Protocol):
    """A motion over `duration` s that is evaluated as q, qd, qdd, (m, n) each, at times (m,)."""

    @property
    def duration(self) -> float:
        """Duration, s."""
        ...

    def at(self, t: ArrayLike, /) -> States:
        """q, qd, qdd at times (m,) from 0 to the duration."""
        ...


@dataclass(frozen=True, eq=False)
class Reference:
    """Reference at times t (m + 1,), one period apart: q, qd, qdd (m + 1, n)."""

    t: Floats
    q: Floats
    qd: Floats
    qdd: Floats

    @property
    def still(self) -> NDArray[np.bool_]:
        """Which joints (n,) the motion does not move."""
        return np.asarray(~(self.qd.any(axis=0) | self.qdd.any(axis=0) | np.ptp(self.q, axis=0).astype(bool)))


@dataclass(frozen=True, eq=False)
class Held:
    """A constant reference (n,): if the arm starts elsewhere, a step."""

    q: Floats
    duration: float

    def at(self, t: ArrayLike, /) -> States:
        """The configuration, with zero velocity and acceleration."""
        q, qd, qdd, _, _ = self.derivatives(t)
        return q, qd, qdd

    def derivatives(self, t: ArrayLike, /) -> Derivatives:
        """The same, with zero jerk and snap."""
        shape = (*np.shape(t), len(self.q))
        rest = (np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape))
        return np.broadcast_to(self.q, shape).copy(), *rest


@dataclass(frozen=True, eq=False)
class Smooth:
    """A rest-to-rest fifth-order polynomial with zero acceleration at its ends: s = 10 x^3 - 15 x^4 + 6
    x^5.
    """

    q0: Floats
    q1: Floats
    duration: float

    def at(self, t: ArrayLike, /) -> States:
        """q, qd, qdd at a time or times."""
        T = self.duration
        x = np.clip(as_floats(t, "t") / T, 0.0, 1.0)[..., None]
        way = self.q1 - self.q0
        q = self.q0 + way * (x**3 * (10.0 - 15.0 * x + 6.0 * x * x))
        qd = way * (30.0 * x * x * (1.0 - x) ** 2 / T)
        return q, qd, way * (60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / T**2)


def hold(q: ArrayLike, duration: float) -> Held:
    """A constant reference from the start.

    Args:
        q: joint coordinates (n,).
        duration: of the motion, s.
    """
    array = as_floats(q, "hold, q")
    return Held(
        frozen_array(array, (array.size,), "hold, q"), check_number(duration, "hold, duration", above=0.0)
    )


def smooth(q0: ArrayLike, q1: ArrayLike, duration: float) -> Smooth:
    """A smooth rest-to-rest motion.

    Args:
        q0, q1: joint coordinates (n,) at the start and the end.
        duration: of the motion, s.
    """
    start = as_floats(q0, "smooth, q0")
    first, last = (
        frozen_array(q, (start.size,), f"smooth, {name}") for q, name in ((start, "q0"), (q1, "q1"))
    )
    return Smooth(first, last, check_number(duration, "smooth, duration", above=0.0))


def default_motion(arm: Arm, duration: float = 2.0) -> Switching | SmoothMotion:
    """The default motion for comparing controllers: every joint moves, a third of the time at full speed.

    Constant accelerations, synchronised; neighbours move in opposite directions, by 40 % of their range but 2
    rad (0.5 m) at most. Waters III. If joints are elastic, the same path with continuous snap.

    Args:
        arm: the arm.
        duration: of the motion, s.
    """
    T = check_number(duration, "default_motion, duration", above=0.0)
    lower, upper = limits_of(arm)
    reach = np.array([2.0 if joint.kind == "revolute" else 0.5 for joint in arm.joints])
    centre = middle(arm)
    half = 0.5 * np.minimum(reach, 0.4 * (upper - lower)) * np.where(np.arange(arm.n) % 2, -1.0, 1.0)
    q0, q1 = np.clip(centre - half, lower, upper), np.clip(centre + half, lower, upper)
    if is_elastic(arm):
        return continuous_snap([q0, q1], duration=T)
    phases = np.full((1, arm.n, 3), T / 3.0)
    speedup = 4.5 * (q1 - q0) / T**2
    accelerations = np.stack([speedup, np.zeros(arm.n), -speedup], axis=-1)[None]
    return Switching(np.stack([q0, q1]), np.zeros((2, arm.n)), phases, accelerations)


def sampled(arm: Arm, motion: Any, period: float) -> Reference:
    """The motion at every period, its end included if it falls on one; or samples (q, qd, qdd), (m + 1, n)
    each.
    """
    if hasattr(motion, "at") and hasattr(motion, "duration"):
        duration = check_number(motion.duration, "motion, duration", above=0.0)
        if duration / period > MOST_SAMPLES:
            raise InputError(
                f"{duration:g} s of periods of {period:g} s are more than {MOST_SAMPLES} samples.", "motion"
            )
        t = period * np.arange(math.floor(duration / period + REACHED) + 1.0)
        states = motion.at(np.minimum(t, duration))
    elif isinstance(motion, Sequence) and len(motion) == 3:
        states = tuple(
            as_floats(block, f"motion, {name}")
            for block, name in zip(motion, ("q", "qd", "qdd"), strict=True)
        )
        t = period * np.arange(float(len(states[0]) if states[0].ndim else 0))
    else:
        raise InputError(
            "expected something with .duration and .at(t), such as fa.plan(...).motion or "
            f"control.smooth(...), or samples (q, qd, qdd), (m, {arm.n}) each, got "
            f"{shorten(motion)}.",
            "motion",
        )
    if len(t) < 2 or any(block.shape != (len(t), arm.n) for block in states):
        got = ", ".join(str(block.shape) for block in states)
        raise InputError(
            f"expected at least two samples of {arm.n} joints for {arm.name!r}, got {got}.", "motion"
        )
    if not all(np.isfinite(block).all() for block in states):
        raise InputError(
            "it contains values that are not finite; part of a Cartesian line may be out of reach.", "motion"
        )
    blocks = [np.array(block, dtype=np.float64, order="C") for block in states]
    for block in blocks:  # controllers receive rows of them
        block.flags.writeable = False
    return Reference(t, *blocks)
