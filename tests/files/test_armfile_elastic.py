"""Elastic joints, backlash and bristles in an arm file come back to the last bit; what is wrong is named."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from arms import random_arm
from refusals import refused

from forearm import Arm, Elasticity, Friction, LossWarning, load
from forearm.files.armfile import json_schema
from forearm.files.armfile_read import arm_from_document
from forearm.files.armfile_write import arm_text, to_document
from forearm.reading.textfile import parse_toml

VALIDATOR = jsonschema.Draft202012Validator(json_schema())
MOTOR = "motor = { gear_ratio = 50, rotor_inertia = 2e-5 }\n"
TWO = """
schema = "forearm-arm/1"
name = "two"
[[joint]]
name = "turn"
kind = "revolute"
frame = {{ xyz = [0, 0, 0.3] }}
{turn}
[[joint]]
name = "slide"
kind = "prismatic"
frame = {{ rpy = [0.2, 0, 0] }}
{slide}
[[link]]
name = "link1"
mass = 2
com = [0.1, 0.2, 0.3]
[[link]]
name = "link2"
mass = 1
"""


def document_of(turn: str = "", slide: str = "") -> dict[str, Any]:
    return tomllib.loads(TWO.format(turn=turn, slide=slide))


def read(turn: str = "", slide: str = "") -> Arm:
    return arm_from_document(document_of(turn, slide), "two.toml")


def read_back(arm: Arm) -> Arm:
    return arm_from_document(parse_toml(arm_text(arm).encode(), "arm.toml"), "arm.toml")


# -------------------------------------------------------------------------------- round trip


def test_arms_of_every_kind_come_back(tmp_path: Path) -> None:
    spring = Elasticity(
        curve=((1e-3, 11.0), (2.5e-3, 40.0)), interpolation="spline", rotor_axis=(1.0, 2.0, -3.0), damping=0.3
    )
    for arm in (random_arm(3, tree=True, mimic=True), random_arm(5, convention="standard")):
        soft = arm.with_drives(elasticity=spring)
        soft.save(tmp_path / "soft.toml")
        assert load(tmp_path / "soft.toml") == soft
        assert tomllib.loads(arm_text(soft)) == to_document(soft)
        VALIDATOR.validate(to_document(soft))


def test_what_is_not_there_is_not_written() -> None:
    arm = read(turn=MOTOR + "elasticity = { stiffness = 5200 }\n")
    assert to_document(arm)["joint"][0]["elasticity"] == {
        "stiffness": 5200.0,
        "interpolation": "linear",
        "damping": 0.0,
        "half_gap": 0.0,
    }


# -------------------------------------------------------------------------------- what it means


def test_tables_of_their_own_mean_the_same_as_inline() -> None:
    apart = """
[joint.motor]
gear_ratio = 50
rotor_inertia = 2e-5
[joint.friction]
side = "motor"
coulomb = 0.02
bristle_stiffness = 20
bristle_damping = 0.1
[joint.elasticity]
curve = [[0.001, 8], [0.003, 30]]
interpolation = "spline"
damping = 4
half_gap = "0.02 deg"
rotor_axis = [0, 3, 4]
"""
    joint = read(turn=apart).joint("turn")
    assert joint.elasticity == Elasticity(
        curve=((0.001, 8.0), (0.003, 30.0)),
        interpolation="spline",
        damping=4.0,
        half_gap=math.radians(0.02),
        rotor_axis=(0.0, 0.6, 0.8),
    )
    rough = Friction(side="motor", coulomb=0.02, bristle_stiffness=20.0, bristle_damping=0.1)
    assert joint.friction == rough
    VALIDATOR.validate(document_of(turn=apart))


# -------------------------------------------------------------------------------- refused

SPRING = "elasticity = {{ {} }}\n"
RUB = 'friction = {{ side = "joint", {} }}\n'
# what is written at the turning joint, the place and words of the error; the schema knows those of WRONG
WRONG = [
    ("elasticity = 5200\n", "elasticity: expected Elasticity or a table .*, got 5200"),
    (SPRING.format("stifness = 1"), "elasticity: .*unknown key 'stifness'; did you mean 'stif"),
    (SPRING.format("stiffness = 0"), "elasticity, stiffness: .*must be above 0, got 0"),
    (SPRING.format('stiffness = "hard"'), "elasticity, stiffness: .*expected a number, got 'hard'"),
    (SPRING.format("stiffness = 9, damping = -1"), "elasticity, damping: .*must be at least 0, got -1"),
    (SPRING.format("curve = [1, 2]"), r"elasticity, curve\[1\]: .*expected a list of 2 values, got 1"),
    (SPRING.format("curve = 3"), r"elasticity, curve: .*Wanted: \[\[deflection, torque\], ...\]"),
    (SPRING.format("curve = [[1, -2]]"), r"elasticity, curve\[1\]\[2\]: .*must be above 0, got -2"),
    (
        SPRING.format('stiffness = 9, interpolation = "cubic"'),
        "elasticity, interpolation: .*expected one of linear, spline, got 'cubic'",
    ),
    (SPRING.format("stiffness = 9, rotor_axis = [0, 1]"), "elasticity, rotor_axis: .*a list of 3"),
    (SPRING.format('stiffness = 9, half_gap = "wide"'), "elasticity, half_gap: .*'wide' is not an angle"),
    (RUB.format("bristle_stiffness = 0"), "friction, bristle_stiffness: .*must be above 0, got 0"),
]
BEYOND = [
    (SPRING.format("stiffness = inf"), "elasticity, stiffness: .*the number must be finite"),
    (SPRING.format("damping = 1"), "elasticity: expected either stiffness or a curve, got neither; leave"),
    (SPRING.format("stiffness = 9, half_gap = '-1 deg'"), "elasticity, half_gap: must be at least 0"),
    (
        SPRING.format("curve = [[0.1, 2], [0.1, 3]]"),
        "elasticity, curve: both values of the pairs must increase; pair 2, .0.1, 3.0., does not",
    ),
    (
        SPRING.format("curve = [[1, 1], [2, 1.001], [3, 9]], interpolation = 'spline'"),
        "elasticity, curve: the spline through .*, .3.0, 9.0.. decreases between",
    ),
    (
        RUB.format("coulomb = 1, bristle_damping = 2"),
        "friction, bristle_damping: requires bristle_stiffness; give both, or viscous alone",
    ),
    (
        RUB.format("coulomb = [1, 0], bristle_stiffness = 2"),
        "friction, bristle_stiffness: bristles slip at the level of coulomb, which must not be 0 in either",
    ),
]


@pytest.mark.parametrize(("turn", "words"), WRONG + BEYOND)
def test_a_wrong_value_is_refused_by_file_joint_and_key(turn: str, words: str) -> None:
    with refused(rf"\w+: two.toml, joint 'turn'[,:] {words}"):
        read(turn=MOTOR + turn)
    assert VALIDATOR.is_valid(document_of(turn=MOTOR + turn)) == ((turn, words) in BEYOND)


def test_springs_where_there_can_be_none_are_refused() -> None:
    spring = SPRING.format("stiffness = 9")
    alone = "turn', elasticity: a spring needs a rotor that moves by itself; give the joint a motor with"
    for turn, slide, words in (
        (spring, "", alone),
        ("motor = { gear_ratio = 50 }\n" + spring, "", alone),
        ("", f"{MOTOR}mimic = {{ joint = 'turn' }}\n{spring}", "slide', elasticity: a mimicking joint"),
        (
            "",
            MOTOR + SPRING.format("stiffness = 9, half_gap = '0.1 deg'"),
            "slide', elasticity, half_gap: lengths of a prismatic joint are in m, not angles; write plain",
        ),
    ):
        with refused(rf"\w+: two.toml, joint '{words}"):
            read(turn, slide)
    fixed = TWO.format(turn=spring, slide="").replace('"revolute"', '"fixed"')
    with refused(r"[^:]*: two.toml, joint 'turn': a fixed joint cannot have a motor, .*elasticity"):
        arm_from_document(tomllib.loads(fixed), "two.toml")


# -------------------------------------------------------------------------------- what others cannot say


@pytest.mark.parametrize("ending", ["urdf", "xml"])
def test_urdf_and_mjcf_name_what_they_cannot_hold(ending: str, tmp_path: Path) -> None:
    rub = 'friction = { side = "joint", coulomb = 0.5, bristle_stiffness = 900 }\n'
    arm = read(turn=MOTOR + rub + SPRING.format("stiffness = 9000"), slide=rub)
    path = tmp_path / f"arm.{ending}"
    with pytest.warns(LossWarning) as caught:
        arm.to_urdf(path) if ending == "urdf" else arm.to_mjcf(path)
    said = str(caught[0].message)
    assert "friction bristles (turn, slide); elasticity (turn)." in said
    again = load(path)
    assert not any(joint.elasticity for joint in again.joints)
    assert [j.friction.coulomb for j in again.joints if j.friction] == [(0.5, -0.5)] * 2
