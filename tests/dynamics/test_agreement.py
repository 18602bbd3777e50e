"""Thirteen inverse formulations, four inertia matrices and six forward methods give one
answer, on every kind of arm.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from arms import OFFSETS, SEVEN_POINTS, random_arm
from dynamics.cases import (
    AGREEMENT,
    FORWARD,
    INERTIA,
    INVERSE,
    LONGEST,
    SERIAL_ONLY,
    Array,
    Load,
    State,
    assert_agree,
    random_load,
    random_state,
    rigid_arms,
    simple_drives,
    situations,
    with_kinds,
)

import forearm as fa
from forearm import Arm, Hand, InputError, Link, ModelError, dynamics
from forearm.dynamics.gibbs_appell import gibbs_appell_sum, gibbs_function, inertia_sum
from forearm.dynamics.lagrange import chain_of, kept_derivatives, trace_of_product
from forearm.dynamics.silver import angular_velocity, rotation_rate
from forearm.model import model_of
from forearm.spatial import inertia_from_pseudo, pose, pseudo_from_inertia, rotation_rpy

# seven-point differences of M: truncation near 1e-13, rounding 1e-16 / 2e-3, entries of 1e3 cancel
DIFFERENCE = 1e-8
SIZES = (1, 2, 6, 12)
# itself held against energies, MuJoCo, Pinocchio and printed numbers in the files beside this one
TRUTH = "newton-euler"
OTHERS = [name for name in INVERSE if name != TRUTH]


def special_arms() -> dict[str, Arm]:
    """Sliding joints first, last and alone; the hand in the middle and on the base; a link
    without mass; no gravity.
    """
    arm = random_arm(41, 5, "frames").rigid()
    chain = random_arm(42, 4, "standard", prismatic=False, fixed=False).rigid()
    middle = chain.links[2]
    kinds = {
        kinds: with_kinds(random_arm(43 + i, len(kinds), "frames"), kinds)
        for i, kinds in enumerate(("R", "P", "PRRR", "RRRP", "PRPRP", "PPP", "RRRR"))
    }
    tool = pose(rotation_rpy((0.3, -0.5, 0.9)), (0.1, -0.2, 0.3))
    return kinds | {
        "hand in the middle": chain.replace(hand=Hand(link=middle.name, pose=tool)),
        "hand on the base": chain.replace(hand=Hand(link=chain.base_link, pose=tool)),
        "a link without mass": chain.with_link(Link(name=middle.name)),
        "a point mass": chain.with_link(Link(name=middle.name, mass=middle.mass, com=middle.com)),
        "inertia without mass": chain.with_link(Link(name=middle.name, inertia=middle.inertia)),
        "no gravity": arm.replace(gravity=(0.0, 0.0, 0.0)),
        "payload": arm.with_payload(2.3, (0.1, -0.2, 0.15), np.diag([0.02, 0.03, 0.04])),
        "locked": arm.lock({"joint2": 0.1}),
    }


BUILT_IN = {name: fa.load(name).rigid() for name in fa.arms() if not name.startswith("chain")}
ARMS: dict[str, Arm] = {f"n{n}, {kind}": arm for n in SIZES for kind, arm in rigid_arms(n).items()}
SPECIAL = special_arms() | BUILT_IN | {"chain7": fa.load("chain7")}
LONG = {name: fa.load(name) for name in ("chain50", "chain100")}


def quick(arms: dict[str, Arm]) -> list[Any]:
    """Every formulation with every arm, but for the long ones on the formulations that
    would take long on them.
    """
    return [
        pytest.param(arm, formulation, id=f"{formulation}-{name}")
        for formulation in OTHERS
        for name, arm in arms.items()
        if arm.n <= LONGEST.get(formulation, arm.n)
    ]


@cache
def truths(arm: Arm) -> list[tuple[State, Load, Array]]:
    """The torques of every situation, which every formulation is held against."""
    return [(state, load, dynamics.inverse(arm, *state, TRUTH, *load)) for state, load in situations(arm)]


@pytest.mark.parametrize(("arm", "formulation"), quick(ARMS))
@pytest.mark.sweep(2)
def test_inverse_agrees_or_says_serial_chains(arm: Arm, formulation: str) -> None:
    if formulation in SERIAL_ONLY and not arm.is_serial:
        state = random_state(arm, 1)
        with pytest.raises(
            ModelError, match=f"^{formulation} is a method for serial chains, and '{arm.name}' is a tree or"
        ):
            dynamics.inverse(arm, *state, formulation)
        return
    for state, load, truth in truths(arm):
        assert_agree(dynamics.inverse(arm, *state, formulation, *load), truth)


def test_the_arms_are_what_they_are_called() -> None:
    for name, arm in ARMS.items():
        assert arm.n == int(name.split(",")[0][1:])
        follows = any(j.mimic for j in arm.tree)
        branches = any(b.parent != i - 1 for i, b in enumerate(arm.moving.bodies))
        assert follows == ("followers" in name)
        assert branches or "tree" not in name or (arm.n == 1 and not follows)
        assert arm.is_serial == (not follows and not branches)


@pytest.mark.parametrize(("arm", "formulation"), quick(SPECIAL))
@pytest.mark.sweep(2)
def test_inverse_agrees_on_special_and_built_in_arms(arm: Arm, formulation: str) -> None:
    for state, load, truth in truths(arm):
        assert_agree(dynamics.inverse(arm, *state, formulation, *load), truth)


@pytest.mark.parametrize("arm", LONG.values(), ids=LONG.keys())
@pytest.mark.parametrize("formulation", [name for name in OTHERS if name not in LONGEST])
def test_inverse_agrees_on_long_chains(arm: Arm, formulation: str) -> None:
    state, load = random_state(arm, 1), random_load(1)
    assert_agree(
        dynamics.inverse(arm, *state, formulation, *load), dynamics.inverse(arm, *state, TRUTH, *load)
    )


MATRIX_ARMS = ARMS | SPECIAL | LONG


@pytest.mark.sweep(first=16)
@pytest.mark.slow
@pytest.mark.parametrize("arm", MATRIX_ARMS.values(), ids=MATRIX_ARMS.keys())
def test_inertia_matrices_agree_and_are_symmetric_positive_definite(arm: Arm) -> None:
    for seed in range(3 if arm.n < 50 else 1):
        q = random_state(arm, seed).q
        truth = dynamics.inertia_matrix(arm, q, INERTIA[0])
        for method in INERTIA[1:]:
            assert_agree(dynamics.inertia_matrix(arm, q, method), truth)
        assert_agree(truth.T, truth)
        assert np.linalg.eigvalsh(0.5 * (truth + truth.T))[0] > 0.0
        assert_agree(truth, inertia_by_unit_torques(arm, q))


def inertia_by_unit_torques(arm: Arm, q: Array) -> Array:
    """Column j is tau(e_j) - tau(0), by an inverse formulation that no inertia method uses."""
    rest = np.zeros(arm.n)
    hold = dynamics.inverse(arm, q, rest, rest, "lagrange-hollerbach")
    columns = [dynamics.inverse(arm, q, rest, unit, "lagrange-hollerbach") - hold for unit in np.eye(arm.n)]
    return np.array(columns).T


FORWARD_ARMS = ARMS | SPECIAL


class Driven(NamedTuple):
    """Torques and the accelerations that they must give, and the condition number of M."""

    state: State
    load: Load
    tau: Array
    condition: float


def driven(arm: Arm, state: State, load: Load) -> Driven:
    """Torques by Kane's equations, which no forward method uses, for accelerations that are
    generic where 0.
    """
    q, qd, qdd = state
    qdd = qdd if qdd.any() else random_state(arm, 9).qdd
    tau = dynamics.inverse(arm, q, qd, qdd, "kane", *load)
    condition = float(np.linalg.cond(dynamics.inertia_matrix(arm, q)))
    return Driven(State(q, qd, qdd), load, tau, condition)


@cache
def every_driven(arm: Arm) -> list[Driven]:
    """In every situation, which every method is held against; in every third of a large arm."""
    return [driven(arm, *given) for given in list(situations(arm))[:: 3 if arm.n > 6 else 1]]


@pytest.mark.parametrize("arm", FORWARD_ARMS.values(), ids=FORWARD_ARMS.keys())
@pytest.mark.parametrize("method", FORWARD)
@pytest.mark.sweep
def test_forward_inverts_inverse(arm: Arm, method: str) -> None:
    for given in every_driven(arm):
        assert_forward_inverts_inverse(arm, method, given)


@pytest.mark.slow
@pytest.mark.parametrize("arm", LONG.values(), ids=LONG.keys())
@pytest.mark.parametrize("method", FORWARD)
@pytest.mark.sweep
def test_forward_inverts_inverse_on_long_chains(arm: Arm, method: str) -> None:
    assert_forward_inverts_inverse(arm, method, long_driven(arm))


@cache
def long_driven(arm: Arm) -> Driven:
    return driven(arm, random_state(arm, 1), random_load(1))


def assert_forward_inverts_inverse(arm: Arm, method: str, given: Driven) -> None:
    """The accelerations come back."""
    q, qd, qdd = given.state
    found = dynamics.forward(arm, q, qd, given.tau, method, *given.load)
    assert_agree(found, qdd, AGREEMENT * given.condition)


@pytest.mark.parametrize("method", FORWARD)
def test_forward_holds_when_the_matrix_is_nearly_singular(method: str) -> None:
    """Links from kilograms to micrograms, cond(M) near 1e10:
    the structure of M keeps the answer far better than that.
    """
    arm = random_arm(51, 6, "frames", prismatic=False, fixed=False).rigid()
    for k, link in enumerate(arm.links[1:]):
        small = 10.0 ** (-2.0 * k)
        arm = arm.with_link(
            Link(name=link.name, mass=small * link.mass, com=link.com, inertia=small * link.inertia)
        )
    q, qd, qdd = random_state(arm, 2)
    assert np.linalg.cond(dynamics.inertia_matrix(arm, q)) > 1e9
    assert_agree(dynamics.forward(arm, q, qd, dynamics.inverse(arm, q, qd, qdd, "kane"), method), qdd)


@pytest.mark.parametrize("method", FORWARD)
@pytest.mark.parametrize("style", ["standard", "frames"])
def test_forward_inverts_inverse_with_drives(style: str, method: str) -> None:
    arm = simple_drives(random_arm(61, 6, style, tree=style == "frames"))  # type: ignore[arg-type]
    assert any(j.motor for j in arm.tree)
    assert any(j.friction for j in arm.tree)
    for given in every_driven(arm):
        assert_forward_inverts_inverse(arm, method, given)


C_ARMS = {name: arm for name, arm in (ARMS | SPECIAL).items() if arm.n <= 7}


@pytest.mark.slow
@pytest.mark.parametrize("arm", C_ARMS.values(), ids=C_ARMS.keys())
def test_coriolis_matrix(arm: Arm) -> None:
    """C qd are the velocity torques, dM/dt - 2 C is skew, and C is made of the Christoffel symbols of M."""
    q, qd, _ = random_state(arm, 4)
    C = dynamics.coriolis_matrix(arm, q, qd)
    velocity = dynamics.bias(arm, q, qd) - dynamics.gravity(arm, q)
    size = max(float(np.abs(C).max() * np.abs(qd).max()), float(np.abs(dynamics.gravity(arm, q)).max()))
    np.testing.assert_allclose(C @ qd, velocity, rtol=0, atol=AGREEMENT * size)

    M = dynamics.inertia_matrix(arm, q)
    along = np.einsum("t,tij->ij", SEVEN_POINTS, dynamics.inertia_matrix(arm, q + OFFSETS[:, None] * qd))
    skew = along - 2.0 * C
    np.testing.assert_allclose(skew, -skew.T, rtol=0, atol=DIFFERENCE * np.abs(M).max())

    dM = np.array(
        [
            np.einsum("t,tij->ij", SEVEN_POINTS, dynamics.inertia_matrix(arm, q + OFFSETS[:, None] * e))
            for e in np.eye(arm.n)
        ]
    )
    christoffel = 0.5 * (dM.transpose(1, 2, 0) + dM.transpose(1, 0, 2) - dM)  # [i, j, k], dM is [k, i, j]
    np.testing.assert_allclose(
        C, christoffel @ qd, rtol=0, atol=DIFFERENCE * np.abs(M).max() * np.abs(qd).max()
    )


def test_coriolis_matrix_is_that_of_the_rigid_arm() -> None:
    arm = simple_drives(random_arm(62, 4))
    q, qd, _ = random_state(arm, 4)
    assert np.array_equal(dynamics.coriolis_matrix(arm, q, qd), dynamics.coriolis_matrix(arm.rigid(), q, qd))


NO_FOLLOWERS = {
    n: arm for n, arm in (ARMS | SPECIAL).items() if arm.n <= 6 and not any(j.mimic for j in arm.tree)
}


@pytest.mark.slow
@pytest.mark.parametrize("arm", NO_FOLLOWERS.values(), ids=NO_FOLLOWERS.keys())
def test_gibbs_function_has_torque_as_gradient_and_inertia_as_hessian(arm: Arm) -> None:
    """G is quadratic in qdd, so that central differences with steps of 1 are exact to
    rounding. Mata (2)-(4).
    """
    model, base = model_of(arm), dynamics.reference.as_base(random_load(2).base_motion)
    state = random_state(arm, 5)
    q, qd, qdd = ([float(v) for v in values] for values in state)

    def G(change: Array) -> float:
        return float(gibbs_function(model, q, qd, list(np.array(qdd) + change), base))

    unit = np.eye(arm.n)
    gradient = [0.5 * (G(e) - G(-e)) for e in unit]
    tau = dynamics.inverse(arm, *state, TRUTH, None, None, random_load(2).base_motion)
    M = dynamics.inertia_matrix(arm, state.q)
    # G itself is large against the smallest torques: its rounding is that of G.
    rounding = 1e-14 * abs(G(np.zeros(arm.n)))
    np.testing.assert_allclose(gradient, tau, rtol=0, atol=AGREEMENT * np.abs(tau).max() + rounding)
    hessian = [[0.25 * (G(a + b) - G(a - b) - G(b - a) + G(-a - b)) for b in unit] for a in unit]
    np.testing.assert_allclose(hessian, M, rtol=0, atol=AGREEMENT * np.abs(M).max() + rounding)

    assert_agree(gibbs_appell_sum(model, q, qd, qdd, base), tau)
    assert_agree(inertia_sum(model, q), M)


def test_silver_angular_velocity_and_rotation_rate_are_inverse() -> None:
    """2.5 and 2.6, and both against a rotation turned by differences."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        w, angles, rates = rng.normal(size=(3, 3))
        W = rotation_rpy(angles)
        np.testing.assert_allclose(angular_velocity(W, rotation_rate(w, W)), w, rtol=0, atol=1e-15 * 10)
        Wd = np.einsum(
            "t,tij->ij", SEVEN_POINTS, np.array([rotation_rpy(angles + t * rates) for t in OFFSETS])
        )
        np.testing.assert_allclose(rotation_rate(angular_velocity(W, Wd), W), Wd, rtol=0, atol=1e-11)
        v = rng.normal(size=3)
        np.testing.assert_allclose(rotation_rate(w, W) @ v, np.cross(w, W @ v), rtol=0, atol=1e-14)
        assert np.array_equal(rotation_rate(w.tolist(), W.tolist()), rotation_rate(w, W))
    with pytest.raises(InputError, match=r"Wd: expected shape \(3, 3\), got \(4, 4\)"):
        angular_velocity(np.eye(4), np.eye(4))


def test_silver_inertia_and_pseudo_inertia_are_inverse() -> None:
    """2.11, and both against the sums over points that define them."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        masses, points = rng.uniform(0.1, 1.0, 9), rng.normal(size=(9, 3))
        J = np.einsum("k,ki,kj->ij", masses, points, points)
        inertia = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points, strict=True))
        np.testing.assert_allclose(pseudo_from_inertia(np.asarray(inertia)), J, rtol=0, atol=1e-14)
        np.testing.assert_allclose(inertia_from_pseudo(J), inertia, rtol=0, atol=1e-14)
        np.testing.assert_allclose(
            inertia_from_pseudo(pseudo_from_inertia(np.asarray(inertia))), inertia, rtol=0, atol=1e-14
        )


@pytest.mark.slow
@pytest.mark.parametrize("kinds", ["RRRRR", "PRRPR", "RPRRP"])
@pytest.mark.parametrize("style", ["standard", "modified", "frames"])
def test_silver_form_in_rotation_matrices(style: str, kinds: str) -> None:
    """tau_j = sum of m (cdd - g) . dc/dq_j + tr(dW/dq_j J Wdd^T), W the links' rotations. Silver 1.2."""
    arm = with_kinds(random_arm(71, 5, style), kinds)  # type: ignore[arg-type]
    state = random_state(arm, 6)
    q, qd, qdd = ([float(v) for v in values] for values in state)
    model = model_of(arm)
    U, UU = kept_derivatives(chain_of(model, q, qd, qdd, "this form"))
    tau = np.zeros(arm.n)
    for i, body in enumerate(model.bodies):
        r, J = np.append(body.r, 1.0), pseudo_from_inertia(body.I)
        members = range(i + 1)
        Tdd = sum(U[i][k] * qdd[k] for k in members) + sum(
            UU(i, k, m) * qd[k] * qd[m] for k in members for m in members
        )
        for j in members:
            turn = trace_of_product(U[i][j][:3, :3] @ J, Tdd[:3, :3])
            tau[j] += body.m * ((Tdd @ r)[:3] - model.g) @ (U[i][j] @ r)[:3] + turn
    assert_agree(tau, dynamics.inverse(arm, *state))
