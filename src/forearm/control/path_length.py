"""Torques extrapolated along the path: full evaluations now and then, polynomials in path length between.
Waters IV.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.control.bookkeeping import Spending, Switches, Wanted, check_motion, feedback
from forearm.control.controller import Sample, States
from forearm.control.controllers.forces import Directions
from forearm.control.gains import BANDWIDTH
from forearm.control.reference import Motion
from forearm.kernels.kept import kernel_of
from forearm.spatial import Floats
from forearm.values import check_whole

STANDING = 1e-12  # rad or m: shorter paths count as no motion


class PathLength:
    """Torques as a polynomial in the path length s of the reference motion, ds = |dq|, through the last full
    evaluations.

    It never extends across a switch of acceleration, which the motion lists as `switches`, nor across a
    velocity reversal of a joint with dry friction: there it restarts with order + 1 evaluations in
    consecutive samples. Waters IV, path length extrapolation.

    Args:
        arm: the controller's model of the arm.
        motion: the reference motion.
        every: samples from one full evaluation to the next.
        order: of the polynomial through the last order + 1 evaluations, 0 to 3.
        bandwidth: of the feedback, rad/s; None: no feedback.
        inertias: factors of its gains (n,), kg m^2 (kg); None: M_jj in mid-range.
    """

    name = "path length"

    def __init__(
        self,
        arm: Arm,
        motion: Motion,
        *,
        every: int = 20,
        order: int = 1,
        bandwidth: float | None = BANDWIDTH,
        inertias: ArrayLike | None = None,
    ) -> None:
        self._every = check_whole(every, "path length, every", 1)
        self._order = check_whole(order, "path length, order", 0, 3)
        self._switches = Switches(arm, check_motion(arm, motion))
        self._feedback, self._kernel = feedback(arm, bandwidth, inertias), kernel_of(arm)
        self._wanted = Wanted(Directions.of(arm))
        self._full = self._kernel.counts["inverse_dynamics"].operations
        self.reset()

    @property
    def operations(self) -> float:
        """Mean operations per sample since the start of the motion."""
        return self._spent.average

    def reset(self) -> None:
        """Discard the path."""
        self._spent = Spending()
        self._s, self._last, self._since = 0.0, np.empty(0), 0
        self._switches.reset()
        self._knots: list[tuple[float, Floats]] = []

    def command(self, sample: Sample) -> Floats:
        """Torques from a full evaluation when due, otherwise by extrapolation."""
        state = self._wanted.of(sample)
        q, n = state[0], len(state[0])
        if self._last.size:
            self._s += float(np.sqrt(np.sum((q - self._last) ** 2)))
        self._last = q
        if self._switches.passed(sample.t, state[1]):
            self._knots = []
        self._since += 1
        spent = 3 * n + self._feedback.operations
        if self._is_due():
            self._solve(state)
            spent += self._full + self._order * (self._order + 1) // 2 * (2 * n + 1)
        else:
            spent += (len(self._knots) - 1) * (2 * n + 1)
        self._spent.note(spent)
        return self._feedback.added(extrapolated(self._knots, self._s), sample)

    def _is_due(self) -> bool:
        if not self._knots:
            return True
        has_moved = self._s - self._knots[-1][0] > STANDING
        return has_moved and (len(self._knots) <= self._order or self._since >= self._every)

    def _solve(self, state: States) -> None:
        force = self._kernel.inverse_dynamics(*state)
        self._knots = [*self._knots, (self._s, force)][-1 - self._order :]
        self._since = 0


def extrapolated(knots: list[tuple[float, Floats]], s: float) -> Floats:
    """The polynomial through torques at path lengths (s_k, F_k), all different, at s: divided differences
    from the last point backwards.
    """
    ways = [way for way, _ in reversed(knots)]
    row = [force for _, force in reversed(knots)]
    value, product = row[0].copy(), 1.0
    for k in range(1, len(ways)):
        row = [(row[j + 1] - row[j]) / (ways[j + k] - ways[j]) for j in range(len(row) - 1)]
        product *= s - ways[k - 1]
        value = value + product * row[0]
    return value
