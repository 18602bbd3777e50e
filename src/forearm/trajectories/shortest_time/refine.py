"""Grid refinement of a profile: mandatory nodes, and where more are needed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from forearm.progress import Progress
from forearm.spatial import Floats, Indices
from forearm.trajectories.paths.joint_path import JointPath
from forearm.trajectories.shortest_time.profile import (
    USED,
    Grid,
    NoProfile,
    PathProblem,
    Profile,
    fastest_profile,
)
from forearm.values import frozen

INSIDE = np.array([0.01, 0.25, 0.5, 0.75, 0.99])  # of an interval: where limits are checked between its ends
ALLOWED = 1.0 / USED - 1.0  # of the usable part of a limit: tolerance between nodes
COARSER = 4  # factor of the initial grid, which shows where intervals must be short
FINER = (1, 4, 16)  # factors on the number of intervals if the limits admit no profile on the first grid
SLOW = np.array(
    [1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-6, 1e-9]
)  # of x at an interval's other end: samples beside rest
ROUNDS = 6  # of splitting; afterwards limits are tightened where they are still exceeded
MARGINS = 8  # rounds of tightening
GRADES = (0.25, 0.05, 0.01)  # of an interval beside rest: where it is split
# of x: relative change that counts as unchanged, for shares that may exceed their limit by four times as much
UNCHANGED = 1e-4
SPLIT = 4  # parts of an interval in which limits are exceeded
MOST_PARTS = 64  # parts of one interval of the first grid
# of the path: length over which a motion with given end speeds slows down
STRETCHES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
SLOWINGS = 60  # iterations for a given duration; five are typical
SAME = 1e-10  # relative tolerance of a given duration
MOST_GROWTH = 2  # times the intervals of the second grid: limit of splitting
CROWDED = 1e-2  # of the spacing of even places: those closer to a fixed one are dropped
SAME_PLACE = 1e-12  # of the path: changes that differ by less differ by rounding
SHORTEST = 1e-9  # of the path: shorter intervals are not split


@frozen
class Boundary:
    """(ds/dt)^2 at both ends, None: as large as possible."""

    start: float | None
    end: float | None


def nodes(path: JointPath, count: int) -> Floats:
    """About `count` even places plus all places at which the path changes: breaks, corners, reversals of
    joints.
    """
    rests = np.array([0.0, *path.corners, path.length])
    # an interval lies in one piece of the path, and two rests, however close, are separated by a moving node
    must = np.sort(np.concatenate([rests, 0.5 * (rests[:-1] + rests[1:])]))
    changes = np.sort(np.concatenate([path.breaks, path.reversals()]))
    changes = changes[np.diff(changes, prepend=-path.length) > SAME_PLACE * path.length]
    must = np.sort(np.concatenate([must, _apart(changes, must, SAME_PLACE * path.length)]))
    even = np.linspace(0.0, path.length, count + 1)
    return np.sort(np.concatenate([must, _apart(even, must, CROWDED * path.length / count)]))


def _apart(places: Floats, fixed: Floats, distance: float) -> Floats:
    """The places farther than a distance from all fixed ones, which begin with 0."""
    k = np.searchsorted(fixed, places)
    near = np.minimum(np.abs(places - fixed[np.minimum(k, len(fixed) - 1)]), np.abs(places - fixed[k - 1]))
    return places[near > distance]


def refined_profile(
    problem: PathProblem, count: int, boundary: Boundary, report: Progress | None = None
) -> Profile:
    """The fastest profile on a grid of about `count` intervals, finer where a limit binds more at one
    end than at the other, and finer still where limits are exceeded between nodes by more than ALLOWED.
    """
    path = problem.path
    profile = _first_profile(problem, -(-count // COARSER), boundary)
    grid = _graded(_split(profile.grid, _parts(_losses(problem, profile), count)), profile)
    most = MOST_GROWTH * max(count, grid.count)
    known: tuple[Profile, Floats] | None = None
    for done in range(ROUNDS + MARGINS):
        if report is not None:
            report(done, ROUNDS + MARGINS, f"speeds at {grid.count + 1} points of the path")
        try:
            profile = fastest_profile(problem, grid, boundary.start, boundary.end)
        except NoProfile:
            if grid.margin is None:
                raise
            break  # the tightened limits are infeasible: keep the last profile, which exceeds them slightly
        used = largest_use(problem, profile, known)
        known = (profile, used) if grid.margin is None else None
        exceeded = used > 1.0 + ALLOWED
        if not exceeded.any():
            break
        long = np.diff(grid.s) > SHORTEST * path.length
        if done < ROUNDS and grid.count < most and (exceeded & long).any():
            grid = _split(grid, np.where(exceeded & long, SPLIT, 1))
        else:
            margin = np.ones(grid.count) if grid.margin is None else grid.margin
            less = margin / (used * (1.0 + 0.25 * ALLOWED))
            grid = replace(grid, margin=np.where(exceeded, less, margin))
    return profile


def _first_profile(problem: PathProblem, count: int, boundary: Boundary) -> Profile:
    """The profile on an even grid of `count` intervals, or on finer ones if none was found."""

    def profile(finer: int) -> Profile:
        grid = Grid.of(problem.path, nodes(problem.path, finer * count))
        return fastest_profile(problem, grid, boundary.start, boundary.end)

    for finer in FINER[:-1]:
        with suppress(NoProfile):
            return profile(finer)
    return profile(FINER[-1])


def slowed_profile(
    problem: PathProblem, shortest: Profile, boundary: Boundary, duration: float
) -> tuple[Profile, Floats]:
    """The profile of a given duration under a scaled maximum speed, on the same grid, and the ceiling of
    (ds/dt)^2 that the scaling defines.
    """
    taken, share, slow, fast = shortest.duration, 1.0, 0.0, 1.0
    profile, ceiling = shortest, shortest.x
    for _ in range(SLOWINGS):
        if abs(taken - duration) <= SAME * duration:
            break
        # the duration is nearly 1 / share
        share *= taken / duration
        share = share if slow < share < fast else 0.5 * (slow + fast)
        profile, ceiling = _under(problem, shortest, boundary, share * share)
        taken = profile.duration
        slow, fast = (share, fast) if taken > duration else (slow, share)
    stretched = taken / duration
    return replace(profile, x=profile.x * stretched * stretched), ceiling


def _under(
    problem: PathProblem, shortest: Profile, boundary: Boundary, share: float
) -> tuple[Profile, Floats]:
    """The fastest profile below a share of the fastest (ds/dt)^2, and this ceiling; near ends with a given
    speed the ceiling is higher, over the shortest length in which the motion can slow down.
    """
    s, x = shortest.grid.s, shortest.x
    for stretch in STRETCHES:
        reach = stretch * s[-1]
        ceiling = share * x
        if boundary.start:
            ceiling = np.maximum(ceiling, np.minimum(x, x[0] * (1.0 - s / reach)))
        if boundary.end:
            ceiling = np.maximum(ceiling, np.minimum(x, x[-1] * (1.0 - (s[-1] - s) / reach)))
        try:
            return fastest_profile(problem, shortest.grid, boundary.start, boundary.end, ceiling), ceiling
        except NoProfile:
            if stretch == STRETCHES[-1] or not (boundary.start or boundary.end):
                raise
    raise AssertionError


def _losses(problem: PathProblem, profile: Profile) -> Floats:
    """Approximate time lost in each interval, (N,), because s'' is constant in it: the limit that binds at
    one end is slack at the other.
    """
    x = np.stack([profile.x[:-1], profile.x[1:]], axis=1).ravel()
    blocks = [np.sqrt(x)[:, None] * profile.ends.pace]
    if problem.layout.kinds:
        blocks.append(problem.shares(profile.ends, x, np.repeat(profile.u, 2))[0])
    shares = np.abs(np.concatenate(blocks, axis=1)).reshape(profile.grid.count, 2, -1)
    binding = shares.max(axis=1).argmax(axis=1)
    left, right = shares[np.arange(len(binding)), :, binding].T
    return np.asarray(np.diff(profile.times) * np.abs(left - right))


def _parts(losses: Floats, count: int) -> Indices:
    """Number of parts per interval such that there are about `count` and the total loss is minimal: each loss
    falls with the number of parts.
    """
    weight = np.sqrt(losses + 1e-6 * losses.sum() / len(losses))
    parts = np.ones(len(losses), dtype=np.intp)
    if not weight.any():
        return parts * max(1, count // len(losses))
    spare = float(count)
    for _ in range(4):  # intervals that stay whole leave more parts for the others
        parts = np.maximum(1, np.rint(spare * weight / weight.sum())).astype(np.intp)
        spare *= count / parts.sum()
    return np.minimum(parts, MOST_PARTS)


def largest_use(
    problem: PathProblem, profile: Profile, known: tuple[Profile, Floats] | None = None
) -> Floats:
    """The largest share of a limit used between the nodes of each interval, (N,); at rests also without
    friction, which no longer brakes then. Intervals unchanged since the profile of `known` are not evaluated
    again.
    """
    grid, count = profile.grid, len(INSIDE)
    used, which = _unchanged(profile, known)
    x = (profile.x[:-1][which, None] + INSIDE * np.diff(profile.x)[which, None]).ravel()
    places, u = grid.within(problem, INSIDE, which), np.repeat(profile.u[which], count)
    shares = problem.largest(places, x, u).reshape(-1, count)
    used[which] = np.maximum.reduce(list(shares.T))  # column by column: faster than along short rows
    left, right = (np.flatnonzero(x == 0.0) for x in (profile.x[:-1], profile.x[1:]))
    ends, moving = np.concatenate([2 * left, 2 * right + 1]), profile.x[np.concatenate([left + 1, right])]
    np.maximum.at(used, ends // 2, _beside_rest(problem, profile, ends, moving))
    return used if grid.margin is None else used * grid.margin


def _unchanged(profile: Profile, known: tuple[Profile, Floats] | None) -> tuple[Floats, Indices | slice]:
    """The shares of unchanged intervals, (N,), 0 for the others, and the indices of the others."""
    used = np.zeros(profile.grid.count)
    if known is None or profile.grid.margin is not None:
        return used, slice(None)
    before, shares = known
    s, x = before.grid.s, before.x
    k = np.minimum(np.searchsorted(s, profile.grid.s[:-1]), len(s) - 2)
    same = (s[k] == profile.grid.s[:-1]) & (s[k + 1] == profile.grid.s[1:])
    for node, here in ((k, profile.x[:-1]), (k + 1, profile.x[1:])):
        same &= np.abs(x[node] - here) <= UNCHANGED * here
    used[same] = shares[k[same]]
    return used, np.flatnonzero(~same)


def _beside_rest(problem: PathProblem, profile: Profile, ends: Indices, x: Floats) -> Floats:
    """The largest shares where intervals end at rest, (k,): without friction, which no longer brakes then,
    and at the low speeds between rest and x (k,) at which dry friction changes.
    """
    if not ends.size:
        return np.zeros(0)
    speeds = np.array([0.0, *SLOW])[:, None]
    rest = profile.ends[np.tile(ends, len(speeds))]
    numbers = rest.rows.reshape(len(speeds), -1, problem.layout.payloads, problem.layout.one_width)
    directions = numbers[..., problem.layout.slices["direction"]]
    directions[...] = np.sign(directions)
    directions[0] = 0.0
    u = np.tile(profile.u[ends // 2], len(speeds))
    shares = problem.largest(rest, (speeds * x).ravel(), u).reshape(len(speeds), -1)
    return np.asarray(shares.max(axis=0))


def _graded(grid: Grid, profile: Profile) -> Grid:
    """The grid with geometrically shorter intervals beside rest: friction may change abruptly there, and the
    limits at rest apply to the whole of the first interval.
    """
    rests = np.isin(grid.s, profile.grid.s[profile.x == 0.0])
    begins, ends = np.flatnonzero(rests[:-1]), np.flatnonzero(rests[1:])
    lengths = np.diff(grid.s)
    added = [grid.s[begins] + share * lengths[begins] for share in GRADES]
    added += [grid.s[ends + 1] - share * lengths[ends] for share in GRADES]
    s = np.unique(np.concatenate([grid.s, *added]))
    k = np.clip(np.searchsorted(grid.s, 0.5 * (s[:-1] + s[1:])) - 1, 0, grid.count - 1)
    return Grid(s, grid.piece[k], grid.direction[k], np.searchsorted(s, grid.s[grid.stops]))


def _split(grid: Grid, parts: Indices) -> Grid:
    """Split each interval into this many."""
    first = np.repeat(grid.s[:-1], parts)
    k = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    s = np.append(first + k * np.repeat(np.diff(grid.s) / parts, parts), grid.s[-1])
    begins = np.concatenate([[0], np.cumsum(parts)])
    return Grid(
        s,
        np.repeat(grid.piece, parts),
        np.repeat(grid.direction, parts, axis=0),
        begins[grid.stops],
        None if grid.margin is None else np.repeat(grid.margin, parts),
    )
