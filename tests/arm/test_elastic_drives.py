"""Springs and bristles as data of an arm: what they take, their names, and what keeps or loses them."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest
from arms import posture, random_arm
from refusals import refused

import forearm as fa
from forearm import Arm, Elasticity, Friction, Motor
from forearm.control.model_error import perturbed, without_friction
from forearm.drives.parameters import drive_values
from forearm.dynamics.reference import inertial_parameters
from forearm.identification.new_arm import arm_with
from forearm.reduction.symbolic import chosen_parameters
from forearm.viewer.arm_code import open_parameters

MOTOR = Motor(gear_ratio=-53.0, rotor_inertia=3e-4)
SPRING = Elasticity(stiffness=5.2e3, damping=1.7, half_gap=2e-4, rotor_axis=(0.0, 0.6, -0.8))
CURVED = Elasticity(curve=((1e-3, 4.0), (3e-3, 21.0)), interpolation="spline", damping=0.4)
ROUGH = Friction(
    side="motor",
    viscous=1.3e-3,
    coulomb=(0.4, -0.5),
    static=(0.6, -0.7),
    stribeck_speed=2.0,
    bristle_stiffness=310.0,
    bristle_damping=0.9,
)


def soft() -> Arm:
    """Three joints: one with a spring and bristles, one with a curve, one rigid."""
    arm = random_arm(31, n=3)
    first, second, _ = (joint.name for joint in arm.joints)
    return arm.with_drives(
        {
            first: {"motor": MOTOR, "friction": ROUGH, "elasticity": SPRING},
            second: {
                "motor": MOTOR,
                "friction": dataclasses.replace(ROUGH, static=None, stribeck_speed=None),
                "elasticity": CURVED,
            },
        }
    )


# ------------------------------------------------------------------------------------------------- records


@pytest.mark.parametrize(
    ("cls", "given_", "words"),
    [
        (Elasticity, {}, "ModelError.*elasticity: expected either stiffness or a curve, got neither"),
        (Elasticity, {"stiffness": 1.0, "curve": ((1, 1),)}, "ModelError.*or a curve, got both"),
        (
            Elasticity,
            {"curve": 3},
            r"InputError.*elasticity, curve: expected a list of .*\[deflection, torque\]",
        ),
        (Elasticity, {"curve": [(0, 2)]}, "ModelError.*elasticity, curve.1..1.: must be above 0, got 0"),
        (
            Elasticity,
            {"curve": [(1, 2), (1, 3)]},
            "ModelError.*curve: both values of the pairs must increase",
        ),
        (
            Elasticity,
            {"stiffness": 1.0, "rotor_axis": (0, 0)},
            "InputError.*rotor_axis: expected a list of 3",
        ),
        (Elasticity, {"stiffness": 1.0, "rotor_axis": (0, 0, 0)}, "ModelError.*must not be 0 0 0"),
        (Friction, {"coulomb": 1, "bristle_damping": 1}, "ModelError.*requires bristle_stiffness"),
        (Friction, {"bristle_stiffness": 1}, r"ModelError.*must not be 0 in either direction; got"),
    ],
)
def test_refused(cls: type[Any], given_: dict[str, Any], words: str) -> None:
    with refused(words):
        cls(**given_)


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1e-160, 3.0, 1e29])
def test_the_axis_of_a_rotor_has_length_1_and_stays(size: float) -> None:
    made = Elasticity(stiffness=1.0, rotor_axis=(size, -2.0 * size, 2.0 * size))
    assert made.rotor_axis == pytest.approx((1 / 3, -2 / 3, 2 / 3), rel=1e-15)
    assert Elasticity(stiffness=1.0, rotor_axis=made.rotor_axis) == made
    assert Elasticity(stiffness=1.0, rotor_axis=np.array([0, 0, 7])).rotor_axis == (0.0, 0.0, 1.0)  # type: ignore[arg-type]


def test_records_are_compared_hashed_and_pickled() -> None:
    arm = soft()
    assert pickle.loads(pickle.dumps(arm)) == arm
    assert hash(arm) != hash(arm.with_drives({arm.joints[0].name: {"elasticity": {"damping": 1.8}}}))
    assert Elasticity(curve=[[1, 2], [2, 5]]).curve == ((1.0, 2.0), (2.0, 5.0))  # type: ignore[arg-type]


# --------------------------------------------------------------------------------------------- arms from arms


def test_with_drives_gives_changes_and_takes_away_springs() -> None:
    bare = random_arm(5, drives=False)
    name = bare.joints[1].name
    arm = bare.with_drives(motor=MOTOR)
    every = arm.with_drives(elasticity=SPRING)
    assert all(joint.elasticity == SPRING for joint in every.joints)
    one = every.with_drives({name: {"elasticity": {"damping": 0.2, "rotor_axis": None}}})
    assert one.joint(name).elasticity == dataclasses.replace(SPRING, damping=0.2, rotor_axis=None)
    assert one.with_drives(elasticity=None) == arm
    fresh = arm.with_drives({name: {"elasticity": {"stiffness": 9.0}}})
    assert fresh.joint(name).elasticity == Elasticity(stiffness=9.0)
    with refused("ModelError.*a spring needs a rotor that moves by itself"):
        every.with_drives({name: {"motor": None}})
    with refused("ModelError.*a spring needs a rotor that moves by itself"):
        bare.with_drives(elasticity=SPRING)


def test_rigid_arms_and_locked_joints_have_no_spring() -> None:
    arm = soft()
    assert not any(joint.elasticity for joint in arm.rigid().tree)
    held = arm.joints[0].name
    locked = arm.lock({held: float(posture(arm, 1)[0])})
    assert locked.joint(held).elasticity is None
    assert [j.elasticity for j in locked.joints] == [j.elasticity for j in arm.joints[1:]]
    assert not any(name.startswith(f"{held}.") for name in locked.named_values)


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.with_payload(1.0, (0.1, 0.2, 0.3)),
        lambda a: a.snap_angles(),
        lambda a: a.replace(gravity=(0.0, 0.0, 1.0)),
        lambda a: arm_with(a, inertial_parameters(a), {f"{a.joints[0].name}.friction.viscous": 2e-3})[0],
        without_friction,
    ],
)
def test_other_changes_keep_springs(change: Any) -> None:
    arm = soft()
    assert [j.elasticity for j in change(arm).joints] == [j.elasticity for j in arm.joints]


def test_identified_friction_keeps_its_bristles_as_long_as_they_can_slip() -> None:
    arm = soft()
    name = arm.joints[0].name
    same, notes = arm_with(arm, inertial_parameters(arm), drive_values(arm))
    assert (same, notes) == (arm, ())
    made, notes = arm_with(arm, inertial_parameters(arm), {f"{name}.friction.coulomb.positive": 0.3})
    assert made.joint(name).friction == dataclasses.replace(ROUGH, coulomb=(0.3, -0.5))
    assert notes == ()
    made, notes = arm_with(arm, inertial_parameters(arm), {f"{name}.friction.coulomb.positive": 0.0})
    friction = made.joint(name).friction
    assert friction is not None
    assert (friction.bristle_stiffness, friction.bristle_damping, friction.static) == (None, 0.0, (0.6, -0.7))
    assert notes == (f"{name}: its bristle model is removed, as Coulomb friction is 0.",)


def test_mistaken_arms_have_other_springs_and_bristles_within_the_share() -> None:
    arm = soft()
    off = perturbed(arm, 0.1, seed=3)
    springs = "elasticity.stiffness", "elasticity.damping", "elasticity.half_gap"
    names = [f"{arm.joints[0].name}.{key}" for key in (*springs, "friction.bristle_stiffness")]
    shares = [off.named_values[name] / arm.named_values[name] for name in names]
    curve: Any = off.joints[1].elasticity
    bent = [a[1] / b[1] for a, b in zip(curve.curve, CURVED.curve, strict=True)]
    assert all(0.9 <= share <= 1.1 and share != 1.0 for share in (*shares, *bent))
    assert len(set(np.round(shares, 12))) == 4
    assert bent[0] == pytest.approx(bent[1], rel=1e-15)
    assert [x for x, _ in curve.curve] == [x for x, _ in CURVED.curve]
    first: Any = off.joints[0].elasticity
    assert first.rotor_axis == SPRING.rotor_axis
    assert off.joints[2].elasticity is None
    assert perturbed(arm, 0.0) == arm


# ------------------------------------------------------------------------------------------- numbers by name


def test_their_numbers_have_names() -> None:
    arm = soft()
    first, second = (joint.name for joint in arm.joints[:2])
    found = {name: x for name, x in arm.named_values.items() if "elasticity" in name or "bristle" in name}
    assert found == {
        f"{first}.elasticity.stiffness": 5.2e3,
        f"{first}.elasticity.damping": 1.7,
        f"{first}.elasticity.half_gap": 2e-4,
        f"{first}.friction.bristle_stiffness": 310.0,
        f"{first}.friction.bristle_damping": 0.9,
        f"{second}.elasticity.damping": 0.4,
        f"{second}.elasticity.half_gap": 0.0,
        f"{second}.friction.bristle_stiffness": 310.0,
        f"{second}.friction.bristle_damping": 0.9,
    }


def test_a_changed_number_of_a_spring_loses_its_deviation() -> None:
    arm = soft()
    known = arm.replace(deviations=dict.fromkeys(arm.named_values, 1e-3))
    start = arm.joints[0].name
    other = known.with_drives(
        {start: {"elasticity": {"stiffness": 6e3}, "friction": {"bristle_damping": 1.0}}}
    )
    lost = set(known.deviations) - set(other.deviations)
    assert lost == {f"{start}.elasticity.stiffness", f"{start}.friction.bristle_damping"}


def test_they_are_no_parameters_of_functions_without_a_state() -> None:
    """Torques do not depend on them, so no code, page or FMU has them as inputs."""
    arm = soft()
    stiff = arm.with_drives(elasticity=None)
    plain = stiff.with_drives(
        {j.name: {"friction": {"bristle_stiffness": None, "bristle_damping": 0.0}} for j in arm.joints[:2]}
    )
    names = drive_values(plain)
    assert drive_values(arm) == names
    assert chosen_parameters(arm, ["drives"]) == names
    assert open_parameters(arm) == open_parameters(plain)
    with refused(r"NameNotFound.*there is no 'joint1\.elasticity'"):
        chosen_parameters(arm, ["joint1.elasticity"])


# ------------------------------------------------------------------------------------------------- in words


def test_an_arm_shows_its_springs_and_bristles() -> None:
    arm = fa.load("puma560").with_drives(
        {"joint1": {"elasticity": SPRING, "friction": ROUGH}, "joint2": {"elasticity": CURVED}}
    )
    text = str(arm.replace(deviations={"joint1.elasticity.stiffness": 40.0}))
    springs, bristles = text.split("Springs between")[1].split("Bristles of")
    assert bristles.split()[-7:] == ["joint1", "310", "0.9", "0.07393", "-0.09241", "deg", "motor"]
    rows = [line.split() for line in springs.splitlines() if line.startswith("joint")]
    own = f"joint1 5200 40 1.7 0.0002 {62.6111**2 * 2e-4:.6g} 0 0.6 -0.8"
    assert own.split() in rows
    assert ["joint2", "4000", "to", "8500", "-"] in [row[:5] for row in rows]
    assert "elastic between motor and link: joint1, joint2\n" in text
    assert "elastic, LuGre, Stribeck" in text
    assert "elastic between motor and link: all joints\n" in str(arm.with_drives(elasticity=SPRING))
    assert "<caption" in arm._repr_html_()
    rigid = str(fa.load("puma560"))
    assert not any(word in rigid for word in ("lastic", "Springs", "Bristles", "LuGre"))
