"""Information of a motion and its use of the limits, evaluated on a fine grid."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from forearm.identification.excitation.limits import ExcitationLimits
from forearm.identification.excitation.torque_columns import TorqueColumns
from forearm.spatial import Floats
from forearm.trajectories.drive_limits import LimitUse
from forearm.trajectories.sampling import SampledMotion, ticks
from forearm.trajectories.series.motion import SeriesMotion

BLOCK = 4096  # states per call
FINE = 1e-4  # s: time between samples of the final check
MOST = 200_000  # of these samples: longer motions are as much slower
TOP = 0.999  # of a limit: allowed use at these samples, so that none is exceeded between them
GROWN = 1.2  # times the amplitude: largest increase
SMALLEST = 0.05  # times the amplitude: smallest scale tried
HALVINGS = 9


def information_of(columns: TorqueColumns, motion: SampledMotion, step: float, noise: Floats) -> Floats:
    """Sum of W^T W / noise^2 over the reachable samples of a motion, (p, p)."""
    total = np.zeros((len(columns), len(columns)))
    for _, q, qd, qdd in _blocks(motion, ticks(motion.duration, step, "excite, step")):
        there = np.isfinite(q).all(axis=1) & np.isfinite(qd).all(axis=1) & np.isfinite(qdd).all(axis=1)
        W = columns.rows(q[there], qd[there], qdd[there]) / noise[:, None]
        A = W.reshape(-1, len(columns))
        total += A.T @ A
    return total


def usual_sizes(columns: TorqueColumns, limits: ExcitationLimits, fastest: float, noise: Floats) -> Floats:
    """The rms of each column over the noise (p,) at random states within limits; accelerations follow from
    the angular frequency `fastest`.
    """
    n, rng = columns.arm.n, np.random.default_rng(0)
    q, qd, qdd = 2.0 * rng.random((3, 64 + 4 * len(columns), n)) - 1.0
    q = 0.5 * (limits.lower + limits.upper) + 0.5 * (limits.upper - limits.lower) * q
    hard = np.minimum(limits.acceleration, fastest * limits.velocity)
    W = columns.rows(q, qd * limits.velocity, qdd * hard) / noise[:, None]
    return np.asarray(np.sqrt(np.square(W).sum(axis=1).mean(axis=0)))


def limit_uses(limits: ExcitationLimits, motion: SeriesMotion) -> tuple[LimitUse, ...]:
    """The largest use of each two-sided limit."""
    best: dict[tuple[str, str], LimitUse] = {}
    for t, q, qd, qdd in _blocks(motion, _fine_times(motion)):
        for some in limits.as_it_is(q, qd, qdd):
            shares, half = some.shares(), some.half
            for k in np.flatnonzero(np.isfinite(some.high - some.low)):
                at = int(shares[:, k].argmax())
                needed, allowed = float(shares[at, k] * half[k]), float(half[k])
                use = LimitUse(some.who[k], some.quantity, needed, allowed, float(t[at]))
                key = (use.joint, use.quantity)
                if key not in best or use.needed > best[key].needed:
                    best[key] = use
    return tuple(best.values())


def fitted(
    limits: ExcitationLimits, motion: SeriesMotion, grow: bool, keep_start: bool
) -> SeriesMotion | None:
    """Scale a motion to the largest amplitude that meets all limits at all times; None if even a small one
    does not.

    Args:
        limits: the limits.
        motion: the optimised motion.
        grow: whether the amplitude may grow.
        keep_start: True: scale about its start and end configuration; False: about the middle of its
            positions.
    """
    least, most, _ = motion.extremes()
    about = motion.start if keep_start else 0.5 * (least + most)
    states = list(_blocks(motion, _fine_times(motion)))

    def fits(factor: float) -> bool:
        """Whether it meets all limits at this amplitude, with friction in the direction of motion."""
        return not any(
            (some.shares() > TOP).any()
            for _, q, qd, qdd in states
            for some in limits.as_it_is(about + factor * (q - about), factor * qd, factor * qdd)
        )

    low, high = SMALLEST, 1.0
    if fits(1.0):
        if not grow:
            return motion
        low, high = 1.0, GROWN
    elif not fits(low):
        return None
    for _ in range(HALVINGS):
        factor = 0.5 * (low + high)
        low, high = (factor, high) if fits(factor) else (low, factor)
    return motion.scaled(low, about)


def largest_share(limits: ExcitationLimits, motion: SeriesMotion) -> float:
    """The largest use of any limit at the samples of the final check, with friction in the direction of
    motion.
    """
    return max(
        float(some.shares().max())
        for _, *states in _blocks(motion, _fine_times(motion))
        for some in limits.as_it_is(*states)
    )


def _fine_times(motion: SeriesMotion) -> Floats:
    grid = max(FINE, motion.duration / MOST)
    return np.append(np.arange(0.0, motion.duration, grid), motion.duration)


def _blocks(motion: SampledMotion, t: Floats) -> Iterator[tuple[Floats, Floats, Floats, Floats]]:
    for first in range(0, len(t), BLOCK):
        some = t[first : first + BLOCK]
        q, qd, qdd = motion.at(some)
        yield some, q, qd, qdd
