"""From an arm to code: traced, refined, written."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from forearm import __version__
from forearm.arm.arm import Arm
from forearm.codegen.functions import FUNCTIONS, Function, arguments, table_of
from forearm.codegen.languages.language import Language
from forearm.codegen.program import Argument, Program, program_of
from forearm.codegen.tracing import Tracing
from forearm.errors import InputError, NameNotFound, shorten, suggest
from forearm.reading.textfile import write_text
from forearm.reduction.plan import PLAIN_PLAN
from forearm.reduction.symbolic import chosen_parameters
from forearm.symbols import Counts, refined
from forearm.values import check_name

# Each is a module of forearm.codegen.languages with a LANGUAGE.
LANGUAGES = ("c", "cpp", "fortran", "python", "latex")
WORDS = {"mul": "multiplications", "add": "additions", "div": "divisions", "sqrt": "square roots", "trig": "sines and cosines"}
NAMES = (
    "Names: w, wd angular velocity and acceleration of a link, a acceleration of its origin with gravity in it, F, N force and "
    "moment for its own motion, f, n those that pass its joint, c23 = cos(q2 + q3); a trailing n means negated."
)
LONGEST_NAME = 50  # Fortran takes 63 characters, of which some are needed for "_prepare"


@dataclass(frozen=True)
class Source:
    """Generated code: its text, its header ("" where the language has none), and what one evaluation costs."""

    text: str
    header: str
    counts: Counts
    name: str
    language: str

    def files(self) -> dict[str, str]:
        """Names of the files, and what is in them."""
        language = language_of(self.language)
        made = {f"{self.name}.{language.ending}": self.text}
        if language.header_ending:
            made[f"{self.name}.{language.header_ending}"] = self.header
        return made

    def save(self, folder: str | Path) -> list[Path]:
        """Write the files into a folder, which is made if it is not there."""
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: cannot be a folder to write to ({error.strerror}); name another.") from error
        paths = [Path(folder) / name for name in self.files()]
        for path, text in zip(paths, self.files().values(), strict=True):
            write_text(path, text)
        return paths


def generate(
    arm: Arm, function: str | Iterable[str], language: str = "c", parameters: Iterable[str] | str = (),
    formulation: str | None = None, name: str | None = None,
) -> Source:  # fmt: skip
    """Straight-line code for a function of an arm, or for several as one function that shares what they share.

    `parameters` stay symbols (a second function prepares what depends on them alone): "link6.mass", "link6.com.x",
    "link6.inertia.xx", "joint6.alpha", a whole "link6" or "joint6", "gravity.z", or "all". `formulation` traces a
    formulation of the documents as it is; without it, the fewest operations known here. `name` is that of the function.
    """
    target = language_of(language)
    program = program_for(arm, function, parameters, formulation, name, readable=target.name == "latex")
    text, header = target.write(program)
    return Source(text, header, program.counts, program.name, target.name)


def program_for(
    arm: Arm, function: str | Iterable[str], parameters: Iterable[str] | str = (), formulation: str | None = None,
    name: str | None = None, readable: bool = False,
) -> Program:  # fmt: skip
    """The program for a function of an arm, before any language; `readable` keeps to the plain plan and the arm's own units."""
    if not isinstance(arm, Arm):
        raise InputError(f"generate: an Arm is needed, such as fa.load('puma560'); came {shorten(arm)}.")
    names = _names(function, "function")
    chosen = [_function(given) for given in names]
    if not chosen or arm.n == 0:
        raise InputError(f"generate: {'a function is needed' if not chosen else f'{arm.name!r} has no joint that moves'}.")
    _check_formulation(names, chosen, formulation)
    symbols = chosen_parameters(arm, _names(parameters, "parameters"))
    tracing = Tracing(arm, symbols, formulation, PLAIN_PLAN if readable else None)
    results = {key: value for f in chosen for key, value in f.trace(tracing).items()}
    tracing.name_turns()
    sizes = {"n": arm.n, "N": len(arm.moving.bodies), "10N": 10 * len(arm.moving.bodies)}
    if "base_regressor" in names:
        sizes["b"] = len(tracing.base)
    inputs, outputs = arguments(chosen, sizes, slides=any(not b.revolute for b in tracing.model.bodies))
    tables = {outputs[key].name: table_of(value, outputs[key].shape) for key, value in results.items()}
    graph, tables = refined(tracing.graph, tables)
    title = identifier(name) if name is not None else _default_name(arm, names)
    about = _about(arm, chosen, formulation, graph.counts(tables), tracing, inputs)
    return program_of(graph, tables, title, about, inputs, tuple(outputs.values()), symbols)


def _names(given: object, what: str) -> list[str]:
    """One name or several, each once."""
    names = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [None]
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"generate: {what} is a name or a list of names; came {shorten(given)}.")
    return list(dict.fromkeys(names))


def language_of(name: str) -> Language:
    """A language by its name."""
    if not isinstance(name, str) or name not in LANGUAGES:
        raise NameNotFound(f"generate: there is no language {shorten(name)}; {suggest(str(name), LANGUAGES)}")
    language = importlib.import_module(f"forearm.codegen.languages.{name}").LANGUAGE
    assert isinstance(language, Language)
    return language


def identifier(name: str) -> str:
    """A name that every language takes for a function."""
    check_name(name, "function")
    plain = re.sub(r"\W+", "_", name.lower(), flags=re.ASCII).strip("_")
    return plain if plain[:1].isalpha() else f"arm_{plain}".strip("_")


def _default_name(arm: Arm, names: list[str]) -> str:
    """The arm and its functions; where that is longer than every language takes, the arm and how many there are."""
    full = f"{arm.name}_{'_'.join(names)}"
    return identifier(full if len(full) <= LONGEST_NAME else f"{arm.name[:30]}_{len(names)}_functions")


def _function(name: str) -> Function:
    if not isinstance(name, str) or name not in FUNCTIONS:
        raise NameNotFound(f"generate: there is no function {shorten(name)}; {suggest(str(name), FUNCTIONS)}")
    return FUNCTIONS[name]


def _check_formulation(names: list[str], chosen: list[Function], formulation: str | None) -> None:
    if formulation is None:
        return
    for name, function in zip(names, chosen, strict=True):
        if not function.formulations:
            raise InputError(
                f"generate: {name} is not one of the functions with formulations; leave formulation out, or generate "
                "inverse_dynamics, inertia_matrix or forward_dynamics."
            )


def _about(
    arm: Arm, chosen: list[Function], formulation: str | None, counts: Counts, tracing: Tracing, inputs: tuple[Argument, ...]
) -> tuple[str, ...]:  # fmt: skip
    what = "; ".join(f.title for f in chosen)
    lines = [f"{what} of {arm.name}, {arm.n} joints, from {', '.join(a.name for a in inputs)}.", ""]
    lines += [f"Parameters: {' '.join(arm.source.split()) or 'as in the file of the arm.'}"]
    g = ", ".join(f"{x:g}" for x in arm.gravity)
    lines += [f"Joints in order: {', '.join(j.name for j in arm.joints)}. Gravity ({g}) m/s^2 in the base frame."]
    friction = any(b.joint.friction is not None for b in arm.moving.bodies)
    if tracing.rotor.any() or friction:
        parts = [("rotors' inertia", tracing.rotor.any()), ("viscous and Coulomb friction", friction)]
        lines += [f"Torques are motor torque times gear ratio and include {' and '.join(p for p, there in parts if there)}."]
    if formulation is not None:
        lines += [f"By the formulation {formulation}, as it is."]
    elif tracing.regrouped:
        lines += ["Inertial parameters are regrouped: torques are the arm's, values inside are not the forces in its joints."]
        lines += [NAMES]
        if (length := tracing.unit) is not None:
            lines += [f"Inside, lengths are in units of {length:g} m and masses in units of {1.0 / length**2:g} kg."]
    words = {
        "mul": "multiplications",
        "add": "additions",
        "div": "divisions",
        "sqrt": "square roots",
        "trig": "sines and cosines",
    }
    spent = [f"{number} {words[kind]}" for kind, number in asdict(counts).items() if number or kind in ("mul", "add")]
    lines += [f"One evaluation: {', '.join(spent)}.", f"Generated by forearm {__version__}."]
    return tuple(lines)
