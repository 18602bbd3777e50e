"""Forces carried on along the path: the equations solved now and then, polynomials of path
length between. Waters IV.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.control.bookkeeping import Spending, Switches, Wanted, check_motion, feedback
from forearm.control.controller import Sample
from forearm.control.controllers.forces import Directions
from forearm.control.gains import BANDWIDTH
from forearm.control.reference import Motion
from forearm.kernels.kept import kernel_of
from forearm.values import check_whole

Floats = NDArray[np.float64]
STANDING = 1e-12  # rad or m: paths this short are no way


class PathLength:
    """Forces as a polynomial of the way s along the wanted motion, ds = |dq|,
    through the last full evaluations.

    It never reaches over a switch of accelerations, which the motion tells of as `switches`, nor over the
    reversal of a joint with dry friction: there it begins anew, with order + 1 evaluations one sample after
    another. Waters IV, path length extrapolation.

    Args:
        arm: the arm that the controller believes in.
        motion: the wanted motion.
        every: samples from one full evaluation to the next.
        order: of the polynomial through the last order + 1 evaluations, 0 to 3.
        bandwidth: of the feedback, rad/s; None: none.
        inertias: what its gains are multiplied by (n,), kg m^2 (kg); None: M_jj in mid-range.
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
        """On average since the motion began."""
        return self._spent.average

    def reset(self) -> None:
        """Forget the path."""
        self._spent = Spending()
        self._s, self._last, self._since = 0.0, np.empty(0), 0
        self._switches.reset()
        self._knots: list[tuple[float, Floats]] = []

    def command(self, sample: Sample) -> Floats:
        """Solved where it is time to, carried on otherwise."""
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

    def _solve(self, state: tuple[Floats, Floats, Floats]) -> None:
        force = self._kernel.inverse_dynamics(*state)
        self._knots = [*self._knots, (self._s, force)][-1 - self._order :]
        self._since = 0


def extrapolated(knots: list[tuple[float, Floats]], s: float) -> Floats:
    """The polynomial through forces at ways (s_k, F_k), all different, at s:
    divided differences from the last one back.
    """
    ways = [way for way, _ in reversed(knots)]
    row = [force for _, force in reversed(knots)]
    value, product = row[0].copy(), 1.0
    for k in range(1, len(ways)):
        row = [(row[j + 1] - row[j]) / (ways[j + k] - ways[j]) for j in range(len(row) - 1)]
        product *= s - ways[k - 1]
        value = value + product * row[0]
    return value
