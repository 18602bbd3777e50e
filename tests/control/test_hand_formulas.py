"""Laws in the hand's space: over symbols as over numbers, the inertia at the hand as MuJoCo has it, the error
of attitude as a rotation vector.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest
from arms import posture, random_arm
from control.hand_models import by_numbers, hand_sample
from dynamics.test_mujoco import TEXTS, pair

import forearm as fa
from forearm import Arm, control
from forearm.control.controllers.hand_formulas import rotation_vector
from forearm.control.controllers.hand_inertia import HandInertia, HandTask
from forearm.symbols import Graph, evaluate

AGREE = 1e-10  # relative: two formulations in float64, through the inverses of two matrices
MUJOCO = 1e-9  # relative: the same through MuJoCo's quaternions

ARMS: dict[str, Callable[[], Arm]] = {
    "puma560": lambda: fa.load("puma560"),
    "panda": lambda: fa.load("panda"),
    "bearings and gears": lambda: random_arm(3, 3),
    "followers on a tree": lambda: random_arm(4, 4, tree=True, mimic=True),
}
LAWS: dict[str, Callable[[Arm], Any]] = {
    "gravity": control.GravityCompensation,
    "gravity, damped": lambda arm: control.GravityCompensation(arm, damping=np.linspace(1.0, 2.0, arm.n)),
    "impedance": control.Impedance,
    "impedance, all numbers given": lambda arm: control.Impedance(arm, *matrices(arm), velocity_terms=True),
    "impedance, feed-forward": lambda arm: control.Impedance(arm, feedforward=True, velocity_terms=True),
    "impedance of two directions": lambda arm: control.Impedance(
        arm, [500.0, 40.0], axes=["x", "ry"], posture=np.linspace(0.1, 0.3, arm.n), avoid_limits=20.0
    ),
    "operational space": control.OperationalSpace,
    "operational space, its own posture": lambda arm: control.OperationalSpace(
        arm, axes=["y", "z"], posture=np.linspace(0.1, 0.3, arm.n), avoid_limits=20.0
    ),
    "operational space, no friction": lambda arm: control.OperationalSpace(arm, friction=False),
    "admittance": lambda arm: control.Admittance(arm, 2.0, 30.0, 100.0),
}


def matrices(arm: Arm) -> list[np.ndarray]:
    """A stiffness and a damping that mix all directions."""
    rng, m = np.random.default_rng(7), 6 if arm.n >= 6 else 3
    roots = rng.normal(size=(2, m, m))
    return [300.0 * roots[0] @ roots[0].T, 20.0 * roots[1] @ roots[1].T]


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.sweep
def test_a_law_over_symbols_is_the_law_over_numbers(law: str, name: str) -> None:
    made = LAWS[law](ARMS[name]()).law
    rng = np.random.default_rng(5)
    for seed in range(12):
        sample = hand_sample(made.arm, seed)
        sample.qd[rng.integers(made.arm.n)] = 0.0  # one stands
        known = dict(zip(("q", "qd"), (sample.q, sample.qd), strict=True))
        known |= dict(zip(("q_wanted", "qd_wanted", "qdd_wanted"), sample.wanted, strict=True))
        known |= {"qd_ahead": sample.ahead[1], "force": rng.normal(size=6)}
        known["state"] = 0.1 * rng.normal(size=made.reads.get("state", 0))
        given = [known[name] for name in made.reads]
        tau, state = by_numbers(made, *given)
        found = made.command(*given)
        if state is not None:
            assert np.abs(found[0] - state).max() <= 1e-14
            found = found[1]
        assert np.abs(found - tau).max() <= AGREE * np.abs(tau).max()


@pytest.mark.parametrize("seed", range(2))
def test_the_inertia_at_the_hand_is_that_of_mujoco(seed: int) -> None:
    arm, peer = pair(TEXTS[f"turning-{seed}"])
    q = posture(arm, seed)
    peer.move_to(q, np.zeros(arm.n))
    jacobians = np.zeros((2, 3, peer.model.nv))
    body = mujoco.mj_name2id(peer.model, mujoco.mjtObj.mjOBJ_BODY, arm.hand.link)
    point = fa.kinematics.forward(arm, q)[:3, 3]
    mujoco.mj_jac(peer.model, peer.data, *jacobians, point, body)
    J = np.concatenate(jacobians) @ peer.G
    mobility = J @ np.linalg.solve(peer.inertia_matrix(), J.T)
    truth = np.linalg.inv(mobility)
    found = control.hand_inertia(arm, q, near=1e-12)
    assert np.abs(found - truth).max() <= MUJOCO * np.abs(truth).max()
    three = np.linalg.inv(mobility[:3, :3])
    assert np.allclose(control.hand_inertia(arm, q, "xyz", near=1e-12), three, rtol=MUJOCO, atol=0.0)


def test_a_direction_that_nothing_moves_is_damped_and_the_others_are_not() -> None:
    """A planar arm: z cannot move, and what is asked of it does nothing to x and y."""
    rng = np.random.default_rng(3)
    J, root = rng.normal(size=(3, 4)), rng.normal(size=(4, 4))
    J[2] = 0.0
    M = root @ root.T + np.eye(4)
    task = HandTask((0, 1, 2), 1e-3)
    qdd = (made := HandInertia.of(M, J, task)).accelerations(made.force(np.array([0.3, -0.7, 100.0])))
    assert np.allclose(J[:2] @ qdd, [0.3, -0.7], rtol=1e-12)
    J[2] = 0.4 * J[0] - 1.2 * J[1]  # z depends on x and y, which go before it
    qdd = (made := HandInertia.of(M, J, task)).accelerations(made.force(np.array([0.3, -0.7, 0.0])))
    assert np.isfinite(qdd).all()
    consistent = np.array([0.3, -0.7, 0.4 * 0.3 + 1.2 * 0.7])
    assert np.allclose(J @ made.accelerations(made.force(consistent)), consistent, rtol=1e-9)


def test_rotation_vectors_over_any_scalar() -> None:
    graph = Graph()
    symbols = np.array([[graph.input(f"R[{3 * i + j}]") for j in range(3)] for i in range(3)], dtype=object)
    traced = list(rotation_vector(symbols))
    rng = np.random.default_rng(1)
    for angle in (0.0, 1e-300, 1e-12, 1e-6, 0.3, 2.0, 3.14):
        axis = rng.normal(size=3)
        wanted = angle * axis / np.linalg.norm(axis)
        R = fa.kinematics.rotation_from(wanted, "rotation_vector")
        named = {f"R[{i}]": float(x) for i, x in enumerate(R.ravel())}
        found = rotation_vector(R), np.array(evaluate(graph, traced, named), dtype=float)
        # 1 + 2 ulp on the diagonal are angles of 1e-8 if read from there: they are not
        assert all(np.abs(x - wanted).max() <= 1e-15 + 1e-12 * angle for x in found)
    assert not rotation_vector(np.diag([1.0, -1.0, -1.0])).any(), "a half turn has no way"
