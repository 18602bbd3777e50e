"""Arrays of the libraries that are installed, on a GPU: their streams and graphs, and an error for everything
that would be a bad read. `test_dispatch` has what holds of stand-ins too.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from kernels.cuda.fake_function import expected
from kernels.cuda.gpu_function import MAKERS, CupyMaker, Described, JaxMaker, RealFunction, TorchMaker, gpu
from kernels.cuda.test_dispatch import NONE, check

from forearm.errors import InputError
from forearm.kernels.cuda.dispatch import run
from forearm.kernels.cuda.driver import Device, driver
from forearm.kernels.dispatch import Call

# What the libraries warn of is theirs.
pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore")]
random = np.random.default_rng(13)
X, Y = random.normal(size=(2, 500, 3))


@pytest.fixture(autouse=True)
def device() -> Device:
    return gpu()


@pytest.fixture(scope="module")
def function() -> RealFunction:
    return RealFunction()


@pytest.fixture
def torch(device: Device) -> TorchMaker:
    return TorchMaker()


@pytest.fixture
def cupy(device: Device) -> CupyMaker:
    return CupyMaker()


def places(arrays: Any) -> list[Any]:
    """Arrays for results."""
    return [arrays.array(np.zeros((500, 3))), arrays.array(np.zeros((500, 3, 3)))]


def test_torch_work_goes_to_the_current_stream(torch: TorchMaker, function: RealFunction) -> None:
    cuda = torch.torch.cuda
    x, y = torch.array(X), torch.array(Y)
    run(function, (x, y), NONE)
    stream, big = cuda.Stream(), torch.torch.ones(1 << 28, device="cuda")
    cuda.synchronize()
    with cuda.stream(stream):
        for _ in range(20):
            big.mul_(1.0)  # some milliseconds of work before
        x.copy_(torch.torch.full_like(x, 2.0))
        results = run(function, (x, y), NONE)
        assert not stream.query(), "the call waited"
        check(torch, results, *expected(np.full_like(X, 2.0), Y))


@pytest.mark.parametrize("how", ["new", "out"])
def test_torch_graphs(torch: TorchMaker, function: RealFunction, how: str) -> None:
    cuda = torch.torch.cuda
    x, y = torch.array(X), torch.array(Y)
    out = None if how == "new" else places(torch)
    run(function, (x, y), Call({}, out))
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        results = run(function, (x, y), Call({}, out))
    for scale in (2.0, -3.0):
        x.copy_(torch.array(scale * X))
        graph.replay()
        check(torch, results, *expected(scale * X, Y))


def test_cupy_streams_and_graphs(cupy: CupyMaker, function: RealFunction) -> None:
    x, y = cupy.array(X), cupy.array(Y)
    out = places(cupy)
    stream = cupy.cupy.cuda.Stream(non_blocking=True)
    cupy.cupy.cuda.Device().synchronize()
    with stream:
        check(cupy, run(function, (x, y), NONE), *expected(X, Y))
        run(function, (x, y), Call({}, out))
        stream.begin_capture()
        run(function, (x, y), Call({}, out))
        graph = stream.end_capture()
        x *= 2.0
        graph.launch(stream)
        check(cupy, out, *expected(2 * X, Y))


def test_arrays_of_two_libraries(torch: TorchMaker, cupy: CupyMaker, function: RealFunction) -> None:
    with torch.torch.cuda.stream(torch.torch.cuda.Stream()):
        x = torch.array(X)
        torch.torch.cuda.synchronize()
        with cupy.cupy.cuda.Stream(non_blocking=True):
            y = cupy.array(np.zeros_like(Y))
            big = cupy.cupy.ones(1 << 27)
            for _ in range(10):
                big *= 1.0
            y += cupy.array(Y)
            results = run(function, (x, y), NONE)
            y *= 0.0
        check(torch, results, *expected(X, Y))


def test_torch_tensors_that_cannot_be_read(torch: TorchMaker, function: RealFunction) -> None:
    t, x, y = torch.torch, torch.array(X), torch.array(Y)
    run(function, (x, y), NONE)
    with pytest.raises(InputError, match=r"^y: expected a tensor on a CUDA device .* got one on cpu"):
        run(function, (x, y.cpu()), NONE)
    with pytest.raises(InputError, match=r"^y: .*requires a gradient"):
        run(function, (x, y.clone().requires_grad_()), NONE)
    with t.no_grad():
        check(torch, run(function, (x, y.clone().requires_grad_()), NONE), *expected(X, Y))
    with pytest.raises(InputError, match=r"^y: expected a dense tensor"):
        run(function, (x, y.to_sparse()), NONE)
    with pytest.raises(InputError, match=r"^x: .*no memory of its own"):
        t.vmap(lambda a: run(function, (a, a), NONE)[0])(t.stack([x, y]))
    freed, part = torch.array(Y), torch.array(np.zeros((900, 3)))[400:]
    for gone in (freed, part):
        gone.untyped_storage().resize_(0)
        with pytest.raises(InputError, match=r"^y: .*its storage has 0; was it freed"):
            run(function, (x, gone), NONE)
    short = torch.array(Y)
    short.untyped_storage().resize_(Y.nbytes - 8)
    with pytest.raises(InputError, match=r"^y: .*its storage has 11,992; was it freed"):
        run(function, (x, short), NONE)
    negative = t.view_as_complex(t.stack([x[:, :1], x[:, 1:2]], -1).contiguous()).conj().imag
    check(torch, run(function, (negative.expand(500, 3), y), NONE), *expected(np.repeat(-X[:, 1:2], 3, 1), Y))


def test_jax_arrays_that_cannot_be_read(device: Device, function: RealFunction) -> None:
    made = JaxMaker()
    jax, x = made.jax, made.array(X)
    gone = made.array(Y)
    gone.delete()
    with pytest.raises(InputError, match=r"^y: the array was deleted"):
        run(function, (x, gone), NONE)
    with pytest.raises(InputError, match=r"^x: JAX's .*Tracer has no values yet"):
        jax.jit(lambda a: run(function, (a, a), NONE)[0])(x)
    on_cpu = jax.device_put(Y, jax.devices("cpu")[0])
    with pytest.raises(InputError, match=r"^y: expected an array on a single CUDA device"):
        run(function, (x, on_cpu), NONE)
    out = places(made)
    with pytest.raises(InputError, match="writeable"):
        run(function, (x, x), Call({}, out))
    check(made, [jax.jit(lambda a: 2 * a)(run(function, (x, x), NONE)[0])], 2 * expected(X, X)[0])


def test_results_of_jax_are_their_own(device: Device, function: RealFunction) -> None:
    made = JaxMaker()
    x = made.array(X)
    first = run(function, (x, made.array(Y)), NONE)
    run(function, (made.array(3 * X), made.array(Y)), NONE)
    zeros = made.jax.numpy.zeros((500, 3))
    check(made, first, *expected(X, Y))
    assert not np.asarray(zeros).any()
    check(made, [x], X)


def test_freed_memory_of_cupy(cupy: CupyMaker, function: RealFunction) -> None:
    x, y = cupy.array(X), cupy.array(Y)
    y.data.mem.free()
    with pytest.raises(InputError, match=r"^y: the memory of the array was freed"):
        run(function, (x, y), NONE)


def test_addresses_of_unknown_arrays_are_looked_up(device: Device, function: RealFunction) -> None:
    x, y = MAKERS["interface"]().array(X), MAKERS["interface"]().array(Y)
    pinned, address = device.pinned(Y.nbytes), y.owner.memory.address
    for data, said in (
        (
            (Y.ctypes.data, False),
            "(its address .* is not memory known to CUDA|expected device memory, got host memory)",
        ),
        ((64, False), "its address 0x40 is not memory known to CUDA"),
        ((pinned.address, False), "expected device memory, got host memory"),
    ):
        with pytest.raises(InputError, match=f"^y: {said}"):
            run(function, (x, Described(y.owner, data=data)), NONE)
    long = Described(y.owner, shape=(1 << 26, 3))
    with pytest.raises(InputError, match=r"^y: it has 1,610,612,736 bytes, but only"):
        run(function, (x, long), NONE)
    assert address


def test_memory_of_another_context_is_refused(device: Device, function: RealFunction) -> None:
    api, other, memory = driver().api, ctypes.c_void_p(), ctypes.c_void_p()
    x = MAKERS["interface"]().array(X)
    assert api.library.cuCtxCreate_v2(ctypes.byref(other), 0, device.handle) == 0
    try:
        assert api["cuMemAlloc_v2"](ctypes.byref(memory), X.nbytes) == 0
        foreign = Described(x.owner, data=(memory.value, False))
        with pytest.raises(
            InputError, match=r"^y: its memory does not belong to the device's primary CUDA context"
        ):
            run(function, (x, foreign), NONE)
    finally:
        api.library.cuCtxDestroy_v2(other)


def test_results_are_taken_by_other_libraries(torch: TorchMaker, function: RealFunction) -> None:
    made = MAKERS["interface"]()
    results = run(function, (made.array(X), made.array(Y)), NONE)
    taken = [torch.torch.as_tensor(r, device="cuda") for r in results]
    check(torch, taken, *expected(X, Y))


def test_two_devices(torch: TorchMaker, function: RealFunction) -> None:
    if driver().count < 2:
        pytest.skip("there is only one device")
    x, y = torch.array(X, 1), torch.array(Y, 1)
    for _ in range(2):
        results = run(function, (x, y), NONE)
        assert results[0].get_device() == 1
        check(torch, results, *expected(X, Y))
    with pytest.raises(InputError, match=r"^y: x is on device 1; expected y there too"):
        run(function, (x, torch.array(Y)), NONE)
