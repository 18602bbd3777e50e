"""The driver by ctypes, on the fake library: what is missing is said, contexts are kept apart, work goes to
the stream that was given.
"""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from kernels.cuda.fake_driver import ATTRIBUTES, FakeLibrary, using

from forearm.errors import InputError, OutOfMemory
from forearm.kernels.cuda import driver_api
from forearm.kernels.cuda.driver import Device, Driver, DriverError, Launcher, NoDevice, driver

PTX = ".version 6.0\n.target sm_70\n.visible .entry doubled(\n.visible .entry other("


def doubled(addresses: Sequence[int], count: int) -> None:
    """out = 2 * x, one number per state."""
    x, out = ((ctypes.c_double * count).from_address(a) for a in addresses)
    out[:] = [2 * v for v in x]


@pytest.fixture
def fake() -> Iterator[FakeLibrary]:
    library = FakeLibrary(devices=2)
    library.define("doubled", 2, doubled)
    with using(library):
        yield library
    assert library.faults == []


@pytest.fixture
def device(fake: FakeLibrary) -> Device:
    return driver().device(0)


@pytest.mark.slow
def test_importing_forearm_does_not_touch_the_driver() -> None:
    code = (
        "import sys, forearm, forearm.kernels; assert 'forearm.kernels.cuda' not in sys.modules;"
        "import forearm.kernels.cuda.driver as d; assert d._here.driver is None"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def without(**given: Any) -> Callable[[], object]:
    """What becomes of a process with such a library."""

    def begun() -> object:
        library = FakeLibrary(**{name: value for name, value in given.items() if name != "code"})
        library.fail |= {"cuInit": given["code"]} if "code" in given else {}
        with using(library) as found:
            return found.device(0)

    return begun


@pytest.mark.parametrize(
    ("begun", "said"),
    [
        (
            without(devices=0),
            "found NVIDIA's driver, but no GPU.*Everything else in forearm works on the CPU",
        ),
        (without(version=8000), "too old: expected support for CUDA 9.0 or later, got 8.0"),
        (without(missing=["cuDeviceGetCount"]), "too old, it has no cuDeviceGetCount"),
        (without(capability=(6, 1)), r"6\.1; kernels need 7\.0"),
        (without(code=34), "stub"),
        (without(code=803), "restart"),
        (without(code=804), "compatibility"),
        (without(code=999), "CUresult 999"),
        (driver_api.load_library, r"no NVIDIA driver \(libno-such-driver.so.1\)"),
    ],
)
def test_what_is_missing_is_said(
    begun: Callable[[], object], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_api, "LIBRARIES", ("libno-such-driver.so.1",))
    with pytest.raises(NoDevice, match=f"(?s){said}"):
        begun()


def test_what_a_device_says_of_itself(device: Device) -> None:
    assert driver().count == 2
    assert driver().version == (12, 8)
    assert driver().device(0) is device
    assert (device.name, device.capability, device.memory) == ("Fake GPU", (9, 0), 1 << 30)
    assert (device.processors, device.shared_most, device.clock) == (132, 232_448, 1_980_000_000)
    assert repr(device) == "<Device 0, Fake GPU, capability 9.0, 1 GiB>"


@pytest.mark.parametrize("index", [2, -1, "0"])
def test_a_device_that_is_not_there(fake: FakeLibrary, index: int) -> None:
    with pytest.raises(InputError, match=f"expected 0 to 1, got {index!r}"):
        driver().device(index)


def test_the_context_before_is_current_again(fake: FakeLibrary, device: Device) -> None:
    fake.stack.append(77)
    with device.current(), driver().device(1).current():
        assert fake.stack == [77, device.context, driver().device(1).context]
    assert fake.stack == [77]
    with pytest.raises(ZeroDivisionError), device.current():
        raise ZeroDivisionError
    assert fake.stack == [77]


def test_the_assembler_explains_itself(fake: FakeLibrary, device: Device) -> None:
    with pytest.raises(DriverError, match=r"CUDA_ERROR_INVALID_PTX.*says: ptxas fatal: no version") as caught:
        device.assembled("nonsense")
    assert caught.value.code == 218
    assert fake._links == {}
    assert device.assembled(PTX) == device.assembled(PTX.encode() + b"\0")


def test_functions_of_a_module(fake: FakeLibrary, device: Device) -> None:
    module = device.loaded(device.assembled(PTX))
    function = module.function("doubled", shared=100_000)
    assert fake.shared == {function.handle: 100_000}
    assert (function.registers, function.local_bytes) == (72, 16)
    module.function("other", shared=48 << 10)
    assert len(fake.shared) == 1
    with pytest.raises(
        DriverError, match="kernel none: cuModuleGetFunction failed with CUDA_ERROR_NOT_FOUND"
    ):
        module.function("none")
    with pytest.raises(
        InputError, match=r"300,000 bytes of shared memory .* device 0 .* has at most 232,448"
    ):
        module.function("doubled", shared=300_000)


class OnDevice:
    """Numbers there, and what becomes of them."""

    def __init__(self, device: Device, values: Any) -> None:
        self.device, self.host = device, np.array(values, dtype=float)
        self.memory = device.allocated(self.host.nbytes)
        self.address = self.memory.address
        device.copy_in(self.address, self.host.ctypes.data, self.host.nbytes)
        device.synchronize()

    def values(self) -> Any:
        self.device.copy_out(self.host.ctypes.data, self.address, self.host.nbytes)
        self.device.synchronize()
        return self.host


@pytest.fixture
def launch(device: Device) -> Launcher:
    return device.loaded(device.assembled(PTX)).function("doubled").launcher(128, 0, 2)


@pytest.mark.parametrize("count", [1, 128, 129])
@pytest.mark.parametrize("before", [None, "own", "other"])
def test_launches_whatever_context_is_current(
    fake: FakeLibrary, device: Device, launch: Launcher, count: int, before: str | None
) -> None:
    x = np.arange(1.0, count + 1)
    source, target = OnDevice(device, x), OnDevice(device, 0.0 * x)
    stream, addresses = device.stream(), (source.address, target.address)
    stack = {None: [], "own": [device.context], "other": [driver().device(1).context]}[before]
    fake.stack[:] = stack
    fake.calls.clear()
    launch(stream.handle, addresses, count)
    assert fake.stack == stack
    assert ("cuCtxPushCurrent_v2" in fake.calls) == (before != "own")
    assert fake.launches == [("doubled", addresses, count, stream.handle)]
    stream.synchronize()
    assert np.array_equal(target.values(), 2 * x)
    fake.stack.clear()


def test_no_states_and_too_many(fake: FakeLibrary, launch: Launcher) -> None:
    launch(0, (0, 0), 0)
    assert fake.launches == []
    with pytest.raises(InputError, match="at most 274,877,906,816"):
        launch(0, (0, 0), 128 * 2**31)
    fake.fail["cuLaunchKernel"] = 700
    with pytest.raises(DriverError, match=r"kernel doubled, 5 states on device 0.*restart the process"):
        launch(0, (0, 0), 5)


def test_threads_launch_at_once(fake: FakeLibrary, device: Device, launch: Launcher) -> None:
    places = [(OnDevice(device, [float(k)] * 50), OnDevice(device, [0.0] * 50)) for k in range(8)]

    def work(k: int) -> None:
        for _ in range(20):
            launch(0, [place.address for place in places[k]], 50)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    wanted = [(a.address, b.address) for a, b in places for _ in range(20)]
    assert sorted(a for _, a, _, _ in fake.launches) == sorted(wanted)
    device.synchronize()
    for k, (_, target) in enumerate(places):
        assert np.array_equal(target.values(), [2.0 * k] * 50)


@pytest.mark.slow
@pytest.mark.parametrize("has_pools", [True, False])
def test_memory_is_freed_in_the_order_of_its_stream(has_pools: bool) -> None:
    library = FakeLibrary(missing=[] if has_pools else ["cuMemAllocAsync"])
    with using(library) as found:
        device = found.device(0)
        stream = device.stream()
        memory = device.allocated(1000, stream.handle)
        x = np.arange(125.0)
        device.copy_in(memory.address, x.ctypes.data, 1000, stream.handle)
        assert library.taken() == 1000
        del memory
        gc.collect()
        stream.synchronize()
        assert library.taken() == 0
        assert library.faults == []


def test_without_memory_there_is_an_error_and_nothing_leaks(fake: FakeLibrary, device: Device) -> None:
    with pytest.raises(OutOfMemory, match=r"2,147,483,648 bytes on the device.*OUT_OF_MEMORY.*fewer states"):
        device.allocated(1 << 31)
    assert fake.stack == []
    assert device.free_memory() == 1 << 30


@pytest.mark.slow
def test_pinned_memory_lives_as_long_as_views_of_it(fake: FakeLibrary, device: Device) -> None:
    memory = device.pinned(800)
    view = memory.array.view(np.float64)[10:20]
    del memory
    gc.collect()
    view[:] = 3.0
    assert len(fake.blocks) == 1
    del view
    gc.collect()
    assert fake.blocks == {}
    assert device.pinned(0).array.size == 0


def test_events_order_streams_and_tell_the_time(device: Device) -> None:
    first, second, start, end = device.stream(), device.stream(), device.event(), device.event()
    memory, x, made = device.allocated(80), np.arange(10.0), np.zeros(10)
    start.record(first.handle)
    device.copy_in(memory.address, x.ctypes.data, 80, first.handle)
    end.record(first.handle)
    second.wait(end)
    device.copy_out(made.ctypes.data, memory.address, 80, second.handle)
    second.synchronize()
    assert np.array_equal(made, x)
    assert start.elapsed(end) == pytest.approx(1.5e-3)
    assert not device.is_capturing(first.handle)


def test_the_address_of_a_function_is_callable(fake: FakeLibrary) -> None:
    version = ctypes.c_int()
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(driver().address("cuDriverGetVersion"))
    assert call(ctypes.byref(version)) == 0
    assert version.value == 12080


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # threads of other tests
def test_a_fork_is_told(device: Device, launch: Launcher) -> None:
    memory = device.allocated(80)
    attempts: list[Callable[[], object]] = [
        driver,
        lambda: launch(0, (0, 0), 5),
        lambda: device.allocated(8),
        device.synchronize,
        lambda: Driver(FakeLibrary()),
    ]
    child = os.fork()
    if child == 0:
        told = 0
        for attempt in attempts:
            try:
                attempt()
            except DriverError as error:
                told += "CUDA does not work after a fork" in str(error)
        del memory
        os._exit(told)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == len(attempts)
    device.synchronize()


def test_a_fork_before_the_first_use_is_no_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_api.process, "is_used", False)
    driver_api._in_child()
    assert not driver_api.process.is_forked


def test_the_fake_knows_all_functions() -> None:
    assert set(driver_api.SIGNATURES) <= {name[1:] for name in dir(FakeLibrary)}
    assert 97 in ATTRIBUTES
