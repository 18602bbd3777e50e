"""Every command and action with a line that works and is quick, its parser, and how tests run it."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from functools import cache
from math import cos, sin
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from forearm import compile, load
from forearm.cli.command import Parser
from forearm.cli.main import COMMANDS, _command, main

Capture = pytest.CaptureFixture[str]

# Words that work, by command and action. Files named here are made by `make_files`.
LINES: dict[str, tuple[str, ...]] = {
    "arms": (),
    "info": ("ascher2",),
    "check": ("ascher2",),
    "convert": ("ascher2", "out.toml"),
    "parts": ("cmu-dd",),
    "kinematics": ("ascher2",),
    "plan": ("ascher2", "--to", "0.5,0.2", "--acceleration", "9"),
    "excite": ("ascher2", "--duration", "1", "--harmonics", "2", "--starts", "1"),
    "inverse": ("ascher2",),
    "forward": ("ascher2",),
    "modes": ("puma560", "--stiffness", "20000"),
    "simulate": ("ascher2", "--duration", "0.01"),
    "sweep": ("study.toml", "-o", "rows"),
    "optimise": ("study.toml", "--minimise", "peak_speed.joint1", "--evaluations", "60"),
    "calibrate": ("ascher2", "points.csv", "--unknowns", "offsets", "--hand-point", "0,0,0"),
    "control compare": ("ascher2", "--duration", "0.05", "--only", "PD"),
    "control savings": ("ascher2",),
    "control period": ("ascher2", "--stiffness", "100"),
    "control payload": ("ascher2", "tests.csv", "--shape", "point"),
    "control log": ("ascher2", "log.csv"),
    "identify": ("ascher2", "swing.csv", "--torque-side", "motor"),
    "studio": ("ascher2", "-o", "arm.html"),
    "sim": ("ascher2", "--script", "script.txt"),
    "count": ("ascher2", "--formulation", "newton-euler"),
    "generate": ("ascher2",),
    "fmu": ("ascher2", "-o", "out.fmu", "--platform", "x86_64-linux"),
    "schedule": ("ascher2", "--processors", "2"),
    "precision": ("ascher2",),
    "reproduce": ("silver",),
    "bench": ("--only", "code"),
    "cache": (),
    "completion": ("bash",),
    "demo": ("-o", "told"),
}
STUDY = """
arm = "ascher2"
figures = ["peak_speed"]
design.rows = 3
run = { torque = [1.0, 0.5], duration = 0.01 }
vary."payload.mass".uniform = [0, 1]
"""
SLOW = ("bench", "demo")  # more than seconds; they are run by tests of their own
SAMPLE = tuple(name for name in LINES if name not in SLOW)


def parser_of(name: str) -> argparse.ArgumentParser:
    """The parser of a command, or of one of its actions."""
    command, _, action = name.partition(" ")
    parser: argparse.ArgumentParser = Parser(prog=f"forearm {command}")
    _command(command).add_arguments(parser)
    if action:
        actions = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
        parser = actions.choices[action]
    return parser


def options_of(name: str) -> list[argparse.Action]:
    return [action for action in parser_of(name)._actions if action.option_strings]


def make_files(folder: Path) -> None:
    rows = [(0.01 * i, 0.3 + 0.02 * i, 0.4 - 0.01 * i, 1.0 + 0.1 * i, 2.0) for i in range(40)]
    (folder / "log.csv").write_text(
        "t,q1,q2,tau1,tau2\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows), encoding="utf-8"
    )
    tests = "".join(f"{0.1 * i},{0.2 * i},{1 + i},2,{0.1 * i},{0.3 + 0.1 * i}\n" for i in range(12))
    (folder / "tests.csv").write_text(f"q1,q2,tau1,tau2,qdd1,qdd2\n{tests}", encoding="utf-8")
    points = "".join(
        f"{a},{b},{0.3 * cos(a) + 0.2 * cos(a + b)},{0.3 * sin(a) + 0.2 * sin(a + b)},0.001\n"
        for a, b in ((0.2 * i, 0.4 + 0.3 * i) for i in range(12))
    )
    (folder / "points.csv").write_text(f"q1,q2,x,y,z\n{points}", encoding="utf-8")
    (folder / "script.txt").write_text("gravity\n", encoding="utf-8")
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    (folder / "swing.csv").write_text(swing("ascher2"), encoding="utf-8")


@cache
def swing(name: str) -> str:
    """A log of an arm whose joints all swing, with a little noise, as CSV."""
    arm = load(name)
    rng = np.random.default_rng(1)
    t = 0.02 * np.arange(240.0)
    w, phase, size = rng.uniform(1.0, 6.0, (3, arm.n)), rng.uniform(0.0, 6.0, (3, arm.n)), 0.3
    angle = w * t[:, None, None] + phase
    q, qd = size * np.sin(angle).sum(axis=1), size * (w * np.cos(angle)).sum(axis=1)
    tau = compile(arm).inverse_dynamics(q, qd, -size * (w * w * np.sin(angle)).sum(axis=1))
    tau = tau + 0.01 * np.abs(tau).max(axis=0) * rng.standard_normal(tau.shape)
    header = ["t", *(f"{x}{k + 1}" for x in ("q", "tau") for k in range(arm.n))]
    rows = np.column_stack([t, q, tau]).tolist()
    return "\n".join([",".join(header), *(",".join(f"{v:.9g}" for v in row) for row in rows)]) + "\n"


def called(capsys: Capture, *words: object) -> tuple[int, str, str]:
    """Exit code, standard output and error, however the command ends."""
    try:
        code = main([str(word) for word in words])
    except SystemExit as stop:
        code = int(str(stop.code))
    out, err = capsys.readouterr()
    return code, out, err


def document(capsys: Capture, *words: object) -> Any:
    """What a command gives with --json."""
    code, out, err = called(capsys, *words, "--json")
    assert code == 0, err
    return strict_json(out)


def refused(capsys: Capture, *words: object) -> str:
    """The one paragraph that a command answers with, as one line."""
    code, out, err = called(capsys, *words)
    assert (code, out) == (2, ""), (words, code, out)
    assert "Traceback" not in err
    paragraphs = re.split(r"^forearm: ", err, flags=re.M)[1:] or [err]
    assert len(paragraphs) == 1, err
    text = " ".join(paragraphs[0].split())
    assert text.endswith((".", "?", "'", ")")), text
    return text


def strict_json(text: str) -> Any:
    """The document, read by the letter: NaN and Infinity are none of JSON's."""

    def refuse(word: str) -> NoReturn:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def process(*words: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """The command as a process of its own; stdin is empty unless given."""
    changed = options.pop("env", {})
    defaults: dict[str, Any] = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
    }
    return subprocess.run(
        [sys.executable, "-m", "forearm.cli.main", *words],
        check=False,
        env={k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"} | changed,
        **(defaults | options),
    )


assert {name.split()[0] for name in LINES} == set(COMMANDS)
