"""One instance of an FMU as LLVM IR: its life cycle, its variables, its steps. FMI's own functions, of
either version, are a thin layer above.

Every pointer from the simulator is checked to be one of the pool's.
"""

from __future__ import annotations

from collections.abc import Sequence

from forearm.fmi.instance_memory import (
    BAD_STEP,
    CATEGORY,
    DISCARD,
    DIVERGED,
    ENVIRONMENT,
    ERROR,
    FULL,
    INITIALIZATION,
    INSTANTIATED,
    IS_OLD,
    KIND,
    LOGGER,
    MESSAGES,
    MODE,
    MOST_STEPS,
    NAME,
    NAME_BYTES,
    NOT_FINITE,
    OK,
    OTHER,
    READABLE,
    ROUNDING,
    SAVED,
    SLOTS,
    WRONG_CALL,
    WRONG_REFERENCE,
    Memory,
    cells_of,
    failed,
    is_finite,
    message_of,
    pool_text,
    text_constant,
)
from forearm.fmi.layout import Layout
from forearm.fmi.saved_states import saved_state_parts
from forearm.kernels.llvm import IRFunction, Value, constants


def instance_parts(
    layout: Layout, starts: Sequence[float], access: Sequence[int], token: str, tag: int, has_events: bool
) -> list[str]:
    """All parts; `starts` are the initial values of an instance, `access` for each the modes in which it can
    be set, and READABLE, `tag` the first bytes of saved states.
    """
    memory = Memory(layout)
    made = [
        pool_text(memory),
        constants("starts", "double", starts),
        constants("access", "i8", access),
        text_constant("token", token),
        text_constant("category", CATEGORY),
        *(text_constant(f"message{k}", text) for k, text in enumerate(MESSAGES)),
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
        *saved_state_parts(memory, tag),
    ]
    return made


def _same_text() -> str:
    """`i32 fmu.same(a, b)`: 1 if two strings are equal; a null pointer equals none."""
    f = IRFunction("fmu.same", "ptr a, ptr b", "i32", internal=True)
    a, b = f.arguments
    f.refuse(a.equals(None), OK)
    with f.repeat(0) as turn:
        (k,) = turn.now
        x, y = (f.entry("i8", p, k) for p in (a, b))
        f.require(x.equals(y), OK)
        turn.again(k + 1, where=x.differs(0))
    f.ret(Value("1", "i32"))
    return f.text()


def _slot(memory: Memory) -> str:
    """`ptr fmu.slot(kind)`: a free slot, null if there is none."""
    f = IRFunction("fmu.slot", "i64 kind", "ptr", internal=True)
    with f.loop(0, SLOTS) as k:
        slot = f.at("@pool", k, "i8", memory.stride)
        before = f.exchanged(Value("1", "i32"), slot)
        with f.when(before.equals(0)):
            f.put(f.arguments[0], slot, KIND, "i8")
            f.ret(slot)
    f.ret(None)
    return f.text()


def _is_slot(memory: Memory) -> str:
    """`i64 fmu.kind(p)`: what a pointer's slot holds, 0 if it is not a slot or is free."""
    f = IRFunction("fmu.kind", "ptr p", "i64", internal=True)
    (p,) = f.arguments
    there, start = f.cast("ptrtoint", p, "i64"), f.cast("ptrtoint", Value("@pool", "ptr"), "i64")
    offset = there - start
    f.require(f.compared("ult", offset, SLOTS * memory.stride), 0)
    with f.unless(f.op("urem", offset, memory.stride).equals(0)):
        f.ret(0)
    f.require(f.load("i32", p, order="acquire", align=4).equals(1), 0)
    f.ret(f.field("i64", p, KIND))
    return f.text()


def _entered() -> str:
    """`i32 fmu.entered(instance, modes)`: whether it is an instance, in one of these modes."""
    f = IRFunction("fmu.entered", "ptr instance, i64 modes", "i32", internal=True)
    instance, modes = f.arguments
    kind = f.call("fmu.kind", instance, kind="i64")
    f.require(f.compared("ult", kind - 1, SAVED - 1), ERROR)
    mode = f.field("i64", instance, MODE)
    with f.when((mode & modes).equals(0)):
        failed(f, instance, ERROR, WRONG_CALL)
    f.ret(OK)
    return f.text()


def _reset(memory: Memory) -> str:
    """`void fmu.reset(instance)`: restore the state at instantiation."""
    f = IRFunction("fmu.reset", "ptr instance", internal=True)
    (instance,) = f.arguments
    f.put(INSTANTIATED, instance, MODE, "i8")
    f.put(1, instance, IS_OLD, "i8")
    f.call("fmu.copied", cells_of(f, instance), Value("@starts", "ptr"), memory.cells)
    f.ret()
    return f.text()


def _instance() -> str:
    """`ptr fmu.instance(kind, token, logger, environment, name)`: a new instance, null on failure."""
    kinds = "i64 kind, ptr token, ptr logger, ptr environment, ptr name"
    f = IRFunction("fmu.instance", kinds, "ptr", internal=True)
    kind, token, logger, environment, name = f.arguments
    is_ours = f.call("fmu.same", token, Value("@token", "ptr"), kind="i32")

    def refuse(message: str) -> None:
        f.call("fmu.tell", logger, environment, name, ERROR, message_of(message))
        f.ret(None)

    with f.when(is_ours.equals(0)):
        refuse(OTHER)
    slot = f.call("fmu.slot", kind, kind="ptr")
    with f.when(slot.equals(None)):
        refuse(FULL)
    f.put(logger, slot, LOGGER, "i8")
    f.put(environment, slot, ENVIRONMENT, "i8")
    with f.loop(0, NAME_BYTES) as k:  # padded with zeros
        f.put(Value("0", "i8"), f.at(slot, NAME, "i8"), k, "i8")
    with f.unless(name.equals(None)), f.repeat(0) as turn:
        (k,) = turn.now
        letter = f.entry("i8", name, k)
        f.put(letter, f.at(slot, NAME, "i8"), k, "i8")
        after = k + 1
        more = letter.differs(0) & (after < NAME_BYTES - 1)
        turn.again(after, where=more)
    f.call("fmu.reset", slot)
    f.ret(slot)
    return f.text()


def _fresh() -> str:
    """`void fmu.fresh(instance)`: update outputs to its state; before the start, the state too."""
    f = IRFunction("fmu.fresh", "ptr instance", internal=True)
    (instance,) = f.arguments
    cells, mode = cells_of(f, instance), f.field("i64", instance, MODE)
    with f.when(f.field("i64", instance, IS_OLD).differs(0)):
        with f.unless((mode & (INSTANTIATED | INITIALIZATION)).equals(0)):
            f.call("model.beginning", cells)
        f.call("model.outputs", cells)
        f.put(0, instance, IS_OLD, "i8")
    f.ret()
    return f.text()


def _get(layout: Layout) -> str:
    """`i32 fmu.get(instance, references, count, values)`: into values; none if a reference is invalid."""
    kinds = "ptr instance, ptr references, i64 count, ptr values"
    f = IRFunction("fmu.get", kinds, "i32", internal=True)
    instance, references, count, values = f.arguments
    with f.loop(0, count) as k:
        _checked(f, instance, layout, _reference(f, references, k), Value(str(READABLE), "i64"))
    f.call("fmu.fresh", instance)
    bad = f.space("i64", 1)
    f.store(0, bad)
    with f.loop(0, count) as k:
        value = f.entry("double", cells_of(f, instance), _reference(f, references, k))
        f.put(value, values, k, "double", align=1)
        with f.unless(is_finite(f, value)):
            f.store(1, bad)
    with f.unless(f.load("i64", bad).equals(0)):
        failed(f, instance, DISCARD, DIVERGED)
    f.ret(OK)
    return f.text()


def _set(layout: Layout) -> str:
    """`i32 fmu.set(instance, references, count, values)`: all of them, or none."""
    kinds = "ptr instance, ptr references, i64 count, ptr values"
    f = IRFunction("fmu.set", kinds, "i32", internal=True)
    instance, references, count, values = f.arguments
    mode = f.field("i64", instance, MODE)
    with f.loop(0, count) as k:
        _checked(f, instance, layout, _reference(f, references, k), mode)
        with f.unless(is_finite(f, f.load("double", f.at(values, k, "double"), align=1))):
            failed(f, instance, DISCARD, NOT_FINITE)
    with f.loop(0, count) as k:
        value = f.load("double", f.at(values, k, "double"), align=1)
        f.put(value, cells_of(f, instance), _reference(f, references, k), "double")
        f.put(1, instance, IS_OLD, "i8")
    f.ret(OK)
    return f.text()


def _checked(f: IRFunction, instance: Value, layout: Layout, place: Value, wanted: Value) -> None:
    """Continue only for variables that have one of these flags."""
    with f.unless(f.compared("ult", place, layout.size)):
        failed(f, instance, ERROR, WRONG_REFERENCE)
    flags = f.cast("zext", f.entry("i8", "@access", place), "i64")
    with f.when((flags & wanted).equals(0)):
        failed(f, instance, ERROR, WRONG_REFERENCE)


def _reference(f: IRFunction, references: Value, k: Value) -> Value:
    return f.cast("zext", f.load("i32", f.at(references, k, "i32"), align=1), "i64")


def _numbers() -> str:
    """`i32 fmu.numbers(instance, from, count, values)`: of an array of its outputs or states."""
    kinds = "ptr instance, i64 from, i64 count, ptr values"
    f = IRFunction("fmu.numbers", kinds, "i32", internal=True)
    instance, start, count, values = f.arguments
    f.call("fmu.fresh", instance)
    with f.loop(0, count) as k:
        value = f.entry("double", cells_of(f, instance), start + k)
        f.put(value, values, k, "double", align=1)
        with f.unless(is_finite(f, value)):
            failed(f, instance, DISCARD, DIVERGED)
    f.ret(OK)
    return f.text()


def _set_numbers() -> str:
    """`i32 fmu.set_numbers(instance, from, count, values)`."""
    kinds = "ptr instance, i64 from, i64 count, ptr values"
    f = IRFunction("fmu.set_numbers", kinds, "i32", internal=True)
    instance, start, count, values = f.arguments
    with f.loop(0, count) as k:
        value = f.load("double", f.at(values, k, "double"), align=1)
        with f.unless(is_finite(f, value)):
            failed(f, instance, DISCARD, NOT_FINITE)
    with f.loop(0, count) as k:
        value = f.load("double", f.at(values, k, "double"), align=1)
        f.put(value, cells_of(f, instance), start + k, "double")
    f.put(1, instance, IS_OLD, "i8")
    f.ret(OK)
    return f.text()


def _step(memory: Memory, layout: Layout) -> str:
    """`i32 fmu.step(instance, t, length)`: steps of equal length, none longer than `step`. If it diverges,
    the instance keeps the state before that, at its `time`.
    """
    kinds = "ptr instance, double t, double length"
    f = IRFunction("fmu.step", kinds, "i32", internal=True)
    instance, t, length = f.arguments
    cells = cells_of(f, instance)
    time, h, longest = (cells_of(f, instance, layout.starts[name]) for name in ("time", "h", "step"))
    f.refuse(length.equals(0.0), OK)
    count = length / f.load("double", longest)
    is_possible = f.compared("olt", 0.0, count) & (count < MOST_STEPS)
    is_possible = is_possible & f.compared("olt", 0.0, length)
    with f.unless(is_possible & is_finite(f, t)):
        failed(f, instance, ERROR, BAD_STEP)
    whole = f.cast("fptosi", count, "i64")
    rest = count - f.cast("sitofp", whole, "double")
    more = f.cast("zext", rest > ROUNDING, "i64")
    steps = whole + more
    steps = f.chosen(steps < 1, 1, steps)
    width = length / f.cast("sitofp", steps, "double")
    f.put(1, instance, IS_OLD, "i8")
    copy = cells_of(f, instance, layout.size)
    states = f.at(cells, layout.starts["q"], "double")
    with f.loop(0, steps) as k:
        f.store(width, h)
        f.call("fmu.copied", copy, cells, memory.cells)
        f.call("model.step", cells)
        total = f.space("double", 1, "total")
        f.store(0.0, total)
        with f.loop(0, 2 * layout.sizes["q"]) as j:
            x = f.entry("double", states, j)
            f.store(f.load("double", total) + (x - x), total)
        with f.unless(f.load("double", total).equals(0.0)):
            f.call("fmu.copied", cells, copy, memory.cells)
            f.store(t + width * f.cast("sitofp", k, "double"), time)
            failed(f, instance, DISCARD, DIVERGED)
    f.store(t + length, time)
    f.ret(OK)
    return f.text()


def _event(layout: Layout, has_events: bool) -> str:
    """`i32 fmu.event(instance)`: joints stick or break loose; 1 if any did."""
    f = IRFunction("fmu.event", "ptr instance", "i32", internal=True)
    (instance,) = f.arguments
    if not has_events:
        f.ret(OK)
        return f.text()
    f.call("model.event", cells_of(f, instance))
    f.put(1, instance, IS_OLD, "i8")
    moved = f.load("double", cells_of(f, instance, layout.starts["moved"]))
    f.ret(f.cast("zext", f.compared("olt", 0.0, moved), "i32"))
    return f.text()
