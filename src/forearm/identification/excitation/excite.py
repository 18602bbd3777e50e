"""`fa.excite`: the motion whose torques carry most information on an arm's parameters, within all limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm, check_arm
from forearm.errors import InputError
from forearm.identification.excitation.assess import fitted, information_of, limit_uses, usual_sizes
from forearm.identification.excitation.barrier_method import Descent, descend
from forearm.identification.excitation.limits import ExcitationLimits, excitation_limits, per_joint
from forearm.identification.excitation.problem import ExcitationProblem
from forearm.identification.excitation.starts import check_start, postures, random_motion
from forearm.identification.excitation.torque_columns import TorqueColumns, torque_columns
from forearm.identification.requests import ExcitationSearch, MotionBounds, TorqueSensing
from forearm.kernels.kept import kernel_of
from forearm.kernels.thread_pool import says_if_memory_is_short
from forearm.progress import Progress
from forearm.records import flat
from forearm.spatial import Floats
from forearm.trajectories.excitation import Excitation
from forearm.trajectories.planning import Plan, plan
from forearm.trajectories.sampling import ticks
from forearm.trajectories.series.motion import SeriesMotion
from forearm.values import as_finite, check_number

NOISE = 0.01  # of max_effort: assumed torque noise
USUAL = 0.01  # of the torque for gravity and motion: for joints without max_effort
SHORTEST = 1e-6  # s: duration
ROUGH = ((1.0, 50), (0.1, 60))  # barrier weights and steps: for every start
CLOSE = ((0.1, 100), (0.02, 150), (0.004, 150))  # for the best of them


@says_if_memory_is_short
@flat(limits=MotionBounds, search=ExcitationSearch, sensing=TorqueSensing)
def excite(
    arm: Arm,
    duration: float,
    *,
    start: ArrayLike | None = None,
    after: Sequence[Any] = (),
    limits: MotionBounds | None = None,
    search: ExcitationSearch | None = None,
    sensing: TorqueSensing | None = None,
    progress: Progress | None = None,
) -> Plan:
    """Optimise an excitation motion within the arm's limits: from rest to rest at one configuration, so that
    it can be repeated.

    `plan.excitation` predicts the accuracy of base inertial parameters, friction and rotors before anything
    moves. The same request gives the same motion.

    Args:
        arm: the arm; its geometry is assumed exact, its inertias and friction predict the torques.
        duration: of the motion, s.
        start: the configuration (n,) at both ends; None: chosen automatically.
        after: plans, motions and logs, or their files, whose information counts already.
        limits: of the motion.
        search: which motions are searched.
        sensing: how torques will be measured.
        progress: progress callback.
    """
    check_arm(arm, "excite, arm", moves=True)
    duration = check_number(duration, "excite, duration", minimum=SHORTEST)
    search, sensing = search or ExcitationSearch(), sensing or TorqueSensing()
    within = excitation_limits(arm, limits or MotionBounds())
    columns = torque_columns(arm, sensing.torque_side)
    noise, noise_note = _noise(arm, within, sensing.noise)
    posture = None if start is None else as_finite(start, (arm.n,), "excite, start")
    if posture is not None:
        check_start(within, posture)
    fastest = 2.0 * np.pi * search.harmonics / duration
    sizes = usual_sizes(columns, within, fastest, noise)
    scale = 1.0 / np.where(sizes > 0.0, sizes, 1.0)  # 1 for a column that is zero everywhere
    step = sensing.step
    earlier = _earlier(arm, columns, after, step, noise)
    samples = len(ticks(duration, step, "excite, step"))
    scaled = earlier * np.outer(scale, scale)
    problem = ExcitationProblem(columns, within, search, duration, posture, noise, scale, samples, scaled)
    best, random = (_fits(problem, x) for x in _searched(problem, progress))
    excitation = Excitation(
        columns.names,
        columns.labels,
        columns.values,
        earlier + information_of(columns, best, step, noise),
        earlier + information_of(columns, random, step, noise),
        scale,
        noise,
        noise_note,
        samples,
        len(after),
        search.criterion,
        sensing.torque_side,
        limit_uses(within, best),
        columns.dependent,
    )
    return Plan(arm, best, None, step, within.notes, excitation=excitation)


def _searched(problem: ExcitationProblem, progress: Progress | None) -> tuple[Floats, Floats]:
    """The best coefficients, and those of the first random motion."""
    starts, rng = problem.search.starts, np.random.default_rng(problem.search.seed)
    at = [problem.start] if problem.start is not None else postures(problem.limits, starts, rng)
    total = starts + 2.0
    begun, found = [], []
    for k in range(starts):
        begun.append(random_motion(problem, at[k % len(at)], rng))
        told = _telling(progress, k, 1.0, total, "searching")
        found.append(descend(problem, Descent.begin(problem, begun[-1]), ROUGH, told))
    best = min(found, key=lambda descent: descent.value)
    best = descend(problem, best, CLOSE, _telling(progress, starts, 2.0, total, "improving the best"))
    return best.x, begun[0]


def _telling(progress: Progress | None, done: float, share: float, total: float, what: str) -> Any:
    """Progress callback of a descent, scaled to its part of the whole."""

    def told(part: float) -> None:
        if progress is not None:
            progress(done + share * part, total, what)

    return told


def _fits(problem: ExcitationProblem, x: Floats) -> SeriesMotion:
    grows = problem.search.criterion == "d"
    motion = fitted(problem.limits, problem.motion(x), grows, problem.start is not None)
    if motion is None:
        worst = max(limit_uses(problem.limits, problem.motion(x)), key=lambda use: use.share)
        raise InputError(
            f"found no motion within the limits: {worst.text[:-1]} even in a small motion. "
            "Raise that limit, or give another start.",
            "excite",
        )
    return motion


def _noise(arm: Arm, limits: ExcitationLimits, given: ArrayLike | None) -> tuple[Floats, str]:
    """The noise of each torque (n,), and a note if it is assumed."""
    if given is not None:
        return per_joint(arm, given, "noise"), ""
    effort = np.array([np.inf if j.max_effort is None else j.max_effort for j in arm.joints])
    rng = np.random.default_rng(0)
    q, qd = 2.0 * rng.random((2, 64, arm.n)) - 1.0
    q = 0.5 * (limits.lower + limits.upper) + 0.5 * (limits.upper - limits.lower) * q
    needed = np.abs(kernel_of(arm).inverse_dynamics(q, qd * limits.velocity, np.zeros_like(q))).max(axis=0)
    needed = np.maximum(needed, 1e-3 * max(float(needed.max()), 1e-9))
    known = np.isfinite(effort) & (effort > 0.0)
    note = f"{NOISE:.0%} of max_effort is assumed"
    if not known.all():
        note = f"{NOISE:.0%} of max_effort, or of the largest torque within limits, is assumed"
    return np.where(known, NOISE * np.where(known, effort, 0.0), USUAL * needed), note


def _earlier(arm: Arm, columns: TorqueColumns, after: Sequence[Any], step: float, noise: Floats) -> Floats:
    """The information of existing motions."""
    if isinstance(after, str | bytes | Plan) or not isinstance(after, Sequence):
        raise InputError("expected a list of plans, motions, logs or their files.", "excite", "after")
    total = np.zeros((len(columns), len(columns)))
    for motion in after:
        total += information_of(columns, plan(arm, motion).motion, step, noise)
    return total
