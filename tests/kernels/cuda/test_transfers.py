"""NumPy in and out by way of the fake device, whose work waits until somebody waits for it: pieces come back
whole, in their order, whatever is short.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from kernels.cuda.fake_driver import FakeLibrary, using
from kernels.cuda.fake_function import FakeFunction, expected

from forearm.errors import InputError, OutOfMemory
from forearm.kernels.cuda import transfers
from forearm.kernels.cuda.dispatch import run as dispatched
from forearm.kernels.cuda.driver import DriverError, driver
from forearm.kernels.dispatch import Call

random = np.random.default_rng(5)
X, Y = random.normal(size=(2, 1000, 3))
PIECE = 20_000  # bytes, some 120 states


@pytest.fixture(params=[True, False], ids=["late", "at-once"])
def fake(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLibrary]:
    library = FakeLibrary(devices=2, is_lazy=request.param)
    monkeypatch.setattr(transfers, "AT_ONCE", PIECE)
    monkeypatch.setattr(transfers, "cores", lambda: 3)
    with using(library):
        yield library
    assert library.faults == []


def run(function: FakeFunction, states: Any, *options: Any, index: int = 0) -> list[Any]:
    return dispatched(function, states, Call({}, *options), index=index)


def check(results: list[Any], *wanted: Any) -> None:
    for result, value in zip(results, wanted, strict=True):
        assert type(result) is np.ndarray
        assert result.shape == value.shape
        assert np.array_equal(result, value)


@pytest.mark.parametrize("count", [0, 1, 100, 1000])
def test_numpy_in_gives_numpy_out(fake: FakeLibrary, function: FakeFunction, count: int) -> None:
    check(run(function, (X[:count], Y[:count])), *expected(X[:count], Y[:count]))
    assert sum(states for _, _, states, _ in fake.launches) == count
    assert len(fake.launches) >= count // 200
    if count == 1000:
        assert fake.calls.count("cuStreamCreate") == 3


def test_what_is_taken_as_on_the_cpu(function: FakeFunction) -> None:
    whole = np.arange(3000).reshape(1000, 3)
    for given, wanted in (
        ((X[0], Y[0]), (X[0], Y[0])),
        ((X[0].tolist(), Y[0].tolist()), (X[0], Y[0])),
        ((X, Y[0]), (X, np.broadcast_to(Y[0], X.shape))),
        ((X, 2), (X, np.full(X.shape, 2.0))),
        ((whole, Y), (whole.astype(float), Y)),
        ((X[::-2], Y[::2]), (X[::-2], Y[::2])),
    ):
        check(run(function, given), *expected(*wanted))


def test_float32_is_converted_piece_by_piece(fake: FakeLibrary) -> None:
    results = run(FakeFunction(fake, "float32"), (X, Y))
    assert results[0].dtype == np.float32
    check(results, *expected(X.astype("f4"), Y.astype("f4")))


def test_results_are_written_where_asked(function: FakeFunction) -> None:
    out = [np.zeros((1000, 3)), np.zeros((1000, 3, 3))]
    results = run(function, (X, Y), out)
    assert results[0] is out[0]
    check(results, *expected(X, Y))
    with pytest.raises(InputError, match=r"^out: expected a writeable C-contiguous array \(999, 3\)"):
        run(function, (X[:999], Y[:999]), out)


@pytest.mark.parametrize("shift", [0, 1])
def test_in_place_and_across(function: FakeFunction, shift: int) -> None:
    x = X.copy()
    out = [x[shift : shift + 999], np.zeros((999, 3, 3))]
    check(run(function, (x[:999], Y[:999]), out), *expected(X[:999], Y[:999]))


@pytest.mark.parametrize("which", [(1, 0, 0, 0), (0, 1, 0, 1), (1, 1, 1, 1)], ids=["one", "some", "all"])
def test_pinned_arrays_are_copied_from_where_they_are(
    fake: FakeLibrary, function: FakeFunction, monkeypatch: pytest.MonkeyPatch, which: tuple[int, ...]
) -> None:
    def pinned(values: Any) -> Any:
        made = driver().device(0).pinned(values.nbytes).array.view(values.dtype).reshape(values.shape)
        made[...] = values
        return made

    monkeypatch.setattr(transfers, "WORTH_ASKING", 0)
    given = (X, Y, np.zeros((1000, 3)), np.zeros((1000, 3, 3)))
    arrays = [pinned(a) if is_it else a.copy() for a, is_it in zip(given, which, strict=True)]
    results = run(function, tuple(arrays[:2]), arrays[2:])
    check(results, *expected(X, Y))
    pieces = len(fake.launches)
    assert fake.calls.count("cuMemcpyHtoDAsync_v2") == pieces * (2 if any(which[:2]) else 1)
    assert fake.calls.count("cuMemcpyDtoHAsync_v2") == pieces * (2 if any(which[2:]) else 1)


@pytest.mark.parametrize("rows", [None, 1, 1000])
def test_open_parameters(fake: FakeLibrary, rows: int | None) -> None:
    p = None if rows is None else random.normal(size=(2,) if rows == 1 else (rows, 2))
    call = Call({"gain": 3.0, "offset": -1.0}, None, None, p)
    made = dispatched(FakeFunction(fake, parameters=2), (X, Y), call)
    check(made, *expected(X, Y, [3.0, -1.0] if p is None else p))
    assert fake.launches[-1][0] == ("fake_each" if rows == 1000 else "fake_shared")
    assert len(fake.launches) > 3


@pytest.mark.parametrize("bad", [np.ones((4, 3), complex), [["a", "b", "c"]], np.ones((4, 3), bool)])
def test_what_is_no_number(function: FakeFunction, bad: Any) -> None:
    with pytest.raises(InputError, match=r"^y: expected an array of real numbers"):
        run(function, (X[:4], bad))


def test_another_device(fake: FakeLibrary, function: FakeFunction) -> None:
    check(run(function, (X, Y), index=1), *expected(X, Y))
    assert fake.taken(0) == 0
    assert fake.taken(1) > 0


def test_memory_is_kept_and_bounded(fake: FakeLibrary, function: FakeFunction) -> None:
    for _ in range(3):
        run(function, (X, Y))
    assert fake.taken() <= 3 * PIECE
    made = fake.calls.count("cuMemHostAlloc")
    assert made <= 3
    run(function, (X[:1], Y[:1]))
    assert fake.calls.count("cuMemHostAlloc") == made


@pytest.mark.slow
def test_one_state_larger_than_a_piece(
    fake: FakeLibrary, function: FakeFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfers, "AT_ONCE", 100)
    check(run(function, (X[:4], Y[:4])), *expected(X[:4], Y[:4]))
    assert len(fake.launches) == 4
    gc.collect()
    driver().device(0).synchronize()
    assert fake.blocks == {}


def test_many_threads_at_once(function: FakeFunction) -> None:
    def work(k: int) -> None:
        for _ in range(3):
            check(run(function, (X + k, Y)), *expected(X + k, Y))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


@pytest.mark.parametrize("benches", [0, 1])
def test_too_little_memory(monkeypatch: pytest.MonkeyPatch, benches: int) -> None:
    library = FakeLibrary(memory=benches * PIECE + 100)
    monkeypatch.setattr(transfers, "AT_ONCE", PIECE)
    monkeypatch.setattr(transfers, "cores", lambda: 3)
    with using(library):
        function = FakeFunction(library)
        if benches:  # fewer at a time do as well
            check(run(function, (X, Y)), *expected(X, Y))
            assert len({stream for _, _, _, stream in library.launches}) == 1
            return
        with pytest.raises(OutOfMemory, match=r"20,000 bytes on the device: .*OUT_OF_MEMORY.*fewer states"):
            run(function, (X, Y))


def test_a_failure_ends_all_and_is_told_once(fake: FakeLibrary, function: FakeFunction) -> None:
    run(function, (X, Y))
    fake.fail["cuLaunchKernel"] = 1
    with pytest.raises(DriverError, match=r"kernel fake, .* states on device 0: cuLaunchKernel failed"):
        run(function, (X, Y))
    fake.fail.clear()
    check(run(function, (X, Y)), *expected(X, Y))
