"""Thirteen inverse formulations, four inertia matrices and six forward methods give one
answer, on every kind of arm.
"""

from __future__ import annotations

from functools import cache

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
from forearm.dynamics.silver import angular_velocity, rotation_rate
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


ARMS: dict[str, Arm] = {f"n{n}, {kind}": arm for n in SIZES for kind, arm in rigid_arms(n).items()}
SPECIAL = special_arms() | {name: fa.load(name).rigid() for name in fa.arms() if not name.startswith("chain")}
EVERY = ARMS | SPECIAL | {name: fa.load(name) for name in ("chain7", "chain50", "chain100")}
DRIVEN = {
    "driven chain": simple_drives(random_arm(61, 6, "standard")),
    "driven tree": simple_drives(random_arm(61, 6, "frames", tree=True)),
    "driven followers": simple_drives(random_arm(5, 5, mimic=True)),
    "driven puma560": fa.load("puma560"),
}
SMALL = rigid_arms(3) | {"PRPRP": SPECIAL["PRPRP"]}
PAIRS = [(arm, name) for arm in EVERY for name in OTHERS if EVERY[arm].n <= LONGEST.get(name, EVERY[arm].n)]


def states_of(arm: Arm) -> list[tuple[State, Load]]:
    """Every situation; some of those of large arms."""
    if arm.n > 12:
        return [(random_state(arm, 1), random_load(1))]
    return list(situations(arm))[:: 3 if arm.n > 6 else 1]


@cache
def truths(name: str) -> list[tuple[State, Load, Array]]:
    """The torques that every formulation is held against."""
    arm = EVERY[name]
    return [(state, load, dynamics.inverse(arm, *state, TRUTH, *load)) for state, load in states_of(arm)]


@pytest.mark.parametrize(("name", "formulation"), PAIRS)
@pytest.mark.sweep(2)
def test_inverse_agrees_or_says_serial_chains(name: str, formulation: str) -> None:
    arm = EVERY[name]
    if formulation in SERIAL_ONLY and not arm.is_serial:
        said = f"^{formulation} is a method for serial chains, and '{arm.name}' is a tree or"
        with pytest.raises(ModelError, match=said):
            dynamics.inverse(arm, *random_state(arm, 1), formulation)
        return
    for state, load, truth in truths(name):
        assert_agree(dynamics.inverse(arm, *state, formulation, *load), truth)


def test_the_arms_are_what_they_are_called() -> None:
    for name, arm in ARMS.items():
        assert arm.n == int(name.split(",")[0][1:])
        follows = any(j.mimic for j in arm.tree)
        branches = any(b.parent != i - 1 for i, b in enumerate(arm.moving.bodies))
        assert follows == ("followers" in name)
        assert branches or "tree" not in name or (arm.n == 1 and not follows)
        assert arm.is_serial == (not follows and not branches)


@pytest.mark.sweep(first=16)
@pytest.mark.slow
@pytest.mark.parametrize("arm", EVERY.values(), ids=EVERY.keys())
def test_inertia_matrices_agree_and_are_symmetric_positive_definite(arm: Arm) -> None:
    q = np.array([random_state(arm, seed).q for seed in range(2 if arm.n < 50 else 1)])
    truth = dynamics.inertia_matrix(arm, q, INERTIA[0])
    for method in INERTIA[1:]:
        assert_agree(dynamics.inertia_matrix(arm, q, method), truth)
    assert_agree(np.swapaxes(truth, 1, 2), truth)
    assert np.linalg.eigvalsh(truth).min() > 0.0
    assert_agree(truth[0], inertia_by_unit_torques(arm, q[0]))


def inertia_by_unit_torques(arm: Arm, q: Array) -> Array:
    """Column j is tau(e_j) - tau(0), by an inverse formulation that no inertia method uses."""
    units, rest = np.concatenate([np.eye(arm.n), np.zeros((1, arm.n))]), np.zeros(arm.n)
    tau = dynamics.inverse(arm, q, rest, units, "lagrange-hollerbach")
    return np.asarray((tau[:-1] - tau[-1]).T)


@cache
def driven(name: str) -> list[tuple[State, Load, Array, float]]:
    """Torques by Kane's equations, which no forward method uses, for accelerations that are generic where 0,
    and the condition number of M; in every third situation.
    """
    arm, made = (EVERY | DRIVEN)[name], []
    given = states_of(arm)
    for (q, qd, qdd), load in given[1::3] or given:
        state = State(q, qd, qdd if qdd.any() else random_state(arm, 9).qdd)
        tau = dynamics.inverse(arm, *state, "kane", *load)
        made.append((state, load, tau, float(np.linalg.cond(dynamics.inertia_matrix(arm, q)))))
    return made


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY | DRIVEN)
@pytest.mark.parametrize("method", FORWARD)
@pytest.mark.sweep
def test_forward_inverts_inverse(name: str, method: str) -> None:
    for (q, qd, qdd), load, tau, condition in driven(name):
        found = dynamics.forward((EVERY | DRIVEN)[name], q, qd, tau, method, *load)
        assert_agree(found, qdd, AGREEMENT * condition)


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


def slope_of_inertia(arm: Arm, q: Array, way: Array) -> Array:
    """How M changes along a way, by seven points."""
    M = dynamics.inertia_matrix(arm, q + OFFSETS[:, None] * way)
    return np.asarray(np.einsum("t,tij->ij", SEVEN_POINTS, M))


@pytest.mark.slow
@pytest.mark.parametrize("arm", SMALL.values(), ids=SMALL.keys())
def test_coriolis_matrix(arm: Arm) -> None:
    """C qd are the velocity torques, dM/dt - 2 C is skew, and C is made of the Christoffel symbols of M."""
    q, qd, _ = random_state(arm, 4)
    C, hold = dynamics.coriolis_matrix(arm, q, qd), dynamics.gravity(arm, q)
    size = max(float(np.abs(C).max() * np.abs(qd).max()), float(np.abs(hold).max()))
    np.testing.assert_allclose(C @ qd, dynamics.bias(arm, q, qd) - hold, rtol=0, atol=AGREEMENT * size)
    wrong = DIFFERENCE * np.abs(dynamics.inertia_matrix(arm, q)).max()
    skew = slope_of_inertia(arm, q, qd) - 2.0 * C
    np.testing.assert_allclose(skew, -skew.T, rtol=0, atol=wrong)
    dM = np.array([slope_of_inertia(arm, q, e) for e in np.eye(arm.n)])
    christoffel = 0.5 * (dM.transpose(1, 2, 0) + dM.transpose(1, 0, 2) - dM)  # [i, j, k], dM is [k, i, j]
    np.testing.assert_allclose(C, christoffel @ qd, rtol=0, atol=wrong * np.abs(qd).max())


def test_coriolis_matrix_is_that_of_the_rigid_arm() -> None:
    arm = simple_drives(random_arm(62, 4))
    q, qd, _ = random_state(arm, 4)
    assert np.array_equal(dynamics.coriolis_matrix(arm, q, qd), dynamics.coriolis_matrix(arm.rigid(), q, qd))


def test_silver_angular_velocity_and_rotation_rate_are_inverse() -> None:
    """2.5 and 2.6, and both against a rotation turned by differences."""
    rng = np.random.default_rng(1)
    for _ in range(5):
        w, v, angles, rates = rng.normal(size=(4, 3))
        W = rotation_rpy(angles)
        np.testing.assert_allclose(angular_velocity(W, rotation_rate(w, W)), w, rtol=0, atol=1e-15 * 10)
        turned = np.array([rotation_rpy(angles + t * rates) for t in OFFSETS])
        Wd = np.einsum("t,tij->ij", SEVEN_POINTS, turned)
        np.testing.assert_allclose(rotation_rate(angular_velocity(W, Wd), W), Wd, rtol=0, atol=1e-11)
        np.testing.assert_allclose(rotation_rate(w, W) @ v, np.cross(w, W @ v), rtol=0, atol=1e-14)
    with pytest.raises(InputError, match=r"Wd: expected shape \(3, 3\), got \(4, 4\)"):
        angular_velocity(np.eye(4), np.eye(4))


def test_silver_inertia_and_pseudo_inertia_are_inverse() -> None:
    """2.11, and both against the sums over points that define them."""
    rng = np.random.default_rng(2)
    masses, points = rng.uniform(0.1, 1.0, 9), rng.normal(size=(9, 3))
    J = np.einsum("k,ki,kj->ij", masses, points, points)
    inertia = np.array(
        sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points, strict=True))
    )
    np.testing.assert_allclose(pseudo_from_inertia(inertia), J, rtol=0, atol=1e-14)
    np.testing.assert_allclose(inertia_from_pseudo(J), inertia, rtol=0, atol=1e-14)
