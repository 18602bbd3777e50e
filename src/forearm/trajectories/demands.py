"""Demands of a motion on an arm's drives, sampled on both sides of each jump of acceleration or friction,
where Stribeck friction falls, and evenly in between.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from forearm.arm.arm import Arm
from forearm.drives.joint import drives_of
from forearm.kernels.kernel import Kernel
from forearm.spatial import Floats
from forearm.trajectories.continuous_snap.motion import SmoothMotion
from forearm.trajectories.drive_limits import DriveLimits, LimitUse
from forearm.trajectories.jerk_limited.motion import JerkMotion
from forearm.trajectories.sampling import SampledMotion, States
from forearm.trajectories.series.motion import SeriesMotion
from forearm.trajectories.switching import Switching
from forearm.values import frozen

Pieced = Switching | SmoothMotion
PER_PIECE = 16  # samples between two jumps
QUARTERS = 4  # parts of a ninth-degree polynomial, each sampled like an interval between jumps
MOST_ROWS = 200_000  # limit of such samples: long requests have fewer between two jumps
MOST_FINE = 2_000_000  # samples of the final check
INSIDE = 1e-9  # of a piece: offset from its ends, inside any jump
TOGETHER = 1e-12  # of the duration: closer jumps are one, separated by rounding
FINER = 10  # times the grid of a plan, in the final check
GRID = 1e-3  # s: maximum step of that grid
FALLING = np.array([0.15, 0.3, 0.5, 0.7, 0.9, 1.15, 1.5, 2.0, 2.7])  # of the Stribeck velocity
BLOCK = 8192  # states per block, which fits into the cache


@frozen
class Demands:
    """Demands of motions of one arm, from its kernel, relative to its drive limits."""

    arm: Arm
    kernel: Kernel
    limits: DriveLimits

    @cached_property
    def stribeck(self) -> Floats:
        """Velocities (s, n) at which the Stribeck friction of a degree of freedom falls, NaN if it has
        none.
        """
        falls: list[list[float]] = [[] for _ in range(self.arm.n)]
        for drive in drives_of(self.arm):
            speed = drive.at_joint.stribeck_speed
            if speed is not None and drive.multiplier != 0.0:
                falls[drive.freedom] += (FALLING * speed / abs(drive.multiplier)).tolist()
        rows = np.full((max(map(len, falls)), self.arm.n), np.nan)
        for i, speeds in enumerate(falls):
            rows[: len(speeds), i] = speeds
        return np.vstack([rows, -rows])

    def largest_share(self, motion: Pieced) -> float:
        """Largest share of a limit used at samples between jumps, and at the vertices of parabolas through
        three of them.
        """
        even, count, single = self._moments(motion)
        used = self._shares(motion.at(np.concatenate([even, single])))
        most = max(float(used.max()), float(self._shares(_arrivals(motion)).max()))
        pieces, times = used[: len(even)].reshape(-1, count, self.arm.n), even.reshape(-1, count)
        before, here, after = pieces[:, :-2], pieces[:, 1:-1], pieces[:, 2:]
        bend, slope = before - 2.0 * here + after, 0.5 * (after - before)
        top = (bend < 0.0) & (here >= before) & (here >= after)
        bend = np.where(top, bend, -1.0)
        top &= here - 0.5 * slope * slope / bend > most
        if top.any():
            moments = times[:, 1:-1, None] - slope / bend * (times[:, 1:2] - times[:, :1])[..., None]
            most = max(most, float(self._shares(motion.at(moments[top])).max()))
        return most

    def finest_share(self, motion: Pieced, step: float) -> float:
        """The same at all samples of the final check."""
        times = self.fine_times(motion, step)
        most = float(self._shares(_arrivals(motion)).max())
        for first in range(0, len(times), BLOCK):
            most = max(most, float(self._shares(motion.at(times[first : first + BLOCK])).max()))
        return most

    def uses(self, motion: Pieced, step: float) -> tuple[LimitUse, ...]:
        """Largest use of each limit over all samples of the final check."""
        q, qd, qdd = _arrivals(motion)
        found = self.limits.uses(_ends(motion)[1:], self.kernel.inverse_dynamics(q, qd, qdd), qd)
        return _larger(found, self.uses_at(motion, self.fine_times(motion, step)))

    def uses_at(self, motion: SampledMotion, times: Floats) -> tuple[LimitUse, ...]:
        """Largest use of each limit at these times."""
        found: tuple[LimitUse, ...] = ()
        for first in range(0, len(times), BLOCK):
            t = times[first : first + BLOCK]
            q, qd, qdd = motion.at(t)
            more = self.limits.uses(t, self.kernel.inverse_dynamics(q, qd, qdd), qd)
            found = _larger(found or more, more)
        return found

    def fine_times(self, motion: Pieced, step: float) -> Floats:
        """Ten times as many times as a plan with this step has, and all those of `largest_share`."""
        grid = max(min(step, GRID) / FINER, motion.duration / MOST_FINE)
        even, _, single = self._moments(motion)
        return np.concatenate([np.arange(0.0, motion.duration, grid), even, single])

    def _moments(self, motion: Pieced) -> tuple[Floats, int, Floats]:
        """Evenly spaced times between jumps, their number per piece, and additional ones: jumps and falling
        friction.
        """
        jumps = np.unique(np.concatenate([_pieces(motion), _passages(motion, np.zeros((1, motion.n)))]))
        apart = np.diff(jumps) > TOGETHER * motion.duration
        starts, ends = jumps[:-1][apart], jumps[1:][apart]
        count = int(np.clip(MOST_ROWS // max(len(starts), 1), 4, PER_PIECE))
        even = (starts[:, None] + np.linspace(INSIDE, 1.0 - INSIDE, count) * (ends - starts)[:, None]).ravel()
        single = np.concatenate([starts, jumps[-1:], _passages(motion, self.stribeck)])
        return np.clip(even, 0.0, motion.duration), count, np.clip(single, 0.0, motion.duration)

    def _shares(self, states: States) -> Floats:
        q, qd, qdd = states
        return self.limits.shares(self.kernel.inverse_dynamics(q, qd, qdd), qd)


def _larger(some: tuple[LimitUse, ...], others: tuple[LimitUse, ...]) -> tuple[LimitUse, ...]:
    return tuple(b if b.needed > a.needed else a for a, b in zip(some, others, strict=True))


def even_times(motion: JerkMotion | SeriesMotion, step: float) -> Floats:
    """Ten times as many times as a plan with this step has, and every switch."""
    grid = max(min(step, GRID) / FINER, motion.duration / MOST_FINE)
    return np.concatenate([np.arange(0.0, motion.duration, grid), motion.switches])


def _arrivals(motion: Pieced) -> States:
    """States at the end of every segment with the acceleration before it: a joint that comes to rest there
    has no friction to help braking.
    """
    if isinstance(motion, SmoothMotion):
        return motion.states[1:, 0], motion.states[1:, 1], motion.states[1:, 2]
    return motion.points[1:], motion.velocities[1:], motion.accelerations[..., 2]


def _ends(motion: Pieced) -> Floats:
    """Times at which segments or polynomials end, from 0."""
    return motion.times if isinstance(motion, Switching) else motion.switches


def _pieces(motion: Pieced) -> Floats:
    """Times between which accelerations do not jump, in pieces that a few samples resolve."""
    if isinstance(motion, Switching):
        return motion.switches
    shares = np.linspace(0.0, 1.0, QUARTERS, endpoint=False)
    begun = motion.switches[:-1, None] + shares * motion.segments[:, None]
    return np.append(begun.ravel(), motion.duration)


def _passages(motion: Pieced, velocities: Floats) -> Floats:
    """Times at which a joint has one of its velocities (s, n) while accelerating or braking, unsorted."""
    if isinstance(motion, SmoothMotion):
        return motion.passages(velocities)
    t1, t3 = motion.phases[..., 0], motion.phases[..., 2]
    found = []
    for start, v, a, time in (
        (motion.times[:-1, None], motion.velocities[:-1], motion.accelerations[..., 0], t1),
        (motion.times[1:, None] - t3, motion.held, motion.accelerations[..., 2], t3),
    ):
        with np.errstate(divide="ignore", invalid="ignore"):
            after = (velocities[:, None, :] - v) / a
        inside = (after > 0.0) & (after < time)
        found.append((start + after)[inside])
    return np.concatenate(found)
