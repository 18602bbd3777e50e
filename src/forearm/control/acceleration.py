"""Direct acceleration servoing: torques are corrected until the measured accelerations match the reference;
the arm itself solves the equations of motion.
"""

from __future__ import annotations

import math

import numpy as np

from forearm.arm.arm import Arm
from forearm.control.accelerometers import accelerometers
from forearm.control.bookkeeping import check_motion, corrected, pull_operations
from forearm.control.controller import Sample
from forearm.control.gains import BANDWIDTH
from forearm.control.options import TIMING, LoopTiming
from forearm.control.reference import Motion
from forearm.errors import InputError
from forearm.kernels.kept import kernel_of
from forearm.records import flat, with_fields
from forearm.spatial import Floats
from forearm.values import check_choice, check_number

SOURCES = ("accelerometers", "tachometers", "encoders")
POSTURES = 17  # configurations along the motion at which inertias are computed in advance
SLOW = 0.1  # of an error per sample


@with_fields
class AccelerationServo:
    """tau += gain K (qdd_asked - qdd_seen), with a constant K computed in advance; no model is evaluated at
    run time.

    qdd_asked = qdd_wanted + w^2 (q_wanted - q) + 2 w (qd_wanted - qd), with w the `bandwidth`, returns the
    arm to the motion. The acceleration loop settles for any gain below `largest_gain`, the smallest being
    that of encoders with a `delay` of one period. w is limited to a quarter of its settling rate, 1 - |z| per
    `period` for the slowest pole z. Waters IV.

    Args:
        arm: the controller's model of the arm.
        motion: the reference motion.
        seen_by: source of qdd_seen: "accelerometers", or differences of "tachometers" or "encoders".
        gain: share of the error corrected per sample; None: 1, with a delay 1/2.
        coupled: whether K is a full matrix rather than one inertia per joint; None: if separate joints would
            correct less than a tenth of some error per sample.
        bandwidth: w, rad/s; None: only accelerations are corrected.
        timing: period and delay of the loop.
    """

    name = "acceleration servo"

    @flat(timing=LoopTiming)
    def __init__(
        self,
        arm: Arm,
        motion: Motion,
        *,
        seen_by: str = "accelerometers",
        gain: float | None = None,
        coupled: bool | None = None,
        bandwidth: float | None = BANDWIDTH,
        timing: LoopTiming = TIMING,
    ) -> None:
        self.seen_by, delay = check_choice(seen_by, SOURCES, "seen_by"), timing.delay
        check_motion(arm, motion)
        kernel = kernel_of(arm)
        usual = 0.5 if delay else 1.0
        self.gain = check_number(
            usual if gain is None else gain, "gain", above=0.0, maximum=largest_gain(seen_by, delay)
        )
        q = np.ascontiguousarray(motion.at(np.linspace(0.0, motion.duration, POSTURES))[0])
        M = kernel.inertia_matrix(q)
        alone = np.diag(settling_inertias(M))
        self.coupled = slowest_share(M, alone) < SLOW if coupled is None else coupled
        self.K = settling_matrix(M) if self.coupled else alone
        slowest = max(
            settling_pole(self.gain * share, seen_by, delay) for share in (slowest_share(M, self.K), 1.0)
        )
        rate = max(0.0, 1.0 - slowest) / timing.period
        self.bandwidth = (
            0.0 if bandwidth is None else min(check_number(bandwidth, "bandwidth", above=0.0), 0.25 * rate)
        )
        self._holding = kernel.gravity(q[0])
        self._conversion = accelerometers(arm).operations if seen_by == "accelerometers" else 0
        self.reset()

    @property
    def operations(self) -> float:
        """Operations per sample: the product with K, two sums per joint, the feedback if there is one, and
        the computation of the accelerations.
        """
        n = len(self.K)
        difference = {"accelerometers": 0, "tachometers": 2 * n, "encoders": 4 * n}[self.seen_by]
        product = 2 * n * n - n if self.coupled else n
        pulled = pull_operations() * n if self.bandwidth else 0
        return float(product + 2 * n + pulled + difference + self._conversion)

    def reset(self) -> None:
        """Return to the torques that hold the arm at the start of the motion."""
        self._tau = self._holding.copy()
        self._past: list[Sample] = []

    def command(self, sample: Sample) -> Floats:
        """The torques of the previous period, corrected."""
        lacking = corrected(sample, self.bandwidth) - self._seen(sample)
        self._tau = self._tau + self.gain * (self.K @ lacking)
        self._past = [*self._past[-1:], sample]
        return self._tau.copy()

    def _seen(self, sample: Sample) -> Floats:
        """Acceleration (n,) over the last period; 0 while there are too few samples for a difference."""
        if self.seen_by == "accelerometers":
            if sample.qdd is None:
                raise InputError(
                    "no accelerations were measured; add accelerometers to the loop, or set seen_by.",
                    "acceleration servo",
                )
            return sample.qdd
        if len(self._past) < (1 if self.seen_by == "tachometers" else 2):
            return np.zeros_like(sample.q)
        last = self._past[-1]
        T = sample.t - last.t
        if self.seen_by == "tachometers":
            return (sample.qd - last.qd) / T
        return (sample.q - 2.0 * last.q + self._past[-2].q) / T**2


def largest_gain(seen_by: str, delay: int = 0) -> float:
    """The gain at which acceleration errors stop decaying, for M^-1 K of at most 1: 2, or 1 with a delay of
    one period; for encoders 0.83 with a delay.

    By Jury's criterion for the polynomial of `settling_pole`; for encoders with a delay 2 sqrt(2) - 2.
    """
    if delay == 0:
        return 2.0
    return 2.0 * math.sqrt(2.0) - 2.0 if seen_by == "encoders" else 1.0


def settling_pole(g: float, seen_by: str, delay: int = 0) -> float:
    """|z|, the factor by which acceleration errors shrink per sample, for g = gain times an eigenvalue of
    M^-1 K.

    z - 1 + g = 0, delayed z^2 - z + g = 0. Encoders measure the mean of the last two periods: z^2 - z + g (z
    + 1)/2 = 0, delayed z^3 - z^2 + g (z + 1)/2 = 0.
    """
    seen = [0.5 * g, 0.5 * g] if seen_by == "encoders" else [g]
    polynomial = np.array([1.0, -1.0, *np.zeros(delay + len(seen) - 1)])
    polynomial[-len(seen) :] += seen
    return float(np.abs(np.roots(polynomial)).max())


def settling_inertias(M: Floats) -> Floats:
    """Constant inertias (n,) for independent joints such that no eigenvalue of M^-1 diag(I) exceeds 1 for any
    of the M (m, n, n).

    I = mu diag(M) of the configuration with the smallest I, where mu is the smallest eigenvalue of M scaled
    to a unit diagonal.
    """
    diagonal = np.einsum("bii->bi", M)
    root = np.sqrt(diagonal)
    mu = np.linalg.eigvalsh(M / (root[:, :, None] * root[:, None, :]))[:, 0]
    least: Floats = (mu[:, None] * diagonal).min(axis=0)
    return least


def settling_matrix(M: Floats) -> Floats:
    """A constant matrix (n, n) for coupled joints: the mean of M (m, n, n), scaled to keep all eigenvalues at
    most 1.
    """
    mean: Floats = M.mean(axis=0)
    return mean * float(np.linalg.eigvals(np.linalg.solve(mean, M)).real.min())


def slowest_share(M: Floats, K: Floats) -> float:
    """Smallest share of an acceleration error corrected per sample at a gain of 1: the smallest eigenvalue of
    any M^-1 K.
    """
    return float(np.linalg.eigvals(np.linalg.solve(M, np.broadcast_to(K, M.shape))).real.min())
