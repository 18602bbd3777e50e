"""Durations against those that Ruckig gave for the same requests (recorded by tools/record_ruckig.py)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from forearm.trajectories import MotionLimits, bang_bang

RECORDED = json.loads((Path(__file__).parent / "ruckig.json").read_text(encoding="utf-8"))
AGREEMENT = 1e-9  # s: Ruckig solves some of its profiles to about 1e-12


@pytest.mark.slow
def test_durations_are_those_of_ruckig() -> None:
    """Rest to rest and moving, one joint and several, with durations that are blocked for some joint."""
    blocked = 0
    for case in RECORDED["cases"]:
        limits = MotionLimits(case["acceleration"], case["velocity"])
        motion = bang_bang(case["q0"], case["qd0"], case["q1"], case["qd1"], limits)
        assert abs(motion.duration - case["duration"]) < AGREEMENT, case
        alone = [
            bang_bang([x0], [v0], [x1], [v1], MotionLimits(a, v)).duration
            for x0, v0, x1, v1, v, a in zip(*(case[k] for k in list(case)[:6]), strict=True)
        ]
        blocked += motion.duration > max(alone) + AGREEMENT
    assert blocked > 20
    assert len(RECORDED["cases"]) == 500
    assert np.mean([len(case["q0"]) for case in RECORDED["cases"]]) > 2
