"""Batches that Python hands to the machine code itself: the bits, errors and objects
of the ordinary method.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import pytest
from arms import posture, random_arm
from dynamics.cases import simple_drives
from kernels.truths import FUNCTIONS, states
from sweeps import long

import forearm as fa
from forearm.kernels import fastcall
from forearm.kernels.kernel import Kernel
from forearm.kernels.thread_pool import WORTH

pytestmark = pytest.mark.skipif(not fastcall.is_possible(), reason="this interpreter has no direct calls")
ARM = simple_drives(random_arm(41, 4, "standard", tree=True))
N = ARM.n


def warmed(arm: fa.Arm = ARM, dtype: str = "float64") -> Any:
    """A kernel all of whose functions are called directly, batches too."""
    kernel = fa.compile(arm, dtype)
    for name, count in FUNCTIONS.items():
        for shape in ((arm.n,), (2, arm.n)):
            getattr(kernel, name)(*[np.zeros(shape, dtype)] * count)
        assert isinstance(getattr(kernel, name), BuiltinFunctionType)
    return kernel


KERNEL: Any = warmed()


def ordinary(name: str) -> Callable[..., Any]:
    """The method as it is written in Python, whatever was set in its place."""
    method: Callable[..., Any] = getattr(Kernel, name).__get__(KERNEL)
    return method


def refuse_the_ordinary(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not done directly fails."""

    def refuse(*_: Any) -> Any:
        raise AssertionError("this went the ordinary way")

    monkeypatch.setattr(KERNEL, "_run", refuse)


@pytest.fixture
def nothing_ordinary(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_the_ordinary(monkeypatch)


@pytest.mark.parametrize("count", [0, 1, 7, 512, 513, WORTH - 1, WORTH])
def test_bits_are_those_of_the_ordinary_method(count: int) -> None:
    given = states(ARM, count, seed=count)
    for name, arguments in FUNCTIONS.items():
        want = ordinary(name)(*given[:arguments], threads=1)
        found = getattr(KERNEL, name)(*given[:arguments])
        assert type(found) is np.ndarray
        assert found.flags.c_contiguous
        assert found.flags.owndata
        assert (found.dtype, found.shape) == (want.dtype, want.shape)
        assert np.array_equal(found, want)


@pytest.mark.usefixtures("nothing_ordinary")
@pytest.mark.parametrize("count", [1, 512, WORTH - 1])
def test_so_many_states_go_directly(count: int) -> None:
    for name, arguments in FUNCTIONS.items():
        given = states(ARM, count)[:arguments]
        found = getattr(KERNEL, name)(*given)
        assert getattr(KERNEL, name)(*given, out=found) is found
        assert getattr(KERNEL, name)(*(x[0] for x in given)).shape == found.shape[1:]
    with pytest.raises(AssertionError, match="ordinary way"):
        KERNEL.gravity(np.zeros((WORTH, N)))


class Sub(np.ndarray):
    """An array that is not exactly an array."""


def spread(x: Any) -> Any:
    """The same numbers with others between them."""
    wide = np.zeros((2 * len(x), 3 * N))
    wide[::2, ::3] = x
    return wide[::2, ::3]


def unaligned(x: Any) -> Any:
    return np.frombuffer(b"x" + x.tobytes(), dtype=np.float64, offset=1).reshape(x.shape)


# Other arrays with the same numbers.
WAYS: list[Callable[[Any], Any]] = [
    np.ndarray.tolist, np.asfortranarray, spread, unaligned, lambda x: x.astype(">f8"), lambda x: x.view(Sub),
]  # fmt: skip


def test_what_is_not_plain_goes_the_ordinary_way_to_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    q, qd, x = states(ARM, 6)
    want = KERNEL.inverse_dynamics(q, qd, x)
    frozen = q.copy()
    frozen.flags.writeable = False
    whole = np.ones((2, N), dtype=int)
    for other in (*(way(q) for way in WAYS), frozen):
        found = KERNEL.inverse_dynamics(other, qd, x)
        assert type(found) is np.ndarray
        assert np.array_equal(found, want)
        assert np.array_equal(KERNEL.inverse_dynamics(other[0], qd[0], x[0]), want[0])
    for numbers in (whole, whole[0]):
        assert np.array_equal(KERNEL.gravity(numbers), KERNEL.gravity(numbers.astype(float)))
    refuse_the_ordinary(monkeypatch)
    bad: list[Any] = [q.astype(np.float32), q[None], q[:5], q[0], q[:, :3], np.zeros((6, N), int), None, 1.0]
    for other in (*bad, *(way(q) for way in WAYS)):
        for given in ((other, qd, x), (q, other, x), (q, qd, other)):
            with pytest.raises(AssertionError, match="ordinary way"):
                KERNEL.inverse_dynamics(*given)
    out = np.zeros((6, N))
    for options in ({"threads": 1}, {"out": None}, {"parameters": None}, {"out": out, "threads": 1}):
        with pytest.raises(AssertionError, match="ordinary way"):
            KERNEL.inverse_dynamics(q, qd, x, **options)
    with pytest.raises(AssertionError, match="ordinary way"):
        KERNEL.inverse_dynamics(q, qd, qdd=x)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (
            ((5, N), (6, N), (5, N)),
            r"qd: expected a number, \(4,\) or \(5, 4\) beside q \(5, 4\), got \(6, 4\)",
        ),
        (((N,), (2, N), (N, N)), r"qdd: expected a number, .* beside qd \(2, 4\), got \(4, 4\)"),
        (((5, N + 1),) * 3, r"expected shape \(4,\) or \(B, 4\), got \(5, 5\)"),
        (((2, 2, N),) * 3, r"got \(2, 2, 4\)"),
        (((),) * 3, r"got \(\)"),
        (((0,),) * 3, r"got \(0,\)"),
    ],
)
def test_shapes_that_do_not_fit_are_told(shapes: Any, message: str) -> None:
    with pytest.raises(fa.InputError, match=message):
        KERNEL.inverse_dynamics(*(np.zeros(shape) for shape in shapes))


@pytest.mark.parametrize(
    "shapes",
    [
        ((N,), (1, N), (N,)),
        ((1, N), (N,), (1, N)),
        ((N, N), (N,), (N, N)),
        ((N, N), (N, N), (N,)),
        ((N,), (N,), (N, N)),
        ((5, N), (1, N), ()),
        ((N,), (), ()),
        ((1, N), (0, N), (N,)),
    ],
)
def test_shapes_are_broadcast_as_numpy_does(shapes: Any) -> None:
    """Machine code sees whole arrays: what it gives are the bits of the repeated states."""
    rng = np.random.default_rng(3)
    given = [rng.uniform(-1.0, 1.0, shape) for shape in shapes]
    batch = np.broadcast_shapes(*shapes, (N,))
    whole = [np.broadcast_to(x, batch).copy() for x in given]
    want = KERNEL.inverse_dynamics(*whole)
    assert want.shape == batch
    assert np.array_equal(KERNEL.inverse_dynamics(*given), want)
    out = np.zeros(batch)
    assert KERNEL.inverse_dynamics(*given, out=out) is out
    assert np.array_equal(out, want)
    numbers = [x.item() if x.ndim == 0 else x.tolist() for x in given]
    if 0 not in batch:
        assert np.array_equal(KERNEL.inverse_dynamics(*numbers), want)


OUT = "out: expected a writeable C-contiguous array"


def test_as_many_states_as_joints() -> None:
    """(n, n) is a batch of n states, and as `out` of the inertia matrix the matrix of one."""
    given = q, *_ = states(ARM, N)
    alone = [KERNEL.inverse_dynamics(*(x[k] for x in given)) for k in range(N)]
    assert np.array_equal(KERNEL.inverse_dynamics(*given), alone)
    M, many = np.zeros((N, N)), np.zeros((N, N, N))
    assert KERNEL.inertia_matrix(q[0], out=M) is M
    assert KERNEL.inertia_matrix(q, out=many) is many
    assert np.array_equal(many, ordinary("inertia_matrix")(q, threads=1))
    for one in (M, KERNEL.inertia_matrix(q[:1])[0], KERNEL.inertia_matrix(q[0])):
        assert np.array_equal(one, many[0])
    for some, out in ((q, M), (q[0], many), (q[0], np.zeros(N)), (q, np.zeros((N, N, N, 1))), (q[:1], M)):
        before = out.copy()
        with pytest.raises(fa.InputError, match=OUT):
            KERNEL.inertia_matrix(some, out=out)
        assert np.array_equal(out, before)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_one_joint_and_one_state(dtype: str) -> None:
    """Where (1,), (1, 1) and (1, 1, 1) are hardest to tell apart."""
    arm = random_arm(2, 1, drives=False, prismatic=False).rigid()
    kernel, q = warmed(arm, dtype), np.full((1, 1), 0.3, dtype)
    want = fa.dynamics.inertia_matrix(arm, q).item()
    for given, shape in ((q, (1, 1, 1)), (q[0], (1, 1)), (q.astype(float), (1, 1, 1))):
        found = kernel.inertia_matrix(given)
        assert (found.dtype, found.shape) == (dtype, shape)
        assert abs(found.item() - want) <= (1e-12 if dtype == "float64" else 1e-6) * want
        assert kernel.inertia_matrix(given, out=found) is found
        with pytest.raises(fa.InputError, match=OUT):
            kernel.inertia_matrix(given, out=np.zeros((*shape, 1), dtype))
    assert np.array_equal(kernel.bias(q, q[0]), kernel.bias(q, q))


def test_out_is_filled_and_returned_or_refused() -> None:
    given, memory = states(ARM, 9), np.full((11, N), 7.0)
    assert KERNEL.inverse_dynamics(*given, out=memory[1:10]).base is memory
    assert np.array_equal(memory[1:10], KERNEL.inverse_dynamics(*given))
    assert (memory[[0, 10]] == 7.0).all()
    frozen = np.zeros((9, N))
    frozen.flags.writeable = False
    wrong: list[Any] = [np.zeros(shape) for shape in ((8, N), (9, N + 1), N, (9, N, 1))]
    wrong += [np.zeros((9, 2 * N))[:, ::2], np.zeros((N, 9)).T, frozen, [[0.0] * N] * 9]
    wrong += [np.zeros((9, N), kind) for kind in (np.float32, ">f8")]
    for other in wrong:
        with pytest.raises(fa.InputError, match=rf"{OUT} \(9, 4\) of float64"):
            KERNEL.inverse_dynamics(*given, out=other)
        assert not np.any(other), "nothing was written"


@pytest.mark.parametrize("count", [1, 8, 30, 600])
def test_out_may_lie_on_the_arguments(count: int) -> None:
    """In the place of one of them, or across: the answer is that of arrays apart."""
    want = KERNEL.inverse_dynamics(*states(ARM, count))
    for k in range(3):
        given = states(ARM, count)
        assert KERNEL.inverse_dynamics(*given, out=given[k]) is given[k]
        assert np.array_equal(given[k], want)
    for first, second in ((0, 1), (1, 0), (0, 3)):
        given, memory = states(ARM, count), np.zeros((count + 3, N))
        memory[first : first + count] = given[0]
        given[0] = memory[first : first + count]
        assert np.array_equal(KERNEL.inverse_dynamics(*given, out=memory[second : second + count]), want)
    q, flat = states(ARM, count)[0], np.zeros(count * N * N)
    flat[: q.size] = q.ravel()
    found = KERNEL.inertia_matrix(flat[: q.size].reshape(q.shape), out=flat.reshape(count, N, N))
    assert np.array_equal(found, KERNEL.inertia_matrix(q))


def test_objects_are_counted_right() -> None:
    """Neither good calls nor refused ones keep anything, or give back what is not theirs."""
    for count in (3, 600):
        given, out = states(ARM, count), np.zeros((count, N))
        held = [*given, out, np.dtype(np.float64), np.ndarray]
        before = [sys.getrefcount(o) for o in held]
        bad = {"out": given[0][:2]}, {"wrong": out}
        for _ in range(300):
            KERNEL.inverse_dynamics(*given)
            KERNEL.inverse_dynamics(*given, out=out)
            for wrong in ((given[0][:2], *given[1:]), (*given[:2], given[2][:2])):
                with pytest.raises(fa.InputError):
                    KERNEL.inverse_dynamics(*wrong)
            for options in bad:
                with pytest.raises((fa.InputError, TypeError)):
                    KERNEL.inverse_dynamics(*given, **options)
        assert all(abs(sys.getrefcount(o) - b) < 20 for o, b in zip(held, before, strict=True))
        assert sys.getrefcount(KERNEL.inverse_dynamics(*given)) <= sys.getrefcount(out)


def test_the_lock_is_released_while_a_batch_runs() -> None:
    """Another thread gets on during batches that are long enough, and during no others."""
    turns, stop = 0, threading.Event()
    interval = sys.getswitchinterval()

    def count() -> None:
        nonlocal turns
        while not stop.is_set():
            turns += 1
            time.sleep(0.0)

    def got_on(q: Any) -> bool:
        for _ in range(500):
            before = turns
            KERNEL.inertia_matrix(q)
            if turns != before:
                return True
        return False

    other = threading.Thread(target=count)
    short, long = (posture(ARM, 1, rows) for rows in (fastcall.LONG - 1, WORTH - 1))
    want = ordinary("inertia_matrix")(long, threads=1)
    try:
        # Python itself takes the lock from nobody: whoever gets on was given it
        sys.setswitchinterval(1000.0)
        other.start()
        found = got_on(short), got_on(long)
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        other.join()
    assert found == (False, True)
    assert np.array_equal(KERNEL.inertia_matrix(long), want)


def test_many_threads_at_once() -> None:
    begin = threading.Barrier(8)

    def work(seed: int) -> bool:
        given = states(ARM, 600 + seed, seed=seed)
        want = ordinary("inverse_dynamics")(*given, threads=1)
        out = np.empty_like(want)
        begin.wait()
        right = True
        for k in range(60):
            right &= np.array_equal(KERNEL.inverse_dynamics(*given, out=out), want)
            right &= np.array_equal(KERNEL.inverse_dynamics(*(x[k] for x in given)), want[k])
            right &= np.array_equal(KERNEL.inverse_dynamics(*(x[:k] for x in given)), want[:k])
            gc.collect(0)
        return right

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def python(code: str, **more: str) -> int:
    """The end of a process of its own, which may crash."""
    head = "import gc, numpy as np, forearm as fa; from arms import random_arm\n"
    head += "arm, z = random_arm(2, 2, drives=False).rigid(), np.zeros(2)\n"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", head + code],
        cwd=Path(__file__).parent.parent,
        env={**os.environ, **more},
        capture_output=True,
        check=False,
    )
    return done.returncode


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the C library there fills what is freed")
@pytest.mark.parametrize("times", [10, *long([100])])
def test_kernels_go_without_touching_what_is_freed(times: int) -> None:
    """Freed memory is filled with a byte that, read as the flags of a function,
    says that it has a class to give back. No states before there was any batch are none, either.
    """
    none = "k = fa.compile(arm); k.gravity(z); assert k.gravity(np.zeros((0, 2))).shape == (0, 2)"
    turn = "k = fa.compile(arm); k.gravity(z); k.bias(z, z); del k; gc.collect()"
    code = f"{none}\nfor _ in range({times}):\n {turn}"
    assert python(code, PYTHONMALLOC="malloc", MALLOC_PERTURB_="255") == 0


def test_batches_are_allowed_only_when_there_is_code_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread may call between any two lines: it must never find a size without an address."""
    table = np.zeros(len(fastcall.OBJECTS), dtype=np.int64)
    address, most = fastcall.OBJECTS.index("batch"), fastcall.OBJECTS.index("most")
    seen = []

    def watch(*_: Any) -> Any:
        seen.append((int(table[address]), int(table[most])))
        return watch

    sys.settrace(watch)
    fastcall.allow_batches(table.ctypes.data, 4096, 100)
    sys.settrace(None)
    seen.append((int(table[address]), int(table[most])))
    assert seen[-1] == (4096, 100)
    assert all(a or not m for a, m in seen)
