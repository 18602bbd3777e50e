"""The figures of docs/elastic-joints.md are those that are computed today."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import forearm as fa

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "elastic-joints.md").read_text(encoding="utf-8")
LAST_DIGIT = 0.06  # of two digits, which may be rounded either way


@pytest.mark.long
def test_the_two_models_are_as_far_apart_as_the_page_says() -> None:
    rows = runpy.run_path(str(DOCS / "compare_elastic_models.py"))["rows"]()
    said = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.endswith(" % |")]
    assert [row[:2] for row in said] == [row[:2] for row in rows]
    for ours, theirs in zip(said, rows, strict=True):
        found, truth = ([float(cell.split()[0]) for cell in row[2:]] for row in (ours, theirs))
        assert found == pytest.approx(truth, rel=LAST_DIGIT)
    # what a third of the gear ratio does
    shares = np.array([[float(cell.split()[0]) for cell in row[2:4]] for row in rows])
    assert shares[1::2] / shares[::2] == pytest.approx(np.full((3, 2), 3.0), rel=0.1)


@pytest.mark.slow
def test_operations_and_frequencies() -> None:
    arm = fa.load("puma560").with_drives(elasticity=fa.Elasticity(stiffness=2e4))
    counts = fa.compile(arm).counts
    pairs = [
        (counts[f"{kind}{name}_dynamics"].mul, counts[f"{kind}{name}_dynamics"].add)
        for name in ("inverse", "forward")
        for kind in ("elastic_", "")
    ]
    (line,) = (line for line in PAGE.splitlines() if line.startswith("| operations"))
    said = list(map(int, re.findall(r"\b\d{3}\b", line.split("|")[2])))
    assert said == [number for pair in pairs for number in pair]
    assert f"{pairs[0][0]} multiplications, {pairs[0][1]} additions" in PAGE
    damped = arm.with_drives(elasticity={"damping": 10.0})
    found = fa.modes(damped, [0.0, 0.8, -1.6, 0.0, 0.5, 0.0]).locked.frequency_hz
    assert f"{found[0]:.1f} Hz, {found[1]:.1f} Hz" in PAGE
