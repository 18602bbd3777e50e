"""Controllers in the hand's space as C against those in Python, sample by sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from control.compiled_c import call, library
from control.hand_models import hand_sample
from control.test_code import volts, with_motors

from forearm import Arm, control
from forearm.control.code import controller_code
from forearm.control.hand_laws import HAND_LAWS

pytestmark = pytest.mark.slow
AGREE = 1e-12  # of what the spring, the model and the motors make of a sample, the largest of them
ARMS: dict[str, Callable[[], Arm]] = {
    "six joints": lambda: with_motors(random_arm(31, 6, prismatic=False, drives=False)),
    "four joints and friction": lambda: with_motors(random_arm(33, 4), max_voltage=30.0, max_current=5.0),
    "three joints without motors": lambda: random_arm(33, 3, drives=False),
}
MADE: dict[str, Callable[[Arm], Any]] = {
    **HAND_LAWS,
    "impedance, whole": lambda arm: control.Impedance(
        arm, np.diag([300.0, 400.0, 500.0]) + 50.0, 20.0, axes="xyz", feedforward=True, velocity_terms=True
    ),
    "operational space with a posture": lambda arm: control.OperationalSpace(
        arm, axes=["x", "z"], posture=np.linspace(0.1, 0.4, arm.n), avoid_limits=30.0
    ),
}


def asked(arm: Arm, count: int) -> list[control.Sample]:
    """Samples away from singular postures, in which what is wanted ahead is what is wanted now."""
    rng = np.random.default_rng(3)
    made = [hand_sample(arm, seed) for seed in range(count)]
    return [replace(s, k=k, t=1e-3 * k, ahead=s.wanted, force=rng.normal(size=6)) for k, s in enumerate(made)]


def expected(arm: Arm, tau: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, float]:
    """What comes out, and the largest number on the way to it."""
    if arm.joints[0].motor is None:
        bound = np.array([np.inf if j.max_effort is None else j.max_effort for j in arm.joints])
        return np.clip(tau, -bound, bound), float(np.abs(tau).max())
    return volts(arm, tau, qd), float(np.abs(volts(arm, np.sign(tau) * np.abs(tau).max(), qd)).max())


@pytest.mark.parametrize(
    ("law", "name"),
    [
        ("impedance", "four joints and friction"),
        ("impedance, whole", "three joints without motors"),
        ("operational_space", "four joints and friction"),
        ("operational space with a posture", "four joints and friction"),
        ("admittance", "three joints without motors"),
        ("gravity_compensation", "six joints"),
    ],
)
def test_c_agrees_with_python_sample_by_sample(law: str, name: str, tmp_path: Path) -> None:
    arm = ARMS[name]()
    controller = MADE[law](arm)
    source = controller_code(arm, law if law in HAND_LAWS else controller, name="servo")
    function = library(source.files(), tmp_path).servo_step
    reads = controller.law.reads
    state = np.zeros(reads.get("state", arm.n))
    out = np.empty(arm.n)
    for sample in asked(arm, 20):
        tau = controller.command(sample)
        truth, size = expected(arm, tau, sample.qd)
        arrays = [np.ascontiguousarray(x) for x in (sample.q, sample.qd, *sample.wanted)]
        arrays += [np.asarray(sample.force)] if "force" in reads else []
        call(function, *arrays, state, out)
        assert np.abs(out - truth).max() <= AGREE * size
        assert np.isfinite(truth).all()
    if "state" in reads:
        assert np.abs(state - controller.state).max() <= 1e-12
        assert state.any()
    else:
        assert not state.any()


def test_the_text_says_what_it_is_and_counts_what_the_controller_does() -> None:
    arm = random_arm(33, 3, drives=False)
    source = controller_code(arm, "admittance", period=2e-3)
    assert "random33_admittance_step(" in source.header
    assert "const double force[6]" in source.header
    assert "double state[6]" in source.header
    assert "once a period of 0.002 s" in source.header
    assert "how far the force has moved the reference" in source.header
    controller = control.OperationalSpace(arm)
    text = controller_code(arm, controller)
    bounded = sum(joint.max_effort is not None for joint in arm.joints)
    assert text.counts.operations == controller.operations + 2 * bounded, "a torque ends at two bounds"
    assert text.text == controller_code(arm, "operational_space").text
