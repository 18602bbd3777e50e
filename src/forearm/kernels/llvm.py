"""Functions and modules as LLVM IR: scalars, memory, calls, branches and loops;
`vectors` adds the arithmetic on lanes.

Code is written in the order of execution:

    with f.loop(0, count) as i, f.when(f.compared("slt", i, most)):
        f.store(f.load("double", f.at(source, i, "double")), f.at(to, i, "double"))
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

# These begin lines that belong before the functions of a module; NEW_LINE separates those of a hoisted
# function.
TABLE, FUNCTION, NEW_LINE = "; table ", "; function ", "\\"
SIZES = {"double": 8, "float": 4}  # bytes
SHARED = "shared"  # the name of a GPU block's shared memory


def _is_float(kind: str) -> bool:
    return kind.rstrip(">").endswith(tuple(SIZES))


def _owner(*operands: Operand) -> IRFunction:
    """The function that these values belong to."""
    return next(x.f for x in operands if isinstance(x, Value) and x.f is not None)


def _operator(name: str, is_mirrored: bool = False) -> Callable[[Value, Operand], Value]:
    def emit(self: Value, other: Operand) -> Value:
        a, b = (other, self) if is_mirrored else (self, other)
        return _owner(a, b).op(f"f{name}" if _is_float(self.kind) else name, a, b)

    return emit


def _comparison(test: str) -> Callable[[Value, Operand], Value]:
    def emit(self: Value, other: Operand) -> Value:
        return _owner(self, other).compared(("o" if _is_float(self.kind) else "s") + test, self, other)

    return emit


class Value(str):
    """A name or a constant, its type, and the function that it belongs to, into which its operators emit:
    those of integers for signed ones, and lane by lane those of vectors.
    """

    kind: str
    f: IRFunction | None

    def __new__(cls, text: str, kind: str, f: IRFunction | None = None) -> Value:
        """The string, with its type as an attribute."""
        value = super().__new__(cls, text)
        value.kind, value.f = kind, f
        return value

    __add__, __radd__ = _operator("add"), _operator("add", True)
    __sub__, __rsub__ = _operator("sub"), _operator("sub", True)
    __mul__, __rmul__ = _operator("mul"), _operator("mul", True)  # type: ignore[assignment]
    __truediv__, __floordiv__ = _operator("div"), _operator("sdiv")
    __mod__ = _operator("srem")
    __and__, __or__, __xor__ = _operator("and"), _operator("or"), _operator("xor")
    __lshift__, __rshift__ = _operator("shl"), _operator("lshr")
    __lt__, __le__ = _comparison("lt"), _comparison("le")  # type: ignore[assignment]
    __gt__, __ge__ = _comparison("gt"), _comparison("ge")  # type: ignore[assignment]

    def __neg__(self) -> Value:
        return _owner(self).emit(f"fneg {self.kind} {self}", self.kind)

    def equals(self, other: Operand) -> Value:
        """Whether they are equal."""
        return _owner(self, other).compared("oeq" if _is_float(self.kind) else "eq", self, other)

    def differs(self, other: Operand) -> Value:
        """Whether integers or pointers differ."""
        return _owner(self, other).compared("ne", self, other)


# A plain string names a pointer, None is the null pointer; numbers take the type of the other operand.
Operand = str | int | float | None


@dataclass(eq=False)
class Label:
    """A basic block's label, and its predecessors in the order in which they are written."""

    name: str
    sources: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Hoisted:
    """A function that others call: its name, derived from its content, and its lines in one of them."""

    name: str
    lines: tuple[str, ...]


def arguments_of(text: str) -> dict[str, str]:
    """Types by name, from arguments such as "ptr values, i64 count"."""
    return {name: kind for kind, name in (argument.split() for argument in text.split(", ") if argument)}


class IRFunction:
    """The text of one function, with a unique name for each value; its arguments by name, or as in C."""

    def __init__(
        self,
        name: str = "",
        arguments: Mapping[str, str] | str = "",
        result: str = "void",
        internal: bool = False,
        on_device: bool = False,
    ) -> None:
        kinds = arguments_of(arguments) if isinstance(arguments, str) else arguments
        self.arguments = [Value(f"%{name}", kind, self) for name, kind in kinds.items()]
        listed = ", ".join(_typed(a) for a in self.arguments)
        linkage, alone = ("internal ", ' noinline "no-builtins"') if internal else ("", "")
        linkage = "ptx_kernel " if on_device else linkage
        self.head = f"define {linkage}{result} @{name}({listed}) nounwind{alone} {{"
        self.labels = 0
        self.here = "entry"  # the current block; "" after its terminator
        self.lines: list[str] = []
        self.spaces: list[str] = []  # lines placed in the entry block
        self.within = self.parts = 0  # the current region, by number, and the number of regions
        self.left: dict[str, list[object]] = {}  # what calls have left in memory, by name
        self.called: dict[object, Hoisted] = {}  # functions that it calls, by what they compute

    @contextmanager
    def inside(self) -> Iterator[None]:
        """A region of the code that may not run, or more than once: calls have separate memory there."""
        before = self.within
        self.parts += 1
        self.within = self.parts
        yield
        self.within = before

    def text(self) -> str:
        """The complete text."""
        return "\n".join([self.head, "entry:", *self.spaces, *self.lines, "}"])

    def emit(self, text: str, kind: str, name: str | None = None) -> Value:
        """Emit an instruction with a result."""
        value = Value(f"%{name or f'v{len(self.lines)}'}", kind, self)
        self.lines.append(f"  {value} = {text}")
        return value

    def op(self, name: str, a: Operand, b: Operand) -> Value:
        """add, sub, mul, and, or, fadd, ..."""
        kind = _kind(a, b)
        return self.emit(f"{name} {kind} {_text(a, kind)}, {_text(b, kind)}", kind)

    def compared(self, test: str, a: Operand, b: Operand) -> Value:
        """A comparison by LLVM's predicate, such as slt for integers and olt for floats."""
        kind = _kind(a, b)
        flag = f"{kind.rpartition(' ')[0]} i1>" if kind[0] == "<" else "i1"
        how = "fcmp" if test[0] == "o" else "icmp"
        return self.emit(f"{how} {test} {kind} {_text(a, kind)}, {_text(b, kind)}", flag)

    def chosen(self, condition: str, a: Operand, b: Operand) -> Value:
        """a where the condition holds, else b; vectors lane by lane."""
        kind = _kind(a, b)
        text = f"select {_typed(condition)}, {kind} {_text(a, kind)}, {kind} {_text(b, kind)}"
        return self.emit(text, kind)

    def cast(self, how: str, value: str, kind: str) -> Value:
        """zext, trunc, bitcast, ptrtoint, ... to another type."""
        return self.emit(f"{how} {_typed(value)} to {kind}", kind)

    def lane(self, value: Value, k: int) -> Value:
        """One entry of a vector."""
        return self.emit(f"extractelement {_typed(value)}, i32 {k}", value.kind.split()[-1].rstrip(">"))

    def at(
        self, pointer: str, place: int | Value, kind: str, stride: int = 1, name: str | None = None
    ) -> Value:
        """A pointer offset by this many times `stride` values of a type."""
        if stride != 1:
            place = self.op("mul", place, stride)
        return self.emit(f"getelementptr {kind}, ptr {pointer}, i64 {place}", "ptr", name)

    def load(self, kind: str, pointer: str, order: str = "", align: int | None = None) -> Value:
        """Load a value; atomic if a memory order is given."""
        return self.emit(f"load{_access(kind, pointer, order, align)}", kind)

    def store(self, value: Operand, pointer: str, order: str = "", align: int | None = None) -> None:
        """Store a value; atomic if a memory order is given."""
        self.lines.append(f"  store{_access(_typed(value), pointer, order, align)}")

    def entry(self, kind: str, pointer: str, place: int | Value) -> Value:
        """Load an entry of an array."""
        return self.load(kind, self.at(pointer, place, kind))

    def field(self, kind: str, pointer: str, offset: int) -> Value:
        """Load a field of a structure, at an offset in bytes."""
        return self.load(kind, self.at(pointer, offset, "i8"))

    def put(
        self, value: Operand, pointer: str, place: int | Value, kind: str, align: int | None = None
    ) -> None:
        """Store a value at a place in an array of values of a type."""
        self.store(value, self.at(pointer, place, kind), align=align)

    def exchanged(self, value: Value, pointer: str) -> Value:
        """Atomic exchange: store this value, return what was in memory."""
        return self.emit(f"atomicrmw xchg ptr {pointer}, {_typed(value)} acquire", value.kind)

    def space(self, kind: str, count: int, name: str | None = None) -> Value:
        """Stack memory for this many values, allocated once in the entry block:
        in a loop each iteration would allocate more.
        """
        value = Value(f"%{name or f'space{len(self.spaces)}'}", "ptr", self)
        self.spaces.append(f"  {value} = {_memory(kind, count)}, align 64")
        return value

    def space_here(self, kind: str, count: int) -> Value:
        """The same, allocated only where the code is reached, which must happen once."""
        return self.emit(_memory(kind, count), "ptr")

    def call(self, function: str, *operands: Operand, kind: str = "void", takes: str = "") -> Value:
        """Call a function by its name, or by a pointer to it; `takes` are the types of its arguments if it is
        variadic, as printf in C.
        """
        text = call_text(function, *operands, kind=kind, takes=takes)
        if kind != "void":
            return self.emit(text, kind)
        self.lines.append(f"  {text}")
        return Value("", kind)

    def thread(self) -> Value:
        """The index of a GPU thread within its block."""
        return self.cast("zext", self.call("llvm.nvvm.read.ptx.sreg.tid.x", kind="i32"), "i64")

    def block(self) -> Value:
        """The index of a GPU thread's block."""
        return self.cast("zext", self.call("llvm.nvvm.read.ptx.sreg.ctaid.x", kind="i32"), "i64")

    def fence(self) -> None:
        """Emit no instruction, but let no access to memory move across: LLVM compares those between two
        fences in pairs.
        """
        self.lines.append('  fence syncscope("singlethread") seq_cst')

    def barrier(self) -> None:
        """Emit a barrier for the threads of a block."""
        self.call("llvm.nvvm.barrier0")

    def shared_memory(self) -> Value:
        """The shared memory of a block, as large as the launch requests."""
        return self.emit(f"addrspacecast ptr addrspace(3) @{SHARED} to ptr", "ptr")

    def hoisted(self) -> Hoisted:
        """This function as lines of one that calls it, to be placed before that one."""
        ahead = [line for line in self.lines if line.startswith((TABLE, FUNCTION))]
        self.lines = [line for line in self.lines if line not in ahead]
        text = self.text().partition("@")[2].partition("(")[2]
        name = f"function.{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        first, *lines = self.text().splitlines()
        head = f"{first.partition('@')[0]}@{name}({first.partition('(')[2]}"
        return Hoisted(name, (*ahead, FUNCTION + NEW_LINE.join([head, *lines])))

    def ret(self, *value: Operand) -> None:
        """Return, with a result if there is one."""
        self.lines.append(f"  ret {_typed(*value) if value else 'void'}")
        self.here = ""

    def require(self, condition: str, otherwise: Operand) -> None:
        """Return this value unless a condition holds."""
        with self.unless(condition):
            self.ret(otherwise)

    def refuse(self, condition: str, result: Operand) -> None:
        """Return this value if a condition holds."""
        with self.when(condition):
            self.ret(result)

    def label(self, name: str | None = None) -> Label:
        """A label for a block that is not yet written."""
        self.labels += 1
        return Label(name or f"block{self.labels}")

    def go(self, to: Label, where: str | None = None, unless: str | None = None) -> None:
        """Branch to the label: always, where a condition holds, or where it does not."""
        condition = where or unless
        if condition is not None:
            on = self.label()
            self._fork(condition, *((to, on) if unless is None else (on, to)))
            self.begin(on)
            return
        self.lines.append(f"  br label %{to.name}")
        to.sources.append(self.here)
        self.here = ""

    def _fork(self, condition: str, yes: Label, no: Label) -> None:
        self.lines.append(f"  br i1 {condition}, label %{yes.name}, label %{no.name}")
        for label in (yes, no):
            label.sources.append(self.here)
        self.here = ""

    def begin(self, label: Label) -> None:
        """Begin the block of the label; the current block falls through to it unless it has ended."""
        if self.here:
            self.go(label)
        self.lines.append(f"{label.name}:")
        self.here = label.name

    def phi(self, label: Label, *values: Operand, name: str | None = None) -> Value:
        """A value for each predecessor of the label, which was written just before."""
        kind = _kind(*values)
        return self.emit(_phi(kind, label, values), kind, name)

    @contextmanager
    def when(self, condition: str) -> Iterator[Label]:
        """Code that runs where a condition holds; the label is its end."""
        end = self.label()
        self.go(end, unless=condition)
        yield end
        self.begin(end)

    @contextmanager
    def unless(self, condition: str) -> Iterator[Label]:
        """Code that runs where a condition does not hold; the label is its end."""
        end = self.label()
        self.go(end, where=condition)
        yield end
        self.begin(end)

    @contextmanager
    def loop(self, first: int, stop: int | Value, step: int = 1, name: str | None = None) -> Iterator[Value]:
        """Code that runs for the numbers of Python's range; at least once if `stop` is a constant."""
        over, more = ("sle", "slt") if step > 0 else ("sge", "sgt")  # stop <= first, next < stop
        some = self.unless(self.compared(over, stop, first)) if isinstance(stop, Value) else nullcontext()
        with some, self.repeat(first, name=name) as turn:
            (i,) = turn.now
            yield i
            after = self.op("add", i, step)
            turn.again(after, where=self.compared(more, after, stop))

    @contextmanager
    def repeat(self, *starts: Operand, name: str | None = None) -> Iterator[LoopTurn]:
        """A loop with these initial values; it ends with `again`."""
        head = self.label(name)
        before, end = (self.label(f"{head.name}.{what}") for what in ("before", "done"))
        self.begin(before)  # where LLVM may place loop invariants
        self.begin(head)
        now = [self.emit("", _kind(start)) for start in starts]
        yield LoopTurn(self, head, end, now, [starts])
        self.begin(end)


@dataclass(eq=False)
class LoopTurn:
    """One iteration of a loop: its carried values, and the loop's exit."""

    f: IRFunction
    head: Label
    end: Label
    now: list[Value]
    ways: list[tuple[Operand, ...]]  # the carried values of each edge into the loop

    def again(self, *values: Operand, where: str | None = None) -> None:
        """Start the next iteration with these values; leave the loop where a condition does not hold."""
        if where is None:
            self.f.go(self.head)
        else:
            self.f._fork(where, self.head, self.end)
        self.ways.append(values)
        place = self.f.lines.index(f"{self.head.name}:")
        for k, (now, *ways) in enumerate(zip(self.now, *self.ways, strict=True), start=1):
            self.f.lines[place + k] = f"  {now} = {_phi(now.kind, self.head, ways)}"


def _kind(*operands: Operand) -> str:
    """The type of the first typed value, or the default type of a number."""
    first = next((x for x in operands if isinstance(x, Value)), operands[0])
    if isinstance(first, Value):
        return first.kind
    return {bool: "i1", int: "i64", float: "double"}.get(type(first), "ptr")


def _text(value: Operand, kind: str) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if kind[0] == "<":  # the same in every lane
        lanes, _, scalar = kind[1:-1].split()
        return vector(scalar, [value] * int(lanes))
    return number(value, kind) if kind in SIZES else str(int(value))


def _typed(value: Operand) -> str:
    kind = _kind(value)
    return f"{kind} {_text(value, kind)}"


def _phi(kind: str, label: Label, values: Sequence[Operand]) -> str:
    ways = zip(values, label.sources, strict=True)
    return f"phi {kind} " + ", ".join(f"[ {_text(value, kind)}, %{source} ]" for value, source in ways)


def _access(what: str, pointer: str, order: str, align: int | None) -> str:
    if order:
        return f" atomic {what}, ptr {pointer} {order}, align {align or 8}"
    return f" {what}, ptr {pointer}" + (f", align {align}" if align else "")


def _memory(kind: str, count: int) -> str:
    return f"alloca [{count} x {kind}]"


def number(value: float, kind: str) -> str:
    """A number as an LLVM literal, exact to the last bit."""
    if kind == "float":
        value = struct.unpack("f", struct.pack("f", value))[0]
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


def vector(kind: str, values: Sequence[float], f: IRFunction | None = None) -> Value:
    """A vector of numbers."""
    entries = ", ".join(f"{kind} {_text(value, kind)}" for value in values)
    return Value(f"<{entries}>", f"<{len(values)} x {kind}>", f)


def call_text(function: str, *operands: Operand, kind: str = "void", takes: str = "") -> str:
    """A call of a function by its name, or by a pointer to it."""
    called = function if isinstance(function, Value) else f"@{function}"
    types = f" ({takes}, ...)" if takes else ""
    return f"call {kind}{types} {called}({', '.join(map(_typed, operands))})"


def declared(function: str, kind: str, *arguments: str) -> str:
    """A declaration of an LLVM intrinsic."""
    return f"declare {kind} @{function}({', '.join(arguments)})"


def device_parts() -> list[str]:
    """Declarations and metadata of a module for a GPU."""
    made = [declared(f"llvm.nvvm.read.ptx.sreg.{name}.x", "i32") for name in ("tid", "ctaid")]
    made += [declared("llvm.nvvm.barrier0", "void")]
    made += [declared(f"llvm.nvvm.{name}.approx.f", "float", "float") for name in ("sin", "cos")]
    return ["\n".join([*made, f"@{SHARED} = external addrspace(3) global [0 x i8], align 16"])]


def constants(name: str, kind: str, values: Sequence[float]) -> str:
    """An array of constants that functions of the module read."""
    entries = ", ".join(f"{kind} {_text(value, kind)}" for value in values)
    align = ", align 64" if kind in SIZES else ""
    return f"@{name} = internal constant [{len(values)} x {kind}] [{entries}]{align}"


def variables(name: str, kind: str, count: int) -> str:
    """A zero-initialised array that others may write."""
    return f"@{name} = dso_local global [{count} x {kind}] zeroinitializer"


def joined(parts: Sequence[str]) -> str:
    """Parts of a module as one text, with the tables and functions that they need, each once."""
    text = "\n\n".join(parts) + "\n"
    ahead = dict.fromkeys(line for line in text.splitlines() if line.startswith((TABLE, FUNCTION)))
    first = [line.removeprefix(TABLE) for line in ahead if line.startswith(TABLE)]
    first += [line.removeprefix(FUNCTION) for line in ahead if line.startswith(FUNCTION)]
    return "\n".join([*(line.replace(NEW_LINE, "\n") for line in first), text])


def without_system(text: str) -> str:
    """Adapt a module's text to bare-metal machines: memory and tables aligned to 8 bytes, and no red zone
    below the stack pointer, where interrupts may write.
    """
    return text.replace("align 64", "align 8").replace(") nounwind", ") nounwind noredzone")


def stack_of(text: str) -> int:
    """Bytes of the arrays of numbers that functions keep on the stack."""
    found = re.findall(r"= alloca \[(\d+) x (double|float)\]", text)
    return sum(int(count) * SIZES[kind] for count, kind in found)
