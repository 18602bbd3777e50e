"""URDF read and written: what each element becomes, what is reported as read over,
and that nothing is lost.
"""

from __future__ import annotations

import math
import random
import re
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from arms import DIFFERENCE, STYLES, Style, kinetic_energy, posture, random_arm, speed
from hypothesis import given, settings
from hypothesis import strategies as st
from nearness import assert_near
from numpy.typing import NDArray
from refusals import refused
from urdf_making import Making, inertia_of, random_body, random_urdf, tensor_attributes, words

import forearm as fa
from forearm.arm import Arm, Friction, Hand, Joint, Limits, Link, Mimic, Motor
from forearm.errors import IgnoredWarning, LossWarning
from forearm.files.urdf_read import arm_from_urdf
from forearm.files.urdf_write import urdf_text
from forearm.kinematics import forward, link_poses

KINOVA = Path(__file__).parent.parent / "data" / "kinova_mico.urdf"

ROUNDING = 1e-12  # a dozen products of rotations and metres, each rounded to 1e-16
SEEDS = st.integers(0, 2**32 - 1)


def read(*blocks: str, hand: str | None = None) -> Arm:
    """The arm of the blocks, one to a line from line 2 on, which must be read in silence."""
    return arm_from_urdf(robot(*blocks), "arm.urdf", hand)


def robot(*blocks: str) -> bytes:
    return ('<robot name="r">\n' + "\n".join(blocks) + "\n</robot>\n").encode()


def link(name: str, inertial: str = "") -> str:
    return f'<link name="{name}">{inertial}</link>'


def joint(name: str, kind: str, parent: str, child: str, *more: str) -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{"".join(more)}</joint>'


def one_joint(*more: str, kind: str = "continuous") -> Joint:
    return read(link("a"), link("b"), joint("j", kind, "a", "b", *more)).tree[0]


def ignored(*blocks: str) -> list[str]:
    """The kinds of things that reading the blocks reports as ignored, all in one warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read(*blocks)
    assert [w.category for w in caught] in ([], [IgnoredWarning])
    return [kind for w in caught for kind in kinds_in(str(w.message), "arm.urdf")]


def kinds_in(message: str, name: str) -> list[str]:
    start = f"{name}: ignored "
    assert message.startswith(start)
    assert message.endswith(".")
    return message.removeprefix(start).removesuffix(".").split("; ")


# --- the tree ------------------------------------------------------------------------------------------


def test_joint_kinds_and_limits() -> None:
    limit = '<limit lower="-0.3" upper="0.7" effort="11" velocity="1.3"/>'
    huge = "1.7976931348623157e308"  # the largest number stands for none
    kinds = {
        "revolute": (limit, (-0.3, 0.7), 11.0, 1.3),
        "continuous": ('<limit effort="11" velocity="1.3"/>', Limits(), 11.0, 1.3),
        "prismatic": (limit, (-0.3, 0.7), 11.0, 1.3),
        "fixed": (limit, Limits(), None, None),
        "revolute ": ('<limit upper="2"/>', (0.0, 2.0), None, None),  # lower is 0 unless given
        "prismatic ": (f'<limit lower="-2" upper="{huge}" effort="3"/>', (-2.0, math.inf), 3.0, None),
    }
    for kind, (inside, limits, effort, speed_) in kinds.items():
        found = one_joint(inside, kind=kind.strip())
        assert found.kind == kind.strip().replace("continuous", "revolute")
        assert (found.limits, found.max_effort, found.max_speed) == (limits, effort, speed_)


def test_axis_is_x_unless_given() -> None:
    slide = one_joint('<limit lower="-1" upper="1"/>', kind="prismatic").transform(0.6)
    np.testing.assert_array_equal(slide[:3], np.hstack([np.eye(3), [[0.6], [0.0], [0.0]]]))
    turned = one_joint().transform(0.6)[:3, :3]
    assert_near(turned, turn(0.6, 0.0, 0.0), 1e-15)


@pytest.mark.parametrize("size", ["1e-200", "-4", "1e20"])
def test_axis_is_made_unit(size: str) -> None:
    x, y, z = (float(size) * v for v in (2.0, -3.0, 6.0))
    axis = one_joint(f'<axis xyz="{x!r} {y!r} {z!r}"/>').axis
    wanted = math.copysign(1, float(size)) * np.array([2, -3, 6]) / 7
    assert_near(axis, wanted, 1e-15)
    assert one_joint('<axis xyz="0 0 0"/>', kind="fixed").kind == "fixed"  # SolidWorks writes it so


def test_limits_of_a_continuous_joint_are_said_to_be_ignored() -> None:
    with pytest.warns(IgnoredWarning, match="attribute 'upper' of a continuous joint's <limit>"):
        assert one_joint('<limit upper="1"/>', kind="continuous").limits == Limits()


@pytest.mark.parametrize("ends", ['lower="0" upper="0"', 'lower="-6.28" upper="6.28"', 'upper="1e400"'])
def test_ends_that_say_nothing_of_a_continuous_joint_are_no_warning(ends: str) -> None:
    assert ignored(link("a"), link("b"), joint("j", "continuous", "a", "b", f"<limit {ends}/>")) == []


@pytest.mark.parametrize(
    ("attributes", "xyz", "rpy"),
    [
        ('xyz="0.1 -0.2 0.3" rpy="0.4 -1.1 2.3"', (0.1, -0.2, 0.3), (0.4, -1.1, 2.3)),
        ("", (0, 0, 0), (0, 0, 0)),
        ('xyz="1 2 3"', (1, 2, 3), (0, 0, 0)),
        ('rpy="1 2 3"', (0, 0, 0), (1, 2, 3)),
    ],
)
def test_origin_is_turned_about_z_after_y_after_x_and_zero_where_not_given(
    attributes: str, xyz: tuple[float, ...], rpy: tuple[float, float, float]
) -> None:
    place = one_joint(f"<origin {attributes}/>").before
    assert_near(place[:3, :3], turn(*rpy), 1e-15)
    np.testing.assert_array_equal(place[:3, 3], xyz)


def test_joint_without_limit_is_unlimited_and_said() -> None:
    joints = joint("j", "revolute", "a", "b"), joint("k", "revolute", "b", "c")
    said = "that a revolute joint has no <limit> (read as unlimited), 2 times (first in line 5)"
    assert ignored(*map(link, "abc"), *joints) == [said]


def test_dynamics_are_friction_at_the_joint() -> None:
    for attributes, friction in (
        ('damping="0.7" friction="1.9"', Friction(viscous=0.7, coulomb=(1.9, -1.9))),
        ('damping="0.7"', Friction(viscous=0.7)),
        ('damping="0" friction="0"', None),
    ):
        assert one_joint(f"<dynamics {attributes}/>").friction == friction


# --- mass ----------------------------------------------------------------------------------------------


@given(SEEDS)
@settings(max_examples=25)
def test_inertia_is_turned_into_the_link_frame(seed: int) -> None:
    """The points themselves are turned and moved, and their inertia summed anew in the link's frame."""
    rng = random.Random(seed)
    weights, points = random_body(rng)
    rpy = [rng.uniform(-math.pi, math.pi) for _ in range(3)]
    xyz = np.array([rng.uniform(-1, 1) for _ in range(3)])
    inertial = (
        f'<inertial><origin xyz="{words(xyz)}" rpy="{words(rpy)}"/><mass value="{float(weights.sum())!r}"/>'
        f"<inertia {tensor_attributes(inertia_of(weights, points))}/></inertial>"
    )
    found = read(link("a", inertial)).link("a")
    in_link = points @ turn(*rpy).T + xyz
    truth, moment, whole = inertia_of(weights, in_link), weights @ in_link, weights.sum()
    assert_near(found.inertia_about_origin, truth, ROUNDING * np.trace(truth))
    assert_near(found.mass * found.com, moment, ROUNDING * whole)


def test_parts_of_inertial_may_be_missing() -> None:
    for inertial, wanted in (
        ("", Link(name="a")),
        ("<inertial/>", Link(name="a")),
        (
            '<inertial><origin xyz="1 2 3"/><mass value="1.7"/></inertial>',
            Link(name="a", mass=1.7, com=np.array([1.0, 2.0, 3.0])),
        ),
        (
            '<inertial><mass value="1"/><inertia ixx="1" iyy="2" izz="2.5"/></inertial>',
            Link(name="a", mass=1.0, inertia=np.diag([1.0, 2.0, 2.5])),
        ),
    ):
        assert read(link("a", inertial)).link("a") == wanted


# --- mimic ---------------------------------------------------------------------------------------------

MIMICS = (
    *(link(name) for name in "abcde"),
    # The leader comes last in the file and lies on another branch than its followers.
    joint("third", "continuous", "c", "d", '<mimic joint="second" multiplier="-0.5" offset="0.4"/>'),
    joint(
        "second", "prismatic", "b", "c", '<limit lower="-1" upper="1"/><mimic joint="first" multiplier="3"/>'
    ),
    joint("first", "continuous", "a", "b", '<mimic joint="leader" multiplier="0.7" offset="-0.2"/>'),
    joint("leader", "continuous", "a", "e"),
)


def test_chain_of_mimics_is_multiplied_out() -> None:
    arm = read(*MIMICS)
    assert [j.name for j in arm.joints] == ["leader"]
    q = 1.3
    first = 0.7 * q - 0.2
    second = 3 * first
    third = -0.5 * second + 0.4
    expected = {"first": first, "second": second, "third": third}
    bodies = {body.joint.name: body for body in arm.moving.bodies}
    for name, value in expected.items():
        assert bodies[name].multiplier * q + bodies[name].offset == pytest.approx(value, rel=1e-15)
    chain = arm.joint("first").transform(first) @ arm.joint("second").transform(second)
    truth = chain @ arm.joint("third").transform(third)
    assert_near(link_poses(arm, [q])["d"], truth, ROUNDING)


def test_mimic_is_kept_as_written() -> None:
    assert read(*MIMICS).joint("third").mimic == Mimic(joint="second", multiplier=-0.5, offset=0.4)
    assert one_mimic('joint="j"').mimic == Mimic(joint="j", multiplier=1.0, offset=0.0)


def one_mimic(attributes: str, leader: str = "continuous") -> Joint:
    follower = joint("k", "continuous", "b", "c", f"<mimic {attributes}/>")
    return read(*map(link, "abc"), joint("j", leader, "a", "b"), follower).joint("k")


@pytest.mark.parametrize(
    ("attributes", "words_"),
    [
        ('joint="jj"', r"[^:]*: arm.urdf: joint 'k' mimics joint 'jj', which is missing; did you mean 'j'"),
        ('joint="k"', r"[^:]*: arm.urdf: joint 'k' mimics joint 'k', which mimics it in turn\.$"),
        ("", r"[^:]*: arm.urdf, line 6, joint 'k': <mimic> needs the attribute 'joint'\.$"),
    ],
)
def test_mimic_that_cannot_be_honoured_is_refused_by_name(attributes: str, words_: str) -> None:
    with refused(words_):
        one_mimic(attributes)


def test_fixed_joint_stays_where_it_is_whatever_it_mimics() -> None:
    with pytest.warns(
        fa.IgnoredWarning, match=r"^arm.urdf: ignored <mimic> of a fixed joint, .* \(first in line 4\)\.$"
    ):
        found = one_joint('<mimic joint="k"/>', kind="fixed")
    assert (found.kind, found.mimic) == ("fixed", None)


# --- transmissions -------------------------------------------------------------------------------------

PAIR = (link("a"), link("b"), joint("j", "continuous", "a", "b"))


@pytest.mark.parametrize(
    ("inside", "beside", "motor"),
    [
        ("<mechanicalReduction>-62.5</mechanicalReduction>", "", Motor(gear_ratio=-62.5)),
        ("", "<mechanicalReduction> 62.5 </mechanicalReduction>", Motor(gear_ratio=62.5)),
        (
            "<motorInertia>2e-4</motorInertia>",
            "<mechanicalReduction>62.5</mechanicalReduction>",
            Motor(gear_ratio=62.5, rotor_inertia=2e-4),
        ),
        ("<mechanicalReduction>1</mechanicalReduction>", "", None),
    ],
)
def test_transmission(inside: str, beside: str, motor: Motor | None) -> None:
    name = '<transmission name="t"><type>transmission_interface/SimpleTransmission</type><joint name="j"/>'
    gear = f'{name}<actuator name="m">{inside}</actuator>{beside}</transmission>'
    assert read(gear, *PAIR).joint("j").motor == motor
    assert read(gear, *PAIR[:2], joint("j", "fixed", "a", "b")).joint("j").motor is None


def test_transmission_of_a_joint_that_is_missing_is_read_over() -> None:
    gear = '<transmission><joint name="i"/><mechanicalReduction>9</mechanicalReduction></transmission>'
    with pytest.warns(
        IgnoredWarning, match="<transmission> of a joint that is missing, 2 times .first in line 5"
    ):
        arm = read(*PAIR, gear, gear)
    assert arm.joint("j").motor is None


@pytest.mark.parametrize(
    ("inside", "words_"),
    [
        ("<joint/>", r"<joint> needs the attribute 'name'\.$"),
        (
            '<joint name="j"/><mechanicalReduction>0</mechanicalReduction>',
            "motor, gear_ratio: must not be 0; write 1 for a direct drive, a negative ratio for a reversing",
        ),
    ],
)
def test_transmission_refused(inside: str, words_: str) -> None:
    with refused(rf"[^:]*: arm\.urdf, line 5, transmission 't'[:,] {words_}"):
        read(*PAIR, f'<transmission name="t">{inside}</transmission>')


@pytest.mark.parametrize(
    "inside",
    [
        '<joint name="j"/><joint name="k"/><mechanicalReduction>7</mechanicalReduction>',
        "",
        (
            '<joint name="j"/><mechanicalReduction>7</mechanicalReduction><mechanicalReduction>8'
            "</mechanicalReduction>"
        ),
        '<joint name="j"/><actuator><mechanicalReduction>7</mechanicalReduction></actuator>'
        "<actuator><mechanicalReduction>8</mechanicalReduction></actuator>",
    ],
)
def test_transmission_that_is_not_simple_is_reported(inside: str) -> None:
    said = "<transmission> that is not one joint on one actuator (first in line 5)"
    assert said in ignored(*PAIR, f"<transmission>{inside}</transmission>")


# --- what is read over ---------------------------------------------------------------------------------

# One of every kind of thing that has no place in an arm, some of them twice: line, text, what is said of it.
# Shapes, colours, sensors and what simulators and controllers have in a URDF are ordinary: nothing is said.
IGNORED_BLOCKS = (
    '<material name="grey"><color rgba="1 1 1 1"/></material>',
    '<link name="a" type="solid"><visual name="v"><origin xyz="nan"/></visual></link>',
    '<link name="b" type="solid"><visual/><collision/><visual/>',
    '<inertial frame="cog"><origin xyz="0 0 0" quat_xyzw="0 0 0 1"/><mass value="1" unit="kg"/>',
    '<inertia ixx="1" iyy="1" izz="1" iyx="0"/><density value="3"/></inertial></link>',
    '<joint name="j" type="revolute" id="7"><parent link="a" frame="f"/><child link="b" frame="f"/>',
    '<axis xyz="0 0 1" rpy="0 0 0"/><calibration rising="0"/><safety_controller k_velocity="3"/>',
    '<limit lower="-1" upper="1" jerk="3"/><dynamics damping="1" spring="4"/></joint>',
    '<link name="c"/><joint name="k" type="continuous"><parent link="b"/><child link="c"/>',
    '<mimic joint="j" factor="3"/></joint>',
    '<transmission name="t" kind="x"><joint name="j" x="1"><hardwareInterface>e</hardwareInterface></joint>',
    (
        '<actuator name="m" x="2"><hardwareInterface>e</hardwareInterface></'
        "actuator><leftActuator/></transmission>"
    ),
    "<gazebo/><gazebo><plugin/></gazebo><sensor/><friction_cone/><friction_cone/>",
)
IGNORED_KINDS = {
    "attribute 'type' of <link>": (2, 3),
    "attribute 'frame' of <inertial>": (1, 5),
    "attribute 'quat_xyzw' of <origin>": (1, 5),
    "attribute 'unit' of <mass>": (1, 5),
    "attribute 'iyx' of <inertia>": (1, 6),
    "<density> in <inertial>": (1, 6),
    "attribute 'id' of <joint>": (1, 7),
    "attribute 'frame' of <parent>": (1, 7),
    "attribute 'frame' of <child>": (1, 7),
    "attribute 'rpy' of <axis>": (1, 8),
    "attribute 'jerk' of <limit>": (1, 9),
    "attribute 'spring' of <dynamics>": (1, 9),
    "attribute 'factor' of <mimic>": (1, 11),
    "attribute 'kind' of <transmission>": (1, 12),
    "attribute 'x' of <joint>": (1, 12),
    "attribute 'x' of <actuator>": (1, 13),
    "<leftActuator> in <transmission>": (1, 13),
    "<friction_cone> in <robot>": (2, 14),
}


def test_everything_read_over_is_reported_once_a_kind_with_its_count_and_first_line() -> None:
    wanted = [
        f"{what}{f', {count} times' if count > 1 else ''} (first in line {line})"
        for what, (count, line) in IGNORED_KINDS.items()
    ]
    assert sorted(ignored(*IGNORED_BLOCKS)) == sorted(wanted)


def test_what_a_kinova_file_carries_beside_the_arm() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        arm = fa.load(KINOVA)
    assert caught == []  # shapes, plugins, interfaces, limits of fixed joints and of whole turns
    assert (arm.n, arm.name, arm.base_link, arm.hand.link) == (6, "kinova", "base", "j2s6s200_end_effector")
    assert arm.mass == pytest.approx(0.46784 + 0.7477 + 2 * 0.99 + 0.6763 + 2 * 0.463 + 4 * 0.01, rel=1e-15)
    assert arm.joint("j2s6s200_joint_2").limits == (0.820304748437, 5.46288055874)
    assert arm.joint("j2s6s200_joint_1").limits == Limits()


# --- the hand ------------------------------------------------------------------------------------------

# Two leaves with two joints each, the first behind a fixed joint;
# a longer path of fixed joints and followers.
HANDS = (
    *(link(name) for name in ("base", "a", "b", "flange", "c", "d", "x", "y", "z", "zz")),
    joint("j1", "continuous", "base", "a"),
    joint("s1", "fixed", "base", "x"),
    joint("j2", "continuous", "a", "b"),
    joint("s2", "fixed", "b", "flange"),
    joint("j3", "continuous", "base", "c"),
    joint("j4", "continuous", "c", "d"),
    joint("m1", "continuous", "x", "y", '<mimic joint="j1"/>'),
    joint("m2", "continuous", "y", "z", '<mimic joint="j1"/>'),
    joint("m3", "continuous", "z", "zz", '<mimic joint="j1"/>'),
)


def test_hand_is_the_first_leaf_with_the_most_joints_unless_named(tmp_path: Path) -> None:
    reordered = [*HANDS[:3], *HANDS[4:10], HANDS[3], *HANDS[10:]]  # the link d before the link flange
    longer = (*HANDS, link("e"), joint("j5", "continuous", "d", "e"))
    for blocks, given_, found in (
        (HANDS, None, "flange"),
        (reordered, None, "d"),
        (longer, None, "e"),
        (HANDS, "b", "b"),
    ):
        assert read(*blocks, hand=given_).hand == Hand(link=found)
    file = tmp_path / "arm.urdf"
    file.write_bytes(robot(*HANDS))
    arm = fa.load(file, hand="d")
    q = [0.3, -0.7, 1.1, 0.2]
    np.testing.assert_array_equal(forward(arm, q), link_poses(arm, q)["d"])
    with refused(r"NameNotFound: arm.urdf, arm 'r', link: expected .*'flang'; did you mean 'flange'"):
        read(*HANDS, hand="flang")


# --- there and back ------------------------------------------------------------------------------------


def there_and_back(arm: Arm) -> Arm:
    return arm_from_urdf(urdf_text(arm).encode(), "back.urdf")


@pytest.mark.slow
@settings(max_examples=12)
@given(SEEDS, st.integers(1, 16), st.booleans())
def test_round_trip_changes_no_bit(seed: int, links: int, tree: bool) -> None:
    arm = arm_from_urdf(random_urdf(seed, Making(links=links, tree=tree)).encode(), "made.urdf")
    # named, as the writer asks for where a hand before fingers is on one of several leaves that are equal
    back = arm_from_urdf(urdf_text(arm).encode(), "back.urdf", hand=arm.hand.link)
    assert back == arm
    assert urdf_text(back) == urdf_text(arm)


@pytest.mark.filterwarnings("ignore::forearm.errors.IgnoredWarning")
def test_round_trip_of_a_kinova_through_files(tmp_path: Path) -> None:
    arm = fa.load(KINOVA)
    for name, save in (("back.urdf", arm.to_urdf), ("back.toml", arm.save)):
        save(tmp_path / name)
        assert fa.load(tmp_path / name) == arm


def test_round_trip_of_corners() -> None:
    """Unlimited slides, half-open limits, zero efforts, rotations by half a turn,
    names that XML must escape.
    """
    names = ["<a>", 'b "quoted"', "c & d", "l'été", "链", "  spaced  "]
    escaped = [name.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;") for name in names]
    huge = "1.7976931348623157e308"
    arm = read(
        *(link(name) for name in escaped),
        joint("slide", "prismatic", escaped[0], escaped[1], f'<limit lower="-{huge}" upper="{huge}"/>'),
        joint(
            "&lt;half&gt;",
            "revolute",
            escaped[1],
            escaped[2],
            '<limit lower="-1e301" upper="0.25" effort="0"/>',
        ),
        joint("point", "revolute", escaped[2], escaped[3], '<limit lower="0.5" upper="0.5" velocity="0"/>'),
        joint(
            "pole",
            "continuous",
            escaped[3],
            escaped[4],
            f'<origin rpy="{words([math.pi, math.pi / 2, -math.pi])}"/>',
        ),
        joint(
            "tiny", "fixed", escaped[4], escaped[5], '<origin xyz="5e-324 -0.0 1e-300" rpy="1e22 -7e5 -0.0"/>'
        ),
    )
    assert [part.name for part in arm.links] == names
    assert [j.limits for j in arm.joints] == [Limits(), (-math.inf, 0.25), (0.5, 0.5), Limits()]
    assert (arm.joints[1].max_effort, arm.joints[2].max_speed) == (0.0, 0.0)
    assert there_and_back(arm) == arm


@pytest.mark.parametrize("name", ["puma560-akb", "panda", "stanford", "ur5"])
def test_arm_in_dh_is_the_same_arm_in_urdf(name: str) -> None:
    """Link frames move to the joints, the mechanism stays."""
    arm = fa.load(name)
    back = there_and_back(arm)
    for mine, other in zip(back.joints, arm.joints, strict=True):
        for key in ("name", "kind", "limits", "max_speed", "max_effort"):
            assert getattr(mine, key) == getattr(other, key)
    assert_same_motion(back, arm)
    assert there_and_back(back) == back


@pytest.mark.parametrize("style", STYLES)
def test_arm_of_every_kind_is_the_same_arm_in_urdf(style: Style) -> None:
    arm = random_arm(1, 5, style, tree=True, mimic=True)
    # its tool becomes a link of this name
    back = arm_from_urdf(urdf_text(arm).encode(), "back.urdf", hand="hand")
    assert_same_motion(back, arm)


def assert_same_motion(back: Arm, arm: Arm) -> None:
    """Same hand and same energy at random states; the two energies are differences of poses, taken alike."""
    for seed in range(3):
        q, qd = posture(arm, seed), speed(arm, seed)
        assert_near(forward(back, q), forward(arm, q), ROUNDING)
        assert kinetic_energy(back, q, qd) == pytest.approx(kinetic_energy(arm, q, qd), rel=DIFFERENCE)


def test_drives_of_an_arm_in_urdf() -> None:
    """Rotor and gear stay as they are; friction moves to the joint side: tau = N^2 B qd + |N| Tc."""
    arm = fa.load("puma560")
    back = there_and_back(arm)
    for j, k in zip(arm.joints, back.joints, strict=True):
        assert j.motor is not None
        assert k.motor == Motor(gear_ratio=j.motor.gear_ratio, rotor_inertia=j.motor.rotor_inertia)
        assert j.friction is not None
        assert k.friction is not None
        ratio, (plus, minus) = abs(j.motor.gear_ratio), j.friction.coulomb
        assert k.friction.side == "joint"
        assert k.friction.viscous == pytest.approx(ratio**2 * j.friction.viscous, rel=1e-15)
        assert k.friction.coulomb[0] == pytest.approx(ratio * (plus - minus) / 2, rel=1e-15)
        assert k.friction.coulomb[1] == -k.friction.coulomb[0]


# --- writing -------------------------------------------------------------------------------------------


def test_written_text_is_plain_urdf() -> None:
    """Read with another parser: the elements a URDF reader looks for, numbers in full."""
    inertial = '<inertial><mass value="0.1"/><inertia ixx="0.3" ixy="0.01" iyy="0.4" izz="0.5"/></inertial>'
    tensor = {"ixx": "0.3", "ixy": "0.01", "ixz": "0.0", "iyy": "0.4", "iyz": "0.0", "izz": "0.5"}
    turns = '<axis xyz="0 0 1"/><limit lower="-0.1" upper="0.7" effort="3"/>'
    root = ElementTree.fromstring(
        urdf_text(read(link("a"), link("b", inertial), joint("j", "revolute", "a", "b", turns)))
    )
    assert [(e.tag, *e.attrib.items()) for e in root.iter()] == [
        ("robot", ("name", "r")),
        ("link", ("name", "a")),
        ("link", ("name", "b")),
        ("inertial",),
        ("origin", ("xyz", "0.0 0.0 0.0")),
        ("mass", ("value", "0.1")),
        ("inertia", *tensor.items()),
        ("joint", ("name", "j"), ("type", "revolute")),
        ("parent", ("link", "a")),
        ("child", ("link", "b")),
        ("origin", ("xyz", "0.0 0.0 0.0"), ("rpy", "0.0 0.0 0.0")),
        ("axis", ("xyz", "0.0 0.0 1.0")),
        ("limit", ("lower", "-0.1"), ("upper", "0.7"), ("effort", "3.0"), ("velocity", "1e+30")),
    ]


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic"])
def test_limit_has_all_attributes_that_other_readers_ask_for(kind: str) -> None:
    """URDF asks for effort and velocity, and for both ends where there is a range."""
    ends = {"revolute": 'lower="-1" upper="2"', "prismatic": 'lower="-1e31" upper="2"'}.get(kind, "")
    needed = {"effort", "velocity"} | ({"lower", "upper"} if kind != "continuous" else set())
    for given_ in ("", 'effort="3"', 'velocity="4"'):
        arm = read(*map(link, "ab"), joint("j", kind, "a", "b", f"<limit {ends} {given_}/>"))
        written = ElementTree.fromstring(urdf_text(arm)).find("joint/limit")
        assert there_and_back(arm) == arm
        if written is None:
            assert (kind, given_) == ("continuous", "")  # the one kind that may do without
        else:
            assert set(written.attrib) == needed
            assert all(math.isfinite(float(value)) for value in written.attrib.values())


TOOL = np.array([[0.0, -0.6, 0.8, 0.1], [1.0, 0.0, 0.0, -0.2], [0.0, 0.8, 0.6, 0.3], [0.0, 0.0, 0.0, 1.0]])


@pytest.mark.parametrize("hand", [Hand(link="a"), Hand(link="y", pose=TOOL)], ids=["link", "tool"])
def test_hand_elsewhere_is_not_lost_in_silence(hand: Hand, tmp_path: Path) -> None:
    arm = read(*HANDS).replace(hand=hand)
    assert there_and_back(arm).hand.link not in ("a", "hand")
    with pytest.warns(LossWarning, match="that the hand is"):
        arm.to_urdf(tmp_path / "arm.urdf")
    among_equals = arm.replace(hand="d")
    assert there_and_back(among_equals).hand == Hand(link="d")


def test_what_urdf_cannot_say_is_named(tmp_path: Path) -> None:
    base = np.eye(4)
    base[:3, :3] = turn(0.2, 0.3, 0.4)
    arm = fa.load("puma560").replace(gravity=(0.0, 1.0, -9.0), base=base)
    with pytest.warns(LossWarning) as caught:
        arm.to_urdf(tmp_path / "arm.urdf")
    assert re.match(
        r"puma560: not representable in URDF, left out: gravity \[0.0, 1.0, -9.0\]; the pose of the base.*"
        r"motor constants \(joint1, joint2, .*direction-dependent Coulomb friction \(joint1, joint2, ",
        str(caught[0].message),
    )
    assert Path(caught[0].filename) == Path(__file__)


def test_written_whole_or_not_at_all(tmp_path: Path) -> None:
    with refused(r"InputError.*missing/arm.urdf: cannot be written: "):
        read(*PAIR).to_urdf(tmp_path / "missing" / "arm.urdf")
    assert list(tmp_path.iterdir()) == []


# --- helpers -------------------------------------------------------------------------------------------


def turn(roll: float, pitch: float, yaw: float) -> NDArray[np.float64]:
    """Rz(yaw) Ry(pitch) Rx(roll), one product at a time."""
    (a, b, c), (s, t, u) = map(math.cos, (roll, pitch, yaw)), map(math.sin, (roll, pitch, yaw))
    about_x = np.array([[1, 0, 0], [0, a, -s], [0, s, a]])
    about_y = np.array([[b, 0, t], [0, 1, 0], [-t, 0, b]])
    about_z = np.array([[c, -u, 0], [u, c, 0], [0, 0, 1]])
    return np.asarray(about_z @ about_y @ about_x)
