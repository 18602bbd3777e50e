"""Saved states of an FMU's instances as LLVM IR: in slots of the same pool, and serialized to bytes."""

from __future__ import annotations

from forearm.fmi.instance_memory import BAD_STATE, ERROR, FULL, MODE, OK, SAVED, Memory, failed
from forearm.kernels.llvm import IRFunction


def saved_state_parts(memory: Memory, tag: int) -> list[str]:
    """All functions; `tag` is the first bytes of a serialized state."""
    return [_copied(), _save(memory), _restore(memory), _serialize(memory, tag), _deserialize(memory, tag)]


def _copied() -> str:
    """`void fmu.copied(to, from, bytes)`, whole words of 8 bytes."""
    f = IRFunction("fmu.copied", "ptr to, ptr from, i64 bytes", internal=True)
    to, source, size = f.arguments
    with f.loop(0, size >> 3) as k:
        f.put(f.load("i64", f.at(source, k, "i64"), align=1), to, k, "i64", align=1)
    f.ret()
    return f.text()


def _save(memory: Memory) -> str:
    """`i32 fmu.save(instance, state)`: save its state to *state, in a new slot if that is null."""
    f = IRFunction("fmu.save", "ptr instance, ptr state", "i32", internal=True)
    instance, state = f.arguments
    f.refuse(state.equals(None), ERROR)
    with f.when(f.load("ptr", state).equals(None)):
        made = f.call("fmu.slot", SAVED, kind="ptr")
        with f.when(made.equals(None)):
            failed(f, instance, ERROR, FULL)
        f.store(made, state)
    to = f.load("ptr", state)
    with f.unless(f.call("fmu.kind", to, kind="i64").equals(SAVED)):
        failed(f, instance, ERROR, BAD_STATE)
    f.call("fmu.copied", f.at(to, MODE, "i8"), f.at(instance, MODE, "i8"), memory.saved)
    f.ret(OK)
    return f.text()


def _restore(memory: Memory) -> str:
    """`i32 fmu.restore(instance, state)`."""
    f = IRFunction("fmu.restore", "ptr instance, ptr state", "i32", internal=True)
    instance, state = f.arguments
    with f.unless(f.call("fmu.kind", state, kind="i64").equals(SAVED)):
        failed(f, instance, ERROR, BAD_STATE)
    f.call("fmu.copied", f.at(instance, MODE, "i8"), f.at(state, MODE, "i8"), memory.saved)
    f.ret(OK)
    return f.text()


def _serialize(memory: Memory, tag: int) -> str:
    """`i32 fmu.serialize(instance, state, bytes, size)`."""
    kinds = "ptr instance, ptr state, ptr bytes, i64 size"
    f = IRFunction("fmu.serialize", kinds, "i32", internal=True)
    instance, state, to, size = f.arguments
    is_saved = f.call("fmu.kind", state, kind="i64").equals(SAVED)
    with f.unless(is_saved & f.compared("ult", serialized_size(memory) - 1, size)):
        failed(f, instance, ERROR, BAD_STATE)
    f.store(tag, to, align=1)
    f.call("fmu.copied", f.at(to, 8, "i8"), f.at(state, MODE, "i8"), memory.saved)
    f.ret(OK)
    return f.text()


def _deserialize(memory: Memory, tag: int) -> str:
    """`i32 fmu.deserialize(instance, bytes, size, state)`: into a new slot if *state is null."""
    kinds = "ptr instance, ptr bytes, i64 size, ptr state"
    f = IRFunction("fmu.deserialize", kinds, "i32", internal=True)
    instance, source, size, state = f.arguments
    with f.unless(f.compared("ult", serialized_size(memory) - 1, size)):
        failed(f, instance, ERROR, BAD_STATE)
    with f.unless(f.load("i64", source, align=1).equals(tag)):
        failed(f, instance, ERROR, BAD_STATE)
    status = f.call("fmu.save", instance, state, kind="i32")
    f.require(status.equals(0), status)
    to = f.at(f.load("ptr", state), MODE, "i8")
    f.call("fmu.copied", to, f.at(source, 8, "i8"), memory.saved)
    f.ret(OK)
    return f.text()


def serialized_size(memory: Memory) -> int:
    """Bytes of a serialized state."""
    return 8 + memory.saved
