"""From an arm to code: traced, refined, written."""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from forearm import __version__
from forearm.arm.arm import Arm, check_arm
from forearm.codegen.functions import FUNCTIONS, Function, Traced, trace
from forearm.codegen.integration_step import NAME as STEP
from forearm.codegen.integration_step import traced_integration_step
from forearm.codegen.languages.language import Language
from forearm.codegen.program import Argument, Program
from forearm.codegen.program_writer import program_of
from forearm.codegen.source import Source
from forearm.codegen.tracing import Tracing
from forearm.dynamics.reference import parameter_names
from forearm.errors import InputError, shorten, suggest
from forearm.reduction.plan import PLAIN_PLAN
from forearm.reduction.symbolic import chosen_parameters
from forearm.symbols import Counts
from forearm.symbols.scalars import is_zero
from forearm.values import check_choice, check_name, chosen, names_in

# Each is a module of forearm.codegen.languages with a LANGUAGE.
LANGUAGES = ("c", "cpp", "fortran", "python", "javascript", "latex", "rust", "cuda", "matlab", "st")
SINGLE = ("c", "cpp", "fortran", "rust", "cuda", "matlab", "st")  # those with single precision
DTYPES = ("float64", "float32")
WORDS = {
    "mul": "multiplications",
    "add": "additions",
    "div": "divisions",
    "sqrt": "square roots",
    "trig": "sines and cosines",
    "lookup": "look-ups",
}
NAMES = (
    "Names: w, wd angular velocity and acceleration of a link, a acceleration of its origin with gravity in "
    "it, F, N force and moment for its own motion, f, n those that pass its joint, c23 the cosine of q2 + "
    "q3 (with a joint's constant offset, if any); a trailing n means negated."
)
PLAIN = (
    "Counted on straight-line statements in the arm's own units; code in other languages chooses units, "
    "origins and free moments and may take fewer."
)
UNITS = (
    "Of a link, mass is in kg, com in m in its frame, inertia in kg m^2 about its centre of mass in the "
    "axes of its frame; of a joint, a and d are in m, alpha and theta in rad; gravity is free fall in "
    "the base frame, m/s^2."
)
MOMENTS = (
    "m in kg, first moments mx in kg m, inertia Ixx in kg m^2 about the origin of the "
    "link's frame, in its axes."
)
LONGEST_NAME = 50  # Fortran allows 63 characters, of which some are needed for "_prepare"


def generate(
    arm: Arm,
    function: str | Iterable[str],
    language: str = "c",
    parameters: Iterable[str] | str = (),
    formulation: str | None = None,
    name: str | None = None,
    dtype: str | None = None,
    method: str = "rk4",
    drive: str = "torque",
    target: str | None = None,
) -> Source:
    """Straight-line code for a function of an arm, or for several as one function with common subexpressions
    computed once; as source text in a language, or as an object file for a target machine.

    Args:
        arm: the arm.
        function: a name such as "inverse_dynamics", or several (the error for a wrong name lists all); or
            "integration_step", one step of a simulation.
        language: "c", "cpp", "fortran", "python", "javascript", "latex", "rust", "cuda", "matlab" or "st".
        parameters: parameters left as symbols (a second function computes everything that depends on them
            alone): "link6.mass", "link6.com.x", "link6.inertia.xx", "joint6.alpha", a whole "link6" or
            "joint6", "gravity.z", or "all"; "joint6.friction", "joint6.motor", or "drives".
        formulation: a published formulation, traced unchanged; None: the code with the fewest operations that
            forearm finds.
        name: name of the generated function; None: composed of the arm's and the functions' names.
        dtype: "float64", or "float32" for target machines and all languages but Python, JavaScript and LaTeX;
            None: "float64", or "float32" for cortex-m4.
        method: integration method of "integration_step": "rk3", "rk4" or "gill".
        drive: input of "integration_step": "torque" or "voltage".
        target: a machine to write an object file for, without a compiler: "cortex-m4", "cortex-m7",
            "aarch64", "riscv64", "x86-64-v3" or "wasm32"; None: source text in the language.
    """
    if target is not None:
        from forearm.targets.object_source import object_source

        return object_source(
            *(arm, function, target, dtype, language),
            parameters=parameters,
            formulation=formulation,
            name=name,
            method=method,
            drive=drive,
        )
    written, dtype = language_of(language), "float64" if dtype is None else dtype
    check_dtype(dtype, written.name)
    readable, single = written.name == "latex", dtype == "float32"
    made = traced_for(arm, function, parameters, formulation, name, readable, single, method, drive)
    program = made.program()
    text, header = written.write(program)
    return Source(text, header, program.counts, program.name, written.name, written.others(program))


def check_dtype(dtype: str, language: str) -> None:
    """Raise for an unknown precision, or one that a language does not support."""
    check_choice(dtype, DTYPES, "generate, dtype")
    if dtype == "float32" and language not in SINGLE:
        raise InputError(
            f"dtype float32 is supported by {', '.join(SINGLE)}, got {language}, which has float64 only.",
            "generate",
        )


def program_for(
    arm: Arm,
    function: str | Iterable[str],
    parameters: Iterable[str] | str = (),
    formulation: str | None = None,
    name: str | None = None,
    readable: bool = False,
    single: bool = False,
) -> Program:
    """The program for a function of an arm, before any language; `readable` uses the plain plan and the arm's
    own units, `single` is for single precision.
    """
    return _traced_functions(arm, function, parameters, formulation, name, readable, single).program()


def step_program(
    arm: Arm,
    method: str = "rk4",
    drive: str = "torque",
    parameters: Iterable[str] | str = (),
    name: str | None = None,
    single: bool = False,
    with_routines: bool = True,
) -> Program:
    """The program for one integration step of an arm, before any language."""
    return _traced_step(arm, method, drive, parameters, name, single, with_routines).program()


@dataclass(frozen=True, eq=False)
class TracedProgram:
    """The ingredients of a program: functions on the graph, its name, its head comment, and open parameters
    with the arm's own values.
    """

    traced: Traced
    name: str
    about: tuple[str, ...]
    symbols: dict[str, float]
    single: bool = False
    with_routines: bool = True

    def program(self) -> Program:
        """The same as statements, before any language."""
        t = self.traced
        made = program_of(
            t.graph, t.results, self.name, self.about, t.inputs, t.outputs, self.symbols, self.with_routines
        )
        return replace(made, single=self.single)


def traced_for(
    arm: Arm,
    function: str | Iterable[str],
    parameters: Iterable[str] | str = (),
    formulation: str | None = None,
    name: str | None = None,
    readable: bool = False,
    single: bool = False,
    method: str = "rk4",
    drive: str = "torque",
) -> TracedProgram:
    """The requested functions on the graph."""
    names = names_in(function, "generate, function")
    if set(names) != {STEP}:
        return _traced_functions(arm, names, parameters, formulation, name, readable, single)
    if formulation is not None:
        raise InputError(f"{STEP} has no formulations; leave formulation out.", "generate")
    return _traced_step(arm, method, drive, parameters, name, single, not readable)


def _traced_functions(
    arm: Arm,
    function: str | Iterable[str],
    parameters: Iterable[str] | str,
    formulation: str | None,
    name: str | None,
    readable: bool,
    single: bool,
) -> TracedProgram:
    check_arm(arm, "generate", moves=True)
    names = list(dict.fromkeys(names_in(function, "generate, function")))
    if STEP in names:
        raise InputError(f"{STEP} is a complete simulation step; generate it alone.", "generate")
    functions = [chosen(FUNCTIONS, given, "generate, function") for given in names]
    if not functions:
        raise InputError(f"expected a function; {suggest('', FUNCTIONS)}", "generate")
    _check_formulation(names, functions, formulation)
    symbols = chosen_parameters(arm, names_in(parameters, "generate, parameters"))
    tracing = Tracing(arm, symbols, formulation, PLAIN_PLAN if readable else None, single)
    traced = trace(tracing, functions)
    title = identifier(name) if name is not None else _default_name(arm, names)
    counts = traced.graph.counts(traced.results)
    about = _about(arm, functions, formulation, counts, tracing, traced.inputs, not readable)
    return TracedProgram(traced, title, about, symbols, single)


def _traced_step(
    arm: Arm,
    method: str,
    drive: str,
    parameters: Iterable[str] | str,
    name: str | None,
    single: bool,
    with_routines: bool,
) -> TracedProgram:
    check_arm(arm, "generate", moves=True)
    symbols = chosen_parameters(arm, names_in(parameters, "generate, parameters"))
    traced = traced_integration_step(arm, method, drive, symbols, single)
    title = identifier(name) if name is not None else _default_name(arm, [STEP])
    about = _about_step(arm, traced, method, bool(symbols))
    return TracedProgram(traced, title, about, symbols, single, with_routines)


def _about_step(arm: Arm, traced: Traced, method: str, is_open: bool) -> tuple[str, ...]:
    counts = traced.graph.counts(traced.results)
    return (
        f"One integration step of {arm.name}, {arm.n} joints, by the method {method}.",
        "",
        *_said_of_arm(arm),
        "Torques are motor torque times gear ratio; friction, sticking, rotors and gears are included.",
        *([UNITS] if is_open else []),
        f"One step while all joints move: {_spent(counts)}.",
        f"Generated by forearm {__version__}.",
    )


def _said_of_arm(arm: Arm) -> list[str]:
    g = ", ".join(f"{x:g}" for x in arm.gravity)
    return [
        f"Parameters: {' '.join(arm.source.split()) or 'as in the file of the arm.'}",
        f"Joints in order: {', '.join(j.name for j in arm.joints)}. Gravity ({g}) m/s^2 in the base frame.",
    ]


def _spent(counts: Counts) -> str:
    """Operation counts in words."""
    pairs = asdict(counts).items()
    return ", ".join(f"{number} {WORDS[kind]}" for kind, number in pairs if number or kind in ("mul", "add"))


def language_of(name: str) -> Language:
    """A language by its name."""
    check_choice(name, LANGUAGES, "generate, language")
    language = importlib.import_module(f"forearm.codegen.languages.{name}").LANGUAGE
    assert isinstance(language, Language)
    return language


def identifier(name: str) -> str:
    """A name that every language accepts for a function."""
    check_name(name, "function")
    plain = re.sub(r"\W+", "_", name.lower(), flags=re.ASCII).strip("_")
    return plain if plain[:1].isalpha() else f"arm_{plain}".strip("_")


def _default_name(arm: Arm, names: list[str]) -> str:
    """The arm's and the functions' names; if too long for the languages, the arm's name is shortened, and
    several functions are replaced by a hash.
    """
    what = "_".join(names)
    if len(what) > LONGEST_NAME // 2 and len(names) > 1:
        what = f"{len(names)}_functions_{hashlib.sha256(what.encode()).hexdigest()[:6]}"
    return identifier(f"{arm.name[: LONGEST_NAME - len(what) - 1]}_{what}")


def _check_formulation(names: list[str], chosen: list[Function], formulation: str | None) -> None:
    if formulation is None:
        return
    if not isinstance(formulation, str):
        raise InputError(
            f"formulation must be a name, such as gibbs-appell, got {shorten(formulation)}.", "generate"
        )
    for name, function in zip(names, chosen, strict=True):
        if not function.has_formulations:
            raise InputError(
                f"{name} has no formulations; leave formulation out, or generate "
                "inverse_dynamics, inertia_matrix or forward_dynamics.",
                "generate",
            )


def _about(
    arm: Arm,
    chosen: list[Function],
    formulation: str | None,
    counts: Counts,
    tracing: Tracing,
    inputs: tuple[Argument, ...],
    named: bool,
) -> tuple[str, ...]:
    what = "; ".join(f.title for f in chosen)
    lines = [f"{what} of {arm.name}, {arm.n} joints, from {', '.join(a.name for a in inputs)}.", ""]
    lines += _said_of_arm(arm)
    lines += _drives_said(arm, chosen, tracing)
    if formulation is not None:
        lines += [f"Traced from the formulation {formulation}, common values shared."]
    elif tracing.regrouped:
        lines += [
            (
                "Inertial parameters are regrouped: torques are the arm's, values inside are not "
                "the forces in its joints."
            )
        ]
        lines += [NAMES] if named else []
        if (length := tracing.unit) is not None:
            mass = 1.0 / (length * length)
            lines += [f"Inside, lengths are in units of {length:g} m and masses in units of {mass:g} kg."]
    lines += _columns_said(chosen, tracing)
    if tracing.parameters:
        lines += [UNITS]
    lines += [f"One evaluation: {_spent(counts)}."]
    if tracing.regrouped and not named:
        lines += [PLAIN]
    return (*lines, f"Generated by forearm {__version__}.")


def _drives_said(arm: Arm, chosen: list[Function], tracing: Tracing) -> list[str]:
    """Which of the arm's drive effects are in the code, if any."""
    joints = [body.joint for body in arm.moving.bodies]
    rubbed = [joint.friction for joint in joints if joint.friction is not None]
    kinds = (
        "viscous, Coulomb and Stribeck"
        if any(f.static is not None for f in rubbed)
        else "viscous and Coulomb"
    )
    parts = (
        ("rotors", not all(is_zero(J) for J in tracing.rotor), "rotors' inertia"),
        ("friction", bool(rubbed), f"{kinds} friction"),
        ("friction", any(joint.bearings for joint in joints), "friction of bearings"),
        ("friction", any(joint.transmission is not None for joint in joints), "losses of gears"),
        (
            "springs",
            any(joint.elasticity is not None for joint in joints),
            "springs between motors and links",
        ),
    )
    said = [words for part, there, words in parts if there and any(part in f.drives for f in chosen)]
    listed = " and ".join([*([", ".join(said[:-1])] if said[1:] else []), *said[-1:]])
    return [f"Torques are motor torque times gear ratio; {listed} included."] if said else []


def _columns_said(chosen: list[Function], tracing: Tracing) -> list[str]:
    """What the columns of regressors and the rows of reactions refer to."""
    lines: list[str] = []
    for function in chosen:
        if "Y" in function.outputs:
            lines += [f"Columns of Y: {', '.join(parameter_names(tracing.arm))}: {MOMENTS}"]
        if "Y_base" in function.outputs:
            base = tracing.base
            lines += [f"Columns of Y_base, {MOMENTS}"]
            lines += [
                f"  {k}: {label} = {v:.9g}"
                for k, (label, v) in enumerate(zip(base.labels, base.values, strict=True))
            ]
        if "wrench" in function.outputs:
            lines += [f"Rows of wrench: {', '.join(b.joint.name for b in tracing.arm.moving.bodies)}."]
    return lines
