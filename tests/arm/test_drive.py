"""Motors, friction, bearings and transmissions: what they take, what they refuse and in which words."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forearm import (
    Bearing,
    ForearmError,
    Frame,
    Friction,
    InputError,
    Joint,
    ModelError,
    Motor,
    NameNotFound,
    Transmission,
)
from forearm.arm.joint import Kind

TABLE = ((0.1, 0.4), (0.5, 0.7), (1.0, 0.8))


@given(st.floats(0.01, 500.0), st.floats(0.0, 1.0), st.booleans())
def test_reflected_inertia(ratio: float, rotor: float, reverse: bool) -> None:
    motor = Motor(gear_ratio=-ratio if reverse else ratio, rotor_inertia=rotor)
    assert motor.reflected_inertia == pytest.approx(ratio * ratio * rotor, rel=1e-15)


def test_the_rotor_turns_with_the_gear_squared() -> None:
    # The puma's second joint: 107.815^2 x 2e-4 kg m^2.
    assert Motor(gear_ratio=107.815, rotor_inertia=2e-4).reflected_inertia == pytest.approx(
        2.32481484, rel=1e-8
    )
    assert Motor().reflected_inertia == 0.0


def test_the_largest_gear_can_be_computed_with() -> None:
    assert Motor(gear_ratio=-1e30, rotor_inertia=1e30).reflected_inertia == pytest.approx(1e90)
    with pytest.raises(InputError, match="motor, gear_ratio: no number may exceed 1e"):
        Motor(gear_ratio=1e200)


@pytest.mark.parametrize(
    ("cls", "given_", "error", "words"),
    [
        (
            Motor,
            {"gear_ratio": 0},
            ModelError,
            ["motor, gear_ratio", "must not be 0", "1 for a direct drive"],
        ),
        (Motor, {"gear_ratio": math.nan}, InputError, ["motor, gear_ratio", "finite", "nan"]),
        (Motor, {"gear_ratio": "ten"}, InputError, ["motor, gear_ratio", "expected a number", "'ten'"]),
        (Motor, {"rotor_inertia": -1e-4}, ModelError, ["motor, rotor_inertia", "at least 0", "-0.0001"]),
        (Motor, {"torque_constant": 0.0}, ModelError, ["motor, torque_constant", "above 0"]),
        (Motor, {"resistance": -1.0}, ModelError, ["motor, resistance", "above 0", "-1"]),
        (Motor, {"inductance": -1.0}, ModelError, ["motor, inductance", "at least 0", "-1"]),
        (
            Motor,
            {"amplifier_gain": 0.0},
            ModelError,
            ["motor, amplifier_gain", "must not be 0", "leave it out"],
        ),
        (Motor, {"max_voltage": math.inf}, InputError, ["motor, max_voltage", "finite", "inf"]),
        (Motor, {"max_current": 0}, ModelError, ["motor, max_current", "above 0"]),
        (Motor, {"rotor_inertia": True}, InputError, ["motor, rotor_inertia", "expected a number", "True"]),
        (Friction, {"side": "both"}, NameNotFound, ["friction, side", "joint, motor", "'both'"]),
        (Friction, {"viscous": -0.1}, ModelError, ["friction, viscous", "at least 0", "-0.1"]),
        (Friction, {"coulomb": -0.3}, ModelError, ["friction, coulomb", "at least 0", "-0.3"]),
        (Friction, {"coulomb": "0.3"}, InputError, ["friction, coulomb", "a number, or a pair", "'0.3'"]),
        (
            Friction,
            {"coulomb": (0.1, 0.2)},
            ModelError,
            ["friction, coulomb", "qd < 0", "at most 0", "write (0.1, -0.2)"],
        ),
        (Friction, {"coulomb": (-0.1, -0.2)}, ModelError, ["friction, coulomb", "at least 0", "-0.1"]),
        (Friction, {"coulomb": (0.1, -0.2, 0.0)}, InputError, ["friction, coulomb", "a pair"]),
        (Friction, {"static": (0.2, -0.2)}, ModelError, ["static and stribeck_speed go together"]),
        (Friction, {"stribeck_speed": 0.1}, ModelError, ["static and stribeck_speed go together"]),
        (
            Friction,
            {"coulomb": (0.3, -0.3), "static": (0.2, -0.4), "stribeck_speed": 0.1},
            ModelError,
            ["friction, static", "not be smaller than coulomb", "(0.2, -0.4)"],
        ),
        (
            Friction,
            {"coulomb": (0.3, -0.3), "static": (0.4, -0.2), "stribeck_speed": 0.1},
            ModelError,
            ["friction, static", "not be smaller than coulomb", "(0.4, -0.2)"],
        ),
        (
            Friction,
            {"static": (0.2, -0.2), "stribeck_speed": 0.0},
            ModelError,
            ["friction, stribeck_speed", "above 0"],
        ),
        (
            Bearing,
            {"kind": "ball", "mu": 0.1},
            NameNotFound,
            ["bearing, kind", "journal, linear, thrust", "'ball'"],
        ),
        (
            Bearing,
            {"kind": "thrust", "mu": -0.1, "radius": 0.1},
            ModelError,
            ["bearing, mu", "at least 0", "-0.1"],
        ),
        (
            Bearing,
            {"kind": "journal", "mu": 0.1, "distance": 0.1},
            ModelError,
            ["bearing, radius", "needs one"],
        ),
        (
            Bearing,
            {"kind": "journal", "mu": 0.1, "radius": 0.1},
            ModelError,
            ["bearing, distance", "needs one"],
        ),
        (
            Bearing,
            {"kind": "linear", "mu": 0.1, "radius": 0.1, "distance": 0.2},
            ModelError,
            ["bearing, radius", "has none"],
        ),
        (
            Bearing,
            {"kind": "thrust", "mu": 0.1, "radius": 0.1, "distance": 0.2},
            ModelError,
            ["distance", "has none"],
        ),
        (
            Bearing,
            {"kind": "linear", "mu": 0.1, "distance": 0.0},
            ModelError,
            ["bearing, distance", "above 0"],
        ),
        (
            Bearing,
            {"kind": "thrust", "mu": 0.1, "radius": 0.1, "offset": math.inf},
            InputError,
            ["bearing, offset"],
        ),
        (Transmission, {"efficiency": TABLE, "rated_torque": 0.0}, ModelError, ["rated_torque", "above 0"]),
        (
            Transmission,
            {"efficiency": TABLE, "rated_torque": 1.0, "breakaway": -1.0},
            ModelError,
            ["transmission, breakaway", "at least 0", "-1"],
        ),
        (
            Transmission,
            {"efficiency": TABLE, "rated_torque": 1.0, "interpolation": "cubic"},
            NameNotFound,
            ["transmission, interpolation", "linear, spline", "'cubic'"],
        ),
        (
            Transmission,
            {"efficiency": (), "rated_torque": 1.0},
            ModelError,
            ["efficiency", "at least one pair"],
        ),
        (
            Transmission,
            {"efficiency": 0.8, "rated_torque": 1.0},
            InputError,
            ["efficiency", "[load, efficiency]"],
        ),
        (
            Transmission,
            {"efficiency": ((0.1, 0.5, 0.6),), "rated_torque": 1.0},
            InputError,
            ["efficiency", "[load, efficiency]"],
        ),
        (
            Transmission,
            {"efficiency": ((0.5, 0.5), (0.5, 0.6)), "rated_torque": 1.0},
            ModelError,
            ["efficiency", "increasing loads"],
        ),
        (
            Transmission,
            {"efficiency": ((0.5, 0.0),), "rated_torque": 1.0},
            ModelError,
            ["efficiency", "above 0"],
        ),
        (Transmission, {"efficiency": ((0.5, 1.1),), "rated_torque": 1.0}, ModelError, ["at most 1", "1.1"]),
        (
            Transmission,
            {"efficiency": ((-0.5, 0.9),), "rated_torque": 1.0},
            ModelError,
            ["at least 0", "-0.5"],
        ),
    ],
)
def test_refused(cls: type[Any], given_: dict[str, Any], error: type[ForearmError], words: list[str]) -> None:
    with pytest.raises(error) as caught:
        cls(**given_)
    assert type(caught.value) is error
    for word in words:
        assert word in str(caught.value)


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
    ("kind", "bearing", "fits"),
    [
        ("revolute", Bearing(kind="journal", mu=0.1, radius=0.02, distance=0.1), True),
        ("revolute", Bearing(kind="thrust", mu=0.1, radius=0.02), True),
        ("revolute", Bearing(kind="linear", mu=0.1, distance=0.1), False),
        ("prismatic", Bearing(kind="linear", mu=0.1, distance=0.1), True),
        ("prismatic", Bearing(kind="thrust", mu=0.1, radius=0.02), False),
        ("prismatic", Bearing(kind="journal", mu=0.1, radius=0.02, distance=0.1), False),
    ],
)
def test_bearings_fit_the_joint(kind: Kind, bearing: Bearing, fits: bool) -> None:
    def make() -> Joint:
        return Joint(name="j", kind=kind, parent="a", child="b", placement=Frame(), bearings=(bearing,))

    if fits:
        assert make().has_drive
    else:
        with pytest.raises(
            ModelError, match=rf"joint 'j', bearing: a {kind} joint cannot have a {bearing.kind}"
        ):
            make()


@pytest.mark.parametrize(
    "drive",
    [
        {"motor": Motor()},
        {"friction": Friction()},
        {"bearings": (Bearing(kind="thrust", mu=0.1, radius=0.02),)},
    ],
)
def test_a_fixed_joint_has_no_drive(drive: dict[str, object]) -> None:
    with pytest.raises(ModelError, match="joint 'j': a fixed joint cannot have a motor"):
        Joint(name="j", kind="fixed", parent="a", child="b", placement=Frame(), **drive)  # type: ignore[arg-type]
