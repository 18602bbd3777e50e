"""A sample of requests with limits of jerk; `python tools/fuzz_trajectories.py --jerk` takes ten million."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fuzz_jerk import JerkRequest, call, check, fuzz, make, shortened, wrongly_refused
from fuzz_report import Report

from forearm.trajectories import MotionLimits, PlanStatus, jerk_limited, jerk_limited_many

SEED = 30  # any
BLOCKS = 8
COUNT = 1000


@pytest.mark.slow
def test_no_request_misses_its_target_passes_a_limit_or_takes_too_long() -> None:
    report = sum((fuzz(SEED, block, COUNT) for block in range(BLOCKS)), Report(SEED))
    assert not report.failures, str(report)
    assert report.count == 2 * BLOCKS * COUNT
    assert min(report.planned, report.refused) > 800
    assert report.worst < 1e-12


def test_the_fuzzer_finds_what_is_wrong() -> None:
    """Each of its checks against plans that were spoilt."""
    request = make(SEED, 3, COUNT)
    plans = jerk_limited_many(*request.states, request.limits)
    assert check(request, plans)[0] == {}
    longer = plans.phases.copy()
    longer[..., 7] *= 1.0 + 1e-6
    assert {"target missed", "not together"} <= set(check(request, replace(plans, phases=longer))[0])
    harder = replace(plans, jerks=1.0001 * plans.jerks)
    assert {"target missed", "velocity missed", "acceleration missed", "jerk"} <= set(
        check(request, harder)[0]
    )
    other = request.limits

    def found(a: float, v: float, j: float, upper: float = np.inf) -> set[str]:
        limits = MotionLimits(a * other.acceleration, v * other.velocity, upper=upper, jerk=j * other.jerk)
        return set(check(replace(request, limits=limits), plans)[0])

    assert "too fast" in found(1.0, 0.9, 1.0)
    assert "accelerates too much" in found(0.9, 1.0, 1.0)
    assert "jerk" in found(1.0, 1.0, 0.9)
    assert "out of range" in found(1.0, 1.0, 1.0, float(np.median(request.q0)))
    backwards = plans.phases.copy()
    backwards[..., 2] -= 1e-3 * plans.duration[:, None]
    assert "negative phase" in check(request, replace(plans, phases=backwards))[0]
    refused = replace(plans, status=np.full(COUNT, PlanStatus.NO_ROOM, np.int8))
    free = replace(request, limits=MotionLimits(other.acceleration, other.velocity, jerk=other.jerk))
    assert wrongly_refused(free, refused).size
    late = replace(plans, duration=1.01 * plans.duration)
    asked, shorter = shortened(free, late, np.random.default_rng(SEED))
    assert shorter.size
    line = call(free, int(shorter[0]), asked)
    motion = eval(line, {"jerk_limited": jerk_limited, "MotionLimits": MotionLimits})
    assert motion.duration == asked[shorter[0]]


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_numbers_at_the_ends_of_what_is_sensible(scale: float) -> None:
    limits = MotionLimits([scale], [scale], jerk=[scale])
    places = np.array([0.0, 1e-30, 1.0, np.nextafter(1.0, 2.0), -1e6]) * scale
    speeds, pushes = np.array([0.0, 1.0, -0.3, 1e-20]) * scale, np.array([0.0, 0.2, -1e-15]) * scale
    grid = np.meshgrid(places, speeds[:3:2], pushes, places, speeds[::2], pushes, indexing="ij")
    q0, qd0, qdd0, q1, qd1, qdd1 = (x.reshape(-1, 1) for x in grid)
    plans = jerk_limited_many(q0, qd0, qdd0, q1, qd1, qdd1, limits)
    assert not plans.status.any()
    assert check(JerkRequest(q0, qd0, qdd0, q1, qd1, qdd1, limits), plans)[0] == {}
