"""The functions of FMI 2.0, as LLVM IR."""

from __future__ import annotations

from forearm.fmi.entry_points import (
    FALSE,
    SOMETHING,
    TRUE,
    EntryPoints,
    life,
    model_exchange,
    serialization,
    stored_if_asked,
    told_text,
)
from forearm.fmi.instance_memory import (
    ANY,
    CO_SIMULATION,
    CONTINUOUS,
    DISCARD,
    EVENT,
    INITIALIZATION,
    INSTANTIATED,
    MODEL_EXCHANGE,
    STEPPING,
    Memory,
    cells_of,
    text_constant,
)
from forearm.fmi.layout import Layout
from forearm.kernels.llvm import IRFunction, Value

LAST_TIME = 2  # fmi2LastSuccessfulTime
TERMINATED_STATUS = 3  # fmi2Terminated
REAL = {"references": "ptr", "count": "i64", "values": "ptr"}


def entry_points(layout: Layout) -> tuple[list[str], list[str]]:
    """Parts of the module, and the exported names."""
    e = EntryPoints("fmi2")
    e.constant_text("GetVersion", "version")
    e.constant_text("GetTypesPlatform", "platform")
    _instantiate(e)
    life(e, "FMUstate")
    names = ("SerializedFMUstateSize", "SerializeFMUstate", "DeSerializeFMUstate")
    serialization(e, Memory(layout), names)
    model_exchange(e, layout, "GetDerivatives")
    _variables(e)
    _modes(e, layout)
    _steps(e, layout)
    parts = [text_constant("version", "2.0"), text_constant("platform", "default"), *told_text(_tell)]
    return [*parts, *e.texts.values()], list(e.texts)


def _tell() -> IRFunction:
    kinds = {"logger": "ptr", "environment": "ptr", "name": "ptr", "status": "i32", "message": "ptr"}
    f = IRFunction("fmu.tell", kinds, internal=True)
    logger, environment, name, status, message = f.arguments
    with f.unless(logger.equals(None)):
        given = (environment, name, status, Value("@category", "ptr"), message)
        f.call(logger, *given, takes="ptr, ptr, i32, ptr, ptr")
    f.ret()
    return f


def _instantiate(e: EntryPoints) -> None:
    """Callbacks are {logger, allocateMemory, freeMemory, stepFinished, environment}."""
    kinds = {
        "name": "ptr",
        "kind": "i32",
        "guid": "ptr",
        "resources": "ptr",
        "callbacks": "ptr",
        "visible": "i32",
        "logging": "i32",
    }
    f = e.bare("Instantiate", kinds, "ptr")
    name, kind, guid, _, callbacks, *_ = f.arguments
    with f.when(callbacks.equals(None)):
        f.ret(None)
    logger, environment = (f.entry("ptr", callbacks, k) for k in (0, 4))
    what = f.chosen(kind.equals(0), MODEL_EXCHANGE, CO_SIMULATION)
    f.ret(f.call("fmu.instance", what, guid, logger, environment, name, kind="ptr"))
    e.add("Instantiate", f)


def _variables(e: EntryPoints) -> None:
    for name, does in (("GetReal", "fmu.get"), ("SetReal", "fmu.set")):
        with e.named(name, REAL) as (f, given):
            f.ret(f.call(does, *given, kind="i32"))
    e.empty(*(f"{does}{kind}" for kind in ("Integer", "Boolean", "String") for does in ("Get", "Set")))
    e.unsupported(
        "GetDirectionalDerivative", "SetRealInputDerivatives", "GetRealOutputDerivatives", "CancelStep"
    )


def _modes(e: EntryPoints, layout: Layout) -> None:
    with e.named("SetDebugLogging", {"on": "i32", "count": "i64", "categories": "ptr"}):
        pass
    kinds = {
        "is_tolerance": "i32",
        "tolerance": "double",
        "start": "double",
        "is_stop": "i32",
        "stop": "double",
    }
    with e.named("SetupExperiment", kinds, INSTANTIATED) as (f, given):
        f.store(given[3], cells_of(f, given[0], layout.starts["time"]))
    e.moves("EnterInitializationMode", INSTANTIATED, INITIALIZATION)
    e.moves("EnterEventMode", EVENT | CONTINUOUS, EVENT)
    e.moves("EnterContinuousTimeMode", EVENT, CONTINUOUS)
    with e.named("NewDiscreteStates", {"info": "ptr"}, EVENT) as (f, given):
        moved = f.call("fmu.event", given[0], kind="i32")
        flags = (moved, FALSE, FALSE, moved, FALSE)  # again, terminate, nominals, states, next event
        for k, flag in enumerate(flags):
            f.store(flag, f.at(given[1], k, "i32"))
    kinds = {"is_final": "i32", "enter": "ptr", "terminate": "ptr"}
    with e.named("CompletedIntegratorStep", kinds, CONTINUOUS) as (f, given):
        stored_if_asked(f, [(given[2], FALSE), (given[3], FALSE)])


def _steps(e: EntryPoints, layout: Layout) -> None:
    with e.named("DoStep", {"t": "double", "length": "double", "is_final": "i32"}, STEPPING) as (f, given):
        f.ret(f.call("fmu.step", *given[:3], kind="i32"))
    with e.named("GetRealStatus", {"what": "i32", "value": "ptr"}, ANY) as (f, given):
        with f.unless(given[1].equals(LAST_TIME)):
            f.ret(DISCARD)
        f.store(f.load("double", cells_of(f, given[0], layout.starts["time"])), given[2])
    with e.named("GetBooleanStatus", {"what": "i32", "value": "ptr"}, ANY) as (f, given):
        with f.unless(given[1].equals(TERMINATED_STATUS)):
            f.ret(DISCARD)
        f.store(FALSE, given[2])
    for name in ("GetStatus", "GetIntegerStatus", "GetStringStatus"):
        with e.named(name, {"what": "i32", "value": "ptr"}, ANY) as (f, _):
            f.ret(DISCARD)


__all__ = ["SOMETHING", "TRUE", "entry_points"]
