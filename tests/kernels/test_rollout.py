"""Runs of fixed steps in machine code, against single steps in Python with the reference's accelerations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arms import posture, random_arm, speed
from drives.making import loaded_arm, with_efficiency
from numpy.typing import NDArray
from one_joint import beam, block
from simulation.stepping_once import explicit_step

import forearm as fa
from forearm.drives import torque_of
from forearm.kernels.rollout import PlantOptions, Simulator
from forearm.simulation.methods import tableau_of

Floats = NDArray[np.float64]
SAME = 1e-10  # of the largest value: roundings of 40 steps in another order of operations
RIGID = {
    "tree": random_arm(3, 3, tree=True, drives=False),
    "slides": random_arm(5, 3, "modified", drives=False),
    "followers": random_arm(2, 2, mimic=True, drives=False),
}
STEPS, H = 40, 2e-3


def simulator(arm: fa.Arm, method: str = "rk4", voltage: bool = False) -> Simulator:
    c, a, b = tableau_of(method).floats
    return Simulator(arm, PlantOptions(voltage), tuple(c), tuple(tuple(row) for row in a), tuple(b))


def stepped(
    arm: fa.Arm, method: str, q: Floats, qd: Floats, torque: Any, steps: int = STEPS
) -> tuple[Floats, Floats]:
    """The same steps by hand; `torque(k, s, qd)` at the share s of step k."""
    states = [(q, qd)]
    for k in range(steps):

        def f(t: float, q: Floats, qd: Floats, k: int = k) -> Any:
            return fa.dynamics.forward(arm, q, qd, torque(k, t / H, qd))

        states.append(explicit_step(tableau_of(method), f, 0.0, *states[-1], H))
    both = np.array(states)
    return both[:, 0], both[:, 1]


def close(a: Floats, b: Floats) -> bool:
    return bool(np.max(np.abs(a - b)) <= SAME * np.max(np.abs(b)))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rk3", "rk4", "gill"])
@pytest.mark.parametrize("name", RIGID)
@pytest.mark.sweep
def test_steps_are_those_of_the_method(name: str, method: str) -> None:
    arm = RIGID[name]
    q, qd, u = posture(arm, 1), speed(arm, 2), np.linspace(-2.0, 3.0, arm.n)
    made = simulator(arm, method)
    state = made.at_rest_or_moving(q[None], qd[None])
    found = made.run(state, u, STEPS, H, 1, linear=False)
    right = stepped(arm, method, q, qd, lambda k, s, qd: u)
    assert close(found[0][0], right[0])
    assert close(found[1][0], right[1])
    assert np.array_equal(state.q[0], found[0][0, -1])
    assert np.array_equal(state.qd[0], found[1][0, -1])


@pytest.mark.slow
@pytest.mark.parametrize("linear", [False, True])
def test_inputs_are_held_or_go_straight(linear: bool) -> None:
    arm = RIGID["slides"]
    q, qd = posture(arm, 1), speed(arm, 2)
    table = np.random.default_rng(4).uniform(-5.0, 5.0, (STEPS + 1, arm.n))
    made = simulator(arm)
    found = made.run(made.at_rest_or_moving(q[None], qd[None]), table, STEPS, H, 1, linear)
    share = 1.0 if linear else 0.0
    right = stepped(arm, "rk4", q, qd, lambda k, s, qd: table[k] + share * s * (table[k + 1] - table[k]))
    assert close(found[0][0], right[0])
    assert close(found[1][0], right[1])


@pytest.mark.slow
@pytest.mark.parametrize("limits", [{}, {"max_voltage": 9.0, "max_current": 4.0}], ids=["free", "limited"])
def test_voltages_act_through_the_motors(limits: dict[str, float]) -> None:
    motor = fa.Motor(gear_ratio=-12.0, rotor_inertia=2e-4, torque_constant=0.11, resistance=1.3, **limits)
    arm, q, qd = beam(motor=motor), np.array([0.3]), np.array([0.8])
    made, reached = simulator(arm, voltage=True), set()
    for V in (3.0, -7.0, 30.0):

        def torque(k: int, s: float, qd: Floats, V: float = V) -> Floats:
            tau = torque_of(arm, [V], qd)
            reached.add(round(float(abs(tau[0])), 9))
            return tau

        found = made.run(made.at_rest_or_moving(q[None], qd[None]), np.array([V]), STEPS, H, 1, linear=False)
        assert close(found[1][0], stepped(arm, "rk4", q, qd, torque)[1])
    assert (round(4.0 * 12.0 * 0.11, 9) in reached) == bool(limits), "the current was at its limit"


@pytest.mark.slow
def test_a_simulation_has_the_same_bits_alone_and_among_others() -> None:
    arm, rng = random_arm(1, 2), np.random.default_rng(1)
    q, qd = posture(arm, 1, 11), 0.3 * rng.normal(size=(11, arm.n))
    qd[::3] = 0.0
    u, made = rng.uniform(-20.0, 20.0, (11, arm.n)), simulator(arm)
    assert made.dry.all()
    together = made.at_rest_or_moving(q, qd)
    assert np.array_equal(together.is_free, qd != 0.0)
    assert np.array_equal(together.friction_sign, np.sign(qd))
    assert together.copy().q is not together.q
    made.run(together, u[:, None], 25, 1e-3, 25, linear=False)
    for k in range(11):
        alone = made.at_rest_or_moving(q[k : k + 1], qd[k : k + 1])
        made.run(alone, u[k], 25, 1e-3, 25, linear=False)
        for name in ("q", "qd", "friction_sign", "is_free"):
            assert np.array_equal(getattr(alone, name)[0], getattr(together, name)[k], equal_nan=True), name


def test_inputs_of_as_many_simulations_as_times_are_not_taken_for_a_table() -> None:
    made = simulator(block())
    state = made.at_rest_or_moving(np.zeros((6, 1)), np.zeros((6, 1)))
    made.run(state, np.arange(6.0)[:, None, None], 5, 0.1, 5, linear=False)
    assert np.allclose(state.qd[:, 0], np.arange(6.0) * 0.5 / 1.7, rtol=1e-14, atol=0.0)


def test_a_joint_that_is_not_driven_hard_enough_stays_where_it_is_to_the_bit() -> None:
    made = simulator(block(friction=fa.Friction(coulomb=(2.0, -3.0))))
    q = np.full((4, 1), 0.1)
    state = made.at_rest_or_moving(q, np.zeros((4, 1)))
    u = np.array([1.999999, -2.999999, 2.000001, -3.000001])[:, None, None]
    made.run(state, u, 1000, 1e-3, 1000, linear=False)
    assert np.array_equal(state.q[:2], q[:2])
    assert np.array_equal(state.is_free[:, 0], [0.0, 0.0, 1.0, 1.0])
    assert np.allclose(state.qd[:, 0], np.array([0.0, 0.0, 1e-6, -1e-6]) / 1.7, rtol=1e-6, atol=0.0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["turning", "chain", "tree, followers"])
@pytest.mark.parametrize("method", ["rk3", "rk4", "gill"])
@pytest.mark.sweep(first=1)
def test_loads_that_are_nearly_known_lead_to_the_same_motion(kind: str, method: str) -> None:
    """Stages begin with the loads of the last ones; by hand each is solved from rest, by the reference."""
    arm = with_efficiency(loaded_arm(kind, 5, 2), 1)
    q, qd = posture(arm, 1), 3.0 * speed(arm, 2)
    table = np.random.default_rng(3).normal(size=(STEPS + 1, arm.n))  # held, so that loads jump at every step
    run = simulator(arm, method)
    state = run.at_rest_or_moving(q[None], qd[None])
    found = run.run(state, table, STEPS, H, 1, linear=False)
    # until a joint turns round
    moving = int(np.argmin((np.sign(found[1][0]) == np.sign(qd)).all(axis=1))) or STEPS + 1
    assert moving > 3
    truth = stepped(arm, method, q, qd, lambda k, s, qd: table[k], moving - 1)
    for a, b in zip(found, truth, strict=True):
        assert close(a[0, :moving], b)


@pytest.mark.slow
def test_where_a_load_is_far_from_what_was_expected_it_is_found_all_the_same() -> None:
    """Loads that are nowhere near, of either sign and of any size, cost steps but change nothing."""
    arm = with_efficiency(loaded_arm("chain", 5, 2), 1)
    run = simulator(arm)
    q, qd = posture(arm, 1)[None], speed(arm, 2)[None]
    ends = []
    for size in (0.0, 1.0, -30.0, 1e4, -1e9):
        state = run.at_rest_or_moving(q, qd)
        state.load_guess[:] = size * np.random.default_rng(4).uniform(0.5, 1.0, state.load_guess.shape)
        run.run(state, np.array([1.0, -2.0]), 3, H, 3, linear=False)
        ends.append(np.concatenate([state.q[0], state.qd[0]]))
    for end in ends[1:]:
        assert close(end, ends[0])
