"""Arrays that are known by a protocol alone, `__cuda_array_interface__` or DLPack, on the fake driver:
streams, what was lent given back, and no address that was not looked up.
"""

from __future__ import annotations

from typing import Any

import pytest
from kernels.cuda.fake_arrays import FakeInterface
from kernels.cuda.fake_driver import FakeLibrary
from kernels.cuda.fake_function import FakeFunction, expected
from kernels.cuda.fake_lending import FakeLending
from kernels.cuda.test_dispatch import NONE, X, Y, check, places, refused

from forearm.kernels.cuda.array_libraries import library_of
from forearm.kernels.cuda.dispatch import run
from forearm.kernels.cuda.driver import driver


def test_the_stream_of_an_interface_is_used(fake: FakeLibrary, function: FakeFunction) -> None:
    arrays = FakeInterface(fake, pytest.MonkeyPatch())
    stream = driver().device(0).stream()
    x = arrays.array(X, stream=stream.handle)
    results = run(function, (x, arrays.array(Y, stream=1)), NONE)
    assert fake.launches[-1][3] == stream.handle
    assert results[0].__cuda_array_interface__["stream"] == stream.handle
    check(arrays, results, *expected(X, Y))
    refused(function, (x, arrays.array(Y, stream=0)), "y: .* stream 0, which version 3 forbids")
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
    refused(function, (x, lending.array(Y[:, :2].copy())), "y: it has 3 entries")
    assert (lending.lent, lending.returned) == (4, 4)
    if is_versioned:
        lending.flags = 1
        refused(function, (x, y), "out: expected a writeable", places(lending))
        lending.major = 2
        refused(function, (x, y), "x: expected DLPack version 1, got 2")
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
    refused(function, (x, x), r"x: Lent refused to export its array \(division by zero\)")


def test_addresses_of_unknown_arrays_are_looked_up(fake: FakeLibrary, function: FakeFunction) -> None:
    arrays = FakeInterface(fake, pytest.MonkeyPatch())
    x, y, pinned = arrays.array(X), arrays.array(Y), driver().device(0).pinned(X.nbytes)
    for data, said in (
        ((64, False), "its address 0x40 is not memory known to CUDA"),
        ((x.view.ctypes.data + 8, False), "it has 7,200 bytes, but only 7,192 are allocated"),
        ((pinned.address, False), "expected device memory, got host memory"),
        (
            (fake.allocate(X.nbytes, 0, fake.foreign_context()), False),
            "its memory does not belong to the device's primary CUDA context",
        ),
    ):
        bad = arrays.array(Y)
        bad.__cuda_array_interface__["data"] = data
        refused(function, (x, bad), f"y: {said}")
    del fake.blocks[y.view.ctypes.data]
    refused(function, (x, y), "y: its address .* is not memory known to CUDA; was it freed")
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
    refused(function, (arrays.array(X), bad), f"y: .*{said}")
