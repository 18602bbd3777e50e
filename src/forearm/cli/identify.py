"""`forearm identify`: identify a model of an arm from measured logs."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forearm.cli.command import Command, add_arm, add_json, group, names_of, show_json, width
from forearm.cli.loading import load
from forearm.cli.motions import add_columns, columns_of
from forearm.cli.numbers import POSITIVE, Real, plain_float
from forearm.cli.outputs import add_plot, check_output, check_page, check_picture, tell_written
from forearm.cli.progress import ProgressBar
from forearm.cli.terminal import show
from forearm.cli.wording import at_the_prompt
from forearm.errors import InputError, shorten
from forearm.tables import filled

if TYPE_CHECKING:
    from forearm.arm.arm import Arm
    from forearm.checking import Finding
    from forearm.identification.result import Identification
    from forearm.identification.validation import Validation

SIDES = ("motor", "link")
WEIGHTINGS = ("joint", "ordinary", "robust")
DERIVATIVES = ("position", "logged")
EFFORTS = ("tau", "current", "voltage")
FRICTIONS = ("auto", "none", "viscous", "coulomb", "stribeck")
ARM_FILES = (".toml",)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    parser.add_argument(
        "logs",
        nargs="+",
        metavar="LOG",
        help="measured logs, .csv, .parquet, .npz or .json: t, q1.., and tau1.., current1.. or voltage1..",
    )
    parser.add_argument(
        "--torque-side",
        choices=SIDES,
        metavar="SIDE",
        help=(
            "required: where torques were measured: motor (motor torque times gear ratio, or from "
            "currents or voltages) or link (a sensor behind the gear)"
        ),
    )
    add_json(parser)
    model = group(parser, "the model")
    model.add_argument(
        "--friction", choices=FRICTIONS, default="auto", metavar="NAME", help=names_of(FRICTIONS, "auto")
    )
    model.add_argument("--load-friction", action="store_true", help="gears have losses proportional to load")
    model.add_argument("--offsets", action="store_true", help="torques have offsets")
    model.add_argument("--gains", action="store_true", help="measured efforts have an unknown scale factor")
    model.add_argument(
        "--payload",
        action="append",
        default=[],
        type=_payload,
        metavar="LOAD",
        help=(
            "in the hand: unknown, none, KG, or KG,X,Y,Z with its centre in the hand frame, m; once for all "
            "logs, or once for each"
        ),
    )
    model.add_argument("--total-mass", type=POSITIVE, metavar="KG", help="total moving mass, kg, above 0")
    model.add_argument(
        "--prior",
        type=POSITIVE,
        default=0.3,
        metavar="X",
        help="prior relative standard deviation of the arm's masses, above 0 (default: 0.3)",
    )
    signals = group(parser, "the logs")
    add_columns(signals)
    signals.add_argument(
        "--effort",
        choices=EFFORTS,
        metavar="NAME",
        help=f"what is fitted, where logs have several: {names_of(EFFORTS)}",
    )
    signals.add_argument(
        "--period", type=POSITIVE, metavar="S", help="time between rows, s, above 0, if a log has no times"
    )
    signals.add_argument(
        "--cutoff",
        type=POSITIVE,
        metavar="HZ",
        help="cut-off frequency of the position filter, Hz, above 0 (default: from the data)",
    )
    signals.add_argument(
        "--derivatives",
        choices=DERIVATIVES,
        metavar="NAME",
        help=f"source of velocities: {names_of(DERIVATIVES)} (default: logged, where all are there)",
    )
    signals.add_argument(
        "--shift",
        type=_shift,
        metavar="S",
        help="delay of efforts relative to positions, s, or auto: estimated per log (default: auto)",
    )
    signals.add_argument(
        "--weighting",
        choices=WEIGHTINGS,
        default="joint",
        metavar="NAME",
        help=f"weighting of rows: {names_of(WEIGHTINGS, 'joint')}",
    )
    signals.add_argument(
        "--no-check",
        action="store_true",
        help="continue even if efforts seem exchanged between joints or of the wrong sign",
    )
    signals.add_argument(
        "--validate", metavar="LOG", help="also validate the result on a log that is not fitted"
    )
    signals.add_argument(
        "--confidence",
        type=Real(above=0.0, below=1.0),
        default=0.95,
        metavar="P",
        help="confidence level of the intervals, above 0 and below 1 (default: 0.95)",
    )
    files = group(parser, "files")
    files.add_argument("-o", "--output", metavar="FILE", help="write the new arm, with deviations: .toml")
    files.add_argument("--html", metavar="FILE", help="write a page about it for a browser: .html")
    add_plot(files, "measured and predicted efforts")


def _shift(text: str) -> float | None:
    if text == "auto":
        return None
    value = plain_float(text)
    if value is None:
        raise argparse.ArgumentTypeError(f"expected a number of seconds or auto, got {shorten(text)}")
    return value


def _payload(text: str) -> Any:
    """None, "unknown", or mass and centre of a load."""
    if text in ("none", "unknown"):
        return None if text == "none" else text
    numbers = [plain_float(word) for word in text.split(",")]
    if len(numbers) not in (1, 4) or any(x is None for x in numbers) or not numbers[0] >= 0.0:  # type: ignore[operator]
        raise argparse.ArgumentTypeError(
            f"expected unknown, none, KG or KG,X,Y,Z with at least 0 kg, got {shorten(text)}"
        )
    return {"mass": numbers[0], "com": numbers[1:] or [0.0, 0.0, 0.0]}


def _run(given: argparse.Namespace) -> int:
    from forearm.checking import check

    check_output("--output", given.output, ARM_FILES, "an arm file ends")
    check_page("--html", given.html)
    check_picture("--plot", given.plot)
    if given.validate is not None and given.validate != "-" and not Path(given.validate).exists():
        raise InputError("no such file. Check the path.", f"--validate {given.validate}")  # before the fit
    arm = load(given.arm, hand=given.hand)
    found, validation = _identified(given, arm)
    with ProgressBar(f"checking {arm.name}"):
        findings = check(found.arm)
    for path, write in ((given.output, found.save), (given.html, found.to_html), (given.plot, found.plot)):
        if path:
            write(path)
    if given.json:
        show_json(_document(given, found, validation, findings))
        return 0
    show(_worded(found).report())
    if validation is not None:
        print()
        show(validation.report())
    print()
    _tell_findings(findings)
    _tell_next(given)
    tell_written([given.output, given.html, given.plot])
    return 0


def _identified(given: argparse.Namespace, arm: Arm) -> tuple[Identification, Validation | None]:
    from forearm import identify

    read = {
        "columns": columns_of(given),
        "units": given.units or "",
        "period": given.period,
        "cutoff": given.cutoff,
        "derivatives": given.derivatives,
        "shift": given.shift,
        "effort": given.effort,
    }
    with ProgressBar(f"identifying {arm.name}") as bar:
        found = identify(
            arm,
            given.logs,
            torque_side=given.torque_side,
            friction=given.friction,
            load=given.load_friction,
            offsets=given.offsets,
            gains=given.gains,
            payload=_payloads(given),
            weighting=given.weighting,
            total_mass=given.total_mass,
            prior=given.prior,
            confidence=given.confidence,
            check=not given.no_check,
            progress=bar,
            **read,
        )
    if given.validate is None:
        return found, None
    with ProgressBar(f"validating on {given.validate}"):
        return found, found.validate(given.validate, **read)


def _payloads(given: argparse.Namespace) -> Any:
    """One load for all logs, or one for each."""
    loads = given.payload
    if len(loads) <= 1:
        return loads[0] if loads else None
    if len(loads) != len(given.logs):
        raise InputError(
            f"expected one for all logs, or one for each of {len(given.logs)}, got "
            f"{len(loads)}; none stands for an empty hand.",
            "--payload",
        )
    return loads


def _worded(found: Identification) -> Identification:
    """The same with Python's argument names replaced by options."""
    tests = tuple(replace(test, message=at_the_prompt(test.message)) for test in found.tests)
    logs = tuple(
        replace(log, signals=replace(log.signals, findings=tuple(map(at_the_prompt, log.signals.findings))))
        for log in found.logs
    )
    return replace(found, tests=tests, logs=logs, findings=tuple(map(at_the_prompt, found.findings)))


def _document(
    given: argparse.Namespace,
    found: Identification,
    validation: Validation | None,
    findings: tuple[Finding, ...],
) -> dict[str, Any]:
    return found.to_json() | {
        "validation": None if validation is None else validation.to_json(),
        "check": [{"level": f.level, "code": f.code, "place": f.place, "text": f.text} for f in findings],
        "output": given.output,
        "html": given.html,
        "plot": given.plot,
    }


def _tell_findings(findings: tuple[Finding, ...]) -> None:
    """What `forearm check` says of the new arm."""
    warned = [f for f in findings if f.level == "warning"]
    print(f"forearm check of the result: {len(warned) or 'no'} warning{'s' * (len(warned) != 1)}")
    for finding in warned:
        print(filled(f"warning [{finding.code}] {finding.text}", width(), "    "))


def _tell_next(given: argparse.Namespace) -> None:
    """What the new arm is for."""
    new = given.output
    if new is None:
        print(filled("The new arm was not saved: write it with -o new.toml.", width()))
        return
    print(f"next: forearm simulate {new} --duration 1")
    print(f"      forearm control run {new} MOTION --controller 'computed torque'")


COMMAND = Command(
    "forearm identify panda log.csv --torque-side link -o new.toml --html new.html\n"
    "forearm identify puma560 log.csv --torque-side motor --offsets --shift 0.002 --json",
    _add_arguments,
    _run,
)
