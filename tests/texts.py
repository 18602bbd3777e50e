"""Digests of all that is generated from the built-in arms, the same on every machine."""

from __future__ import annotations

import hashlib
import json
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import forearm as fa
from forearm.codegen.functions import FUNCTIONS
from forearm.codegen.generate import LANGUAGES, language_of, program_for, step_program
from forearm.codegen.program import Program
from forearm.control import controller_code
from forearm.control.laws import LAWS
from forearm.kernels.cache_key import told
from forearm.kernels.function_names import ELASTIC

RECORD = Path(__file__).parent / "data" / "texts.json"
CHAINS = ("chain1", "chain3", "chain7", "chain20")  # of chains without end some
GEARED = RECORD.parent / "geared.toml"  # a spline and straight lines, and Stribeck's friction
SPRINGS = RECORD.parent / "elastic.toml"  # the same with springs in two of three joints
FILES = {path.stem: path for path in (GEARED, SPRINGS)}
RIGID = tuple(name for name in FUNCTIONS if name not in ELASTIC)
LONG = {
    SPRINGS.stem: ELASTIC,
    "chain20": ("inverse_dynamics", "forward_dynamics", "inertia_matrix", "jacobian", "base_regressor"),
}
# Languages that follow the others statement by statement, of some arms.
FOLLOWING = ("rust", "cuda", "matlab", "st")
FOLLOWED = ("ascher2", "puma560", *FILES)
FORMULATIONS = ("newton-euler", "lagrange-hollerbach", "gibbs-appell")


def arms() -> list[str]:
    """Every built-in arm, some chains, and arms with gears and springs, as none of these has."""
    return [*fa.arms(), *CHAINS, *FILES]


def digests(name: str, latex: bool = True) -> dict[str, str]:
    """Digests of an arm's texts by "function language", of the arm itself, and of what else is written."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fa.ForearmWarning)
        return {key: _digest(text) for key, text in _texts(fa.load(FILES.get(name, name)), latex)}


def recorded() -> dict[str, dict[str, str]]:
    """The digests on record, by arm."""
    record: dict[str, dict[str, str]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


def _texts(arm: fa.Arm, latex: bool) -> Iterator[tuple[str, str]]:
    yield "arm", json.dumps(told(arm))
    left_out = {"latex", *(() if arm.name in FOLLOWED else FOLLOWING)}
    plain = [language for language in LANGUAGES if language not in left_out]
    for function in LONG.get(arm.name, RIGID):
        try:
            for readable, languages in ((False, plain), (True, ["latex"]))[: 1 + latex]:
                program = program_for(arm, function, readable=readable)
                for language in languages:
                    yield f"{function} {language}", _written(program, language)
        except fa.ForearmError as error:
            yield f"{function} refused", str(error)
    if arm.name in LONG:
        return
    program = step_program(arm)
    for language in plain:
        yield f"integration_step {language}", _written(program, language)
    for formulation in FORMULATIONS:
        yield (
            f"inverse_dynamics {formulation}",
            fa.generate(arm, "inverse_dynamics", formulation=formulation).text,
        )
    for law in LAWS:
        try:
            made = controller_code(arm, law)
            yield f"controller {law}", made.text + made.header
        except fa.ForearmError as error:
            yield f"controller {law} refused", str(error)
    opened = [arm.moving.bodies[-1].joint.child, "gravity"]
    yield (
        f"inverse_dynamics of {' and '.join(opened)}",
        fa.generate(arm, "inverse_dynamics", parameters=opened).text,
    )
    if arm.name in FOLLOWED:
        with tempfile.TemporaryDirectory() as folder:
            written = fa.fmu(
                arm, Path(folder) / "arm.fmu", platforms=[]
            )  # libraries depend on LLVM's version
            yield "fmu", written.path.read_bytes().decode("latin-1")


def _written(program: Program, language: str) -> str:
    target = language_of(language)
    return "".join([*target.write(program), *target.others(program).values()])


def _digest(text: str) -> str:
    return hashlib.sha256(text.replace(f"forearm {fa.__version__}", "forearm VERSION").encode()).hexdigest()[
        :16
    ]
