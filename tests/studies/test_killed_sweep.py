"""`forearm sweep` itself, killed at random moments until its study is complete: the rows of a quiet run."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import forearm as fa

STUDY = """
arm = "ascher2"
figures = ["peak_speed", "work"]
design = { rows = ROWS, rows_per_part = 10 }
run = { torque = [5, 5], duration = 0.5 }
vary."payload.mass".uniform = [0, 2]
vary."start.joint2".normal = { mean = 0.3, std = 0.1 }
"""
PATIENCE = 120.0  # s
SEED = 4  # of which the first run is on threads, and is killed after its first part


def killed(folder: Path, least: int, seed: int) -> int:
    """Runs of the command that are killed, until one ends by itself; how many were killed."""
    chance, kills = random.Random(seed), 0
    words = [
        sys.executable,
        "-m",
        "forearm",
        "sweep",
        "study.toml",
        "-o",
        "out",
        "--workers",
        "1",
        "--engine",
    ]
    while kills < least:
        engine = chance.choice(["threads", "processes"])
        process = subprocess.Popen([*words, engine], cwd=folder, stdout=subprocess.DEVNULL)
        wanted = len(list(folder.glob("out/parts/part-*"))) + chance.randrange(3)
        deadline = time.monotonic() + PATIENCE
        while (
            process.poll() is None
            and len(list(folder.glob("out/parts/part-*"))) < wanted
            and time.monotonic() < deadline
        ):
            time.sleep(0.005)
        time.sleep(chance.uniform(0.0, 0.05))
        process.kill()
        code = process.wait(PATIENCE)
        assert code in (0, -signal.SIGKILL)
        if code == 0:
            break
        kills += 1
    return kills


@pytest.mark.parametrize(
    ("least", "rows"),
    [pytest.param(1, 400, marks=pytest.mark.slow), pytest.param(60, 3000, marks=pytest.mark.long)],
)
def test_rows_are_those_of_a_quiet_run(least: int, rows: int, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY.replace("ROWS", str(rows)), encoding="utf-8")
    assert killed(tmp_path, least, SEED) == least
    found, truth = (fa.sweep(tmp_path / "study.toml", folder=out) for out in (tmp_path / "out", None))
    assert np.array_equal(found["row"], np.arange(rows))
    for name, column in truth.table().items():
        assert np.array_equal(found[name], column), name
