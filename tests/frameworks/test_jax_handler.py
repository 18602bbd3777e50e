"""Handlers called as XLA calls them, with call frames made here: arrays, errors, versions, and launches on a
GPU that is not there.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from arms import random_arm
from numpy.typing import NDArray

import forearm as fa
from forearm.errors import ForearmError
from forearm.frameworks.jax_handler import FAILED, MISTAKEN, fill, handled, handler_in_memory
from forearm.frameworks.jax_handler_ir import HANDLER, OfferedFunctions

if TYPE_CHECKING:
    from forearm.kernels.compiled import Compiled
    from forearm.kernels.elf import Loaded

Array = NDArray[Any]
pytestmark = pytest.mark.slow
ARM = random_arm(4, 3)
POINTER, SIZE, LONG, INT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, ctypes.c_int
VERSION, OFFERED, DTYPES = (3, 14), OfferedFunctions(), {"float32": 11, "float64": 12}
HEAD: Any = [("struct_size", SIZE), ("extension", POINTER)]
STREAM, ORDINAL = 0x5EA, 2


class Version(ctypes.Structure):
    _fields_ = (*HEAD, ("major", INT), ("minor", INT))


class Metadata(ctypes.Structure):
    _fields_ = (("struct_size", SIZE), ("version", Version), ("traits", ctypes.c_uint32), ("state", LONG))


class Extension(ctypes.Structure):
    _fields_ = (("struct_size", SIZE), ("type", INT), ("next", POINTER), ("metadata", POINTER))


class Buffer(ctypes.Structure):
    _fields_ = (*HEAD, ("dtype", INT), ("data", POINTER), ("rank", LONG), ("dims", POINTER))


class Listed(ctypes.Structure):
    _fields_ = (*HEAD, ("size", LONG), ("types", POINTER), ("items", POINTER))


class Frame(ctypes.Structure):
    _fields_ = (
        *HEAD, ("api", POINTER), ("context", POINTER), ("stage", INT), ("args", Listed), ("rets", Listed),
        ("attrs", Listed), ("names", POINTER), ("future", POINTER),
    )  # fmt: skip


class Api(ctypes.Structure):
    _fields_ = (*HEAD, ("version", Version), ("internal", POINTER), ("functions", POINTER * 18))


class Question(ctypes.Structure):
    _fields_ = (*HEAD, ("context", POINTER), ("answer", LONG))


ASKED = ctypes.CFUNCTYPE(POINTER, ctypes.POINTER(Question))


class Xla:
    """The functions that XLA offers, and the call of a handler."""

    def __init__(self, refused: bool = False) -> None:
        self.errors: list[tuple[bytes, int]] = []
        self.refused, self.kept = refused, list[object]()
        self.api = Api()
        offered = {OFFERED.error: self.error, OFFERED.stream: self.stream, OFFERED.device: self.device}
        for place, function in offered.items():
            self.kept.append(ASKED(function))
            self.api.functions[place] = address_of(self.kept[-1])

    def error(self, asked: Any) -> int:
        self.errors.append((ctypes.string_at(asked.contents.context), asked.contents.answer & 0xFFFFFFFF))
        return 0xE0 + len(self.errors)

    def stream(self, asked: Any) -> int | None:
        assert asked.contents.context == 0xC0
        asked.contents.answer = STREAM
        return 0xBAD if self.refused else None

    def device(self, asked: Any) -> None:
        asked.contents.answer = ORDINAL

    def call(self, memory: Loaded, inputs: list[Array], outputs: list[Array]) -> Any:
        lists = [self.listed(arrays) for arrays in (inputs, outputs)]
        frame = Frame(api=ctypes.addressof(self.api), context=0xC0, args=lists[0], rets=lists[1])
        return handler_of(memory)(ctypes.addressof(frame))

    def listed(self, arrays: list[Array]) -> Listed:
        pointers = (POINTER * max(1, len(arrays)))()
        for k, a in enumerate(arrays):
            dims = (LONG * max(1, a.ndim))(*a.shape)
            made = Buffer(
                dtype=DTYPES.get(str(a.dtype), 5),
                data=a.ctypes.data,
                rank=a.ndim,
                dims=ctypes.addressof(dims),
            )
            self.kept += [dims, made, a]
            pointers[k] = ctypes.addressof(made)
        self.kept.append(pointers)
        return Listed(size=len(arrays), items=ctypes.addressof(pointers))


def handler_of(memory: Loaded) -> Any:
    return ctypes.CFUNCTYPE(POINTER, POINTER)(memory.addresses[HANDLER])


@pytest.fixture(scope="module", params=["float64", "float32"])
def compiled(request: pytest.FixtureRequest) -> Any:
    function = fa.compile(ARM, dtype=request.param).compiled("inverse_dynamics_derivatives")
    function.part("batch")
    return function


def arrays_for(compiled: Compiled, *leading: int) -> tuple[list[Array], list[Array]]:
    rng, dtype = np.random.default_rng(1), compiled.request.dtype
    inputs = [rng.uniform(-1.0, 1.0, leading + slot.shape).astype(dtype) for slot in compiled.inputs]
    return inputs, [np.full(leading + slot.shape, np.nan, dtype) for slot in compiled.outputs]


@pytest.mark.parametrize("leading", [(), (0,), (5,), (2, 3), (1, 4, 5)], ids=str)
def test_a_handler_calls_the_kernel_with_all_states(compiled: Compiled, leading: tuple[int, ...]) -> None:
    memory = handler_in_memory("cpu", handled(compiled), OFFERED)
    fill(memory, VERSION, compiled.part("batch").address)
    inputs, outputs = arrays_for(compiled, *leading)
    xla = Xla()
    assert not xla.call(memory, inputs, outputs)
    q, qd, qdd = (x.reshape(-1, 3) for x in inputs)
    expected = fa.compile(ARM, dtype=compiled.request.dtype).inverse_dynamics_derivatives(q, qd, qdd)
    for made, other in zip(outputs, expected, strict=True):
        assert np.array_equal(made.reshape(-1, 3, 3), other)


@pytest.mark.parametrize("platform", ["cpu", "cuda"])
def test_a_handler_says_its_version_and_traits(compiled: Compiled, platform: str) -> None:
    memory = handler_in_memory(platform, handled(compiled), OFFERED)
    fill(memory, VERSION, 0)
    metadata = Metadata(traits=77)
    extension = Extension(type=1, metadata=ctypes.addressof(metadata))
    frame = Frame(extension=ctypes.addressof(extension))
    assert not handler_of(memory)(ctypes.addressof(frame))
    assert (metadata.version.major, metadata.version.minor) == VERSION
    assert metadata.traits == {"cpu": 0, "cuda": 1}[platform]  # only launches may be captured in a graph


def test_arrays_that_do_not_fit_are_not_touched(compiled: Compiled) -> None:
    memory = handler_in_memory("cpu", handled(compiled), OFFERED)
    fill(memory, VERSION, 0)  # a call would end the process
    inputs, outputs = arrays_for(compiled, 4)
    wrong = [
        (inputs[:-1], outputs),
        (inputs, outputs[:-1]),
        ([*inputs[:-1], inputs[-1].astype("int64")], outputs),
        (inputs, [x[0, 0] for x in outputs]),
    ]
    xla = Xla()
    for number, (some, others) in enumerate(wrong, start=1):
        assert xla.call(memory, some, others) == 0xE0 + number
    assert xla.errors == [(MISTAKEN, 3)] * len(wrong)


@dataclass
class Launch:
    function: int
    threads: int
    shared: int


LAUNCHED = ctypes.CFUNCTYPE(INT, POINTER, *[ctypes.c_uint] * 7, POINTER, ctypes.POINTER(POINTER), POINTER)


def faked(calls: list[Any], arrays: int, code: int = 0) -> Any:
    """cuLaunchKernel that keeps what it was called with."""

    def launch(function: int, *rest: Any) -> int:
        *sizes, stream, arguments, extra = rest
        data = [ctypes.cast(arguments[k], ctypes.POINTER(LONG)).contents.value for k in range(arrays + 1)]
        calls.append((function, sizes, stream, data, extra))
        return code

    return LAUNCHED(launch)


def address_of(function: Any) -> int:
    return ctypes.cast(function, POINTER).value or 0


@pytest.mark.parametrize("states", [0, 1, 128, 129, 1000])
def test_a_launch_on_the_streams_device(compiled: Compiled, states: int) -> None:
    memory, calls = handler_in_memory("cuda", handled(compiled), OFFERED), list[Any]()
    launch = faked(calls, 6)
    launches = {0: Launch(0xF0, 64, 8), ORDINAL: Launch(0xF2, 128, 51200)}
    fill(memory, VERSION, address_of(launch), launches)
    inputs, outputs = arrays_for(compiled, states)
    xla = Xla()
    assert not xla.call(memory, inputs, outputs)
    if not states:
        assert calls == []
        return
    grid = [-(-states // 128), 1, 1, 128, 1, 1, 51200]
    assert calls == [(0xF2, grid, STREAM, [a.ctypes.data for a in (*inputs, *outputs)] + [states], None)]


def test_launches_that_fail_are_errors(compiled: Compiled) -> None:
    memory, calls = handler_in_memory("cuda", handled(compiled), OFFERED), list[Any]()
    inputs, outputs = arrays_for(compiled, 4)
    launch, number = faked(calls, 6, code=719), count(0xE1)
    fill(memory, VERSION, address_of(launch), {0: Launch(0xF0, 64, 8)})
    xla = Xla()
    assert xla.call(memory, inputs, outputs) == next(number)  # nothing was loaded on the stream's device
    assert calls == []
    fill(memory, VERSION, address_of(launch), {ORDINAL: Launch(0xF0, 64, 8)})
    assert xla.call(memory, inputs, outputs) == next(number)
    assert len(calls) == 1
    assert xla.errors == [(FAILED, 13)] * 2
    assert Xla(refused=True).call(memory, inputs, outputs) == 0xBAD  # XLA's own error is handed on
    with pytest.raises(ForearmError, match="expected at most 64 GPUs, got cuda:64"):
        fill(memory, VERSION, 0, {64: Launch(0xF0, 64, 8)})
