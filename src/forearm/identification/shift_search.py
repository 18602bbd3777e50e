"""Iterative search for time shifts of logs with short steps, which are reverted if the residual grows.

At reversals a joint's effort jumps. A shift of a few samples moves such jumps into rows without a jump in the
model, which the derivative does not predict: a long step may be bad.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forearm.spatial import Floats

FIRST_REACH = 4.0  # periods: largest first step
MOST_SHIFT = 50.0  # periods: largest total shift
MOVES = 0.05  # of its standard deviation: a shorter step counts as converged;
RESTS = 0.4  # after some passes, this
WORSE = 0.03  # of the noise: tolerance when comparing passes
EARLY = 4  # passes before the tolerance grows


class ShiftSearch:
    """Time shifts of some logs, pass by pass.

    Args:
        periods: sampling period of each log, s.
    """

    def __init__(self, periods: Sequence[float]) -> None:
        self._periods = np.array(periods, dtype=np.float64)
        self._reach = FIRST_REACH * self._periods
        self._growth = 2.0  # limit of steps, until one was too long
        self._passes = 0
        self._cost = np.inf  # best pass so far,
        self._from = np.zeros(len(self._periods))  # its shifts,
        self._step = np.zeros(len(self._periods))  # and its requested step

    def after(self, shifts: Floats, steps: Floats, deviations: Floats, cost: float) -> Floats:
        """The shifts (L,) of the next pass, unchanged when converged.

        Args:
            shifts: of the last pass (L,), s.
            steps: requested changes (L,), s.
            deviations: of the steps (L,), s.
            cost: of the pass: the mean logarithm of the joints' noise.
        """
        rest = min(MOVES * 2.0 ** max(self._passes - EARLY + 1, 0), RESTS)
        least = np.maximum(rest * deviations, 1e-4 * self._periods)
        self._passes += 1
        if cost <= self._cost + WORSE:
            self._reach = self._growth * self._reach if np.isfinite(self._cost) else self._reach
            self._cost, self._from, self._step = cost, shifts, steps
        else:
            self._reach = 0.5 * np.minimum(self._reach, np.abs(shifts - self._from))
            self._growth = 1.0
            if (self._reach < least).all():
                self._step = np.zeros_like(steps)  # no step improves: the best pass once more, then stop
                self._cost = np.inf
                return self._from
        step = np.clip(self._step, -self._reach, self._reach)
        most = MOST_SHIFT * self._periods
        wanted = np.clip(self._from + np.where(np.abs(step) > least, step, 0.0), -most, most)
        return wanted
