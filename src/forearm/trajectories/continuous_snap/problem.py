"""The problem of a motion of continuous snap: points, given derivatives and limits; and the slowdown each
segment needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from math import perm

import numpy as np

from forearm.spatial import Flags, Floats
from forearm.trajectories.continuous_snap.least_snap import calm_states, least_snap_states
from forearm.trajectories.continuous_snap.motion import ORDERS, SmoothMotion
from forearm.trajectories.limits import MotionLimits
from forearm.trajectories.paths.hermite import hermite_by_share
from forearm.values import LARGEST, frozen

DriveSlowness = Callable[[Floats, Floats, Floats], Floats]  # q, qd, qdd (m, n) -> (m,)
LAYER = 2.0  # over the tension: share of a segment in its first and last polynomials
SHARES = np.linspace(0.0, 1.0, 49)  # sampled fractions of a polynomial during the search for durations
FEWER = 3  # decimation of the samples for segments of three polynomials
# Powers of these fractions, and their derivatives, (5, 49, 10).
POWERS = np.array(
    [
        [[perm(i, j) * x ** (i - j) if i >= j else 0.0 for i in range(2 * ORDERS)] for x in SHARES.tolist()]
        for j in range(ORDERS)
    ]
)
OUTSIDE = 2.0  # slowness of a segment that leaves the range of a joint
ROUNDING = 1e-12  # of positions: rounding tolerance of a range
STEP = 1.05  # ratio of successive durations in the search if not all of them are feasible
MOST_STEPS = 250  # maximum number of such steps in one direction: a factor of 2e5
MOST_HALVINGS = 100  # bisections of such a step
BESIDE = 100.0  # times the tolerance: a decreasing use there is above 1
ROUNDS = 8  # iterations for the duration of drives
NEAR = 1e-3  # relative tolerance of durations while others are searched


@frozen
class SmoothProblem:
    """A planning problem.

    Attributes:
        points: joint coordinates (k + 1, n), neighbours that differ.
        given: 0, then qd, qdd, qddd, qdddd at the points, (k + 1, 5, n), NaN where open.
        limits: range and the largest derivatives.
        drives: slowdown that the drives require at states (m, n); None: not limited by drives.
        accelerations: approximate capability of joints, (n,), if drives limit them; None: as in `limits`.
        tension: times the duration of a segment; above 0 joints move more evenly, in three polynomials each.
        calm: shares (n,) of the states that keep joints between the points, the rest being of minimum snap;
            None: 0 throughout.
        is_part: whether it is a section of another problem, with arbitrary derivatives at its ends.
    """

    points: Floats
    given: Floats
    limits: MotionLimits
    drives: DriveSlowness | None = None
    accelerations: Floats | None = None
    tension: float = 0.0
    calm: Floats | None = None
    is_part: bool = False

    @cached_property
    def is_scalable(self) -> bool:
        """Whether the motion can be scaled in time: no given derivative differs from 0."""
        return self.is_part or not np.nan_to_num(self.given).any()

    @cached_property
    def about(self) -> Floats:
        """The largest derivatives (4, n), with estimated accelerations if drives limit them."""
        largest = self.limits.of_derivatives.copy()
        if self.accelerations is not None:
            largest[1] = np.minimum(largest[1], self.accelerations)
        return largest

    @cached_property
    def weights(self) -> Floats:
        """Weights that make displacements of joints comparable, (n,): 1 over the first finite limit of qdd,
        qd, ...
        """
        largest = self.about[[1, 0, 2, 3]]
        first = np.argmax(largest < LARGEST, axis=0)
        return np.asarray(1.0 / largest[first, np.arange(self.limits.n)])

    @property
    def pieces(self) -> int:
        """Number of polynomials per segment."""
        return 3 if self.tension > 0.0 else 1

    def part(self, first: int, last: int, states: Floats) -> SmoothProblem:
        """The problem of segments `first` to `last`, between states (k + 1, 5, n) of the whole."""
        given = self.given[first : last + 1].copy()
        for end, k in ((0, first), (-1, last)):
            given[end, 1:] = states[k, 1:]
        return replace(self, points=self.points[first : last + 1], given=given, is_part=True)

    def motion(self, segments: Floats) -> SmoothMotion:
        """The motion with segment durations (k,)."""
        passed = np.arange(len(self.points)) * self.pieces
        return SmoothMotion(self.states(segments), self._lengths(segments), passed)

    def states(self, segments: Floats) -> Floats:
        """States at the ends of all polynomials, (m + 1, 5, n), for segment durations (k,)."""
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

    def slowness(self, segments: Floats) -> Floats:
        """Factor by which each segment must be slowed down to be within all limits, (k,), approximately."""
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

    def scaled(self, segments: Floats) -> tuple[Floats, Floats]:
        """Segments scaled by the first common factor that is within all limits, approximately, and the
        slowness of each afterwards, (k,); infinite if there is none.
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

    def uses(self, motion: SmoothMotion) -> Floats:
        """Shares of the limits of qd, qdd, qddd and qdddd that a motion uses, (4, n), exact."""
        return motion.peaks / self.limits.of_derivatives

    def largest_use(self, motion: SmoothMotion) -> float:
        """The largest of these; above 1 also if a joint leaves its range."""
        most = float(self.uses(motion).max())
        return max(most, OUTSIDE) if self.outside(motion).any() else most

    def outside(self, motion: SmoothMotion) -> Flags:
        """Which joints leave their range, (n,)."""
        least, most = motion.reach
        slack = ROUNDING * np.maximum(np.abs(least), np.abs(most))
        return (least < self.limits.lower - slack) | (most > self.limits.upper + slack)

    def _lengths(self, segments: Floats) -> Floats:
        """Durations of all polynomials in segments (k,)."""
        if not self.tension > 0.0:
            return segments
        share = min(LAYER / self.tension, 1.0 / 3.0)
        return np.outer(segments, [share, 1.0 - 2.0 * share, share]).ravel()


def first_within(use: Callable[[float], float], start: float, near: float) -> float:
    """The factor from `start` upwards, or below it if feasible, at which the use of limits reaches 1;
    infinite if it never does.

    Args:
        use: function of a factor; above 1 is infeasible.
        start: initial factor.
        near: tolerance below 1.
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
    level = False  # whether the use stays constant: a given velocity is at its limit
    for tried in range(MOST_HALVINGS):
        if factor - low <= near * factor:
            break
        if used >= 1.0 - near and not level:
            if use(factor * (1.0 - BESIDE * near)) > 1.0:
                break
            level = True
        halves = level or tried % 3 == 2  # bisection; otherwise the secant method
        share = 0.5 if halves else min(max((above - 1.0) / (above - used), 0.01), 0.99)
        middle = low + share * (factor - low)
        there = use(middle)
        if there <= 1.0:
            factor, used = middle, there
        else:
            low, above = middle, there
    return factor
