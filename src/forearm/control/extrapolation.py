"""First-order extrapolation of torques in all 3n parameters (q, qd, qdd), with slopes from derivatives, from
pairs of states, or from arbitrary points.

Waters IV: with six joints the 18 slopes of each torque take 18 pairs of values in which one parameter
differs. He adds that 7 points contain 18 pairs. They contain 21, but the differences of 7 points span only
6 directions: from arbitrary points, 18 slopes need 19 points. `fitted_slopes` reports the number of
directions that are determined.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.control.bookkeeping import Spending, Switches, Wanted, check_motion, feedback, parts
from forearm.control.controller import Pair, Sample
from forearm.control.controllers.forces import Directions
from forearm.control.gains import BANDWIDTH
from forearm.control.reference import Motion
from forearm.errors import InputError
from forearm.kernels import Kernel
from forearm.kernels.compiled import LONGEST_TRACED
from forearm.kernels.kept import kernel_of
from forearm.spatial import Floats
from forearm.values import as_floats, check_choice, check_number, check_whole

KINDS = ("exact", "pairs")
LOST = 1e-10  # of the longest direction: below it directions count as not spanned


def exact_slopes(kernel: Kernel, state: Floats) -> Floats:
    """dF/dx (n, 3n), or (m, n, 3n), from the derivatives of inverse dynamics, at a state (3n,) or states (m,
    3n).
    """
    return np.concatenate(kernel.inverse_dynamics_derivatives(*parts(state)), axis=-1)


def slopes_by_pairs(kernel: Kernel, state: Floats, step: float = 1e-4) -> Pair:
    """F (n,) and dF/dx (n, 3n) from 3n + 1 evaluations: forward differences at the state (3n,) in one
    parameter each.
    """
    h = check_number(step, "slopes_by_pairs, step", above=0.0)
    points = np.vstack([state, state + h * np.eye(len(state))])
    forces = kernel.inverse_dynamics(*parts(points))
    return forces[0], ((forces[1:] - forces[0]) / h).T


@dataclass(frozen=True, eq=False)
class Fitted:
    """Minimum-norm slopes (n, p) that fit the points; `rank` of p directions are determined."""

    slopes: Floats
    rank: int

    @property
    def determined(self) -> bool:
        """Whether the points determine all slopes."""
        return self.rank == int(self.slopes.shape[1])


def fitted_slopes(states: ArrayLike, forces: ArrayLike, cut: float = LOST) -> Fitted:
    """Slopes from arbitrary points: states (m, p), forces (m, n), by least squares on the differences from
    the first.

    Directions in which the points extend less than `cut` of the longest extent count as undetermined. Other
    pairs of points add nothing: their differences are linear combinations of these.
    """
    x, F = as_floats(states, "states"), as_floats(forces, "forces")
    if x.ndim != 2 or F.ndim != 2 or len(x) != len(F) or len(x) < 2:
        raise InputError(
            f"expected states (m, p) and forces (m, n), m at least 2, got {x.shape}, {F.shape}.",
            "fitted_slopes",
        )
    solution, _, rank, _ = np.linalg.lstsq(x[1:] - x[0], F[1:] - F[0], rcond=cut)
    return Fitted(np.ascontiguousarray(solution.T), int(rank))


def points_for_pairs(pairs: int) -> int:
    """The fewest points that contain so many pairs: the smallest m with m (m - 1) / 2 >= pairs."""
    m = 1
    while m * (m - 1) // 2 < pairs:
        m += 1
    return m


def points_for_slopes(parameters: int) -> int:
    """The fewest points in general position that determine so many slopes, found by fitting: one more than
    slopes.
    """
    rng = np.random.default_rng(parameters)
    m = 2
    while not fitted_slopes(rng.standard_normal((m, parameters)), np.zeros((m, 1))).determined:
        m += 1
    return m


def elimination_operations(size: int, sides: int) -> int:
    """Multiplications and additions of Gaussian elimination with `sides` right-hand sides; divisions are not
    counted.
    """
    squares = (size - 1) * size * (2 * size - 1) // 6
    return 2 * (squares + sides * size * (size - 1))


class FirstOrder:
    """F = F0 + (dF/dx) (x - x0) in x = (q, qd, qdd) of the reference motion, with x0 of the last full
    evaluation.

    A full evaluation computes torques and slopes. It is repeated after a switch of acceleration, across which
    the change of inertia with q would cause a first-order error, and after a velocity reversal of a joint
    with dry friction. Otherwise the error grows with the square of the distance.

    Args:
        arm: the controller's model of the arm.
        motion: the reference motion.
        every: samples from one full evaluation to the next.
        slopes: "exact", or "pairs", 3n of them; None: exact up to ten joints.
        step: difference between the two states of a pair, rad or m, rad/s or m/s, rad/s^2 or m/s^2.
        bandwidth: of the feedback, rad/s; None: no feedback.
        inertias: factors of its gains (n,), kg m^2 (kg); None: M_jj in mid-range.
    """

    name = "first order"

    def __init__(
        self,
        arm: Arm,
        motion: Motion,
        *,
        every: int = 20,
        slopes: str | None = None,
        step: float = 1e-4,
        bandwidth: float | None = BANDWIDTH,
        inertias: ArrayLike | None = None,
    ) -> None:
        slopes = ("pairs" if arm.n > LONGEST_TRACED else "exact") if slopes is None else slopes
        self._switches = Switches(arm, check_motion(arm, motion))
        self._slopes = check_choice(slopes, KINDS, "slopes")
        self._step = check_number(step, "first order, step", above=0.0)
        self._every = check_whole(every, "first order, every", 1)
        self._feedback, self._kernel = feedback(arm, bandwidth, inertias), kernel_of(arm)
        self._wanted = Wanted(Directions.of(arm))
        one = self._kernel.counts["inverse_dynamics"].operations
        p = 3 * arm.n
        self._full = (
            one + self._kernel.counts["inverse_dynamics_derivatives"].operations
            if slopes == "exact"
            else one * (p + 1) + p * (1 + 2 * arm.n)
        )
        self._carrying = p + 2 * p * arm.n
        self.reset()

    @property
    def operations(self) -> float:
        """Mean operations per sample since the start of the motion."""
        return self._spent.average

    def reset(self) -> None:
        """Discard the last evaluation."""
        self._spent, self._since = Spending(), self._every
        self._switches.reset()

    def command(self, sample: Sample) -> Floats:
        """Torques from a full evaluation when due, otherwise by extrapolation."""
        rows = self._wanted.of(sample)
        state = np.concatenate(rows)
        is_due = self._switches.passed(sample.t, rows[1]) or self._since >= self._every
        if is_due:
            self._x0, self._since = state, 0
            if self._slopes == "exact":
                self._F0, self._S = (
                    self._kernel.inverse_dynamics(*parts(state)),
                    exact_slopes(self._kernel, state),
                )
            else:
                self._F0, self._S = slopes_by_pairs(self._kernel, state, self._step)
        self._since += 1
        self._spent.note((self._full if is_due else self._carrying) + self._feedback.operations)
        return self._feedback.added(self._F0 + self._S @ (state - self._x0), sample)
