"""Arrays that are known by a protocol alone, `__cuda_array_interface__` or DLPack, on the fake driver:
streams, what was lent given back, and no address that was not looked up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from kernels.cuda.fake_arrays import FakeInterface, forget
from kernels.cuda.fake_driver import FakeLibrary, using
from kernels.cuda.fake_function import FakeFunction, expected
from kernels.cuda.fake_lending import FakeLending

from forearm.errors import InputError
from forearm.kernels.cuda.array_libraries import library_of
from forearm.kernels.cuda.dispatch import run
from forearm.kernels.cuda.driver import driver
from forearm.kernels.dispatch import Call

NONE = Call({})
X, Y = np.random.default_rng(3).normal(size=(2, 40, 3))


@pytest.fixture
def fake() -> Iterator[FakeLibrary]:
    library = FakeLibrary(devices=2)
    forget()
    with using(library):
        yield library
    forget()
    assert library.faults == []


@pytest.fixture
def function(fake: FakeLibrary) -> FakeFunction:
    return FakeFunction(fake)


def check(arrays: FakeInterface, results: list[Any], *wanted: Any) -> None:
    for result, value in zip(results, wanted, strict=True):
        assert np.array_equal(arrays.values(result), value)


def test_the_stream_of_an_interface_is_used(fake: FakeLibrary, function: FakeFunction) -> None:
    arrays = FakeInterface(fake, pytest.MonkeyPatch())
    stream = driver().device(0).stream()
    x = arrays.array(X, stream=stream.handle)
    results = run(function, (x, arrays.array(Y, stream=1)), NONE)
    assert fake.launches[-1][3] == stream.handle
    assert results[0].__cuda_array_interface__["stream"] == stream.handle
    check(arrays, results, *expected(X, Y))
    with pytest.raises(InputError, match=r"^y: .* stream 0, which version 3 forbids"):
        run(function, (x, arrays.array(Y, stream=0)), NONE)
    old = arrays.array(Y, version=2)
    del old.__cuda_array_interface__["stream"]
    run(function, (old, x), NONE)
    assert fake.launches[-1][3] == 0


@pytest.mark.parametrize("is_versioned", [False, True])
def test_what_was_lent_is_given_back_once(
    fake: FakeLibrary, function: FakeFunction, monkeypatch: pytest.MonkeyPatch, is_versioned: bool
) -> None:
    lending = FakeLending(fake, monkeypatch, is_versioned)
    x, y = lending.array(X), lending.array(Y)
    check(lending, run(function, (x, y), NONE), *expected(X, Y))
    assert (lending.lent, lending.returned) == (2, 2)
    assert lending.streams == [1, 1]
    with pytest.raises(InputError, match=r"^y: it has 3 entries"):
        run(function, (x, lending.array(Y[:, :2].copy())), NONE)
    assert (lending.lent, lending.returned) == (4, 4)
    if is_versioned:
        lending.flags = 1
        out = [lending.array(np.zeros((40, 3))), lending.array(np.zeros((40, 3, 3)))]
        with pytest.raises(InputError, match="out: expected a writeable"):
            run(function, (x, y), Call({}, out))
        lending.major = 2
        with pytest.raises(InputError, match=r"^x: expected DLPack version 1, got 2"):
            run(function, (x, y), NONE)
        assert lending.lent == lending.returned


def test_a_lender_on_the_host_gives_numpy(
    fake: FakeLibrary, function: FakeFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    lending = FakeLending(fake, monkeypatch)
    lending.device_type = 1
    assert library_of(lending.array(X)) is None
    lending.device_type = 2
    x = lending.array(X)
    monkeypatch.setattr(type(x), "__dlpack__", lambda self, stream: 1 / 0)
    with pytest.raises(InputError, match=r"^x: Lent refused to export its array \(division by zero\)"):
        run(function, (x, x), NONE)


def test_addresses_of_unknown_arrays_are_looked_up(fake: FakeLibrary, function: FakeFunction) -> None:
    arrays = FakeInterface(fake, pytest.MonkeyPatch())
    x, y, pinned = arrays.array(X), arrays.array(Y), driver().device(0).pinned(960)
    for data, said in (
        ((64, False), "its address 0x40 is not memory known to CUDA"),
        ((x.view.ctypes.data + 8, False), "it has 960 bytes, but only 952 are allocated"),
        ((pinned.address, False), "expected device memory, got host memory"),
        (
            (fake.allocate(960, 0, fake.foreign_context()), False),
            "its memory does not belong to the device's primary CUDA context",
        ),
    ):
        bad = arrays.array(Y)
        bad.__cuda_array_interface__["data"] = data
        with pytest.raises(InputError, match=f"^y: {said}"):
            run(function, (x, bad), NONE)
    del fake.blocks[y.view.ctypes.data]
    with pytest.raises(InputError, match=r"^y: its address .* is not memory known to CUDA; was it freed"):
        run(function, (x, y), NONE)
    assert fake.launches == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mask": 1}, "without a mask"),
        ({"typestr": ">f8"}, "byte order"),
        ({"typestr": "what"}, "no usable __cuda_array_interface__"),
        ({"shape": None}, "no usable __cuda_array_interface__"),
    ],
)
def test_odd_interfaces(fake: FakeLibrary, function: FakeFunction, change: dict[str, Any], said: str) -> None:
    arrays = FakeInterface(fake, pytest.MonkeyPatch())
    bad = arrays.array(Y)
    bad.__cuda_array_interface__.update(change)
    with pytest.raises(InputError, match=f"^y: .*{said}"):
        run(function, (arrays.array(X), bad), NONE)
