"""The programs of docs/targets.md: the C compiles with the generated header, the JavaScript runs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from targets.in_node import NODE, needs_node

import forearm as fa
from forearm.targets.machines import TARGETS

PAGE = (Path(__file__).parents[2] / "docs" / "targets.md").read_text(encoding="utf-8")
GCC = shutil.which("gcc")
DOUBLE = 1e-12  # of the largest torque


def block(language: str) -> str:
    (text,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.M | re.S)
    return str(text)


@pytest.mark.slow
@pytest.mark.skipif(GCC is None, reason="gcc is not installed")
def test_the_firmware_compiles(tmp_path: Path) -> None:
    fa.generate(fa.load("panda"), "inverse_dynamics", target="cortex-m4").save(tmp_path)
    (tmp_path / "main.c").write_text(block("c"), encoding="ascii")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-int-to-pointer-cast", "-fsyntax-only"]
    subprocess.run([str(GCC), *flags, str(tmp_path / "main.c")], check=True)


@needs_node
@pytest.mark.slow
def test_the_module_runs(tmp_path: Path) -> None:
    arm = fa.load("panda")
    fa.generate(arm, "inverse_dynamics", target="wasm32").save(tmp_path / "web")
    text = block("js")
    ran = subprocess.run(
        [str(NODE), "-e", text], cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60
    )
    q = np.array(json.loads(re.findall(r"q\.set\((\[.*?\])\)", text)[0]))
    truth = fa.dynamics.inverse(arm, q, 0 * q, 0 * q)
    assert np.abs(np.array(json.loads(ran.stdout)) - truth).max() <= DOUBLE * np.abs(truth).max()


def test_every_target_has_a_row() -> None:
    assert re.findall(r"^\| `([\w-]+)` \|", PAGE, flags=re.M) == ["target", *TARGETS]
