"""Rollouts and their gradients on a GPU: the bits of the CPU, and its gradients."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from drives.making import loaded_arm
from kernels.cuda.gpu_function import MAKERS, gpu
from kernels.test_rollout_gradient import slope

import forearm as fa
from forearm.kernels.cuda import device_rollout
from forearm.kernels.cuda.driver import Device
from forearm.kernels.native import host

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(
        not host("float64").fused, reason="this processor has no fused multiply-add, which every GPU has"
    ),
]
DTYPES = pytest.mark.parametrize("dtype", ["float64", "float32"])
B, STEPS = 133, 40  # more than two blocks, the last not full
TOLD: dict[str, Any] = {"steps": STEPS, "step": 1e-3}
GRADIENT = 1e-12  # of the largest entry
MOTOR = fa.Motor(gear_ratio=30.0, rotor_inertia=2e-3, torque_constant=0.2, resistance=1.5, max_voltage=12.0)


@pytest.fixture(autouse=True)
def device() -> Device:
    return gpu()


@cache
def arm_of(name: str) -> fa.Arm:
    if name == "load":
        return loaded_arm("chain", 6, 3)
    if name == "smooth":
        arm = random_arm(5, 3, "modified", drives=False)
        return arm.with_drives(motor=MOTOR, friction=fa.Friction(viscous=0.3))
    return fa.load(name)


def numbers(seed: int, *shape: int) -> Any:
    return np.random.default_rng([seed, *shape]).uniform(-1.0, 1.0, shape)


def starts(arm: fa.Arm, dtype: str) -> list[Any]:
    """Some joints stand, one arm is nowhere."""
    q, qd = numbers(1, B, arm.n), numbers(2, B, arm.n)
    qd[::3, 0], qd[1], q[7, 0] = 0.0, 0.0, np.nan
    return [x.astype(dtype) for x in (q, qd)]


def check_same(found: Any, wanted: Any) -> None:
    for x, y in zip(found, wanted, strict=True):
        assert np.isfinite(y).any()
        assert np.array_equal(x, y, equal_nan=True)


def both(arm: fa.Arm, dtype: str, parameters: Any = ()) -> tuple[Any, Any]:
    return fa.compile(arm, dtype, parameters=parameters), fa.compile(
        arm, dtype, device="cuda", parameters=parameters
    )


@DTYPES
@pytest.mark.parametrize("method", ["rk3", "rk4", "gill"])
@pytest.mark.parametrize("name", ["panda", "puma560", "load"])
def test_rollouts_have_the_bits_of_the_cpu(name: str, method: str, dtype: str) -> None:
    arm = arm_of(name)
    here, there = both(arm, dtype)
    q, qd = starts(arm, dtype)
    for record, u in ((None, numbers(3, B, arm.n)), (10, numbers(4, B, STEPS, arm.n))):
        told = {"record": record, "torque": 3.0 * u, "method": method, **TOLD}
        check_same(there.simulate(q, qd, **told), here.simulate(q, qd, **told))


@DTYPES
def test_voltages_have_the_bits_of_the_cpu(dtype: str) -> None:
    arm = arm_of("puma560")
    here, there = both(arm, dtype)
    q, qd = starts(arm, dtype)
    told = {"voltage": 10.0 * numbers(5, B, arm.n), **TOLD}
    check_same(there.simulate(q, qd, **told), here.simulate(q, qd, **told))


@DTYPES
@pytest.mark.parametrize("each", [False, True])
def test_open_parameters_have_the_bits_of_the_cpu(each: bool, dtype: str) -> None:
    arm = arm_of("puma560")
    here, there = both(arm, dtype, ("link3", "joint2.friction"))
    own = np.array([*here.parameters.values()])
    values = own * (1.0 + 0.1 * numbers(6, *((B,) if each else ()), len(own)))
    q, qd = starts(arm, dtype)
    told = {"torque": numbers(7, arm.n), "parameters": values, **TOLD}
    check_same(there.simulate(q, qd, **told), here.simulate(q, qd, **told))


def law(t: Any, q: Any, qd: Any, row: Any, model: Any) -> Any:
    return row * np.sin(q + 9.0 * t) - 3.0 * qd + model.gravity(q)


@DTYPES
@pytest.mark.parametrize("period", [1, 4])
def test_controllers_have_the_bits_of_the_cpu(period: int, dtype: str) -> None:
    arm = arm_of("puma560")
    here, there = both(arm, dtype)
    q, qd = starts(arm, dtype)
    for shape in ((arm.n,), (B, arm.n), (B, STEPS, arm.n)):
        asked = fa.TracedController(law, 20.0 * numbers(8, *shape), period)
        told: dict[str, Any] = {"controller": asked, "record": 8, **TOLD}
        check_same(there.simulate(q, qd, **told), here.simulate(q, qd, **told))


@pytest.mark.parametrize("library", MAKERS)
def test_every_library_has_rollouts_and_gradients_beside_its_states(library: str) -> None:
    maker = MAKERS[library]()
    here, there = both(arm_of("smooth"), "float64", ("part2.mass",))
    q, qd, u = numbers(1, B, 3), numbers(2, B, 3), numbers(3, 1, STEPS, 3)
    told: dict[str, Any] = {"record": 8, **TOLD}
    kept = here.simulate(q, qd, torque=u, **told)
    found = there.simulate(maker.array(q), maker.array(qd), torque=maker.array(u), **told)
    check_same([maker.values(x) for x in found], kept)
    weights = numbers(4, B, 3), numbers(5, B, 3)
    pairs = [tuple(maker.array(x) for x in pair) for pair in (kept, weights)]
    slopes = there.simulate_gradient(*pairs, torque=maker.array(u), **told)
    wanted = here.simulate_gradient(kept, weights, torque=u, **told)
    for x, y in zip(slopes, wanted, strict=True):
        assert maker.values(x).shape == y.shape
        assert np.abs(maker.values(x) - y).max() < GRADIENT * np.abs(y).max()


def test_out_lies_in_the_place_of_states() -> None:
    maker = MAKERS["torch"]()
    here, there = both(arm_of("panda"), "float64")
    q, qd = starts(here.arm, "float64")
    states = maker.array(q), maker.array(qd)
    found = there.simulate(*states, out=states, **TOLD)
    assert found.q is states[0]
    check_same([maker.values(x) for x in states], here.simulate(q, qd, **TOLD))


@pytest.mark.parametrize("shape", [(3,), (B, 3), (1, STEPS, 3), (B, STEPS, 3)])
@pytest.mark.parametrize("drive", ["torque", "voltage"])
@pytest.mark.parametrize("each", [False, True])
def test_gradients_are_those_of_the_cpu(
    drive: str, shape: tuple[int, ...], each: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = both(arm_of("smooth"), "float64", ("part2", "joint2.friction.viscous", "joint1.motor"))
    own = np.array([*here.parameters.values()])
    values = own * (1.0 + 0.1 * numbers(6, *((B,) if each else ()), len(own)))
    q, qd = numbers(1, B, 3), numbers(2, B, 3)
    told: dict[str, Any] = {drive: 5.0 * numbers(7, *shape), "parameters": values, "record": 7, **TOLD}
    kept = here.simulate(q, qd, **told)
    for weights in (kept, (numbers(8, B, 3), numbers(9, B, 3))):
        wanted = here.simulate_gradient(kept, weights, **told)
        found = there.simulate_gradient(kept, weights, **told)
        for x, y in zip(found, wanted, strict=True):
            assert x.shape == y.shape
            assert np.abs(x - y).max() < GRADIENT * np.abs(y).max()
    monkeypatch.setattr(device_rollout, "AT_ONCE", 1 << 15)
    for x, y in zip(there.simulate_gradient(kept, weights, **told), found, strict=True):
        assert np.array_equal(x, y)


def test_gradients_are_those_of_differences() -> None:
    """Through a controller, with another truth than the CPU."""
    there, count = fa.compile(arm_of("smooth"), device="cuda"), 5
    q, qd, row = numbers(1, count, 3), numbers(2, count, 3), 5.0 * numbers(3, count, 3)
    weights = numbers(4, count, 3), numbers(5, count, 3)

    def total(row: Any) -> float:
        left = there.simulate(q, qd, controller=fa.TracedController(law, row, 2), **TOLD)
        return float(sum(np.sum(w * x) for w, x in zip(weights, left, strict=True)))

    asked = fa.TracedController(law, row, 2)
    kept = there.simulate(q, qd, controller=asked, record=10, **TOLD)
    found = there.simulate_gradient(kept, weights, controller=asked, record=10, **TOLD)
    along = numbers(6, *row.shape)
    right = slope(total, row, along)
    assert abs(right - np.sum(found.drive * along)) < 1e-6 * np.abs(found.drive * along).sum()
