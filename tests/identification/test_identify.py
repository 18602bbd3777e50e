"""fa.identify on simulated logs: every kind of unknown is found within its deviations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from identification.measured import excited_motion, measured

import forearm as fa
from forearm.errors import InputError
from forearm.identification.effort_model import effort_model
from forearm.identification.result import Identification

FAR = 4.5  # deviations: one value in a hundred thousand is farther off
LOAD: dict[str, Any] = {
    "mass": 3.0,
    "com": np.array([0.05, 0.02, 0.1]),
    "inertia": np.diag([0.02, 0.03, 0.04]),
}
COULOMB = fa.Friction(viscous=0.5, coulomb=(1.2, -0.9))


def driven(**parts: Any) -> fa.Arm:
    """Two joints with motors that differ, and drives of these parts."""
    arm = fa.load("chain2")
    given = {"friction": COULOMB} | parts
    drives = {
        joint.name: given
        | {
            "motor": fa.Motor(
                gear_ratio=50.0 - 90.0 * k,
                rotor_inertia=2e-5 * (k + 1),
                torque_constant=0.1 + 0.02 * k,
                resistance=1.0 + 0.1 * k,
            )
        }
        for k, joint in enumerate(arm.joints)
    }
    return arm.with_drives(drives)


TRUE = driven()
GEAR = fa.Transmission(efficiency=((0.0, 0.8),), rated_torque=1.0)
MOTION = excited_motion(TRUE, 20.0, seed=2, period=10.0)
NOISE: dict[str, Any] = {"rate": 125.0, "q_noise": 1e-5, "effort_noise": 0.1, "seed": 5}


def guess(arm: fa.Arm = TRUE) -> fa.Arm:
    """What a file might say."""
    return fa.control.perturbed(arm, 0.2, seed=3)


def check(found: Identification, true: fa.Arm, **further: float) -> None:
    """Every parameter within its deviations, as far as it is one by itself."""
    model = effort_model(true, found.torque_side, None)
    truth = dict(zip(model.names, model.values().tolist(), strict=True)) | further
    hidden = {name for name in found.parameters if not np.isfinite(found.std[name])}
    mixed = {
        n for n, label in zip(found.parameters, found.labels, strict=True) if any(h in label for h in hidden)
    }
    looked_at = [name for name in found.parameters if name in truth and name not in mixed | hidden]
    assert len(looked_at) >= 12
    for name in looked_at:
        assert abs(found.parameters[name] - truth[name]) < FAR * found.std[name], name
    assert (found.rms < 1.2 * found.noise).all()
    assert (found.rms_left_out < 1.5 * found.noise).all()


@pytest.mark.slow
def test_delay_rotors_and_friction() -> None:
    found = fa.identify(guess(), measured(TRUE, MOTION, delay=0.004, **NOISE), torque_side="motor")
    check(found, TRUE)
    (log,) = found.logs
    assert abs(log.shift - 0.004) < FAR * log.shift_std < 0.005
    assert not any(test.message for test in found.tests)
    again = fa.compile(found.arm).inverse_dynamics(*MOTION.at(np.linspace(0.0, 10.0, 200)))
    there = fa.compile(TRUE).inverse_dynamics(*MOTION.at(np.linspace(0.0, 10.0, 200)))
    np.testing.assert_allclose(again, there, atol=0.02 * np.abs(there).max())


@pytest.mark.slow
def test_losses_by_load() -> None:
    true = driven(transmission=GEAR)
    found = fa.identify(guess(), measured(true, MOTION, **NOISE), torque_side="motor", load=True)
    for joint in found.arm.joints:
        assert joint.transmission is not None
        assert joint.transmission.efficiency[0][1] == pytest.approx(0.8, abs=0.02)
    assert (found.rms < 1.2 * found.noise).all()


@pytest.mark.slow
def test_bearings_are_found_where_the_file_has_them() -> None:
    def rubbing(mu: float) -> fa.Arm:
        return driven(bearings=(fa.Bearing(kind="journal", mu=mu, radius=0.05, distance=0.1),))

    true = rubbing(0.1)
    # masses as they are: they load the bearings
    found = fa.identify(rubbing(0.04), measured(true, MOTION, **NOISE), torque_side="motor")
    for joint in ("joint1", "joint2"):
        name = f"{joint}.bearing1.mu"
        assert abs(found.parameters[name] - 0.1) < FAR * found.std[name] < 0.1


@pytest.mark.slow
def test_a_load_in_one_of_two_logs() -> None:
    other = excited_motion(TRUE, 20.0, seed=7, period=10.0)
    logs = [
        measured(TRUE, MOTION, **NOISE),
        measured(TRUE.with_payload(**LOAD), other, **NOISE | {"seed": 6}),
    ]
    found = fa.identify(guess(), logs, torque_side="motor", payload=[None, "unknown"])
    m, com = LOAD["mass"], np.asarray(LOAD["com"])
    truth = dict(zip(("m", "mx", "my", "mz"), (m, *(m * com)), strict=True))
    check(found, TRUE, **{f"log2.payload.{name}": float(x) for name, x in truth.items()})
    gains = np.array([1.1, 0.9])
    logs = [log | {"tau": log["tau"] * gains} for log in logs]
    found = fa.identify(guess(), logs, torque_side="motor", payload=[None, LOAD], gains=True)
    check(found, TRUE, **{f"joint{k + 1}.gain": float(g) for k, g in enumerate(gains)})


@pytest.mark.slow
def test_gains_without_a_known_load_stay_relative_to_the_last() -> None:
    log = measured(TRUE, MOTION, gain=np.array([1.1, 1.0]), **NOISE)
    found = fa.identify(guess(), log, torque_side="motor", gains=True)
    assert abs(found.parameters["joint1.gain"] - 1.1) < FAR * found.std["joint1.gain"]
    assert np.isinf(found.std["joint2.gain"])
    assert any(
        line.startswith("joint2.gain: these data determine it only in combination")
        for line in found.unidentifiable
    )


@pytest.mark.slow
def test_offsets_make_friction_equal_both_ways() -> None:
    true = driven(friction=fa.Friction(viscous=0.5, coulomb=1.0))
    log = measured(true, MOTION, offset=np.array([0.5, -0.3]), **NOISE)
    found = fa.identify(guess(true), log, torque_side="motor", offsets=True)
    check(found, true, **{"joint1.offset": 0.5, "joint2.offset": -0.3})
    assert "joint1.friction.coulomb.negative" not in found.parameters
    assert found.arm.joints[0].friction is not None
    forwards, backwards = found.arm.joints[0].friction.coulomb
    assert forwards == -backwards


@pytest.mark.slow
@pytest.mark.parametrize("effort", ["current", "voltage"])
def test_currents_and_voltages_by_the_constants_of_the_file(effort: Any) -> None:
    log = measured(TRUE, MOTION, effort=effort, **NOISE | {"effort_noise": 0.02})
    check(fa.identify(TRUE, log, torque_side="motor"), TRUE)


@pytest.mark.slow
def test_motors_from_voltage_and_current() -> None:
    log = measured(TRUE, MOTION, effort="voltage", **NOISE | {"effort_noise": 0.01})
    current = measured(TRUE, MOTION, effort="current", **NOISE | {"effort_noise": 0.003, "seed": 9})
    found = fa.identify(guess(), log | {"current": current["current"]}, torque_side="motor")
    truth = {
        f"joint{k + 1}.motor.{figure}": value
        for k in range(2)
        for figure, value in (("resistance", 1.0 + 0.1 * k), ("torque_constant", 0.1 + 0.02 * k))
    }
    check(found, TRUE, **truth)
    assert found.arm.joints[1].motor is not None
    assert found.arm.joints[1].motor.resistance == pytest.approx(1.1, abs=0.01)


@pytest.mark.slow
def test_a_sensor_behind_the_gear_sees_no_rotor() -> None:
    log = measured(TRUE, MOTION, side="link", **NOISE)
    found = fa.identify(guess(), log, torque_side="link")
    check(found, TRUE)
    assert not any("rotor" in name for name in found.parameters)
    assert (
        "Rotors of joint1 and joint2: torque behind the gears does not depend on them."
        in found.unidentifiable
    )


@pytest.mark.slow
def test_rows_far_off_count_less() -> None:
    log = measured(TRUE, MOTION, **NOISE | {"rate": 250.0})
    rng = np.random.default_rng(1)
    hit = rng.random(log["tau"].shape) < 0.003
    log["tau"] = np.where(hit, 40.0 * rng.random(log["tau"].shape), log["tau"])  # all to one side
    robust, plain = (
        fa.identify(guess(), log, torque_side="motor", shift=0.0, weighting=w) for w in ("robust", "joint")
    )
    model = effort_model(TRUE, "motor", None)
    truth = dict(zip(model.names, model.values().tolist(), strict=True))
    name = "joint1.friction.coulomb.positive"
    assert abs(robust.parameters[name] - truth[name]) < 0.3 * abs(plain.parameters[name] - truth[name])


def test_what_is_asked_wrongly_is_said() -> None:
    log = {"t": np.arange(3.0), "q": np.zeros((3, 2)), "tau": np.zeros((3, 2))}
    with pytest.raises(InputError, match=r"torque_side: expected 'motor' or 'link'.*behind the gear"):
        fa.identify(TRUE, log)
    with pytest.raises(InputError, match="expected at least one log, got none"):
        fa.identify(TRUE, [], torque_side="motor")
    with pytest.raises(InputError, match=r"friction: expected one of .*, got 'sticky'"):
        fa.identify(TRUE, log, torque_side="motor", friction="sticky")  # type: ignore[arg-type]


def test_too_few_rows_are_refused() -> None:
    short = {x: a[:24] for x, a in measured(TRUE, MOTION, **NOISE).items()}
    with pytest.raises(InputError, match=r"rows for \d+ unknowns; expected at least 2 times as many rows"):
        fa.identify(guess(), short, torque_side="motor")
