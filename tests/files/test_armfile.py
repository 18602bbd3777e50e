"""What is written in an arm file comes back equal, to the last bit."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import DIFFERENCE, every_kind, kinetic_energy, posture, potential_energy, random_arm, speed
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from refusals import refused

from forearm import (
    DH,
    Arm,
    Bearing,
    ForearmError,
    Frame,
    Friction,
    Hand,
    InputError,
    Joint,
    Limits,
    Link,
    Mimic,
    Motor,
    Transmission,
    arms,
    load,
)
from forearm.arm.joint import Kind
from forearm.arm.record import fields_of
from forearm.files.armfile_read import arm_from_document
from forearm.files.armfile_write import arm_text
from forearm.reading.textfile import parse_toml
from forearm.spatial import pose, rotation_rpy
from forearm.values import LARGEST

BUILT_IN = [name for name in arms() if name != "chainN"]
AWKWARD = [
    5e-324,
    -5e-324,
    -0.0,
    0.0,
    LARGEST,
    -LARGEST,
    0.1 + 0.2,
    1 / 3,
    2.2250738585072014e-308,
    1e16 + 2,
    1e-7,
    123456789.0,
]


def read_back(arm: Arm) -> Arm:
    return arm_from_document(parse_toml(arm_text(arm).encode(), "arm.toml"), "arm.toml")


def read(text: str, name: str = "arm.toml") -> Arm:
    return arm_from_document(parse_toml(text.encode(), name), name)


def bits(value: Any, sign_of_zero: bool = True) -> Any:
    """Every number of a record as its hexadecimal digits, every text as it is."""
    if isinstance(value, float):
        return float.hex(value if sign_of_zero else value + 0.0)
    if isinstance(value, np.ndarray):
        return bits(value.tolist(), sign_of_zero)
    if isinstance(value, tuple | list):
        return [bits(v, sign_of_zero) for v in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {k: bits(v, sign_of_zero) for k, v in fields_of(value).items()}
    return value


def assert_comes_back(arm: Arm, sign_of_zero: bool = True) -> None:
    again = read_back(arm)
    assert bits(again, sign_of_zero) == bits(arm, sign_of_zero)
    assert again == arm
    assert hash(again) == hash(arm)
    assert arm_text(again) == arm_text(arm)


# ------------------------------------------------------------------------------------------------- round trip


@pytest.mark.slow
@given(st.integers(0, 100_000), st.integers(0, 6))
@settings(max_examples=7)
def test_every_kind_of_arm_comes_back_bit_for_bit(seed: int, n: int) -> None:
    for arm in every_kind(seed, n) if n else [random_arm(seed, n=0), random_arm(seed, n=0, fixed=False)]:
        assert_comes_back(arm)


@pytest.mark.parametrize("name", [*BUILT_IN, "chain1", "chain7", "chain100"])
@pytest.mark.filterwarnings("ignore::forearm.errors.ModelWarning")
def test_built_in_arms_come_back(name: str) -> None:
    assert_comes_back(load(name), sign_of_zero=False)


@pytest.mark.slow
@given(st.integers(0, 1000), st.sets(st.integers(0, 3)))
@settings(max_examples=3)
def test_changed_arms_come_back(seed: int, held: set[int]) -> None:
    for arm in every_kind(seed):
        q = posture(arm, seed)
        locked = arm.lock({arm.joints[i].name: float(q[i]) for i in held})
        assert_comes_back(locked.with_payload(1.5, (0.1, 0.2, 0.3), longest=0.3).rigid())


floats = st.one_of(st.sampled_from(AWKWARD), st.floats(-LARGEST, LARGEST))
positive = st.one_of(st.sampled_from([x for x in AWKWARD if x > 0]), st.floats(5e-324, LARGEST))
not_negative = st.one_of(st.just(-0.0), positive)
names = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20).filter(str.isprintable)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
vectors: st.SearchStrategy[Any] = st.tuples(floats, floats, floats)


@st.composite
def awkward_joints(
    draw: st.DrawFn, name: str, parent: str, child: str, leader: str | None, convention: Any
) -> Joint:
    kind: Kind = draw(st.sampled_from(("revolute", "prismatic")))
    frame = Frame(xyz=draw(vectors), rpy=draw(vectors), axis=draw(st.sampled_from(AXES)))
    dh = DH(convention=convention, a=draw(floats), alpha=draw(floats), d=draw(floats), theta=draw(floats))
    low, high = sorted((draw(floats), draw(floats)))
    coulomb = (draw(not_negative), -draw(not_negative))
    bearing = (
        Bearing(kind="linear", mu=draw(not_negative), distance=draw(positive), offset=draw(floats))
        if kind == "prismatic"
        else Bearing(kind="thrust", mu=draw(not_negative), radius=draw(positive), offset=draw(floats))
    )
    loads = sorted(draw(st.sets(not_negative, min_size=1, max_size=4)))
    optional = st.one_of(st.none(), positive)
    return Joint(
        name=name,
        kind=kind,
        parent=parent,
        child=child,
        placement=draw(st.one_of(st.just(frame), st.just(dh))),
        limits=draw(
            st.sampled_from([Limits(), Limits(low, high), Limits(-math.inf, high), Limits(low, math.inf)])
        ),
        max_speed=draw(st.one_of(st.none(), not_negative)),
        max_effort=draw(st.one_of(st.none(), not_negative)),
        mimic=None if leader is None else Mimic(joint=leader, multiplier=draw(floats), offset=draw(floats)),
        motor=Motor(
            gear_ratio=draw(floats.filter(bool)),
            rotor_inertia=draw(not_negative),
            torque_constant=draw(optional),
            resistance=draw(optional),
            inductance=draw(optional),
            max_voltage=draw(optional),
            max_current=draw(optional),
            amplifier_gain=draw(st.one_of(st.none(), floats.filter(bool))),
        ),
        friction=draw(
            st.sampled_from(
                [
                    None,
                    Friction(side="motor", viscous=draw(not_negative), coulomb=coulomb),
                    Friction(coulomb=coulomb, static=coulomb, stribeck_speed=draw(positive)),
                ]
            )
        ),
        bearings=draw(st.sampled_from([(), (bearing,), (bearing, bearing)])),
        transmission=Transmission(
            efficiency=tuple((x, draw(st.floats(5e-324, 1.0))) for x in loads),
            rated_torque=draw(positive),
            breakaway=draw(not_negative),
            interpolation=draw(st.sampled_from(["linear", "spline"])),
        ),
    )


AXES: list[Any] = [
    (0.0, 0.0, 1.0),
    (0.0, -1.0, -0.0),
    (0.6, 0.0, 0.8),
    (1e-300, 3e-300, 2e-300),
    (1.0, 1.0, 1.0),
]


@st.composite
def awkward_arms(draw: st.DrawFn) -> Arm:
    """A tree of four links whose every number is the kind that printing spoils, with names to match."""
    link_names = draw(st.lists(names, min_size=4, max_size=4, unique=True))
    joint_names = draw(st.lists(names, min_size=3, max_size=3, unique=True))
    moments = st.one_of(st.sampled_from([x for x in AWKWARD if x > 0]), st.floats(5e-324, LARGEST))
    convention = draw(st.sampled_from(["standard", "modified"]))
    parents = [link_names[0], draw(st.sampled_from(link_names[:2])), draw(st.sampled_from(link_names[:3]))]
    return Arm(
        name=draw(names),
        links=tuple(
            Link(name=name, mass=draw(positive), com=draw(vectors), inertia=np.eye(3) * draw(moments))
            for name in link_names
        ),
        tree=tuple(
            draw(awkward_joints(joint, parent, child, joint_names[0] if i == 2 else None, convention))
            for i, (joint, parent, child) in enumerate(zip(joint_names, parents, link_names[1:], strict=True))
        ),
        gravity=draw(vectors),
        base=pose(rotation_rpy(draw(st.tuples(*[st.floats(-4.0, 4.0)] * 3))), draw(vectors)),
        hand=Hand(link=draw(st.sampled_from(link_names)), pose=pose(p=draw(vectors))),
        source=draw(texts),
        notes=draw(texts),
    )


@pytest.mark.slow
@given(awkward_arms())
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_awkward_numbers_and_names_come_back(arm: Arm) -> None:
    # The sign of a zero may be lost in a pose, where it cannot matter; nowhere else.
    again = read_back(arm)
    assert again == arm
    mine, other = bits(arm), bits(again)
    assert [mine.pop(k) is not None and other.pop(k) is not None for k in ("base", "hand")] == [True, True]
    assert other == mine
    assert np.array_equal(again.base, arm.base)
    assert again.hand == arm.hand


@pytest.mark.slow
@given(texts)
@settings(max_examples=150)
@example('"""')
@example('\\"\\')
@example("\n")
@example("\n\nlast\n")
@example("line\r\nline\rline")
@example("\\\n   folded")
@example("\t\x00\x1f\x7f\x80\ufeff\u2028")
@example("#'''[[joint]]")
@example('ends in quotes\n""')
def test_any_text_comes_back(text: str) -> None:
    arm = Arm(name="x", links=(Link(name="a"),), tree=(), source=text, notes=text[::-1])
    assert_comes_back(arm, sign_of_zero=False)


@pytest.mark.slow
@given(names, names)
@settings(max_examples=50)
@example('"', "\\")
@example("'''", '"""')
@example("a b", "\u00e4\U0001f9be")
@example("# no comment", "]]")
def test_any_name_comes_back(one: str, two: str) -> None:
    links = (Link(name=one), Link(name=two + "_"))
    joint = Joint(name=two, kind="fixed", parent=one, child=two + "_", placement=Frame())
    if one != two + "_":
        assert_comes_back(Arm(name=one, links=links, tree=(joint,)), sign_of_zero=False)


def test_sign_of_zero_where_it_cannot_matter_may_change_but_the_arm_is_equal() -> None:
    tensor = np.diag([1.0, 1.0, 1.0]) * np.array([[1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
    links = (Link(name="a", com=(-0.0, 0.0, 0.0)), Link(name="b", mass=1.0, inertia=tensor))  # type: ignore[arg-type]
    joint = Joint(name="j", kind="fixed", parent="a", child="b", placement=Frame())
    arm = Arm(name="x", links=links, tree=(joint,), hand=Hand(link="b", pose=-np.negative(np.eye(4))))
    assert read_back(arm) == arm
    assert hash(read_back(arm)) == hash(arm)


@pytest.mark.parametrize("what", ["notes", "name"])
def test_text_full_of_dots_comes_back(what: str) -> None:
    arm = Arm(name="x", links=(Link(name="a"),), tree=()).replace(**{what: "a." * 70})
    assert read_back(arm) == arm


def test_text_that_no_file_can_hold_is_refused() -> None:
    arm = Arm(name="x", links=(Link(name="a"),), tree=(), notes="\ud800")
    with refused(r"InputError.*a character that cannot be encoded \(U\+D800\)"):
        arm_text(arm)


def test_long_notes_are_refused_or_come_back() -> None:
    try:
        arm = Arm(name="x", links=(Link(name="a"),), tree=(), notes="x" * 20_001)
        text = arm_text(arm)
    except ForearmError:
        return
    assert read(text) == arm


def test_save_and_load(tmp_path: Path) -> None:
    arm = random_arm(7, mimic=True, tree=True)
    arm.save(tmp_path / "arm.toml")
    assert load(tmp_path / "arm.toml") == arm
    assert load(str(tmp_path / "arm.toml")) == arm
    assert load(tmp_path / "arm.toml", hand="part2").hand == Hand(link="part2")
    with refused(r"NameNotFound.*arm\.toml: .*link: expected one of .*, got 'part99'"):
        load(tmp_path / "arm.toml", hand="part99")
    assert [p.name for p in tmp_path.iterdir()] == ["arm.toml"]


def test_save_where_one_cannot(tmp_path: Path) -> None:
    arm = random_arm(7)
    with refused("InputError.*cannot be written"):
        arm.save(tmp_path / "no" / "arm.toml")
    (tmp_path / "folder").mkdir()
    with refused("InputError.*cannot be written"):
        arm.save(tmp_path / "folder")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_save_to_a_path_that_cannot_be(tmp_path: Path) -> None:
    with refused(""):
        random_arm(7).save(f"{tmp_path}/a\0b.toml")


def test_what_is_written_is_what_a_person_would_write() -> None:
    text = arm_text(load("stanford"))
    for line in (
        'schema = "forearm-arm/1"',
        'name = "stanford"',
        'dh_convention = "standard"',
        "[[joint]]",
        "[[link]]",
    ):
        assert line in text.splitlines()
    assert 'hand = { link = "link6", xyz = [0.0, 0.0, 0.263], rpy = ' in text
    assert "base = " not in text
    assert "mimic" not in text


@pytest.mark.slow
def test_reading_is_the_physics_that_was_written() -> None:
    for arm in every_kind(21, n=3):
        again = read_back(arm)
        q, qd = posture(arm, 1), speed(arm, 1)
        assert kinetic_energy(again, q, qd) == pytest.approx(kinetic_energy(arm, q, qd), rel=DIFFERENCE)
        assert potential_energy(again, q) == potential_energy(arm, q)


def test_a_joint_without_a_child_names_the_link_that_it_expects(tmp_path: Path) -> None:
    path = tmp_path / "arm.toml"
    text = (
        'schema = "forearm-arm/1"\nname = "two"\ndh_convention = "standard"\n[[joint]]\nkind = '
        '"revolute"\ndh = {a = 0.3}\n'
    )
    path.write_text(text + '[[link]]\nname = "upper"\nmass = 1.0\n', encoding="utf-8")
    expected = (
        r"joint 'joint1': no child is given, and there is no link with the default name 'link1'; "
        r"write child = 'upper'"
    )
    with pytest.raises(InputError, match=expected):
        load(path)
