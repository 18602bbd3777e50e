"""Compiled functions: the reference's answers, bit for bit the same alone and in any
batch, whatever arrays come.
"""

from __future__ import annotations

import gc
import pickle
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import pytest
from arms import every_kind, posture, random_arm, speed
from sweeps import long

import forearm as fa
from forearm.kernels import fastcall
from forearm.kernels.compiled import Native
from forearm.kernels.kernel import Kernel
from forearm.kernels.thread_pool import ROWS, WORTH, shared_rows

DOUBLE = 1e-12  # relative to the largest entry
SINGLE = 1e-4
FORWARD = 1e-12  # times the condition number of M
STEP = 1e-6
SLOPE = 1e-6  # what central differences with STEP are wrong by, relative


def states(arm: fa.Arm, count: int, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    q = posture(arm, seed, count)
    return [q, rng.uniform(-2.0, 2.0, (count, arm.n)), rng.uniform(-3.0, 3.0, (count, arm.n))]


def assert_close(got: Any, want: Any, tolerance: float) -> None:
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= tolerance * np.abs(want).max()


def each(kernel: Kernel, q: Any, qd: Any, x: Any) -> dict[str, Any]:
    return {
        "inverse_dynamics": kernel.inverse_dynamics(q, qd, x),
        "forward_dynamics": kernel.forward_dynamics(q, qd, x),
        "inertia_matrix": kernel.inertia_matrix(q),
        "bias": kernel.bias(q, qd),
        "gravity": kernel.gravity(q),
        "forward_kinematics": kernel.forward_kinematics(q),
        "jacobian": kernel.jacobian(q),
    }


def reference(arm: fa.Arm, q: Any, qd: Any, x: Any) -> dict[str, Any]:
    return {
        "inverse_dynamics": fa.dynamics.inverse(arm, q, qd, x),
        "forward_dynamics": fa.dynamics.forward(arm, q, qd, x, method="composite-body"),
        "inertia_matrix": fa.dynamics.inertia_matrix(arm, q),
        "bias": fa.dynamics.bias(arm, q, qd),
        "gravity": fa.dynamics.gravity(arm, q),
        "forward_kinematics": fa.kinematics.forward(arm, q),
        "jacobian": fa.kinematics.jacobian(arm, q),
    }


ARMS = {name: fa.load(name) for name in ("puma560", "panda", "stanford")}
ARMS |= {f"{arm.name}-{i}": arm.rigid() for i, arm in enumerate(every_kind(5, 3))}
ARMS |= {f"one-{i}": arm.rigid() for i, arm in enumerate(every_kind(3, 1)[:4])}


@pytest.fixture(scope="module")
def puma() -> Any:
    return fa.compile(ARMS["puma560"])


@pytest.mark.slow
@pytest.mark.parametrize("name", [*list(ARMS)[::2], *long(list(ARMS)[1::2])])
@pytest.mark.sweep(first=3)
def test_every_function_is_the_reference(name: str) -> None:
    arm = ARMS[name]
    q, qd, x = states(arm, 11)
    found, truth = each(fa.compile(arm), q, qd, x), reference(arm, q, qd, x)
    condition = float(np.linalg.cond(truth["inertia_matrix"]).max())
    for function, value in found.items():
        assert_close(
            value, truth[function], FORWARD * condition if function == "forward_dynamics" else DOUBLE
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["puma560", "panda"])
@pytest.mark.sweep(first=1)
def test_single_precision(name: str) -> None:
    arm = ARMS[name]
    given = [v.astype(np.float32) for v in states(arm, 37)]
    kernel = fa.compile(arm, dtype="float32")
    found, truth = each(kernel, *given), reference(arm, *(v.astype(float) for v in given))
    for function, value in found.items():
        assert value.dtype == np.float32
        if function != "forward_dynamics":
            assert_close(value, truth[function], SINGLE)
    back = kernel.inverse_dynamics(given[0], given[1], found["forward_dynamics"])
    assert_close(back, given[2], 1e-2)  # the wrist's inertia is a millionth of the shoulder's


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 15, 17, 64, 1003])
def test_a_state_has_the_same_bits_alone_and_anywhere(puma: Any, count: int) -> None:
    q, qd, x = states(puma.arm, count, seed=count)
    whole = puma.inverse_dynamics(q, qd, x)
    for i in {0, count // 2, count - 1}:
        assert np.array_equal(puma.inverse_dynamics(q[i], qd[i], x[i]), whole[i])
        assert np.array_equal(puma.inverse_dynamics(q[i:], qd[i:], x[i:])[0], whole[i])


@pytest.mark.slow
def test_threads_change_no_bit(puma: Any) -> None:
    given = states(puma.arm, WORTH + 3)
    one = puma.forward_dynamics(*given, threads=1)
    for threads in (None, 2, 3, 16):
        assert np.array_equal(puma.forward_dynamics(*given, threads=threads), one)
    assert np.array_equal(puma.forward_dynamics(*(v[: ROWS + 1] for v in given), threads=5), one[: ROWS + 1])


@pytest.mark.long
def test_derivatives_are_slopes(puma: Any) -> None:
    arm = puma.arm
    q, qd, x = states(arm.rigid(), 3, seed=8)
    rigid = fa.compile(arm.rigid())
    for function, derivatives in (
        (rigid.inverse_dynamics, rigid.inverse_dynamics_derivatives(q, qd, x)),
        (rigid.forward_dynamics, rigid.forward_dynamics_derivatives(q, qd, x)),
    ):
        for k, found in enumerate(derivatives):
            for j in range(arm.n):
                ahead, behind = [v.copy() for v in (q, qd, x)], [v.copy() for v in (q, qd, x)]
                ahead[k][:, j] += STEP
                behind[k][:, j] -= STEP
                slope = (function(*ahead) - function(*behind)) / (2.0 * STEP)
                assert np.abs(found[:, :, j] - slope).max() <= SLOPE * np.abs(found).max()
    M, inverse = rigid.inertia_matrix(q), rigid.forward_dynamics_derivatives(q, qd, x)[2]
    assert np.allclose(M @ inverse, np.eye(arm.n), atol=1e-9)
    assert_close(rigid.inverse_dynamics_derivatives(q, qd, x)[2], M, DOUBLE)


def test_whatever_arrays_come(puma: Any) -> None:
    q, qd, x = states(puma.arm, 6)
    want = puma.inverse_dynamics(q, qd, x)
    wide = np.zeros((12, 18))
    wide[::2, ::3] = q
    for other in (
        q.tolist(),
        wide[::2, ::3],
        np.asfortranarray(q),
        q.astype(">f8"),
        q[:, ::-1][:, ::-1],
        q.view(Sub),
    ):
        assert np.array_equal(puma.inverse_dynamics(other, qd, x), want)
        first = other[0]
        assert np.array_equal(puma.inverse_dynamics(first, qd[0], x[0]), want[0])
    frozen = q.copy()
    frozen.flags.writeable = False
    assert np.array_equal(puma.inverse_dynamics(frozen, qd, x), want)
    whole = np.ones((2, puma.arm.n), dtype=int)
    assert np.array_equal(puma.gravity(whole), puma.gravity(whole.astype(float)))
    assert np.array_equal(puma.gravity(whole[0]), puma.gravity(whole[0].astype(float)))
    unaligned = np.frombuffer(b"x" + q[0].tobytes(), dtype=np.float64, offset=1)
    assert np.array_equal(puma.gravity(unaligned), puma.gravity(q[0]))
    assert puma.inverse_dynamics(q[:0], qd[:0], x[:0]).shape == (0, puma.arm.n)
    assert puma.inertia_matrix(q[:0]).shape == (0, puma.arm.n, puma.arm.n)


class Sub(np.ndarray):
    """An array that is not exactly an array."""


def test_out_is_filled_and_returned(puma: Any) -> None:
    q, qd, x = states(puma.arm, 5)
    want = puma.inverse_dynamics(q, qd, x)
    for given, expected in (((q, qd, x), want), ((q[2], qd[2], x[2]), want[2])):
        out = np.full_like(expected, 7.0)
        assert puma.inverse_dynamics(*given, out=out) is out
        assert np.array_equal(out, expected)
        assert puma.inverse_dynamics(given[0], given[1], qdd=given[2], out=out) is out
        assert puma.inverse_dynamics(*given, out) is out
    M = np.zeros((puma.arm.n, puma.arm.n))
    assert puma.inertia_matrix(q[0], out=M) is M
    assert np.array_equal(M, puma.inertia_matrix(q)[0])
    frozen = np.zeros(puma.arm.n)
    frozen.flags.writeable = False
    for wrong in (
        np.zeros(5),
        np.zeros(6, dtype=np.float32),
        np.zeros((1, 6)),
        np.zeros(12)[::2],
        frozen,
        [0.0] * 6,
    ):
        with pytest.raises(fa.InputError, match="out: expected a writeable C-contiguous array"):
            puma.inverse_dynamics(q[0], qd[0], x[0], out=wrong)


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
    spoilt[0][4, 0] = np.nan
    assert np.isnan(puma.forward_dynamics_derivatives(*spoilt)[0][4]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ([0.0] * 5, [0.0] * 6, [0.0] * 6),
            r"q: 'puma560' has 6 joints, expected shape \(6,\) or \(B, 6\), got \(5,\)",
        ),
        (
            (np.zeros((2, 6)), np.zeros((3, 6)), np.zeros((2, 6))),
            r"qd: expected a number, \(6,\) or \(2, 6\) beside q \(2, 6\), got \(3, 6\)",
        ),
        ((np.zeros(6), np.zeros((3, 6)), np.zeros((2, 6))), r"qdd: .* beside qd \(3, 6\), got \(2, 6\)"),
        ((0.0, np.zeros(6), np.zeros(6)), r"q: 'puma560' has 6 joints, .* got \(\)"),
        ((np.zeros((2, 2, 6)),) * 3, "got \\(2, 2, 6\\)"),
        ((["a"] * 6,) * 3, "q: expected an array of real numbers"),
        ((np.zeros(6, dtype=complex),) * 3, "q: expected an array of real numbers"),
        ((None,) * 3, "q: expected an array of real numbers"),
    ],
)
def test_what_does_not_fit_is_told(puma: Any, arguments: Any, message: str) -> None:
    puma.inverse_dynamics(np.zeros(6), np.zeros(6), np.zeros(6))  # from now on called directly
    with pytest.raises(fa.InputError, match=message):
        puma.inverse_dynamics(*arguments)


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


def test_compile_says_what_it_takes() -> None:
    arm = ARMS["puma560"]
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"dtype": "float16"}, "dtype: expected one of float64, float32"),
        ({"device": "cudo"}, "device: expected one of cpu, cuda, cuda:1, got 'cudo'"),
        ({"fast": True}, "fast: only available for float32 on a GPU, got float64 on 'cpu'"),
    )
    for given, message in cases:
        with pytest.raises(fa.InputError, match=message):
            fa.compile(arm, **given)
    with pytest.raises(fa.InputError, match="expected an Arm"):
        fa.compile("puma560")  # type: ignore[arg-type]
    with pytest.raises(fa.InputError, match="no movable joint"):
        fa.compile(random_arm(1, 0, drives=False))
    with pytest.raises(fa.NameNotFound, match="did you mean 'gravity'"):
        fa.compile(arm).counts["gravty"]


def test_counts_are_those_of_generated_code(puma: Any) -> None:
    for name in ("inverse_dynamics", "jacobian"):
        assert puma.counts[name] == fa.generate(puma.arm, name).counts
    assert "forward_dynamics" in puma.counts


def test_kernels_pickle(puma: Any) -> None:
    q = posture(puma.arm, 3)
    again = pickle.loads(pickle.dumps(puma))
    assert np.array_equal(again.gravity(q), puma.gravity(q))


def test_many_threads_may_compile_and_call_at_once() -> None:
    kernel = fa.compile(ARMS["stanford"])
    q, qd, x = states(kernel.arm, 4)
    begin = threading.Barrier(8)

    def work(_: int) -> Any:
        begin.wait()
        return [kernel.inverse_dynamics(q[0], qd[0], x[0]) for _ in range(200)]

    with ThreadPoolExecutor(8) as pool:
        answers = [a for some in pool.map(work, range(8)) for a in some]
    assert all(np.array_equal(a, answers[0]) for a in answers)


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
    monkeypatch.setattr(fastcall, "is_possible", lambda: False)
    ordinary = fa.compile(puma.arm)
    q, qd, x = states(puma.arm, 3)
    for i in range(3):
        assert np.array_equal(
            ordinary.inverse_dynamics(q[i], qd[i], x[i]), puma.inverse_dynamics(q[i], qd[i], x[i])
        )
    assert not isinstance(ordinary.inverse_dynamics, BuiltinFunctionType)
    assert isinstance(puma.inverse_dynamics, BuiltinFunctionType)


def test_the_probe_notices_another_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fastcall.is_possible.__wrapped__()
    for name, value in (
        ("DATA", 24),
        ("ND", 28),
        ("DIMENSIONS", 40),
        ("DESCR", 48),
        ("FLAGS", 68),
        ("TUPLE_ITEMS", 32),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(fastcall, name, value)
            assert not fastcall.is_possible.__wrapped__(), name


@pytest.mark.slow
def test_direct_calls_leak_nothing(puma: Any) -> None:
    q, qd, x = (v[0] for v in states(puma.arm, 1))
    out = np.zeros(puma.arm.n)
    before = [sys.getrefcount(o) for o in (q, qd, x, out, np.dtype(np.float64), np.ndarray)]
    for _ in range(1000):
        puma.inverse_dynamics(q, qd, x, out=out)
        puma.inverse_dynamics(q, qd, x)
    after = [sys.getrefcount(o) for o in (q, qd, x, out, np.dtype(np.float64), np.ndarray)]
    assert all(abs(a - b) < 20 for a, b in zip(after, before, strict=True))
    kernel = fa.compile(random_arm(2, 1, drives=False).rigid())
    kernel.gravity(np.zeros(1))
    called, gone = kernel.gravity, weakref.ref(kernel)
    del kernel
    gc.collect()
    assert np.isfinite(called(np.zeros(1))).all()
    del called
    gc.collect()
    assert gone() is None


@pytest.mark.slow
def test_angles_far_from_zero() -> None:
    arm = ARMS["panda"]
    kernel = fa.compile(arm)
    for size in (1e2, 9e4, 2e5, 1e9):
        q = size * np.random.default_rng(1).uniform(-1.0, 1.0, (9, arm.n))
        # joint 7 turns by q + a constant, a sum that is rounded
        assert_close(kernel.gravity(q), fa.dynamics.gravity(arm, q), max(DOUBLE, size * np.finfo(float).eps))
        assert_close(
            fa.compile(arm, "float32").gravity(q[:2] / size * 1e3),
            fa.dynamics.gravity(arm, q[:2] / size * 1e3),
            1e-3,
        )


def test_speeds_of_zero_have_no_friction(puma: Any) -> None:
    q = posture(puma.arm, 1)
    rest = np.zeros(puma.arm.n)
    assert np.array_equal(puma.bias(q, rest), puma.gravity(q))
    assert np.abs(puma.bias(q, 1e-9 * speed(puma.arm, 1)) - puma.gravity(q)).min() > 0.1


def test_dtypes_of_numpy_and_short_words_for_results() -> None:
    arm = fa.load("ascher2")
    assert (
        fa.compile(arm, dtype=np.float32).dtype
        == fa.compile(arm, dtype=np.dtype("float32")).dtype
        == "float32"
    )
    with pytest.raises(fa.InputError, match="dtype: expected one of float64, float32"):
        fa.compile(arm, dtype=np.float16)
    assert repr(fa.compile(arm).counts).startswith("<counts of 'ascher2' by name: inverse_dynamics, ")
    made = fa.generate(arm, "gravity")
    assert len(repr(made)) < 200
    assert str(made.counts) in repr(made)
