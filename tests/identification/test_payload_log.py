"""The load in the hand from the log of a motion: found as it is, and as sure as it says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arms import random_arm
from numpy.typing import NDArray

import forearm as fa
from forearm.identification import estimate_payload, payload_from_log
from forearm.kinematics.limits import middle

pytestmark = pytest.mark.filterwarnings("ignore::forearm.errors.ModelWarning")
Floats = NDArray[np.float64]
MASS, COM = 1.3, np.array([0.02, -0.03, 0.08])
INERTIA = np.array([[0.006, 0.0004, -0.0003], [0.0004, 0.005, 0.0002], [-0.0003, 0.0002, 0.004]])
T = np.arange(0.0, 8.0, 2e-3)


def motion(arm: fa.Arm, seed: int = 1) -> tuple[Floats, Floats, Floats]:
    """Sums of three sines within the middle of every joint's range, and their derivatives."""
    parts = []
    for order in range(3):
        total = np.zeros((len(T), arm.n))
        wave = np.random.default_rng(seed)
        for _ in range(3):
            w, phase, size = (
                wave.uniform(1.0, 4.0, arm.n),
                wave.uniform(0, 6.0, arm.n),
                wave.uniform(0.1, 0.3, arm.n),
            )
            total += size * w**order * np.sin(w * T[:, None] + phase + 0.5 * np.pi * order)
        parts.append(total)
    return middle(arm) + parts[0], parts[1], parts[2]


def log_of(arm: fa.Arm, inertia: Any = INERTIA) -> dict[str, Any]:
    """What drives of an arm with the load would need."""
    q, qd, qdd = (x[::4] for x in motion(arm))
    tau = fa.compile(arm.with_payload(MASS, COM, inertia)).inverse_dynamics(q, qd, qdd)
    return {"t": T[::4], "q": q, "tau": tau}


ARM = fa.load("panda")


@pytest.mark.slow
def test_the_load_is_found_to_what_differences_leave() -> None:
    found = payload_from_log(ARM, log_of(ARM))
    assert found.mass == pytest.approx(MASS, rel=1e-6)
    np.testing.assert_allclose(found.com, COM, atol=1e-6)
    np.testing.assert_allclose(found.inertia, INERTIA, atol=1e-6)
    assert found.settled
    assert not found.projected


@pytest.mark.slow
def test_a_point_and_known_parts_are_found() -> None:
    log = log_of(ARM, inertia=None)
    for known in ({}, {"mass": MASS}, {"com": COM}):
        found = payload_from_log(ARM, log, shape="point", **known)
        assert found.settled, known
        assert found.mass == pytest.approx(MASS, rel=1e-6)
        np.testing.assert_allclose(found.com, COM, atol=1e-6)


@pytest.mark.slow
def test_it_is_as_sure_as_it_says() -> None:
    """Of 20 logs with other noise, the true mass is within the interval of 95 % most times."""
    within, log = 0, log_of(ARM)
    for seed in range(20):
        loud = (
            0.02 * np.abs(log["tau"]).max(axis=0) * np.random.default_rng(seed).normal(size=log["tau"].shape)
        )
        found = payload_from_log(ARM, log | {"tau": log["tau"] + loud}, window=0.08)
        low, high = found.intervals[0]
        within += bool(low <= MASS <= high)
        assert high - low < 0.2
    assert within >= 16


@pytest.mark.slow
def test_it_agrees_with_the_fit_of_tests_at_the_same_states() -> None:
    arm = random_arm(2, 4).rigid()
    q, qd, qdd = (x[::50] for x in motion(arm))
    tau = fa.dynamics.inverse(arm.with_payload(MASS, COM, INERTIA), q, qd, qdd)
    tests = estimate_payload(arm, q, tau, qdd, qd)
    found = payload_from_log(arm, log_of(arm))
    shown = np.isfinite(tests.deviations)
    np.testing.assert_allclose(found.parameters[shown], tests.parameters[shown], atol=1e-5)
    assert set(found.unidentified) == set(tests.unidentified)


@pytest.mark.slow
def test_dry_friction_of_joints_that_turn_round_does_not_spoil_it() -> None:
    arm = fa.load("puma560")
    found = payload_from_log(arm, log_of(arm))
    assert found.mass == pytest.approx(MASS, rel=1e-3)


@pytest.mark.slow
def test_what_cannot_be_told_is_refused() -> None:
    log = log_of(ARM)
    with pytest.raises(fa.InputError, match="neither joint tau nor current"):
        payload_from_log(ARM, {"t": log["t"], "q": log["q"]})
    arm = fa.load("puma560")
    still = {"t": T, "q": np.zeros((len(T), 6)), "tau": np.zeros((len(T), 6))}
    with pytest.raises(fa.InputError, match="log: no joint moves, all are held by friction; move the arm"):
        payload_from_log(arm, still)
    with pytest.raises(fa.ModelError, match="depends on the load"):
        payload_from_log(random_arm(3, 3), log_of(random_arm(3, 3)))
