"""`fa.compile(arm, device="cuda")` on the fake driver, whose kernels are the CPU's: every array of a call
reaches its place, whatever library it is of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from kernels.cuda.fake_arrays import FakeTorch, memory_view
from kernels.cuda.fake_driver import FakeLibrary

import forearm as fa
from forearm.errors import InputError

ARM = random_arm(5, 2, prismatic=False)
N = ARM.n
random = np.random.default_rng(23)
Q, QD, QDD = random.normal(size=(3, 30, N))


def emulate(library: FakeLibrary, kernel: Any, name: str, each: bool = False) -> Any:
    """Whatever is launched from now on computes what the method of a CPU's kernel does, which is returned."""
    counterpart = fa.compile(ARM, kernel.dtype, parameters=tuple(kernel.parameters))
    function = kernel.compiled(name)
    library.define("entry", 0, print)  # until it is known how many arrays there are
    slots, first = (*function.inputs, *function.outputs), len(function.inputs)

    def act(addresses: Sequence[int], count: int) -> None:
        shapes = [(count, *slot.shape) for slot in slots]
        if kernel.parameters and not each:
            shapes[first - 1] = slots[first - 1].shape
        views = [memory_view(a, s, kernel.dtype) for a, s in zip(addresses, shapes, strict=True)]
        options = {"parameters": views[first - 1]} if kernel.parameters else {}
        made = getattr(counterpart, name)(*views[: first - bool(options)], **options)
        for view, result in zip(views[first:], made if isinstance(made, tuple) else (made,), strict=True):
            view[...] = result

    library.define("entry", len(slots), act)
    return getattr(counterpart, name)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_torques_of_arrays_on_the_device_and_of_numpy(
    fake: FakeLibrary, torch: FakeTorch, dtype: str
) -> None:
    kernel: Any = fa.compile(ARM, dtype, device="cuda")
    states = [a.astype(dtype) for a in (Q, QD, QDD)]
    wanted = emulate(fake, kernel, "inverse_dynamics")(*states)
    tensors = [torch.array(a) for a in states]
    for _ in range(3):
        result = kernel.inverse_dynamics(*tensors)
        assert np.array_equal(torch.values(result), wanted)
    out: Any = torch.array(np.zeros((30, N), dtype))
    for _ in range(2):
        assert kernel.inverse_dynamics(*tensors, out=out) is out
        assert np.array_equal(torch.values(out), wanted)
        out.view[...] = 0.0
    assert np.array_equal(kernel.inverse_dynamics(*states), wanted)
    one = kernel.inverse_dynamics(*(torch.array(a[0]) for a in states))
    assert np.array_equal(torch.values(one), wanted[0])
    assert np.array_equal(kernel.inverse_dynamics(*(a[0] for a in states)), wanted[0])
    with pytest.raises(InputError, match=r"^qd: .* has 2 joints, expected shape \(2,\) or \(B, 2\)"):
        kernel.inverse_dynamics(tensors[0], torch.array(np.zeros((30, 3), dtype)), tensors[2])


@pytest.mark.slow
def test_derivatives_are_three_arrays(fake: FakeLibrary, torch: FakeTorch) -> None:
    kernel: Any = fa.compile(ARM, device="cuda")
    wanted = emulate(fake, kernel, "inverse_dynamics_derivatives")(Q, QD, QDD)
    for _ in range(2):
        made = kernel.inverse_dynamics_derivatives(*(torch.array(a) for a in (Q, QD, QDD)))
        for result, value in zip(made, wanted, strict=True):
            assert np.array_equal(torch.values(result), value)


@pytest.mark.slow
@pytest.mark.parametrize("each", [False, True])
def test_open_parameters(fake: FakeLibrary, torch: FakeTorch, each: bool) -> None:
    kernel: Any = fa.compile(ARM, parameters=f"{ARM.links[-1].name}.mass", device="cuda")
    p = random.uniform(1.0, 2.0, size=(30, 1) if each else 1)
    wanted = emulate(fake, kernel, "inverse_dynamics", each)(Q, QD, QDD, parameters=p)
    tensors = [torch.array(a) for a in (Q, QD, QDD)]
    for values in (p, torch.array(p)):
        result = kernel.inverse_dynamics(*tensors, parameters=values)
        assert np.array_equal(torch.values(result), wanted)
    assert np.array_equal(kernel.inverse_dynamics(Q, QD, QDD, parameters=p), wanted)
