"""`forearm control` on arms with elastic joints: their controllers, and sensors on either side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli.lines import Capture, document, refused
from control.elastic_arms import elastic_chain, snap_motion

from forearm import control
from forearm.simulation import load_simulation

POSTURE = np.array([0.3, -0.5, 0.7])


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    elastic_chain(1.0).save(tmp_path / "arm.toml")
    snap_motion(POSTURE, POSTURE + 0.4, 0.4).save(tmp_path / "motion.json")
    return tmp_path / "arm.toml", tmp_path / "motion.json"


@pytest.mark.slow
def test_a_comparison_of_what_knows_of_springs(files: tuple[Path, Path], capsys: Capture) -> None:
    names = ("--only", "elastic feed-forward", "--only", "state feedback", "--only", "feed-forward")
    quick = ("--period", 0.004, "--duration", 0.6, "--bandwidth", 12.5, "--payload", 0)
    found = document(capsys, "control", "compare", files[0], *quick, *names)
    lead, state, rigid = (row["rms"] for row in found["controllers"])
    assert max(lead, state) < 0.05 * rigid
    there = document(capsys, "control", "compare", files[0], *quick, *names[:2], "--to", "0.4,0.3,-0.2")
    assert there["controllers"][0]["rms"] < 1e-3, "a posture is gone to with a continuous snap"
    said = refused(capsys, "control", "compare", files[0], *quick, *names[2:4], "--sensor-side", "motor")
    assert "state feedback: expected sensors on links and motors" in said


@pytest.mark.slow
def test_a_run_with_encoders_on_motors(files: tuple[Path, Path], capsys: Capture, tmp_path: Path) -> None:
    how = ("--controller", "elastic_feed_forward", "--period", 0.004, "--bandwidth", 12, "--encoder-bits", 8)
    for side in ("motor", "both"):
        document(capsys, "control", "run", *files, *how, "--sensor-side", side, "--to", tmp_path / "run.npz")
        made = load_simulation(tmp_path / "run.npz")
        assert isinstance(made, control.Run)
        assert made.measured_motor is not None
        step = 2.0 * np.pi / 256 / 90.0
        shares = made.measured_motor[0][:, 0] / step
        assert np.allclose(shares, np.round(shares), atol=1e-6)
        assert np.array_equal(made.measured[0], made.measured_motor[0]) == (side == "motor")
    assert "sensors on the motors" in refused(capsys, "control", "run", *files, *how, "--sensor-side", "link")
    assert "--sensor-side" in refused(capsys, "control", "run", *files, *how, "--sensor-side", "base")
