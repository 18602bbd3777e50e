"""The builder of LLVM's text: loops, branches and values that meet, compiled and called."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from forearm.kernels.llvm import IRFunction, Value, constants, joined, stack_of, variables, vector
from forearm.kernels.native import function_of, loaded, object_code


def called(write: Callable[[IRFunction, Value, Value], None], count: int, *parts: str) -> Any:
    """What `void f(to, count)` leaves in 8 whole numbers, -1 each before."""
    f = IRFunction("f", {"to": "ptr", "count": "i64"})
    write(f, *f.arguments)
    f.ret()
    memory = loaded(object_code(joined([*parts, f.text()])), ["f"])
    to = np.full(8, -1)
    function_of(memory, "f", ctypes.c_void_p, ctypes.c_int64)(to.ctypes.data, count)
    return to


@pytest.mark.parametrize(("first", "step"), [(0, 1), (1, 3), (7, -1), (6, -2)])
@pytest.mark.parametrize("is_known", [False, True])
def test_a_loop_goes_through_the_numbers_of_a_range(first: int, step: int, is_known: bool) -> None:
    for bound in (-1, 0, 1, 4, 7, 8):

        def write(f: IRFunction, to: Value, count: Value, bound: int = bound) -> None:
            with f.loop(first, bound if is_known else count, step) as i:
                f.store(f.op("mul", i, i), f.at(to, i, "i64"))

        here = range(first, bound, step)
        if is_known and not here:
            continue  # such a loop is not written
        assert called(write, bound).tolist() == [k * k if k in here else -1 for k in range(8)]


def test_values_meet_behind_a_branch() -> None:
    def write(f: IRFunction, to: Value, count: Value) -> None:
        with f.loop(0, 8) as i:
            with f.when(f.compared("slt", i, count)) as end:
                low = f.op("add", i, 100)
            with f.unless(f.compared("eq", f.phi(end, i, low), 5)):
                f.store(low_or(f, i, count), f.at(to, i, "i64"))

    def low_or(f: IRFunction, i: Value, count: Value) -> Value:
        end = f.label()
        with f.when(f.compared("slt", i, count)):
            low = f.op("add", i, 100)
            f.go(end)
        high = f.op("sub", 0, i)
        f.begin(end)
        return f.phi(end, low, high)

    assert called(write, 3).tolist() == [100, 101, 102, -3, -4, -1, -6, -7]


def test_a_loop_carries_values_goes_on_early_and_is_left() -> None:
    """The sum of odd numbers until it reaches the count, and the number that reached it."""

    def write(f: IRFunction, to: Value, count: Value) -> None:
        with f.repeat(0, 0) as turn:
            i, total = turn.now
            after = f.op("add", i, 1)
            with f.unless(f.cast("trunc", i, "i1")):
                turn.again(after, total)
            more = f.op("add", total, i)
            f.store(more, to)
            f.store(i, f.at(to, 1, "i64"))
            f.go(turn.end, where=f.compared("sge", more, count))
            turn.again(after, more)

    assert called(write, 10).tolist()[:2] == [16, 7]


def test_a_return_within_a_branch_ends_the_function() -> None:
    def write(f: IRFunction, to: Value, count: Value) -> None:
        with f.when(f.compared("eq", count, 0)):
            f.ret()
        f.store(count, to)

    assert [called(write, k)[0] for k in (0, 3)] == [-1, 3]


def test_tables_memory_calls_and_vectors() -> None:
    inner = IRFunction("twice", {"x": "i64"}, "i64", internal=True)
    inner.ret(inner.op("mul", inner.arguments[0], 2))

    def write(f: IRFunction, to: Value, _: Value) -> None:
        kept = f.space("i64", 4)
        f.store(vector("i64", [4, 5, 6, 7]), kept, align=8)
        with f.loop(0, 4) as i:
            there = f.at(kept, i, "i64")
            one = f.op("add", f.load("i64", there), f.load("i64", f.at("@table", i, "i64")))
            f.store(f.call("twice", one, kind="i64"), f.at("@shared", i, "i64"))
        four = f.load("<4 x i64>", "@shared", align=8)
        f.store(f.chosen(f.compared("sgt", four, 30), four, 0), to, align=8)
        f.store(f.lane(four, 3), f.at(to, 7, "i64"))

    parts = [constants("table", "i64", [1, 10, 100, 1000]), variables("shared", "i64", 4), inner.text()]
    assert called(write, 0, *parts).tolist() == [0, 0, 212, 2014, -1, -1, -1, 2014]


def test_the_stack_is_counted_in_bytes() -> None:
    f = IRFunction("f")
    f.space("double", 12)
    f.space("float", 3)
    f.ret()
    assert stack_of(f.text()) == 12 * 8 + 3 * 4
