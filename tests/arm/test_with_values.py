"""An arm with other numbers by name: each name changes its own number and no other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arms import random_arm
from drives.making import loaded_arm

import forearm as fa

SOFT = random_arm(2, 3, "modified", drives=False).with_drives(
    motor=fa.Motor(
        gear_ratio=-40.0, rotor_inertia=1e-4, torque_constant=0.1, resistance=2.0, inductance=1e-3
    ),
    friction=fa.Friction(
        coulomb=(0.3, -0.4),
        static=(0.5, -0.6),
        stribeck_speed=0.1,
        viscous=0.2,
        bristle_stiffness=900.0,
        bristle_damping=2.0,
    ),
    elasticity=fa.Elasticity(stiffness=800.0, damping=1.5, half_gap=1e-3),
)
ARMS = {"soft": SOFT, "bearings": loaded_arm("chain", 1, 3), "puma560": fa.load("puma560")}


@pytest.mark.parametrize("name", ARMS)
def test_a_name_changes_its_number_alone_and_its_own_changes_nothing(name: str) -> None:
    arm = ARMS[name]
    own = arm.named_values
    assert arm.with_values(own) == arm.with_values({}) == arm
    for key, x in own.items() if name != "puma560" else ():
        other = x + 1e-3 * (abs(x) or 1e-6)  # so little that bodies and friction can still exist
        made = arm.with_values({key: other}).named_values
        assert {k for k in own if made[k] != own[k]} == {key}
        assert made[key] == other


def test_gravity_and_tables() -> None:
    puma = fa.load("puma560")
    made = puma.with_values({"gravity.z": -1.62, "joint2.alpha": 0.3, "joint2.d": 0.25, "link2.mass": 9.0})
    assert np.array_equal(made.gravity, [*puma.gravity[:2], -1.62])
    joint: Any = made.joint("joint2").placement
    before: Any = puma.joint("joint2").placement
    assert (joint.alpha, joint.d, joint.a, joint.theta) == (0.3, 0.25, before.a, before.theta)
    assert made.link("link2").mass == 9.0
    assert made.joint("joint3") == puma.joint("joint3")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"link2.mas": 1.0},
            "with_values: 'puma560' has no parameter 'link2.mas'; did you mean 'link2.mass'",
        ),
        ({"joint1.elasticity.stiffness": 1.0}, "has no parameter 'joint1.elasticity.stiffness'"),
        ({"link2.mass": "heavy"}, "with_values, link2.mass: expected a number, got 'heavy'"),
        ({"link2.mass": -1.0}, "with_values, link 'link2', mass: must be at least 0"),
        ({"link2.inertia.xx": -1.0}, "with_values, link 'link2', inertia: must be positive semidefinite"),
        ({"joint1.motor.gear_ratio": 0.0}, "joint 'joint1', motor, gear_ratio: must not be 0"),
        ([1.0], "with_values: expected Mapping"),
    ],
    ids=lambda x: str(x)[:30] if isinstance(x, dict) else "",
)
def test_what_is_wrong_is_said(values: Any, message: str) -> None:
    with pytest.raises(fa.ForearmError, match=message):
        fa.load("puma560").with_values(values)
