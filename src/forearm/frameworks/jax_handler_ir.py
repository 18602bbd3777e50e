"""IR of a handler of XLA's typed foreign functions: it reads arrays from XLA's call frame and calls a
compiled function with them, or launches it on the stream of a GPU.

Structure layouts are those of `xla/ffi/api/c_api.h` of jaxlib; `jax_handler` looks them up there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from forearm.kernels.llvm import IRFunction, Operand, Value, number, variables

# Offsets of fields, in bytes, with 8-byte pointers.
FRAME_EXTENSION, FRAME_API, FRAME_CONTEXT = 8, 16, 24
FRAME_ARGUMENTS, FRAME_RESULTS = 40, 80  # structures of inputs and outputs, in the frame
LIST_SIZE, LIST_ITEMS = 16, 32
BUFFER_DTYPE, BUFFER_DATA, BUFFER_RANK, BUFFER_DIMENSIONS = 16, 24, 32, 40
EXTENSION_TYPE, EXTENSION_METADATA = 8, 24
METADATA_MAJOR, METADATA_MINOR, METADATA_TRAITS = 24, 28, 32
ANSWER = 24  # of the answer in a query structure {size, extension, context, answer}
API_FUNCTIONS = 48  # the first of XLA's function pointers
IS_METADATA = 1  # the type of an extension that asks for the handler's metadata
CAN_BE_CAPTURED = 1  # the trait of a handler whose launches may be recorded and replayed
DATA_TYPES = {"float32": 11, "float64": 12}
INVALID_ARGUMENT, INTERNAL = 3, 13  # error codes

HANDLER, TABLE = "handler", "handler_table"
# Filled in when the code is in memory; followed, for a GPU, by the launch of each device.
ENTRIES = ("function", "major", "minor", "mistaken", "failed")
LAUNCH = ("function", "threads", "shared")
DEVICES = 64  # maximum number of devices


@dataclass(frozen=True)
class HandledFunction:
    """What a handler must know: the rank of each array for one state, and their common dtype.

    A function is called with all inputs and outputs, or with those that `arrays` lists by number, None for a
    null pointer; after the number of states come `whole` (integer) and `real` arguments.
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    dtype: str
    arrays: tuple[int | None, ...] = ()
    whole: tuple[int, ...] = ()
    real: tuple[float, ...] = ()


@dataclass(frozen=True)
class OfferedFunctions:
    """The indices of functions in XLA's table."""

    error: int = 0
    stream: int = 4
    device: int = 17


def cpu_text(handled: HandledFunction, offered: OfferedFunctions) -> str:
    """`XLA_FFI_Error* handler(XLA_FFI_CallFrame*)`: calls `function(arrays..., count)` of the table."""

    def run(frame: _Frame, count: Value) -> None:
        arrays: list[Operand] = [frame.data(buffer) for buffer in frame.buffers]
        if handled.arrays:
            arrays = [None if k is None else arrays[k] for k in handled.arrays]
        real = [Value(number(x, frame.scalar), frame.scalar) for x in handled.real]
        frame.f.call(frame.entry("ptr", "function"), *arrays, count, *handled.whole, *real)

    return _handler(handled, offered, 0, run)


def cuda_text(handled: HandledFunction, offered: OfferedFunctions) -> str:
    """The same for a GPU: launches the function of the stream's device; `function` of the table is
    cuLaunchKernel. The count comes last. Nothing else happens, so that launches may be captured in a graph.
    """

    def run(frame: _Frame, count: Value) -> None:
        f = frame.f
        stream = f.load("ptr", frame.asked(offered.stream))
        device = f.cast("zext", f.load("i32", frame.asked(offered.device)), "i64")
        with f.unless(f.compared("ult", device, DEVICES)):
            frame.fail("failed", INTERNAL)
        first = device * len(LAUNCH) + len(ENTRIES)
        function, threads, shared = (
            f.load(kind, f.at(f"@{TABLE}", first + k, "i64")) for k, kind in enumerate(("ptr", "i64", "i64"))
        )
        with f.when(function.equals(None)):
            frame.fail("failed", INTERNAL)
        # Each argument is passed by its address: for an array that of XLA's own field.
        chosen = handled.arrays or range(len(frame.buffers))
        arguments = f.space("ptr", len(chosen) + len(handled.whole) + len(handled.real) + 1)
        places: list[Value] = []
        for j in chosen:
            places.append(frame.kept("i64", 0) if j is None else f.at(frame.buffers[j], BUFFER_DATA, "i8"))
        places += [frame.kept("i64", x) for x in handled.whole]
        places += [
            frame.kept(frame.scalar, Value(number(x, frame.scalar), frame.scalar)) for x in handled.real
        ]
        for k, place in enumerate([*places, frame.kept("i64", count)]):
            f.put(place, arguments, k, "ptr")
        blocks = (count + threads - 1) // threads
        one = Value("1", "i32")
        with f.when(count > 0):
            grid = f.cast("trunc", blocks, "i32")
            sizes: Sequence[Operand] = (grid, one, one, f.cast("trunc", threads, "i32"), one, one)
            launch, bytes_shared = frame.entry("ptr", "function"), f.cast("trunc", shared, "i32")
            code = f.call(launch, function, *sizes, bytes_shared, stream, arguments, None, kind="i32")
            with f.when(code.differs(0)):
                frame.fail("failed", INTERNAL)

    return _handler(handled, offered, CAN_BE_CAPTURED, run, DEVICES * len(LAUNCH))


def _handler(
    handled: HandledFunction,
    offered: OfferedFunctions,
    traits: int,
    run: Callable[[_Frame, Value], None],
    more: int = 0,
) -> str:
    frame = _Frame(handled, offered)
    frame.answer_question(traits)
    run(frame, frame.count())
    frame.f.ret(None)
    return "\n\n".join([variables(TABLE, "i64", len(ENTRIES) + more), frame.f.text()])


class _Frame:
    """Emits the handler: XLA's call frame, and access to its content."""

    def __init__(self, handled: HandledFunction, offered: OfferedFunctions) -> None:
        self.handled, self.offered = handled, offered
        self.f = IRFunction(HANDLER, "ptr frame", "ptr")
        self.frame = self.f.arguments[0]
        self.buffers: list[Value] = []
        self.scalar = {"float32": "float", "float64": "double"}[handled.dtype]

    def kept(self, kind: str, value: Operand) -> Value:
        """The address of a stored number."""
        place = self.f.space(kind, 1)
        self.f.store(value, place)
        return place

    def field(self, kind: str, pointer: Value, offset: int) -> Value:
        """A field of a structure."""
        return self.f.field(kind, pointer, offset)

    def entry(self, kind: str, name: str) -> Value:
        """An entry of the table."""
        return self.f.load(kind, self.f.at(f"@{TABLE}", ENTRIES.index(name), "i64"))

    def data(self, buffer: Value) -> Value:
        """The data pointer of an array."""
        return self.field("ptr", buffer, BUFFER_DATA)

    def answer_question(self, traits: int) -> None:
        """Answer XLA's metadata query:
        before it calls a handler, it asks for the version of its interface.
        """
        f = self.f
        extension = self.field("ptr", self.frame, FRAME_EXTENSION)
        with f.unless(extension.equals(None)):
            kind = self.field("i32", extension, EXTENSION_TYPE)
            with f.when(kind.equals(IS_METADATA)):
                metadata = self.field("ptr", extension, EXTENSION_METADATA)
                for name, offset in (("major", METADATA_MAJOR), ("minor", METADATA_MINOR)):
                    f.put(f.cast("trunc", self.entry("i64", name), "i32"), metadata, offset, "i8")
                f.put(Value(str(traits), "i32"), metadata, METADATA_TRAITS, "i8")
                f.ret(None)

    def count(self) -> Value:
        """The number of states, from the first array, after a check that the arrays are as expected."""
        f, wrong = self.f, self.f.label()
        for start, ranks in ((FRAME_ARGUMENTS, self.handled.inputs), (FRAME_RESULTS, self.handled.outputs)):
            size = self.field("i64", self.frame, start + LIST_SIZE)
            f.go(wrong, unless=size.equals(len(ranks)))
            items = self.field("ptr", self.frame, start + LIST_ITEMS)
            for k, rank in enumerate(ranks):
                buffer = f.entry("ptr", items, k)
                dtype = self.field("i32", buffer, BUFFER_DTYPE)
                f.go(wrong, unless=dtype.equals(DATA_TYPES[self.handled.dtype]))
                f.go(wrong, where=self.field("i64", buffer, BUFFER_RANK) < rank)
                self.buffers.append(buffer)
        on = f.label()
        f.go(on)
        f.begin(wrong)
        self.fail("mistaken", INVALID_ARGUMENT)
        f.begin(on)
        first, total = self.buffers[0], f.space("i64", 1)
        leading = self.field("i64", first, BUFFER_RANK) - self.handled.inputs[0]
        dimensions = self.field("ptr", first, BUFFER_DIMENSIONS)
        f.store(1, total)
        with f.loop(0, leading) as axis:
            f.store(f.load("i64", total) * f.entry("i64", dimensions, axis), total)
        return f.load("i64", total)

    def asked(self, function: int) -> Value:
        """Call one of XLA's functions; returns the address of the answer. Its error, if there is one, is
        returned by the handler.
        """
        f = self.f
        question = f.space("i64", 4)
        context = f.cast("ptrtoint", self.field("ptr", self.frame, FRAME_CONTEXT), "i64")
        self._write(question, 8 * 4, 0, context, 0)
        error = f.call(self._offered(function), question, kind="ptr")
        f.require(error.equals(None), error)
        return f.at(question, ANSWER, "i8")

    def fail(self, message: str, code: int) -> None:
        """Return with an error whose message is in the table."""
        f = self.f
        question = f.space("i64", 4)
        self._write(question, 8 * 4, 0, self.entry("i64", message), code)
        f.ret(f.call(self._offered(self.offered.error), question, kind="ptr"))

    def _write(self, there: Value, *values: Operand) -> None:
        for k, value in enumerate(values):
            self.f.put(value, there, k, "i64")

    def _offered(self, function: int) -> Value:
        return self.field("ptr", self.field("ptr", self.frame, FRAME_API), API_FUNCTIONS + 8 * function)
