"""Figures of rows against single simulations, the reference dynamics and closed forms."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from studies.campaign import AMPS, ARM, EFFORT, FIGURES, MOTION, STEP, VARY, VOLTS, small_study

import forearm as fa
from forearm.studies import CatalogueMotor, Uniform
from forearm.studies.rows.evaluation import RowEvaluation
from forearm.studies.rows.row_figures import path_points
from forearm.studies.rows.row_simulation import arm_of_row, simulate_row

SAME_RUN = 1e-9  # relative, of runs that round each step in another order
ROUNDING = 1e-11
STRONG = fa.Motor(gear_ratio=100.0, rotor_inertia=1e-4, torque_constant=0.2, resistance=1.0, max_voltage=90.0)
K, R = -30.0 * 0.2, 1.5  # N Kt and R of every motor


@cache
def computed(rows: int = 40) -> dict[str, NDArray[Any]]:
    return RowEvaluation(small_study(rows)).rows(0, rows)


def joint_figures(found: dict[str, NDArray[Any]], name: str, row: int) -> NDArray[Any]:
    return np.array([found[f"{name}.joint{j}"][row] for j in (1, 2, 3)])


@pytest.mark.slow
@pytest.mark.parametrize("row", [0, 38])
def test_a_row_is_a_simulation_of_its_own_arm(row: int) -> None:
    found, run = computed(), simulate_row(small_study(), row)
    tau, qd = run.tau[:-1], run.qd[:-1]
    assert np.allclose(joint_figures(found, "peak_torque", row), np.abs(tau).max(axis=0), rtol=SAME_RUN)
    assert np.isclose(found["rms_torque.joint2"][row], np.sqrt(np.mean(tau[:, 1] ** 2)), rtol=SAME_RUN)
    volts = np.abs(R * tau / K + K * qd)
    assert np.isclose(found["peak_voltage.joint1"][row], volts[:, 0].max(), rtol=SAME_RUN)
    assert np.isclose(found["rms_voltage.joint3"][row], np.sqrt(np.mean(volts[:, 2] ** 2)), rtol=SAME_RUN)
    loss = R * ((tau / K) ** 2).sum() * STEP
    assert np.isclose(found["copper_loss"][row], loss, rtol=SAME_RUN)
    error = MOTION[0][:-1] - run.q[:-1]
    assert np.isclose(found["tracking_error"][row], np.sqrt(np.mean(error**2)), rtol=1e-6)
    assert np.isclose(found["torque_margin"][row], 1.0 - np.abs(tau).max() / EFFORT, rtol=SAME_RUN)
    assert np.isclose(found["voltage_margin"][row], 1.0 - volts.max() / VOLTS, rtol=SAME_RUN)
    assert np.isclose(found["current_margin"][row], 1.0 - np.abs(tau / K).max() / AMPS, rtol=SAME_RUN)
    assert np.isclose(found["speed_margin"][row], 1.0 - np.abs(run.qd).max() / 5.0, rtol=SAME_RUN)
    # Torques are held over each step, so that the work of a step is exact.
    assert np.isclose(found["work"][row], (tau * np.diff(run.q, axis=0)).sum(), rtol=SAME_RUN)
    assert np.isclose(found["work"][row], run.energy["supplied"][-1], rtol=1e-3)


@pytest.mark.slow
def test_required_figures_are_those_of_the_reference_dynamics() -> None:
    found, study = computed(), small_study()
    for row in (1, 16):
        arm = arm_of_row(study, row)
        tau = fa.dynamics.inverse(arm, *MOTION)[:-1]
        qd = MOTION[1][:-1]
        assert np.isclose(found["required_peak_torque.joint1"][row], np.abs(tau[:, 0]).max(), rtol=ROUNDING)
        rms = np.sqrt(np.mean(tau**2, axis=0))
        assert np.allclose(joint_figures(found, "required_rms_torque", row), rms, rtol=ROUNDING)
        volts = np.abs(R * tau / K + K * qd)[:, 2].max()
        assert np.isclose(found["required_peak_voltage.joint3"][row], volts, rtol=ROUNDING)


@pytest.mark.slow
def test_every_variable_matters() -> None:
    """Each figure of a run changes when one of the variables does."""
    study, evaluation = small_study(), RowEvaluation(small_study())
    base = study.values(0, 1)
    for name in VARY:
        x = base[name]
        other = {**base, name: np.array(["feedforward"], dtype=object) if name == "law" else 1.1 * x + 1e-3}
        before, after = evaluation.figures(base), evaluation.figures(other)
        assert before["energy"] != after["energy"], name


@pytest.mark.slow
def test_motors_of_a_catalogue_take_the_place_of_the_joints() -> None:
    motors: dict[str, Any] = {
        "small": CatalogueMotor(0.05, 0.9, 3e-5, 24.0, 12.0, 4.0, 0.5),
        "large": {
            "torque_constant": 0.3,
            "resistance": 0.4,
            "rotor_inertia": 9e-4,
            "max_voltage": 48.0,
            "mass": 2.5,
        },
    }
    vary = {
        "joint1.motor": ["small", "large"],
        "joint2.motor": ["large", "small"],
        "joint2.motor.gear_ratio": Uniform(-60.0, -20.0),
    }
    figures = [
        "required_peak_current",
        "required_voltage_margin",
        "required_rms_current",
        "motor_mass",
        "required_heat_margin",
        "peak_current",
    ]
    study = fa.Study(
        "motors", ARM, vary, figures, motors=motors, motion=MOTION, law="computed_torque", step=STEP, rows=3
    )
    found = RowEvaluation(study).rows(0, 3)
    assert {*found["joint1.motor"], *found["joint2.motor"]} == set(motors)
    chosen = {name: m if isinstance(m, CatalogueMotor) else CatalogueMotor(**m) for name, m in motors.items()}
    for row in range(3):
        arm = arm_of_row(study, row)
        picked = [chosen[found["joint1.motor"][row]], chosen[found["joint2.motor"][row]]]
        for joint, motor in zip(arm.joints, picked, strict=False):
            assert joint.motor is not None
            assert (joint.motor.torque_constant, joint.motor.resistance) == (
                motor.torque_constant,
                motor.resistance,
            )
        assert arm.joints[1].motor is not None
        assert arm.joints[1].motor.gear_ratio == found["joint2.motor.gear_ratio"][row]
        assert found["motor_mass"][row] == sum(motor.mass for motor in picked)
        tau, qd = fa.dynamics.inverse(arm, *MOTION)[:-1], MOTION[1][:-1]
        N = np.array([j.motor.gear_ratio for j in arm.joints if j.motor is not None])
        Kt, Rs = [
            [*(getattr(m, k) for m in picked), own]
            for k, own in (("torque_constant", 0.2), ("resistance", R))
        ]
        i = tau / (N * np.array(Kt))
        peaks = np.abs(i).max(axis=0)
        assert np.allclose(joint_figures(found, "required_peak_current", row), peaks, rtol=ROUNDING)
        volts = np.abs(np.array(Rs) * i + N * np.array(Kt) * qd).max(axis=0)
        limits = [*(m.max_voltage for m in picked), VOLTS]
        assert np.isclose(found["required_voltage_margin"][row], 1.0 - (volts / limits).max(), rtol=1e-9)
        run = simulate_row(study, row)
        seen = np.abs(run.tau[:-1] / (N * np.array(Kt))).max(axis=0)
        assert np.allclose(joint_figures(found, "peak_current", row), seen, rtol=SAME_RUN)


@pytest.mark.slow
def test_arms_and_motions_are_chosen_by_name() -> None:
    other = ARM.with_values({f"{ARM.links[2].name}.mass": 4.0})
    slow = (MOTION[0][::-1].copy(), -MOTION[1][::-1], MOTION[2][::-1].copy())
    study = fa.Study(
        "levels",
        {"light": ARM, "heavy": other},
        {"arm": ["light", "heavy"], "motion": ["there", "back"]},
        ["required_rms_torque.joint1", "rms_torque.joint2"],
        design="grid",
        law="computed_torque",
        step=STEP,
        motion={"there": MOTION, "back": slow},
    )
    assert study.rows == 4
    found = RowEvaluation(study).rows(0, 4)
    assert list(found["arm"]) == ["light", "light", "heavy", "heavy"]
    assert list(found["motion"]) == ["there", "back", "there", "back"]
    for row, (arm, motion) in enumerate([(ARM, MOTION), (ARM, slow), (other, MOTION), (other, slow)]):
        tau = fa.dynamics.inverse(arm, *motion)[:-1]
        rms = np.sqrt(np.mean(tau[:, 0] ** 2))
        assert np.isclose(found["required_rms_torque.joint1"][row], rms, rtol=ROUNDING)
    assert len({float(x) for x in found["rms_torque.joint2"]}) == 4


@pytest.mark.slow
def test_figures_of_the_design() -> None:
    """The shortest time and manipulability of each row's own geometry and load."""
    plain = fa.load("puma560-dhanaraj3").with_drives(motor=STRONG)
    ends = [[0.1, 0.2, 0.4], [0.9, 1.0, 1.1]]
    name = plain.joints[1].name
    study = fa.Study(
        "design",
        plain,
        {f"{name}.a": Uniform(0.3, 0.5), "payload.mass": Uniform(0.0, 3.0)},
        ["manipulability", "time_optimal_duration"],
        motion=ends,
        rows=2,
    )
    found = RowEvaluation(study).rows(0, 2)
    motion = study.motions["motion"][plain.name]
    for row in range(2):
        arm = arm_of_row(study, row)
        least = min(float(fa.kinematics.manipulability(arm, q)) for q in motion.q)
        assert np.isclose(found["manipulability"][row], least, rtol=2e-3)
        shortest = fa.time_optimal(arm, path_points(motion)).duration
        assert np.isclose(found["time_optimal_duration"][row], shortest, rtol=1e-12)
    assert len(set(found["time_optimal_duration"].tolist())) == 2


@pytest.mark.slow
def test_held_torques_and_voltages() -> None:
    drives: list[dict[str, Any]] = [{"torque": [3.0, -2.0, 1.0]}, {"voltage": [12.0, -9.0, 7.0]}]
    for drive in drives:
        study = fa.Study(
            "held",
            ARM,
            {"joint1.friction.viscous": Uniform(0.1, 2.0)},
            ["peak_speed", "limit_margin", "limit_time"],
            duration=0.1,
            step=STEP,
            rows=5,
            start=[0.1, 0.0, 0.2],
            **drive,
        )
        found = RowEvaluation(study).rows(0, 5)
        run = simulate_row(study, 4)
        peaks = np.abs(run.qd).max(axis=0)
        assert np.allclose(joint_figures(found, "peak_speed", 4), peaks, rtol=SAME_RUN)
        lower = np.array([joint.limits.lower for joint in ARM.joints])
        upper = np.array([joint.limits.upper for joint in ARM.joints])
        margin = np.minimum(upper - run.q, run.q - lower).min()
        assert np.isclose(found["limit_margin"][4], margin, rtol=1e-9)
        assert np.ptp(found["peak_speed.joint1"]) > 0.0


def test_a_counterweight_balances() -> None:
    """A mass of 2 kg at 0.7 m from a level axis and 4 kg at 0.35 m on its other side: no torque anywhere."""
    arm = fa.from_dh("beam", [[0.7, 0.0, 0.0, 0.0]], convention="standard", gravity=(0.0, -9.81, 0.0))
    arm = arm.with_payload(mass=2.0)
    q = np.linspace(-0.5, 0.5, 51)[:, None]  # level at one of them
    body = f"counterweight.{arm.hand.link}"
    study = fa.Study(
        "balance",
        arm,
        {f"{body}.mass": [1.0, 4.0, 6.0], f"{body}.com.x": [-1.05]},
        ["required_peak_torque"],
        design="grid",
        motion=(q, 0.0 * q, 0.0 * q),
        step=0.01,
    )
    found = RowEvaluation(study).rows(0, 3)["required_peak_torque.joint1"]
    moments = 2.0 * 0.7 - np.array([1.0, 4.0, 6.0]) * 0.35
    assert np.allclose(found, 9.81 * np.abs(moments), rtol=ROUNDING, atol=1e-12)


def test_columns_are_those_that_were_asked_for() -> None:
    names = [column.name for column in small_study().columns]
    assert names[:3] == ["peak_torque.joint1", "peak_torque.joint2", "peak_torque.joint3"]
    assert {name.partition(".")[0] for name in names} == {name.partition(".")[0] for name in FIGURES}
    assert set(computed()) == {*VARY, *names}
