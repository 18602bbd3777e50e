"""What controllers keep beside their forces: the state these are for, feedback on them, operations spent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm, check_arm
from forearm.control.controller import Sample
from forearm.control.controllers.forces import Directions
from forearm.control.controllers.formulas import pull
from forearm.control.gains import Gains, joint_gains
from forearm.control.reference import Motion
from forearm.errors import InputError
from forearm.symbols import Graph
from forearm.values import check_number

Floats = NDArray[np.float64]
MOST_PLACES = 1_000_000  # that a motion is looked at
SAME_TIME = 1e-9  # relative: a sample this near to a switch may lie on either side of it
JUST_BESIDE = 1e-6  # of a motion's duration: where a joint that stands is asked which way it goes


def check_motion(arm: Arm, motion: Motion) -> Motion:
    """Refuse a motion that is not one of this arm."""
    check_arm(arm, "arm")
    if not hasattr(motion, "at") or not hasattr(motion, "duration"):
        raise InputError(
            "motion: expected something with .duration and .at(t), got "
            f"{type(motion).__name__}; plan one first."
        )
    q = np.asarray(motion.at(np.zeros(1))[0])
    if q.shape != (1, arm.n):
        raise InputError(
            f"motion: {arm.name!r} has {arm.n} joints; the motion gives {q.shape} for one "
            f"time, not (1, {arm.n})."
        )
    return motion


def times_along(motion: Motion, interval: float, what: str) -> Floats:
    """Times (m,) from 0 to the end of a motion, evenly and at most `interval` seconds apart."""
    apart = check_number(interval, what, above=0.0)
    if motion.duration / apart > MOST_PLACES:
        raise InputError(
            f"{what}: {apart!r} s gives more than {MOST_PLACES} places in "
            f"{motion.duration:g} s; take a longer one."
        )
    times: Floats = np.linspace(0.0, motion.duration, int(np.ceil(motion.duration / apart)) + 1)
    return times


def states_along(arm: Arm, motion: Motion, times: Floats) -> tuple[Floats, Floats, Floats]:
    """q, qd, qdd at times (m,), (m, n) each; joints with dry friction that stand have the velocity
    of just after or before.
    """
    q, qd, qdd = (np.ascontiguousarray(x, dtype=np.float64) for x in motion.at(times))
    directions = Directions.of(arm)
    if directions is not None:
        aside = JUST_BESIDE * motion.duration
        beside = motion.at(np.where(times + aside <= motion.duration, times + aside, times - aside))[1]
        qd = np.ascontiguousarray(np.where(directions.dry & (qd == 0.0), beside, qd))
    return q, qd, qdd


def parts(state: Floats) -> tuple[Floats, Floats, Floats]:
    """q, qd, qdd of a state (3n,) or states (m, 3n) that hold them in a row."""
    q, qd, qdd = (np.ascontiguousarray(x) for x in np.split(state, 3, axis=-1))
    return q, qd, qdd


@dataclass(frozen=True, eq=False)
class Wanted:
    """The state that forces are computed for: the wanted motion, dry joints that stand
    taken to move as they will.
    """

    directions: Directions | None

    def of(self, sample: Sample) -> tuple[Floats, Floats, Floats]:
        """q, qd, qdd (n,) each."""
        q, qd, qdd = sample.wanted
        return q, qd if self.directions is None else self.directions.moving(qd, sample.ahead[1]), qdd


def corrected(sample: Sample, w: float) -> Floats:
    """The acceleration wanted (n,), with w^2 e + 2 w e' that brings errors to 0; alone where w is 0."""
    q, qd, qdd = sample.wanted
    made: Floats = qdd + pull(w**2, 2.0 * w, sample.q, sample.qd, q, qd) if w else qdd
    return made


@cache
def pull_operations() -> int:
    """Of pulling one joint towards what is wanted, added to a force or an acceleration."""
    graph = Graph()
    force, *x = (graph.input(f"x[{k}]") for k in range(7))
    return graph.counts(force + pull(*x)).operations


def in_spans(states: Floats) -> Floats:
    """Factors (p,) that measure coordinates in spans of the states (m, p); 1 for those that do not change."""
    span = np.ptp(states, axis=0)
    return np.asarray(1.0 / np.where(span > 0.0, span, 1.0))


@dataclass(frozen=True, eq=False)
class Feedback:
    """Torques M_jj (kp e + kd e') that pull towards what is wanted, added to forces;
    none where there are no gains.
    """

    gains: Gains | None

    def added(self, force: Floats, sample: Sample) -> Floats:
        """A force (n,) with the feedback on it."""
        if self.gains is None:
            return force
        q, qd, _ = sample.wanted
        total: Floats = force + pull(self.gains.kp, self.gains.kd, sample.q, sample.qd, q, qd)
        return total

    @property
    def operations(self) -> int:
        """Of the errors and of adding them."""
        return 0 if self.gains is None else pull_operations() * len(self.gains.kp)


def feedback(arm: Arm, bandwidth: float | None, inertias: ArrayLike | None) -> Feedback:
    """Critically damped at a bandwidth, rad/s, times inertias (n,); without a bandwidth there is none."""
    return Feedback(None if bandwidth is None else joint_gains(arm, bandwidth, inertias))


class Switches:
    """Where forces jump along a motion: at switches of acceleration, which it tells of,
    and where dry joints reverse.
    """

    def __init__(self, arm: Arm, motion: Motion) -> None:
        self.times: Floats = np.asarray(getattr(motion, "switches", ()), dtype=np.float64)
        self.directions = Directions.of(arm)
        self.reset()

    def reset(self) -> None:
        """Nothing has been passed."""
        self._over: tuple[int, int] | None = None
        self._ways: NDArray[np.bool_] | None = None

    def passed(self, t: float, qd: Floats) -> bool:
        """Whether there was one since the last sample; a switch that lies on a sample
        counts for the next one too.

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
    """Operations spent since the motion began, by sample."""

    def __init__(self) -> None:
        self.samples = self.total = 0

    def note(self, spent: int) -> None:
        """One more sample."""
        self.samples += 1
        self.total += spent

    @property
    def average(self) -> float:
        """Operations a sample; 0 before the first."""
        return self.total / self.samples if self.samples else 0.0
