"""Rollouts and their gradients with `device="cuda"` on the fake driver, whose kernels are the CPU's: every
array and number of a call reaches its place, whatever library it is of.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from kernels.cuda.fake_arrays import FakeCupy, FakeInterface, FakeJax, FakeTorch, forget
from kernels.cuda.fake_driver import FakeLibrary, using
from kernels.cuda.fake_lending import FakeLending

import forearm as fa
from forearm.errors import InputError
from forearm.kernels.batch_rollout import request_of
from forearm.kernels.cuda import device_rollout, ptx
from forearm.kernels.kernel import Kernel
from forearm.kernels.rollout_request import ARGUMENTS, OF_CONTROLLER, ROLLOUT, ROLLOUT_GRADIENT, rollout_of

MOTOR = fa.Motor(gear_ratio=30.0, rotor_inertia=2e-3, torque_constant=0.2, resistance=1.5, max_voltage=12.0)
ARM = random_arm(5, 2, "modified", drives=False).with_drives(motor=MOTOR, friction=fa.Friction(viscous=0.3))
OPEN = ("part2.mass", "joint2.friction.viscous")
B, N, STEPS, RECORD = 5, 2, 6, 2
TOLD: dict[str, Any] = {"steps": STEPS, "step": 5e-3, "method": "rk3"}
random = np.random.default_rng(31)
Q, QD = random.uniform(-1.0, 1.0, (2, B, N))
SLOPE = 1e-12  # of sums over arms, whose order is the library's
FAKES: dict[str, Any] = {
    "torch": FakeTorch,
    "cupy": FakeCupy,
    "jax": FakeJax,
    "interface": FakeInterface,
    "dlpack": FakeLending,
}


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLibrary]:
    forget()
    device_rollout.loaded_rollout.cache_clear()
    monkeypatch.setenv("FOREARM_CACHE", str(tmp_path))  # no GPU may find this code
    monkeypatch.setattr(ptx, "assembly", lambda text: ".version 6.0\n.visible .entry entry(")
    library = FakeLibrary(devices=2)
    with using(library):
        yield library
    forget()
    device_rollout.loaded_rollout.cache_clear()
    assert library.faults == []


@cache
def on_cpu(dtype: str = "float64") -> Any:
    return fa.compile(ARM, dtype, parameters=OPEN)


def emulate(library: FakeLibrary, kernel: Kernel, function: str, driving: Any = None) -> None:
    """What is launched from now on is done by the code of the CPU; `driving` is the controller, if any, or
    "voltage".
    """
    controller = driving if isinstance(driving, fa.TracedController) else None
    width = N if controller is None else np.asarray(controller.reference).shape[-1]
    what = "voltage" if driving == "voltage" else "torque"
    request = request_of(kernel, TOLD["method"], what, controller, width)
    code = rollout_of(replace(request, function=function))
    pointers, whole = ARGUMENTS[function]
    if controller is not None and function == ROLLOUT_GRADIENT:
        pointers, whole = pointers + OF_CONTROLLER[0], whole + OF_CONTROLLER[1]

    def act(given: Sequence[int], count: int) -> None:
        *numbers, bits = given[pointers:]
        kind, size = ("<f", 4) if kernel.dtype == "float32" else ("<d", 8)
        (h,) = struct.unpack(kind, struct.pack("<Q", bits)[:size])
        code.part("batch" if count > 1 else "single").call(*given[:pointers], count, *numbers, h)

    library.define("entry", pointers + whole, act, pointers)


def law(t: Any, q: Any, qd: Any, row: Any) -> Any:
    return row[:2] * np.sin(q + 9.0 * t) - row[2:] * qd


def controller(*shape: int, period: int = 2) -> fa.TracedController:
    return fa.TracedController(law, random.uniform(1.0, 4.0, shape), period)


def values_of(kernel: Kernel, *batch: int) -> Any:
    own = np.array([*kernel.parameters.values()])
    return own * random.uniform(0.8, 1.2, (*batch, len(own)))


def torques(*shape: int) -> Any:
    return random.uniform(-3.0, 3.0, shape)


# What drives arms, and what else a call is given.
CALLS: dict[str, tuple[tuple[Any, Any], dict[str, Any]]] = {
    "nothing": ((Q, QD), {}),
    "held": ((Q, QD), {"torque": torques(B, N)}),
    "one arm": ((Q[0], QD[0]), {"torque": torques(N)}),
    "by step": ((Q, QD), {"torque": torques(B, STEPS, N)}),
    "by step, shared": ((Q, QD), {"torque": torques(1, STEPS, N)}),
    "one start, many torques": ((Q[0], QD[0]), {"torque": torques(B, N)}),
    "one start, many torques by step": ((Q[0], QD[0]), {"torque": torques(B, STEPS, N)}),
    "parameters": ((Q, QD), {"parameters": values_of(on_cpu())}),
    "parameters of each": ((Q, QD), {"parameters": values_of(on_cpu(), B)}),
    "a row of one arm": ((Q[:1], QD[:1]), {"torque": torques(1, N)}),
    "none": ((Q[:0], QD[:0]), {}),
}
EVERY = pytest.mark.parametrize("name", CALLS)


def moved(library: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Arrays among arguments, on the device."""
    return {name: library.array(x) if isinstance(x, np.ndarray) else x for name, x in given.items()}


@pytest.mark.slow
@EVERY
def test_rollouts_of_arrays_on_the_device_and_of_numpy(
    fake: FakeLibrary, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    torch, kernel = FakeTorch(fake, monkeypatch), on_cpu().to("cuda")
    emulate(fake, kernel, ROLLOUT)
    states, given = CALLS[name]
    for record in (None, RECORD, 4):
        wanted = on_cpu().simulate(*states, record=record, **given, **TOLD)
        tensors: Any = [torch.array(x) for x in states]
        found = kernel.simulate(*tensors, record=record, **moved(torch, given), **TOLD)
        assert type(found) is type(wanted)
        back = kernel.simulate(*states, record=record, **given, **TOLD)
        for x, y, z in zip(found, back, wanted, strict=True):
            assert isinstance(x, torch.Tensor)
            assert np.array_equal(torch.values(x), z)
            assert np.array_equal(y, z)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 1200])
def test_arrays_of_numpy_go_in_pieces(fake: FakeLibrary, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(device_rollout, "AT_ONCE", size)
    kernel = on_cpu().to("cuda")
    for name in ("held", "by step, shared", "one start, many torques by step", "parameters of each"):
        states, given = CALLS[name]
        emulate(fake, kernel, ROLLOUT)
        wanted = on_cpu().simulate(*states, record=RECORD, **given, **TOLD)
        found = kernel.simulate(*states, record=RECORD, **given, **TOLD)
        assert all(np.array_equal(x, y) for x, y in zip(found, wanted, strict=True))
        before = len(fake.launches)
        emulate(fake, kernel, ROLLOUT_GRADIENT)
        right = on_cpu().simulate_gradient(wanted, wanted, record=RECORD, **given, **TOLD)
        slopes = kernel.simulate_gradient(wanted, wanted, record=RECORD, **given, **TOLD)
        assert all(np.array_equal(x, y) for x, y in zip(slopes, right, strict=True))
        counts = [count for _, _, count, _ in fake.launches[before:]]
        assert sum(counts) == B
        assert len(counts) == B if size == 1 else 1 < len(counts) < B


def test_pieces_of_as_many_arms_as_there_are_steps(
    fake: FakeLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether torques are of each arm or each step was settled by all arms."""
    monkeypatch.setattr(device_rollout, "AT_ONCE", 128)  # two arms
    kernel, told = on_cpu().to("cuda"), TOLD | {"steps": 2}
    emulate(fake, kernel, ROLLOUT)
    for torque in (torques(2, N), torques(B, N)):
        wanted = on_cpu().simulate(Q, QD, torque=torque, **told)
        found = kernel.simulate(Q, QD, torque=torque, **told)
        assert all(np.array_equal(x, y) for x, y in zip(found, wanted, strict=True))
    assert 2 in [count for _, _, count, _ in fake.launches]


@pytest.mark.slow
@EVERY
def test_gradients_of_arrays_on_the_device_and_of_numpy(
    fake: FakeLibrary, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    torch, kernel = FakeTorch(fake, monkeypatch), on_cpu().to("cuda")
    emulate(fake, kernel, ROLLOUT_GRADIENT)
    states, given = CALLS[name]
    kept = on_cpu().simulate(*states, record=RECORD, **given, **TOLD)
    for weights in (kept, tuple(x[..., -1, :] for x in kept)):
        wanted = on_cpu().simulate_gradient(kept, weights, record=RECORD, **given, **TOLD)
        tensors: Any = [tuple(torch.array(x) for x in pair) for pair in (kept, weights)]
        found = kernel.simulate_gradient(*tensors, record=RECORD, **moved(torch, given), **TOLD)
        assert type(found) is type(wanted)
        back = kernel.simulate_gradient(kept, weights, record=RECORD, **given, **TOLD)
        for x, y, z in zip(found, back, wanted, strict=True):
            assert isinstance(x, torch.Tensor)
            assert torch.values(x).shape == z.shape
            assert np.allclose(torch.values(x), z, rtol=SLOPE, atol=0.0)
            assert np.array_equal(y, z)
        for x, z in zip(found[:2], wanted[:2], strict=True):
            assert np.array_equal(torch.values(x), z)


@pytest.mark.slow
@pytest.mark.parametrize("library", FAKES)
def test_every_library_has_gradients_beside_its_states(
    fake: FakeLibrary, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    """With sums over arms by it."""
    arrays, kernel = FAKES[library](fake, monkeypatch), on_cpu().to("cuda")
    states, given = CALLS["by step, shared"]
    emulate(fake, kernel, ROLLOUT)
    kept = on_cpu().simulate(*states, record=RECORD, **given, **TOLD)
    there: Any = [arrays.array(x) for x in states]
    found: Any = kernel.simulate(*there, record=RECORD, **moved(arrays, given), **TOLD)
    assert all(np.array_equal(arrays.values(x), y) for x, y in zip(found, kept, strict=True))
    emulate(fake, kernel, ROLLOUT_GRADIENT)
    weights = kept.q[:, -1], kept.qd[:, -1]
    wanted = on_cpu().simulate_gradient(kept, weights, record=RECORD, **given, **TOLD)
    pairs: Any = [tuple(arrays.array(x) for x in pair) for pair in (kept, weights)]
    slopes = kernel.simulate_gradient(*pairs, record=RECORD, **moved(arrays, given), **TOLD)
    for x, y in zip(slopes, wanted, strict=True):
        assert np.allclose(arrays.values(x), y, rtol=SLOPE, atol=0.0)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(4,), (B, 4), (1, STEPS, 4), (B, STEPS, 4)])
def test_controllers_read_references(
    fake: FakeLibrary, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...]
) -> None:
    torch, kernel, asked = FakeTorch(fake, monkeypatch), on_cpu().to("cuda"), controller(*shape)
    emulate(fake, kernel, ROLLOUT, asked)
    kept = on_cpu().simulate(Q, QD, record=RECORD, controller=asked, **TOLD)
    there: Any = replace(asked, reference=torch.array(asked.reference))
    states: Any = torch.array(Q), torch.array(QD)
    pairs = [(kernel.simulate(*states, record=RECORD, controller=told, **TOLD)) for told in (asked, there)]
    for found in (*pairs, kernel.simulate(Q, QD, record=RECORD, controller=asked, **TOLD)):
        for x, y in zip(found, kept, strict=True):
            assert np.array_equal(torch.values(x) if isinstance(x, torch.Tensor) else x, y)
    emulate(fake, kernel, ROLLOUT_GRADIENT, asked)
    wanted = on_cpu().simulate_gradient(kept, kept, record=RECORD, controller=asked, **TOLD)
    moved_states: Any = tuple(torch.array(x) for x in kept)
    slopes = kernel.simulate_gradient(moved_states, moved_states, record=RECORD, controller=there, **TOLD)
    back = kernel.simulate_gradient(kept, kept, record=RECORD, controller=asked, **TOLD)
    for x, y, z in zip(slopes, back, wanted, strict=True):
        assert np.allclose(torch.values(x), z, rtol=SLOPE, atol=0.0)
        assert torch.values(x).shape == z.shape
        assert np.array_equal(y, z)


@pytest.mark.slow
def test_voltages_single_precision_and_arrays_for_results(
    fake: FakeLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch, here = FakeTorch(fake, monkeypatch), on_cpu("float32")
    kernel = here.to("cuda:0")
    emulate(fake, kernel, ROLLOUT, "voltage")
    q, qd, u = (x.astype("float32") for x in (Q, QD, 3.0 * torques(B, N)))
    wanted = here.simulate(q, qd, voltage=u, **TOLD)
    out: Any = torch.array(np.zeros((B, N), "f4")), torch.array(np.zeros((B, N), "f4"))
    states: Any = torch.array(q), torch.array(qd)
    tensor: Any = torch.array(u)
    found: Any = kernel.simulate(*states, voltage=tensor, out=out, **TOLD)
    assert found.q is out[0]
    assert found.qd is out[1]
    assert all(np.array_equal(torch.values(x), y) for x, y in zip(found, wanted, strict=True))
    assert kernel.simulate(*states, voltage=u, out=states, **TOLD).q is states[0]  # in their place
    assert all(np.array_equal(torch.values(x), y) for x, y in zip(states, wanted, strict=True))
    kernel.simulate(q, qd, voltage=u, out=(q, qd), **TOLD)
    assert np.array_equal(q, wanted.q)
    assert np.array_equal(qd, wanted.qd)
    taken: Any = torch.array(np.zeros((1 + B, N), "f4"))
    taken.view[:B] = wanted.q  # which the result lies across
    across = torch.part(taken, slice(0, B)), torch.part(taken, slice(1, None))
    again: Any = kernel.simulate(across[0], torch.array(qd), voltage=tensor, out=(across[1], out[1]), **TOLD)
    right = here.simulate(wanted.q, qd, voltage=u, **TOLD)
    assert again.q is across[1]
    assert np.array_equal(torch.values(again.q), right.q)


def test_what_does_not_fit_is_refused(fake: FakeLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    torch, kernel = FakeTorch(fake, monkeypatch), on_cpu().to("cuda")
    q: Any = torch.array(Q)
    qd: Any = torch.array(QD)

    def refused(why: str, *states: Any, **others: Any) -> None:
        with pytest.raises(InputError, match=why):
            kernel.simulate(*states, **{**TOLD, **others})

    refused("^threads: a GPU distributes arms over its own threads; leave it out", q, qd, threads=2)
    refused("^q0: expected a device array like the others, got ndarray in host memory", Q, qd)
    refused(r"^qd0: expected float64 on the device, got float32", q, torch.array(QD.astype("f4")))
    refused(r"^qd0: .* has 2 joints, expected shape \(2,\) or \(B, 2\), got \(5, 3\)", q, np.zeros((B, 3)))
    refused("^torque: expected an array of real numbers, got 'much'", q, qd, torque="much")
    refused(
        r"^torque: expected shape \(2,\) held, \(6, 2\) by step", q, qd, torque=torch.array(np.zeros((3, 2)))
    )
    refused("^simulate: expected one of torque, voltage and controller", q, qd, torque=q, voltage=q)
    refused("^qd0: q0 is on device 0; expected qd0 there too, got PyTorch, device 1", q, torch.array(QD, 1))
    refused("^out: q0 is on device 0 .* got ndarray in host memory", q, qd, out=(Q.copy(), QD.copy()))
    refused("^out: the states are in host memory", Q, QD, out=(q, qd))
    refused(r"^out: expected a writeable C-contiguous array \(5, 2\)", q, qd, out=(q, torch.array(Q[0])))
    refused("^parameters: the states are in host memory", Q, QD, parameters=q)
    refused(r"^simulate: expected the same number of arms in all arguments", q, torch.array(QD[:3]))


def test_gradients_that_do_not_fit_are_refused(fake: FakeLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    torch, kernel = FakeTorch(fake, monkeypatch), on_cpu().to("cuda")
    kept = np.zeros((B, STEPS // RECORD + 1, N))
    there: Any = torch.array(kept), torch.array(kept)

    def refused(why: str, states: Any, weights: Any, **others: Any) -> None:
        with pytest.raises(InputError, match=why):
            kernel.simulate_gradient(states, weights, **{**TOLD, "record": RECORD, **others})

    refused("^threads: a GPU distributes arms", there, there, threads=2)
    refused(r"^simulate_gradient, states: expected q and qd as simulate returns them", there, there, record=3)
    refused(
        r"^simulate_gradient, weights: expected a pair of arrays \(5, 2\)", there, (torch.array(Q), there[0])
    )
    refused(r"^states, q: expected a device array like the others, got ndarray", (kept, kept), there)
    short = there[0], torch.array(kept.astype("f4"))
    refused("^states, qd: expected float64 on the device, got float32", short, there)
    refused("^weights, q: states, q is on device 0", there, (torch.array(Q, 1), torch.array(QD)))
    refused(
        r"^simulate: expected the same number of arms",
        there,
        there,
        torque=torch.array(np.zeros((3, STEPS, N))),
    )
    stuck = fa.compile(ARM.with_drives(friction=fa.Friction(coulomb=1.0)), device="cuda")
    with pytest.raises(InputError, match="stick-slip motion has no gradient"):
        stuck.simulate_gradient(there, there, record=RECORD, **TOLD)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_gradients_are_assembled(dtype: str) -> None:
    """By LLVM, without anything that a GPU lacks."""
    from forearm.kernels.cuda.ptx import assembly
    from forearm.kernels.cuda.text import DEVICE_TARGETS, device_module
    from forearm.kernels.rollout_gradient_ir import gradient_arguments, gradient_kernel_text

    request = request_of(on_cpu(dtype), "rk4", "torque", controller(4), 4)
    program, target = replace(request, function=ROLLOUT_GRADIENT).program(), DEVICE_TARGETS[dtype]
    made = assembly(device_module([gradient_kernel_text("entry", program, target, 64)], target))
    entry = made[made.index(".visible .entry entry(") :].partition(")")[0]
    assert entry.count(".param") == len(gradient_arguments(program, target)) == 12 + 12 + 1
    # All that is not in the module is the memory of a block.
    assert set(re.findall(r"\.extern [^;]*;", made)) <= {".extern .shared .align 16 .b8 shared[];"}
