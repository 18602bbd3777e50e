"""`forearm calibrate` as a user meets it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli.lines import Capture, called, document

import forearm as fa

WORDS = ("calibrate", "ascher2", "points.csv", "--unknowns", "offsets", "--hand-point", "0,0,0")


@pytest.mark.slow
def test_the_new_arm_is_shown_told_and_written(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arm, rng = fa.load("ascher2"), np.random.default_rng(1)
    q = rng.uniform(-2.0, 2.0, (12, 2))
    at = fa.kinematics.forward(arm, q + [0.01, -0.02])[:, :3, 3]
    rows = np.column_stack([q, at]).tolist()
    text = "q1,q2,x,y,z\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows)
    (tmp_path / "points.csv").write_text(text, encoding="utf-8")
    code, out, err = called(capsys, *WORDS, "--base-known", "--suggest", "2", "-o", "new.toml")
    assert (code, err) == (0, "")
    assert "Configurations to measure next" in out
    assert "wrote new.toml" in out
    new = fa.load("new.toml")
    assert np.abs(fa.kinematics.forward(new, q)[:, :3, 3] - at).max() < 1e-9
    found = document(capsys, *WORDS, "--base-known", "--suggest", "2")
    changes = [p["value"] - p["file"] for p in found["parameters"]]
    assert changes == pytest.approx([0.01, -0.02], abs=1e-9)
    assert np.shape(found["postures"]) == (2, 2)
