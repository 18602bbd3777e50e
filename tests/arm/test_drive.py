"""Motors, friction, bearings and transmissions: what they take, what they refuse and in which words."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from refusals import refused

from forearm import Bearing, Frame, Friction, Joint, Motor, Transmission

TABLE = ((0.1, 0.4), (0.5, 0.7), (1.0, 0.8))
SOUND: dict[type[Any], dict[str, Any]] = {
    Bearing: {"kind": "thrust", "mu": 0.1},
    Transmission: {"efficiency": TABLE, "rated_torque": 1.0},
}


@pytest.mark.parametrize("ratio", [-500.0, -0.01, 107.815])
def test_the_rotor_turns_with_the_gear_squared(ratio: float) -> None:
    assert Motor(gear_ratio=ratio, rotor_inertia=2e-4).reflected_inertia == pytest.approx(
        ratio * ratio * 2e-4, rel=1e-15
    )


def test_the_largest_gear_can_be_computed_with() -> None:
    assert Motor(gear_ratio=-1e30, rotor_inertia=1e30).reflected_inertia == pytest.approx(1e90)
    with refused("InputError.*motor, gear_ratio: no number may exceed 1e"):
        Motor(gear_ratio=1e200)


@pytest.mark.parametrize(
    ("cls", "given_", "words"),
    [
        (Motor, {"gear_ratio": 0}, "ModelError.*motor, gear_ratio.*must not be 0.*1 for a direct drive"),
        (Motor, {"gear_ratio": "ten"}, "InputError.*motor, gear_ratio.*expected a number.*'ten'"),
        (Motor, {"rotor_inertia": -1e-4}, "ModelError.*motor, rotor_inertia.*at least 0.*-0.0001"),
        (Motor, {"inductance": -1.0}, "ModelError.*motor, inductance.*at least 0.*-1"),
        (Motor, {"amplifier_gain": 0.0}, "ModelError.*motor, amplifier_gain.*must not be 0.*leave it out"),
        (Motor, {"max_voltage": math.inf}, "InputError.*motor, max_voltage.*finite.*inf"),
        (Friction, {"side": "both"}, "NameNotFound.*friction, side.*joint, motor.*'both'"),
        (Friction, {"viscous": -0.1}, "ModelError.*friction, viscous.*at least 0.*-0.1"),
        (Friction, {"coulomb": -0.3}, "ModelError.*friction, coulomb.*at least 0.*-0.3"),
        (Friction, {"coulomb": "0.3"}, "InputError.*friction, coulomb.*a number, or a pair.*'0.3'"),
        (
            Friction,
            {"coulomb": (0.1, 0.2)},
            r"ModelError.*friction, coulomb.*qd < 0.*at most 0.*write \(0.1, -0.2\)",
        ),
        (Friction, {"stribeck_speed": 0.1}, "ModelError.*static and stribeck_speed go together"),
        (
            Friction,
            {"coulomb": (0.3, -0.3), "static": (0.2, -0.4), "stribeck_speed": 0.1},
            r"ModelError.*friction, static.*not be smaller than coulomb.*\(0.2, -0.4\)",
        ),
        (
            Friction,
            {"static": (0.2, -0.2), "stribeck_speed": 0.0},
            "ModelError.*friction, stribeck_speed.*above 0",
        ),
        (Bearing, {"kind": "ball"}, "NameNotFound.*bearing, kind.*journal, linear, thrust.*'ball'"),
        (Bearing, {"mu": -0.1, "radius": 0.1}, "ModelError.*bearing, mu.*at least 0.*-0.1"),
        (Bearing, {"kind": "journal", "distance": 0.1}, "ModelError.*bearing, radius.*needs one"),
        (Bearing, {"kind": "journal", "radius": 0.1}, "ModelError.*bearing, distance.*needs one"),
        (
            Bearing,
            {"kind": "linear", "radius": 0.1, "distance": 0.2},
            "ModelError.*bearing, radius.*has none",
        ),
        (Bearing, {"radius": 0.1, "distance": 0.2}, "ModelError.*distance.*has none"),
        (Bearing, {"kind": "linear", "distance": 0.0}, "ModelError.*bearing, distance.*above 0"),
        (Transmission, {"rated_torque": 0.0}, "ModelError.*rated_torque.*above 0"),
        (Transmission, {"breakaway": -1.0}, "ModelError.*transmission, breakaway.*at least 0.*-1"),
        (
            Transmission,
            {"interpolation": "cubic"},
            "NameNotFound.*transmission, interpolation.*linear, spline.*'cubic'",
        ),
        (Transmission, {"efficiency": ()}, "ModelError.*efficiency.*at least one pair"),
        (Transmission, {"efficiency": 0.8}, r"InputError.*efficiency.*\[load, efficiency\]"),
        (
            Transmission,
            {"efficiency": ((0.5, 0.5), (0.5, 0.6))},
            "ModelError.*efficiency: the first values of the pairs must increase",
        ),
        (Transmission, {"efficiency": ((0.5, 1.1),)}, "ModelError.*at most 1.*1.1"),
    ],
)
def test_refused(cls: type[Any], given_: dict[str, Any], words: str) -> None:
    with refused(words):
        cls(**(SOUND.get(cls, {}) | given_))


def test_borders_are_taken() -> None:
    assert Motor(gear_ratio=-0.5, inductance=0.0, rotor_inertia=0.0).reflected_inertia == 0.0
    assert Friction(coulomb=(0.3, -0.3), static=(0.3, -0.3), stribeck_speed=5e-324).static == (0.3, -0.3)
    assert Bearing(kind="thrust", mu=0.0, radius=5e-324).radius == 5e-324
    assert Transmission(efficiency=((0.0, 1.0),), rated_torque=5e-324).efficiency == ((0.0, 1.0),)


def test_numbers_of_numpy_become_floats_and_lists_tuples() -> None:
    motor = Motor(gear_ratio=np.float32(2.5), max_current=np.int64(3))  # type: ignore[arg-type]
    assert type(motor.gear_ratio) is float
    assert type(motor.max_current) is float
    friction = Friction(coulomb=[1, -2])  # type: ignore[arg-type]
    assert friction.coulomb == (1.0, -2.0)
    transmission = Transmission(efficiency=[[0, 0.5], [1, 0.75]], rated_torque=3)  # type: ignore[arg-type]
    assert transmission.efficiency == ((0.0, 0.5), (1.0, 0.75))
    assert transmission == pickle.loads(pickle.dumps(transmission))
    assert len({transmission, pickle.loads(pickle.dumps(transmission))}) == 1


def test_one_number_of_dry_friction_stands_for_both_directions() -> None:
    one = Friction(coulomb=0.3, static=np.float32(0.5), stribeck_speed=0.1)  # type: ignore[arg-type]
    assert one == Friction(coulomb=(0.3, -0.3), static=(0.5, -0.5), stribeck_speed=0.1)
    assert math.copysign(1.0, Friction(coulomb=0).coulomb[1]) == 1.0


@pytest.mark.parametrize(
    ("bearing", "kinds"),
    [
        (Bearing(kind="journal", mu=0.1, radius=0.02, distance=0.1), ["revolute"]),
        (Bearing(kind="thrust", mu=0.1, radius=0.02), ["revolute"]),
        (Bearing(kind="linear", mu=0.1, distance=0.1), ["prismatic"]),
    ],
)
def test_bearings_fit_the_joint(bearing: Bearing, kinds: list[str]) -> None:
    def make(kind: Any) -> Joint:
        return Joint(name="j", kind=kind, parent="a", child="b", placement=Frame(), bearings=(bearing,))

    for kind in ("revolute", "prismatic"):
        if kind in kinds:
            assert make(kind).has_drive
        else:
            with refused(f"ModelError: joint 'j', bearing: a {kind} joint cannot have a {bearing.kind}"):
                make(kind)
    with refused("ModelError: joint 'j': a fixed joint cannot have a motor"):
        make("fixed")
