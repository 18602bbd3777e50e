"""Motions of continuous snap through points, as fast as limits allow or of a given duration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from forearm.errors import InputError
from forearm.spatial import Floats, Indices
from forearm.trajectories.continuous_snap.failures import (
    check_bounded,
    check_points,
    refuse_duration,
    refuse_limits,
    refuse_use,
)
from forearm.trajectories.continuous_snap.leg_durations import leg_durations
from forearm.trajectories.continuous_snap.motion import ORDERS, SmoothMotion
from forearm.trajectories.continuous_snap.problem import SmoothProblem, first_within
from forearm.trajectories.limits import SLACK, MotionLimits
from forearm.trajectories.waypoints import given_states
from forearm.values import check_kind, check_number

Fastest = Callable[[SmoothProblem, Floats], Floats]
Given = ArrayLike | Sequence[ArrayLike | None] | None
BELOW = 0.97  # factor on durations from sampling, at which the exact search starts
ONE = 1e-60  # rad, m: closer points are equal
EXACT = 1e-12  # of a limit that may stay unused
CALMER = 24  # bisections of the share that keeps joints within their range
TENSIONS = (6.0, 8.0, 11.0, 15.0, 20.0, 28.0, 40.0, 56.0, 80.0)  # times the duration of a segment
# of the time without tension: it takes several times the snap, so that smaller gains are not worth it
TENSION_WORTH = 0.8


def smooth(
    points: ArrayLike,
    limits: MotionLimits | None = None,
    velocities: Given = None,
    *,
    duration: float | None = None,
) -> SmoothMotion:
    """A motion of continuous snap through points in order, for arms with elastic joints.

    Between points every joint follows a polynomial of ninth degree. The motion starts and ends with the given
    velocities, and zero acceleration, jerk and snap. Open derivatives at interior points minimise the
    integral of the squared snap; between two points from rest to rest all joints move along a straight line.
    The segment durations are searched for a short total; at least one joint reaches a limit, none exceeds it.
    If velocity limits dominate, tension is applied: each segment has three polynomials, and the velocity
    between points is more even. If a joint would leave its range, it passes its points with lower
    derivatives. With given velocities not every duration may be feasible: the first feasible one found is
    used.

    Args:
        points: joint coordinates (k + 1, n), rad or m.
        limits: range, velocity, acceleration, jerk and snap; accelerations of 1e30 count as unlimited. None:
            no limits.
        velocities: joint velocities (k + 1, n), open where NaN, or (k + 1, m, n) with accelerations, jerks
            and snaps, m up to 4; None for a point, or as a whole: open. Open means 0 at the first and last
            point.
        duration: of the motion, s; None: the shortest found. Refused if the limits do not allow it.
    """
    check_kind(limits, (MotionLimits, type(None)), "smooth, limits")
    wanted = None if duration is None else check_number(duration, "smooth, duration", above=0.0)
    q, derivatives = given_states("smooth", points, velocities, ORDERS - 1)
    given = np.concatenate([np.zeros((len(q), 1, q.shape[1])), derivatives], axis=1)
    if limits is None:
        if duration is None:
            raise InputError("expected limits, or a duration.", "smooth")
        return planned(SmoothProblem(q, given, MotionLimits(np.ones(q.shape[1]))), wanted, None, check_use)
    limits.check_one("smooth")
    if limits.n != q.shape[1]:
        raise InputError(f"expected those of {q.shape[1]} joints, got {limits.n}.", "smooth", "limits")
    problem = SmoothProblem(q, given, limits)
    check_points(problem)
    return planned(problem, wanted, within_limits, check_use)


def planned(
    problem: SmoothProblem,
    duration: float | None,
    fastest: Fastest | None,
    check: Callable[[SmoothProblem, SmoothMotion, float], None],
) -> SmoothMotion:
    """Plan the motion of a problem.

    Args:
        problem: its points, limits and given derivatives.
        duration: in s; None: the shortest found.
        fastest: the segments scaled by the smallest common factor that keeps the limits; None: they only
            weight the joints.
        check: refuses a motion of given derivatives that exceeds a limit in its duration.
    """
    whole, (problem, kept) = problem, merged(problem)
    if len(problem.points) == 1:
        if duration is None or problem.is_scalable:
            return standing(problem, kept, duration)
        problem, kept = whole, np.arange(len(whole.points))
    if fastest is not None and duration is None:
        check_bounded(problem)
        problem, segments = shaped(problem)
        return spread(problem.motion(fastest(problem, segments)), kept)
    assert duration is not None
    if fastest is not None and problem.is_scalable:
        return spread(slowed(problem, duration, fastest), kept)
    shares = np.ones(1) if len(problem.points) == 2 else leg_durations(problem)
    if not np.isfinite(shares).all():
        if fastest is not None:
            fastest(problem, shares)  # says which limit is in the way
        refuse_limits(problem)
    motion = problem.motion(shares * (duration / shares.sum()))
    if fastest is not None:
        check(problem, motion, duration)
    return spread(motion, kept)


def check_use(problem: SmoothProblem, motion: SmoothMotion, duration: float) -> None:
    """Refuse a motion that exceeds a limit."""
    if problem.largest_use(motion) > 1.0 + SLACK:
        refuse_use(problem, motion, duration)


def slowed(problem: SmoothProblem, duration: float, fastest: Fastest) -> SmoothMotion:
    """A scalable motion of a given duration, without tension if that is fast enough; refused if infeasible.

    Args:
        problem: its points and limits.
        duration: in s.
        fastest: the segments scaled by the smallest common factor that keeps the limits.
    """
    for tightest in (False, True):
        problem, segments = shaped(problem, tightest)
        segments = fastest(problem, segments)
        least = float(segments.sum())
        if duration >= least * (1.0 - SLACK):
            return problem.motion(segments * (duration / segments.sum()))
    refuse_duration(duration, least)


def shaped(problem: SmoothProblem, tightest: bool = True) -> tuple[SmoothProblem, Floats]:
    """Approximate segment durations, and the problem with the most effective tension, and with the calm
    needed to keep joints in their range.

    Args:
        problem: its points and limits.
        tightest: whether tension may be applied.
    """
    segments = leg_durations(problem)
    if not problem.is_scalable:
        return problem, segments
    if tightest:
        problem, segments = _under_tension(problem, segments)
    for last in (False, False, True):
        calm = _calm(problem, segments)
        if calm is None:
            break
        problem = replace(problem, calm=calm)
        segments = segments if last else leg_durations(problem, segments)
    return problem, segments


def _under_tension(problem: SmoothProblem, segments: Floats) -> tuple[SmoothProblem, Floats]:
    """Apply the most effective tension, if it pays off, which is when velocity limits dominate."""
    tried = [replace(problem, tension=tension) for tension in TENSIONS]
    totals = [float(tight.scaled(segments)[0].sum()) for tight in tried]
    best = tried[int(np.argmin(totals))]
    if min(totals) > TENSION_WORTH * segments.sum():
        return problem, segments
    return best, leg_durations(best, segments)


def _calm(problem: SmoothProblem, segments: Floats) -> Floats | None:
    """The smallest shares of calm states (n,), not below the present ones, that keep all joints in their
    range; None:
    none needed.
    """
    leaves = problem.outside(problem.motion(segments))
    if not leaves.any():
        return None
    low = np.zeros(problem.limits.n) if problem.calm is None else problem.calm
    high = np.where(leaves, 1.0, low)
    for _ in range(CALMER):
        middle = 0.5 * (low + high)
        leaves = problem.outside(replace(problem, calm=middle).motion(segments))
        low, high = np.where(leaves, middle, low), np.where(leaves, high, middle)
    return high


def merged(problem: SmoothProblem) -> tuple[SmoothProblem, Indices]:
    """The problem without repeated points, and the index of each given point among the remaining ones."""
    rows, places, kept = [problem.given[0]], [0], [0]
    for k in range(1, len(problem.points)):
        here, before = problem.given[k], rows[-1]
        same = np.isnan(here) | np.isnan(before) | (here == before)
        if (np.abs(problem.points[k] - problem.points[places[-1]]) < ONE).all() and same.all():
            rows[-1] = np.where(np.isnan(before), here, before)
        else:
            places.append(k)
            rows.append(here)
        kept.append(len(places) - 1)
    return replace(problem, points=problem.points[places], given=np.stack(rows)), np.array(kept)


def spread(motion: SmoothMotion, kept: Indices) -> SmoothMotion:
    """The motion with the removed points restored, passed at the same time."""
    if len(kept) == len(motion.passed):
        return motion
    counts = np.ones(len(motion.states), dtype=np.intp)
    counts[motion.passed] = np.bincount(kept)
    nodes = np.repeat(np.arange(len(counts)), counts)
    segments = np.zeros(len(nodes) - 1)
    segments[np.diff(nodes) > 0] = motion.segments
    return SmoothMotion(motion.states[nodes], segments, np.flatnonzero(np.isin(nodes, motion.passed)))


def within_limits(problem: SmoothProblem, segments: Floats) -> Floats:
    """Segments scaled by the smallest common factor that keeps all limits except the drives', exact."""
    if problem.is_scalable:
        orders = np.arange(1.0, ORDERS)[:, None]
        return segments * float((problem.uses(problem.motion(segments)) ** (1.0 / orders)).max())
    factor = np.inf
    if np.isfinite(segments).all():
        factor = first_within(lambda x: problem.largest_use(problem.motion(segments * x)), BELOW, EXACT)
    if np.isinf(factor):
        refuse_limits(problem)
    return segments * factor


def standing(problem: SmoothProblem, kept: Indices, duration: float | None) -> SmoothMotion:
    """A motion at rest with the given duration at its end.

    Args:
        problem: with one point.
        kept: index of the remaining point for each given one.
        duration: in s; None: 0.
    """
    states = np.nan_to_num(problem.given)
    states[:, 0] = problem.points
    segments = np.zeros(len(kept) - 1)
    segments[-1] = 0.0 if duration is None else duration
    return SmoothMotion(states[kept], segments, np.arange(len(kept)))
