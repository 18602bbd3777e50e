"""Motion through several points: open velocities are chosen so that no joint overshoots and the duration
falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.errors import InputError, shorten
from forearm.spatial import Flags, Floats, Indices
from forearm.trajectories.bangbang import Plans, bang_bang_many
from forearm.trajectories.failures import refuse
from forearm.trajectories.limits import MotionLimits
from forearm.trajectories.plan_status import PlanStatus
from forearm.trajectories.switching import Switching
from forearm.values import LARGEST, as_floats, check_kind

ROUNDS = 40  # of improvement; each tries every point once
FINEST = 2.0**-12  # of a step of improvement, relative to the first one
GAIN = 1e-9  # relative: smaller gains do not count
SAME = 1e-12  # relative: times that differ by rounding
WORTH = 1e-4  # relative: a round that gains less is followed by finer steps
SHARES = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)  # of the mean velocity that are tried
MAX_POINTS = 10_000


def through(
    points: ArrayLike, velocities: ArrayLike | Sequence[ArrayLike | None] | None, limits: MotionLimits
) -> Switching:
    """A motion through points in order.

    Between two points each joint moves as in `bang_bang`. An open velocity is 0 at the first and the last
    point, and where the joint reverses or rests. Elsewhere the search starts from the fastest velocities that
    each joint could have there alone (reached from the previous neighbour, braked to the next), from shares
    of them, and from rest, whichever is the shortest feasible one. Then each point in turn takes a changed
    velocity if that shortens the two segments beside it, and finally one nearer to their mean velocities if
    that costs nothing. Changes that increase the overshoot beyond the interval between two points are
    rejected, so that the motion stays near the polygon. The result is deterministic. Waters III.

    Args:
        points: joint coordinates (k + 1, n), rad or m.
        velocities: joint velocities (k + 1, n), open where NaN; None for a point, or as a whole: open.
        limits: range, velocity and acceleration of the joints.
    """
    check_kind(limits, MotionLimits, "through, limits")
    limits.check_one("through")
    q, given = given_states("through", points, velocities)
    if q.shape[1] != limits.n:
        raise InputError(f"expected points of {limits.n} numbers, got {q.shape[1]}.", "through", "points")
    given = given[:, 0]
    course = _best_start(q, given, limits)
    course = _settled(_improved(course, np.isnan(given), limits), np.isnan(given), limits)
    plans = course.plans
    return Switching(
        points=q, velocities=course.velocities, phases=plans.phases, accelerations=plans.accelerations
    )


@dataclass(frozen=True)
class _Course:
    """Velocities at all points, and the resulting segments."""

    velocities: Floats
    plans: Plans
    beyond: Floats  # (k,): overshoot of joints beyond the interval between the ends of a segment

    @property
    def duration(self) -> float:
        return float(self.plans.duration.sum()) if not self.plans.status.any() else np.inf


def given_states(what: str, points: ArrayLike, velocities: Any, orders: int = 1) -> tuple[Floats, Floats]:
    """Points (k + 1, n) and their derivatives (k + 1, orders, n), NaN where open inside, 0 at the ends."""
    q = as_floats(points, f"{what}, points")
    if q.ndim != 2 or not q.shape[1] or not 2 <= len(q) <= MAX_POINTS:
        raise InputError(
            f"expected 2 to {MAX_POINTS} points (k + 1, n), got shape {q.shape}.", what, "points"
        )
    rows: Any = [None] * len(q) if velocities is None else velocities
    if isinstance(rows, list | tuple):
        shapes = {np.shape(row) for row in rows if row is not None}
        none = np.full(shapes.pop() if len(shapes) == 1 else q.shape[1], np.nan)
        rows = [none if row is None else row for row in rows]
    found = as_floats(rows, f"{what}, velocities")
    found = found[:, None] if found.ndim == 2 else found
    if found.ndim != 3 or found.shape[::2] != q.shape or not 1 <= found.shape[1] <= orders:
        wanted = f", or ({len(q)}, m, {q.shape[1]}) with m up to {orders}" if orders > 1 else ""
        raise InputError(f"expected shape {q.shape}{wanted}, got {np.shape(rows)}.", what, "velocities")
    given = np.full((len(q), orders, q.shape[1]), np.nan)
    given[:, : found.shape[1]] = found
    given[[0, -1]] = np.where(np.isnan(given[[0, -1]]), 0.0, given[[0, -1]])
    wrong = {"points": ~(np.abs(q) <= LARGEST), "velocities": np.abs(given) > LARGEST}
    for name, bad in wrong.items():
        if bad.any():
            row = np.argwhere(bad)[0][0]
            value = (q if name == "points" else given)[row]
            raise InputError(
                f"expected finite numbers up to {LARGEST:g}, got {shorten(value.tolist())}.",
                what,
                f"{name}[{row}]",
            )
    return q, given


def _planned(q: Floats, qd: Floats, limits: MotionLimits) -> _Course:
    plans = bang_bang_many(q[:-1], qd[:-1], q[1:], qd[1:], limits)
    return _Course(qd, plans, _beyond(plans))


def _beyond(plans: Plans) -> Floats:
    """Overshoot of joints beyond the interval between the ends, (B,), relative to the distance needed to
    reach top speed.
    """
    a = plans.limits.acceleration
    least, most = np.minimum(plans.q0, plans.q1), np.maximum(plans.q0, plans.q1)
    total = np.zeros(plans.q0.shape)
    for q, qd, side in ((plans.q0, plans.qd0, 1.0), (plans.q1, plans.qd1, -1.0)):
        turn = q + side * 0.5 * qd * np.abs(qd) / a
        total += np.where(qd * plans.held < 0.0, np.maximum(np.maximum(turn - most, least - turn), 0.0), 0.0)
    beyond: Floats = (total * a / plans.limits.velocity**2).sum(axis=1)
    return beyond


def _best_start(q: Floats, given: Floats, limits: MotionLimits) -> _Course:
    """The shortest of a few choices of the open velocities, or an error if none is feasible."""
    is_open, fastest = np.isnan(given), _fastest(q, given, limits)
    courses = [
        _planned(q, np.where(is_open, share * fastest, given), limits)
        for share in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    possible = [course for course in courses if course.duration < np.inf]
    if not possible:
        status = courses[0].plans.status
        k = int(np.argmax(status != PlanStatus.PLANNED))
        plans = courses[0].plans
        refuse(
            (plans.q0[k], plans.qd0[k], plans.q1[k], plans.qd1[k]), limits, None, f"through, segment {k + 1}"
        )
    nearest = min(float(course.beyond.sum()) for course in possible)
    return min((c for c in possible if c.beyond.sum() <= nearest + GAIN), key=lambda course: course.duration)


def _fastest(q: Floats, given: Floats, limits: MotionLimits) -> Floats:
    """Velocity that each joint alone could have at each open point where it moves on, from both sides by
    v^2 = v'^2 + 2 a |distance|.
    """
    ways = np.diff(q, axis=0)
    before, after = np.vstack([0.0 * ways[:1], ways]), np.vstack([ways, 0.0 * ways[:1]])
    onward = np.where(before * after > 0.0, np.sign(ways[np.minimum(np.arange(len(q)), len(ways) - 1)]), 0.0)
    square = np.where(np.isnan(given), limits.velocity**2 * np.abs(onward), given**2)
    reach = 2.0 * limits.acceleration * np.abs(ways)
    for i in range(len(ways)):
        square[i + 1] = np.where(
            np.isnan(given[i + 1]), np.minimum(square[i + 1], square[i] + reach[i]), square[i + 1]
        )
    for i in range(len(ways) - 1, -1, -1):
        square[i] = np.where(np.isnan(given[i]), np.minimum(square[i], square[i + 1] + reach[i]), square[i])
    return onward * np.sqrt(square)


def _improved(course: _Course, is_open: Flags, limits: MotionLimits) -> _Course:
    """Rounds over the points, every second one at a time as they do not interact, with decreasing steps."""
    step = 1.0
    for _ in range(ROUNDS):
        before = course.duration
        for rows in _apart(is_open):
            course = _with_better(course, rows, _tries(course, rows, step, limits), is_open, False)
        if course.duration > before * (1.0 - WORTH):
            step *= 0.25
        if step < FINEST:
            break
    return course


def _settled(course: _Course, is_open: Flags, limits: MotionLimits) -> _Course:
    """Velocities moved towards the mean ones where that costs no time."""
    for share in (1.0, 0.5, 1.0, 0.5, 0.25, 0.125):
        for rows in _apart(is_open):
            now, mean = course.velocities[rows], _mean(course, rows)
            each = now + np.eye(limits.n)[:, None, :] * share * (mean - now)
            course = _with_better(
                course, rows, np.concatenate([(now + share * (mean - now))[None], each]), is_open, True
            )
    return course


def _apart(is_open: Flags) -> list[Indices]:
    """The points with open velocities, in two groups without a common segment."""
    inner = np.flatnonzero(is_open.any(axis=1))
    return [rows for rows in (inner[inner % 2 == 0], inner[inner % 2 == 1]) if rows.size]


def _with_better(course: _Course, rows: Indices, tries: Floats, is_open: Flags, settle: bool) -> _Course:
    """The course with the best of the velocities tried (C, rows, n): the shortest, or the nearest to the
    mean.
    """
    plans, limits = course.plans, course.plans.limits
    q = np.vstack([plans.q0, plans.q1[-1:]])
    tries = np.where(
        is_open[rows], np.clip(tries, -limits.velocity, limits.velocity), course.velocities[rows]
    )
    # the segments into the points, and those out of them
    q0, qd0, q1, qd1 = (np.empty((2, *tries.shape)) for _ in range(4))
    q0[0], q0[1] = q[rows - 1], q[rows]
    qd0[0], qd0[1] = course.velocities[rows - 1], tries
    q1[0], q1[1] = q[rows], q[rows + 1]
    qd1[0], qd1[1] = tries, course.velocities[rows + 1]
    q0, qd0, q1, qd1 = (x.reshape(-1, limits.n) for x in (q0, qd0, q1, qd1))
    both = bang_bang_many(q0, qd0, q1, qd1, limits)
    time, far = (x.reshape(2, *tries.shape[:2]).sum(axis=0) for x in (both.duration, _beyond(both)))
    now = plans.duration[rows - 1] + plans.duration[rows]
    allowed = course.beyond[rows - 1] + course.beyond[rows]
    time[~(far <= allowed * (1.0 + GAIN))] = np.inf  # also if it is NaN, as planning failed
    if settle:
        roughness, rough = (_roughness(course, rows, x) for x in (tries, course.velocities[rows]))
        cost = np.where(time <= now * (1.0 + SAME), roughness, np.inf)
        best, bound = cost.argmin(axis=0), rough * (1.0 - WORTH)
    else:
        cost, best, bound = time, time.argmin(axis=0), now * (1.0 - GAIN)
    gains = cost[best, np.arange(rows.size)] < bound
    if not gains.any():
        return course
    velocities = course.velocities.copy()
    velocities[rows[gains]] = tries[best, np.arange(rows.size)][gains]
    return _planned(q, velocities, limits)


def _mean(course: _Course, rows: Indices) -> Floats:
    """Harmonic mean of the mean velocities of the two segments beside each point, 0 where a joint
    reverses.
    """
    plans = course.plans
    with np.errstate(divide="ignore", invalid="ignore"):
        before, after = ((plans.q1 - plans.q0)[k] / plans.duration[k, None] for k in (rows - 1, rows))
        return np.where(before * after > 0.0, 2.0 * before * after / (before + after), 0.0)


def _roughness(course: _Course, rows: Indices, velocities: Floats) -> Floats:
    """Distance of velocities (..., rows, n) from the mean ones, (..., rows)."""
    rough: Floats = (((velocities - _mean(course, rows)) / course.plans.limits.velocity) ** 2).sum(axis=-1)
    return rough


def _tries(course: _Course, rows: Indices, step: float, limits: MotionLimits) -> Floats:
    """Velocities to try at these points, (C, rows, n): shares of the mean one, all slightly faster or slower,
    each joint alone.
    """
    now, mean = course.velocities[rows], _mean(course, rows)
    alone = np.eye(limits.n)[:, None, :] * (0.5 * step * np.maximum(np.abs(mean), np.abs(now)))
    tried = [
        *(share * mean for share in SHARES),
        *(now * share for share in (1.0 + 0.5 * step, 1.0 - 0.5 * step)),
    ]
    tried += [now + step * share * (mean - now) for share in (0.25, -0.25)]
    return np.stack([*tried, *(now + alone), *(now - alone)])
