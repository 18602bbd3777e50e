"""Default accelerations and top velocities of a request: as large as the drives allow along the whole
motion.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from forearm.errors import InputError
from forearm.spatial import Floats
from forearm.trajectories.capability import JointCapability
from forearm.trajectories.continuous_snap.motion import SmoothMotion
from forearm.trajectories.demands import Demands
from forearm.trajectories.limits import MotionLimits
from forearm.trajectories.switching import Switching
from forearm.trajectories.waypoints import through
from forearm.values import frozen

SEARCHED = 60  # maximum number of factors tried
STRAIGHT = 6  # of these, secant steps from the share at rest, before a feasible one is found
MOST_FACTOR = 2.0**20  # upper bound of the factor, far beyond what a joint could do alone
LEAST_FACTOR = 2.0**-30  # below it the arm does not move: gravity and friction are too large
AMPLE = 1.5  # times the required acceleration, so that no joint delays the others
LEAST = 1e-3  # of a joint's capability, if it does not have to move
CLOSE = 1e-3  # relative tolerance of the largest factor
USED = 0.999  # of a limit during the search, with a margin for times between samples
VERIFIED = 0.9995  # of a limit in the final check
LOOKS = 8  # maximum number of final checks
BY_SPEED = 0.25  # of a limit used by velocity alone: above it lower velocities may allow higher accelerations
SLOWER = 0.85  # factor on top velocities, or its inverse
WORTH = 0.01  # of the duration: smaller gains end the search


@frozen
class PlanningProblem:
    """Points and velocities (k, n), NaN where open, fixed limits, and the torque demands of motions through
    them.
    """

    q: Floats
    qd: Floats
    limits: MotionLimits
    demands: Demands
    step: float

    @cached_property
    def capability(self) -> JointCapability:
        """Capability of each joint by itself."""
        return JointCapability.of(self.q, self.limits.velocity, self.demands)

    @property
    def moves(self) -> bool:
        """Whether any joint moves."""
        return bool(np.diff(self.q, axis=0).any() or np.nan_to_num(self.qd).any())

    def within(self, acceleration: Floats, velocity: Floats) -> MotionLimits:
        """Limits with these accelerations, and top velocities not below the given ones."""
        given = np.abs(np.nan_to_num(self.qd)).max(axis=0)
        top = np.minimum(np.maximum(velocity, given), self.limits.velocity)
        return MotionLimits(acceleration, top, self.limits.lower, self.limits.upper)


@frozen
class Candidate:
    """A motion, the limits it was planned within, and the factor on its accelerations."""

    motion: Switching
    limits: MotionLimits
    factor: float


def chosen_motion(problem: PlanningProblem) -> tuple[Switching, MotionLimits]:
    """The fastest motion found that exceeds no drive limit, and the limits it was planned within.

    By itself joint j can accelerate by (drive limit - gravity and friction) / M_jj, in the worst
    configuration along the lines between the points, at each velocity; its top velocity minimises its own
    duration. It needs only enough acceleration to keep up with the slowest joint of each segment. One common
    factor on all accelerations is raised until 0.999 of a limit is used. If velocity alone uses a large share
    of a limit, lower and higher top velocities are tried too.
    """
    top = problem.capability.best_velocities
    if not problem.moves:
        limits = problem.within(problem.capability.accelerations(top), top)
        return through(problem.q, problem.qd, limits), limits
    best = _fastest(problem, top)
    for change in (SLOWER, 1.0 / SLOWER):
        while problem.capability.speed_shares(best.motion.extremes()[2]).max() > BY_SPEED:
            try:
                tried = _fastest(problem, change * _tops(best), best)
            except InputError:
                break
            if tried is best:
                break
            best = tried
    return best.motion, best.limits


def _fastest(problem: PlanningProblem, top: Floats, rival: Candidate | None = None) -> Candidate:
    """The fastest motion with these top velocities, verified on a ten times finer grid; or `rival` if it is
    not beaten.
    """
    needed, target, factor = _needed(problem, top), USED, 1.0 if rival is None else rival.factor
    for _ in range(LOOKS):
        found = _with_largest_factor(problem, needed, top, factor, target)
        if rival is not None and found.motion.duration > (1.0 - WORTH) * rival.motion.duration:
            return rival
        share = problem.demands.finest_share(found.motion, problem.step)
        if share <= VERIFIED:
            return found
        target, factor = target * USED * VERIFIED / share, found.factor
    raise too_weak(problem, found.motion)


def _tops(best: Candidate) -> Floats:
    """Velocities that the joints reach, and the limit for joints that do not move."""
    fastest, most = best.motion.extremes()[2], best.limits.velocity
    return np.where(fastest > 0.0, np.minimum(fastest, most), most)


def _needed(problem: PlanningProblem, top: Floats) -> Floats:
    """Acceleration that each joint needs to match the slowest: 4 d / T^2, or v^2 / (v T - d) if it coasts at
    v.

    If the request gives velocities, there may be no room for such gentle braking, and each joint uses its
    full capability.
    """
    alone = problem.capability.accelerations(top)
    if (np.nan_to_num(problem.qd) != 0.0).any():
        return alone
    limits = problem.within(alone, top)
    motion = through(problem.q, problem.qd, limits)
    way, T = np.abs(np.diff(problem.q, axis=0)), np.maximum(motion.segments[:, None], 1e-30)
    v = limits.velocity
    coasting = v * v / np.maximum(v * T - way, 1e-30)
    wanted = np.where(2.0 * way <= v * T, 4.0 * way / T**2, coasting).max(axis=0)
    return np.asarray(np.clip(AMPLE * wanted, LEAST * alone, alone))


def _with_largest_factor(
    problem: PlanningProblem, needed: Floats, top: Floats, factor: float, target: float
) -> Candidate:
    """The motion with the largest feasible factor, to CLOSE, by the secant method; too small factors may be
    infeasible, as given velocities then cannot be braked.
    """
    rest = problem.capability.share_at_rest
    low, high, at_low, at_high = 0.0, np.inf, rest, np.inf
    best: Candidate | None = None
    hard: Switching | None = None
    refused: InputError | None = None
    for tried in range(SEARCHED):
        try:
            limits = problem.within(factor * needed, top)
            found = Candidate(through(problem.q, problem.qd, limits), limits, factor)
            share = problem.demands.largest_share(found.motion)
            allowed = share <= target
            best, at_low = (found, share) if allowed else (best, at_low)
            hard, at_high = (hard, at_high) if allowed else (found.motion, share)
        except InputError as error:
            allowed, refused = True, error  # within drive limits: a larger factor may be possible
        low, high = (factor, high) if allowed else (low, factor)
        enough = at_low >= target * (1.0 - CLOSE) or high - low < CLOSE * high
        if (best is not None and enough) or low >= MOST_FACTOR or high <= LEAST_FACTOR:
            break
        aim = target * (1.0 - 0.5 * CLOSE)
        if np.isinf(high):
            likely = low * (aim - rest) / (at_low - rest) if best is not None and at_low > rest else np.inf
            factor = float(np.clip(likely, 1.01 * low, 2.0 * low))
        else:
            # occasional bisection, since the share is nonlinear in the factor
            straight = at_high > aim > at_low and (tried % 3 != 2 or (best is None and tried < STRAIGHT))
            part = (aim - at_low) / (at_high - at_low) if straight else 0.5
            factor = low + float(np.clip(part, 0.02, 0.98)) * (high - low)
    if best is not None:
        return best
    if refused is not None and hard is None:
        raise refused  # for any acceleration
    if refused is not None:
        raise InputError(
            f"the velocities of the request need accelerations above {high:.2g} times what "
            "the drives allow; use lower velocities, or set accelerations.",
            "plan",
        ) from None
    assert hard is not None
    raise too_weak(problem, hard)


def too_weak(problem: PlanningProblem, motion: Switching | SmoothMotion) -> InputError:
    """The error of a joint that cannot move even slowly, or with the given velocities, with required and
    available effort.
    """
    most = max(problem.demands.uses(motion, problem.step), key=lambda use: use.share).text
    if np.nan_to_num(problem.qd).any():
        why = f"the velocities of the request are too high for the drives at any acceleration: {most}"
        return InputError(f"{why} Use lower velocities, other points, or a lighter payload.", "plan")
    why = f"gravity and friction leave no torque for the motion: even slowly, {most}"
    return InputError(f"{why} Use other points, or a lighter payload.", "plan")
