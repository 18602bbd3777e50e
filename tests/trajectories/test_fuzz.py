"""A sample of the fuzzer's requests; `python tools/fuzz_trajectories.py` takes ten million."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from fuzz_report import Report
from fuzz_trajectories import Request, check, fuzz, make, wrongly_refused

from forearm.trajectories import MotionLimits, PlanStatus, bang_bang_many

SEED = 20  # any
BLOCKS = 8
COUNT = 4000


@pytest.mark.slow
def test_no_request_misses_its_target_or_passes_a_limit() -> None:
    report = sum((fuzz(SEED, block, COUNT) for block in range(BLOCKS)), Report(SEED))
    assert not report.failures, str(report)
    assert report.count == BLOCKS * COUNT
    assert min(report.planned, report.refused) > 3000
    assert report.worst < 1e-14


def test_the_fuzzer_finds_what_is_wrong() -> None:
    """Each of its checks against plans that were spoilt."""
    request = make(SEED, 2, COUNT)
    plans = bang_bang_many(request.q0, request.qd0, request.q1, request.qd1, request.limits)
    assert check(request, plans)[0] == {}
    longer = plans.phases.copy()
    longer[..., 1] *= 1.0 + 1e-9
    assert {"target missed", "not together"} <= set(check(request, replace(plans, phases=longer))[0])
    other = request.limits
    slower = MotionLimits(other.acceleration, 0.9 * other.velocity, other.lower, other.upper)
    assert "too fast" in check(replace(request, limits=slower), plans)[0]
    narrow = MotionLimits(
        other.acceleration, other.velocity, other.lower, other.lower + 0.5 * (other.upper - other.lower)
    )
    assert "out of range" in check(replace(request, limits=narrow), plans)[0]
    stronger = MotionLimits(1.01 * other.acceleration, other.velocity, other.lower, other.upper)
    assert {"target missed", "velocity missed"} <= set(check(request, replace(plans, limits=stronger))[0])
    backwards = plans.phases.copy()
    backwards[..., 0] -= 1e-3 * plans.duration[:, None]
    assert "negative phase" in check(request, replace(plans, phases=backwards))[0]
    assert wrongly_refused(request, replace(plans, status=np.full(COUNT, PlanStatus.NO_ROOM, np.int8))).size


@pytest.mark.parametrize(("a", "v"), [(1e-30, 1.0), (1e-9, 1e30), (1.0, 1.0), (1e30, 1e-30)])
def test_numbers_at_the_ends_of_what_is_allowed(a: float, v: float) -> None:
    limits = MotionLimits([a], [v])
    places = (0.0, -0.0, 1e-300, 1e-30, 1.0, np.nextafter(1.0, 2.0), -1e15, 1e30, -1e30)
    speeds = (0.0, v, -v, v / 3.0, -v * 1e-20, 5e-324)
    q0, qd0, q1, qd1 = (
        column[:, None] for column in np.array(list(product(places, speeds, places, speeds))).T
    )
    plans = bang_bang_many(q0, qd0, q1, qd1, limits)
    assert not plans.status.any()
    assert check(Request(q0, qd0, q1, qd1, limits), plans)[0] == {}
