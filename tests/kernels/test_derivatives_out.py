"""Derivatives written to arrays that the caller gives: the same bits, the same objects, clear refusals."""

from __future__ import annotations

from types import BuiltinFunctionType
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from dynamics.cases import simple_drives

import forearm as fa
from forearm.kernels import fastcall

KERNEL = fa.compile(simple_drives(random_arm(11, 3, "standard")))
N = KERNEL.arm.n
FUNCTIONS = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives")


def given(count: int | None = None) -> list[Any]:
    shape = (N,) if count is None else (count, N)
    return list(np.random.default_rng(3).uniform(-1.0, 1.0, (3, *shape)))


def empty(count: int | None = None) -> tuple[Any, Any, Any]:
    made = np.full((3, N, N) if count is None else (3, count, N, N), 7.0)
    return made[0].copy(), made[1].copy(), made[2].copy()


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_go_to_the_arrays_given(function: str) -> None:
    for count in (None, 1, 5, 300):
        states = given(count)
        truth = getattr(KERNEL, function)(*states)
        for _ in range(2):  # the ordinary way, then directly
            out = empty(count)
            found = getattr(KERNEL, function)(*states, out=out)
            assert all(a is b for a, b in zip(found, out, strict=True))
            assert all(np.array_equal(a, b) for a, b in zip(found, truth, strict=True))
        out = empty(count)
        getattr(KERNEL, function)(*states, threads=1, out=list(out))
        assert all(np.array_equal(a, b) for a, b in zip(out, truth, strict=True))
    if fastcall.is_possible():
        assert isinstance(getattr(KERNEL, function), BuiltinFunctionType)


def test_a_batch_that_lies_across_the_states_is_computed_apart() -> None:
    memory = np.zeros((4 * N, N, N))
    states = given(4)
    truth = KERNEL.inverse_dynamics_derivatives(*states)
    q = memory.reshape(-1, N)[:4]
    q[:] = states[0]
    out = (memory[:4], *empty(4)[1:])
    for a, b in zip(KERNEL.inverse_dynamics_derivatives(q, *states[1:], out=out), truth, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize(
    ("out", "text"),
    [
        (np.zeros((3, 3, 3)), "out: expected a tuple of three arrays, got "),
        (empty()[:2], "out: expected a tuple of three arrays, got "),
        (
            (np.zeros((3, 4)), *empty()[1:]),
            r"out: expected a writeable C-contiguous array \(3, 3\) of float64",
        ),
    ],
)
def test_other_arrays_are_refused(out: Any, text: str) -> None:
    for _ in range(2):
        with pytest.raises(fa.InputError, match=text):
            KERNEL.inverse_dynamics_derivatives(*given(), out=out)


@pytest.mark.slow
def test_long_arms_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forearm.kernels.compile_request.LONGEST_TRACED", 2)
    kernel = fa.compile(fa.load("chain3"))
    states = given(2)
    for function in FUNCTIONS:
        out, truth = empty(2), getattr(kernel, function)(*states)
        found = getattr(kernel, function)(*states, out=out)
        assert all(a is b for a, b in zip(found, out, strict=True))
        assert all(np.array_equal(a, b) for a, b in zip(found, truth, strict=True))
