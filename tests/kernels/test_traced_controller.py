"""Controllers inside rollouts, against the same laws asked by Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arms import random_arm
from numpy.typing import NDArray
from one_joint import beam

import forearm as fa
from forearm.symbols.scalars import choose

Floats = NDArray[np.float64]
H = 2e-3
KP, KD = np.array([40.0, 30.0, 50.0]), np.array([4.0, 5.0, 6.0])
CLOSE = 1e-12  # roundings of a law in another order of operations


def asked_every(period: int, law: Any) -> Any:
    """The law as a controller of `fa.simulate`, asked once in so many steps."""
    kept: dict[str, Any] = {"steps": 0}

    def controller(t: float, q: Floats, qd: Floats) -> Any:
        if kept["steps"] % period == 0:
            kept["answer"] = law(t, q, qd)
        kept["steps"] += 1
        return kept["answer"]

    return controller


@pytest.mark.slow
@pytest.mark.parametrize("period", [1, 4])
def test_a_law_gives_what_python_computes(period: int) -> None:
    arm = random_arm(5, 3, "modified", drives=False).with_drives(friction=fa.Friction(coulomb=5.0))
    k, (q, qd, wanted) = fa.compile(arm), np.random.default_rng(3).uniform(-1.0, 1.0, (3, 5, 3))

    def law(t: Any, q: Any, qd: Any, goal: Any, model: Any) -> Any:
        return KP * (goal - q) - KD * qd + model.gravity(q) + np.sin(30.0 * t + q)

    def made(row: Any = slice(None), record: int | None = None) -> Any:
        controller = fa.TracedController(law, wanted[row], period=period)
        return k.simulate(q[row], qd[row], steps=50, step=H, controller=controller, record=record)

    found = made(record=10).q
    sampling: Any = {"method": "rk4", "step": H, "sampling": fa.simulation.Sampling(record=10)}
    for row in range(5):
        asked = asked_every(period, lambda t, q, qd, row=row: law(t, q, qd, wanted[row], k))
        one = fa.simulate(arm, q[row], qd[row], 50 * H, controller=asked, **sampling)
        assert np.max(np.abs(one.q - found[row])) < CLOSE
    assert np.array_equal(made(2).q, found[2, -1])


def test_references_by_step_and_states() -> None:
    k, steps = fa.compile(beam()), 9
    goals = np.random.default_rng(1).uniform(-1.0, 1.0, (2, steps, 1))

    def law(t: Any, q: Any, qd: Any, goal: Any, model: Any, summed: Any) -> Any:
        return 20.0 * (goal - q) + 3.0 * summed, summed + (goal - q)

    made = k.simulate(
        [[0.1], [0.2]], [0.0], steps=steps, step=H, controller=fa.TracedController(law, goals, state=1)
    )
    for row, start in enumerate((0.1, 0.2)):
        now, summed = fa.Rollout(np.array([start]), np.array([0.0])), np.zeros(1)
        for j in range(steps):
            torque, summed = law(0.0, now.q, now.qd, goals[row, j], None, summed)
            now = k.simulate(*now, steps=1, step=H, torque=torque)
        assert np.allclose(made.q[row], now.q, rtol=0.0, atol=CLOSE)


def test_a_law_may_choose_and_answer_volts() -> None:
    motor = fa.Motor(gear_ratio=20.0, torque_constant=0.1, resistance=1.0)
    k = fa.compile(beam(motor=motor))

    def law(t: Any, q: Any, qd: Any) -> list[Any]:
        return [choose(q[0], 0.1, 4.0, -2.0)]  # V, 4 below 0.1 rad

    told: dict[str, Any] = {"steps": 3, "step": H}
    made = k.simulate([[0.0], [0.2]], [0.0], controller=fa.TracedController(law, output="voltage"), **told)
    assert np.array_equal(made.q, k.simulate([[0.0], [0.2]], [0.0], voltage=[[4.0], [-2.0]], **told).q)


def test_numbers_that_a_plain_law_refers_to_may_change() -> None:
    k, gain = fa.compile(beam()), {"kp": 3.0}

    def law(t: Any, q: Any, qd: Any) -> Any:
        return -gain["kp"] * q

    first = k.simulate([0.3], [0.0], steps=4, step=H, controller=law)
    gain["kp"] = 5.0
    second = k.simulate([0.3], [0.0], steps=4, step=H, controller=law)
    assert second.qd[0] < first.qd[0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"law": 3}, "law: expected a function of"),
        ({"output": "volts"}, "output: .*voltage"),
        ({"period": 0}, "period: expected a whole number of at least 1, got 0"),
        ({"period": 2**64}, "period: expected a whole number from 1 to 9007199254740992"),
        ({"state": 1}, "with state=1 expected a pair"),
        ({"reference": np.zeros((4, 2, 2))}, r"reference: expected shape \(2,\) held, \(3, 2\) by step"),
        ({"arm": "panda"}, "arm: expected an Arm"),
        ({"arm": random_arm(5, 2)}, "arm: expected an arm with 1 joints like 'one'"),
        ({"law": lambda t, q, qd: np.maximum(q, 0.0)}, "law: .* called with symbols: use choose, minimum"),
    ],
)
def test_errors_say_what_is_wrong(given: dict[str, Any], message: str) -> None:
    def run() -> None:
        controller = fa.TracedController(**({"law": lambda t, q, qd: -q} | given))
        fa.compile(beam()).simulate([0.0], [0.0], steps=3, step=H, controller=controller)

    with pytest.raises(fa.ForearmError, match=f"controller.*{message}"):
        run()
