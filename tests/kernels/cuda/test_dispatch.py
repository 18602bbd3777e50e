"""Calls with arrays on a device, on stand-ins for the driver and for libraries of arrays: results beside
them, on the caller's stream, and an error for everything that would be a bad read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from kernels.cuda.fake_arrays import FakeArrays, FakeCupy, FakeInterface, FakeJax, FakeTorch, forget
from kernels.cuda.fake_driver import FakeLibrary, using
from kernels.cuda.fake_function import FakeFunction, expected
from kernels.cuda.fake_lending import FakeLending

from forearm.errors import InputError, NameNotFound
from forearm.kernels.cuda.dispatch import run
from forearm.kernels.cuda.driver import driver
from forearm.kernels.cuda.unknown_arrays import DeviceResult
from forearm.kernels.dispatch import Call

LIBRARIES: dict[str, Any] = {
    "torch": FakeTorch,
    "cupy": FakeCupy,
    "jax": FakeJax,
    "interface": FakeInterface,
    "dlpack": FakeLending,
}
NONE = Call({})
random = np.random.default_rng(3)
X, Y = random.normal(size=(2, 40, 3))


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


@pytest.fixture(params=LIBRARIES)
def arrays(request: pytest.FixtureRequest, fake: FakeLibrary, monkeypatch: pytest.MonkeyPatch) -> FakeArrays:
    return LIBRARIES[request.param](fake, monkeypatch)  # type: ignore[no-any-return]


@pytest.fixture
def torch(fake: FakeLibrary, monkeypatch: pytest.MonkeyPatch) -> FakeTorch:
    return FakeTorch(fake, monkeypatch)


def check(arrays: FakeArrays, results: list[Any], *wanted: Any) -> None:
    for result, value in zip(results, wanted, strict=True):
        got = arrays.values(result)
        assert got.shape == value.shape
        assert np.array_equal(got, value)


@pytest.mark.parametrize("count", [1, 5, 40])
def test_results_lie_beside_the_arrays(arrays: FakeArrays, function: FakeFunction, count: int) -> None:
    x, y = arrays.array(X[:count]), arrays.array(Y[:count])
    for _ in range(2):  # the second time by what is known
        results = run(function, (x, y), NONE)
        check(arrays, results, *expected(X[:count], Y[:count]))
    kind = DeviceResult if isinstance(arrays, FakeInterface) else type(x)
    assert all(type(r) is kind for r in results)


def test_one_state_gives_one_result(arrays: FakeArrays, function: FakeFunction) -> None:
    for _ in range(2):
        results = run(function, (arrays.array(X[0]), arrays.array(Y[0])), NONE)
        check(arrays, results, *expected(X[0], Y[0]))


def test_states_are_broadcast_as_on_the_cpu(arrays: FakeArrays, function: FakeFunction) -> None:
    row, many = arrays.array(Y[0]), arrays.array(X)
    check(arrays, run(function, (many, row), NONE), *expected(X, np.broadcast_to(Y[0], X.shape)))
    check(arrays, run(function, (row, many), NONE), *expected(np.broadcast_to(Y[0], X.shape), X))
    one = arrays.array(Y[:1])
    check(arrays, run(function, (many, one), NONE), *expected(X, np.broadcast_to(Y[0], X.shape)))
    check(arrays, run(function, (many, 0.5), NONE), *expected(X, np.full(X.shape, 0.5)))
    check(arrays, run(function, (row, np.float32(0.5)), NONE), *expected(Y[0], np.full(3, 0.5)))


def test_no_states_are_no_work(arrays: FakeArrays, fake: FakeLibrary, function: FakeFunction) -> None:
    x = arrays.array(np.zeros((0, 3)))
    check(arrays, run(function, (x, x), NONE), np.zeros((0, 3)), np.zeros((0, 3, 3)))
    assert fake.launches == []


@pytest.mark.parametrize("arrays", ["torch", "cupy", "interface", "dlpack"], indirect=True)
def test_results_are_written_where_asked(arrays: FakeArrays, function: FakeFunction) -> None:
    out = [arrays.array(np.zeros((40, 3))), arrays.array(np.zeros((40, 3, 3)))]
    for _ in range(2):
        results = run(function, (arrays.array(X), arrays.array(Y)), Call({}, out))
        assert results[0] is out[0]
        assert results[1] is out[1]
        check(arrays, results, *expected(X, Y))


@pytest.mark.parametrize("arrays", ["torch", "cupy", "interface", "dlpack"], indirect=True)
def test_in_place_and_across(arrays: Any, fake: FakeLibrary, function: FakeFunction) -> None:
    product = arrays.array(np.zeros((39, 3, 3)))
    for place, is_new in ((slice(0, 39), False), (slice(1, 40), True)):
        x, y = arrays.array(X), arrays.array(Y[:39])
        there, out = arrays.part(x, slice(0, 39)), arrays.part(x, place)
        results = run(function, (there, y), Call({}, [out, product]))
        check(arrays, results, *expected(X[:39], Y[:39]))
        _, addresses, _, _ = fake.launches[-1]
        assert (addresses[2] == out.view.ctypes.data) is not is_new


@pytest.mark.parametrize("arrays", ["torch", "cupy"], indirect=True)
def test_strided_arrays_are_copied_by_their_library(arrays: Any, function: FakeFunction) -> None:
    wide = arrays.array(np.repeat(X, 2, axis=0))
    x = arrays.part(wide, slice(None, None, 2))
    check(arrays, run(function, (x, arrays.array(Y)), NONE), *expected(X, Y))


@pytest.mark.parametrize("arrays", ["interface", "dlpack"], indirect=True)
def test_strided_arrays_of_nobody_are_refused(arrays: Any, function: FakeFunction) -> None:
    x = arrays.part(arrays.array(X), slice(None, None, 2))
    with pytest.raises(InputError, match=r"^x: expected a C-contiguous array"):
        run(function, (x, x), NONE)


@pytest.mark.parametrize("arrays", ["torch", "cupy"], indirect=True)
@pytest.mark.parametrize("how", ["new", "out"])
def test_work_goes_to_the_current_stream(
    arrays: FakeArrays, fake: FakeLibrary, function: FakeFunction, how: str
) -> None:
    stream = driver().device(0).stream()
    arrays.current[0] = stream.handle
    out = None if how == "new" else [arrays.array(np.zeros((40, 3))), arrays.array(np.zeros((40, 3, 3)))]
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
    out = [torch.array(np.zeros((40, 3))), torch.array(np.zeros((40, 3, 3)))]
    check(torch, run(function, (x, y), NONE), *expected(X, Y))
    check(torch, run(function, (x, y), Call({}, out)), *expected(X, Y))
    check(torch, run(function, (torch.array(X[0]), torch.array(Y[0])), NONE), *expected(X[0], Y[0]))


@pytest.mark.parametrize("first", ["torch", "cupy"])
def test_arrays_on_other_streams_are_waited_for(
    torch: FakeTorch, fake: FakeLibrary, function: FakeFunction, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    cupy = FakeCupy(fake, monkeypatch)
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
    with pytest.raises(
        InputError, match=r"^y: x is on device 1; expected y there too, got PyTorch, device 0"
    ):
        run(function, (x, torch.array(Y, 0)), NONE)
    out = [torch.array(np.zeros((40, 3)), 1), torch.array(np.zeros((40, 3, 3)), 0)]
    with pytest.raises(InputError, match=r"^out: x is on device 1; expected out there too"):
        run(function, (x, y), Call({}, out))


def test_what_lies_on_the_host_is_refused(torch: FakeTorch, function: FakeFunction) -> None:
    x = torch.array(X)
    with pytest.raises(
        InputError, match=r"^y: x is on device 0 \(PyTorch\); expected y there too, got ndarray"
    ):
        run(function, (x, Y), NONE)
    with pytest.raises(InputError, match=r"^x: y is on device 0 .* got list in host memory"):
        run(function, (X.tolist(), x), NONE)
    with pytest.raises(
        InputError, match=r"^y: expected a tensor on a CUDA device \(y\.cuda.* got one on cpu"
    ):
        run(function, (x, torch.array(Y, -1)), NONE)
    with pytest.raises(InputError, match=r"^out: x is on device 0 .* got ndarray in host memory"):
        run(function, (x, x), Call({}, [np.zeros((40, 3)), np.zeros((40, 3, 3))]))
    with pytest.raises(InputError, match=r"^x: it has 3 entries, expected shape .* got \(\)"):
        run(function, (1.0, x), NONE)
    with pytest.raises(InputError, match=r"^out: the states are in host memory.* got a PyTorch array"):
        run(function, (X, Y), Call({}, [x, x]))


def test_wrong_numbers_and_shapes(arrays: FakeArrays, function: FakeFunction) -> None:
    x = arrays.array(X)
    with pytest.raises(InputError, match=r"^y: expected float64 on the device, got float32; convert it, or"):
        run(function, (x, arrays.array(Y.astype("f4"))), NONE)
    with pytest.raises(InputError, match=r"^x: expected float64 on the device, got int64; convert it\.$"):
        run(function, (arrays.array(np.ones((4, 3), int)), x), NONE)
    with pytest.raises(InputError, match=r"^y: it has 3 entries, expected shape .* got \(40, 2\)"):
        run(function, (x, arrays.array(np.ones((40, 2)))), NONE)
    with pytest.raises(InputError, match=r"^y: expected a number, \(3,\) or \(40, 3\) beside x"):
        run(function, (x, arrays.array(np.ones((39, 3)))), NONE)
    with pytest.raises(InputError, match=r"^x: it has 3 entries.*got \(2, 2, 3\)"):
        run(function, (arrays.array(np.ones((2, 2, 3))), x), NONE)


@pytest.mark.parametrize(
    "bad", [np.zeros((39, 3)), np.zeros((40, 3), "f4"), np.zeros((40, 4))], ids=["rows", "dtype", "columns"]
)
def test_an_out_that_does_not_fit(arrays: FakeArrays, function: FakeFunction, bad: Any) -> None:
    out = [arrays.array(bad), arrays.array(np.zeros((40, 3, 3)))]
    text = r"^out: expected a writeable C-contiguous array \(40, 3\) of float64, got"
    with pytest.raises(InputError, match=text):
        run(function, (arrays.array(X), arrays.array(Y)), Call({}, out))


def test_an_out_of_jax_is_refused(
    fake: FakeLibrary, function: FakeFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    jax = FakeJax(fake, monkeypatch)
    out = [jax.array(np.zeros((40, 3))), jax.array(np.zeros((40, 3, 3)))]
    with pytest.raises(InputError, match="writeable"):
        run(function, (jax.array(X), jax.array(Y)), Call({}, out))


def test_a_strided_out_is_refused(torch: FakeTorch, function: FakeFunction) -> None:
    out = [
        torch.part(torch.array(np.zeros((80, 3))), slice(None, None, 2)),
        torch.array(np.zeros((40, 3, 3))),
    ]
    with pytest.raises(InputError, match="C-contiguous"):
        run(function, (torch.array(X), torch.array(Y)), Call({}, out))


def test_tensors_that_cannot_be_read(torch: FakeTorch, fake: FakeLibrary, function: FakeFunction) -> None:
    x, y = torch.array(X), torch.array(Y)
    run(function, (x, y), NONE)
    launched = len(fake.launches)
    for change, said in (
        ({"freed": True}, "its storage has 0; was it freed"),
        ({"cut": 8}, "the tensor needs 960 bytes, but its storage has 952; was it freed"),
        ({"has_memory": False}, "no memory of its own"),
        ({"requires_grad": True}, "requires a gradient.*k.torch"),
        ({"layout": "sparse_coo"}, "expected a dense tensor, got sparse_coo"),
    ):
        y = torch.array(Y)
        vars(y).update(change)
        if "layout" in change:
            y.view = y.view[::-1]  # the short way does not ask for its layout
        with pytest.raises(InputError, match=f"^y: .*{said}"):
            run(function, (x, y), NONE)
    assert len(fake.launches) == launched


def test_numbers_that_became_others_in_place(torch: FakeTorch, function: FakeFunction) -> None:
    x, y, out = (
        torch.array(X),
        torch.array(Y),
        [torch.array(np.zeros((40, 3))), torch.array(np.zeros((40, 3, 3)))],
    )
    for _ in range(3):  # until a call looks at no more than what can change
        run(function, (x, y), Call({}, out))
    y.view = y.view.view(np.int64)  # y.data = y.data.view(torch.int64)
    with pytest.raises(InputError, match=r"^y: expected float64 on the device, got int64"):
        run(function, (x, y), Call({}, out))


def test_gradients_that_nobody_wants(torch: FakeTorch, function: FakeFunction) -> None:
    x = torch.array(X)
    x.requires_grad, torch.is_grad_enabled = True, False
    check(torch, run(function, (x, torch.array(Y)), NONE), *expected(X, Y))


def test_other_arrays_that_cannot_be_read(
    fake: FakeLibrary, function: FakeFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    cupy, jax = FakeCupy(fake, monkeypatch), FakeJax(fake, monkeypatch)
    x, y = cupy.array(X), cupy.array(Y)
    y.data.mem.ptr = 0
    with pytest.raises(InputError, match=r"^y: the memory of the array was freed"):
        run(function, (x, y), NONE)
    gone = jax.array(Y)
    gone.deleted = True
    with pytest.raises(InputError, match=r"^y: the array was deleted, or donated"):
        run(function, (jax.array(X), gone), NONE)
    with pytest.raises(InputError, match=r"^x: JAX's Tracer has no values yet.*k\.jax"):
        run(function, (jax.Tracer(), gone), NONE)
    with pytest.raises(InputError, match=r"^x: expected an array on a single CUDA device.* got one on cpu:0"):
        run(function, (jax.ArrayImpl(X, 0, "cpu"), gone), NONE)


def test_threads_and_parameters_that_do_nothing_are_refused(torch: FakeTorch, function: FakeFunction) -> None:
    x = torch.array(X)
    with pytest.raises(InputError, match=r"^threads: a GPU"):
        run(function, (x, x), Call({}, None, 2))
    with pytest.raises(InputError, match="parameters: this kernel has no open parameters"):
        run(function, (x, x), Call({}, None, None, [1.0, 2.0]))


OWN = {"gain": 3.0, "offset": -1.0}
P = random.normal(size=(40, 2))


@pytest.mark.parametrize("arrays", ["torch", "cupy", "interface"], indirect=True)
def test_open_parameters(arrays: FakeArrays, fake: FakeLibrary) -> None:
    function = FakeFunction(fake, parameters=2)
    x, y = arrays.array(X), arrays.array(Y)
    for given, values, kernel in (
        (None, [3.0, -1.0], "fake_shared"),
        ([0.5, 2.0], [0.5, 2.0], "fake_shared"),
        (np.array([0.5, 2.0], "f4"), [0.5, 2.0], "fake_shared"),
        (arrays.array(P[0]), P[0], "fake_shared"),
        ({"offset": 4.0}, [3.0, 4.0], "fake_shared"),
        (P, P, "fake_each"),
        (arrays.array(P), P, "fake_each"),
        ({"gain": P[:, 0]}, np.stack([P[:, 0], np.full(40, -1.0)], -1), "fake_each"),
    ):
        results = run(function, (x, y), Call(OWN, None, None, given))
        assert fake.launches[-1][0] == kernel
        check(arrays, results, *expected(X, Y, values))
    result = run(function, (arrays.array(X[0]), arrays.array(Y[0])), Call(OWN))
    check(arrays, result, *expected(X[0], Y[0], [3.0, -1.0]))


def test_the_arms_own_parameters_are_sent_once(torch: FakeTorch, fake: FakeLibrary) -> None:
    function = FakeFunction(fake, parameters=2)
    for _ in range(3):
        run(function, (torch.array(X), torch.array(Y)), Call(OWN))
    assert fake.calls.count("cuMemcpyHtoDAsync_v2") == 1


@pytest.mark.parametrize("arrays", ["torch", "cupy"], indirect=True)
def test_open_parameters_by_name_from_the_device(arrays: FakeArrays, fake: FakeLibrary) -> None:
    function = FakeFunction(fake, parameters=2)
    x, y = arrays.array(X), arrays.array(Y)
    given = {"offset": arrays.array(P[:, 1]), "gain": P[:, 0]}
    check(arrays, run(function, (x, y), Call(OWN, None, None, given)), *expected(X, Y, P))


def test_parameters_that_do_not_fit(torch: FakeTorch, fake: FakeLibrary) -> None:
    function = FakeFunction(fake, parameters=2)
    x, y = torch.array(X), torch.array(Y)
    cupy = FakeInterface(fake, pytest.MonkeyPatch())
    for given, said in (
        (torch.array(P[:7]), r"2 are left open; expected shape \(2,\), or \(40, 2\) .* got \(7, 2\)"),
        (P[:7], r"2 are left open; expected shape \(2,\), or \(40, 2\) .* got \(7, 2\)"),
        (torch.array(P.astype("f4")), "expected float64 on the device"),
        (torch.array(P, 1), "x is on device 0; expected parameters there too"),
        ({"gain": torch.array(P[:7, 0])}, r"gain: expected one number, or one per state \(shape \(40,\)\)"),
        ({"gain": cupy.array(P[:, 0])}, "gain: .*a PyTorch array like x, got one of __cuda"),
    ):
        with pytest.raises(InputError, match=f"^parameters.*{said}"):
            run(function, (x, y), Call(OWN, None, None, given))
    with pytest.raises(NameNotFound, match=r"parameters left open.*gains"):
        run(function, (x, y), Call(OWN, None, None, {"gains": torch.array(P[:, 0])}))
    z = cupy.array(X)
    with pytest.raises(InputError, match="by name need PyTorch, CuPy or JAX"):
        run(function, (z, z), Call(OWN, None, None, {"gain": cupy.array(P[:, 0])}))


def test_float32(fake: FakeLibrary, torch: FakeTorch) -> None:
    function = FakeFunction(fake, "float32")
    x, y = X.astype("f4"), Y.astype("f4")
    for _ in range(2):
        check(torch, run(function, (torch.array(x), torch.array(y)), NONE), *expected(x, y))
