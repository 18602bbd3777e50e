"""The reference functions: any formulation by name, one state or a batch, drives included. Clear and exact
rather than fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.drives.joint import depends_on_load, driven, drives_of, needs_reactions, rotor_inertia
from forearm.dynamics import energy
from forearm.dynamics.forward import articulated_body, conjugate_gradient, singular
from forearm.dynamics.gibbs_appell import gibbs_appell, inertia_gibbs_appell
from forearm.dynamics.hollerbach import hollerbach_3x3, hollerbach_4x4
from forearm.dynamics.inertia import inertia_composite_body, inertia_unit_acceleration
from forearm.dynamics.kane import inertia_orthogonal_complement, kane
from forearm.dynamics.lagrange import STAGES, by_stage
from forearm.dynamics.load_friction import Solution, reactions_of, solve_loaded
from forearm.dynamics.modified_newton_euler import modified_newton_euler
from forearm.dynamics.newton_euler import newton_euler
from forearm.dynamics.regressor import PARAMETERS, parameters_of
from forearm.dynamics.regressor import regressor as regressor_of
from forearm.dynamics.silver import lagrange_silver
from forearm.dynamics.states import each_state, joint_states
from forearm.errors import InputError, ModelError
from forearm.kinematics.arguments import as_coordinates, one_state
from forearm.model import AT_REST, Base, Model, Wrench, model_of
from forearm.spatial import Floats
from forearm.symbols.linear import solve_symmetric
from forearm.values import as_shape, check_choice, chosen

INVERSE: dict[str, Callable[..., list[Any]]] = {
    **{name: by_stage(name) for name in STAGES},
    "lagrange-hollerbach-4x4": hollerbach_4x4,
    "lagrange-hollerbach": hollerbach_3x3,
    "lagrange-silver": lagrange_silver,
    "newton-euler": newton_euler,
    "modified-newton-euler": modified_newton_euler,
    "gibbs-appell": gibbs_appell,
    "kane": kane,
}
INERTIA: dict[str, Callable[..., Any]] = {
    "unit-acceleration": inertia_unit_acceleration,
    "composite-body": inertia_composite_body,
    "gibbs-appell": inertia_gibbs_appell,
    "orthogonal-complement": inertia_orthogonal_complement,
}
STALLED = 1e-6  # of the torque: a larger residual is not a solution
FORWARD = (*INERTIA, "conjugate-gradient", "articulated-body")


def formulations() -> dict[str, list[str]]:
    """The names accepted by `inverse`, `inertia_matrix` and `forward`."""
    return {"inverse": list(INVERSE), "inertia_matrix": list(INERTIA), "forward": list(FORWARD)}


def inverse(
    arm: Arm,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    formulation: str = "newton-euler",
    hand_force: ArrayLike | None = None,
    hand_moment: ArrayLike | None = None,
    base_motion: Sequence[ArrayLike] | None = None,
) -> Floats:
    """Inverse dynamics: the torques (forces) for a motion, (n,) or (B, n), as motor torque times gear ratio.

    Args:
        arm: the arm.
        q, qd, qdd: joint coordinates, velocities and accelerations, (n,) or (B, n).
        formulation: one of `formulations()["inverse"]`.
        hand_force, hand_moment: external force and moment on the hand (3,), hand axes, at its origin, N and N
            m; None: 0.
        base_motion: (angular velocity, angular acceleration, linear acceleration) of the base, (3,) each,
            base axes, gravity not included; None: at rest.
    """
    method = chosen(INVERSE, formulation, "formulation")
    base, hand = as_base(base_motion), as_wrench(hand_force, hand_moment)
    model, drives, rotor = model_of(arm), drives_of(arm), rotor_inertia(arm)
    asks = needs_reactions(arm)

    def one(q: Floats, qd: Floats, qdd: Floats) -> Any:
        joints = joint_states(model, q, qd, qdd)
        torques = method(model, *joints, base, hand) if model.bodies else []
        reactions = reactions_of(model, *joints, base, hand)[1] if asks else None
        return np.array(model.gathered(driven(drives, torques, reactions, joints[1]))) + rotor * qdd

    return each_state(arm, one, (arm.n,), q=q, qd=qd, qdd=qdd)


def inertia_matrix(arm: Arm, q: ArrayLike, method: str = "composite-body") -> Floats:
    """The inertia matrix M(q), with the rotors' N^2 J on its diagonal: (n, n) or (B, n, n).

    Args:
        arm: the arm.
        q: joint coordinates, (n,) or (B, n).
        method: one of `formulations()["inertia_matrix"]`.
    """
    compute = chosen(INERTIA, method, "method")
    model, rotor = model_of(arm), rotor_inertia(arm)

    def one(q: Floats) -> Any:
        return model.gathered_matrix(compute(model, model.coordinates(q.tolist()))) + np.diag(rotor)

    return each_state(arm, one, (arm.n, arm.n), q=q)


def forward(
    arm: Arm,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    method: str = "articulated-body",
    hand_force: ArrayLike | None = None,
    hand_moment: ArrayLike | None = None,
    base_motion: Sequence[ArrayLike] | None = None,
) -> Floats:
    """Forward dynamics: the accelerations due to torques, (n,) or (B, n).

    Articulated bodies do not support mimicking joints: an arm with such joints is solved by composite bodies
    instead.

    Args:
        arm: the arm.
        q, qd: joint coordinates and velocities, (n,) or (B, n).
        tau: motor torques times gear ratio, (n,) or (B, n), N m (N).
        method: one of `formulations()["forward"]`.
        hand_force, hand_moment, base_motion: as in `inverse`.
    """
    check_choice(method, FORWARD, "forward, method")
    base, hand = as_base(base_motion), as_wrench(hand_force, hand_moment)
    model, drives, rotor = model_of(arm), drives_of(arm), rotor_inertia(arm)
    loaded = depends_on_load(arm)
    known = not any(
        np.isnan(v).any() for given in (base, hand) if given is not None for v in vars(given).values()
    )
    if method == "articulated-body" and model.has_followers:
        method = "composite-body"

    def accelerations(q: Floats, qd: Floats, tau: Floats) -> Floats:
        joints = joint_states(model, q, qd, np.zeros(model.n))
        if loaded:
            return solve_loaded(arm, q, qd, tau, base, hand).qdd
        right = tau - np.array(model.gathered(driven(drives, [0.0] * len(model.bodies), None, joints[1])))
        if method == "articulated-body":
            return np.array(
                articulated_body(model, joints[0], joints[1], right, rotor, base, hand), dtype=np.float64
            )
        bias = np.array(model.gathered(newton_euler(model, *joints, base, hand)))
        if method == "conjugate-gradient":
            return _conjugate_gradient(model, joints[0], right - bias, rotor)
        M = model.gathered_matrix(INERTIA[method](model, joints[0])) + np.diag(rotor)
        return np.asarray(solve_symmetric(M, right - bias), dtype=np.float64)

    def one(q: Floats, qd: Floats, tau: Floats) -> Floats:
        with np.errstate(all="ignore"):
            qdd = accelerations(q, qd, tau)
        if not np.isfinite(qdd).all() and known:
            raise singular(arm, q)
        return qdd

    return each_state(arm, one, (arm.n,), q=q, qd=qd, tau=tau)


def forward_report(
    arm: Arm,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    hand_force: ArrayLike | None = None,
    hand_moment: ArrayLike | None = None,
    base_motion: Sequence[ArrayLike] | None = None,
) -> Solution:
    """`forward` for one state, with solver details: iterations and residual.

    Args:
        arm: the arm.
        q, qd: joint coordinates and velocities (n,).
        tau: motor torques times gear ratio (n,), N m (N).
        hand_force, hand_moment, base_motion: as in `inverse`.
    """
    q, qd, tau = one_state(arm, "forward_report", q=q, qd=qd, tau=tau)
    base, hand = as_base(base_motion), as_wrench(hand_force, hand_moment)
    return solve_loaded(arm, q, qd, tau, base, hand)


def bias(arm: Arm, q: ArrayLike, qd: ArrayLike) -> Floats:
    """Inverse dynamics at zero acceleration: velocity torques, gravity and friction. Swartz (14).

    Args:
        arm: the arm.
        q, qd: joint coordinates and velocities, (n,) or (B, n).
    """
    return inverse(arm, q, qd, np.zeros_like(as_coordinates(arm, q)))


def gravity(arm: Arm, q: ArrayLike) -> Floats:
    """The torques that hold the arm still against gravity, (n,) or (B, n).

    Args:
        arm: the arm.
        q: joint coordinates, (n,) or (B, n).
    """
    rest = np.zeros_like(as_coordinates(arm, q))
    return inverse(arm, q, rest, rest)


def coriolis_matrix(arm: Arm, q: ArrayLike, qd: ArrayLike) -> Floats:
    """The Coriolis matrix C(q, qd) of the rigid arm, with C qd the velocity torques and dM/dt - 2 C
    skew-symmetric: (n, n) or (B, n, n).

    Args:
        arm: the arm.
        q, qd: joint coordinates and velocities, (n,) or (B, n).
    """
    model = model_of(arm)

    def one(q: Floats, qd: Floats) -> Any:
        joints = joint_states(model, q, qd, np.zeros(model.n))
        return model.gathered_matrix(energy.coriolis(model, *joints[:2]))

    return each_state(arm, one, (arm.n, arm.n), q=q, qd=qd)


def kinetic_energy(arm: Arm, q: ArrayLike, qd: ArrayLike) -> Floats:
    """The kinetic energy in J, including the spin of rotors about their own axes: () or (B,).

    Args:
        arm: the arm.
        q, qd: joint coordinates and velocities, (n,) or (B, n).
    """
    model, rotor = model_of(arm), rotor_inertia(arm)

    def one(q: Floats, qd: Floats) -> Any:
        joints = joint_states(model, q, qd, np.zeros(model.n))
        return energy.kinetic(model, *joints[:2]) + 0.5 * float(rotor @ qd**2)

    return each_state(arm, one, (), q=q, qd=qd)


def potential_energy(arm: Arm, q: ArrayLike) -> Floats:
    """The potential energy of the moving links in J, zero if their centres of mass are level with the base's
    origin: () or (B,).

    Args:
        arm: the arm.
        q: joint coordinates, (n,) or (B, n).
    """
    model = model_of(arm)
    return each_state(arm, lambda q: energy.potential(model, model.coordinates(q.tolist())), (), q=q)


def regressor(arm: Arm, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Floats:
    """The regressor Y, with Y @ inertial_parameters(arm) the torques of the rigid arm: (n, 10 N) or (B, n, 10
    N) for N moving bodies.

    Args:
        arm: the arm.
        q, qd, qdd: joint coordinates, velocities and accelerations, (n,) or (B, n).
    """
    model = model_of(arm)

    def one(q: Floats, qd: Floats, qdd: Floats) -> Any:
        if not model.bodies:
            return np.zeros((0, 0))
        Y = regressor_of(model, *joint_states(model, q, qd, qdd))
        return model.gathered(list(Y)) if model.has_followers else Y

    return each_state(arm, one, (arm.n, 10 * len(model.bodies)), q=q, qd=qd, qdd=qdd)


def inertial_parameters(arm: Arm) -> Floats:
    """Ten inertial parameters per moving body, with links on fixed joints merged, about the origin of its
    link's frame: (10 N,).

    In the order of `parameter_names`: m, the first moments m c, and the inertia about the origin.
    """
    return np.asarray(parameters_of(model_of(arm)), dtype=np.float64)


def parameter_names(arm: Arm) -> list[str]:
    """The names of `inertial_parameters`, such as "link2.Ixx"."""
    return [f"{body.joint.child}.{name}" for body in arm.moving.bodies for name in PARAMETERS]


def as_base(given: Sequence[ArrayLike] | None) -> Base:
    """The base motion from the arguments of a caller."""
    if given is None:
        return AT_REST
    if not isinstance(given, Sequence | np.ndarray) or len(given) != 3:
        raise InputError(
            "expected three vectors: angular velocity, angular acceleration, linear acceleration.",
            "base_motion",
        )
    return Base(*(_vector(v, f"base_motion[{i}]") for i, v in enumerate(given)))


def as_wrench(force: ArrayLike | None, moment: ArrayLike | None) -> Wrench | None:
    """The load on the hand from the arguments of a caller; None without a load."""
    if force is None and moment is None:
        return None
    given = {"hand_force": force, "hand_moment": moment}
    return Wrench(*(_vector(np.zeros(3) if v is None else v, what) for what, v in given.items()))


def _vector(value: ArrayLike, what: str) -> Floats:
    vector = as_shape(value, (3,), what)
    vector[np.isinf(vector)] = np.nan
    return vector


def _conjugate_gradient(model: Model, q: list[float], right: Floats, rotor: Floats) -> Floats:
    def product(p: Floats) -> Floats:
        return np.array(model.gathered(newton_euler(still, q, rest, model.rates(p.tolist())))) + rotor * p

    still, rest = energy.without_gravity(model), [0.0] * len(model.bodies)
    qdd = np.asarray(conjugate_gradient(product, right), dtype=np.float64)
    if np.linalg.norm(product(qdd) - right) > STALLED * np.linalg.norm(right):
        raise ModelError(
            f"conjugate-gradient did not converge for {model.name!r}: its inertia matrix is "
            "too ill-conditioned; use articulated-body.",
            "forward",
        )
    return qdd
