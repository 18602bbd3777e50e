"""Controllers in C against those in Python, sample by sample, where joints stand,
saturate and turn round too.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from codegen.running import LANGUAGES, runner
from control.compiled_c import call, library
from numpy.typing import NDArray

import forearm as fa
from forearm import Arm, Motor
from forearm.control.code import controller_code, traced_controller
from forearm.control.controller import Sample
from forearm.control.controllers.computed_torque import ComputedTorque
from forearm.control.controllers.feedforward import FeedForwardPD
from forearm.control.controllers.pd import PD, PID
from forearm.control.gains import Gains
from forearm.control.laws import LAWS
from forearm.drives.motor import constants_of
from forearm.symbols import evaluate

Floats = NDArray[np.float64]
PYTHON: dict[str, Any] = {
    "computed_torque": ComputedTorque,
    "feedforward_pd": FeedForwardPD,
    "pd_gravity": PD,
    "pid_gravity": PID,
}
HAND_LAWS = ("impedance", "operational_space", "admittance", "gravity_compensation")
# The same formulas in another order; gains of some thousands multiply the errors and their rounding.
pytestmark = pytest.mark.slow
TOLERANCE = 1e-11


def with_motors(arm: Arm, **limits: float) -> Arm:
    """The arm with motors whose constants are all known; reversed ones too."""

    def changed(i: int, joint: Any) -> Any:
        if joint.kind == "fixed":
            return joint
        motor = Motor(
            gear_ratio=(-1.0) ** i * (20.0 + i),
            rotor_inertia=1e-4,
            torque_constant=0.2,
            resistance=1.5,
            **limits,
        )
        return replace(joint, motor=motor)

    return arm.replace(tree=tuple(changed(i, j) for i, j in enumerate(arm.tree)))


def samples(arm: Arm, count: int, seed: int) -> list[Sample]:
    """Samples near a wanted motion; in some a joint stands, turns round, or is wanted to stand."""
    rng = np.random.default_rng(seed)
    made = []
    for k in range(count):
        wanted = tuple(rng.uniform(-1.0, 1.0, (3, arm.n)))
        q, qd = wanted[0] + 0.01 * rng.normal(size=arm.n), wanted[1] + 0.3 * rng.normal(size=arm.n)
        qd[rng.integers(arm.n)] = 0.0
        wanted[1][rng.integers(arm.n)] *= rng.choice([0.0, 1.0])
        made.append(Sample(k, 1e-3 * k, q, qd, None, wanted, wanted))
    return made


def volts(arm: Arm, tau: Floats, qd: Floats) -> Floats:
    """What the motors are given for a torque, within their limits."""
    c = constants_of(arm)
    effort = np.array([np.inf if j.max_effort is None else j.max_effort for j in arm.joints])
    most = np.minimum(effort, np.abs(c.K) * c.most_current)
    return np.clip(c.R * np.clip(tau, -most, most) / c.K + c.K * qd, -c.most_voltage, c.most_voltage)


def stepped(function: Any, arm: Arm, sample: Sample, state: Floats, *k: Floats) -> Floats:
    out = np.full(arm.n, np.nan)
    given = [np.ascontiguousarray(a) for a in (sample.q, sample.qd, *sample.wanted)]
    call(function, *given, *k, state, out)
    return out


ARMS = {
    "puma560": lambda: fa.load("puma560"),
    "random with limits": lambda: with_motors(random_arm(3, 3), max_voltage=5.0, max_current=3.0),
    "followers on a tree": lambda: with_motors(random_arm(4, 3, tree=True, mimic=True)),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", ARMS)
@pytest.mark.sweep
def test_c_agrees_with_python_sample_by_sample(law: str, name: str, tmp_path: Path) -> None:
    arm = ARMS[name]()
    source = controller_code(arm, law, name="servo")
    function = library(source.files(), tmp_path).servo_step
    controller, state, saturated = PYTHON[law](arm), np.zeros(arm.n), 0
    for sample in samples(arm, 40, 1):
        tau = controller.command(sample)
        expected = volts(arm, tau, sample.qd)
        found = stepped(function, arm, sample, state)
        scale = np.abs(np.concatenate([constants_of(arm).R * tau / constants_of(arm).K, expected])).max()
        assert np.abs(found - expected).max() <= TOLERANCE * scale, sample.k
        saturated += bool((np.abs(expected) == constants_of(arm).most_voltage).any())
    assert saturated > 0 or "limits" not in name
    if law == "pid_gravity":
        assert np.abs(state - sum(s.wanted[0] - s.q for s in samples(arm, 40, 1))).max() < 1e-12
    else:
        assert not state.any()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.sweep
def test_every_language_agrees_with_python(law: str, language: str, tmp_path: Path) -> None:
    arm = ARMS["random with limits"]()
    program = traced_controller(arm, law, name="servo", open_gains=True)[1].program()
    function, controller = runner(program, language, tmp_path), PYTHON[law](arm)
    state = np.zeros(arm.n)
    for sample in samples(arm, 10, 1):
        given = dict(zip(("q_wanted", "qd_wanted", "qdd_wanted"), sample.wanted, strict=True))
        given |= {"q": sample.q, "qd": sample.qd, "state": state}
        tau = controller.command(sample)
        made = function(given, None)
        state = made.get("state_next", state)
        expected = volts(arm, tau, sample.qd)
        scale = np.abs(np.concatenate([constants_of(arm).R * tau / constants_of(arm).K, expected])).max()
        assert np.abs(made["voltage"] - expected).max() <= TOLERANCE * scale, sample.k


@pytest.mark.parametrize("law", HAND_LAWS)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.sweep(first=1)
def test_laws_of_the_hand_in_every_language(law: str, language: str, tmp_path: Path) -> None:
    made, traced = traced_controller(random_arm(33, 3, drives=False), law, name="hand_servo")
    program, rng = traced.program(), np.random.default_rng(3)
    given = {a.name: rng.uniform(-0.6, 0.6, a.shape) for a in program.inputs}
    leaves: dict[str, Any] = {
        f"{name}[{i}]": x for name, array in given.items() for i, x in enumerate(array.flat)
    }
    leaves |= made.parameters
    truth = evaluate(made.traced.graph, made.traced.results, leaves)
    found = runner(program, language, tmp_path)(given, None)
    for name, array in found.items():
        expected = np.array(truth[name], dtype=float)
        assert np.abs(array - expected).max() <= TOLERANCE * max(1.0, np.abs(expected).max()), name


def test_torques_come_out_where_motors_are_not_known(tmp_path: Path) -> None:
    arm = random_arm(5, 3, drives=False)
    source = controller_code(arm, "pd_gravity", name="servo", most=[3.0, 40.0, 1e6])
    assert "double tau[3]" in source.header
    assert "voltage" not in source.header
    function = library(source.files(), tmp_path).servo_step
    controller = PD(arm)
    for sample in samples(arm, 20, 2):
        expected = np.clip(controller.command(sample), [-3.0, -40.0, -1e6], [3.0, 40.0, 1e6])
        found = stepped(function, arm, sample, np.zeros(3))
        assert np.abs(found - expected).max() <= 1e-9  # 1e6 bounds a difference of which 1e-16 is rounding
        assert (np.abs(found[:2]) <= [3.0 + 1e-12, 40.0 + 1e-12]).all()


def test_gains_can_be_set_at_run_time(tmp_path: Path) -> None:
    arm = fa.load("puma560")
    source = controller_code(arm, "pid_gravity", open_gains=True, name="servo", period=2e-3)
    made = library(source.files(), tmp_path)
    rng = np.random.default_rng(1)
    gains = Gains(*(rng.uniform(10.0, 100.0, (3, 6))))
    fixed = controller_code(arm, "pid_gravity", gains=gains, name="fixed", period=2e-3)
    (tmp_path / "fixed").mkdir()
    other = library(fixed.files(), tmp_path / "fixed")
    k = np.full(18, np.nan)
    call(made.servo_prepare, np.concatenate([gains.kp, gains.kd, 2e-3 * gains.ki]), k)
    states = np.zeros(6), np.zeros(6)
    for sample in samples(arm, 10, 3):
        a = stepped(made.servo_step, arm, sample, states[0], k)
        b = stepped(other.fixed_step, arm, sample, states[1])
        assert np.abs(a - b).max() <= TOLERANCE * np.abs(b).max()
    assert states[0].any()
    assert np.array_equal(*states)


def test_without_friction_the_model_has_none() -> None:
    arm = fa.load("puma560")
    text = controller_code(arm, "computed_torque", friction=False).text
    assert "sign_of" not in text
    assert "sign_of" in controller_code(arm, "computed_torque").text
