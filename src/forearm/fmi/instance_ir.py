"""One instance of an FMU as LLVM's text: its memory, its life, its variables. FMI's own functions, of either
version, are a thin layer above.

Instances and saved states lie in a fixed pool, so that the code needs nothing from outside. Every pointer that
comes in is checked to be one of the pool's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forearm.fmi.layout import Layout
from forearm.kernels.llvm import IRFunction, Operand, Value, constants

SLOTS = 1024  # instances and saved states that there can be at a time
OK, DISCARD, ERROR = (Value(str(k), "i32") for k in (0, 2, 3))  # FMI's status, the same in versions 2 and 3
INSTANTIATED, INITIALIZATION, EVENT, CONTINUOUS, STEPPING, TERMINATED = (1, 2, 4, 8, 16, 32)  # modes
ALIVE = INSTANTIATED | INITIALIZATION | EVENT | CONTINUOUS | STEPPING
ANY = ALIVE | TERMINATED
READABLE = 128  # beside the modes in which a number can be set: it is a variable
MODEL_EXCHANGE, CO_SIMULATION, SAVED = 1, 2, 3  # what a slot holds
USED, KIND, LOGGER, ENVIRONMENT, NAME, MODE, IS_OLD, CELLS = 0, 8, 16, 24, 32, 160, 168, 176  # bytes
NAME_BYTES = MODE - NAME
MOST_STEPS = 1e9  # of one communication step
ROUNDING = 1e-9  # of a step: what a communication step may be longer than whole steps

WRONG_CALL = "this function cannot be called now: see the state machine of the FMI standard"
WRONG_REFERENCE = "there is no such value reference, or it cannot be set now"
NOT_FINITE = "a value is infinite or not a number"
DIVERGED = "the motion diverged: states or derivatives are not finite; take shorter steps"
BAD_STEP = "the step must be above 0, and a communication step at most 1e9 steps"
FULL = "no more instances or saved states: 1024 at a time"
OTHER = "the instantiation token is that of another model description"
BAD_STATE = "not a saved state of this FMU"
MESSAGES = (
    WRONG_CALL, WRONG_REFERENCE, NOT_FINITE, DIVERGED, BAD_STEP, FULL, OTHER, BAD_STATE,
)  # fmt: skip
CATEGORY = "logStatusError"


@dataclass(frozen=True)
class Memory:
    """How many bytes each part of an instance has."""

    layout: Layout

    @property
    def cells(self) -> int:
        """Bytes of its numbers."""
        return 8 * self.layout.size

    @property
    def saved(self) -> int:
        """Bytes from its mode on that are its state."""
        return CELLS - MODE + self.cells

    @property
    def stride(self) -> int:
        """Bytes from one to the next: behind the numbers is room for a copy of them."""
        return (CELLS + 2 * self.cells + 63) // 64 * 64


def pool_text(memory: Memory) -> str:
    """The memory of all instances."""
    return f"@pool = internal global [{SLOTS * memory.stride} x i8] zeroinitializer, align 64"


def instance_parts(
    layout: Layout, starts: Sequence[float], access: Sequence[int], token: str, tag: int, has_events: bool
) -> list[str]:
    """All parts; `starts` are the numbers that an instance begins with, `access` for each the modes in
    which it can be set, and READABLE, `tag` what saved states begin with.
    """
    memory = Memory(layout)
    made = [
        pool_text(memory),
        constants("starts", "double", starts),
        constants("access", "i8", access),
        text_constant("token", token),
        text_constant("category", CATEGORY),
        *(text_constant(f"message{k}", text) for k, text in enumerate(MESSAGES)),
        _copied(),
        _same_text(),
        _slot(memory),
        _is_slot(memory),
        _entered(),
        _reset(memory),
        _instance(),
        _fresh(),
        _get(layout),
        _set(layout),
        _numbers(),
        _set_numbers(),
        _step(memory, layout),
        _event(layout, has_events),
        _save(memory),
        _restore(memory),
        _serialize(memory, tag),
        _deserialize(memory, tag),
    ]
    return made


def text_constant(name: str, text: str) -> str:
    """A string of C."""
    return constants(name, "i8", [*text.encode("ascii"), 0])


def cells_of(f: IRFunction, instance: Operand, array: int = 0) -> Value:
    """A pointer to the numbers of an instance from a place on."""
    return f.at(str(instance), CELLS + 8 * array, "i8")


def failed(f: IRFunction, instance: Operand, status: Value, message: str) -> None:
    """The end of a function that tells why."""
    told = Value(f"@message{MESSAGES.index(message)}", "ptr")
    f.call("fmu.told", instance, status, told)
    f.ret(status)


def _copied() -> str:
    """`void fmu.copied(to, from, bytes)`, whole words of 8 bytes."""
    f = IRFunction("fmu.copied", {"to": "ptr", "from": "ptr", "bytes": "i64"}, internal=True)
    to, source, size = f.arguments
    with f.loop(0, f.op("lshr", size, 3)) as k:
        f.store(f.load("i64", f.at(source, k, "i64"), align=1), f.at(to, k, "i64"), align=1)
    f.ret()
    return f.text()


def _same_text() -> str:
    """`i32 fmu.same(a, b)`: 1 where two strings are equal; a null pointer is none."""
    f = IRFunction("fmu.same", {"a": "ptr", "b": "ptr"}, "i32", internal=True)
    a, b = f.arguments
    with f.when(f.compared("eq", a, None)):
        f.ret(OK)
    with f.repeat(0) as turn:
        (k,) = turn.now
        x, y = (f.load("i8", f.at(p, k, "i8")) for p in (a, b))
        with f.unless(f.compared("eq", x, y)):
            f.ret(OK)
        turn.again(f.op("add", k, 1), where=f.compared("ne", x, 0))
    f.ret(Value("1", "i32"))
    return f.text()


def _slot(memory: Memory) -> str:
    """`ptr fmu.slot(kind)`: one that nobody has, null where there is none."""
    f = IRFunction("fmu.slot", {"kind": "i64"}, "ptr", internal=True)
    with f.loop(0, SLOTS) as k:
        slot = f.at("@pool", k, "i8", memory.stride)
        before = f.emit(f"atomicrmw xchg ptr {slot}, i32 1 acquire", "i32")
        with f.when(f.compared("eq", before, 0)):
            f.store(f.arguments[0], f.at(slot, KIND, "i8"))
            f.ret(slot)
    f.ret(None)
    return f.text()


def _is_slot(memory: Memory) -> str:
    """`i64 fmu.kind(p)`: what a pointer's slot holds, 0 where it is no slot or nobody has it."""
    f = IRFunction("fmu.kind", {"p": "ptr"}, "i64", internal=True)
    (p,) = f.arguments
    there, start = f.cast("ptrtoint", p, "i64"), f.cast("ptrtoint", Value("@pool", "ptr"), "i64")
    offset = f.op("sub", there, start)
    with f.unless(f.compared("ult", offset, SLOTS * memory.stride)):
        f.ret(0)
    with f.unless(f.compared("eq", f.op("urem", offset, memory.stride), 0)):
        f.ret(0)
    with f.unless(f.compared("eq", f.load("i32", p, order="acquire", align=4), 1)):
        f.ret(0)
    f.ret(f.load("i64", f.at(p, KIND, "i8")))
    return f.text()


def _entered() -> str:
    """`i32 fmu.entered(instance, modes)`: whether it is an instance, in one of these modes."""
    f = IRFunction("fmu.entered", {"instance": "ptr", "modes": "i64"}, "i32", internal=True)
    instance, modes = f.arguments
    kind = f.call("fmu.kind", instance, kind="i64")
    with f.unless(f.compared("ult", f.op("sub", kind, 1), SAVED - 1)):
        f.ret(ERROR)
    mode = f.load("i64", f.at(instance, MODE, "i8"))
    with f.when(f.compared("eq", f.op("and", mode, modes), 0)):
        failed(f, instance, ERROR, WRONG_CALL)
    f.ret(OK)
    return f.text()


def _reset(memory: Memory) -> str:
    """`void fmu.reset(instance)`: as it was when it was made."""
    f = IRFunction("fmu.reset", {"instance": "ptr"}, internal=True)
    (instance,) = f.arguments
    f.store(INSTANTIATED, f.at(instance, MODE, "i8"))
    f.store(1, f.at(instance, IS_OLD, "i8"))
    f.call("fmu.copied", cells_of(f, instance), Value("@starts", "ptr"), memory.cells)
    f.ret()
    return f.text()


def _instance() -> str:
    """`ptr fmu.instance(kind, token, logger, environment, name)`: a new one, null where that cannot be."""
    kinds = {"kind": "i64", "token": "ptr", "logger": "ptr", "environment": "ptr", "name": "ptr"}
    f = IRFunction("fmu.instance", kinds, "ptr", internal=True)
    kind, token, logger, environment, name = f.arguments
    is_ours = f.call("fmu.same", token, Value("@token", "ptr"), kind="i32")
    for condition, message in ((f.compared("eq", is_ours, 0), OTHER), (None, FULL)):
        slot = f.call("fmu.slot", kind, kind="ptr") if condition is None else None
        with f.when(condition or f.compared("eq", slot, None)):
            told = Value(f"@message{MESSAGES.index(message)}", "ptr")
            f.call("fmu.tell", logger, environment, name, ERROR, told)
            f.ret(None)
    assert slot is not None
    f.store(logger, f.at(slot, LOGGER, "i8"))
    f.store(environment, f.at(slot, ENVIRONMENT, "i8"))
    with f.loop(0, NAME_BYTES) as k:  # zeros behind it
        f.store(Value("0", "i8"), f.at(f.at(slot, NAME, "i8"), k, "i8"))
    with f.unless(f.compared("eq", name, None)), f.repeat(0) as turn:
        (k,) = turn.now
        letter = f.load("i8", f.at(name, k, "i8"))
        f.store(letter, f.at(f.at(slot, NAME, "i8"), k, "i8"))
        after = f.op("add", k, 1)
        more = f.op("and", f.compared("ne", letter, 0), f.compared("slt", after, NAME_BYTES - 1))
        turn.again(after, where=more)
    f.call("fmu.reset", slot)
    f.ret(slot)
    return f.text()


def _fresh() -> str:
    """`void fmu.fresh(instance)`: outputs that belong to its state; before the start, the state too."""
    f = IRFunction("fmu.fresh", {"instance": "ptr"}, internal=True)
    (instance,) = f.arguments
    cells, mode = cells_of(f, instance), f.load("i64", f.at(instance, MODE, "i8"))
    with f.when(f.compared("ne", f.load("i64", f.at(instance, IS_OLD, "i8")), 0)):
        with f.unless(f.compared("eq", f.op("and", mode, INSTANTIATED | INITIALIZATION), 0)):
            f.call("model.beginning", cells)
        f.call("model.outputs", cells)
        f.store(0, f.at(instance, IS_OLD, "i8"))
    f.ret()
    return f.text()


def _get(layout: Layout) -> str:
    """`i32 fmu.get(instance, references, count, values)`: into values; none where one is not there."""
    kinds = {"instance": "ptr", "references": "ptr", "count": "i64", "values": "ptr"}
    f = IRFunction("fmu.get", kinds, "i32", internal=True)
    instance, references, count, values = f.arguments
    with f.loop(0, count) as k:
        _checked(f, instance, layout, _reference(f, references, k), Value(str(READABLE), "i64"))
    f.call("fmu.fresh", instance)
    bad = f.space("i64", 1)
    f.store(0, bad)
    with f.loop(0, count) as k:
        value = f.load("double", f.at(cells_of(f, instance), _reference(f, references, k), "double"))
        f.store(value, f.at(values, k, "double"), align=1)
        with f.unless(is_finite(f, value)):
            f.store(1, bad)
    with f.unless(f.compared("eq", f.load("i64", bad), 0)):
        failed(f, instance, DISCARD, DIVERGED)
    f.ret(OK)
    return f.text()


def _set(layout: Layout) -> str:
    """`i32 fmu.set(instance, references, count, values)`: all of them, or none."""
    kinds = {"instance": "ptr", "references": "ptr", "count": "i64", "values": "ptr"}
    f = IRFunction("fmu.set", kinds, "i32", internal=True)
    instance, references, count, values = f.arguments
    mode = f.load("i64", f.at(instance, MODE, "i8"))
    with f.loop(0, count) as k:
        _checked(f, instance, layout, _reference(f, references, k), mode)
        with f.unless(is_finite(f, f.load("double", f.at(values, k, "double"), align=1))):
            failed(f, instance, DISCARD, NOT_FINITE)
    with f.loop(0, count) as k:
        value = f.load("double", f.at(values, k, "double"), align=1)
        f.store(value, f.at(cells_of(f, instance), _reference(f, references, k), "double"))
        f.store(1, f.at(instance, IS_OLD, "i8"))
    f.ret(OK)
    return f.text()


def _checked(f: IRFunction, instance: Value, layout: Layout, place: Value, wanted: Value) -> None:
    """Only variables go on that have one of these flags."""
    with f.unless(f.compared("ult", place, layout.size)):
        failed(f, instance, ERROR, WRONG_REFERENCE)
    flags = f.cast("zext", f.load("i8", f.at("@access", place, "i8")), "i64")
    with f.when(f.compared("eq", f.op("and", flags, wanted), 0)):
        failed(f, instance, ERROR, WRONG_REFERENCE)


def _reference(f: IRFunction, references: Value, k: Value) -> Value:
    return f.cast("zext", f.load("i32", f.at(references, k, "i32"), align=1), "i64")


def is_finite(f: IRFunction, x: Value) -> Value:
    """x - x is 0 where x is a number, and NaN elsewhere."""
    return f.compared("oeq", f.op("fsub", x, x), 0.0)


def _numbers() -> str:
    """`i32 fmu.numbers(instance, from, count, values)`: of an array of its outputs or states."""
    kinds = {"instance": "ptr", "from": "i64", "count": "i64", "values": "ptr"}
    f = IRFunction("fmu.numbers", kinds, "i32", internal=True)
    instance, start, count, values = f.arguments
    f.call("fmu.fresh", instance)
    with f.loop(0, count) as k:
        value = f.load("double", f.at(cells_of(f, instance), f.op("add", start, k), "double"))
        f.store(value, f.at(values, k, "double"), align=1)
        with f.unless(is_finite(f, value)):
            failed(f, instance, DISCARD, DIVERGED)
    f.ret(OK)
    return f.text()


def _set_numbers() -> str:
    """`i32 fmu.set_numbers(instance, from, count, values)`."""
    kinds = {"instance": "ptr", "from": "i64", "count": "i64", "values": "ptr"}
    f = IRFunction("fmu.set_numbers", kinds, "i32", internal=True)
    instance, start, count, values = f.arguments
    with f.loop(0, count) as k:
        with f.unless(is_finite(f, f.load("double", f.at(values, k, "double"), align=1))):
            failed(f, instance, DISCARD, NOT_FINITE)
    with f.loop(0, count) as k:
        value = f.load("double", f.at(values, k, "double"), align=1)
        f.store(value, f.at(cells_of(f, instance), f.op("add", start, k), "double"))
    f.store(1, f.at(instance, IS_OLD, "i8"))
    f.ret(OK)
    return f.text()


def _step(memory: Memory, layout: Layout) -> str:
    """`i32 fmu.step(instance, t, length)`: steps of equal length, none longer than `step`. What diverges
    stands where it was before that, at the time that `time` says.
    """
    kinds = {"instance": "ptr", "t": "double", "length": "double"}
    f = IRFunction("fmu.step", kinds, "i32", internal=True)
    instance, t, length = f.arguments
    cells = cells_of(f, instance)
    time, h, longest = (cells_of(f, instance, layout.starts[name]) for name in ("time", "h", "step"))
    with f.when(f.compared("oeq", length, 0.0)):
        f.ret(OK)
    count = f.op("fdiv", length, f.load("double", longest))
    is_possible = f.op("and", f.compared("olt", 0.0, count), f.compared("olt", count, MOST_STEPS))
    is_possible = f.op("and", is_possible, f.compared("olt", 0.0, length))
    with f.unless(f.op("and", is_possible, is_finite(f, t))):
        failed(f, instance, ERROR, BAD_STEP)
    whole = f.cast("fptosi", count, "i64")
    rest = f.op("fsub", count, f.cast("sitofp", whole, "double"))
    more = f.cast("zext", f.compared("ogt", rest, ROUNDING), "i64")
    steps = f.op("add", whole, more)
    steps = f.chosen(f.compared("slt", steps, 1), 1, steps)
    width = f.op("fdiv", length, f.cast("sitofp", steps, "double"))
    f.store(1, f.at(instance, IS_OLD, "i8"))
    copy = cells_of(f, instance, layout.size)
    states = f.at(cells, layout.starts["q"], "double")
    with f.loop(0, steps) as k:
        f.store(width, h)
        f.call("fmu.copied", copy, cells, memory.cells)
        f.call("model.step", cells)
        total = f.space("double", 1, "total")
        f.store(0.0, total)
        with f.loop(0, 2 * layout.sizes["q"]) as j:
            x = f.load("double", f.at(states, j, "double"))
            f.store(f.op("fadd", f.load("double", total), f.op("fsub", x, x)), total)
        with f.unless(f.compared("oeq", f.load("double", total), 0.0)):
            f.call("fmu.copied", cells, copy, memory.cells)
            f.store(f.op("fadd", t, f.op("fmul", width, f.cast("sitofp", k, "double"))), time)
            failed(f, instance, DISCARD, DIVERGED)
    f.store(f.op("fadd", t, length), time)
    f.ret(OK)
    return f.text()


def _event(layout: Layout, has_events: bool) -> str:
    """`i32 fmu.event(instance)`: joints stop and begin to move; 1 where any did."""
    f = IRFunction("fmu.event", {"instance": "ptr"}, "i32", internal=True)
    (instance,) = f.arguments
    if not has_events:
        f.ret(OK)
        return f.text()
    f.call("model.event", cells_of(f, instance))
    f.store(1, f.at(instance, IS_OLD, "i8"))
    moved = f.load("double", cells_of(f, instance, layout.starts["moved"]))
    f.ret(f.cast("zext", f.compared("olt", 0.0, moved), "i32"))
    return f.text()


def _save(memory: Memory) -> str:
    """`i32 fmu.save(instance, state)`: its state into that at *state, a new one where it is null."""
    f = IRFunction("fmu.save", {"instance": "ptr", "state": "ptr"}, "i32", internal=True)
    instance, state = f.arguments
    with f.when(f.compared("eq", state, None)):
        f.ret(ERROR)
    with f.when(f.compared("eq", f.load("ptr", state), None)):
        made = f.call("fmu.slot", SAVED, kind="ptr")
        with f.when(f.compared("eq", made, None)):
            failed(f, instance, ERROR, FULL)
        f.store(made, state)
    to = f.load("ptr", state)
    with f.unless(f.compared("eq", f.call("fmu.kind", to, kind="i64"), SAVED)):
        failed(f, instance, ERROR, BAD_STATE)
    f.call("fmu.copied", f.at(to, MODE, "i8"), f.at(instance, MODE, "i8"), memory.saved)
    f.ret(OK)
    return f.text()


def _restore(memory: Memory) -> str:
    """`i32 fmu.restore(instance, state)`."""
    f = IRFunction("fmu.restore", {"instance": "ptr", "state": "ptr"}, "i32", internal=True)
    instance, state = f.arguments
    with f.unless(f.compared("eq", f.call("fmu.kind", state, kind="i64"), SAVED)):
        failed(f, instance, ERROR, BAD_STATE)
    f.call("fmu.copied", f.at(instance, MODE, "i8"), f.at(state, MODE, "i8"), memory.saved)
    f.ret(OK)
    return f.text()


def _serialize(memory: Memory, tag: int) -> str:
    """`i32 fmu.serialize(instance, state, bytes, size)`."""
    kinds = {"instance": "ptr", "state": "ptr", "bytes": "ptr", "size": "i64"}
    f = IRFunction("fmu.serialize", kinds, "i32", internal=True)
    instance, state, to, size = f.arguments
    is_saved = f.compared("eq", f.call("fmu.kind", state, kind="i64"), SAVED)
    with f.unless(f.op("and", is_saved, f.compared("ult", serialized_size(memory) - 1, size))):
        failed(f, instance, ERROR, BAD_STATE)
    f.store(tag, to, align=1)
    f.call("fmu.copied", f.at(to, 8, "i8"), f.at(state, MODE, "i8"), memory.saved)
    f.ret(OK)
    return f.text()


def _deserialize(memory: Memory, tag: int) -> str:
    """`i32 fmu.deserialize(instance, bytes, size, state)`: into a new one where *state is null."""
    kinds = {"instance": "ptr", "bytes": "ptr", "size": "i64", "state": "ptr"}
    f = IRFunction("fmu.deserialize", kinds, "i32", internal=True)
    instance, source, size, state = f.arguments
    with f.unless(f.compared("ult", serialized_size(memory) - 1, size)):
        failed(f, instance, ERROR, BAD_STATE)
    with f.unless(f.compared("eq", f.load("i64", source, align=1), tag)):
        failed(f, instance, ERROR, BAD_STATE)
    status = f.call("fmu.save", instance, state, kind="i32")
    with f.unless(f.compared("eq", status, 0)):
        f.ret(status)
    to = f.at(f.load("ptr", state), MODE, "i8")
    f.call("fmu.copied", to, f.at(source, 8, "i8"), memory.saved)
    f.ret(OK)
    return f.text()


def serialized_size(memory: Memory) -> int:
    """Bytes of a saved state outside."""
    return 8 + memory.saved
