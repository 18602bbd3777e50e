"""Direct acceleration servoing: forces raised until the accelerations seen are those wanted;
the arm solves its equations.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.control.accelerometers import accelerometers
from forearm.control.bookkeeping import check_motion, corrected, pull_operations
from forearm.control.controller import Sample
from forearm.control.gains import BANDWIDTH
from forearm.control.reference import Motion
from forearm.errors import InputError
from forearm.kernels.kept import kernel_of
from forearm.values import check_choice, check_number, check_whole

Floats = NDArray[np.float64]
SOURCES = ("accelerometers", "tachometers", "encoders")
POSTURES = 17  # of the motion, at which the inertias are looked at beforehand
SLOW = 0.1  # of an error per sample


class AccelerationServo:
    """tau += gain K (qdd_asked - qdd_seen), K constant and found beforehand;
    nothing of the arm is computed later.

    qdd_asked = qdd_wanted + w^2 (q_wanted - q) + 2 w (qd_wanted - qd), w the `bandwidth`, brings the arm back
    onto the motion. Accelerations settle for any gain below `largest_gain`, the least being that of encoders
    under a `delay` of one period. w is held to a quarter of the rate at which they settle, 1 - |z| a `period`
    of the slowest pole z. Waters IV.

    Args:
        arm: the arm that the controller believes in.
        motion: the wanted motion.
        seen_by: where qdd_seen comes from: "accelerometers", or differences of "tachometers" or "encoders".
        gain: share of the error that is corrected with a sample; None: 1, under a delay 1/2.
        coupled: whether K is a matrix and not one inertia per joint; None: where joints by themselves would
            let less than a tenth of some error go with a sample.
        bandwidth: w, rad/s; None: accelerations alone are corrected.
        period: sampling period, s.
        delay: periods until a command acts, 0 or 1.
    """

    name = "acceleration servo"

    def __init__(
        self,
        arm: Arm,
        motion: Motion,
        *,
        seen_by: str = "accelerometers",
        gain: float | None = None,
        coupled: bool | None = None,
        bandwidth: float | None = BANDWIDTH,
        period: float = 1e-3,
        delay: int = 0,
    ) -> None:
        self.seen_by = check_choice(seen_by, SOURCES, "seen_by")
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
        rate = max(0.0, 1.0 - slowest) / check_number(period, "period", above=0.0)
        self.bandwidth = (
            0.0 if bandwidth is None else min(check_number(bandwidth, "bandwidth", above=0.0), 0.25 * rate)
        )
        self._holding = kernel.gravity(q[0])
        self._conversion = accelerometers(arm).operations if seen_by == "accelerometers" else 0
        self.reset()

    @property
    def operations(self) -> float:
        """The product with K, two sums a joint, the pull of the feedback if there is one,
        and what gives the accelerations.
        """
        n = len(self.K)
        difference = {"accelerometers": 0, "tachometers": 2 * n, "encoders": 4 * n}[self.seen_by]
        product = 2 * n * n - n if self.coupled else n
        pulled = pull_operations() * n if self.bandwidth else 0
        return float(product + 2 * n + pulled + difference + self._conversion)

    def reset(self) -> None:
        """Back to the forces that hold the arm where the motion begins."""
        self._tau = self._holding.copy()
        self._past: list[Sample] = []

    def command(self, sample: Sample) -> Floats:
        """The forces of the period before, corrected."""
        lacking = corrected(sample, self.bandwidth) - self._seen(sample)
        self._tau = self._tau + self.gain * (self.K @ lacking)
        self._past = [*self._past[-1:], sample]
        return self._tau.copy()

    def _seen(self, sample: Sample) -> Floats:
        """The acceleration (n,) of the last period; 0 while there are too few samples for a difference."""
        if self.seen_by == "accelerometers":
            if sample.qdd is None:
                raise InputError(
                    "acceleration servo: no accelerations were measured; give the loop "
                    "accelerometers, or seen_by."
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
    """Where errors of acceleration stop to shrink, M^-1 K being 1 at most: 2, or with a period of
    delay 1; of encoders 0.83.

    By Jury's criterion of `settling_pole`'s polynomials; of encoders under a delay 2 sqrt(2) - 2.
    """
    check_whole(delay, "delay, in periods", 0, 1)
    if delay == 0:
        return 2.0
    return 2.0 * math.sqrt(2.0) - 2.0 if seen_by == "encoders" else 1.0


def settling_pole(g: float, seen_by: str, delay: int = 0) -> float:
    """|z|, by which errors of acceleration shrink from sample to sample, g being the gain times
     an eigenvalue of M^-1 K.

    z - 1 + g = 0, delayed z^2 - z + g = 0. Encoders show the mean of the last two periods: z^2 - z + g (z +
    1)/2 = 0, delayed z^3 - z^2 + g (z + 1)/2 = 0.
    """
    seen = [0.5 * g, 0.5 * g] if seen_by == "encoders" else [g]
    polynomial = np.array([1.0, -1.0, *np.zeros(delay + len(seen) - 1)])
    polynomial[-len(seen) :] += seen
    return float(np.abs(np.roots(polynomial)).max())


def settling_inertias(M: Floats) -> Floats:
    """Constant inertias (n,) for joints by themselves: no eigenvalue of M^-1 diag(I) exceeds 1,
    for any of the M (m, n, n).

    I = mu diag(M) of the posture where it is least, mu the smallest eigenvalue of M with
    its diagonal scaled to 1.
    """
    diagonal = np.einsum("bii->bi", M)
    root = np.sqrt(diagonal)
    mu = np.linalg.eigvalsh(M / (root[:, :, None] * root[:, None, :]))[:, 0]
    least: Floats = (mu[:, None] * diagonal).min(axis=0)
    return least


def settling_matrix(M: Floats) -> Floats:
    """A constant matrix (n, n) for joints together: the mean of M (m, n, n) times what keeps the
    eigenvalues at 1 at most.
    """
    mean: Floats = M.mean(axis=0)
    return mean * float(np.linalg.eigvals(np.linalg.solve(mean, M)).real.min())


def slowest_share(M: Floats, K: Floats) -> float:
    """What goes of an acceleration's error with a sample at least, for a gain of 1:
    the smallest eigenvalue of any M^-1 K.
    """
    return float(np.linalg.eigvals(np.linalg.solve(M, np.broadcast_to(K, M.shape))).real.min())
