"""The functions of FMI 2.0, as LLVM IR."""

from __future__ import annotations

from forearm.fmi.entry_points import (
    FALSE,
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
REAL = "ptr references, i64 count, ptr values"


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
    kinds = "ptr logger, ptr environment, ptr name, i32 status, ptr message"
    f = IRFunction("fmu.tell", kinds, internal=True)
    logger, environment, name, status, message = f.arguments
    with f.unless(logger.equals(None)):
        given = (environment, name, status, Value("@category", "ptr"), message)
        f.call(logger, *given, takes="ptr, ptr, i32, ptr, ptr")
    f.ret()
    return f


def _instantiate(e: EntryPoints) -> None:
    """Callbacks are {logger, allocateMemory, freeMemory, stepFinished, environment}."""
    kinds = "ptr name, i32 kind, ptr guid, ptr resources, ptr callbacks, i32 visible, i32 logging"
    f = e.bare("Instantiate", kinds, "ptr")
    name, kind, guid, _, callbacks, *_ = f.arguments
    f.refuse(callbacks.equals(None), None)
    logger, environment = (f.entry("ptr", callbacks, k) for k in (0, 4))
    what = f.chosen(kind.equals(0), MODEL_EXCHANGE, CO_SIMULATION)
    f.ret(f.call("fmu.instance", what, guid, logger, environment, name, kind="ptr"))
    e.add("Instantiate", f)


def _variables(e: EntryPoints) -> None:
    for name, does in (("GetReal", "fmu.get"), ("SetReal", "fmu.set")):
        e.forwards(does, name, REAL)
    e.empty(*(f"{does}{kind}" for kind in ("Integer", "Boolean", "String") for does in ("Get", "Set")))
    e.unsupported(
        "GetDirectionalDerivative", "SetRealInputDerivatives", "GetRealOutputDerivatives", "CancelStep"
    )


def _modes(e: EntryPoints, layout: Layout) -> None:
    with e.named("SetDebugLogging", "i32 on, i64 count, ptr categories"):
        pass
    kinds = "i32 is_tolerance, double tolerance, double start, i32 is_stop, double stop"
    with e.named("SetupExperiment", kinds, INSTANTIATED) as (f, given):
        f.store(given[3], cells_of(f, given[0], layout.starts["time"]))
    e.moves("EnterInitializationMode", INSTANTIATED, INITIALIZATION)
    e.moves("EnterEventMode", EVENT | CONTINUOUS, EVENT)
    e.moves("EnterContinuousTimeMode", EVENT, CONTINUOUS)
    with e.named("NewDiscreteStates", "ptr info", EVENT) as (f, given):
        moved = f.call("fmu.event", given[0], kind="i32")
        flags = (moved, FALSE, FALSE, moved, FALSE)  # again, terminate, nominals, states, next event
        for k, flag in enumerate(flags):
            f.put(flag, given[1], k, "i32")
    kinds = "i32 is_final, ptr enter, ptr terminate"
    with e.named("CompletedIntegratorStep", kinds, CONTINUOUS) as (f, given):
        stored_if_asked(f, [(given[2], FALSE), (given[3], FALSE)])


def _steps(e: EntryPoints, layout: Layout) -> None:
    with e.named("DoStep", "double t, double length, i32 is_final", STEPPING) as (f, given):
        f.ret(f.call("fmu.step", *given[:3], kind="i32"))
    with e.named("GetRealStatus", "i32 what, ptr value", ANY) as (f, given):
        f.require(given[1].equals(LAST_TIME), DISCARD)
        f.store(f.load("double", cells_of(f, given[0], layout.starts["time"])), given[2])
    with e.named("GetBooleanStatus", "i32 what, ptr value", ANY) as (f, given):
        f.require(given[1].equals(TERMINATED_STATUS), DISCARD)
        f.store(FALSE, given[2])
    for name in ("GetStatus", "GetIntegerStatus", "GetStringStatus"):
        with e.named(name, "i32 what, ptr value", ANY) as (f, _):
            f.ret(DISCARD)
