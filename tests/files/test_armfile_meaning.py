"""What a person writes in an arm file means what it says: angles, names, trees, freedoms, gravity, hand."""

from __future__ import annotations

import math
import re
import tomllib
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from nearness import assert_near
from refusals import refused

from forearm import DH, Arm, Frame, Hand, Motor, load
from forearm.errors import ModelWarning
from forearm.files.armfile import json_schema
from forearm.files.armfile_read import arm_from_document
from forearm.kinematics import link_poses
from forearm.reading.textfile import parse_toml
from forearm.spatial import pose, pose_xyz_rpy, rotation_rpy

VALIDATOR = jsonschema.Draft202012Validator(json_schema())


def read(text: str, name: str = "arm.toml") -> Arm:
    return arm_from_document(parse_toml(text.encode(), name), name)


TWO = """
schema = "forearm-arm/1"
name = "two"
dh_convention = "standard"
{top}
[[joint]]
kind = "revolute"
dh = {{ a = 0.3, alpha = {alpha}, d = 0.1 }}
{first}
[[joint]]
kind = "prismatic"
dh = {{ theta = 0.2 }}
[[link]]
name = "link1"
mass = 2
com = [0.1, 0.2, 0.3]
{link}
[[link]]
name = "link2"
"""


def two(top: str = "", alpha: str = "0.0", first: str = "", link: str = "") -> Arm:
    return read(TWO.format(top=top, alpha=alpha, first=first, link=link))


@pytest.mark.parametrize(
    ("written", "radians"),
    [
        ("90", 90.0),
        ('"90 deg"', math.pi / 2),
        ('"-30deg"', -math.pi / 6),
        ('" .5  deg "', math.radians(0.5)),
        ('"1.5 rad"', 1.5),
        ('"pi"', math.pi),
        ('"pi/2"', math.pi / 2),
        ('"-3*pi/4"', -0.75 * math.pi),
        ('"2*pi / 3"', 2 * math.pi / 3),
    ],
)
def test_angles(written: str, radians: float) -> None:
    placement = two(alpha=written).joints[0].placement
    assert isinstance(placement, DH)
    assert placement.alpha == pytest.approx(radians, rel=2e-16)


@pytest.mark.parametrize(
    "written",
    ['"90"', '"90 degrees"', '"pi/0"', '"1.2.3 deg"', '"deg"', '"2pi"', '"pi*2"', '""', '"--pi"', '". deg"'],
)
def test_what_is_no_angle(written: str) -> None:
    with refused(r"InputError.*arm\.toml, joint\[1\], dh, alpha: .* is not an angle; write radians"):
        two(alpha=written)


def test_limits_may_be_angles_and_infinite() -> None:
    turned = two(first='limits = ["-90 deg", "pi/3"]').joints[0].limits
    assert turned == pytest.approx((-math.pi / 2, math.pi / 3))
    assert two(first="limits = [-inf, 1]").joints[0].limits == (-math.inf, 1.0)


def test_inertia_about_the_origin_is_moved_to_the_centre() -> None:
    # m = 2, c = (0.1, 0.2, 0.3): what the parallel axes add is 2 (0.13, 0.10, 0.05; -0.02, -0.03, -0.06).
    link = 'inertia = { about = "origin", xx = 0.5, yy = 0.45, zz = 0.4, xy = -0.01, xz = 0.02, yz = -0.1 }'
    found = two(link=link).link("link1").inertia
    expected = np.array([[0.24, 0.03, 0.08], [0.03, 0.25, 0.02], [0.08, 0.02, 0.3]])
    assert_near(found, expected, 1e-15)
    kept = two(link=link.replace("origin", "com")).link("link1").inertia
    assert kept.tolist() == [[0.5, -0.01, 0.02], [-0.01, 0.45, -0.1], [0.02, -0.1, 0.4]]


def test_default_names() -> None:
    arm = two()
    assert [(j.name, j.parent, j.child) for j in arm.tree] == [
        ("joint1", "link0", "link1"),
        ("joint2", "link1", "link2"),
    ]
    assert arm.hand == Hand(link="link2")
    assert arm.gravity.tolist() == [0.0, 0.0, -9.81]
    assert two(top='base_link = "pedestal"').base_link == "pedestal"


TREE = """
schema = "forearm-arm/1"
name = "tree"
base_link = "torso"
[[joint]]
name = "left"
kind = "revolute"
child = "left_arm"
frame = { xyz = [0, 0.2, 1], rpy = ["90 deg", 0, "pi/4"] }
[[joint]]
kind = "prismatic"
axis = [0, 3, 4]
child = "left_hand"
frame = {}
[[joint]]
name = "right"
kind = "revolute"
parent = "torso"
child = "right_arm"
frame = { xyz = [0, -0.2, 1] }
mimic = { joint = "left", multiplier = -1, offset = 0.25 }
[[joint]]
name = "weld"
kind = "fixed"
child = "right_hand"
frame = { rpy = [0.1, 0.2, 0.3] }
[[link]]
name = "right_hand"
[[link]]
name = "left_hand"
mass = 1
[[link]]
name = "left_arm"
[[link]]
name = "right_arm"
"""


def test_a_tree() -> None:
    arm = read(TREE)
    assert [j.name for j in arm.tree] == ["left", "joint2", "right", "weld"]
    assert [j.name for j in arm.joints] == ["left", "joint2"]
    assert [x.name for x in arm.links] == ["torso", "left_arm", "left_hand", "right_arm", "right_hand"]
    assert arm.joint("joint2").axis == pytest.approx([0.0, 0.6, 0.8])
    assert arm.joint("weld").parent == "right_arm"
    assert arm.hand.link == "left_hand"
    right = link_poses(arm, [0.4, 0.1])["right_arm"]
    assert math.atan2(right[1, 0], right[0, 0]) == pytest.approx(-0.4 + 0.25)
    assert read(TREE + '[[link]]\nname = "torso"\nmass = 40\n').links[0].mass == 40.0


FREEDOMS = """
schema = "forearm-arm/1"
name = "wrist"
[[joint]]
name = "wrist"
frame = { xyz = [0.1, 0.2, 0.3], rpy = [0.4, 0.5, 0.6] }
freedoms = [
  { kind = "revolute", axis = [1, 0, 0], limits = ["-90 deg", "90 deg"], motor = { gear_ratio = 50 } },
  { kind = "revolute", axis = [0, 1, 0], name = "nod" },
  { kind = "prismatic", axis = [0, 0.6, 0.8] },
]
[[joint]]
kind = "revolute"
frame = { xyz = [0, 0, 1] }
[[link]]
name = "link1"
mass = 1
[[link]]
name = "link2"
"""


def test_freedoms_become_joints_with_massless_links_between() -> None:
    arm = read(FREEDOMS)
    assert [j.name for j in arm.joints] == ["wrist_1", "nod", "wrist_3", "joint2"]
    ends = [
        ("link0", "wrist_1_link"),
        ("wrist_1_link", "wrist_2_link"),
        ("wrist_2_link", "link1"),
        ("link1", "link2"),
    ]
    assert [(j.parent, j.child) for j in arm.joints] == ends
    assert all(arm.link(f"wrist_{i}_link").massless for i in (1, 2))
    assert arm.joints[0].limits == pytest.approx((-math.pi / 2, math.pi / 2))
    assert arm.joints[0].motor == Motor(gear_ratio=50)
    placement = arm.joints[1].placement
    assert placement == Frame(axis=np.array([0.0, 1.0, 0.0]))
    # The three freedoms at one point: one frame, then a turn about x, a turn about y, a slide.
    a, b, c = 0.3, -0.7, 0.25
    T = pose_xyz_rpy((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)) @ pose_xyz_rpy((0, 0, 0), (a, 0, 0))
    T = T @ pose_xyz_rpy((0, 0, 0), (0, b, 0)) @ pose_xyz_rpy((0, 0.6 * c, 0.8 * c), (0, 0, 0))
    assert_near(link_poses(arm, [a, b, c, 0.0])["link1"], T, 1e-15)


@pytest.mark.parametrize(
    "key",
    [
        'kind = "revolute"',
        "axis = [0, 0, 1]",
        "limits = [0, 1]",
        "motor = {}",
        "dh = {}",
        "max_speed = 5",
        'friction = { side = "joint", viscous = 3 }',
        'bearing = [{ kind = "thrust", mu = 0.1, radius = 0.1 }]',
    ],
)
def test_freedoms_stand_alone(key: str) -> None:
    text = FREEDOMS.replace('name = "wrist"\nframe', f'name = "wrist"\n{key}\nframe')
    with refused(rf"InputError.*joint 'wrist', freedoms: give '{key.split()[0]}' inside each freedom"):
        read(text)


BASE_TURNED = 'base = { rpy = [0.3, "30 deg", -1.0], xyz = [1, 2, 3] }'


def test_gravity() -> None:
    for top in ("gravity = [1, -2, 3.5]", "gravity = { world = [1, -2, 3.5] }"):
        assert two(top=top).gravity.tolist() == [1.0, -2.0, 3.5]
    in_base = two(top=BASE_TURNED + "\ngravity = [1, -2, 3.5]")
    assert in_base.gravity.tolist() == [1.0, -2.0, 3.5]
    R = rotation_rpy((0.3, math.pi / 6, -1.0))
    in_world = two(top=BASE_TURNED + "\ngravity = { world = [1, -2, 3.5] }")
    assert_near(R @ in_world.gravity, [1.0, -2.0, 3.5], 1e-15)
    assert_near(in_world.base, pose(R, (1.0, 2.0, 3.0)), 1e-15)
    # A base that is only moved says nothing about gravity.
    assert two(top="base = { xyz = [1, 2, 3] }").gravity.tolist() == [0.0, 0.0, -9.81]


MATRIX = "hand = { matrix = [[0, -1, 0, 5], [1, 0, 0, 6], [0, 0, 1, 7], [0, 0, 0, 1]] }"


def test_hand() -> None:
    arm = two(top='hand = { link = "link1", xyz = [0.1, 0.2, 0.3], rpy = ["90 deg", 0, 0] }')
    assert arm.hand == Hand(link="link1", pose=pose(rotation_rpy((math.pi / 2, 0, 0)), (0.1, 0.2, 0.3)))
    assert two(top="hand = { xyz = [0, 0, 1] }").hand == Hand(link="link2", pose=pose(p=(0.0, 0.0, 1.0)))
    assert two(top=MATRIX).hand.pose[:3, 3].tolist() == [5.0, 6.0, 7.0]


PLAIN = TWO.format(top="", alpha="0", first="", link="")
SLIDE = 'kind = "prismatic"'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            PLAIN.replace("dh = {", "frame = {}\ndh = {", 1),
            "InputError.*joint 'joint1': give either dh = .* not",
        ),
        (PLAIN.replace(SLIDE, f"{SLIDE}\naxis = [0, 0, 1]"), "InputError.*axis: a dh joint moves along z"),
        (PLAIN.replace(SLIDE, ""), "InputError.*arm.toml, joint 'joint2': missing key 'kind'"),
        (PLAIN.replace(SLIDE, f'{SLIDE}\nlimits = ["0 deg", "9 deg"]'), ".*limits"),
        (
            PLAIN.replace('dh_convention = "standard"', ""),
            'InputError.*arm.toml, joint \'joint1\'.*dh_convention.*"standard".*"modified".*Craig',
        ),
        (
            PLAIN.replace("schema = ", "# "),
            "InputError.*not an arm file: expected the first line schema = 'for",
        ),
        (PLAIN.replace("arm/1", "arm/2"), "InputError: arm.toml, schema: expected 'forearm-arm/1', got"),
        *(
            (PLAIN.replace('"forearm-arm/1"', value), "InputError.*schema: expected")
            for value in ("3", "1979-05-27", "[]", "nan", "0x" + "f" * 5000)
        ),
        (
            PLAIN.replace("alpha", "alfa"),
            r"InputError.*arm\.toml, joint\[1\], dh, alpha|.*unknown key 'alfa'",
        ),
        (
            f"gravty = [0, 0, 0]\n{PLAIN}",
            r"InputError.*arm\.toml: unknown key 'gravty'; did you mean 'gravity'",
        ),
        (f"{PLAIN}weight = 2", "InputError.*link 'link2': unknown key 'weight'; there are: name, mass"),
        (f"{PLAIN}inertia = {{ xx = 1 }}", "InputError.*link 'link2', inertia: missing key 'about'"),
        (
            f'{PLAIN}inertia = {{ about = "con", xx = 1, yy = 1, zz = 1 }}',
            ".*link 'link2', inertia, about: expected one of com, origin, got 'con'",
        ),
        (
            f'{PLAIN}mass = 2\ncom = [9, 9, 9]\ninertia = {{ about = "origin", xx = 1, yy = 1, zz = 1 }}',
            "ModelError.*link 'link2', inertia: must be positive semidefinite.*Write about = \"com\"",
        ),
        (
            f"{BASE_TURNED}\n{PLAIN}",
            r"InputError.*arm.toml, gravity.*the base is rotated.*world = \[0, 0, -9",
        ),
        (f"gravity = {{}}\n{PLAIN}", r"InputError.*arm\.toml, gravity: missing key 'world'"),
        (
            MATRIX.replace("{ ", "{ xyz = [0, 0, 0], ") + PLAIN,
            r"InputError.*arm\.toml, hand: give xyz and rpy, or matrix, not both",
        ),
        (
            f'hand = {{ link = "link9" }}\n{PLAIN}',
            "NameNotFound.*link: expected one of .*'link9'; did you mean",
        ),
        (
            re.sub(r"(?s)freedoms = \[.*?\n\]", "freedoms = []", FREEDOMS),
            "InputError.*freedoms: the list is e",
        ),
    ],
)
def test_what_does_not_mean_anything_is_refused(text: str, words: str) -> None:
    with refused(words):
        read(text)


def test_what_people_write_follows_the_schema() -> None:
    written = [
        TREE,
        FREEDOMS,
        TWO.format(
            top=BASE_TURNED + "\ngravity = { world = [0, 0, -9.81] }",
            alpha='"-3*pi/4"',
            first='limits = ["-90 deg", inf]',
            link="",
        ),
    ]
    for text in written:
        assert VALIDATOR.is_valid(tomllib.loads(text))
        assert read(text).n > 0


def test_loading_warns_about_what_no_body_has(tmp_path: Path) -> None:
    for last, words in (
        ("mass = 2\ninertia = { about = 'com', xx = 1, yy = 1, zz = 3 }", "the principal moments violate"),
        ("inertia = { about = 'com', xx = 1, yy = 1, zz = 1 }", "inertia without mass: link2"),
    ):
        (tmp_path / "odd.toml").write_text(PLAIN + last)
        with pytest.warns(ModelWarning, match=f"two: {words}"):
            load(tmp_path / "odd.toml")
