"""Why a motion of continuous snap does not exist: a sentence that names the joint."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from forearm.errors import InputError
from forearm.trajectories.continuous_snap.leg_durations import first_guess
from forearm.trajectories.continuous_snap.motion import SmoothMotion
from forearm.trajectories.continuous_snap.problem import SmoothProblem
from forearm.trajectories.limits import SLACK
from forearm.trajectories.plan_status import PlanStatus
from forearm.values import LARGEST

NAMES = ("velocity", "acceleration", "jerk", "snap")
UNITS = ("rad/s (m/s)", "rad/s^2 (m/s^2)", "rad/s^3 (m/s^3)", "rad/s^4 (m/s^4)")


def check_points(problem: SmoothProblem) -> None:
    """Refuse points outside a joint's range, and given derivatives beyond their limits."""
    limits = problem.limits
    outside = (problem.points < limits.lower) | (problem.points > limits.upper)
    if outside.any():
        k, i = np.argwhere(outside)[0]
        start = max(k, 1) - 1
        x0, x1 = (float(x) for x in problem.points[start : start + 2, i])
        low, high = float(limits.lower[i]), float(limits.upper[i])
        raise InputError(
            f"{PlanStatus.OUT_OF_RANGE.reason}: {x0!r} and {x1!r}, allowed {low!r} to {high!r}"
            ", in rad (m). Use other points.",
            "smooth",
            f"segment {start + 1}",
            f"joint {i + 1}",
        )
    beyond = np.abs(np.nan_to_num(problem.given[:, 1:])) > limits.of_derivatives * (1.0 + SLACK)
    if beyond.any():
        k, order, i = np.argwhere(beyond)[0]
        raise InputError(
            f"the {NAMES[order]} given at point {k + 1} is "
            f"{float(problem.given[k, order + 1, i])!r}, allowed "
            f"{float(limits.of_derivatives[order, i])!r} {UNITS[order]}. Reduce it.",
            "smooth",
            f"segment {max(k, 1)}",
            f"joint {i + 1}",
        )


def check_bounded(problem: SmoothProblem) -> None:
    """Refuse moving joints without any limit."""
    if problem.drives is not None:
        return
    moves = np.diff(problem.points, axis=0).any(axis=0) | np.nan_to_num(problem.given).any(axis=(0, 1))
    free = moves & (problem.limits.of_derivatives >= LARGEST).all(axis=0)
    if free.any():
        raise InputError(
            "its speed is unbounded; set a limit of velocity, acceleration, jerk or snap, or a duration.",
            "smooth",
            f"joint {int(free.argmax()) + 1}",
        )


def refuse_duration(duration: float, least: float) -> NoReturn:
    """Report the shortest feasible duration."""
    raise InputError(
        f"{PlanStatus.DURATION.reason}: got {duration!r} s; feasible from {least:.6g} s.",
        "smooth",
        "duration",
    )


def refuse_use(problem: SmoothProblem, motion: SmoothMotion, duration: float | None = None) -> NoReturn:
    """Report the joint with the largest violation of a limit, or that leaves its range."""
    asked = "" if duration is None else f" in {duration!r} s"
    outside = problem.outside(motion)
    if outside.any():
        i = int(outside.argmax())
        least, most = motion.reach
        low, high = float(problem.limits.lower[i]), float(problem.limits.upper[i])
        raise InputError(
            f"{PlanStatus.NO_ROOM.reason}: it goes from {least[i]:.6g} to {most[i]:.6g}{asked}"
            f", allowed {low!r} to {high!r}. Use lower velocities, or other points.",
            "smooth",
            f"joint {i + 1}",
        )
    order, j = np.unravel_index(problem.uses(motion).argmax(), (4, motion.n))
    raise InputError(
        f"its {NAMES[order]} would reach {motion.peaks[order, j]:.6g}{asked}, allowed "
        f"{float(problem.limits.of_derivatives[order, j])!r} {UNITS[order]}. Use lower "
        "velocities, or another duration.",
        "smooth",
        f"joint {j + 1}",
    )


def refuse_limits(problem: SmoothProblem) -> NoReturn:
    """Report the limit that given velocities violate, at the duration with the smallest violation."""
    segments = first_guess(problem)
    tried = [problem.motion(segments * factor) for factor in 2.0 ** np.arange(-3.0, 5.0)]
    refuse_use(problem, min(tried, key=problem.largest_use))
