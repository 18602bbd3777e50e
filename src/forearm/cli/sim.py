"""`forearm sim`: Swartz's interpreter at a terminal, from a script or a pipe."""

from __future__ import annotations

import argparse
import io
import sys
from dataclasses import replace
from pathlib import Path

from forearm.cli.command import ARM_HELP, Command, complain, show_json, width
from forearm.cli.loading import load
from forearm.cli.loop_options import DAC_OPTIONS, read_dac
from forearm.cli.options import HAND, JSON, Option
from forearm.interpreter.interpreter import Interpreter
from forearm.interpreter.lines import LineSource, TextLines
from forearm.interpreter.session import Session, welcome
from forearm.interpreter.terminal import Terminal
from forearm.logs.stream import STANDARD
from forearm.reading.textfile import read_bytes

USUAL = "cmu-dd"
MAX_SCRIPT_BYTES = 10_000_000


def _run(given: argparse.Namespace) -> int:
    arm = load(given.arm, hand=given.hand)
    dac = read_dac(given, arm)
    lines = _lines(given.script, with_prompts=not given.json)
    out = io.StringIO() if given.json else sys.stdout
    interpreter = Interpreter(arm, lines, out, complain, dac, None if given.json else width())
    said = welcome(arm, interpreter.session.variables.gravity)
    if lines.is_terminal:
        print(f"{said}\n'help' lists commands and variables, 'quit' ends.")
    else:
        complain(said.replace("\nnote: ", "; "), kind="note")  # standard output has results alone
    code = interpreter.run()
    if code == 0 and isinstance(out, io.StringIO):
        show_json(_document(interpreter.session, out.getvalue()))
    return code


def _lines(script: str | None, with_prompts: bool) -> LineSource:
    """A script, the terminal, or a pipe."""
    if script in (None, STANDARD):
        return Terminal() if sys.stdin.isatty() and with_prompts else TextLines(sys.stdin)
    data = read_bytes(Path(script), MAX_SCRIPT_BYTES)
    return TextLines(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig"))


def _document(session: Session, printed: str) -> dict[str, object]:
    v, run = session.variables, session.simulation
    known = v.voltage is not None
    return {
        "name": v.arm.name,
        "gravity": v.gravity,
        "DACTimePeriod": v.dac.period,
        "q": v.theta,
        "qd": v.omega,
        "qdd": v.alpha,
        "tau": v.torque,
        "voltage": v.voltage,
        "DACOut": v.get("DACOut") if known else None,
        "simulation": None if run is None else {"t": run.t[-1], "rows": len(run.t), "message": run.message},
        "printed": printed.splitlines(),
    }


COMMAND = Command(
    "forearm sim\nforearm sim puma560 --script session.txt\necho 'inverse_arm' | forearm sim",
    (
        Option(
            "arm",
            f"the arm loaded at the start, {ARM_HELP} (default: {USUAL})",
            "ARM",
            default=USUAL,
            count="?",
            keyword="load",
        ),
        HAND,
        Option("--script", "read commands from this file; - is standard input (default: -)", "FILE"),
        replace(JSON, help=f"{JSON.help}: the variables at the end, and what was printed"),
        DAC_OPTIONS,
    ),
    _run,
)
