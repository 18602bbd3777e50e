"""Motions of continuous snap as fast as the drives allow, with the torques of rigid joints."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from forearm.errors import InputError
from forearm.spatial import Floats
from forearm.trajectories.accelerating import LOOKS, USED, VERIFIED, PlanningProblem, too_weak
from forearm.trajectories.continuous_snap.failures import check_points, refuse_use
from forearm.trajectories.continuous_snap.leg_durations import first_guess
from forearm.trajectories.continuous_snap.motion import ORDERS, SmoothMotion
from forearm.trajectories.continuous_snap.planner import check_use, planned, smooth, within_limits
from forearm.trajectories.continuous_snap.problem import DriveSlowness, SmoothProblem, first_within
from forearm.trajectories.demands import Demands
from forearm.trajectories.limits import SLACK
from forearm.values import LARGEST, check_number

SLOWLY = 1e-3  # of the velocity: demands that remain there are static
SLOWEST = 1e3  # slowness assigned to a state that drives cannot hold
BELOW = 0.98  # factor on durations from sampling, at which the exact search starts
NEAR_DRIVES = 1e-4  # of a limit that may stay unused


def smooth_for(asked: PlanningProblem, duration: float | None) -> SmoothMotion:
    """The motion of continuous snap for a request, within its limits.

    If the request gives no accelerations (1e30), torques, currents and voltages of the motion, by rigid
    inverse dynamics, stay within the drive limits, with a margin of 0.001 during the search.

    Args:
        asked: points, velocities, limits and drives.
        duration: in s; None: the shortest found.
    """
    if (asked.limits.acceleration < LARGEST).all():
        return smooth(asked.q, asked.limits, asked.qd, duration=duration)
    wanted = None if duration is None else check_number(duration, "smooth, duration", above=0.0)
    given = np.full((len(asked.q), ORDERS, asked.limits.n), np.nan)
    given[:, 0], given[:, 1] = 0.0, asked.qd
    given[[0, -1]] = np.nan_to_num(given[[0, -1]])
    problem = SmoothProblem(asked.q, given, asked.limits)
    check_points(problem)
    if wanted is not None and np.isinf(asked.demands.limits.at_rest).any():
        problem = replace(problem, accelerations=np.ones(asked.limits.n))
        return planned(problem, wanted, within_limits, check_use)
    problem = replace(
        problem,
        accelerations=asked.capability.accelerations(asked.capability.best_velocities),
        drives=drive_slowness(asked.demands),
    )
    return planned(problem, wanted, partial(_within_drives, asked=asked), partial(_check_drives, asked=asked))


def drive_slowness(demands: Demands) -> DriveSlowness:
    """Estimated factor by which a motion must be slowed down at its states for the drives.

    The static part of the demand stays, the rest falls with the square of the time.
    """
    limits = demands.limits
    most, volts = USED * limits.torque, USED * limits.volts

    def slowness(q: Floats, qd: Floats, qdd: Floats) -> Floats:
        whole = demands.kernel.inverse_dynamics(q, qd, qdd)
        still = demands.kernel.inverse_dynamics(q, SLOWLY * qd, np.zeros_like(qd))
        found = _part_left(whole - still, still, most)
        if limits.by_voltage:
            ohms = limits.R / limits.K
            by_volts = _part_left(ohms * (whole - still) + limits.K * qd, ohms * still, volts)
            found = np.maximum(found, by_volts)
        return np.asarray(found.max(axis=1))

    return slowness


def _part_left(moving: Floats, still: Floats, most: Floats) -> Floats:
    """Square root of the dynamic part over what the static part leaves for it."""
    left = np.where(np.isfinite(most), most, LARGEST) - np.sign(moving) * still
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.sqrt(np.abs(moving) / np.maximum(left, 0.0))
    return np.where(moving == 0.0, 0.0, np.minimum(found, SLOWEST))


def _within_drives(problem: SmoothProblem, segments: Floats, asked: PlanningProblem) -> Floats:
    """Segments scaled by the smallest common factor that keeps all limits, including the drives'; verified on
    a ten times finer grid.
    """
    demands, target = asked.demands, USED
    if not np.isfinite(segments).all():
        raise _no_duration(problem, asked)
    least = within_limits(problem, segments) if problem.is_scalable else 0.0 * segments
    if problem.is_scalable:
        motion = problem.motion(least)
        if demands.largest_share(motion) <= target and demands.finest_share(motion, asked.step) <= VERIFIED:
            return least
        segments = np.maximum(segments, least)

    def use(factor: float) -> float:
        motion = problem.motion(segments * factor)
        by_limits = 0.0 if problem.is_scalable else problem.largest_use(motion)
        return max(by_limits, demands.largest_share(motion) / target)

    for _ in range(LOOKS):
        factor = first_within(use, BELOW, NEAR_DRIVES)
        if np.isinf(factor):
            break
        segments = np.maximum(segments * factor, least)
        share = demands.finest_share(problem.motion(segments), asked.step)
        if share <= VERIFIED:
            return segments
        target *= USED * VERIFIED / share
    raise _no_duration(problem, asked)


def _no_duration(problem: SmoothProblem, asked: PlanningProblem) -> InputError:
    """The error if no duration is feasible: drives too weak, or given velocities too high; evaluated where
    the violation is smallest.
    """
    segments = first_guess(problem)
    if problem.is_scalable:
        return too_weak(asked, problem.motion(segments * SLOWEST))
    tried = [problem.motion(segments * factor) for factor in 2.0 ** np.arange(-2.0, 4.0, 0.5)]
    kept = [motion for motion in tried if problem.largest_use(motion) <= 1.0]
    if not kept:
        refuse_use(problem, min(tried, key=problem.largest_use))
    return too_weak(asked, min(kept, key=asked.demands.largest_share))


def _check_drives(
    problem: SmoothProblem, motion: SmoothMotion, duration: float, asked: PlanningProblem
) -> None:
    """Refuse a motion that exceeds a limit, those of the drives included."""
    check_use(problem, motion, duration)
    most = max(asked.demands.uses(motion, asked.step), key=lambda use: use.share)
    if most.share > 1.0 + SLACK:
        raise InputError(f"in {duration!r} s {most.text} Use another duration.", "smooth", "duration")
