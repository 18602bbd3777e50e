"""One comparison of all: who is in it, that its figures are those of single runs,
and that they say what they must.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import forearm as fa
from forearm import control
from forearm.control.registry import ASKED_FOR, CLASSICAL, IN_HAND_SPACE, OTHERS

PERIOD = 4e-3


@pytest.fixture(scope="module")
def chain() -> control.Comparison:
    return control.compare(fa.load("chain3"), period=PERIOD, payload=2.0)


@pytest.mark.slow
def test_everything_suited_is_listed(chain: control.Comparison) -> None:
    names = [row.name for row in chain.rows]
    assert len(set(names)) == len(names)
    assert {
        "feed-forward",
        "PD",
        "PID + gravity",
        "computed torque",
        "computed torque, counterbalanced",
    } <= set(names)
    assert set(names) <= set(CLASSICAL) | set(OTHERS) | set(IN_HAND_SPACE)
    assert set(IN_HAND_SPACE) | set(OTHERS) <= set(names)
    assert not any("no friction" in name for name in names), "there is none to leave out"
    assert chain.duration == pytest.approx(2.0)
    assert chain.payload == 2.0


def test_figures_are_those_of_single_runs(chain: control.Comparison) -> None:
    arm, motion = chain.arm, control.default_motion(chain.arm)
    for plant, names in (
        (arm, ("rms", "hand_rms")),
        (arm.with_payload(2.0), ("loaded_rms", "loaded_hand_rms")),
    ):
        made = control.run(arm, control.ComputedTorque(arm), motion, plant=plant, period=PERIOD)
        row = chain["computed torque"]
        assert (getattr(row, names[0]), getattr(row, names[1])) == (made.rms, made.hand_rms)
        assert row.operations_per_second == pytest.approx(made.operations / PERIOD)


def test_models_buy_tracking_with_operations(chain: control.Comparison) -> None:
    pd, gravity, exact = (chain[name] for name in ("PD", "PD + gravity", "computed torque"))
    assert pd.operations < gravity.operations < exact.operations
    assert exact.rms < 0.05 * gravity.rms
    assert chain["computed torque"].rms < chain["computed torque, no velocity terms"].rms
    assert exact.hand_rms < exact.loaded_hand_rms
    assert chain["feed-forward"].loaded_hand_rms > 10.0 * exact.loaded_hand_rms, "nothing brings it back"
    assert all(row.ok for row in chain.rows)


def test_control_in_the_hands_space_stands_beside_that_of_joints(chain: control.Comparison) -> None:
    joints, hand = chain["computed torque"], chain["operational space"]
    assert hand.hand_rms == pytest.approx(joints.hand_rms, rel=0.1), "the same poles, in another space"
    assert hand.operations > joints.operations
    soft, led = chain["impedance"], chain["impedance, feed-forward"]
    assert led.hand_rms < 0.05 * soft.hand_rms
    assert soft.operations < led.operations
    assert math.isnan(soft.stiffness)
    assert hand.stiffness == 1.0


@pytest.mark.slow
def test_some_are_compared_when_they_are_asked_for(chain: control.Comparison) -> None:
    assert not {row.name for row in chain.rows} & set(ASKED_FOR)
    still, moved = control.compare(chain.arm, None, list(ASKED_FOR)[::-1], period=PERIOD, payload=0.0).rows
    assert (still.name, moved.name) == ("gravity compensation", "admittance")
    assert moved.hand_rms == pytest.approx(chain["operational space"].hand_rms, rel=1e-6)
    assert still.hand_rms > 0.1
    assert still.operations < 0.2 * moved.operations


def test_the_document_holds_everything(chain: control.Comparison) -> None:
    document = chain.document()
    assert [row["name"] for row in document["controllers"]] == [row.name for row in chain.rows]
    assert document["period"] == PERIOD
    with pytest.raises(fa.InputError, match="computed torque"):
        chain["computed torqe"]


@pytest.mark.slow
def test_still_joints_are_locked_where_there_are_some() -> None:
    arm = fa.load("puma560-dhanaraj6")
    q0 = np.array([0.1, -0.6, 0.4, 0.2, 0.5, -0.1])
    motion = control.smooth(q0, q0 + np.array([0.6, 0.4, -0.5, 0.0, 0.0, 0.0]), 1.0)
    names = ["computed torque", "computed torque, still joints locked"]
    whole, locked = control.compare(arm, motion, names, period=PERIOD, payload=0.0).rows
    assert locked.operations < 0.6 * whole.operations, "Waters: 57 % of six links saved by locking three"
    # The loops that move are those of the whole arm, to the errors of sampling.
    assert locked.rms * math.sqrt(3.0 / 6.0) == pytest.approx(whole.rms, rel=0.2)
    assert locked.loaded_rms == locked.rms


@pytest.mark.slow
def test_friction_left_out_of_the_model_is_listed_for_an_arm_that_has_some() -> None:
    arm = fa.load("chain3")
    with pytest.raises(fa.NameNotFound, match="no friction"):
        control.compare(arm, None, ["computed torque, no friction"])
    rough = arm.with_drives(friction=fa.Friction(coulomb=(0.3, -0.3)))
    with_it, without = control.compare(
        rough, None, ["computed torque", "computed torque, no friction"], period=PERIOD, payload=0.0
    ).rows
    assert without.operations < with_it.operations
    assert without.rms > 5.0 * with_it.rms


@pytest.mark.slow
def test_controllers_of_ones_own() -> None:
    arm = fa.load("chain3")

    class Nothing:
        name, operations = "nothing", 0.0

        def reset(self) -> None: ...

        def command(self, sample: control.Sample) -> np.ndarray:
            return np.zeros(3)

    (row,) = control.compare(arm, None, [Nothing()], period=PERIOD).rows
    assert row.name == "nothing"
    assert row.torque_rms == 0.0
    assert row.rms > 0.1


def test_a_lost_arm_is_a_row_that_says_so() -> None:
    arm = fa.load("chain3")
    (row,) = control.compare(arm, None, ["computed torque"], period=0.05, bandwidth=200.0).rows
    assert not row.ok
    assert math.isnan(row.hand_rms)
    assert "reduce the bandwidth" in row.message


@pytest.mark.long
def test_saturation_under_load_is_told() -> None:
    arm = fa.load("cmu-dd")
    row = control.compare(arm, None, ["computed torque"], period=2e-3).rows[0]
    motion = control.default_motion(arm)
    plant = arm.with_payload(0.05 * sum(body.mass for body in arm.moving.bodies))
    made = control.run(arm, control.ComputedTorque(arm), motion, period=2e-3, plant=plant)
    assert row.saturated == 0.0
    assert row.loaded_saturated == made.saturated[:-1].mean() > 0.1


@pytest.mark.long
def test_what_no_weight_balances_is_said() -> None:
    names = ["computed torque, counterbalanced"]
    sliding, turning = (
        control.compare(fa.load(n), None, names, period=PERIOD).rows[0] for n in ("stanford", "puma560-akb")
    )
    assert sliding.ok
    assert "no fixed weight can balance" in sliding.message
    assert "joint3" in sliding.message
    assert turning.message == ""


def test_motions_beyond_the_limits_are_told_of() -> None:
    arm = fa.load("panda")
    upper = np.array([j.limits[1] for j in arm.joints])
    for way, expected in ((upper, ()), (upper + np.eye(7)[2], (arm.joints[2].name,))):
        found = control.compare(
            arm, control.smooth(upper - 0.1, way, 1.0), ["PD"], period=PERIOD, payload=0.0
        )
        assert found.beyond == expected
        assert found.document()["beyond"] == list(expected)
