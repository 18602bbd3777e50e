"""Arrays of the libraries that are installed, on a GPU: results beside them, streams, graphs, and an error
for everything that would be a bad read.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from kernels.cuda.fake_function import expected
from kernels.cuda.gpu_function import MAKERS, CupyMaker, Described, JaxMaker, RealFunction, TorchMaker, gpu

from forearm.errors import InputError
from forearm.kernels.cuda.dispatch import run
from forearm.kernels.cuda.driver import Device, driver
from forearm.kernels.cuda.unknown_arrays import DeviceResult
from forearm.kernels.dispatch import Call

# What the libraries warn of is theirs.
pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore")]
NONE = Call({})
OWN = {"gain": 3.0, "offset": -1.0}
random = np.random.default_rng(13)
X, Y = random.normal(size=(2, 500, 3))
P = random.normal(size=(500, 2))


@pytest.fixture(autouse=True)
def device() -> Device:
    return gpu()


@pytest.fixture(scope="module")
def function() -> RealFunction:
    return RealFunction()


@pytest.fixture(scope="module")
def opened() -> RealFunction:
    return RealFunction(parameters=True)


@pytest.fixture(params=MAKERS)
def arrays(request: pytest.FixtureRequest, device: Device) -> Any:
    return MAKERS[request.param]()


@pytest.fixture
def torch(device: Device) -> TorchMaker:
    return TorchMaker()


@pytest.fixture
def cupy(device: Device) -> CupyMaker:
    return CupyMaker()


def check(arrays: Any, results: list[Any], *wanted: Any, close: float = 1e-12) -> None:
    for result, value in zip(results, wanted, strict=True):
        got = arrays.values(result)
        assert got.shape == value.shape
        np.testing.assert_allclose(got, value, rtol=close, atol=close)


@pytest.mark.parametrize("count", [1, 5, 500])
def test_results_lie_beside_the_arrays(arrays: Any, function: RealFunction, count: int) -> None:
    x, y = arrays.array(X[:count]), arrays.array(Y[:count])
    for _ in range(3):
        results = run(function, (x, y), NONE)
        check(arrays, results, *expected(X[:count], Y[:count]))
    assert type(results[0]) in (type(x), DeviceResult)


def test_float32(arrays: Any) -> None:
    x, y = X.astype("f4"), Y.astype("f4")
    function = RealFunction("float32", False, True)
    for _ in range(2):
        check(arrays, run(function, (arrays.array(x), arrays.array(y)), NONE), *expected(x, y), close=1e-5)


def test_one_state_and_none(arrays: Any, function: RealFunction) -> None:
    results = run(function, (arrays.array(X[0]), arrays.array(Y[0])), NONE)
    check(arrays, results, *expected(X[0], Y[0]))
    none = arrays.array(np.zeros((0, 3)))
    check(arrays, run(function, (none, none), NONE), np.zeros((0, 3)), np.zeros((0, 3, 3)))


def test_states_are_broadcast_as_on_the_cpu(arrays: Any, function: RealFunction) -> None:
    row, many = arrays.array(Y[0]), arrays.array(X)
    check(arrays, run(function, (many, row), NONE), *expected(X, np.broadcast_to(Y[0], X.shape)))
    check(arrays, run(function, (row, many), NONE), *expected(np.broadcast_to(Y[0], X.shape), X))
    check(arrays, run(function, (many, 0.5), NONE), *expected(X, np.full(X.shape, 0.5)))


@pytest.mark.parametrize("arrays", ["torch", "cupy", "interface", "dlpack"], indirect=True)
def test_results_are_written_where_asked(arrays: Any, function: RealFunction) -> None:
    out = [arrays.array(np.zeros((500, 3))), arrays.array(np.zeros((500, 3, 3)))]
    for _ in range(2):
        results = run(function, (arrays.array(X), arrays.array(Y)), Call({}, out))
        assert results[0] is out[0]
        check(arrays, results, *expected(X, Y))


@pytest.mark.parametrize("arrays", ["torch", "cupy"], indirect=True)
@pytest.mark.parametrize("shift", [0, 1])
def test_in_place_and_across(arrays: Any, function: RealFunction, shift: int) -> None:
    x, product = arrays.array(X), arrays.array(np.zeros((499, 3, 3)))
    out = [arrays.part(x, slice(shift, shift + 499)), product]
    results = run(function, (arrays.part(x, slice(0, 499)), arrays.array(Y[:499])), Call({}, out))
    check(arrays, results, *expected(X[:499], Y[:499]))


@pytest.mark.parametrize("arrays", ["torch", "cupy"], indirect=True)
def test_strided_arrays_are_copied(arrays: Any, function: RealFunction) -> None:
    x = arrays.part(arrays.array(np.repeat(X, 2, axis=0)), slice(None, None, 2))
    check(arrays, run(function, (x, arrays.array(Y)), NONE), *expected(X, Y))
    turned = arrays.array(np.ascontiguousarray(X.T)).T
    check(arrays, run(function, (turned, arrays.array(Y)), NONE), *expected(X, Y))


def test_open_parameters(arrays: Any, opened: RealFunction) -> None:
    x, y = arrays.array(X), arrays.array(Y)
    for given, values in (
        (None, [3.0, -1.0]),
        ([0.5, 2.0], [0.5, 2.0]),
        (arrays.array(P[0]), P[0]),
        ({"offset": 4.0}, [3.0, 4.0]),
        (P, P),
        (arrays.array(P), P),
    ):
        check(arrays, run(opened, (x, y), Call(OWN, None, None, given)), *expected(X, Y, values))


@pytest.mark.parametrize("arrays", ["torch", "cupy", "jax"], indirect=True)
def test_open_parameters_by_name_from_the_device(arrays: Any, opened: RealFunction) -> None:
    given = {"gain": arrays.array(P[:, 0])}
    wanted = expected(X, Y, np.stack([P[:, 0], np.full(500, -1.0)], -1))
    check(arrays, run(opened, (arrays.array(X), arrays.array(Y)), Call(OWN, None, None, given)), *wanted)


def test_wrong_numbers_and_shapes(arrays: Any, function: RealFunction) -> None:
    x = arrays.array(X)
    with pytest.raises(InputError, match=r"^y: expected float64 on the device, got float32"):
        run(function, (x, arrays.array(Y.astype("f4"))), NONE)
    with pytest.raises(InputError, match=r"^y: it has 3 entries, expected shape .* got \(500, 2\)"):
        run(function, (x, arrays.array(np.ones((500, 2)))), NONE)
    with pytest.raises(InputError, match=r"^y: expected a number, \(3,\) or \(500, 3\) beside x"):
        run(function, (x, arrays.array(np.ones((499, 3)))), NONE)
    with pytest.raises(InputError, match=r"^y: x is on device 0 .* in host memory"):
        run(function, (x, Y), NONE)
    with pytest.raises(InputError, match=r"^out: expected a writeable C-contiguous array"):
        run(function, (x, x), Call({}, [x, arrays.array(np.zeros((500, 3, 2)))]))


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
    out = None if how == "new" else [torch.array(np.zeros((500, 3))), torch.array(np.zeros((500, 3, 3)))]
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
    out = [cupy.array(np.zeros((500, 3))), cupy.array(np.zeros((500, 3, 3)))]
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
    out = [made.array(np.zeros((500, 3))), made.array(np.zeros((500, 3, 3)))]
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
