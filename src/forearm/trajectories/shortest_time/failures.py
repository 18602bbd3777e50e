"""Why a path cannot be timed within its limits: where, which limit, and by how much."""

from __future__ import annotations

import numpy as np

from forearm.errors import InputError, shorten
from forearm.trajectories.shortest_time.path_limits import UNITS
from forearm.trajectories.shortest_time.profile import USED, Grid, NoProfile, PathProblem, fastest_profile
from forearm.trajectories.shortest_time.refine import Boundary

SPEEDS, ACCELERATIONS = 24, 41  # samples at a place that no speed passes
ROUNDS = 12  # rounds of refinement


def infeasible(problem: PathProblem, found: NoProfile, boundary: Boundary) -> InputError:
    """The error that explains the infeasibility."""
    name = problem.path.name
    fastest = _fastest_end(problem, found, boundary)
    if found.reason == "end" or fastest is not None:
        most = found.most if fastest is None else fastest
        return InputError(
            f"at most {_rounded_down(most)} is feasible at the end of {name!r} within the limits; reduce it.",
            "time_optimal",
            "end_speed",
        )
    if found.reason == "start":
        least = f", and at least {np.sqrt(found.least):.6g}" if found.least > 0.0 else ""
        return InputError(
            f"at most {_rounded_down(found.most)}{least} is feasible at the start of {name!r} "
            "within the limits up to the end; change it.",
            "time_optimal",
            "start_speed",
        )
    return InputError(_blocked(problem, found), "time_optimal")


def _rounded_down(x: float) -> str:
    """The speed of x = (ds/dt)^2, rounded so that it is feasible as printed."""
    return f"{np.sqrt(x) * (1.0 - 5e-6):.6g}"


def _fastest_end(problem: PathProblem, found: NoProfile, boundary: Boundary) -> float | None:
    """The largest (ds/dt)^2 at the end, if the requested one is too high."""
    if not boundary.end:
        return None
    try:
        fastest = fastest_profile(problem, found.grid, boundary.start, None).x[-1]
    except NoProfile:
        return None
    return float(fastest) if fastest < boundary.end else None


def _blocked(problem: PathProblem, found: NoProfile) -> str:
    """Where the path cannot be passed, the violated limit, and by how much it would have to be raised."""
    grid, path = found.grid, problem.path
    node = min(found.node, grid.count - 1)
    share, label, (speed, second), is_right = least_share(problem, grid, node)
    s = float(grid.s[node + is_right])
    if share > 1.0:
        moving = f"with ds/dt = {speed:.4g} and d2s/dt2 = {second:.4g}"
        why = f"even {'at rest' if speed == second == 0.0 else moving} " + _need(problem, label, share, s)
        return _refused(problem, s, why, label[0])
    # the interval can be passed, but not at a speed that leads on: typically the arm cannot be held there
    places = grid.within(problem, np.zeros(1))[node:]
    held = np.abs(problem.shares(places, np.zeros(len(places.s)), np.zeros(len(places.s)))[0])
    k, row = np.unravel_index(held.argmax(), held.shape)
    share, label = float(held[k, row]) * USED, problem.layout.names[row]
    if share > 1.0:
        s = float(places.s[k])
        why = f"at rest {_need(problem, label, share, s)}; no speed with a lower demand leads to the end"
        return _refused(problem, s, why, label[0])
    return (
        f"{path.name!r} cannot be followed to its end from {_posture(problem, s)}: limits hold there, but no "
        "speed leads on within the limits ahead. Use another path, or higher limits."
    )


def _posture(problem: PathProblem, s: float) -> str:
    q = problem.path.at(np.array([s]))[0][0]
    return f"s = {s:.6g} of {problem.path.length:.6g}, q = {shorten(np.round(q, 4).tolist())}"


def _need(problem: PathProblem, label: tuple[str, str], share: float, s: float) -> str:
    """Demand on a limit at a place, and its value."""
    kind, joint = label
    names = [other.name for other in problem.arm.joints]
    allowed = problem.allowed(kind, np.array([s]))[0, names.index(joint) if joint else 0]
    return (
        f"{joint or 'the hand'} needs a {kind.removeprefix('hand ')} of {share * allowed:.4g} {UNITS[kind]}, "
        f"{share:.3g} times the {allowed:.4g} allowed"
    )


def _refused(problem: PathProblem, s: float, why: str, kind: str) -> str:
    return (
        f"{problem.path.name!r} cannot be passed at {_posture(problem, s)}: {why}. "
        f"Use another path, a lighter payload, or a higher {kind} limit."
    )


def least_share(
    problem: PathProblem, grid: Grid, node: int
) -> tuple[float, tuple[str, str], tuple[float, float], bool]:
    """Minimax share of a limit in an interval, that limit, the ds/dt and d2s/dt2 that attain it, and whether
    it is at the right end; by successive refinement over both.
    """
    interval = slice(node, node + 1)
    left, right = (
        problem.places(grid.s[at : at + 1], grid.piece[interval], grid.direction[interval])
        for at in (node, node + 1)
    )
    step = 2.0 * float(grid.s[node + 1] - grid.s[node])
    caps = [float(problem.cap(place)[0]) for place in (left, right)]
    by_u = np.abs(problem.shares(left, np.zeros(1), np.zeros(1))[1]).max(initial=0.0)
    x_mid, x_wide, u_mid, u_wide = 0.0, caps[0], 0.0, 4.0 / by_u if by_u > 0.0 else 1.0
    best = (np.inf, 0, 0.0, 0.0)
    for _ in range(ROUNDS):
        x = np.unique(np.clip(x_mid + x_wide * np.linspace(-1.0, 1.0, SPEEDS) ** 3, 0.0, caps[0]))
        u = u_mid + u_wide * np.linspace(-1.0, 1.0, ACCELERATIONS)
        xs, us = (a.ravel() for a in np.meshgrid(x, u))
        reached = xs + step * us
        all_of_it = np.zeros(len(xs), dtype=np.intp)
        shares = np.abs(
            np.concatenate(
                [
                    problem.shares(left[all_of_it], xs, us)[0],
                    problem.shares(right[all_of_it], np.maximum(reached, 0.0), us)[0],
                ],
                axis=1,
            )
        )
        shares[(reached < 0.0) | (reached > caps[1])] = np.inf
        k = int(shares.max(axis=1).argmin())
        if shares[k].max() < best[0]:
            best = (float(shares[k].max()), int(shares[k].argmax()), float(xs[k]), float(us[k]))
        _, _, x_mid, u_mid = best
        x_wide, u_wide = 0.3 * x_wide, 0.3 * u_wide
    share, row, x_best, u_best = best
    is_right, row = divmod(row, len(problem.layout.names))
    x_there = max(x_best + is_right * step * u_best, 0.0)
    return share * USED, problem.layout.names[row], (float(np.sqrt(x_there)), u_best), bool(is_right)
