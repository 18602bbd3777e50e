"""Calls with arrays on a device: results beside them, on the caller's stream, and an error for everything
that would be a bad read. On stand-ins for the driver and for libraries of arrays, and on a GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernels.cuda.fake_arrays import FakeArrays, FakeCupy, FakeInterface, FakeJax, FakeTorch
from kernels.cuda.fake_driver import FakeLibrary
from kernels.cuda.fake_function import FakeFunction, expected
from kernels.cuda.fake_lending import FakeLending
from kernels.cuda.gpu_function import MAKERS, RealFunction, gpu

from forearm.errors import InputError, NameNotFound
from forearm.kernels.cuda.dispatch import run
from forearm.kernels.cuda.driver import driver
from forearm.kernels.cuda.unknown_arrays import DeviceResult
from forearm.kernels.dispatch import Call

FAKES: dict[str, Any] = {
    "torch": FakeTorch,
    "cupy": FakeCupy,
    "jax": FakeJax,
    "interface": FakeInterface,
    "dlpack": FakeLending,
}
# What the libraries warn of is theirs.
REAL = (pytest.mark.gpu, pytest.mark.filterwarnings("ignore"))
NONE = Call({})
OWN = {"gain": 3.0, "offset": -1.0}
B = 300
random = np.random.default_rng(3)
X, Y = random.normal(size=(2, B, 3))
P = random.normal(size=(B, 2))


def libraries(*names: str, fakes: tuple[str, ...] = tuple(FAKES)) -> pytest.MarkDecorator:
    """On the fake driver, and those of this machine."""
    cases = [pytest.param(FAKES[name], id=f"fake {name}") for name in names if name in fakes]
    cases += [pytest.param(MAKERS[name], id=name, marks=REAL) for name in names]
    return pytest.mark.parametrize("arrays", cases, indirect=True)


EVERY = libraries(*MAKERS)
WRITEABLE = libraries("torch", "cupy", "interface", "dlpack")


@pytest.fixture
def arrays(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    if issubclass(request.param, FakeArrays):
        return request.param(request.getfixturevalue("fake"), monkeypatch)
    gpu()
    return request.param()


def function_for(arrays: Any, dtype: str = "float64", parameters: int = 0) -> Any:
    if isinstance(arrays, FakeArrays):
        return FakeFunction(arrays.library, dtype, parameters)
    return RealFunction(dtype, bool(parameters), dtype == "float32")


def check(arrays: Any, results: list[Any], *wanted: Any) -> None:
    for result, value in zip(results, wanted, strict=True):
        got, close = arrays.values(result), 1e-12 if value.itemsize == 8 else 1e-5
        assert got.shape == value.shape
        np.testing.assert_allclose(got, value, rtol=close, atol=close)


def places(arrays: Any, count: int = B) -> list[Any]:
    """Arrays for results."""
    return [arrays.array(np.zeros((count, 3))), arrays.array(np.zeros((count, 3, 3)))]


def refused(function: Any, states: Any, said: str, *options: Any, kind: type[Exception] = InputError) -> None:
    with pytest.raises(kind, match=f"^{said}"):
        run(function, states, Call({}, *options) if options else NONE)


@EVERY
@pytest.mark.parametrize("count", [1, 5, B])
def test_results_lie_beside_the_arrays(arrays: Any, count: int) -> None:
    function, x, y = function_for(arrays), arrays.array(X[:count]), arrays.array(Y[:count])
    for _ in range(3):  # the second time by what is known
        results = run(function, (x, y), NONE)
        check(arrays, results, *expected(X[:count], Y[:count]))
    if isinstance(arrays, FakeArrays):
        assert (type(results[0]) is type(x)) is not isinstance(arrays, FakeInterface)
    assert all(type(r) in (type(x), DeviceResult) for r in results)


@EVERY
def test_float32(arrays: Any) -> None:
    x, y = X.astype("f4"), Y.astype("f4")
    function = function_for(arrays, "float32")
    for _ in range(2):
        check(arrays, run(function, (arrays.array(x), arrays.array(y)), NONE), *expected(x, y))


@EVERY
def test_one_state_and_none(arrays: Any) -> None:
    function, none = function_for(arrays), arrays.array(np.zeros((0, 3)))
    check(arrays, run(function, (none, none), NONE), np.zeros((0, 3)), np.zeros((0, 3, 3)))
    assert not isinstance(arrays, FakeArrays) or arrays.library.launches == []
    for _ in range(2):
        results = run(function, (arrays.array(X[0]), arrays.array(Y[0])), NONE)
        check(arrays, results, *expected(X[0], Y[0]))


@EVERY
def test_states_are_broadcast_as_on_the_cpu(arrays: Any) -> None:
    row, one, many = (arrays.array(a) for a in (Y[0], Y[:1], X))
    rows = np.broadcast_to(Y[0], X.shape)
    function = function_for(arrays)
    for given, wanted in (
        ((many, row), (X, rows)),
        ((row, many), (rows, X)),
        ((many, one), (X, rows)),
        ((many, 0.5), (X, np.full(X.shape, 0.5))),
        ((row, np.float32(0.5)), (Y[0], np.full(3, 0.5))),
    ):
        check(arrays, run(function, given, NONE), *expected(*wanted))


@WRITEABLE
def test_results_are_written_where_asked(arrays: Any) -> None:
    function, out = function_for(arrays), places(arrays)
    for _ in range(2):
        results = run(function, (arrays.array(X), arrays.array(Y)), Call({}, out))
        assert all(a is b for a, b in zip(results, out, strict=True))
        check(arrays, results, *expected(X, Y))


@libraries("torch", "cupy")
@pytest.mark.parametrize("shift", [0, 1])
def test_in_place_and_across(arrays: Any, shift: int) -> None:
    x, product, first = arrays.array(X), places(arrays, B - 1)[1], slice(0, B - 1)
    out = arrays.part(x, slice(shift, shift + B - 1))
    given = arrays.part(x, first), arrays.array(Y[first])
    results = run(function_for(arrays), given, Call({}, [out, product]))
    check(arrays, results, *expected(X[first], Y[first]))
    if isinstance(arrays, FakeArrays):
        _, addresses, _, _ = arrays.library.launches[-1]
        assert (addresses[2] == out.view.ctypes.data) is (shift == 0)


@libraries("torch", "cupy")
def test_strided_arrays_are_copied_by_their_library(arrays: Any) -> None:
    function, y = function_for(arrays), arrays.array(Y)
    x = arrays.part(arrays.array(np.repeat(X, 2, axis=0)), slice(None, None, 2))
    check(arrays, run(function, (x, y), NONE), *expected(X, Y))
    if not isinstance(arrays, FakeArrays):
        turned = arrays.array(np.ascontiguousarray(X.T)).T
        check(arrays, run(function, (turned, y), NONE), *expected(X, Y))


@libraries("torch", "cupy", "jax", "interface", "dlpack", "numba")
def test_open_parameters(arrays: Any) -> None:
    function, x, y = function_for(arrays, parameters=2), arrays.array(X), arrays.array(Y)
    for given, values, kernel in (
        (None, [3.0, -1.0], "fake_shared"),
        ([0.5, 2.0], [0.5, 2.0], "fake_shared"),
        (np.array([0.5, 2.0], "f4"), [0.5, 2.0], "fake_shared"),
        (arrays.array(P[0]), P[0], "fake_shared"),
        ({"offset": 4.0}, [3.0, 4.0], "fake_shared"),
        (P, P, "fake_each"),
        (arrays.array(P), P, "fake_each"),
        ({"gain": P[:, 0]}, np.stack([P[:, 0], np.full(B, -1.0)], -1), "fake_each"),
    ):
        results = run(function, (x, y), Call(OWN, None, None, given))
        assert not isinstance(arrays, FakeArrays) or arrays.library.launches[-1][0] == kernel
        check(arrays, results, *expected(X, Y, values))
    result = run(function, (arrays.array(X[0]), arrays.array(Y[0])), Call(OWN))
    check(arrays, result, *expected(X[0], Y[0], [3.0, -1.0]))


@libraries("torch", "cupy", "jax", fakes=("torch", "cupy"))
def test_open_parameters_by_name_from_the_device(arrays: Any) -> None:
    function, states = function_for(arrays, parameters=2), (arrays.array(X), arrays.array(Y))
    given, values = {"gain": arrays.array(P[:, 0])}, np.stack([P[:, 0], np.full(B, -1.0)], -1)
    check(arrays, run(function, states, Call(OWN, None, None, given)), *expected(X, Y, values))
    if isinstance(arrays, FakeTorch | FakeCupy):  # beside a column of the host
        given = {"offset": arrays.array(P[:, 1]), "gain": P[:, 0]}
        check(arrays, run(function, states, Call(OWN, None, None, given)), *expected(X, Y, P))


@EVERY
def test_wrong_numbers_and_shapes(arrays: Any) -> None:
    function, x = function_for(arrays), arrays.array(X)
    for y, said in (
        (Y.astype("f4"), "expected float64 on the device, got float32; convert it, or"),
        (np.ones((B, 3), int), r"expected float64 on the device, got int64; convert it\.$"),
        (np.ones((B, 2)), rf"it has 3 entries, expected shape .* got \({B}, 2\)"),
        (np.ones((B - 1, 3)), rf"expected a number, \(3,\) or \({B}, 3\) beside x"),
        (np.ones((2, 2, 3)), r"it has 3 entries.*got \(2, 2, 3\)"),
    ):
        refused(function, (x, arrays.array(y)), f"y: .*{said}")
    refused(function, (x, Y), "y: x is on device 0 .* in host memory")
    bad: list[Any] = [(np.zeros((B - 1, 3))), np.zeros((B, 3), "f4"), np.zeros((B, 4))]
    for total in bad:
        out = [arrays.array(total), places(arrays)[1]]
        said = rf"out: expected a writeable C-contiguous array \({B}, 3\) of float64, got"
        refused(function, (x, x), said, out)


@libraries("jax")
def test_an_out_of_jax_is_refused(arrays: Any) -> None:
    x = arrays.array(X)
    refused(function_for(arrays), (x, x), "out: .*writeable", places(arrays))


# On the fake driver alone.


@pytest.mark.parametrize("kind", [FakeInterface, FakeLending])
def test_strided_arrays_of_nobody_are_refused(
    kind: Any, fake: FakeLibrary, function: FakeFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = kind(fake, monkeypatch)
    x = made.part(made.array(X), slice(None, None, 2))
    refused(function, (x, x), "x: expected a C-contiguous array")


@pytest.mark.parametrize("kind", ["torch", "cupy"])
@pytest.mark.parametrize("is_new", [True, False])
def test_work_goes_to_the_current_stream(
    request: pytest.FixtureRequest, fake: FakeLibrary, function: FakeFunction, kind: str, is_new: bool
) -> None:
    arrays, stream = request.getfixturevalue(kind), driver().device(0).stream()
    arrays.current[0] = stream.handle
    out = None if is_new else places(arrays)
    results = run(function, (arrays.array(X), arrays.array(Y)), Call({}, out))
    assert fake.launches[-1][3] == stream.handle
    assert not {"cuStreamSynchronize", "cuCtxSynchronize", "cuEventRecord"} & set(fake.calls)
    check(arrays, results, *expected(X, Y))


def test_the_short_way_is_taken(
    torch: FakeTorch, function: FakeFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = torch.array(X), torch.array(Y)
    run(function, (x, y), NONE)
    monkeypatch.setattr("forearm.kernels.cuda.dispatch._launched", None)
    for call in (NONE, Call({}, places(torch))):
        check(torch, run(function, (x, y), call), *expected(X, Y))
    check(torch, run(function, (torch.array(X[0]), torch.array(Y[0])), NONE), *expected(X[0], Y[0]))


@pytest.mark.parametrize("first", ["torch", "cupy"])
def test_arrays_on_other_streams_are_waited_for(
    torch: FakeTorch, cupy: FakeCupy, fake: FakeLibrary, function: FakeFunction, first: str
) -> None:
    streams = [driver().device(0).stream() for _ in range(2)]
    torch.current[0], cupy.current[0] = (s.handle for s in streams)
    x, y = torch.array(X), cupy.array(np.zeros_like(Y))
    y[...] = Y  # not yet
    results = run(function, (x, y), NONE)
    y[...] = 7.0  # after the kernel
    fake._drain(torch.current[0] if first == "torch" else cupy.current[0])
    check(torch, results, *expected(X, Y))


def test_two_devices(torch: FakeTorch, fake: FakeLibrary, function: FakeFunction) -> None:
    x, y = torch.array(X, 1), torch.array(Y, 1)
    for _ in range(2):
        results = run(function, (x, y), NONE)
        assert all(r.get_device() == 1 for r in results)
    fake._drain(0)
    assert np.array_equal(results[0].view, expected(X, Y)[0])
    said = "x is on device 1; expected {0} there too, got PyTorch, device 0"
    refused(function, (x, torch.array(Y, 0)), "y: " + said.format("y"))
    refused(function, (x, y), "out: " + said.format("out"), [places(torch)[0], places(torch)[1]])


def test_what_lies_on_the_host_is_refused(torch: FakeTorch, function: FakeFunction) -> None:
    x = torch.array(X)
    for states, said in (
        ((x, Y), r"y: x is on device 0 \(PyTorch\); expected y there too, got ndarray"),
        ((X.tolist(), x), "x: y is on device 0 .* got list in host memory"),
        ((x, torch.array(Y, -1)), r"y: expected a tensor on a CUDA device \(y\.cuda.* got one on cpu"),
        ((1.0, x), r"x: it has 3 entries, expected shape .* got \(\)"),
    ):
        refused(function, states, said)
    on_host = [np.zeros((B, 3)), np.zeros((B, 3, 3))]
    refused(function, (x, x), "out: x is on device 0 .* got ndarray in host memory", on_host)
    refused(function, (X, Y), "out: the states are in host memory.* got a PyTorch array", [x, x])
    strided = [torch.part(torch.array(np.zeros((2 * B, 3))), slice(None, None, 2)), places(torch)[1]]
    refused(function, (x, x), "out: .*C-contiguous", strided)
    refused(function, (x, x), "threads: a GPU", None, 2)
    refused(function, (x, x), "parameters: this kernel has no open parameters", None, None, [1.0, 2.0])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"freed": True}, "its storage has 0; was it freed"),
        ({"cut": 8}, "the tensor needs 7,200 bytes, but its storage has 7,192; was it freed"),
        ({"has_memory": False}, "no memory of its own"),
        ({"requires_grad": True}, "requires a gradient.*k.torch"),
        ({"layout": "sparse_coo"}, "expected a dense tensor, got sparse_coo"),
    ],
    ids=str,
)
def test_tensors_that_cannot_be_read(
    torch: FakeTorch, fake: FakeLibrary, function: FakeFunction, change: dict[str, Any], said: str
) -> None:
    x, y = torch.array(X), torch.array(Y)
    run(function, (x, y), NONE)
    launched = len(fake.launches)
    vars(y).update(change)
    if "layout" in change:
        y.view = y.view[::-1]  # the short way does not ask for its layout
    refused(function, (x, y), f"y: .*{said}")
    assert len(fake.launches) == launched
    torch.is_grad_enabled = False
    if "requires_grad" in change:  # that nobody wants
        check(torch, run(function, (x, y), NONE), *expected(X, Y))


def test_numbers_that_became_others_in_place(torch: FakeTorch, function: FakeFunction) -> None:
    x, y, out = torch.array(X), torch.array(Y), places(torch)
    for _ in range(3):  # until a call looks at no more than what can change
        run(function, (x, y), Call({}, out))
    y.view = y.view.view(np.int64)  # y.data = y.data.view(torch.int64)
    refused(function, (x, y), "y: expected float64 on the device, got int64", out)


def test_other_arrays_that_cannot_be_read(
    fake: FakeLibrary, cupy: FakeCupy, function: FakeFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    jax = FakeJax(fake, monkeypatch)
    freed, gone = cupy.array(Y), jax.array(Y)
    freed.data.mem.ptr, gone.deleted = 0, True
    for states, said in (
        ((cupy.array(X), freed), "y: the memory of the array was freed"),
        ((jax.array(X), gone), "y: the array was deleted, or donated"),
        ((jax.Tracer(), gone), r"x: JAX's Tracer has no values yet.*k\.jax"),
        (
            (jax.ArrayImpl(X, 0, "cpu"), gone),
            "x: expected an array on a single CUDA device.* got one on cpu:0",
        ),
    ):
        refused(function, states, said)


def test_the_arms_own_parameters_are_sent_once(torch: FakeTorch, fake: FakeLibrary) -> None:
    function = FakeFunction(fake, parameters=2)
    for _ in range(3):
        run(function, (torch.array(X), torch.array(Y)), Call(OWN))
    assert fake.calls.count("cuMemcpyHtoDAsync_v2") == 1


def test_parameters_that_do_not_fit(
    torch: FakeTorch, fake: FakeLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    function, described = FakeFunction(fake, parameters=2), FakeInterface(fake, monkeypatch)
    x, y, z = torch.array(X), torch.array(Y), described.array(X)
    column = described.array(P[:, 0])
    shapes = rf"2 are left open; expected shape \(2,\), or \({B}, 2\) .* got \(7, 2\)"
    for states, given, said in (
        ((x, y), torch.array(P[:7]), shapes),
        ((x, y), P[:7], shapes),
        ((x, y), torch.array(P.astype("f4")), "expected float64 on the device"),
        ((x, y), torch.array(P, 1), "x is on device 0; expected parameters there too"),
        (
            (x, y),
            {"gain": torch.array(P[:7, 0])},
            rf"gain: expected one number, or one per state \(shape \({B},\)\)",
        ),
        ((x, y), {"gain": column}, "gain: .*a PyTorch array like x, got one of __cuda"),
        ((z, z), {"gain": column}, "by name need PyTorch, CuPy or JAX"),
    ):
        with pytest.raises(InputError, match=f"^parameters.*{said}"):
            run(function, states, Call(OWN, None, None, given))
    with pytest.raises(NameNotFound, match=r"parameters left open.*gains"):
        run(function, (x, y), Call(OWN, None, None, {"gains": torch.array(P[:, 0])}))
