"""Functions that simulators call, as LLVM IR: what versions 2 and 3 of FMI share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from forearm.fmi.instance_memory import (
    ANY,
    CONTINUOUS,
    ENVIRONMENT,
    ERROR,
    EVENT,
    INITIALIZATION,
    LOGGER,
    MODE,
    NAME,
    OK,
    STEPPING,
    TERMINATED,
    Memory,
    cells_of,
)
from forearm.fmi.layout import Layout
from forearm.fmi.saved_states import serialized_size
from forearm.kernels.llvm import IRFunction, Value

TRUE, FALSE = Value("1", "i32"), Value("0", "i32")
SOMETHING = "ptr instance"
ARRAY = "ptr values, i64 count"


class EntryPoints:
    """A growing list of exported functions; `letters` is the prefix of their names."""

    def __init__(self, letters: str) -> None:
        self.letters = letters
        self.texts: dict[str, str] = {}

    @contextmanager
    def named(
        self, name: str, arguments: str = "", modes: int = ANY
    ) -> Iterator[tuple[IRFunction, list[Value]]]:
        """A function that returns a status: its body runs for an instance in one of these modes, and OK is
        returned unless it returned before.
        """
        f = self.bare(name, ", ".join(filter(None, (SOMETHING, arguments))), "i32")
        status = f.call("fmu.entered", f.arguments[0], modes, kind="i32")
        f.require(status.equals(0), status)
        yield f, f.arguments
        if f.here:
            f.ret(OK)
        self.add(name, f)

    def bare(self, name: str, arguments: str, kind: str) -> IRFunction:
        """A function of another kind, to be passed to `add`."""
        return IRFunction(f"{self.letters}{name}", arguments, kind)

    def add(self, name: str, f: IRFunction) -> None:
        """Add a finished function."""
        self.texts[f"{self.letters}{name}"] = f.text()

    def forwards(self, function: str, name: str, arguments: str, modes: int = ANY) -> None:
        """Add a function that another one does."""
        with self.named(name, arguments, modes) as (f, given):
            f.ret(f.call(function, *given, kind="i32"))

    def unsupported(self, *names: str) -> None:
        """Functions of capabilities that the FMU does not declare."""
        for name in names:
            f = self.bare(name, SOMETHING, "i32")
            f.ret(ERROR)
            self.add(name, f)

    def empty(self, *names: str) -> None:
        """Add getters and setters of types that no variable has: OK for zero references, else an error."""
        for name in names:
            with self.named(name, "ptr references, i64 count") as (f, given):
                f.ret(f.chosen(given[2].equals(0), OK, ERROR))

    def constant_text(self, name: str, constant: str) -> None:
        """Add a function that returns a string."""
        f = self.bare(name, "", "ptr")
        f.ret(Value(f"@{constant}", "ptr"))
        self.add(name, f)

    def moves(self, name: str, before: int, after: int) -> None:
        """Add a function that only changes the mode."""
        with self.named(name, "", before) as (f, given):
            f.put(after, given[0], MODE, "i8")


def life(e: EntryPoints, state: str) -> None:
    """Add the life cycle and saved states; `state` is this FMI version's spelling in function names."""
    with e.named("ExitInitializationMode", "", INITIALIZATION) as (f, given):
        f.call("fmu.fresh", given[0])
        kind = f.call("fmu.kind", given[0], kind="i64")
        f.put(f.chosen(kind.equals(1), EVENT, STEPPING), given[0], MODE, "i8")
    e.moves("Terminate", EVENT | CONTINUOUS | STEPPING, TERMINATED)
    with e.named("Reset", "") as (f, given):
        f.call("fmu.reset", given[0])
    free = e.bare("FreeInstance", SOMETHING, "void")
    _released(free, free.arguments[0], free.compared("ult", _kind_less_one(free, free.arguments[0]), 2))
    free.ret()
    e.add("FreeInstance", free)
    e.forwards("fmu.save", f"Get{state}", "ptr state")
    with e.named(f"Set{state}", "ptr state") as (f, given):
        f.ret(f.call("fmu.restore", *given, kind="i32"))
    with e.named(f"Free{state}", "ptr state") as (f, given):
        is_none = given[1].equals(None)
        with f.unless(is_none):
            there = f.load("ptr", given[1])
            _released(f, there, _kind_less_one(f, there).equals(2))
            f.store(None, given[1])


def _kind_less_one(f: IRFunction, slot: Value) -> Value:
    return f.call("fmu.kind", slot, kind="i64") - 1


def _released(f: IRFunction, slot: Value, where: Value) -> None:
    with f.when(where):
        f.store(Value("0", "i32"), slot, order="release", align=4)


def serialization(e: EntryPoints, memory: Memory, names: tuple[str, str, str]) -> None:
    """Saved states as bytes."""
    size, out, into = names
    with e.named(size, "ptr state, ptr size") as (f, given):
        f.store(serialized_size(memory), given[2])
    e.forwards("fmu.serialize", out, "ptr state, ptr bytes, i64 size")
    with e.named(into, "ptr bytes, i64 size, ptr state") as (f, given):
        f.ret(f.call("fmu.deserialize", *given, kind="i32"))


def model_exchange(e: EntryPoints, layout: Layout, derivatives: str) -> None:
    """Time, continuous states, their derivatives and nominal values, and event indicators."""
    n, indicators = layout.sizes["q"], layout.sizes["indicators"]
    with e.named("SetTime", "double time", EVENT | CONTINUOUS) as (f, given):
        f.store(given[1], cells_of(f, given[0], layout.starts["time"]))
    with e.named("SetContinuousStates", ARRAY, CONTINUOUS) as (f, given):
        f.require(given[2].equals(2 * n), ERROR)
        f.ret(f.call("fmu.set_numbers", given[0], layout.starts["q"], 2 * n, given[1], kind="i32"))
    for name, start, size in (
        ("GetContinuousStates", "q", 2 * n),
        (derivatives, "dq", 2 * n),
        ("GetEventIndicators", "indicators", indicators),
    ):
        with e.named(name, ARRAY) as (f, given):
            f.require(given[2].equals(size), ERROR)
            f.ret(f.call("fmu.numbers", given[0], layout.starts[start], size, given[1], kind="i32"))
    with e.named("GetNominalsOfContinuousStates", ARRAY) as (f, given):
        f.require(given[2].equals(2 * n), ERROR)
        if n:
            with f.loop(0, 2 * n) as k:
                f.put(1.0, given[1], k, "double", align=1)


def stored_if_asked(f: IRFunction, pairs: list[tuple[Value, Value]]) -> None:
    """Store values through the pointers that are not null."""
    for pointer, value in pairs:
        with f.unless(pointer.equals(None)):
            f.store(value, pointer, align=1)


def told_text(tell: Callable[[], IRFunction]) -> list[str]:
    """How an instance logs an error, through `fmu.tell` of its FMI version."""
    f = IRFunction("fmu.told", "ptr instance, i32 status, ptr message", internal=True)
    instance, status, message = f.arguments
    logger, environment = (f.field("ptr", instance, at) for at in (LOGGER, ENVIRONMENT))
    f.call("fmu.tell", logger, environment, f.at(instance, NAME, "i8"), status, message)
    f.ret()
    return [tell().text(), f.text()]


def initialization(f: IRFunction, instance: Value, start: Value, layout: Layout) -> None:
    """Set the start time of an instance."""
    f.store(start, cells_of(f, instance, layout.starts["time"]))
    f.put(INITIALIZATION, instance, MODE, "i8")
