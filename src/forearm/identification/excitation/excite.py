"""`fa.excite`: the motion whose torques carry most information on an arm's parameters, within all limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm, check_arm
from forearm.errors import InputError, shorten
from forearm.identification.excitation.assess import fitted, information_of, limit_uses, usual_sizes
from forearm.identification.excitation.barrier_method import Descent, descend
from forearm.identification.excitation.criteria import CRITERIA
from forearm.identification.excitation.limits import Box, ExcitationLimits, excitation_limits
from forearm.identification.excitation.problem import ExcitationProblem
from forearm.identification.excitation.starts import check_start, postures, random_motion
from forearm.identification.excitation.torque_columns import TorqueColumns, torque_columns
from forearm.kernels.kept import kernel_of
from forearm.kernels.thread_pool import says_if_memory_is_short
from forearm.progress import Progress
from forearm.spatial import Floats
from forearm.trajectories.excitation import Excitation
from forearm.trajectories.planning import Plan, plan
from forearm.trajectories.sampling import ticks
from forearm.trajectories.series.basis import BASES
from forearm.trajectories.series.motion import SeriesMotion
from forearm.values import LARGEST, as_finite, as_floats, check_choice, check_number, check_whole

SIDES = ("motor", "link")
NOISE = 0.01  # of max_effort: assumed torque noise
USUAL = 0.01  # of the torque for gravity and motion: for joints without max_effort
SHORTEST = 1e-6  # s: duration
MOST_HARMONICS = 50
MOST_STARTS = 100
ROUGH = ((1.0, 50), (0.1, 60))  # barrier weights and steps: for every start
CLOSE = ((0.1, 100), (0.02, 150), (0.004, 150))  # for the best of them


@says_if_memory_is_short
def excite(
    arm: Arm,
    duration: float,
    *,
    basis: Literal["fourier", "spline"] = "fourier",
    harmonics: int = 5,
    criterion: Literal["d", "condition"] = "d",
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    torque: ArrayLike | None = None,
    voltage: ArrayLike | None = None,
    margin: float = 0.02,
    box: Box | None = None,
    start: ArrayLike | None = None,
    after: Sequence[Any] = (),
    noise: ArrayLike | None = None,
    torque_side: Literal["motor", "link"] = "motor",
    seed: int = 0,
    starts: int = 6,
    step: float = 1e-3,
    progress: Progress | None = None,
) -> Plan:
    """Optimise an excitation motion within the arm's limits: from rest to rest at one configuration, so that
    it can be repeated.

    `plan.excitation` predicts the accuracy of base inertial parameters, friction and rotors before anything
    moves. The same request gives the same motion.

    Args:
        arm: the arm; its geometry is assumed exact, its inertias and friction predict the torques.
        duration: of the motion, s.
        basis: "fourier" (a series of sines and cosines) or "spline" (quintic B-splines).
        harmonics: of the series, at least 2; the highest has the frequency harmonics / duration. Splines use
            as many coefficients.
        criterion: "d" (the determinant of the information, all deviations together) or "condition" (the
            condition number).
        velocity: largest |qd|, rad/s (m/s), scalar or (n,); None: the arm's limits.
        acceleration: largest |qdd|, rad/s^2 (m/s^2), likewise; None: unlimited if torques are bounded.
        torque: largest |tau|, motor torque times gear ratio, N m (N); None: the arm's max_effort.
        voltage: largest motor voltage, V; None: the motors' limits.
        margin: fraction of each joint's range kept free at both ends.
        box: corners ((xmin, ymin, zmin), (xmax, ymax, zmax)) that bound the hand's origin, base frame, m;
            infinite on open sides.
        start: the configuration (n,) at both ends; None: chosen automatically.
        after: plans, motions and logs, or their files, whose information counts already.
        noise: standard deviation of one sample of each torque, N m (N), scalar or (n,); None: 1 % of
            max_effort.
        torque_side: where torques will be measured: "motor" (motor torque times gear ratio: rotors and all
            friction show) or "link" (behind the gear).
        seed: of the random initial motions.
        starts: number of random initial motions.
        step: sampling period of the plan for counting information, s.
        progress: progress callback.
    """
    check_arm(arm, "excite, arm", moves=True)
    duration = check_number(duration, "excite, duration", minimum=SHORTEST)
    check_choice(basis, BASES, "excite, basis")
    harmonics = check_whole(harmonics, "excite, harmonics", 2, MOST_HARMONICS)
    check_choice(criterion, CRITERIA, "excite, criterion")
    check_choice(torque_side, SIDES, "excite, torque_side")
    margin = check_number(margin, "excite, margin", minimum=0.0, maximum=0.45)
    seed = check_whole(seed, "excite, seed", 0)
    starts = check_whole(starts, "excite, starts", 1, MOST_STARTS)
    step = check_number(step, "excite, step", above=0.0)
    limits = excitation_limits(arm, margin, velocity, acceleration, torque, voltage, box)
    columns = torque_columns(arm, torque_side)
    deviation, noise_note = _noise(arm, limits, noise)
    posture = None if start is None else as_finite(start, (arm.n,), "excite, start")
    if posture is not None:
        check_start(limits, posture)
    fastest = 2.0 * np.pi * harmonics / duration
    scale = _inverse(usual_sizes(columns, limits, fastest, deviation))
    earlier = _earlier(arm, columns, after, step, deviation)
    problem = ExcitationProblem(
        columns,
        limits,
        basis,
        harmonics,
        duration,
        posture,
        deviation,
        scale,
        len(ticks(duration, step, "excite, step")),
        earlier * np.outer(scale, scale),
        criterion,
    )
    best, first = _searched(problem, seed, starts, progress)
    motion, random = _fits(problem, best), _fits(problem, first)
    excitation = Excitation(
        columns.names,
        columns.labels,
        columns.values,
        earlier + information_of(columns, motion, step, deviation),
        earlier + information_of(columns, random, step, deviation),
        scale,
        deviation,
        noise_note,
        problem.samples,
        len(after),
        criterion,
        torque_side,
        limit_uses(limits, motion),
        columns.dependent,
    )
    return Plan(arm, motion, None, step, limits.notes, excitation=excitation)


def _searched(
    problem: ExcitationProblem, seed: int, starts: int, progress: Progress | None
) -> tuple[Floats, Floats]:
    """The best coefficients, and those of the first random motion."""
    rng = np.random.default_rng(seed)
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
    motion = fitted(problem.limits, problem.motion(x), problem.criterion == "d", problem.start is not None)
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
        made = as_floats(given, "excite, noise")
        if made.shape not in ((), (arm.n,)) or not ((made >= 1.0 / LARGEST) & (made <= LARGEST)).all():
            raise InputError(
                f"expected a number or {arm.n} from {1.0 / LARGEST:g} to {LARGEST:g} N m (N), "
                f"got {shorten(given)}.",
                "excite",
                "noise",
            )
        return np.broadcast_to(made, (arm.n,)).copy(), ""
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


def _inverse(sizes: Floats) -> Floats:
    """1 / size; 1 for a column that is zero everywhere."""
    return np.where(sizes > 0.0, 1.0 / np.where(sizes > 0.0, sizes, 1.0), 1.0)
