"""Why no motion along a path obeys its limits: where, which limit, and by how much."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError, shorten
from forearm.trajectories.shortest_time.path_limits import UNITS
from forearm.trajectories.shortest_time.profile import USED, Grid, NoProfile, PathProblem
from forearm.trajectories.shortest_time.timing import limit_name

Array = NDArray[np.float64]
SPEEDS, ACCELERATIONS = 24, 41  # tried at a place that no speed leads through
ROUNDS = 12  # of ever finer tries


def infeasible(problem: PathProblem, found: NoProfile) -> InputError:
    """The error that says why there is no motion."""
    name = problem.path.name
    if found.reason == "end":
        return InputError(
            f"time_optimal, end_speed: at most {np.sqrt(found.most):.6g} is possible at the end of {name!r} "
            "within the limits; give less."
        )
    if found.reason == "start":
        most, least = np.sqrt(found.most), np.sqrt(found.least)
        least_text = f", and at least {least:.6g}" if least > 0.0 else ""
        return InputError(
            f"time_optimal, start_speed: at most {most:.6g}{least_text} is possible at the start of {name!r} "
            "if limits are to hold up to the end; give another speed."
        )
    return InputError(_blocked(problem, found))


def _blocked(problem: PathProblem, found: NoProfile) -> str:
    """Where the path cannot be passed, which limit stands in the way, and how much more of it is needed."""
    grid, name = found.grid, problem.path.name
    node = min(found.node, grid.count - 1)
    slowly, label, s = _slow_share(problem, grid)
    share, what = slowly, "slowly"
    if slowly <= 1.0:
        share, label, speed = least_share(problem, grid, node)
        s, what = float(grid.s[found.node]), f"at ds/dt = {speed:.4g}"
    q = problem.path.at(np.array([s]))[0][0]
    posture = f"s = {s:.6g} of {grid.s[-1]:.6g}, q = {shorten(np.round(q, 4).tolist())}"
    if share <= 1.0:
        return (
            f"time_optimal: nothing leads from {posture} to the end of {name!r}: limits hold there, with "
            f"{share:.3g} of {limit_name(*label)}, but not for what follows. Take another path, or higher "
            "limits."
        )
    kind, joint = label
    allowed = _allowed(problem, kind, joint, s)
    return (
        f"time_optimal: {name!r} cannot be passed at {posture}: even {what} {joint or 'the hand'} needs "
        f"{share * allowed:.4g} of the {allowed:.4g} {UNITS[kind]} of its {kind}, {share:.3g} times as much. "
        f"Take another path, a lighter load, or a higher limit of {kind}."
    )


def _slow_share(problem: PathProblem, grid: Grid) -> tuple[float, tuple[str, str], float]:
    """The largest share of a limit that moving slowly takes on the way, whose it is, and where."""
    places = grid.within(problem, np.array([0.0, 1.0]))
    still = np.zeros(len(places.s))
    shares = np.abs(problem.shares(places, still, still)[0])
    k, row = np.unravel_index(int(shares.argmax()), shares.shape)
    return float(shares[k, row]) * USED, problem.layout.names[row], float(places.s[k])


def least_share(problem: PathProblem, grid: Grid, node: int) -> tuple[float, tuple[str, str], float]:
    """At an interval's left end the least that the largest share of a limit can be, whose it is, and with
    which speed; by ever finer tries of speed and acceleration.
    """
    one = problem.places(
        grid.s[node : node + 1], grid.piece[node : node + 1], grid.direction[node : node + 1]
    )
    cap = float(problem.cap(one)[0])
    x_mid, x_wide, u_mid, u_wide = 0.0, cap, 0.0, 1.0
    by_u = np.abs(problem.shares(one, np.zeros(1), np.zeros(1))[1]).max(initial=0.0)
    u_wide = 4.0 / by_u if by_u > 0.0 else 1.0
    best = (np.inf, 0, 0.0, 0.0)
    for _ in range(ROUNDS):
        x = np.unique(np.clip(x_mid + x_wide * np.linspace(-1.0, 1.0, SPEEDS) ** 3, 0.0, cap))
        u = u_mid + u_wide * np.linspace(-1.0, 1.0, ACCELERATIONS)
        xs, us = (a.ravel() for a in np.meshgrid(x, u))
        shares = np.abs(problem.shares(one[np.zeros(len(xs), dtype=np.intp)], xs, us)[0])
        k = int(shares.max(axis=1).argmin())
        if shares[k].max() < best[0]:
            best = (float(shares[k].max()), int(shares[k].argmax()), float(xs[k]), float(us[k]))
        _, _, x_mid, u_mid = best
        x_wide, u_wide = 0.3 * x_wide, 0.3 * u_wide
    share, row, x_best, _ = best
    return share * USED, problem.layout.names[row], float(np.sqrt(x_best))


def _allowed(problem: PathProblem, kind: str, joint: str, s: float) -> float:
    """The limit of a kind at a place."""
    at = np.array([s])
    j = next((j for j, other in enumerate(problem.arm.joints) if other.name == joint), 0)
    if kind == "torque":
        both = problem.limits.at("torque", at), np.abs(problem.drives.K) * problem.limits.at("current", at)
        return float(np.minimum(*both)[0, j])
    if kind == "voltage":
        return float(np.minimum(problem.limits.at("voltage", at), problem.limits.at("DAC", at))[0, j])
    return float(problem.limits.at(kind, at)[0, j])
