"""Rollouts and their gradients with `device="cuda"` on the fake driver, whose kernels are the CPU's: every
array and number of a call reaches its place, whatever library it is of.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from kernels.cuda.fake_arrays import FakeTorch
from kernels.cuda.fake_driver import FakeLibrary
from kernels.cuda.test_dispatch import FAKES

import forearm as fa
from forearm.errors import InputError
from forearm.kernels.batch_rollout import request_of
from forearm.kernels.cuda import device_rollout
from forearm.kernels.cuda.ptx import assembly
from forearm.kernels.cuda.text import DEVICE_TARGETS, device_module
from forearm.kernels.kernel import Kernel
from forearm.kernels.rollout_arguments import RolloutDrive
from forearm.kernels.rollout_gradient_ir import gradient_arguments, gradient_kernel_text
from forearm.kernels.rollout_request import ARGUMENTS, OF_CONTROLLER, ROLLOUT, ROLLOUT_GRADIENT, rollout_of

MOTOR = fa.Motor(gear_ratio=30.0, rotor_inertia=2e-3, torque_constant=0.2, resistance=1.5, max_voltage=12.0)
ARM = random_arm(5, 2, "modified", drives=False).with_drives(motor=MOTOR, friction=fa.Friction(viscous=0.3))
OPEN = ("part2.mass", "joint2.friction.viscous")
B, N, STEPS, RECORD = 5, 2, 6, 2
TOLD: dict[str, Any] = {"steps": STEPS, "step": 5e-3, "method": "rk3"}
pytestmark = pytest.mark.usefixtures("not_assembled")
random = np.random.default_rng(31)
Q, QD = random.uniform(-1.0, 1.0, (2, B, N))
SLOPE = 1e-12  # of sums over arms, whose order is the library's


@cache
def on_cpu(dtype: str = "float64") -> Any:
    return fa.compile(ARM, dtype, parameters=OPEN)


def emulate(library: FakeLibrary, kernel: Kernel, function: str, driving: Any = None) -> None:
    """What is launched from now on is done by the code of the CPU; `driving` is the controller, if any, or
    "voltage".
    """
    controller = driving if isinstance(driving, fa.TracedController) else None
    width = N if controller is None else np.asarray(controller.reference).shape[-1]
    drive = RolloutDrive(controller=controller, voltage=0.0 if driving == "voltage" else None)
    request = request_of(kernel, TOLD["method"], drive.driven, width)
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


def values_of(*batch: int) -> Any:
    own = np.array([*on_cpu().parameters.values()])
    return own * random.uniform(0.8, 1.2, (*batch, len(own)))


def torques(*shape: int) -> Any:
    return {"torque": random.uniform(-3.0, 3.0, shape)}


# Starts, what drives arms, and what else a call is given.
CALLS: dict[str, tuple[int | None, dict[str, Any]]] = {
    "nothing": (B, {}),
    "held": (B, torques(B, N)),
    "one arm": (None, torques(N)),
    "by step": (B, torques(B, STEPS, N)),
    "by step, shared": (B, torques(1, STEPS, N)),
    "one start, many torques": (None, torques(B, N)),
    "one start, many torques by step": (None, torques(B, STEPS, N)),
    "parameters": (B, {"parameters": values_of()}),
    "parameters of each": (B, {"parameters": values_of(B)}),
    "a row of one arm": (1, torques(1, N)),
    "none": (0, {}),
}
EVERY = pytest.mark.parametrize("name", CALLS)
PIECES = ("held", "by step, shared", "one start, many torques by step", "parameters of each")


def call_of(name: str) -> tuple[list[Any], dict[str, Any]]:
    count, given = CALLS[name]
    return [x[0] if count is None else x[:count] for x in (Q, QD)], given


def moved(library: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Arrays among arguments, on the device."""
    return {name: library.array(x) if isinstance(x, np.ndarray) else x for name, x in given.items()}


def check(arrays: Any, found: Any, wanted: Any, close: float = 0.0) -> None:
    for x, y in zip(found, wanted, strict=True):
        got = x if isinstance(x, np.ndarray) else arrays.values(x)
        assert got.shape == y.shape
        np.testing.assert_allclose(got, y, rtol=close, atol=0.0)


@pytest.mark.slow
@EVERY
def test_rollouts_of_arrays_on_the_device_and_of_numpy(
    fake: FakeLibrary, torch: FakeTorch, name: str
) -> None:
    kernel = on_cpu().to("cuda")
    emulate(fake, kernel, ROLLOUT)
    states, given = call_of(name)
    for record in (None, RECORD, 4):
        told = {"record": record, **TOLD}
        wanted = on_cpu().simulate(*states, **given, **told)
        tensors: Any = [torch.array(x) for x in states]
        found = kernel.simulate(*tensors, **moved(torch, given), **told)
        assert type(found) is type(wanted)
        assert isinstance(found.q, torch.Tensor)
        check(torch, found, wanted)
        check(torch, kernel.simulate(*states, **given, **told), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 1200])
def test_arrays_of_numpy_go_in_pieces(fake: FakeLibrary, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(device_rollout, "AT_ONCE", size)
    kernel = on_cpu().to("cuda")
    for name in PIECES:
        states, given = call_of(name)
        emulate(fake, kernel, ROLLOUT)
        wanted = on_cpu().simulate(*states, record=RECORD, **given, **TOLD)
        check(None, kernel.simulate(*states, record=RECORD, **given, **TOLD), wanted)
        before = len(fake.launches)
        emulate(fake, kernel, ROLLOUT_GRADIENT)
        right = on_cpu().simulate_gradient(wanted, wanted, record=RECORD, **given, **TOLD)
        check(None, kernel.simulate_gradient(wanted, wanted, record=RECORD, **given, **TOLD), right)
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
    for count in (2, B):
        given = torques(count, N) | told
        check(None, kernel.simulate(Q, QD, **given), on_cpu().simulate(Q, QD, **given))
    assert 2 in [count for _, _, count, _ in fake.launches]


@pytest.mark.slow
@EVERY
def test_gradients_of_arrays_on_the_device_and_of_numpy(
    fake: FakeLibrary, torch: FakeTorch, name: str
) -> None:
    kernel = on_cpu().to("cuda")
    emulate(fake, kernel, ROLLOUT_GRADIENT)
    states, given = call_of(name)
    told = {"record": RECORD, **TOLD}
    kept = on_cpu().simulate(*states, **given, **told)
    for weights in (kept, tuple(x[..., -1, :] for x in kept)):
        wanted = on_cpu().simulate_gradient(kept, weights, **given, **told)
        tensors: Any = [tuple(torch.array(x) for x in pair) for pair in (kept, weights)]
        found = kernel.simulate_gradient(*tensors, **moved(torch, given), **told)
        assert type(found) is type(wanted)
        assert all(isinstance(x, torch.Tensor) for x in found)
        check(torch, found[:2], wanted[:2])
        check(torch, found[2:], wanted[2:], SLOPE)
        check(torch, kernel.simulate_gradient(kept, weights, **given, **told), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("library", FAKES)
def test_every_library_has_gradients_beside_its_states(
    fake: FakeLibrary, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    """With sums over arms by it."""
    arrays, kernel = FAKES[library](fake, monkeypatch), on_cpu().to("cuda")
    states, given = call_of("by step, shared")
    told, there = {"record": RECORD, **TOLD}, moved(arrays, given)
    emulate(fake, kernel, ROLLOUT)
    kept = on_cpu().simulate(*states, **given, **told)
    tensors: Any = [arrays.array(x) for x in states]
    check(arrays, kernel.simulate(*tensors, **there, **told), kept)
    emulate(fake, kernel, ROLLOUT_GRADIENT)
    weights = kept.q[:, -1], kept.qd[:, -1]
    pairs: Any = [tuple(arrays.array(x) for x in pair) for pair in (kept, weights)]
    wanted = on_cpu().simulate_gradient(kept, weights, **given, **told)
    check(arrays, kernel.simulate_gradient(*pairs, **there, **told), wanted, SLOPE)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(4,), (B, 4), (1, STEPS, 4), (B, STEPS, 4)])
def test_controllers_read_references(fake: FakeLibrary, torch: FakeTorch, shape: tuple[int, ...]) -> None:
    kernel, asked = on_cpu().to("cuda"), controller(*shape)
    here: dict[str, Any] = {"controller": asked, "record": RECORD, **TOLD}
    there = here | {"controller": replace(asked, reference=torch.array(asked.reference))}
    emulate(fake, kernel, ROLLOUT, asked)
    kept = on_cpu().simulate(Q, QD, **here)
    states: Any = torch.array(Q), torch.array(QD)
    for found in (kernel.simulate(*states, **here), kernel.simulate(*states, **there)):
        check(torch, found, kept)
    check(torch, kernel.simulate(Q, QD, **here), kept)
    emulate(fake, kernel, ROLLOUT_GRADIENT, asked)
    wanted = on_cpu().simulate_gradient(kept, kept, **here)
    states = tuple(torch.array(x) for x in kept)
    check(torch, kernel.simulate_gradient(states, states, **there), wanted, SLOPE)
    check(torch, kernel.simulate_gradient(kept, kept, **here), wanted)


@pytest.mark.slow
def test_voltages_single_precision_and_arrays_for_results(fake: FakeLibrary, torch: FakeTorch) -> None:
    here = on_cpu("float32")
    kernel: Any = here.to("cuda:0")
    emulate(fake, kernel, ROLLOUT, "voltage")
    q, qd, u = (x.astype("float32") for x in (Q, QD, 3.0 * QD))
    told = {"voltage": u, **TOLD}
    wanted = here.simulate(q, qd, **told)
    out: Any = torch.array(np.zeros_like(q)), torch.array(np.zeros_like(q))
    states: Any = torch.array(q), torch.array(qd)
    found = kernel.simulate(*states, out=out, **told | {"voltage": torch.array(u)})
    assert found.q is out[0]
    assert found.qd is out[1]
    check(torch, found, wanted)
    assert kernel.simulate(*states, out=states, **told).q is states[0]  # in their place
    check(torch, states, wanted)
    kernel.simulate(q, qd, out=(q, qd), **told)
    check(torch, (q, qd), wanted)
    taken: Any = torch.array(np.zeros((1 + B, N), "f4"))
    taken.view[:B] = wanted.q  # which the result lies across
    across = torch.part(taken, slice(0, B)), torch.part(taken, slice(1, None))
    qd = QD.astype("float32")
    again = kernel.simulate(across[0], torch.array(qd), out=(across[1], out[1]), **told)
    assert again.q is across[1]
    check(torch, again, here.simulate(wanted.q, qd, **told))


def refused(call: Any, said: str, *states: Any, **others: Any) -> None:
    with pytest.raises(InputError, match=f"^{said}"):
        call(*states, **TOLD | others)


def test_what_does_not_fit_is_refused(torch: FakeTorch) -> None:
    call = on_cpu().to("cuda").simulate
    q, qd = torch.array(Q), torch.array(QD)
    for second, said in (
        (QD.astype("f4"), "qd0: expected float64 on the device, got float32"),
        (np.zeros((B, 3)), r"qd0: .* has 2 joints, expected shape \(2,\) or \(B, 2\), got \(5, 3\)"),
        (QD[:3], "simulate: expected the same number of arms in all arguments"),
    ):
        refused(call, said, q, torch.array(second))
    refused(call, "q0: expected a device array like the others, got ndarray in host memory", Q, qd)
    refused(
        call, "qd0: q0 is on device 0; expected qd0 there too, got PyTorch, device 1", q, torch.array(QD, 1)
    )
    others: list[tuple[dict[str, Any], str]] = [
        ({"threads": 2}, "threads: a GPU distributes its work over its own threads; leave it out"),
        ({"torque": "much"}, "torque: expected an array of real numbers, got 'much'"),
        ({"torque": torch.array(np.zeros((3, 2)))}, r"torque: expected shape \(2,\) held, \(6, 2\) by step"),
        ({"torque": q, "voltage": q}, "simulate: expected one of torque, voltage and controller"),
        ({"out": (Q.copy(), QD.copy())}, "out: q0 is on device 0 .* got ndarray in host memory"),
        ({"out": (q, torch.array(Q[0]))}, r"out: expected a writeable C-contiguous array \(5, 2\)"),
    ]
    for options, said in others:
        refused(call, said, q, qd, **options)
    for name, value in (("out", (q, qd)), ("parameters", q)):
        refused(call, f"{name}: the states are in host memory", Q, QD, **{name: value})


def test_gradients_that_do_not_fit_are_refused(torch: FakeTorch) -> None:
    call = on_cpu().to("cuda").simulate_gradient
    kept = np.zeros((B, STEPS // RECORD + 1, N))
    there: Any = torch.array(kept), torch.array(kept)
    last = torch.array(Q)
    for states, weights, options, said in (
        (there, there, {"threads": 2}, "threads: a GPU distributes its work"),
        (
            there,
            there,
            {"record": 3},
            "simulate_gradient, states: expected q and qd as simulate returns them",
        ),
        (there, (last, there[0]), {}, r"simulate_gradient, weights: expected a pair of arrays \(5, 2\)"),
        ((kept, kept), there, {}, "states, q: expected a device array like the others, got ndarray"),
        ((there[0], torch.array(kept.astype("f4"))), there, {}, "states, qd: expected float64 on the device"),
        (there, (torch.array(Q, 1), last), {}, "weights, q: states, q is on device 0"),
        (
            there,
            there,
            {"torque": torch.array(np.zeros((3, STEPS, N)))},
            "simulate: expected the same number of arms",
        ),
    ):
        refused(call, said, states, weights, **{"record": RECORD} | options)
    stuck = fa.compile(ARM.with_drives(friction=fa.Friction(coulomb=1.0)), device="cuda")
    refused(stuck.simulate_gradient, ".*stick-slip motion has no gradient", there, there, record=RECORD)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_gradients_are_assembled(dtype: str) -> None:
    """By LLVM, without anything that a GPU lacks."""
    request = request_of(on_cpu(dtype), "rk4", RolloutDrive(controller=controller(4)).driven, 4)
    program, target = replace(request, function=ROLLOUT_GRADIENT).program(), DEVICE_TARGETS[dtype]
    made = assembly(device_module([gradient_kernel_text("entry", program, target, 64)], target))
    entry = made[made.index(".visible .entry entry(") :].partition(")")[0]
    assert entry.count(".param") == len(gradient_arguments(program, target)) == 12 + 12 + 1
    # All that is not in the module is the memory of a block.
    assert set(re.findall(r"\.extern [^;]*;", made)) <= {".extern .shared .align 16 .b8 shared[];"}
