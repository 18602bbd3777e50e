"""Every number of a drive's friction reaches every place that computes with it. A number that is new in
`Friction` is added to FULL, and these tests say where it is still missing.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from arms import random_arm

import forearm as fa
from forearm.arm.elastic import expanded
from forearm.arm.named_values import friction_values, values_of
from forearm.drives.friction import friction_torque

FULL: dict[str, Any] = {
    "viscous": 0.37,
    "coulomb": (0.8, -1.1),
    "static": (1.7, -2.6),
    "stribeck_speed": 1.5,
    "bristle_stiffness": 4e3,
    "bristle_damping": 11.0,
}
SPEEDS = (-1.3, -0.4, 0.2, 0.9)
MOTOR = fa.Motor(gear_ratio=-2.0, rotor_inertia=1e-3)
STATE = np.random.default_rng(5).uniform(-0.8, 0.8, (3, 3))
VISIBLE = 1e-5  # of the torque: what 1 % of any number changes it by, at least; rounding is 1e-15
SIDES = pytest.mark.parametrize("side", ["joint", "motor"])


def full(side: Literal["joint", "motor"]) -> fa.Friction:
    return fa.Friction(side=side, **FULL)


def arm_with(friction: fa.Friction) -> fa.Arm:
    return random_arm(8, 3, drives=False).with_drives(motor=MOTOR, friction=friction)


def test_every_field_is_there_and_has_a_name() -> None:
    assert {field.name for field in dataclasses.fields(fa.Friction)} == {"side", *FULL}
    assert {name.split(".")[0] for name in values_of(full("joint"))} == FULL.keys()


@SIDES
def test_each_number_moves_the_torques_of_the_reference_and_of_compiled_code(side: Any) -> None:
    arm = arm_with(full(side))
    names = [f"joint1.friction.{name}" for name in friction_values(full(side))]
    kernel, own = fa.compile(arm, parameters=names), fa.dynamics.inverse(arm, *STATE)
    assert np.allclose(kernel.inverse_dynamics(*STATE), own, rtol=1e-12)
    state = STATE.copy()
    for direction in (1.0, -1.0):
        state[1] = 0.7 * direction
        before, moved = fa.dynamics.inverse(arm, *state), set()
        for name in names:
            changed = {name: 1.01 * kernel.parameters[name]}
            other = arm.with_values(changed)
            after = fa.dynamics.inverse(other, *state)
            assert np.allclose(kernel.inverse_dynamics(*state, parameters=changed), after, rtol=1e-12), name
            if abs(after[0] - before[0]) > VISIBLE * abs(before[0]):
                moved.add(name)
        way = "negative" if direction > 0.0 else "positive"
        assert moved == {name for name in names if not name.endswith(way)}


@SIDES
def test_scaled_friction_is_so_many_times_the_torque(side: Any) -> None:
    friction = arm_with(full(side)).scale_friction(2.5).joints[0].friction
    assert friction is not None
    for v in SPEEDS:
        scaled, own = (friction_torque(f, v, float(np.sign(v))) for f in (friction, full(side)))
        assert scaled == pytest.approx(2.5 * own, rel=1e-14)
    assert friction.bristle_stiffness == 2.5 * FULL["bristle_stiffness"]
    assert friction.bristle_damping == 2.5 * FULL["bristle_damping"]


@SIDES
def test_an_arm_file_keeps_every_number(side: Any, tmp_path: Path) -> None:
    arm = arm_with(full(side))
    arm.save(tmp_path / "arm.toml")
    assert fa.load(tmp_path / "arm.toml") == arm


def test_elastic_joints_expand_with_every_number() -> None:
    """On its own shaft, the motor rubs as it does seen from the joint."""
    arm = arm_with(full("motor")).with_drives(
        elasticity=fa.Elasticity(stiffness=1e4, rotor_axis=(0.0, 0.0, 1.0))
    )
    rotors = [joint for joint in expanded(arm).tree if joint.friction is not None]
    assert rotors
    N = abs(MOTOR.gear_ratio)
    for joint in rotors:
        assert joint.friction is not None
        for v in SPEEDS:
            there = friction_torque(joint.friction, v, float(np.sign(v)))
            assert there == pytest.approx(
                N * friction_torque(full("motor"), N * v, float(np.sign(v))), rel=1e-13
            )
