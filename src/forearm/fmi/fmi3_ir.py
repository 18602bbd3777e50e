"""The functions of FMI 3.0, as LLVM IR."""

from __future__ import annotations

from forearm.fmi.entry_points import (
    EntryPoints,
    initialization,
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
    ERROR,
    EVENT,
    INSTANTIATED,
    MODEL_EXCHANGE,
    STEPPING,
    Memory,
    cells_of,
    text_constant,
)
from forearm.fmi.layout import Layout
from forearm.kernels.llvm import IRFunction, Value

NO = Value("0", "i8")  # fmi3Boolean is C's bool
TYPES = (
    "Float32", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Boolean", "String",
    "Binary", "Clock",
)  # fmt: skip
FLOAT64 = "ptr references, i64 count, ptr values, i64 size"
UNSUPPORTED = (
    "GetNumberOfVariableDependencies", "GetVariableDependencies", "GetDirectionalDerivative",
    "GetAdjointDerivative", "EnterConfigurationMode", "ExitConfigurationMode", "GetIntervalDecimal",
    "GetIntervalFraction", "GetShiftDecimal", "GetShiftFraction", "SetIntervalDecimal", "SetIntervalFraction",
    "SetShiftDecimal", "SetShiftFraction", "EnterStepMode", "GetOutputDerivatives", "ActivateModelPartition",
)  # fmt: skip


def entry_points(layout: Layout) -> tuple[list[str], list[str]]:
    """Parts of the module, and the exported names."""
    e = EntryPoints("fmi3")
    e.constant_text("GetVersion", "version")
    _instantiate(e)
    life(e, "FMUState")
    names = ("SerializedFMUStateSize", "SerializeFMUState", "DeserializeFMUState")
    serialization(e, Memory(layout), names)
    model_exchange(e, layout, "GetContinuousStateDerivatives")
    _variables(e, layout)
    _modes(e, layout)
    _steps(e, layout)
    e.unsupported(*UNSUPPORTED)
    return [text_constant("version", "3.0"), *told_text(_tell), *e.texts.values()], list(e.texts)


def _tell() -> IRFunction:
    kinds = "ptr logger, ptr environment, ptr name, i32 status, ptr message"
    f = IRFunction("fmu.tell", kinds, internal=True)
    logger, environment, _, status, message = f.arguments
    with f.unless(logger.equals(None)):
        f.call(logger, environment, status, Value("@category", "ptr"), message)
    f.ret()
    return f


def _instantiate(e: EntryPoints) -> None:
    first = "ptr name, ptr token, ptr resources, i8 visible, i8 logging"
    last = "ptr environment, ptr logger"
    between = "i8 events, i8 early, ptr required, i64 count"
    for name, kinds, what in (
        ("InstantiateModelExchange", f"{first}, {last}", MODEL_EXCHANGE),
        ("InstantiateCoSimulation", f"{first}, {between}, {last}, ptr update", CO_SIMULATION),
    ):
        f = e.bare(name, kinds, "ptr")
        named, token, *_, environment, logger = f.arguments[: 7 if what == MODEL_EXCHANGE else 11]
        f.ret(f.call("fmu.instance", what, token, logger, environment, named, kind="ptr"))
        e.add(name, f)
    f = e.bare("InstantiateScheduledExecution", first, "ptr")
    f.ret(None)
    e.add("InstantiateScheduledExecution", f)


def _variables(e: EntryPoints, layout: Layout) -> None:
    for name, does in (("GetFloat64", "fmu.get"), ("SetFloat64", "fmu.set")):
        with e.named(name, FLOAT64) as (f, given):
            with f.unless(given[2].equals(given[4])):  # all variables are scalars
                f.ret(ERROR)
            f.ret(f.call(does, *given[:4], kind="i32"))
    e.empty(*(f"{does}{kind}" for kind in TYPES for does in ("Get", "Set")))
    for name, size in (
        ("GetNumberOfContinuousStates", 2 * layout.sizes["q"]),
        ("GetNumberOfEventIndicators", layout.sizes["indicators"]),
    ):
        with e.named(name, "ptr size") as (f, given):
            f.store(size, given[1])


def _modes(e: EntryPoints, layout: Layout) -> None:
    with e.named("SetDebugLogging", "i8 on, i64 count, ptr categories"):
        pass
    kinds = "i8 is_tolerance, double tolerance, double start, i8 is_stop, double stop"
    with e.named("EnterInitializationMode", kinds, INSTANTIATED) as (f, given):
        initialization(f, given[0], given[3], layout)
    e.moves("EnterEventMode", EVENT | CONTINUOUS, EVENT)
    e.moves("EnterContinuousTimeMode", EVENT, CONTINUOUS)
    with e.named("EvaluateDiscreteStates", "", ANY):
        pass
    flags = "ptr again, ptr terminate, ptr nominals, ptr states, ptr is_next, ptr next"
    with e.named("UpdateDiscreteStates", flags, EVENT) as (f, given):
        moved = f.cast("trunc", f.call("fmu.event", given[0], kind="i32"), "i8")
        stored_if_asked(f, list(zip(given[1:6], (moved, NO, NO, moved, NO), strict=True)))
    kinds = "i8 is_final, ptr enter, ptr terminate"
    with e.named("CompletedIntegratorStep", kinds, CONTINUOUS) as (f, given):
        stored_if_asked(f, [(given[2], NO), (given[3], NO)])


def _steps(e: EntryPoints, layout: Layout) -> None:
    kinds = "double t, double length, i8 is_final, ptr event, ptr terminate, ptr early, ptr last"
    with e.named("DoStep", kinds, STEPPING) as (f, given):
        status = f.call("fmu.step", *given[:3], kind="i32")
        time = f.load("double", cells_of(f, given[0], layout.starts["time"]))
        stored_if_asked(f, [*((pointer, NO) for pointer in given[4:7]), (given[7], time)])
        f.ret(status)
