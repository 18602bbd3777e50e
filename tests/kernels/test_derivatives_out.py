"""Derivatives written to arrays that the caller gives: the same bits, the same objects, clear refusals."""

from __future__ import annotations

from types import BuiltinFunctionType
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from dynamics.cases import simple_drives
from kernels.truths import same

import forearm as fa
from forearm.kernels import fastcall

KERNEL = fa.compile(simple_drives(random_arm(11, 2, "standard")))
N = KERNEL.arm.n
FUNCTIONS = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives")


def given(count: int | None = None) -> Any:
    return np.random.default_rng(3).uniform(-1.0, 1.0, (3, N) if count is None else (3, count, N))


def empty(count: int | None = None) -> tuple[Any, Any, Any]:
    shape = (N, N) if count is None else (count, N, N)
    return np.full(shape, 7.0), np.full(shape, 7.0), np.full(shape, 7.0)


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("is_long", [False, True])
def test_results_go_to_the_arrays_given(
    is_long: bool, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_long:
        monkeypatch.setattr("forearm.kernels.compile_request.LONGEST_TRACED", 1)
    kernel = fa.compile(random_arm(12, N).rigid()) if is_long else KERNEL
    for count in (None, 1, 5, 300):
        truth = getattr(kernel, function)(*given(count))
        for _ in range(2):  # the ordinary way, then directly
            out = empty(count)
            found = getattr(kernel, function)(*given(count), out=out)
            assert all(a is b for a, b in zip(found, out, strict=True))
            assert same(found, truth)
        out = empty(count)
        getattr(kernel, function)(*given(count), threads=1, out=list(out))
        assert same(out, truth)
    if fastcall.is_possible():
        assert isinstance(getattr(KERNEL, function), BuiltinFunctionType)


def test_a_batch_that_lies_across_the_states_is_computed_apart() -> None:
    memory, states = np.zeros((4 * N, N, N)), given(4)
    truth = KERNEL.inverse_dynamics_derivatives(*states)
    q = memory.reshape(-1, N)[:4]
    q[:] = states[0]
    out = (memory[:4], *empty(4)[1:])
    assert same(KERNEL.inverse_dynamics_derivatives(q, *states[1:], out=out), truth)


@pytest.mark.parametrize(
    ("out", "text"),
    [
        (np.zeros((3, 2, 2)), "out: expected a tuple of three arrays, got "),
        ((np.zeros((2, 2)),) * 2, "out: expected a tuple of three arrays, got "),
        ((np.zeros((2, 4)),) * 3, r"out: expected a writeable C-contiguous array \(2, 2\) of float64"),
    ],
)
def test_other_arrays_are_refused(out: Any, text: str) -> None:
    for _ in range(2):
        with pytest.raises(fa.InputError, match=text):
            KERNEL.inverse_dynamics_derivatives(*given(), out=out)
