"""`fa.time_optimal`: the fastest motion along a path within all limits of the arm, or the one of a given
duration.

The problem of Bobrow and of Shin and McKay, which Waters III takes from Kahn: with x = (ds/dt)^2 the passes
of `profile` find the fastest x along the path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.drives.motor import DAC
from forearm.errors import InputError, Keyword, Sentence
from forearm.progress import Progress
from forearm.records import flat
from forearm.trajectories.path_arguments import as_path
from forearm.trajectories.path_options import PathLimits, PathOptions
from forearm.trajectories.paths import blended, path_deviation, within_envelope
from forearm.trajectories.paths.joint_path import JointPath
from forearm.trajectories.planning import Plan
from forearm.trajectories.shortest_time.failures import infeasible
from forearm.trajectories.shortest_time.jerk_stage import ENOUGH, has_jerk_limits, largest_share, smoothed
from forearm.trajectories.shortest_time.path_limits import path_limits
from forearm.trajectories.shortest_time.path_motion import PathMotion
from forearm.trajectories.shortest_time.profile import FASTEST, NoProfile, PathProblem
from forearm.trajectories.shortest_time.refine import Boundary, refined_profile, slowed_profile
from forearm.trajectories.shortest_time.timing import PathTiming
from forearm.values import check_kind, check_number

LOWERED = 1e-6  # of a speed at an end: a larger reduction is noted
STANDING = 1e-9  # of the largest |q'|: slower ends of the path itself are at rest


@flat(limits=PathLimits, options=PathOptions)
def time_optimal(
    arm: Arm,
    path: Any,
    *,
    limits: PathLimits | None = None,
    options: PathOptions | None = None,
    dac: DAC | None = None,
    step: float = 1e-3,
    progress: Progress | None = None,
) -> Plan:
    """The fastest motion along a path within limits of velocity, torque, current and voltage, with friction,
    rotors and gears included. Waters III after Kahn.

    A limit is one number, one per joint, a function of s (m,) that returns (m, n), or a pair (places,
    values), linearly interpolated; infinity removes the arm's own limit. `plan.limit` names the binding limit
    at each sample, `plan.timing` reports how much time raising it would save.

    Args:
        arm: the arm.
        path: waypoints (m, n), interpolated by a spline; a `JointPath`; or a plan, motion or log, as an
            object or file, to be retimed.
        limits: those below as one record.
        options: those below as one record.
        dac: the converter whose range limits the voltages; None: not used.
        step: time between samples of the plan, s.
        progress: called with the progress.
    """
    check_kind(dac, (DAC, type(None)), "time_optimal, dac")
    step = check_number(step, "time_optimal, step", above=0.0)
    options = options or PathOptions()
    duration = options.duration
    way = as_path(arm, path, continuity=options.continuity)
    curves, arms = path_limits(arm, dac, limits or PathLimits()), _loaded(arm, options)

    def timed(way: JointPath, duration: float | None = None) -> PathTiming:
        boundary = _boundary(way, options)
        return _timed(PathProblem(arms, way, curves), boundary, options.points, duration, progress)

    notes: tuple[str, ...] = ()
    if options.tolerance is None:
        timing = timed(way, duration)
    else:
        timing, notes = _near_polygon(way, options.tolerance, options.continuity, timed)
        if duration is not None:
            timing = timed(timing.problem.path, duration)
    notes += _changed_speeds(timing, options.start_speed, options.end_speed)
    return Plan(arm, timing.motion, None, step, notes, dac, timing=timing)


def _timed(
    problem: PathProblem, boundary: Boundary, points: int, duration: float | None, progress: Progress | None
) -> PathTiming:
    """The shortest profile, or one of a given duration; an error in words if infeasible."""
    if not problem.layout.kinds:
        raise _unbounded(problem)
    try:
        profile = refined_profile(problem, points, boundary, progress)
    except NoProfile as found:
        raise infeasible(problem, found, boundary) from None
    if profile.x.max() >= 0.9 * FASTEST * problem.path.length**2:
        raise _unbounded(problem)
    motion = PathMotion.of(problem.path, profile)
    if has_jerk_limits(problem):
        profile, motion = smoothed(problem, profile, progress)
    if duration is None:
        return PathTiming(problem, profile, motion, boundary)
    if duration < motion.duration * (1.0 - 1e-9):
        raise InputError(
            f"{duration:g} s is too short: along {problem.path.name!r} the shortest within "
            f"the limits is {motion.duration:.6g} s; use a longer one, or higher limits.",
            "time_optimal",
            "duration",
        )
    too_long = InputError(
        f"{duration:g} s is too long: {problem.path.name!r} has configurations that the arm "
        "can only pass at speed, as it could not hold itself there; use a shorter one, or "
        "another path.",
        "time_optimal",
        "duration",
    )
    if has_jerk_limits(problem):
        motion = motion.slowed(duration / motion.duration)
        if largest_share(problem, motion) > ENOUGH:
            raise too_long
        return PathTiming(problem, profile, motion, boundary, profile.x)
    try:
        slower, ceiling = slowed_profile(problem, profile, boundary, duration)
    except NoProfile:
        raise too_long from None
    return PathTiming(problem, slower, PathMotion.of(problem.path, slower), boundary, ceiling)


def _changed_speeds(timing: PathTiming, *asked: float) -> tuple[str, ...]:
    """Notes on end speeds that a duration longer than the shortest made lower than requested."""
    motion = timing.motion
    made = motion.along(np.array([0.0, motion.duration]))[1].tolist()
    return tuple(
        f"{name}: the requested duration lowers it from {speed:g} to {reached:.6g}."
        for name, speed, reached in zip(("start_speed", "end_speed"), asked, made, strict=True)
        if reached < speed * (1.0 - LOWERED)
    )


def _loaded(arm: Arm, options: PathOptions) -> tuple[Arm, ...]:
    """The arm, or the arm with the smallest and with the largest payload: torques are linear in its mass."""
    masses = dict.fromkeys(options.payload or (0.0,))
    return tuple(arm.with_payload(mass, options.payload_com) if mass > 0.0 else arm for mass in masses)


def _boundary(path: JointPath, options: PathOptions) -> Boundary:
    """(ds/dt)^2 at the ends; as large as possible if the path itself is at rest."""
    slopes = np.abs(path.at(np.array([0.0, path.length]))[1]).max(axis=1)
    largest = np.abs(path.at(np.linspace(0.0, path.length, 101))[1]).max()
    return Boundary(
        *(
            None if speed == 0.0 and slope <= STANDING * largest else speed * speed
            for speed, slope in zip((options.start_speed, options.end_speed), slopes, strict=True)
        )
    )


def _near_polygon(
    free: JointPath, tolerance: float, continuity: int, timed: Callable[[JointPath], PathTiming]
) -> tuple[PathTiming, tuple[str, ...]]:
    """The faster of a spline with additional points and of rounded corners, both within a distance of the
    polygon of the path; and its cost in time. Waters III.
    """
    if free.polygon is None:
        raise InputError(
            "it is the largest distance from the straight lines between waypoints; "
            f"{free.name!r} has none. Pass waypoints (m, {free.n}), or omit it.",
            "time_optimal",
            "tolerance",
        )
    largest = float(path_deviation(free))
    best = timed(free)
    if largest <= tolerance:
        return best, ()
    rounded = timed(blended(free.polygon, tolerance))
    spline, added = within_envelope(free.polygon, tolerance, continuity)
    through = timed(spline)
    chosen = rounded if rounded.motion.duration <= through.motion.duration else through
    how = "its corners are rounded" if chosen is rounded else f"{added} points were added"
    cost = chosen.motion.duration - best.motion.duration
    change = f"costs {cost:.4g}" if cost >= 0.0 else f"saves {-cost:.4g}"
    return chosen, (
        f"the path stays within {tolerance:g} rad (m) of the straight lines between its points: {how}, which "
        f"{change} s; the unconstrained spline deviates by {largest:.4g} and takes "
        f"{best.motion.duration:.4g} s.",
    )


def _unbounded(problem: PathProblem) -> InputError:
    limits, s = problem.limits, np.zeros(1)
    free = [
        joint.name
        for j, joint in enumerate(problem.arm.joints)
        if not any(
            np.isfinite(limits.at(kind, s)[0, j]) for kind in ("acceleration", "torque", "current", "voltage")
        )
    ]
    who = f"{', '.join(free)} of {problem.arm.name!r}"
    why = f"{who} have no acceleration, torque or voltage limit" if free else "limits are too high"
    return InputError(
        Sentence(
            f"the motion is unbounded: {why}. Limit ",
            Keyword("acceleration"),
            ", ",
            Keyword("torque"),
            " or ",
            Keyword("voltage"),
            ", or set max_effort in the arm file.",
        ),
        "time_optimal",
    )
