"""What logs say where the structure is wrong, and where it is right; published arms as the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from identification.coverage import expected
from identification.measured import excited_motion, measured
from identification.true_arms import (
    believed,
    panda_true,
    small_true,
    ur10_true,
    with_lossy_gears,
    with_stribeck,
)
from numpy.typing import NDArray

import forearm as fa
from forearm import Arm
from forearm.identification.result import Identification

Floats = NDArray[np.float64]
ARM = small_true(2)
MOTION = excited_motion(ARM, 8.0, 1)
SENSORS: dict[str, Any] = {"rate": 200.0, "effort_noise": 0.02, "is_share": True, "q_noise": 1e-5}


def identified(true: Arm, seed: int = 0, **options: Any) -> Identification:
    log = measured(true, MOTION, seed=seed, **SENSORS)
    return fa.identify(believed(ARM), log, **{"torque_side": "motor", **options})


def alarms(found: Identification) -> set[str]:
    return {test.against for test in found.tests if test.message}


@pytest.mark.slow
def test_stribecks_friction_is_missed_and_found() -> None:
    true = with_stribeck(ARM, 0.5)
    without = identified(true)
    assert "speed" in alarms(without)
    said = next(test for test in without.tests if test.message)
    assert "try friction='stribeck'" in said.message
    assert said.p_value < 1e-6
    found = identified(true, friction="stribeck")
    assert [stage.name for stage in found.stages] == ["linear", "friction", "consistent"]
    assert not alarms(found)
    for joint in true.joints:
        assert joint.friction is not None
        assert joint.friction.static is not None
        for way, static in zip(("positive", "negative"), joint.friction.static, strict=True):
            name = f"{joint.name}.friction.static.{way}"
            assert abs(found.parameters[name] - static) < 4.0 * found.std[name]
        name, speed = f"{joint.name}.friction.stribeck_speed", joint.friction.stribeck_speed
        assert speed is not None
        assert abs(found.parameters[name] - speed) < 4.0 * found.std[name]
    assert (found.rms < 0.7 * without.rms).all()


@pytest.mark.slow
def test_gears_that_lose_are_missed_and_found() -> None:
    true = with_lossy_gears(ARM, 0.75)
    without = identified(true)
    assert alarms(without) or "times the noise" in " ".join(without.findings)
    found = identified(true, load=True)
    assert not alarms(found)
    assert (found.rms < 0.5 * without.rms).any()


@pytest.mark.slow
def test_a_rotor_behind_a_sensor_that_should_not_feel_it() -> None:
    found = identified(ARM, torque_side="link")
    said = [test.message for test in found.tests if test.against == "acceleration" and test.message]
    assert said
    assert "torque_side='motor'" in said[0]
    assert not alarms(identified(ARM))


@pytest.mark.long
def test_alarms_of_models_that_are_right_are_as_rare_as_stated() -> None:
    """One in a thousand identifications: of 150 none, or one with probability 0.14."""
    values = []
    said = 0
    for seed in range(150):
        found = identified(ARM, seed)
        values += [test.p_value for test in found.tests if test.against != "acceleration"]
        said += bool(alarms(found))
    assert said <= 1
    # p-values of a model that is right are spread evenly
    shares = [np.mean(np.array(values) < p) for p in (0.01, 0.05, 0.2, 0.5)]
    np.testing.assert_allclose(shares, [0.01, 0.05, 0.2, 0.5], atol=0.09)
    assert shares[0] < 0.03


def motion_error(true: Arm, model: Arm, seed: int) -> Floats:
    """rms of the efforts that a model gets wrong along another motion, as shares of theirs (n,)."""
    other = excited_motion(true, 6.0, seed)
    q, qd, qdd = other.at(np.linspace(0.0, 6.0, 600))
    need, told = (fa.compile(arm).inverse_dynamics(q, qd, qdd) for arm in (true, model))
    return np.asarray(np.sqrt(np.mean((told - need) ** 2, axis=0) / np.mean(need**2, axis=0)))


@pytest.mark.parametrize("true", [panda_true(), ur10_true()], ids=lambda arm: arm.name)
@pytest.mark.long
def test_published_arms_are_found_again(true: Arm) -> None:
    nominal = believed(true)
    motions = [excited_motion(true, 15.0, seed) for seed in (1, 2)]
    logs = [
        measured(true, motion, rate=250.0, effort_noise=0.02, is_share=True, q_noise=1e-5, seed=seed)
        for seed, motion in enumerate(motions)
    ]
    found = fa.identify(nominal, logs, torque_side="motor")
    before, after = (motion_error(true, arm, 7) for arm in (nominal, found.arm))
    assert (after < 0.05).all(), after
    assert (before > 3.0 * after).all()
    truth = expected(found, true, motions[0], {})
    told = np.isfinite(truth)
    scores = (np.asarray(found.parameters)[told] - truth[told]) / np.asarray(found.std)[told]
    # of some 60 intervals of 95 % at most 10 miss with probability 1e-3
    assert np.mean(np.abs(scores) < 1.96) > 0.83
    assert np.abs(scores).max() < 5.0
