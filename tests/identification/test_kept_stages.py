"""What an identification reports is what its arm does, and what does not help is not kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from identification.measured import excited_motion, measured
from identification.true_arms import believed, small_true, with_lossy_gears
from numpy.typing import NDArray

import forearm as fa
from forearm import Arm
from forearm.identification.result import Identification

Floats = NDArray[np.float64]
ARM = small_true(2)
MOTION = excited_motion(ARM, 8.0, 1)
SAME = 1e-9  # N m: one law evaluated twice
NOISE: dict[str, Any] = {"rate": 50.0, "effort_noise": 0.02, "is_share": True, "derivatives": True}


def rising(log: dict[str, Floats]) -> dict[str, Floats]:
    """The log of an arm whose dry friction is less at low speeds, which no static friction can be."""
    less = np.array([1.5, 1.0]) * np.exp(-((log["qd"] / 0.3) ** 2)) * np.sign(log["qd"])
    return log | {"tau": log["tau"] - less}


def identified(log: dict[str, Floats], **options: Any) -> Identification:
    given = believed(ARM, friction="simple")
    return fa.identify(given, log, torque_side="motor", shift=0.0, **options)


def torque_of(arm: Arm, log: dict[str, Floats], at: Any) -> Floats:
    """What an arm needs at some rows of a log."""
    q, qd, qdd = (log[x][at] for x in ("q", "qd", "qdd"))
    return np.asarray(fa.dynamics.inverse(arm, q, qd, qdd))


def residual_of(arm: Arm, found: Identification, log: dict[str, Floats]) -> Floats:
    """Measured torques less those of an arm, at the rows of a result."""
    at = np.searchsorted(log["t"], found.t - 1e-6)
    return np.asarray(log["tau"][at] - torque_of(arm, log, at))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("true", "options"),
    [
        (ARM, {"friction": "stribeck"}),
        (with_lossy_gears(ARM, 0.75), {"friction": "stribeck", "load": True}),
        (ARM, {"friction": "viscous"}),
    ],
    ids=["friction", "gears and friction", "viscous friction"],
)
def test_residuals_are_those_of_the_arm_that_is_returned(true: Arm, options: dict[str, Any]) -> None:
    log = rising(measured(true, MOTION, seed=2, **NOISE))
    found = identified(log, **options, check=False)
    left = residual_of(found.arm, found, log)
    np.testing.assert_allclose(found.residual, left, atol=SAME * float(np.abs(log["tau"]).max()))
    if options["friction"] == "viscous":  # all rows, also those at rest
        assert found.rms == pytest.approx(np.sqrt(np.mean(left**2, axis=0)))
        return
    said = found.validate(log, shift=0.0)
    np.testing.assert_allclose(found.rms, said.rms, rtol=1e-9)
    np.testing.assert_allclose(found.agreement.explained, said.explained, rtol=1e-9)
    np.testing.assert_array_equal(found.agreement.rows, said.rows)


@pytest.mark.slow
def test_friction_that_no_law_can_hold_is_not_kept_and_that_is_said() -> None:
    log = rising(measured(ARM, MOTION, seed=2, **NOISE))
    plain, found = identified(log), identified(log, friction="stribeck")
    assert [stage.name for stage in found.stages] == ["linear", "consistent"]
    assert all(joint.friction is not None and joint.friction.static is None for joint in found.arm.joints)
    np.testing.assert_allclose(found.rms, plain.rms, rtol=1e-9)
    assert (
        "joint1, joint2: Stribeck friction not identified: these logs do not show static friction above "
        "Coulomb friction." in found.findings
    )


@pytest.mark.slow
def test_a_stage_that_predicts_held_out_data_worse_is_not_kept() -> None:
    """An arm that changes from block to block: what is added fits one block, and fails in the others."""
    log = measured(ARM, MOTION, seed=3, **NOISE)
    block = (5 * np.arange(len(log["t"]))) // len(log["t"])
    drag = np.array([2.0, -1.5, 2.5, -2.0, 1.0])[block][:, None] * np.array([1.0, 0.5])
    log["tau"] = log["tau"] + drag * np.exp(-((log["qd"] / 0.2) ** 2)) * np.sign(log["qd"])
    plain = identified(log)
    for options in ({"friction": "stribeck"}, {"friction": "stribeck", "load": True}):
        found = identified(log, **options)
        ratios = found.rms_left_out / plain.rms_left_out
        assert np.sum(ratios**2) <= 2.0 * (1.0 + 1e-9), (options, ratios)
        np.testing.assert_allclose(residual_of(found.arm, found, log), found.residual, atol=1e-7)
        for kind, words in (("friction", "Stribeck friction"), ("load", "losses by load")):
            is_kept = [
                j.friction is not None and j.friction.static is not None
                if kind == "friction"
                else j.transmission is not None
                for j in found.arm.joints
            ]
            if kind in options and not all(is_kept):
                assert any(f"{words} not identified: " in text for text in found.findings)


@pytest.mark.slow
def test_residual_and_explained_are_of_the_same_rows() -> None:
    """A joint that rests for half of the time, where friction holds any effort."""
    log = measured(ARM, MOTION, seed=4, **NOISE)
    half = len(log["t"]) // 2
    rest = {"q": log["q"][half, 1], "qd": 0.0, "qdd": 0.0}
    for name, value in rest.items():
        log[name][half:, 1] = value
    log["tau"][half:] = torque_of(ARM, log, slice(half, None))
    log["tau"][half:, 1] += 5.0 * np.sin(40.0 * log["t"][half:])
    found = identified(log)
    moving = np.abs(found.speed[:, 1]) > 0.05
    spread = found.measured[moving, 1].std()
    shown = 1.0 - (found.rms[1] / spread) ** 2
    assert found.agreement.explained[1] == pytest.approx(shown, abs=0.01)
    assert found.agreement.explained[1] > 0.99
    row = next(line.split() for line in found.table().splitlines() if line.startswith("joint2 "))
    measured_rms, residual, explained = float(row[3]), float(row[5]), float(row[-2])
    # variance is at most the mean square, and a mean residual explains nothing
    assert 100.0 * (1.0 - (residual / measured_rms) ** 2) >= explained - 0.01
