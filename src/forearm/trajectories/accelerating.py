"""Accelerations and top velocities for a request that leaves accelerations open: as large as the drives
allow along the whole motion.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError
from forearm.trajectories.capability import JointCapability
from forearm.trajectories.continuous_snap.motion import SmoothMotion
from forearm.trajectories.demands import Demands
from forearm.trajectories.limits import MotionLimits
from forearm.trajectories.switching import Switching
from forearm.trajectories.waypoints import through

Array = NDArray[np.float64]
SEARCHED = 60  # factors tried
STRAIGHT = 6  # of them by straight lines from rest, before one is found that is allowed
MOST_FACTOR = 2.0**20  # beyond what a joint could do alone: no motion that can be planned is so hard
LEAST_FACTOR = 2.0**-30  # below it nothing moves: gravity and friction are too much
AMPLE = 1.5  # times what is needed, so that no joint holds the others up
LEAST = 1e-3  # of what a joint could do alone, where it has no way to go
CLOSE = 1e-3  # relative: near enough to the largest
USED = 0.999  # of a limit: the rest is for what lies between the moments looked at
VERIFIED = 0.9995  # of a limit, in the last look
LOOKS = 8  # last looks: each after one that found more
BY_SPEED = 0.25  # of a limit that is used by velocity alone: then lower ones may leave more for accelerations
SLOWER = 0.85  # times the top velocities, or over them
WORTH = 0.01  # of the duration: less is not worth another try


@dataclass(frozen=True, eq=False)
class PlanningProblem:
    """Points and velocities (k, n), NaN where open, the limits that hold whatever is chosen, and what the
    drives make of motions through them.
    """

    q: Array
    qd: Array
    limits: MotionLimits
    demands: Demands
    step: float

    @cached_property
    def capability(self) -> JointCapability:
        """What each joint could do by itself."""
        return JointCapability.of(self.q, self.limits.velocity, self.demands)

    @property
    def moves(self) -> bool:
        """Whether anything does."""
        return bool(np.diff(self.q, axis=0).any() or np.nan_to_num(self.qd).any())

    def within(self, acceleration: Array, velocity: Array) -> MotionLimits:
        """The limits with these accelerations, and top velocities that no given one exceeds."""
        given = np.abs(np.nan_to_num(self.qd)).max(axis=0)
        top = np.minimum(np.maximum(velocity, given), self.limits.velocity)
        return MotionLimits(acceleration, top, self.limits.lower, self.limits.upper)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A motion, the limits that it was planned within, and the factor on its accelerations."""

    motion: Switching
    limits: MotionLimits
    factor: float


def chosen_motion(problem: PlanningProblem) -> tuple[Switching, MotionLimits]:
    """The fastest motion found that exceeds no limit of a drive, and the limits that it was planned within.

    Alone joint j could do (what its drive has - gravity and friction) / M_jj at the worst of postures along
    the lines between the points, at each velocity; its top velocity is the one with which it would be there
    first. It needs no more than lets it keep up with the slowest joint of each stretch. One factor for all
    accelerations, below 1 or above, is raised to where 0.999 of a limit is used. Where velocity takes much
    of what is used, lower and higher top velocities are tried too.
    """
    top = problem.capability.best_velocities
    if not problem.moves:
        limits = problem.within(problem.capability.accelerations(top), top)
        return through(problem.q, problem.qd, limits), limits
    best = _fastest(problem, top)
    for change in (SLOWER, 1.0 / SLOWER):
        while _by_speed(problem, best.motion) > BY_SPEED:
            try:
                tried = _fastest(problem, change * _tops(best), best)
            except InputError:
                break
            if tried is best:
                break
            best = tried
    return best.motion, best.limits


def _fastest(problem: PlanningProblem, top: Array, rival: Candidate | None = None) -> Candidate:
    """With these top velocities and the largest factor, looked at once more at ten times the grid; or a
    rival that this would not beat.
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


def _tops(best: Candidate) -> Array:
    """The velocities that joints reach, and the largest where one does not move."""
    fastest, most = best.motion.extremes()[2], best.limits.velocity
    return np.where(fastest > 0.0, np.minimum(fastest, most), most)


def _by_speed(problem: PlanningProblem, motion: Switching) -> float:
    """The largest share of a limit that velocity alone takes."""
    return float(problem.capability.speed_shares(motion.extremes()[2]).max())


def _needed(problem: PlanningProblem, top: Array) -> Array:
    """What each joint needs to take the time of the slowest:
    4 d / T^2, or v^2 / (v T - d) where it has to coast at v.

    Where the request gives velocities there may be no room to brake so gently,
    and each joint does what it can alone.
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
    problem: PlanningProblem, needed: Array, top: Array, factor: float, target: float
) -> Candidate:
    """With the largest factor that is allowed, to CLOSE, by straight lines through what was found; too small
    ones may be refused, as velocities then cannot be braked.
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
            allowed, refused = True, error  # as far as drives go: more may be possible
        low, high = (factor, high) if allowed else (low, factor)
        enough = at_low >= target * (1.0 - CLOSE) or high - low < CLOSE * high
        if (best is not None and enough) or low >= MOST_FACTOR or high <= LEAST_FACTOR:
            break
        aim = target * (1.0 - 0.5 * CLOSE)
        if np.isinf(high):
            likely = low * (aim - rest) / (at_low - rest) if best is not None and at_low > rest else np.inf
            factor = float(np.clip(likely, 1.01 * low, 2.0 * low))
        else:
            # now and then a half, as what is used is no straight line
            straight = at_high > aim > at_low and (tried % 3 != 2 or (best is None and tried < STRAIGHT))
            part = (aim - at_low) / (at_high - at_low) if straight else 0.5
            factor = low + float(np.clip(part, 0.02, 0.98)) * (high - low)
    if best is not None:
        return best
    if refused is not None and hard is None:
        raise refused  # whatever the accelerations
    if refused is not None:
        raise InputError(
            f"plan: the velocities of the request need accelerations above {high:.2g} times what the "
            "drives allow; give lower velocities, or accelerations."
        ) from None
    assert hard is not None
    raise too_weak(problem, hard)


def too_weak(problem: PlanningProblem, motion: Switching | SmoothMotion) -> InputError:
    """Which joint cannot even move slowly, or with the velocities given, what it needs and what it has."""
    most = max(problem.demands.uses(motion, problem.step), key=lambda use: use.share)
    if np.nan_to_num(problem.qd).any():
        return InputError(
            f"plan: the velocities of the request are too much, however low accelerations are: {most.text} "
            "Give lower velocities, other points, or a lighter load."
        )
    return InputError(
        f"plan: gravity and friction leave nothing to move with: even slowly, {most.text} Take other points, "
        "or a lighter load."
    )
