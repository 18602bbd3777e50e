"""Input of a smooth speed profile: validated arrays, and an initial guess."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from forearm.errors import InputError, shorten
from forearm.spatial import Floats
from forearm.trajectories.smooth_speed.smooth_limits import HalfPlanes, SmoothLimits
from forearm.trajectories.smooth_speed.speed_elements import GivenNode
from forearm.values import as_finite, as_floats, as_shape, check_number, check_whole

Boundary = tuple[tuple[float, float | None], tuple[float, float | None]]
WHERE = "smooth_profile"
LEAST = 1e-6  # of the largest x: minimum of the initial guess where the first stage is at rest
JUMP = 1e-3  # of the largest q'': smaller jumps count as rounding
APART = 3  # intervals between nodes of given speed: fewer leave no degree of freedom


@dataclass(frozen=True, eq=False)
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
    s: ArrayLike,
    ends1: ArrayLike,
    ends2: ArrayLike,
    ends3: ArrayLike,
    jerk: ArrayLike,
    path_jerk: float,
    top: ArrayLike,
    rows: HalfPlanes,
    start: ArrayLike,
    boundary: Boundary,
    stops: Sequence[int],
) -> ProfileProblem:
    """The validated arguments of `smooth_profile`."""
    places = as_floats(s, f"{WHERE}, s")
    if places.ndim != 1 or len(places) <= APART or not (np.diff(places) > 0).all():
        raise InputError(
            f"expected at least {APART + 1} increasing numbers, got {shorten(places.tolist())}.", WHERE, "s"
        )
    N = len(places) - 1
    first = as_floats(ends1, f"{WHERE}, ends1")
    if first.ndim != 3:
        raise InputError(f"expected shape ({N}, 2, n), got {first.shape}.", WHERE, "ends1")
    n = first.shape[2]
    q1, q2, q3 = (
        np.ascontiguousarray(as_finite(value, (N, 2, n), f"{WHERE}, {name}").transpose(1, 2, 0))
        for name, value in (("ends1", first), ("ends2", ends2), ("ends3", ends3))
    )
    joint_jerk = _positive(jerk, (N, 2, n), "jerk").transpose(1, 2, 0)
    ceiling = _positive(top, (N + 1,), "top", is_zero_allowed=True)
    along = float(_positive(path_jerk, (), "path_jerk"))
    limits = SmoothLimits(q1, q2, q3, np.diff(places), joint_jerk, along, ceiling, rows)
    nodes = _given_nodes(N, boundary, stops, _largest_path_jerks(limits))
    _check_bends(places, limits, nodes)
    guess = as_shape(start, (N + 1,), f"{WHERE}, start")
    if np.isnan(guess).any() or (guess < 0).any() or not guess.max() > 0:
        raise InputError("expected squares of speeds, at least 0 and not all 0.", WHERE, "start")
    for k, node in nodes.items():
        if node.x > ceiling[k] * (1 + 1e-9):
            raise InputError(f"x is {node.x:g} at node {k}, expected at most top, {ceiling[k]:g}.", WHERE)
    x, u = _first_guess(places, limits, guess, nodes)
    return ProfileProblem(places, limits, nodes, x, u)


def _positive(value: ArrayLike, shape: tuple[int, ...], name: str, is_zero_allowed: bool = False) -> Floats:
    """Limits: positive numbers of a shape that broadcasts to the expected one; inf if unlimited."""
    array = as_floats(value, f"{WHERE}, {name}")
    try:
        array = np.broadcast_to(array, shape)
    except ValueError:
        raise InputError(f"expected shape {shape}, got {array.shape}.", WHERE, name) from None
    if not ((array > 0) | (is_zero_allowed & (array == 0))).all():
        raise InputError(f"limits must be positive, got {shorten(array.tolist())}.", WHERE, name)
    return array


def _given_nodes(N: int, boundary: Boundary, stops: Sequence[int], jerks: Floats) -> dict[int, GivenNode]:
    """The ends and stops; accelerations at rest are free if no jerk is limited."""
    made = {}
    sides = []
    for name, (x, u) in zip(("start", "end"), boundary, strict=True):
        what = f"{WHERE}, boundary at the {name}"
        speed = check_number(x, f"{what}, x", minimum=0.0)
        sides.append((speed, None if u is None else check_number(u, f"{what}, u")))
    jumps = {k: np.isinf(jerks[k]) for k in (0, N)}
    (x0, u0), (x1, u1) = sides
    if (x0 == 0 and (u0 or 0) < 0) or (x1 == 0 and (u1 or 0) > 0):
        raise InputError("from rest u must be at least 0, to rest at most 0.", WHERE, "boundary")
    made[0] = GivenNode(x0, None, None if x0 == 0 and u0 == 0 and jumps[0] else u0)
    made[N] = GivenNode(x1, None if x1 == 0 and u1 == 0 and jumps[N] else u1, None)
    for k in stops:
        k = check_whole(k, f"{WHERE}, stops", minimum=1, maximum=N - 1)
        still = None if np.isinf(jerks[k]) else 0.0
        made[k] = GivenNode(0.0, still, still)
    order = sorted(made)
    near = [(a, b) for a, b in pairwise(order) if b - a < APART]
    if near:
        a, b = near[0]
        raise InputError(
            f"expected at least {APART} intervals between nodes of given speed, got {b - a} "
            f"between nodes {a} and {b}; add nodes there.",
            WHERE,
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
            WHERE,
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
    s: Floats, limits: SmoothLimits, start: Floats, nodes: dict[int, GivenNode]
) -> tuple[Floats, Floats]:
    """The profile of the first stage, reduced to what constant jerk from and to rest allows."""
    jerks = _largest_path_jerks(limits)
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
