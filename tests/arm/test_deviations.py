"""An arm knows how sure its numbers are; what changes is no longer sure."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
from arms import random_arm
from refusals import refused

from forearm import Arm, Friction, InputError, LossWarning, Motor, load
from forearm.arm.deviations import Deviations
from forearm.files.armfile_read import arm_from_document
from forearm.files.armfile_write import arm_text, to_document
from forearm.kernels.cache_key import told
from forearm.reading.textfile import parse_toml
from forearm.simulation.npz import same_numbers

STRIBECK = Friction(coulomb=(0.3, -0.4), static=(0.5, -0.6), stribeck_speed=0.1)


@pytest.fixture
def plain() -> Arm:
    """Three joints with every kind of number that can be measured."""
    arm = random_arm(31, n=3, tree=False)
    motor = Motor(gear_ratio=50.0, rotor_inertia=2e-5, torque_constant=0.1)
    return arm.with_drives(motor=motor, friction=STRIBECK)


@pytest.fixture
def known(plain: Arm) -> Arm:
    """The same, each number with a deviation of its own."""
    return plain.replace(deviations={name: 1e-3 * (k + 1) for k, name in enumerate(plain.named_values)})


def test_names_are_those_of_links_friction_and_motors(plain: Arm) -> None:
    link, joint = plain.links[1], plain.joints[0]
    named = plain.named_values
    assert named[f"{link.name}.com.y"] == link.com[1]
    assert named[f"{link.name}.inertia.xz"] == link.inertia[0, 2]
    assert named[f"{joint.name}.bearing1.mu"] == joint.bearings[0].mu
    friction = "viscous coulomb.positive coulomb.negative static.positive static.negative stribeck_speed"
    wanted = {f"friction.{key}" for key in friction.split()} | {"bearing1.mu"}
    wanted |= {f"motor.{key}" for key in ("gear_ratio", "rotor_inertia", "torque_constant")}
    assert {n for n in named if n.startswith(f"{joint.name}.")} == {f"{joint.name}.{key}" for key in wanted}
    assert not any(".friction." in n or ".motor." in n for n in plain.rigid().named_values)


def test_without_any_the_arm_is_as_it_was(plain: Arm) -> None:
    assert plain.deviations == {}
    assert plain.replace(deviations={}) == plain
    assert "deviations" not in arm_text(plain)
    assert "+-" not in str(plain)


def test_they_take_part_in_equality_hash_and_pickle(plain: Arm, known: Arm) -> None:
    assert known != plain
    assert pickle.loads(pickle.dumps(known)) == known
    assert copy.deepcopy(known) == known
    shuffled = plain.replace(deviations=dict(reversed(list(known.deviations.items()))))
    assert shuffled == known
    assert hash(shuffled) == hash(known)
    assert list(shuffled.deviations) == list(plain.named_values)
    with pytest.raises(TypeError):
        known.deviations["link1.mass"] = 1.0  # type: ignore[index]
    assert repr(Deviations({"a.mass": 0.5})) == "Deviations({'a.mass': 0.5})"


def test_they_come_back_from_a_file(known: Arm) -> None:
    text = arm_text(known)
    assert arm_from_document(parse_toml(text.encode(), "x"), "x") == known
    assert f'"{known.links[1].name}.com.x" = ' in text
    assert to_document(known)["deviations"] == dict(known.deviations)


def test_machine_code_and_simulations_do_not_depend_on_them(plain: Arm, known: Arm) -> None:
    assert told(known) == told(plain)
    assert same_numbers(known, plain)
    assert not same_numbers(known, plain.replace(gravity=[0.0, 0.0, -9.0]))


def test_a_changed_number_loses_its_deviation_and_others_keep_theirs(known: Arm) -> None:
    joint, last = known.joints[0], known.links[-1].name
    stiffer = known.with_joint(joint.name, friction=Friction(viscous=9.0, coulomb=(0.3, -0.4)))
    assert set(known.deviations) - set(stiffer.deviations) == {
        f"{joint.name}.friction.{key}"
        for key in ("viscous", "static.positive", "static.negative", "stribeck_speed")
    }
    held = set(known.with_payload(2.0, (0.1, 0.2, 0.3)).deviations)
    assert {n for n in known.deviations if n not in held} <= {
        n for n in known.deviations if n.startswith((f"{last}.", f"{known.hand.link}."))
    }
    assert f"{known.hand.link}.mass" not in held
    assert known.replace(name="other", gravity=[0.0, 0.0, 1.0]).deviations == known.deviations
    assert known.snap_angles().deviations == known.deviations


def test_without_drives_or_with_a_joint_held_what_is_left_keeps_them(known: Arm) -> None:
    parts = (".friction.", ".motor.", ".bearing1.")
    of_links = {name for name in known.deviations if not any(part in name for part in parts)}
    assert set(known.rigid().deviations) == of_links
    held = known.joints[1]
    locked = known.lock({held.name: 0.5 * sum(x for x in held.limits if abs(x) < 1e9)})
    assert not any(n.startswith((f"{held.name}.", f"{held.child}.")) for n in locked.deviations)
    assert f"{held.parent}.mass" not in locked.deviations
    assert f"{known.joints[0].name}.friction.viscous" in locked.deviations


def test_a_report_has_a_column_only_where_there_are_any(plain: Arm) -> None:
    link, joint = plain.links[1].name, plain.joints[0].name
    one = str(plain.replace(deviations={f"{link}.mass": 0.0123}))
    header = next(line for line in one.splitlines() if line.startswith("link"))
    assert header.split()[1:4] == ["mass", "kg", "+-"]
    assert header.count("+-") == 1
    assert "0.012" in next(line for line in one.splitlines() if line.startswith(f"{link} "))
    other = str(plain.replace(deviations={f"{joint}.friction.stribeck_speed": 0.0456}))
    assert "Deviations of parameters in no table above" in other
    assert f"{joint}.friction.stribeck_speed  0.1  0.046" in other


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"link2.mas": 0.1},
            "NameNotFound.*'link2.mas': the arm has no parameter .* did you mean 'link2.mass'",
        ),
        (
            {"joint1.motor.inductance": 0.1},
            "NameNotFound.*'joint1.motor.inductance': the arm has no parameter",
        ),
        ({"link2.mass": -0.1}, "InputError.*deviations, 'link2.mass': must be at least 0, got -0.1"),
        ({"link2.mass": "much"}, "InputError.*deviations, 'link2.mass': expected a number, got 'much'"),
        ({"link2": {"mass": 0.1}}, r"InputError.*quote the whole name, such as \"link2.mass\" = 0.02"),
        ([0.1], r"InputError.*expected standard deviations by name, such as \{'link2.mass': 0.02\}, got"),
    ],
)
def test_what_is_wrong_is_named(given: Any, words: str) -> None:
    with refused(words):
        load("puma560-akb").replace(deviations=given)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("deviations = 3", r"arm.toml, deviations: expected a table \[deviations\], got 3"),
        ('[deviations]\n"link9.mass" = 1', r"arm.toml, arm .*, deviations, 'link9.mass': the arm has no"),
        ("[deviations]\nlink2.mass = 1", r"arm.toml, arm .*, deviations, 'link2': .*quote the whole name"),
    ],
)
def test_a_file_says_where(line: str, text: str) -> None:
    document = arm_text(load("puma560-akb"))
    whole = f"{line}\n{document}" if "[" not in line else f"{document}\n{line}\n"
    with pytest.raises(InputError, match=text):
        arm_from_document(parse_toml(whole.encode(), "arm.toml"), "arm.toml")


def test_formats_without_them_say_so(known: Arm, tmp_path: Path) -> None:
    with pytest.warns(LossWarning, match="deviations"):
        known.to_urdf(tmp_path / "a.urdf")
    with pytest.warns(LossWarning, match="deviations"):
        known.to_mjcf(tmp_path / "a.xml")
