"""Shared parts of controllers: the state torques are computed for, feedback on them, operation counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm, check_arm
from forearm.control.controller import Sample, States
from forearm.control.controllers.forces import Directions
from forearm.control.controllers.formulas import pull
from forearm.control.gains import Gains, joint_gains
from forearm.control.reference import Motion
from forearm.errors import InputError
from forearm.spatial import Floats
from forearm.symbols import Graph
from forearm.values import check_number

MOST_PLACES = 1_000_000  # samples along a motion
SAME_TIME = 1e-9  # relative: a sample this close to a switch may lie on either side of it
JUST_BESIDE = 1e-6  # of a motion's duration: offset at which the direction of a joint at rest is evaluated


def check_motion(arm: Arm, motion: Motion) -> Motion:
    """Refuse a motion that does not fit the arm."""
    check_arm(arm, "arm")
    if not hasattr(motion, "at") or not hasattr(motion, "duration"):
        raise InputError(
            f"expected something with .duration and .at(t), got {type(motion).__name__}; plan one first.",
            "motion",
        )
    q = np.asarray(motion.at(np.zeros(1))[0])
    if q.shape != (1, arm.n):
        raise InputError(
            f"{arm.name!r} has {arm.n} joints; expected shape (1, {arm.n}) at one time, got {q.shape}.",
            "motion",
        )
    return motion


def times_along(motion: Motion, interval: float, what: str) -> Floats:
    """Times (m,) from 0 to the end of a motion, evenly spaced at most `interval` seconds apart."""
    apart = check_number(interval, what, above=0.0)
    if motion.duration / apart > MOST_PLACES:
        raise InputError(
            f"{apart!r} s gives more than {MOST_PLACES} samples in {motion.duration:g} s; use a longer one.",
            what,
        )
    return np.linspace(0.0, motion.duration, int(np.ceil(motion.duration / apart)) + 1)


def states_along(arm: Arm, motion: Motion, times: Floats) -> States:
    """q, qd, qdd at times (m,), (m, n) each; joints at rest with dry friction get the velocity just after or
    before.
    """
    q, qd, qdd = (np.ascontiguousarray(x, dtype=np.float64) for x in motion.at(times))
    directions = Directions.of(arm)
    if directions is not None:
        aside = JUST_BESIDE * motion.duration
        beside = motion.at(np.where(times + aside <= motion.duration, times + aside, times - aside))[1]
        qd = np.ascontiguousarray(np.where(directions.dry & (qd == 0.0), beside, qd))
    return q, qd, qdd


def parts(state: Floats) -> States:
    """Split a state (3n,), or states (m, 3n), into q, qd, qdd."""
    q, qd, qdd = (np.ascontiguousarray(x) for x in np.split(state, 3, axis=-1))
    return q, qd, qdd


@dataclass(frozen=True, eq=False)
class Wanted:
    """The reference state for which torques are computed; joints at rest with dry friction get their next
    direction.
    """

    directions: Directions | None

    def of(self, sample: Sample) -> States:
        """q, qd, qdd (n,) each."""
        q, qd, qdd = sample.wanted
        return q, qd if self.directions is None else self.directions.moving(qd, sample.ahead[1]), qdd


def corrected(sample: Sample, w: float) -> Floats:
    """Reference acceleration (n,) plus w^2 e + 2 w e', which makes errors decay; without them if w is 0."""
    q, qd, qdd = sample.wanted
    return qdd + pull(w**2, 2.0 * w, sample.q, sample.qd, q, qd) if w else qdd


@cache
def pull_operations() -> int:
    """Operations of the feedback of one joint, added to a force or an acceleration."""
    graph = Graph()
    force, *x = (graph.input(f"x[{k}]") for k in range(7))
    return graph.counts(force + pull(*x)).operations


def in_spans(states: Floats) -> Floats:
    """Factors (p,) that scale coordinates by their spans over the states (m, p); 1 for constant ones."""
    span = np.ptp(states, axis=0)
    return np.asarray(1.0 / np.where(span > 0.0, span, 1.0))


@dataclass(frozen=True, eq=False)
class Feedback:
    """Feedback torques M_jj (kp e + kd e') added to feedforward torques; zero without gains."""

    gains: Gains | None

    def added(self, force: Floats, sample: Sample) -> Floats:
        """A force (n,) plus the feedback."""
        if self.gains is None:
            return force
        q, qd, _ = sample.wanted
        total: Floats = force + pull(self.gains.kp, self.gains.kd, sample.q, sample.qd, q, qd)
        return total

    @property
    def operations(self) -> int:
        """Operations of computing errors and adding the feedback."""
        return 0 if self.gains is None else pull_operations() * len(self.gains.kp)


def feedback(arm: Arm, bandwidth: float | None, inertias: ArrayLike | None) -> Feedback:
    """Critically damped feedback of a bandwidth, rad/s, times inertias (n,); none without a bandwidth."""
    return Feedback(None if bandwidth is None else joint_gains(arm, bandwidth, inertias))


class Switches:
    """Jumps of the torques along a motion: at switches of acceleration, which the motion lists, and at
    velocity reversals of joints with dry friction.
    """

    def __init__(self, arm: Arm, motion: Motion) -> None:
        self.times: Floats = np.asarray(getattr(motion, "switches", ()), dtype=np.float64)
        self.directions = Directions.of(arm)
        self.reset()

    def reset(self) -> None:
        """Reset to the start of the motion."""
        self._over: tuple[int, int] | None = None
        self._ways: NDArray[np.bool_] | None = None

    def passed(self, t: float, qd: Floats) -> bool:
        """Whether there was a jump since the last sample; one exactly at a sample counts for the next sample
        too.

        Rounding may have put that sample on either side of it.
        """
        near = SAME_TIME * (1.0 + abs(t))
        over = (int(np.searchsorted(self.times, t - near)), int(np.searchsorted(self.times, t + near)))
        over = (over[1], over[1]) if self._over is None else over
        ways = None if self.directions is None else np.signbit(qd) & self.directions.dry
        switched = self._over is not None and over != self._over
        reversed_ = self._ways is not None and ways is not None and bool((ways != self._ways).any())
        self._over, self._ways = over, ways
        return switched or reversed_


class Spending:
    """Operations per sample since the start of the motion."""

    def __init__(self) -> None:
        self.samples = self.total = 0

    def note(self, spent: int) -> None:
        """Add a sample."""
        self.samples += 1
        self.total += spent

    @property
    def average(self) -> float:
        """Mean operations per sample; 0 before the first."""
        return self.total / self.samples if self.samples else 0.0
