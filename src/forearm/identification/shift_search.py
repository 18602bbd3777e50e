"""Time shifts of logs, found step by step: steps are short, and taken back where they leave more than before.

Where a joint reverses its effort jumps. A shift of a few samples brings such jumps to rows that have none in
the model, which the slope of efforts does not tell: a step that looks good from afar may be bad.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forearm.spatial import Floats

FIRST_REACH = 4.0  # periods: how far a first step goes at most
MOST_SHIFT = 50.0  # periods: efforts that come later belong to another motion
MOVES = 0.05  # of its deviation: a step that is shorter is rest,
RESTS = 0.4  # after some passes one that is shorter than that
WORSE = 0.03  # of the noise: a pass that leaves so much more than the one before is no better and no worse
EARLY = 4  # passes before what counts as rest grows


class ShiftSearch:
    """The shifts of some logs, pass by pass.

    Args:
        periods: between samples of each log, s.
    """

    def __init__(self, periods: Sequence[float]) -> None:
        self._periods = np.array(periods, dtype=np.float64)
        self._reach = FIRST_REACH * self._periods
        self._growth = 2.0  # of steps, until one was too long
        self._passes = 0
        self._cost = np.inf  # of the best pass so far,
        self._from = np.zeros(len(self._periods))  # its shifts,
        self._step = np.zeros(len(self._periods))  # and the step that it asks for

    def after(self, shifts: Floats, steps: Floats, deviations: Floats, cost: float) -> Floats:
        """The shifts (L,) of the next pass, the same where they have come to rest.

        Args:
            shifts: of the pass that was made (L,), s.
            steps: by which they should change (L,), s.
            deviations: of the steps (L,), s.
            cost: what the pass leaves: the mean logarithm of joints' noise.
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
                self._step = np.zeros_like(steps)  # no step is good: the best pass once more, and rest
                self._cost = np.inf
                return self._from
        step = np.clip(self._step, -self._reach, self._reach)
        most = MOST_SHIFT * self._periods
        wanted = np.clip(self._from + np.where(np.abs(step) > least, step, 0.0), -most, most)
        return np.asarray(wanted)
