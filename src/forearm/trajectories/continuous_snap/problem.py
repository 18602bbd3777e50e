"""Points to pass, what is given there and what limits there are; and how slow each segment has to be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import perm

import numpy as np
from numpy.typing import NDArray

from forearm.trajectories.continuous_snap.least_snap import calm_states, least_snap_states
from forearm.trajectories.continuous_snap.motion import ORDERS, SmoothMotion
from forearm.trajectories.limits import MotionLimits
from forearm.trajectories.paths.hermite import hermite_by_share
from forearm.values import LARGEST

Array = NDArray[np.float64]
DriveSlowness = Callable[[Array, Array, Array], Array]  # q, qd, qdd (m, n) -> (m,)
LAYER = 2.0  # over the tension: the share of a segment that the first and the last of its polynomials take
SHARES = np.linspace(0.0, 1.0, 49)  # of a polynomial: where it is looked at while durations are searched
FEWER = 3  # every so many of them where a segment has three polynomials
# Powers of these shares, and their derivatives, (5, 49, 10).
POWERS = np.array(
    [
        [[perm(i, j) * x ** (i - j) if i >= j else 0.0 for i in range(2 * ORDERS)] for x in SHARES.tolist()]
        for j in range(ORDERS)
    ]
)
OUTSIDE = 2.0  # how slow a segment counts that leaves the range of a joint
ROUNDING = 1e-12  # of places: how far rounding may put them beyond a range
STEP = 1.05  # between durations that are tried where not all of them are possible
MOST_STEPS = 250  # of them in one direction: a factor of 2e5
MOST_HALVINGS = 100  # of such a step
BESIDE = 100.0  # times what is near enough: there a use that falls is more than 1
ROUNDS = 8  # towards a duration of drives
NEAR = 1e-3  # relative: durations that are near enough while others are searched


@dataclass(frozen=True, eq=False)
class SmoothProblem:
    """A motion that is asked for.

    Attributes:
        points: joint coordinates (k + 1, n), neighbours that differ.
        given: 0, then qd, qdd, qddd, qdddd at the points, (k + 1, 5, n), NaN where open.
        limits: range and the largest derivatives.
        drives: how many times slower a motion has to be at states (m, n) for the drives; None: any.
        accelerations: about what joints can have, (n,), where drives bound them; None: as `limits` say.
        tension: times the duration of a segment; above 0 joints move more evenly, in three polynomials each.
        calm: shares (n,) of the states that keep joints between the points, the rest is of least snap; None:
            0 throughout.
        is_part: whether it is cut out of another, so that what is given at its ends may be anything.
    """

    points: Array
    given: Array
    limits: MotionLimits
    drives: DriveSlowness | None = None
    accelerations: Array | None = None
    tension: float = 0.0
    calm: Array | None = None
    is_part: bool = False

    @cached_property
    def is_scalable(self) -> bool:
        """Whether the same motion in another time would do as well: nothing given is other than 0."""
        return self.is_part or not np.nan_to_num(self.given).any()

    @cached_property
    def about(self) -> Array:
        """The largest derivatives (4, n), with accelerations as the drives allow them, about."""
        largest = self.limits.of_derivatives.copy()
        if self.accelerations is not None:
            largest[1] = np.minimum(largest[1], self.accelerations)
        return largest

    @cached_property
    def weights(self) -> Array:
        """What makes ways of joints comparable, (n,): 1 over the first limit there is, of qdd, qd, .."""
        largest = self.about[[1, 0, 2, 3]]
        first = np.argmax(largest < LARGEST, axis=0)
        return np.asarray(1.0 / largest[first, np.arange(self.limits.n)])

    @property
    def pieces(self) -> int:
        """How many polynomials a segment has."""
        return 3 if self.tension > 0.0 else 1

    def part(self, first: int, last: int, states: Array) -> SmoothProblem:
        """That of the segments from `first` up to `last`, between states (k + 1, 5, n) of the whole."""
        given = self.given[first : last + 1].copy()
        for end, k in ((0, first), (-1, last)):
            given[end, 1:] = states[k, 1:]
        return replace(self, points=self.points[first : last + 1], given=given, is_part=True)

    def motion(self, segments: Array) -> SmoothMotion:
        """The motion whose segments (k,) take so long."""
        passed = np.arange(len(self.points)) * self.pieces
        return SmoothMotion(self.states(segments), self._lengths(segments), passed)

    def states(self, segments: Array) -> Array:
        """At the ends of all polynomials, (m + 1, 5, n), for segments (k,) that take so long."""
        lengths, points, given, tension = self._lengths(segments), self.points, self.given, None
        if self.tension > 0.0:
            tension = np.repeat(self.tension / segments, 3)
            places = np.repeat(self.points, 3, axis=0)[: len(lengths) + 1]
            share = min(LAYER / self.tension, 1.0 / 3.0)
            way = np.diff(self.points, axis=0)
            places[1::3] += share * way
            places[2::3] += (1.0 - share) * way
            points, given = places, np.full((len(places), *given.shape[1:]), np.nan)
            given[::3] = self.given
        states = least_snap_states(points, given, lengths, tension)
        if self.calm is not None:
            states += self.calm * (calm_states(points, given, lengths) - states)
            states[:: self.pieces, 0] = self.points
        return states

    def slowness(self, segments: Array) -> Array:
        """How many times longer each segment would have to take to be within all limits, (k,), about."""
        states, lengths = self.states(segments), self._lengths(segments)
        pieces = hermite_by_share(lengths, states[:-1], states[1:])
        powers = POWERS if self.pieces == 1 else POWERS[:, ::FEWER]
        blocks = powers.reshape(-1, 2 * ORDERS) @ pieces
        orders = blocks.reshape(len(lengths), ORDERS, powers.shape[1], -1).swapaxes(0, 1)
        orders = orders / lengths[:, None, None] ** np.arange(ORDERS)[:, None, None, None]
        found = np.zeros(len(lengths))
        for order, most in enumerate(self.limits.of_derivatives, 1):
            share = (np.abs(orders[order]) / most).max(axis=(1, 2))
            found = np.maximum(found, share ** (1.0 / order))
        if not self.is_scalable:
            slack = ROUNDING * np.abs(orders[0])
            leaves = (orders[0] < self.limits.lower - slack) | (orders[0] > self.limits.upper + slack)
            found = np.where(leaves.any(axis=(1, 2)), np.maximum(found, OUTSIDE), found)
        if self.drives is not None:
            q, qd, qdd = (x.reshape(-1, x.shape[-1]) for x in orders[:3])
            found = np.maximum(found, self.drives(q, qd, qdd).reshape(len(lengths), -1).max(axis=1))
        return np.asarray(found.reshape(-1, self.pieces).max(axis=1))

    def scaled(self, segments: Array) -> tuple[Array, Array]:
        """The segments in the first multiple of their durations that is within all limits, about, and how
        slow each would have to be then, (k,); infinite where there is none.
        """
        if not self.is_scalable:
            factor = first_within(lambda x: float(self.slowness(segments * x).max()), 1.0, NEAR)
            if np.isinf(factor):
                return segments * factor, segments * factor
            return segments * factor, self.slowness(segments * factor)
        slow = self.slowness(segments)
        segments = segments * slow.max()
        for _ in range(0 if self.drives is None else ROUNDS):
            slow = self.slowness(segments)  # torques do not scale with time
            if abs(float(slow.max()) - 1.0) < NEAR:
                break
            segments = segments * np.clip(slow.max(), 0.25, 4.0)
        return segments, slow / slow.max()

    def uses(self, motion: SmoothMotion) -> Array:
        """Shares of the limits of qd, qdd, qddd and qdddd that a motion uses, (4, n), exact."""
        return np.asarray(motion.peaks / self.limits.of_derivatives)

    def largest_use(self, motion: SmoothMotion) -> float:
        """The largest of them; more than 1 as well where a joint leaves its range."""
        most = float(self.uses(motion).max())
        return max(most, OUTSIDE) if self.outside(motion).any() else most

    def outside(self, motion: SmoothMotion) -> NDArray[np.bool_]:
        """Which joints leave their range on the way, (n,)."""
        least, most = motion.reach
        slack = ROUNDING * np.maximum(np.abs(least), np.abs(most))
        return np.asarray((least < self.limits.lower - slack) | (most > self.limits.upper + slack))

    def _lengths(self, segments: Array) -> Array:
        """The durations of all polynomials in segments (k,)."""
        if not self.tension > 0.0:
            return segments
        share = min(LAYER / self.tension, 1.0 / 3.0)
        return np.outer(segments, [share, 1.0 - 2.0 * share, share]).ravel()


def first_within(use: Callable[[float], float], start: float, near: float) -> float:
    """The factor from `start` on, or below it where that is possible, at which a use of limits gets to be 1;
    infinite where it never does.

    Args:
        use: of a factor; more than 1 is too much.
        start: a factor to begin with.
        near: how little less than 1 is near enough.
    """
    factor, used = start, use(start)
    low, above = factor, used
    for _ in range(MOST_STEPS):
        if above > 1.0 >= used:
            break
        if used > 1.0:
            low, above = factor, used
            factor = factor * STEP
            used = use(factor)
        else:
            factor, used = low, above
            low = low / STEP
            above = use(low)
    else:
        return np.inf if used > 1.0 else factor
    level = False  # where a use does not fall with the factor: a velocity that is given is at its limit
    for tried in range(MOST_HALVINGS):
        if factor - low <= near * factor:
            break
        if used >= 1.0 - near and not level:
            if use(factor * (1.0 - BESIDE * near)) > 1.0:
                break
            level = True
        halves = level or tried % 3 == 2  # otherwise by a straight line
        share = 0.5 if halves else min(max((above - 1.0) / (above - used), 0.01), 0.99)
        middle = low + share * (factor - low)
        there = use(middle)
        if there <= 1.0:
            factor, used = middle, there
        else:
            low, above = middle, there
    return factor
