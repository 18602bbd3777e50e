"""Joint rates from hand rates: Whitney's Jacobian method, and the finite step that Waters II compares with
it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.kinematics.angles import matrix_of_vector
from forearm.kinematics.arguments import as_coordinates, one_state, states_of
from forearm.kinematics.jacobian import jacobian, jacobian_derivative
from forearm.kinematics.nearby import solve_nearby
from forearm.kinematics.poses import forward
from forearm.spatial import Flags, Floats
from forearm.values import as_floats, as_shape, check_number, frozen

NEAR = 1e-3  # ratio of smallest to largest singular value below which damping begins
MET = 1e-9  # relative error of the hand's rates that counts as met


@frozen
class JointRates:
    """Joint rates or accelerations for given hand rates, and their accuracy; (B, ...) for B states.

    Attributes:
        rates: (n,).
        error: resulting error of the hand's rates, in row order.
        smallest, largest: singular values of J.
        damping: damping factor lambda.
        singular: whether damping was needed.
        met: whether the hand's rates are met to 1e-9.
    """

    rates: Floats
    error: Floats
    smallest: Floats
    largest: Floats
    damping: Floats
    singular: Flags
    met: Flags

    @property
    def message(self) -> str:
        """Summary in one sentence."""
        if np.isnan(self.rates).any():
            return "The input contains NaN, so the result is NaN."
        if self.singular.any():
            return (
                f"Near a singularity (smallest singular value {self.smallest.min():.3g}): damped by "
                f"{self.damping.max():.3g}; the hand misses its rates by {np.abs(self.error).max():.3g}."
            )
        if not self.met.all():
            return (
                "The joints cannot achieve these rates; the hand misses them by at least "
                f"{np.abs(self.error).max():.3g}."
            )
        return "The joints achieve these rates."


def joint_rates(
    arm: Arm, q: ArrayLike, velocity: ArrayLike, angular_velocity: ArrayLike | None = None, near: float = NEAR
) -> JointRates:
    """Joint rates for a given velocity of the hand.

    qd = J^-1 (v; w), Whitney's method; minimum |qd| for redundant arms, minimum error with too few joints. If
    the smallest singular value s is below `near` times the largest S, qd = J^T (J J^T + lambda^2)^-1 (v; w)
    with lambda^2 = (near S)^2 - s^2. Waters II.

    Args:
        arm: the arm.
        q: joint coordinates, (n,) or (B, n).
        velocity: of the hand's origin, (3,) or (B, 3), base axes, m/s.
        angular_velocity: of the hand, (3,) or (B, 3), base axes, rad/s; None: unconstrained.
        near: ratio of smallest to largest singular value below which damping begins.
    """
    coordinates = as_coordinates(arm, q)
    wanted = _wanted(coordinates, ("velocity", velocity), ("angular_velocity", angular_velocity))
    return _solved(jacobian(arm, coordinates)[..., : wanted.shape[-1], :], wanted, near)


def joint_accelerations(
    arm: Arm,
    q: ArrayLike,
    qd: ArrayLike,
    acceleration: ArrayLike,
    angular_acceleration: ArrayLike | None = None,
    near: float = NEAR,
) -> JointRates:
    """Joint accelerations for a given acceleration of the hand: J qdd = (a; wd) - J' qd, solved like
    `joint_rates`.

    Args:
        arm: the arm.
        q, qd: joint coordinates and velocities, (n,) or (B, n).
        acceleration: of the hand's origin, (3,) or (B, 3), base axes, m/s^2.
        angular_acceleration: of the hand, (3,) or (B, 3), base axes, rad/s^2; None: unconstrained.
        near: ratio of smallest to largest singular value below which damping begins.
    """
    coordinates, rates = states_of(arm, q=q, qd=qd)
    wanted = _wanted(
        coordinates, ("acceleration", acceleration), ("angular_acceleration", angular_acceleration)
    )
    rows = wanted.shape[-1]
    turning = np.einsum("...ij,...j->...i", jacobian_derivative(arm, coordinates, rates), rates)
    return _solved(jacobian(arm, coordinates)[..., :rows, :], wanted - turning[..., :rows], near)


@frozen
class FiniteSteps:
    """Joint rates by finite time steps, compared with Whitney's.

    Attributes:
        steps: time steps dt (m,), s.
        whitney: Whitney's rates (n,).
        finite: (Q(S + S' dt) - Q(S)) / dt, (m, n).
        difference: `finite` - `whitney`, (m, n).
        expected: its leading term (m, n), dt/2 times the joint accelerations for constant hand rates.
        order: slope of log difference over log dt, about 1; NaN with one step.
        converged: (m,), steps with a solution; the others are NaN.
    """

    steps: Floats
    whitney: Floats
    finite: Floats
    difference: Floats
    expected: Floats
    order: float
    converged: Flags


def finite_step_rates(
    arm: Arm,
    q: ArrayLike,
    velocity: ArrayLike,
    angular_velocity: ArrayLike | None = None,
    steps: ArrayLike = (1e-2, 5e-3),
) -> FiniteSteps:
    """Waters' approximation: joint displacement for a hand motion over dt, divided by dt.

    Its error decreases linearly with dt. For redundant arms the nearest configuration is used. Waters II.

    Args:
        arm: the arm.
        q: joint coordinates (n,).
        velocity: of the hand's origin (3,), base axes, m/s.
        angular_velocity: of the hand (3,), base axes, rad/s; None: unconstrained.
        steps: dt, one or several (m,), s, of either sign.
    """
    (at,) = one_state(arm, "finite_step_rates", q=q)
    dt = np.atleast_1d(as_floats(steps, "steps"))
    if dt.ndim != 1 or not np.isfinite(dt).all() or (dt == 0.0).any():
        raise InputError(f"expected a nonzero time in s or a list of them, got shape {dt.shape}.", "steps")
    wanted = _wanted(at, ("velocity", velocity), ("angular_velocity", angular_velocity))
    attitude = wanted.size == 6
    poses = np.repeat(forward(arm, at)[None], len(dt), axis=0)
    poses[:, :3, 3] += dt[:, None] * wanted[:3]
    if attitude:
        poses[:, :3, :3] = matrix_of_vector(dt[:, None] * wanted[3:]) @ poses[:, :3, :3]
    found = solve_nearby(arm, poses, np.repeat(at[None], len(dt), axis=0), attitude)
    finite = np.where(found.converged[:, None], (found.q - at) / dt[:, None], np.nan)
    whitney = joint_rates(arm, at, wanted[:3], wanted[3:] if attitude else None).rates
    zero = np.zeros(3)
    going_on = joint_accelerations(arm, at, whitney, zero, zero if attitude else None).rates
    difference = finite - whitney
    order = _slope(dt, np.linalg.norm(difference, axis=-1))
    return FiniteSteps(dt, whitney, finite, difference, 0.5 * dt[:, None] * going_on, order, found.converged)


def _wanted(q: Floats, linear: tuple[str, ArrayLike], angular: tuple[str, ArrayLike | None]) -> Floats:
    """Rates of the hand stacked, (..., 6), or (..., 3) if the rotation is unconstrained."""
    rows = []
    for name, given in (linear, angular):
        if given is not None:
            rate = as_shape(given, (*q.shape[:-1], 3), name)
            rate[np.isinf(rate)] = np.nan
            rows.append(rate)
    return np.concatenate(rows, axis=-1)


def _solved(J: Floats, wanted: Floats, near: float) -> JointRates:
    near = check_number(near, "near", minimum=0.0, maximum=1.0)
    shape, n = J.shape[:-2], J.shape[-1]
    if n == 0:
        none = np.zeros(shape)
        met = np.asarray(~wanted.any(axis=-1))
        return JointRates(np.zeros((*shape, 0)), wanted, none, none, none, np.zeros(shape, dtype=bool), met)
    known = np.asarray(np.isfinite(J).all(axis=(-2, -1)) & np.isfinite(wanted).all(axis=-1))
    J, wanted = np.where(known[..., None, None], J, np.nan), np.where(known[..., None], wanted, np.nan)
    U, s, Vt = np.linalg.svd(np.where(known[..., None, None], J, np.zeros_like(J)), full_matrices=False)
    smallest, largest = np.where(known, s[..., -1], np.nan), np.where(known, s[..., 0], np.nan)
    damping = np.asarray(np.sqrt(np.maximum((near * largest) ** 2 - smallest**2, 0.0)))
    gain = s / np.where(s == 0.0, 1.0, s**2 + damping[..., None] ** 2)
    rates = np.einsum("...kn,...k,...rk,...r->...n", Vt, gain, U, wanted)
    error = wanted - np.einsum("...ij,...j->...i", J, rates)
    met = np.abs(error).max(axis=-1) <= MET * np.abs(wanted).max(axis=-1)
    singular = np.asarray((~(smallest >= near * largest) | (largest == 0.0)) & known)
    return JointRates(rates, error, smallest, largest, damping, singular, np.asarray(met))


def _slope(steps: Floats, errors: Floats) -> float:
    usable = np.isfinite(errors) & (errors > 0.0)
    x, y = np.log(np.abs(steps[usable])), np.log(errors[usable])
    if len(x) < 2 or np.ptp(x) == 0.0:
        return float("nan")
    return float(np.dot(x - x.mean(), y - y.mean()) / np.dot(x - x.mean(), x - x.mean()))
