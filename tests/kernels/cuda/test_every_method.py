"""Every method of a kernel for a GPU, given arrays that lie there: it launches, and leaves its results beside
them, or says why not. Nothing is computed here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drives.making import loaded_arm
from kernels.cuda.fake_arrays import FakeCupy
from kernels.cuda.fake_driver import FakeLibrary

import forearm as fa
from forearm.errors import InputError
from forearm.kernels.cuda import device_compiled
from forearm.kernels.kernel import Kernel

B = 4
STEPS: dict[str, Any] = {"steps": 4, "step": 1e-3}
Given = Callable[..., Any]


@pytest.fixture
def launching(fake: FakeLibrary, not_assembled: None, monkeypatch: pytest.MonkeyPatch) -> FakeLibrary:
    """With any number of arguments."""
    placed = device_compiled._placed

    def with_any_arguments(device: Any, about: Any, code: bytes) -> Any:
        fake.define("entry", int(about["arguments"]), lambda given, count: None, 0)
        return placed(device, about, code)

    monkeypatch.setattr(device_compiled, "_placed", with_any_arguments)
    return fake


def gradient(k: Kernel, a: Given) -> Any:
    kept = a(B, 3, k.arm.n), a(B, 3, k.arm.n)
    return k.simulate_gradient(kept, kept, record=2, **STEPS)


# By method: a call with arrays that `a(*shape)` makes, and the shapes of what comes.
CALLS: dict[str, tuple[Any, Any]] = {
    "inverse_dynamics": (lambda k, a, n: k.inverse_dynamics(a(B, n), a(B, n), a(B, n)), lambda n: [(B, n)]),
    "forward_dynamics": (lambda k, a, n: k.forward_dynamics(a(B, n), a(n), a(B, n)), lambda n: [(B, n)]),
    "inertia_matrix": (lambda k, a, n: k.inertia_matrix(a(B, n)), lambda n: [(B, n, n)]),
    "bias": (lambda k, a, n: k.bias(a(B, n), 0.5), lambda n: [(B, n)]),
    "gravity": (lambda k, a, n: k.gravity(a(n)), lambda n: [(n,)]),
    "forward_kinematics": (lambda k, a, n: k.forward_kinematics(a(B, n)), lambda n: [(B, 4, 4)]),
    "jacobian": (lambda k, a, n: k.jacobian(a(B, n)), lambda n: [(B, 6, n)]),
    "inverse_kinematics": (lambda k, a, n: k.inverse_kinematics(a(B, 4, 4)), lambda n: [(B, 4, n)]),
    "inverse_numeric": (lambda k, a, n: k.inverse_numeric(a(B, 4, 4)).q, lambda n: [(B, n)]),
    **{
        f"{name}_dynamics_derivatives": (
            lambda k, a, n, name=name: getattr(k, f"{name}_dynamics_derivatives")(*(a(B, n),) * 3),
            lambda n: [(B, n, n)] * 3,
        )
        for name in ("inverse", "forward")
    },
    "elastic_forward_dynamics": (
        lambda k, a, n: k.elastic_forward_dynamics(*(a(B, n),) * 5),
        lambda n: [(B, n)] * 2,
    ),
    "elastic_inverse_dynamics": (
        lambda k, a, n: k.elastic_inverse_dynamics(*(a(B, n),) * 5),
        lambda n: [(B, n)] * 3,
    ),
    "simulate": (lambda k, a, n: k.simulate(a(B, n), a(B, n), torque=a(n), **STEPS), lambda n: [(B, n)] * 2),
    "simulate_gradient": (lambda k, a, n: gradient(k, a), lambda n: [(B, n), (B, n), (n,)]),
    "fused": (
        lambda k, a, n: tuple(k.fused(["gravity", "jacobian"])(a(B, n)).values()),
        lambda n: [(B, n), (B, 6, n)],
    ),
}
NO_ARRAYS = {"to", "compiled", "casadi"}  # of which casadi makes functions of the CPU, wherever the kernel is


def test_no_method_is_forgotten() -> None:
    methods = {name for name, _ in inspect.getmembers(Kernel, inspect.isfunction) if not name.startswith("_")}
    assert methods == CALLS.keys() | NO_ARRAYS


def check(fake: FakeLibrary, monkeypatch: pytest.MonkeyPatch, arm: fa.Arm, name: str) -> None:
    cupy, n = FakeCupy(fake, monkeypatch), arm.n
    kernel = fa.compile(arm, device="cuda")
    for _ in range(2):  # the second time by the short way, where there is one
        before = len(fake.launches)
        made = CALLS[name][0](kernel, lambda *shape: cupy.array(np.zeros(shape)), n)
        results = [x for x in (made if isinstance(made, tuple) else (made,)) if x is not None]
        assert len(fake.launches) == before + 1
        assert [x.shape for x in results] == CALLS[name][1](n)
        assert all(isinstance(x, cupy.ndarray) for x in results)


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_every_method_launches(launching: FakeLibrary, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    arm = fa.load("stanford-dhanaraj3" if name == "inverse_kinematics" else "ascher2").rigid()
    if name.startswith("elastic"):
        motor, spring = fa.Motor(gear_ratio=90.0, rotor_inertia=1e-4), fa.Elasticity(stiffness=9e3)
        arm = arm.with_drives(motor=motor, elasticity=spring)
    check(launching, monkeypatch, arm, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["inverse_dynamics_derivatives", "forward_dynamics_derivatives"])
def test_composed_derivatives_launch(
    launching: FakeLibrary, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    check(launching, monkeypatch, loaded_arm("turning", 3, 1), name)


def test_a_motion_that_sticks_and_kernels_of_float32_are_refused(
    launching: FakeLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    cupy = FakeCupy(launching, monkeypatch)

    def zeros(*shape: int) -> Any:
        return cupy.array(np.zeros(shape))

    loaded = fa.compile(loaded_arm("turning", 3, 1), device="cuda")
    single: Any = fa.compile(fa.load("ascher2"), "float32", device="cuda")
    calls: list[tuple[Any, str]] = [
        (lambda: gradient(loaded, zeros), ".*stick-slip motion has no gradient"),
        (lambda: single.inverse_kinematics(zeros(B, 4, 4)), "inverse_kinematics: .* which needs float64"),
        (lambda: single.inverse_numeric(zeros(B, 4, 4)), "inverse_numeric: expected a kernel for float64"),
        (lambda: single.casadi("inverse_dynamics"), "casadi: CasADi computes in float64"),
    ]
    for call, message in calls:
        with pytest.raises(InputError, match=f"^{message}"):
            call()
