"""The driver on a GPU: code assembled, loaded and launched, memory, streams and events."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from kernels.cuda.fake_function import expected
from kernels.cuda.gpu_function import RealFunction, gpu, ptx

from forearm.errors import InputError, OutOfMemory
from forearm.kernels.cuda import transfers
from forearm.kernels.cuda.dispatch import run
from forearm.kernels.cuda.driver import Device, DriverError, driver
from forearm.kernels.dispatch import Call

pytestmark = pytest.mark.gpu
random = np.random.default_rng(11)
X, Y = random.normal(size=(2, 1000, 3))


@pytest.fixture
def device() -> Device:
    return gpu()


def test_what_a_device_says_of_itself(device: Device) -> None:
    assert driver().version >= (9, 0)
    assert device.capability >= (7, 0)
    assert device.memory > 1 << 30
    assert 0 < device.free_memory() <= device.memory
    assert device.shared_most >= 48 << 10
    assert min(device.processors, device.threads, device.clock, device.memory_clock, device.bus) > 0
    with pytest.raises(InputError, match=r"got 99"):
        driver().device(99)


def test_code_is_assembled_for_the_device(device: Device) -> None:
    text = ptx("float64", False, False, 128)
    cubin = device.assembled(text)
    assert cubin.startswith(b"\x7fELF")
    assert device.assembled(text.encode()) == cubin
    kernel = device.loaded(cubin).function("for_all")
    assert 0 < kernel.registers < 64
    assert kernel.local_bytes == 0


def test_the_assembler_explains_itself(device: Device) -> None:
    with pytest.raises(DriverError, match=r"PTX.*The assembler says: .*\w") as caught:
        device.assembled(ptx("float64", False, False, 128).replace("ld.global", "ld.nowhere"))
    assert "nowhere" in str(caught.value)
    with pytest.raises(DriverError, match=r"kernel none: cuModuleGetFunction"):
        device.loaded(device.assembled(ptx("float64", False, False, 128))).function("none")
    with pytest.raises(DriverError, match=r"loading 16 bytes of code"):
        device.loaded(b"no code at all.\0")


def launched(device: Device, function: RealFunction, count: int = 1000, stream: int = 0) -> list[Any]:
    """Results by the driver alone."""
    launch = function.launcher(device.index)
    arrays = [X[:count].astype(function.dtype), Y[:count].astype(function.dtype)]
    results = [np.zeros((count, 3), function.dtype), np.zeros((count, 3, 3), function.dtype)]
    places = [device.allocated(a.nbytes, stream) for a in (*arrays, *results)]
    for array, place in zip(arrays, places, strict=False):
        device.copy_in(place.address, array.ctypes.data, array.nbytes, stream)
    launch(stream, [p.address for p in places], count)
    for array, place in zip(results, places[2:], strict=True):
        device.copy_out(array.ctypes.data, place.address, array.nbytes, stream)
    device.synchronize_stream(stream)
    return results


def check(results: Any, x: Any = X, y: Any = Y, *parameters: Any) -> None:
    """Sums of a few numbers of about 1."""
    for result, wanted in zip(results, expected(x, y, *parameters), strict=True):
        close = 1e-12 if result.itemsize == 8 else 1e-5
        np.testing.assert_allclose(result, wanted, rtol=close, atol=close)


def current_context() -> int | None:
    current = ctypes.c_void_p(1)
    assert driver().api["cuCtxGetCurrent"](ctypes.byref(current)) == 0
    return current.value


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("is_staged", [False, True])
@pytest.mark.parametrize("count", [1, 127, 128, 1000])
def test_kernels_compute(device: Device, dtype: str, is_staged: bool, count: int) -> None:
    made = launched(device, RealFunction(dtype, False, is_staged), count, device.stream().handle)
    check(made, X[:count], Y[:count])


def test_more_shared_memory_than_is_given_unasked(device: Device) -> None:
    function = RealFunction("float64", False, True, 1024)
    assert function.shared > 48 << 10
    check(launched(device, function))


def test_launches_from_a_thread_without_a_context(device: Device) -> None:
    with ThreadPoolExecutor(1) as pool:
        check(pool.submit(launched, device, RealFunction()).result())
        assert pool.submit(current_context).result() is None


def test_launches_while_another_context_is_current(device: Device) -> None:
    api, other = driver().api, ctypes.c_void_p()
    assert api.library.cuCtxCreate_v2(ctypes.byref(other), 0, device.handle) == 0
    try:
        made = launched(device, RealFunction())
        assert current_context() == other.value
    finally:
        api.library.cuCtxDestroy_v2(other)
    check(made)


def test_memory_is_found_by_its_address(device: Device) -> None:
    memory = device.allocated(1000, None)
    found = driver().pointer(memory.address + 8)
    assert found is not None
    assert found.is_on_device
    assert found.device == 0
    assert found.start <= memory.address
    assert found.context in (0, device.context)
    assert found.start + found.size >= memory.address + 1000
    assert driver().pointer(X.ctypes.data) is None or not driver().pointer(X.ctypes.data).is_on_device  # type: ignore[union-attr]
    pinned = driver().pointer(device.pinned(64).address)
    assert pinned is None or not pinned.is_on_device


@pytest.mark.parametrize("stream", [0, None], ids=["in order", "for any"])
def test_memory_is_freed(device: Device, stream: int | None) -> None:
    device.synchronize()
    before = device.free_memory()
    for _ in range(8):
        device.allocated(min(before // 4, 4 << 30), stream)
    device.synchronize()
    assert device.free_memory() >= before - (64 << 20)


def test_too_much_memory(device: Device) -> None:
    for stream in (0, None):
        with pytest.raises(OutOfMemory, match=r"bytes on the device: .*OUT_OF_MEMORY"):
            device.allocated(4 * device.memory, stream)
    device.synchronize()


def test_events_tell_the_time(device: Device) -> None:
    start, end, stream = device.event(), device.event(), device.stream()
    a, b = device.allocated(256 << 20, None), device.allocated(256 << 20, None)
    start.record(stream.handle)
    device.copy(b.address, a.address, 256 << 20, stream.handle)
    end.record(stream.handle)
    end.synchronize()
    assert 1e-5 < start.elapsed(end) < 1.0


def test_a_fork_is_told() -> None:
    gpu()
    code = (
        "import os\n"
        "from forearm.errors import ForearmError\n"
        "from forearm.kernels.cuda.driver import driver\n"
        "device = driver().device(0); device.synchronize()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    told = 0\n"
        "    for attempt in (driver, device.synchronize, lambda: device.allocated(8)):\n"
        "        try: attempt()\n"
        "        except ForearmError as error: told += 'after a fork' in str(error)\n"
        "    os._exit(told)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3\n"
        "device.synchronize()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("count", [0, 1, 1000, 300_000])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numpy_in_gives_numpy_out(device: Device, count: int, dtype: str) -> None:
    x, y = np.random.default_rng(1).normal(size=(2, count, 3))
    made = run(RealFunction(dtype), (x, y), Call({}))
    assert all(result.dtype == dtype for result in made)
    check(made, x, y)


def test_numpy_in_pinned_memory(device: Device) -> None:
    x, y = np.random.default_rng(1).normal(size=(2, 300_000, 3))
    held, total = (
        device.pinned(x.nbytes).array.view(np.float64).reshape(x.shape) for _ in ("given", "result")
    )
    held[...] = x
    assert driver().is_pinned(held.ctypes.data)
    assert not driver().is_pinned(x.ctypes.data)
    check(run(RealFunction(), (held, y), Call({}, [total, np.zeros((300_000, 3, 3))])), x, y)


def test_numpy_by_many_threads_and_kept_memory(device: Device) -> None:
    function, x, y = RealFunction(), *np.random.default_rng(1).normal(size=(2, 100_000, 3))

    def work(_: int) -> None:
        for _ in range(3):
            check(run(function, (x, y), Call({})), x, y)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert len(transfers._kept[device]) <= transfers.WORKERS


@pytest.mark.parametrize("rows", [None, 1, 1000])
def test_numpy_with_open_parameters(device: Device, rows: int | None) -> None:
    p = None if rows is None else random.normal(size=(2,) if rows == 1 else (rows, 2))
    own = {"gain": 3.0, "offset": -1.0}
    made = run(RealFunction(parameters=True), (X, Y), Call(own, None, None, p))
    check(made, X, Y, [3.0, -1.0] if p is None else p)
