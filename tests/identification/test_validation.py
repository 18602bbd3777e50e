"""What an identification leaves of a log that it was not fitted to."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from identification.identified import motion, two_joints, two_link

from forearm import InputError
from forearm.dynamics.reference import inverse
from forearm.identification.parameter_set import ParameterSet
from forearm.identification.result import Identification
from forearm.spatial import Floats

ROUNDING = 1e-9  # N m: averages of products of a few numbers of size 100


def another_log(left: Floats, side: str = "motor") -> dict[str, Any]:
    """A motion with its derivatives, and torques that the true arm needs for it with `left` (T, n) on top."""
    t, q, qd, qdd = motion(2, len(left), seed=12)
    tau = inverse(two_link(), q, qd, qdd)
    if side == "link":  # neither rotors nor joint2's friction, which is the motor's
        motors = [j.motor.reflected_inertia for j in two_link().joints if j.motor is not None]
        rubbed = inverse(two_link(), q, qd, 0.0 * qdd) - inverse(two_link().rigid(), q, qd, 0.0 * qdd)
        tau = tau - qdd * np.array(motors) - rubbed * np.array([0.0, 1.0])
    return {"t": t, "q": q, "qd": qd, "qdd": qdd, "tau": tau + left}


def without_sensors(found: Identification) -> Identification:
    names = [name for name in found.parameters if name != "joint1.offset"]
    parameters = ParameterSet(names, [found.parameters[name] for name in names])
    return dataclasses.replace(found, parameters=parameters)


@pytest.mark.slow
@pytest.mark.parametrize("side", ["motor", "link"])
def test_what_is_left_is_what_the_model_does_not_have(side: str) -> None:
    left = np.random.default_rng(3).standard_normal((400, 2))
    found = dataclasses.replace(without_sensors(two_joints()), torque_side=side)
    log = another_log(left, side)
    said = found.validate(log, shift=0.0)
    assert (said.rows > 350).all()  # all but reversals, where friction may be either way
    fewest, most = (np.sort(left**2, axis=0) for _ in range(2))
    dropped = 400 - said.rows.astype(int)
    for i, k in enumerate(dropped):
        low, high = fewest[: 400 - k, i].mean(), most[k:, i].mean()
        assert np.sqrt(low) - ROUNDING <= said.rms[i] <= np.sqrt(high) + ROUNDING
    assert (said.rms_before > 1.2 * said.rms).any()
    assert said.explained == pytest.approx(1.0 - 1.0 / log["tau"].var(axis=0), abs=0.05)


def test_offsets_and_gains_of_sensors_count() -> None:
    none = np.zeros((60, 2))
    log = another_log(none)
    log["tau"] = 1.1 * log["tau"] + np.array([0.3, 0.0])
    found = two_joints()
    names = (*found.parameters.names, "joint1.gain", "joint2.gain")
    values = [*np.asarray(found.parameters), 1.1, 1.1]
    values[names.index("joint1.offset")] = 0.3 / 1.1
    sensed = dataclasses.replace(found, parameters=ParameterSet(names, values))
    assert sensed.validate(log, shift=0.0).rms == pytest.approx(np.zeros(2), abs=ROUNDING)
    assert (without_sensors(found).validate(log, shift=0.0).rms > 0.05).all()


def test_it_is_told_in_a_table_and_as_json() -> None:
    said = two_joints().validate(another_log(np.zeros((60, 2))))
    text = said.report().text()
    assert "not used in the fit" in text
    assert "joint2  N m" in text
    assert json.loads(json.dumps(said.to_json(), allow_nan=False))["joints"] == ["joint1", "joint2"]


def test_a_joint_that_stands_is_left_out_and_the_others_are_validated() -> None:
    log = another_log(np.zeros((60, 2)))
    log["qd"][:, 1] = log["qdd"][:, 1] = 0.0
    log["q"][:, 1] = 0.4
    log["qd"][::5, 1] = 0.01  # as a controller makes it tremble
    log["tau"] = inverse(two_link(), log["q"], log["qd"], log["qdd"])
    found = without_sensors(two_joints())
    said = found.validate(log, shift=0.0)
    assert said.rms[0] == pytest.approx(0.0, abs=ROUNDING)
    assert said.rows[1] == 0.0
    assert np.isnan([said.rms[1], said.rms_before[1], said.explained[1]]).all()
    assert "joint2: not compared, as friction is unknown at rest." in said.findings
    row = next(line.split() for line in said.report().text().splitlines() if line.startswith("joint2 "))
    assert row[-4:] == ["-"] * 4
    assert json.loads(json.dumps(said.to_json(), allow_nan=False))["rms"][1] is None
    log["q"][:, 0] = log["qd"][:, 0] = log["qdd"][:, 0] = 0.0
    with pytest.raises(InputError, match="no sample can be compared with the model: no joint moves"):
        found.validate(log, shift=0.0)
