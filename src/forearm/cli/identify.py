"""`forearm identify`: identify a model of an arm from measured logs."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forearm.cli.command import Command
from forearm.cli.loading import load
from forearm.cli.motions import columns_of
from forearm.cli.numbers import plain_float
from forearm.cli.options import ARM, HTML, JSON, Group, Option, derived, fields_given, finish, output, plot
from forearm.cli.progress import ProgressBar
from forearm.cli.wording import speller
from forearm.errors import InputError, shorten, spelled
from forearm.identification.requests import TORQUE_SIDES, CheckedField, FitModel, FitStatistics, LogReading
from forearm.reading.fields import ChoiceField, FlagField, NumberField
from forearm.tables import Report

if TYPE_CHECKING:
    from forearm.identification.result import Identification

POSITIVE = NumberField(above=0.0)


def _shift(value: str, place: str) -> float | None:
    if value == "auto":
        return None
    seconds = plain_float(value)
    if seconds is None:
        raise InputError(f"expected a number of seconds or auto, got {shorten(value)}", place)
    return seconds


def _payload(text: str) -> Any:
    """None, "unknown", or mass and centre of a load."""
    if text in ("none", "unknown"):
        return None if text == "none" else text
    numbers = [plain_float(word) for word in text.split(",")]
    if len(numbers) not in (1, 4) or any(x is None for x in numbers) or not numbers[0] >= 0.0:  # type: ignore[operator]
        raise InputError(
            f"expected unknown, none, KG or KG,X,Y,Z with at least 0 kg, got {shorten(text)}.", "--payload"
        )
    return {"mass": numbers[0], "com": numbers[1:] or [0.0, 0.0, 0.0]}


def _run(given: argparse.Namespace) -> int:
    from forearm import identify
    from forearm.checking import check

    if given.validate is not None and given.validate != "-" and not Path(given.validate).exists():
        raise InputError("no such file. Check the path.", f"--validate {given.validate}")  # before the fit
    loads = [_payload(text) for text in given.payload]
    if len(loads) > 1 and len(loads) != len(given.logs):
        raise InputError(
            f"expected one for all logs, or one for each of {len(given.logs)}, got "
            f"{len(loads)}; none stands for an empty hand.",
            "--payload",
        )
    arm = load(given.arm, hand=given.hand)
    read = fields_given(given, LogReading) | {"columns": columns_of(given), "shift": given.shift}
    fitted = fields_given(given, FitModel, FitStatistics) | {
        "payload": loads if len(loads) > 1 else loads[0] if loads else None,
        "check": not given.no_check,
    }
    with ProgressBar(f"identifying {arm.name}") as bar:
        found = identify(arm, given.logs, torque_side=given.torque_side, progress=bar, **fitted, **read)
    validation = None
    if given.validate is not None:
        with ProgressBar(f"validating on {given.validate}"):
            validation = found.validate(given.validate, **read)
    with ProgressBar(f"checking {arm.name}"):
        findings = check(found.arm)
    warned = [f"warning [{f.code}] {f.text}" for f in findings if f.level == "warning"]
    tail = [f"forearm check of the result: {len(warned) or 'no'} warning{'s' * (len(warned) != 1)}", *warned]
    if given.output is None:
        tail.append("The new arm was not saved: write it with -o new.toml.")
    else:
        tail.append(f"next: forearm simulate {given.output} --duration 1")
        tail.append(f"      forearm control run {given.output} MOTION --controller 'computed torque'")
    parts = [_spelled(found, speller(given.options)).report()]
    parts += [validation.report()] if validation else []
    document = found.to_json() | {
        "validation": None if validation is None else validation.to_json(),
        "check": [{"level": f.level, "code": f.code, "place": f.place, "text": f.text} for f in findings],
    }
    files: dict[str, Callable[[str], Any]] = {"output": found.save, "html": found.to_html, "plot": found.plot}
    return finish(given, Report(parts=[*parts, Report(before=tail, under="    ")]), document, files)


def _spelled(found: Identification, spell: Callable[[Any], str]) -> Identification:
    """The same with options where its sentences name keywords."""
    tests = tuple(replace(test, message=spelled(test.message, spell)) for test in found.tests)
    logs = []
    for log in found.logs:
        findings = tuple(spelled(text, spell) for text in log.signals.findings)
        logs.append(replace(log, signals=replace(log.signals, findings=findings)))
    return replace(found, tests=tests, logs=tuple(logs))


COMMAND = Command(
    "forearm identify panda log.csv --torque-side link -o new.toml --html new.html\n"
    "forearm identify puma560 log.csv --torque-side motor --offsets --shift 0.002 --json",
    (
        *ARM,
        Option(
            "logs",
            "measured logs, .csv, .parquet, .npz or .json: t, q1.., and tau1.., current1.. or voltage1..",
            "LOG",
            count="+",
        ),
        Option(
            "--torque-side",
            "required: where torques were measured: motor (motor torque times gear ratio, or from "
            "currents or voltages) or link (a sensor behind the gear)",
            "SIDE",
            reads=ChoiceField(TORQUE_SIDES),
        ),
        JSON,
        Group(
            "the model",
            derived(
                FitModel,
                load={"name": "--load-friction"},
                payload={
                    "reads": None,
                    "metavar": "LOAD",
                    "default": [],
                    "count": "append",
                    "help": "in the hand: unknown, none, KG, or KG,X,Y,Z with its centre in the hand frame, "
                    "m; once for all logs, or once for each",
                },
                total_mass={"metavar": "KG", "reads": POSITIVE, "help": "total moving mass, kg, above 0"},
                prior={
                    "metavar": "X",
                    "reads": POSITIVE,
                    "help": "relative standard deviation of the arm's masses, above 0 (default: 0.3)",
                },
            ),
        ),
        Group(
            "the logs",
            (
                Option(
                    "--columns",
                    "map column names, such as angle=q,load=tau (position, effort... are recognised)",
                    "THEIRS=OURS,...",
                ),
                *derived(
                    LogReading,
                    "units",
                    "period",
                    "cutoff",
                    "derivatives",
                    "effort",
                    units={"reads": None, "metavar": "NAME,...", "default": None},
                    cutoff={"metavar": "HZ"},
                ),
                Option(
                    "--shift",
                    "delay of efforts relative to positions, s, or auto: estimated per log (default: auto)",
                    "S",
                    reads=CheckedField("", _shift),
                ),
                *derived(FitStatistics, "weighting", "confidence", confidence={"metavar": "P"}),
                Option(
                    "--no-check",
                    "continue even if efforts seem exchanged between joints or of the wrong sign",
                    reads=FlagField(),
                    keyword="check",
                ),
                Option("--validate", "also validate the result on a log that is not fitted", "LOG"),
            ),
        ),
        Group(
            "files",
            (
                output("write the new arm, with deviations: .toml", ".toml"),
                HTML,
                plot("measured and predicted efforts"),
            ),
        ),
    ),
    _run,
)
