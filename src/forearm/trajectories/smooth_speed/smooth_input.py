"""Input of a smooth speed profile: validated arrays, and an initial guess."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from forearm.errors import InputError
from forearm.spatial import Floats
from forearm.trajectories.smooth_speed.smooth_limits import SmoothLimits
from forearm.trajectories.smooth_speed.speed_elements import GivenNode
from forearm.values import frozen

Boundary = tuple[tuple[float, float | None], tuple[float, float | None]]
LEAST = 1e-6  # of the largest x: minimum of the initial guess where the first stage is at rest
JUMP = 1e-3  # of the largest q'': smaller jumps count as rounding
APART = 3  # intervals between nodes of given speed: fewer leave no degree of freedom


@frozen
class ProfileProblem:
    """A path with its limits and an initial guess.

    Attributes:
        s: nodes, (N + 1,).
        limits: along them.
        nodes: those with given speed.
        x, u: the initial guess at both ends of each interval, (N, 2).
    """

    s: Floats
    limits: SmoothLimits
    nodes: dict[int, GivenNode]
    x: Floats
    u: Floats


def profile_problem(
    s: Floats, limits: SmoothLimits, start: Floats, boundary: Boundary, stops: Sequence[int]
) -> ProfileProblem:
    """The nodes of given speed and an initial guess, from arguments of `smooth_profile`."""
    jerks = _largest_path_jerks(limits)
    nodes = _given_nodes(boundary, stops, jerks)
    _check_bends(s, limits, nodes)
    for k, node in nodes.items():
        if node.x > limits.top[k] * (1 + 1e-9):
            raise InputError(
                f"x is {node.x:g} at node {k}, expected at most top, {limits.top[k]:g}.", "smooth_profile"
            )
    x, u = _first_guess(s, limits, start, nodes, jerks)
    return ProfileProblem(s, limits, nodes, x, u)


def _given_nodes(boundary: Boundary, stops: Sequence[int], jerks: Floats) -> dict[int, GivenNode]:
    """The ends and stops; accelerations at rest are free if no jerk is limited."""
    last, (x0, u0), (x1, u1) = len(jerks) - 1, *boundary
    made = {
        0: GivenNode(x0, None, None if x0 == 0 == u0 and np.isinf(jerks[0]) else u0),
        last: GivenNode(x1, None if x1 == 0 == u1 and np.isinf(jerks[-1]) else u1, None),
    }
    for k in stops:
        still = None if np.isinf(jerks[k]) else 0.0
        made[k] = GivenNode(0.0, still, still)
    for a, b in pairwise(sorted(made)):
        if b - a < APART:
            raise InputError(
                f"expected at least {APART} intervals between nodes of given speed, got {b - a} "
                f"between nodes {a} and {b}; add nodes there.",
                "smooth_profile",
            )
    return made


def _check_bends(s: Floats, limits: SmoothLimits, nodes: dict[int, GivenNode]) -> None:
    """Refuse paths along which accelerations of jerk-limited joints jump at any speed."""
    jumps = np.abs(limits.ends2[0, :, 1:] - limits.ends2[1, :, :-1])
    is_limited = np.isfinite(limits.jerk[0, :, 1:]) & np.isfinite(limits.jerk[1, :, :-1])
    jumps = np.where(is_limited, jumps, 0.0)
    jumps[:, [k - 1 for k, node in nodes.items() if 0 < k < len(s) - 1]] = 0.0
    scale = np.abs(limits.ends2).max(initial=0.0)
    if jumps.max(initial=0.0) > JUMP * scale:
        joint, i = np.unravel_index(int(jumps.argmax()), jumps.shape)
        raise InputError(
            f"q'' of joint {joint + 1} jumps by {jumps[joint, i]:.3g} at s = {s[i + 1]:.6g}, "
            "and with it the acceleration at any speed; under a jerk limit q'' must be "
            "continuous: use a smoother path, or stop there.",
            "smooth_profile",
            "ends2",
        )


def _largest_path_jerks(limits: SmoothLimits) -> Floats:
    """The largest path jerks at the nodes from rest, (N + 1,)."""
    with np.errstate(divide="ignore"):
        at_ends = (limits.jerk / np.abs(limits.ends1)).min(axis=1, initial=limits.path_jerk)
    jerks = np.append(at_ends[0], at_ends[1, -1])
    jerks[1:-1] = np.minimum(jerks[1:-1], at_ends[1, :-1])
    return jerks


def _first_guess(
    s: Floats, limits: SmoothLimits, start: Floats, nodes: dict[int, GivenNode], jerks: Floats
) -> tuple[Floats, Floats]:
    """The profile of the first stage, reduced to what constant jerk from and to rest allows."""
    x = np.minimum(start, limits.top)
    for k, node in nodes.items():
        if node.x == 0 and np.isfinite(jerks[k]):
            x = np.minimum(x, 6 ** (4 / 3) / 4 * (jerks * (s - s[k]) ** 2) ** (2 / 3))
    finite = x[np.isfinite(x)]
    x = np.clip(x, LEAST * finite.max(), finite.max())
    for k, node in nodes.items():
        x[k] = node.x
    u = np.gradient(x, s) / 2
    u[list(nodes)] = 0.0
    return np.stack([x[:-1], x[1:]], axis=1), np.stack([u[:-1], u[1:]], axis=1)


def rest_grid(s: Floats, rests: Sequence[int], intervals: int = 4, parts: int = 24) -> Floats:
    """Nodes s refined next to rest, equally spaced in time under constant jerk.

    From rest a constant jerk covers a distance proportional to the cube of time: of a thousand equal
    intervals the first takes a tenth of the total time.

    Args:
        s: nodes, increasing, (N + 1,).
        rests: indices of those where the motion is at rest; they remain nodes.
        intervals: number of intervals next to each rest that are redivided; fewer if another rest is near.
        parts: number of new intervals.
    """
    N, at = len(s) - 1, sorted(rests)
    cubes = (np.arange(1, parts) / parts) ** 3
    is_kept = np.ones(N + 1, bool)
    added = []
    for k in at:
        before = max((other for other in at if other < k), default=-k)
        after = min((other for other in at if other > k), default=2 * N - k)
        for way, room in ((-1, (k - before) // 2), (1, (after - k) // 2)):
            reach = min(intervals, room)
            if reach > 0:
                is_kept[[k + way * i for i in range(1, reach)]] = False
                added.append(s[k] + cubes * (s[k + way * reach] - s[k]))
    return np.sort(np.concatenate([s[is_kept], *added]))
