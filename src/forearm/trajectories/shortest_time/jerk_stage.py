"""Second stage, under jerk limits: the fastest smooth speed below that of the first stage, whose acceleration
jumps.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from forearm.errors import InputError
from forearm.progress import Progress
from forearm.spatial import Floats
from forearm.trajectories.shortest_time.limit_rows import HAND_KIND
from forearm.trajectories.shortest_time.path_motion import PathMotion
from forearm.trajectories.shortest_time.profile import (
    USED,
    Grid,
    PathProblem,
    Places,
    Profile,
    ends_of,
    smaller_at_nodes,
)
from forearm.trajectories.smooth_speed.smooth_input import rest_grid
from forearm.trajectories.smooth_speed.smooth_limits import SmoothLimits
from forearm.trajectories.smooth_speed.smooth_profile import SmoothProfile, smooth_profile

SLOW = 1e-6  # of the largest x: limits are not linearised closer to rest, where friction is steep
TIGHTENED = 3  # rounds in which limits are tightened where they were exceeded between nodes
ENOUGH = 1.0 + 2e-4  # of the usable part of a limit: no further round is needed


def has_jerk_limits(problem: PathProblem) -> bool:
    """Whether any jerk is limited."""
    return problem.limits.bounds("jerk") or problem.limits.bounds("path jerk")


def smoothed(
    problem: PathProblem, first: Profile, report: Progress | None = None, grid: Grid | None = None
) -> tuple[Profile, PathMotion]:
    """The profile and the motion within jerk limits; an error in words if infeasible.

    Args:
        problem: arm, path and limits.
        first: the fastest profile without jerk limits.
        report: called in each iteration.
        grid: the grid; None: that of the first profile, with shorter intervals beside rest.
    """
    s = first.grid.s
    if grid is None:
        grid = Grid.of(problem.path, rest_grid(s, np.flatnonzero(first.x == 0.0).tolist()))
    start = np.interp(grid.s, s, first.x)
    used = 1.0
    for _ in range(TIGHTENED):
        margin = None if used == 1.0 else np.full(grid.count, 1.0 / used)
        found, ends = _solved(problem, replace(grid, margin=margin), start, report)
        motion = PathMotion(problem.path, grid.s, found.times, found.coefficients, grid.piece)
        exceeded = largest_share(problem, motion)
        if exceeded <= ENOUGH:
            break
        used *= exceeded
    top = np.interp(grid.s, s, first.top)
    low, high = (np.interp(grid.s, s, x) for x in (first.low, first.high))
    return Profile(grid, found.x, top, low, high, ends), motion


def _solved(
    problem: PathProblem, grid: Grid, start: Floats, report: Progress | None
) -> tuple[SmoothProfile, Places]:
    """The smooth profile on a grid, and the places at the ends of its intervals."""
    path, rest = problem.path, start == 0.0
    ends = ends_of(problem, grid, bool(rest[0]), bool(rest[-1]))
    pieces = np.repeat(grid.piece, 2)
    q1, q2 = path.at(ends.s, pieces)[1:]
    q3 = path.third(ends.s, pieces)
    caps = problem.cap(ends)
    top = smaller_at_nodes(caps)
    margin = USED if grid.margin is None else USED * float(grid.margin[0])

    def rows(x: Floats, u: Floats) -> tuple[Floats, Floats, Floats]:
        least = SLOW * float(x.max())
        at_ends = np.maximum(np.stack([x[:-1], x[1:]], axis=1).ravel(), least)
        return _half_planes(problem, ends, at_ends, u.ravel(), grid.count)

    shape = (grid.count, 2, path.n)
    along_path = (q1, q2, q3, margin * problem.limits.at("jerk", ends.s))
    q1, q2, q3, jerk = (np.ascontiguousarray(x.reshape(shape).transpose(1, 2, 0)) for x in along_path)
    path_jerk = margin * float(problem.limits.at("path jerk", grid.s[:1])[0, 0])
    limits = SmoothLimits(q1, q2, q3, np.diff(grid.s), jerk, path_jerk, top, rows)
    begin, end = ((float(x), 0.0 if x == 0.0 else None) for x in start[[0, -1]])
    stops = [int(k) for k in np.flatnonzero(rest) if 0 < k < grid.count]
    try:
        found = smooth_profile(grid.s, limits, np.minimum(start, top), (begin, end), stops, report)
    except InputError as error:
        raise InputError(f"along {path.name!r}: {error.problem}", "time_optimal", "jerk") from error
    return found, ends


def _half_planes(
    problem: PathProblem, ends: Places, x: Floats, u: Floats, count: int
) -> tuple[Floats, Floats, Floats]:
    """The limits as gu u + gx x <= h around x and u (2 N,), (N, 2, R) each."""
    if not problem.layout.kinds:
        none = np.zeros((count, 2, 1))
        return none, none, none + 1.0
    share, by_u, by_x = problem.shares(ends, x, u)
    at_zero = share - by_u * u[:, None] - by_x * x[:, None]
    upper, lower = (by_u, by_x, 1.0 - at_zero), (-by_u, -by_x, 1.0 + at_zero)
    made = [np.concatenate(pair, axis=1) for pair in zip(upper, lower, strict=True)]
    if HAND_KIND in problem.layout.kinds:  # the norm of a vector: its tangent bounds it on one side only
        last = share.shape[1] - 1
        idle = np.where(share[:, last] < 0.0, last, 2 * last + 1)
        rows = np.arange(len(idle))
        for array, value in zip(made, (0.0, 0.0, 1.0), strict=True):
            array[rows, idle] = value
    return tuple(array.reshape(count, 2, -1) for array in made)  # type: ignore[return-value]


def largest_share(problem: PathProblem, motion: PathMotion) -> float:
    """The largest share of a limit that a motion uses, at ten times in every interval."""
    times = motion.fine_times[:-1]
    k, s, rate, second = motion.details(times)
    middle = 0.5 * (motion.knots[:-1] + motion.knots[1:])
    direction = np.sign(problem.path.at(middle, motion.pieces)[1])
    places = problem.places(s, motion.pieces[k], direction[k])
    most = problem.largest(places, rate * rate, second).max()
    jerks = np.abs(motion.jerk(times)) / problem.limits.at("jerk", s)
    along = np.abs(motion.third(times)) / problem.limits.at("path jerk", s)[:, 0]
    return max(float(most), float(jerks.max()) / USED, float(along.max()) / USED)
