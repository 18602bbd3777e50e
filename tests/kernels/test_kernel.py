"""Compiled functions: the reference's answers, bit for bit the same alone and in any
batch, whatever arrays come.
"""

from __future__ import annotations

import gc
import pickle
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import pytest
from arms import every_kind, posture, random_arm, speed
from kernels.truths import DOUBLE, FUNCTIONS, REFERENCE, SINGLE, allowed, assert_close, states
from sweeps import long

import forearm as fa
from forearm.kernels import fastcall
from forearm.kernels.compiled import Native
from forearm.kernels.thread_pool import ROWS, WORTH, shared_rows

KINDS = every_kind(5, 3)
ARMS = {f"{arm.name}-{i}": arm.rigid() for i, arm in enumerate(KINDS)}
ARMS |= {f"one-{i}": arm.rigid() for i, arm in enumerate(every_kind(3, 1)[:4])}
ARMS |= {name: fa.load(name) for name in ("puma560", "panda", "stanford")}


@pytest.fixture(scope="module")
def puma() -> Any:
    return fa.compile(ARMS["puma560"])


@pytest.mark.slow
@pytest.mark.parametrize("name", [*list(ARMS)[::2], *long(list(ARMS)[1::2])])
@pytest.mark.sweep(first=3)
def test_every_function_is_the_reference(name: str) -> None:
    arm, kernel = ARMS[name], fa.compile(ARMS[name])
    given = states(arm, 11)
    for function, count in FUNCTIONS.items():
        found, truth = getattr(kernel, function)(*given[:count]), REFERENCE[function](arm, *given[:count])
        assert_close(found, truth, allowed(arm, function, given[0]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["stanford", "puma560", "panda"])
@pytest.mark.sweep(first=1)
def test_single_precision(name: str) -> None:
    arm = ARMS[name]
    given = [v.astype(np.float32) for v in states(arm, 37)]
    kernel: Any = fa.compile(arm, dtype="float32")
    for function, count in FUNCTIONS.items():
        value = getattr(kernel, function)(*given[:count])
        assert value.dtype == np.float32
        if function != "forward_dynamics":
            assert_close(value, REFERENCE[function](arm, *(v.astype(float) for v in given[:count])), SINGLE)
        else:  # the wrist's inertia is a millionth of the shoulder's
            assert_close(kernel.inverse_dynamics(*given[:2], value), given[2], 1e-2)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 15, 17, 1003])
def test_a_state_has_the_same_bits_alone_and_anywhere(puma: Any, count: int) -> None:
    given = states(puma.arm, count, seed=count)
    whole = puma.inverse_dynamics(*given)
    for i in {0, count // 2, count - 1}:
        assert np.array_equal(puma.inverse_dynamics(*(v[i] for v in given)), whole[i])
        assert np.array_equal(puma.inverse_dynamics(*(v[i:] for v in given))[0], whole[i])


@pytest.mark.slow
def test_threads_change_no_bit(puma: Any) -> None:
    given = states(puma.arm, WORTH + 3)
    one = puma.inverse_dynamics(*given, threads=1)
    for threads in (None, 2, 16):
        assert np.array_equal(puma.inverse_dynamics(*given, threads=threads), one)
    few = [v[: ROWS + 1] for v in given]
    assert np.array_equal(puma.inverse_dynamics(*few, threads=5), one[: ROWS + 1])


@pytest.mark.slow
def test_nan_and_infinity_make_the_whole_state_nan(puma: Any) -> None:
    given = states(puma.arm, 10)
    clean = puma.inverse_dynamics(*given)
    for k in range(3):
        for bad in (np.nan, np.inf, -np.inf):
            spoilt = [v.copy() for v in given]
            spoilt[k][4, 0] = bad
            found = puma.inverse_dynamics(*spoilt)
            assert np.isnan(found[4]).all()
            assert np.array_equal(np.delete(found, 4, axis=0), np.delete(clean, 4, axis=0))
            assert np.isnan(puma.inverse_dynamics(*(v[4] for v in spoilt))).all()


@pytest.mark.parametrize(
    ("q", "qd", "message"),
    [
        ([0.0] * 5, 0.0, r"q: 'puma560' has 6 joints, expected shape \(6,\) or \(B, 6\), got \(5,\)"),
        (np.zeros((2, 6)), np.zeros((3, 6)), r"qd: expected a number, \(6,\) or \(2, 6\) beside q \(2, 6\)"),
        (0.0, np.zeros(6), r"q: 'puma560' has 6 joints, .* got \(\)"),
        (np.zeros((2, 2, 6)), 0.0, r"got \(2, 2, 6\)"),
        *(
            (bad, 0.0, "q: expected an array of real numbers")
            for bad in (["a"] * 6, np.zeros(6, complex), None)
        ),
    ],
)
def test_what_does_not_fit_is_told(puma: Any, q: Any, qd: Any, message: str) -> None:
    puma.bias(np.zeros(6), np.zeros(6))  # from now on called directly
    with pytest.raises(fa.InputError, match=message):
        puma.bias(q, qd)


def test_a_tensor_with_gradient_is_sent_to_the_functions_that_carry_one(puma: Any) -> None:
    class Tensor:
        requires_grad = True

        def __array__(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    with pytest.raises(fa.InputError, match=r"^q: the tensor requires a gradient.* k\.torch, or q\.detach"):
        puma.gravity(Tensor())
    Tensor.requires_grad = False
    with pytest.raises(RuntimeError, match="Can't call"):
        puma.gravity(Tensor())


def test_wrong_calls_are_python_s_own_errors(puma: Any) -> None:
    z = np.zeros(6)
    puma.gravity(z)
    for call in (puma.gravity, lambda: puma.gravity(z, z, z, z), lambda: puma.gravity(z, wrong=z)):
        with pytest.raises(TypeError):
            call()
    for threads in (0, -1, 1.5):
        with pytest.raises(fa.InputError, match="threads: expected a whole number of at least 1"):
            puma.gravity(z[None], threads=threads)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dtype": "float16"}, "dtype: expected one of float64, float32"),
        ({"dtype": np.float16}, "dtype: expected one of float64, float32"),
        ({"device": "cudo"}, "device: expected one of cpu, cuda, cuda:1, got 'cudo'"),
        ({"fast": True}, "fast: only available for float32 on a GPU, got float64 on 'cpu'"),
        ({"arm": "puma560"}, "expected an Arm"),
        ({"arm": random_arm(1, 0, drives=False)}, "no movable joint"),
    ],
    ids=str,
)
def test_compile_says_what_it_takes(given: dict[str, Any], message: str) -> None:
    with pytest.raises(fa.InputError, match=message):
        fa.compile(**{"arm": KINDS[0]} | given)


def test_counts_are_those_of_generated_code(puma: Any) -> None:
    for name in ("inverse_dynamics", "jacobian"):
        assert puma.counts[name] == fa.generate(puma.arm, name).counts
    assert "forward_dynamics" in puma.counts
    assert repr(puma.counts).startswith("<counts of 'puma560' by name: inverse_dynamics, ")
    with pytest.raises(fa.NameNotFound, match="did you mean 'gravity'"):
        puma.counts["gravty"]
    made = fa.generate(KINDS[0], "gravity")
    assert len(repr(made)) < 200
    assert str(made.counts) in repr(made)


def test_dtypes_may_be_numpy_s() -> None:
    for dtype in (np.float32, np.dtype("float32")):
        assert fa.compile(KINDS[0], dtype=dtype).dtype == "float32"


def test_kernels_pickle(puma: Any) -> None:
    q = posture(puma.arm, 3)
    assert np.array_equal(pickle.loads(pickle.dumps(puma)).gravity(q), puma.gravity(q))


def test_functions_outlive_their_kernel_and_hold_it_no_longer_than_that() -> None:
    kernel: Any = fa.compile(random_arm(2, 1, drives=False).rigid())
    kernel.gravity(np.zeros(1))
    called, gone = kernel.gravity, weakref.ref(kernel)
    del kernel
    gc.collect()
    assert np.isfinite(called(np.zeros(1))).all()
    del called
    gc.collect()
    assert gone() is None


def test_threads_that_call_a_kernel_first_share_its_code() -> None:
    kernel: Any = fa.compile(KINDS[1].rigid())
    given = [v[0] for v in states(kernel.arm, 1)]
    begin = threading.Barrier(8)

    def work(_: int) -> Any:
        begin.wait()
        return kernel.inverse_dynamics(*given), kernel.compiled("inverse_dynamics").part("single")

    with ThreadPoolExecutor(8) as pool:
        answers, parts = zip(*pool.map(work, range(8)), strict=True)
    assert all(np.array_equal(a, answers[0]) for a in answers)
    assert len(set(map(id, parts))) == 1


def test_an_interrupt_leaves_no_thread_at_work() -> None:
    main, begun, ended = threading.current_thread(), threading.Event(), []

    def call(*_: int) -> None:
        if threading.current_thread() is main:
            begun.wait()
            raise KeyboardInterrupt
        begun.set()
        time.sleep(0.05)
        ended.append(threading.current_thread())

    with pytest.raises(KeyboardInterrupt):
        shared_rows(Native(call, 0), [np.zeros(1000)], [8], 1000, 3)
    assert 1 <= len(ended) <= 2, "each ends the block that it had begun, and begins no other"
    found = len(ended)
    time.sleep(0.15)
    assert len(ended) == found, "nobody is at work any more"


def test_where_there_are_no_more_threads_the_others_do_the_work(
    puma: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    q, qd, x = states(puma.arm, 2 * ROWS)
    together = puma.inverse_dynamics(q, qd, x, threads=1)

    asked = []

    def refused(*_: object) -> None:
        asked.append(1)
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("forearm.kernels.thread_pool.start_new_thread", refused)
    assert np.array_equal(puma.inverse_dynamics(q, qd, x, threads=2), together)
    assert asked == [1]


def test_without_the_direct_call_the_same_bits(puma: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [v[0] for v in states(puma.arm, 1)]
    monkeypatch.setattr(fastcall, "is_possible", lambda: False)
    ordinary = fa.compile(puma.arm)
    for kernel, is_direct in ((puma, True), (ordinary, False)):
        found = [kernel.inverse_dynamics(*given) for _ in range(2)]
        assert np.array_equal(found, [puma.inverse_dynamics(*given)] * 2)
        assert isinstance(kernel.inverse_dynamics, BuiltinFunctionType) is is_direct


@pytest.mark.parametrize("name", ["DATA", "ND", "DIMENSIONS", "DESCR", "FLAGS", "TUPLE_ITEMS"])
def test_the_probe_notices_another_layout(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fastcall.is_possible.__wrapped__()
    monkeypatch.setattr(fastcall, name, getattr(fastcall, name) + 8)
    assert not fastcall.is_possible.__wrapped__()


@pytest.mark.slow
def test_angles_far_from_zero() -> None:
    arm = ARMS["panda"]
    double, single = fa.compile(arm), fa.compile(arm, "float32")
    x = np.random.default_rng(1).uniform(-1.0, 1.0, (9, arm.n))
    assert_close(single.gravity(1e3 * x), fa.dynamics.gravity(arm, 1e3 * x), 1e-3)
    for size in (1e2, 9e4, 2e5, 1e9):  # joint 7 turns by q + a constant, a sum that is rounded
        truth = fa.dynamics.gravity(arm, size * x)
        assert_close(double.gravity(size * x), truth, max(DOUBLE, size * np.finfo(float).eps))


def test_speeds_of_zero_have_no_friction(puma: Any) -> None:
    q = posture(puma.arm, 1)
    rest = np.zeros(puma.arm.n)
    assert np.array_equal(puma.bias(q, rest), puma.gravity(q))
    assert np.abs(puma.bias(q, 1e-9 * speed(puma.arm, 1)) - puma.gravity(q)).min() > 0.1
