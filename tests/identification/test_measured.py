"""Simulated measurements in files are read as they were written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from identification.measured import as_columns, excited_motion, measured, write_log
from identification.true_arms import ur10_true

from forearm.identification.measured_log import measured_log
from forearm.identification.requests import LogFormat


@pytest.mark.slow
def test_files_read_back(tmp_path: Path) -> None:
    arm = ur10_true()
    log = measured(arm, excited_motion(arm, 1.0, 6), rate=100.0, q_noise=1e-4, effort_noise=0.1)
    for spelling, ending in (("ours", "csv"), ("ros", "parquet"), ("brackets", "csv")):
        assert len(as_columns(arm, log, spelling)) == 13
        back = measured_log(
            arm, write_log(tmp_path / f"{spelling}.{ending}", arm, log, spelling), LogFormat()
        )
        np.testing.assert_array_equal(back.q, log["q"])
        np.testing.assert_array_equal(back.tau, log["tau"])
