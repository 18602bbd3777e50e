"""Durations along paths against those of toppra (recorded by tools/record_toppra.py), on its problem class:
rigid arms within limits of velocity, torque and acceleration.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import forearm as fa

RECORDED = json.loads((Path(__file__).parent / "toppra.json").read_text(encoding="utf-8"))
AGREEMENT = 1e-3  # of the duration
FROM_LIMIT = 2e-3  # of the duration: of 1,000 intervals, and of 0.9996 of every limit
SPARED = 4e-4  # of every limit: what is not used of it; no plan is shorter for that


@pytest.mark.slow
def test_durations_are_those_of_toppra() -> None:
    """With 1,000 intervals each, by its interpolation scheme; and near its duration on a grid eight times as
    fine.
    """
    apart = []
    for case in RECORDED["cases"]:
        arm = fa.load(case["arm"])
        plan = fa.time_optimal(
            arm, case["points"], acceleration=case["acceleration"], points=RECORDED["intervals"]
        )
        apart.append((plan.duration / case["duration"] - 1.0, plan.duration / case["limit"] - 1.0))
    same_grid, limit = np.array(apart).T
    assert np.abs(same_grid).max() < AGREEMENT
    assert (limit > 0.0).all(), "shorter than what toppra tends to"
    assert (limit < FROM_LIMIT).all()
    assert len(apart) == 8
    assert any(case["acceleration"] for case in RECORDED["cases"])
