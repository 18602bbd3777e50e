"""What a person writes in an arm file means what it says: angles, names, trees, freedoms, gravity, hand."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from refusals import refused

from forearm import DH, Arm, Frame, Hand, InputError, ModelError, Motor, load
from forearm.errors import ModelWarning
from forearm.files.armfile import SCHEMA, json_schema
from forearm.files.armfile_read import arm_from_document
from forearm.kinematics import forward, link_poses
from forearm.reading.textfile import parse_toml
from forearm.spatial import pose, rotation_rpy

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
        ("-1.5", -1.5),
        ('"90 deg"', math.pi / 2),
        ('"-30deg"', -math.pi / 6),
        ('"+1e2 deg"', math.radians(100.0)),
        ('" .5  deg "', math.radians(0.5)),
        ('"1.5 rad"', 1.5),
        ('"-2e-3rad"', -0.002),
        ('"pi"', math.pi),
        ('"-pi"', -math.pi),
        ('"+pi"', math.pi),
        ('"pi/2"', math.pi / 2),
        ('"-3*pi/4"', -0.75 * math.pi),
        ('"0.25 * pi"', 0.25 * math.pi),
        ('"2*pi / 3"', 2 * math.pi / 3),
    ],
)
def test_angles(written: str, radians: float) -> None:
    placement = two(alpha=written).joints[0].placement
    assert isinstance(placement, DH)
    assert placement.alpha == pytest.approx(radians, rel=2e-16)


@pytest.mark.parametrize(
    "written",
    [
        '"90"',
        '"90 degrees"',
        '"pi/0"',
        '"1.2.3 deg"',
        '"deg"',
        '"2pi"',
        '"pi*2"',
        '""',
        '"--pi"',
        '". deg"',
        '"1 turn"',
    ],
)
def test_what_is_no_angle(written: str) -> None:
    with refused(r"InputError.*arm\.toml, joint\[1\], dh, alpha: .* is not an angle; write radians"):
        two(alpha=written)


@pytest.mark.parametrize("written", ["nan", "inf", '"1e999 deg"'])
def test_angles_are_finite(written: str) -> None:
    with refused(r"InputError.*arm\.toml, joint\[1\], dh, alpha: the number must be finite"):
        two(alpha=written)


def test_limits_may_be_angles_and_infinite() -> None:
    assert two(first='limits = ["-90 deg", "pi/3"]').joints[0].limits == pytest.approx(
        (-math.pi / 2, math.pi / 3)
    )
    assert two(first="limits = [-inf, 1]").joints[0].limits == (-math.inf, 1.0)
    with refused(r"InputError.*joint\[1\], limits\[2\]: the number must be finite"):
        two(first="limits = [0, nan]")
    with refused(r"ModelError.*arm\.toml, joint 'joint1', limits: lower must not be above upper"):
        two(first="limits = [1, 0]")


def test_a_slide_is_not_measured_in_degrees() -> None:
    text = TWO.format(top="", alpha="0", first="", link="").replace(
        'kind = "prismatic"', 'kind = "prismatic"\nlimits = ["0 deg", "90 deg"]'
    )
    with refused(".*limits"):
        read(text)


def test_dh_without_a_convention_is_refused() -> None:
    text = TWO.format(top="", alpha="0", first="", link="").replace('dh_convention = "standard"', "")
    with pytest.raises(InputError) as caught:
        read(text)
    for word in ("arm.toml, joint 'joint1'", "dh_convention", '"standard"', '"modified"', "Craig"):
        assert word in str(caught.value)


def test_conventions_differ() -> None:
    text = TWO.format(top="", alpha="0.5", first="", link="")
    one, other = read(text), read(text.replace('"standard"', '"modified"'))
    assert np.abs(forward(one, [0.3, 0.4]) - forward(other, [0.3, 0.4])).max() > 0.01


def test_inertia_about_the_origin_is_moved_to_the_centre() -> None:
    # m = 2, c = (0.1, 0.2, 0.3): what the parallel axes add is 2 (0.13, 0.10, 0.05; -0.02, -0.03, -0.06).
    link = 'inertia = { about = "origin", xx = 0.5, yy = 0.45, zz = 0.4, xy = -0.01, xz = 0.02, yz = -0.1 }'
    found = two(link=link).link("link1").inertia
    expected = np.array([[0.24, 0.03, 0.08], [0.03, 0.25, 0.02], [0.08, 0.02, 0.3]])
    assert np.abs(found - expected).max() <= 1e-15
    kept = two(link=link.replace("origin", "com")).link("link1").inertia
    assert kept.tolist() == [[0.5, -0.01, 0.02], [-0.01, 0.45, -0.1], [0.02, -0.1, 0.4]]


def test_inertia_must_say_about_what() -> None:
    with refused(r"InputError.*arm\.toml, link 'link1', inertia: missing key 'about'"):
        two(link="inertia = { xx = 1, yy = 1, zz = 1 }")
    with refused(r"InputError.*link 'link1', inertia, about: expected one of com, origin, got 'con'"):
        two(link='inertia = { about = "con", xx = 1, yy = 1, zz = 1 }')
    with refused("InputError.*link 'link1', inertia: missing key 'zz'"):
        two(link='inertia = { about = "com", xx = 1, yy = 1 }')
    with pytest.raises(
        ModelError, match=r"arm\.toml: link 'link1', inertia: must be positive semidefinite"
    ) as caught:
        two(link='inertia = { about = "origin", xx = 0.1, yy = 0.1, zz = 0.1 }')
    assert 'Write about = "com"' in str(caught.value)


def test_default_names() -> None:
    arm = two()
    assert [j.name for j in arm.tree] == ["joint1", "joint2"]
    assert [(j.parent, j.child) for j in arm.tree] == [("link0", "link1"), ("link1", "link2")]
    assert [x.name for x in arm.links] == ["link0", "link1", "link2"]
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


def test_a_base_with_a_block_of_its_own() -> None:
    arm = read(TREE + '[[link]]\nname = "torso"\nmass = 40\n')
    assert arm.link("torso").mass == 40.0
    assert arm.links[0].name == "torso"


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
    x = np.array([[1, 0, 0], [0, math.cos(a), -math.sin(a)], [0, math.sin(a), math.cos(a)]])
    y = np.array([[math.cos(b), 0, math.sin(b)], [0, 1, 0], [-math.sin(b), 0, math.cos(b)]])
    T = pose(rotation_rpy((0.4, 0.5, 0.6)), (0.1, 0.2, 0.3)) @ pose(
        x @ y, x @ y @ np.array([0, 0.6, 0.8]) * c
    )
    assert np.abs(link_poses(arm, [a, b, c, 0.0])["link1"] - T).max() <= 1e-15


@pytest.mark.parametrize(
    "key", ['kind = "revolute"', "axis = [0, 0, 1]", "limits = [0, 1]", "motor = {}", "dh = {}"]
)
def test_freedoms_stand_alone(key: str) -> None:
    text = FREEDOMS.replace('name = "wrist"\nframe', f'name = "wrist"\n{key}\nframe')
    with refused(rf"InputError.*joint 'wrist': freedoms: give '{key.split()[0]}' inside each freedom"):
        read(text)


@pytest.mark.parametrize(
    "key",
    [
        "max_speed = 5",
        "max_effort = 5",
        'friction = { side = "joint", viscous = 3 }',
        'bearing = [{ kind = "thrust", mu = 0.1, radius = 0.1 }]',
        "transmission = { efficiency = [[0.5, 0.5]], rated_torque = 3 }",
    ],
)
def test_freedoms_stand_alone_in_every_key(key: str) -> None:
    text = FREEDOMS.replace('name = "wrist"\nframe', f'name = "wrist"\n{key}\nframe')
    with refused("InputError.*freedoms"):
        read(text)


def test_no_freedoms() -> None:
    start, end = FREEDOMS.index("freedoms = ["), FREEDOMS.index("[[joint]]\nkind")
    with refused("InputError.*freedoms: the list is empty"):
        read(FREEDOMS[:start] + "freedoms = []\n" + FREEDOMS[end:])


BASE_TURNED = 'base = { rpy = [0.3, "30 deg", -1.0], xyz = [1, 2, 3] }'


def test_gravity() -> None:
    assert two(top="gravity = [1, -2, 3.5]").gravity.tolist() == [1.0, -2.0, 3.5]
    assert two(top="gravity = { world = [1, -2, 3.5] }").gravity.tolist() == [1.0, -2.0, 3.5]
    with pytest.raises(InputError) as caught:
        two(top=BASE_TURNED)
    for word in (
        "arm.toml, gravity",
        "the base is rotated",
        "[x, y, z] in the base",
        "world = [0, 0, -9.81]",
    ):
        assert word in str(caught.value)
    in_base = two(top=BASE_TURNED + "\ngravity = [1, -2, 3.5]")
    assert in_base.gravity.tolist() == [1.0, -2.0, 3.5]
    R = rotation_rpy((0.3, math.pi / 6, -1.0))
    in_world = two(top=BASE_TURNED + "\ngravity = { world = [1, -2, 3.5] }")
    assert np.abs(R @ in_world.gravity - [1.0, -2.0, 3.5]).max() <= 1e-15
    assert np.abs(in_world.base - pose(R, (1.0, 2.0, 3.0))).max() <= 1e-15
    # A base that is only moved says nothing about gravity.
    assert two(top="base = { xyz = [1, 2, 3] }").gravity.tolist() == [0.0, 0.0, -9.81]
    with refused(r"InputError.*arm\.toml, gravity: missing key 'world'"):
        two(top="gravity = {}")
    with refused(r"InputError.*gravity: expected a list of 3 values, got 9\.81"):
        two(top="gravity = 9.81")


def test_hand() -> None:
    arm = two(top='hand = { link = "link1", xyz = [0.1, 0.2, 0.3], rpy = ["90 deg", 0, 0] }')
    assert arm.hand.link == "link1"
    assert np.abs(arm.hand.pose - pose(rotation_rpy((math.pi / 2, 0, 0)), (0.1, 0.2, 0.3))).max() == 0.0
    assert two(top="hand = { xyz = [0, 0, 1] }").hand == Hand(link="link2", pose=pose(p=(0.0, 0.0, 1.0)))
    matrix = "hand = { matrix = [[0, -1, 0, 5], [1, 0, 0, 6], [0, 0, 1, 7], [0, 0, 0, 1]] }"
    assert two(top=matrix).hand.pose[:3, 3].tolist() == [5.0, 6.0, 7.0]
    with refused(r"InputError.*arm\.toml, hand: give xyz and rpy, or matrix, not both"):
        two(top=matrix.replace("{ ", "{ xyz = [0, 0, 0], "))
    with refused(r"InputError.*arm\.toml, hand: the upper left 3x3 must be a rotation"):
        two(top=matrix.replace("[0, -1, 0, 5]", "[0, 1, 0, 5]"))
    with refused(r"NameNotFound.*arm\.toml: arm 'two', link: expected one of .*, got 'link9'; did you mean"):
        two(top='hand = { link = "link9" }')


def test_joints_without_a_place_or_with_two() -> None:
    for joint in ("", "dh = {}\nframe = {}"):
        text = (
            f'schema = "{SCHEMA}"\nname = "x"\nlink = [{{ name = "link1" }}]\n[[joint]]\nkind = '
            f'"revolute"\n{joint}\n'
        )
        with refused(r"InputError.*joint 'joint1': give either dh = .* or frame = .*, not both"):
            read(text)
    with refused("InputError.*axis: a dh joint moves along z"):
        two(first="axis = [0, 0, 1]")
    with refused(r"InputError.*arm\.toml, joint 'joint1': missing key 'kind'"):
        read(TWO.format(top="", alpha="0", first="", link="").replace('kind = "revolute"', ""))


def test_schema_version() -> None:
    with refused(r"InputError.*x\.toml: not an arm file: expected the first line schema = 'forearm-arm/1'"):
        read('name = "x"', "x.toml")
    with refused(r"InputError.*x\.toml, schema: expected 'forearm-arm/1', got"):
        read('schema = "forearm-arm/2"', "x.toml")
    with refused(r"InputError.*schema: expected .*, got 3"):
        read("schema = 3")
    for date in ("1979-05-27", "[]", "{}", "nan", "true"):
        with refused("InputError.*schema: expected"):
            read(f"schema = {date}")


def test_schema_of_an_integer_too_long_to_print() -> None:
    with refused("InputError.*schema"):
        read("schema = 0x" + "f" * 5000)


def test_unknown_keys_are_refused_with_a_suggestion() -> None:
    with refused(r"InputError.*arm\.toml: unknown key 'gravty'; did you mean 'gravity'\?"):
        two(top="gravty = [0, 0, 0]")
    with refused(r"InputError.*arm\.toml, joint\[1\], dh: unknown key 'alfa'; did you mean"):
        read(TWO.format(top="", alpha="0", first="", link="").replace("alpha", "alfa"))
    with refused(r"InputError.*link 'link1': unknown key 'weight'; there are: name, mass"):
        two(link="weight = 2")


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
    text = TWO.format(top="", alpha="0", first="", link='inertia = { about = "com", xx = 1, yy = 1, zz = 3 }')
    (tmp_path / "odd.toml").write_text(text, encoding="utf-8")
    with pytest.warns(ModelWarning, match=r"two: the principal moments violate the triangle.*link1"):
        load(tmp_path / "odd.toml")
    (tmp_path / "odd.toml").write_text(
        TWO.format(top="", alpha="0", first="", link="").replace(
            'name = "link2"', 'name = "link2"\ninertia = { about = "com", xx = 1, yy = 1, zz = 1 }'
        ),
        encoding="utf-8",
    )
    with pytest.warns(ModelWarning, match="two: inertia without mass: link2"):
        load(tmp_path / "odd.toml")


def test_one_number_of_dry_friction_stands_for_both_directions() -> None:
    pair = 'friction = { side = "joint", coulomb = [0.3, -0.3], static = [0.5, -0.5], stribeck_speed = 0.1 }'
    number = 'friction = { side = "joint", coulomb = 0.3, static = 0.5, stribeck_speed = 0.1 }'
    assert two(first=pair) == two(first=number)
    VALIDATOR.validate(tomllib.loads(TWO.format(top="", alpha="0.0", first=number, link="")))
