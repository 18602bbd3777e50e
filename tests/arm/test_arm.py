"""The arm as data: frozen, comparable, validated at the border, changed by copies."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import STYLES, elastic_arms, every_kind, posture, potential_energy, random_arm
from hypothesis import given, settings
from hypothesis import strategies as st
from nearness import assert_near
from numpy.typing import NDArray
from refusals import refused

from forearm import DH, Arm, Frame, Hand, Joint, Limits, Link, Mimic, Motor, load
from forearm.arm.joint import Kind
from forearm.kinematics import forward, link_poses
from forearm.records import fields_of
from forearm.spatial import inverse_pose, pose, rotation_rpy

Array = NDArray[np.float64]

ROUNDING = 1e-13  # sums of tens of products of numbers of order 1 to 100, relative

TURNED = pose(rotation_rpy((0.4, -0.7, 1.9)), (0.3, 0.2, -0.6))


def link(name: str) -> Link:
    return Link(name=name, mass=1.5, com=(0.1, 0.2, 0.3), inertia=np.diag([0.1, 0.12, 0.15]))  # type: ignore[arg-type]


def joint(name: str, parent: str, child: str, kind: Kind = "revolute", **more: Any) -> Joint:
    return Joint(
        name=name, kind=kind, parent=parent, child=child, placement=more.pop("placement", Frame()), **more
    )


def arm_of(*joints: Joint, links: str = "abcd", **more: Any) -> Arm:
    return Arm(name="test", links=tuple(map(link, links)), tree=joints, **more)


def arrays_in(value: Any) -> Iterator[Array]:
    """Every array in the fields of an arm."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from arrays_in(item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for item in fields_of(value).values():
            yield from arrays_in(item)


# ------------------------------------------------------------------------------------------------------- data


def test_frozen() -> None:
    arm = random_arm(1)
    for value in (arm, arm.links[0], arm.tree[0], arm.hand, arm.joints[0].motor):
        with pytest.raises(dataclasses.FrozenInstanceError):
            value.name = "other"  # type: ignore[union-attr, misc]


def test_no_array_can_be_written() -> None:
    for arm in every_kind(1):
        arrays = list(arrays_in(arm))
        assert len(arrays) > 10
        arrays += [array for j in arm.tree for array in (j.before, j.after, j.axis)]
        for array in arrays:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0.0


def test_arrays_given_are_copied() -> None:
    com = np.array([0.1, 0.2, 0.3])
    made = Link(name="a", mass=1.0, com=com)
    com[0] = 9.0
    assert made.com[0] == 0.1


def test_equal_and_hash() -> None:
    arms = every_kind(1)
    again = [Arm(**fields_of(arm)) for arm in arms]
    assert arms == again
    assert len({*arms, *again}) == len(arms)
    others: list[object] = ["arm", arms[0].hand, None]
    assert all(arms[0] != other for other in others)


def one_percent(value: Any) -> Iterator[Any]:
    """The value with one number in it changed a little, for every number in it."""
    if isinstance(value, float) and math.isfinite(value):
        yield value * 1.01 + 1e-6
    elif isinstance(value, np.ndarray) and value.shape in ((3,), (3, 3)):
        for index in np.ndindex(value.shape):
            changed = value.copy()
            changed[index] = changed[index[::-1]] = value[index] + 1e-6
            yield changed
    elif isinstance(value, tuple):
        for i, item in enumerate(value):
            for other in one_percent(item):
                items = (*value[:i], other, *value[i + 1 :])
                yield Limits(*items) if isinstance(value, Limits) else items
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for name, item in fields_of(value).items():
            for other in one_percent(item):
                yield dataclasses.replace(value, **{name: other})


@pytest.mark.parametrize("style", STYLES)
def test_every_number_counts_in_equality(style: Any) -> None:
    for arm in elastic_arms(style):
        changed = list(one_percent(arm))
        assert len(changed) > 100
        changed += [arm.replace(**{field: "other"}) for field in ("name", "source", "notes")]
        assert all(other != arm for other in changed)
        assert len({hash(other) for other in changed}) > 0.99 * len(set(changed))


@pytest.mark.slow
def test_pickle_and_copy() -> None:
    for arm in every_kind(2, n=3):
        assert arm.moving.bodies  # kept beside the fields
        for again in (pickle.loads(pickle.dumps(arm)), copy.copy(arm), copy.deepcopy(arm)):
            assert again == arm
            assert hash(again) == hash(arm)
            assert not any(array.flags.writeable for array in arrays_in(again))
            for mine, other in zip(arrays_in(arm), arrays_in(again), strict=True):
                assert mine.tobytes() == other.tobytes()
        assert np.array_equal(forward(again, np.ones(3)), forward(arm, np.ones(3)))


# -------------------------------------------------------------------------------------------- order and names


def test_joints_depth_first_siblings_as_given() -> None:
    arm = arm_of(
        joint("second", "a", "c"),
        joint("deep", "b", "d"),
        joint("deeper", "d", "e", "fixed"),
        joint("first", "a", "b", "prismatic"),
        joint("follower", "b", "f", mimic=Mimic(joint="first")),
        links="fedcba",
    )
    assert [j.name for j in arm.tree] == ["second", "first", "deep", "deeper", "follower"]
    assert [j.name for j in arm.joints] == ["second", "first", "deep"]
    assert [x.name for x in arm.links] == ["a", "c", "b", "d", "e", "f"]
    assert arm.n == 3
    assert arm.base_link == "a"
    assert not arm.is_serial
    assert arm.hand.link == "e"


def test_order_given_to_links_and_joints_of_a_chain_does_not_matter() -> None:
    arm = random_arm(3, n=5)
    shuffled = Arm(**(fields_of(arm) | {"links": arm.links[::-1], "tree": arm.tree[::-1]}))
    assert shuffled == arm


def test_default_hand_is_the_most_articulated_leaf_first_on_a_tie() -> None:
    tie = arm_of(joint("one", "a", "b"), joint("two", "a", "c"), joint("weld", "c", "d", "fixed"))
    assert tie.hand == Hand(link="b")
    deeper = arm_of(joint("one", "a", "b"), joint("two", "a", "c"), joint("three", "c", "d"))
    assert deeper.hand.link == "d"
    alone = arm_of(links="a")
    assert (alone.n, alone.hand.link, alone.base_link) == (0, "a", "a")


def test_a_chain_of_thousands_of_links_is_no_recursion() -> None:
    placement, count = Frame(), 3000
    links = tuple(Link(name=f"l{i}") for i in range(count + 1))
    joints = tuple(joint(f"j{i}", f"l{i}", f"l{i + 1}", "fixed", placement=placement) for i in range(count))
    assert Arm(name="long", links=links, tree=joints[::-1]).tree == joints
    with refused("InputError.*at most 10000 entries, got 10001"):
        Arm(name="long", links=links[:1] * 10_001, tree=())


def test_lookup() -> None:
    arm = load("stanford")
    assert arm.link("link3").mass == 4.25
    assert arm.joint("joint3").kind == "prismatic"
    assert random_arm(1).joint("weld_flange").kind == "fixed"
    for look, name, words in (
        (arm.link, "link33", "NameNotFound: arm 'stanford', link: .*got 'link33'; did you mean 'link3'"),
        (arm.joint, "jont3", "NameNotFound: arm 'stanford', joint: .*got 'jont3'; did you mean 'joint3'"),
        (arm.joint, "elbow", ".*expected one of joint1, joint2, joint3, joint4, joint5, joint6, got"),
        (arm.link, 3, ".*link: expected one of .*, got 3"),
    ):
        with refused(words):
            look(name)  # type: ignore[arg-type]


def test_repr_and_str() -> None:
    arm = load("stanford")
    assert repr(arm) == "<Arm 'stanford': 6 joints RRPRRR, serial, 20.77 kg>"
    text = str(arm)
    for word in (
        "stanford: 6 joints, serial chain, 7 links, 20.77 kg",
        "gravity 0 0 -9.81",
        "hand on link6",
        "prismatic",
        "0.3048 m",
        "-170 deg",
        "2.193",
        "link4",
    ):
        assert word in text
    for word in [
        "standard Denavit-Hartenberg",
        "prismatic",
        "0.3048 m",
        "-170 deg",
        "2.193",
        "link4",
        "0.6447",
    ]:
        assert word in text
    assert "tree" in repr(random_arm(0, tree=True, n=5))
    for other in every_kind(1):
        text = str(other)
        followers = [f"follows {j.mimic.joint}" for j in other.tree if j.mimic is not None]
        for word in (*followers, *(x.name for x in other.links), *(x.name for x in other.tree)):
            assert word in text
        assert ("Drives" in text) == any(j.has_drive for j in other.tree)


# ---------------------------------------------------------------------------------------------------- replace


def test_replace_refuses_unknown_fields() -> None:
    with refused(r"NameNotFound.*field of an arm: expected one of .*, got 'gravty'; did you mean 'gravity'"):
        random_arm(1).replace(gravty=(0, 0, 0))


def test_replace_hand() -> None:
    arm = random_arm(1)
    for given_hand, hand in (
        (TURNED, Hand(link=arm.hand.link, pose=TURNED)),
        (TURNED.tolist(), Hand(link=arm.hand.link, pose=TURNED)),
        ("part2", Hand(link="part2")),
        (Hand(link="part2", pose=TURNED), Hand(link="part2", pose=TURNED)),
    ):
        assert arm.replace(hand=given_hand).hand == hand
    q = posture(arm, 1)
    assert np.array_equal(forward(arm.replace(hand="part2"), q), link_poses(arm, q)["part2"])
    for wrong, words in (
        ("part99", "NameNotFound.*got 'part99'"),
        (Hand(link="part99"), "NameNotFound.*got 'part99'"),
        (2.0 * np.eye(4), "InputError.*hand, pose: the upper left 3x3 must be a rotation"),
        (3, "InputError.*hand, pose: expected a pose"),
        (HUGE, ".*hand"),
    ):
        with refused(words):
            arm.replace(hand=wrong)


@pytest.mark.slow
@given(st.integers(0, 1000), st.tuples(*[st.floats(-3.1, 3.1)] * 3))
@settings(max_examples=15)
def test_a_new_base_tilts_the_arm_in_the_same_world(seed: int, rpy: tuple[float, float, float]) -> None:
    arm = random_arm(seed, convention=STYLES[seed % 3], tree=seed % 2 == 0)
    base = pose(rotation_rpy(rpy), (0.4, -0.2, 0.9))
    tilted = arm.replace(base=base)
    q = posture(arm, seed)
    # By hand: gravity of the world, in the axes of the new base, on an arm whose base is not told.
    g_world = arm.base[:3, :3] @ arm.gravity
    by_hand = arm.replace(gravity=base[:3, :3].T @ g_world)
    energy = potential_energy(tilted, q)
    assert energy == pytest.approx(potential_energy(by_hand, q), rel=1e-12, abs=1e-12)
    # In the world: every centre of mass through the new base, against the gravity of the world.
    poses = link_poses(arm, q)
    centres = [(base @ poses[x.name] @ np.append(x.com, 1.0))[:3] - base[:3, 3] for x in arm.links]
    in_world = -sum(x.mass * float(g_world @ c) for x, c in zip(arm.links, centres, strict=True))
    assert energy == pytest.approx(in_world, rel=1e-12, abs=1e-11)


def test_a_base_that_only_moves_leaves_gravity_alone_and_none_enters_poses() -> None:
    arm = load("stanford")
    assert np.array_equal(arm.replace(base=pose(p=(1.0, 2.0, 3.0))).gravity, arm.gravity)
    back = arm.replace(base=TURNED).replace(base=np.eye(4))
    assert_near(back.gravity, arm.gravity, ROUNDING)
    q = posture(arm, 1)
    assert np.array_equal(forward(arm, q), forward(arm.replace(base=TURNED), q))
    assert arm.replace(base=TURNED, gravity=(1.0, 2.0, 3.0)).gravity.tolist() == [1.0, 2.0, 3.0]


def test_with_link() -> None:
    arm = random_arm(1)
    heavier = dataclasses.replace(arm.link("part2"), mass=99.0)
    assert arm.with_link(heavier).link("part2").mass == 99.0
    assert arm.with_link(heavier).with_link(arm.link("part2")) == arm
    with refused(r"NameNotFound.*link: expected one of .*, got 'x'"):
        arm.with_link(Link(name="x"))


# ------------------------------------------------------------------------------------------------- validation


CHAIN = (joint("one", "a", "b"), joint("two", "b", "c"), joint("three", "c", "d"))
STANDARD, MODIFIED = DH(convention="standard", a=0.1), DH(convention="modified", a=0.1)


@pytest.mark.parametrize(
    ("joints", "links", "words"),
    [
        (CHAIN, "abcdd", "ModelError.*two links are called 'd'.*a unique name"),
        ((*CHAIN, joint("one", "d", "e")), "abcde", "ModelError.*two joints are called 'one'"),
        (CHAIN, "abc", "ModelError.*joint 'three': its child link 'd' is missing"),
        (CHAIN, "bcd", "ModelError.*joint 'one': its parent link 'a' is missing"),
        (CHAIN, "abcde", "ModelError.*there are 2 roots.*'a', 'e'.*fixed joints"),
        (
            (*CHAIN, joint("four", "a", "d")),
            "abcd",
            "ModelError.*link 'd' is moved by two joints, 'three' and 'four'",
        ),
        ((*CHAIN, joint("four", "d", "a")), "abcd", "ModelError.*form a cycle.*no link is the base"),
        (
            (*CHAIN, joint("x", "e", "f"), joint("y", "f", "e")),
            "abcdef",
            r"ModelError.*joint 'x' \(link 'f'\) cannot be reached from the base 'a'.*cycle",
        ),
        ((), "", "InputError.*an arm needs at least one link"),
        (
            (joint("one", "a", "b", placement=STANDARD), joint("two", "b", "c", placement=MODIFIED)),
            "abc",
            "ModelError.*arm 'test'.*mix the standard and the modified.*one convention",
        ),
        (
            (joint("one", "a", "b", mimic=Mimic(joint="oen")), joint("two", "b", "c")),
            "abc",
            "ModelError.*joint 'one' mimics joint 'oen', which is missing.*did you mean 'one'",
        ),
        (
            (joint("one", "a", "b", mimic=Mimic(joint="weld")), joint("weld", "b", "c", "fixed")),
            "abc",
            "ModelError.*joint 'one' mimics joint 'weld', which is fixed",
        ),
        (
            (
                joint("one", "a", "b", mimic=Mimic(joint="two")),
                joint("two", "b", "c", mimic=Mimic(joint="one")),
            ),
            "abc",
            "ModelError.*joint 'two' mimics joint 'one', which mimics it in turn",
        ),
    ],
)
def test_structure_refused(joints: tuple[Joint, ...], links: str, words: str) -> None:
    with refused(words):
        arm_of(*joints, links=links)


def test_frames_may_stand_among_rows_of_one_convention() -> None:
    assert arm_of(joint("one", "a", "b", placement=STANDARD), joint("two", "b", "c"), links="abc").n == 2


SOUND: dict[type[Any], dict[str, Any]] = {
    Link: {"name": "x"},
    DH: {"convention": "standard"},
    Mimic: {"joint": "j"},
    Hand: {"link": "a"},
    Joint: {"name": "j", "kind": "revolute", "parent": "a", "child": "b", "placement": Frame()},
    Arm: {"name": "test", "links": tuple(map(link, "abcd")), "tree": CHAIN},
}
HUGE: list[list[int]] = [[10**400] * 4] * 4


@pytest.mark.parametrize(
    ("cls", "fields", "words"),
    [
        (Link, {"mass": -1.0}, "ModelError.*link 'x', mass.*at least 0.*-1"),
        (Link, {"mass": math.nan}, "InputError.*link 'x', mass.*finite.*nan"),
        (Link, {"mass": "1"}, "InputError.*link 'x', mass.*expected a number.*'1'"),
        (Link, {"com": (0.0, 0.0)}, r"InputError.*link 'x', com.*a list of 3"),
        (Link, {"inertia": np.eye(4)}, r"InputError.*link 'x', inertia.*\(3, 3\).*\(4, 4\)"),
        (
            Link,
            {"inertia": [[1.0, 0.1, 0.0], [0.2, 1.0, 0.0], [0.0, 0.0, 1.0]]},
            "ModelError.*link 'x', inertia.*symmetric",
        ),
        (
            Link,
            {"inertia": np.diag([1.0, 1.0, -0.1])},
            r"ModelError.*link 'x', inertia.*positive semidefinite.*-0.1, 1, 1 kg m\^2.*products of inertia",
        ),
        (Link, {"name": ""}, "InputError.*link '', name: .*1 to 200 characters.*''"),
        (Link, {"name": "a\nb"}, r"InputError.*name: .*printable.*'a\\nb'"),
        (Frame, {"axis": (0.0, 0.0, 0.0)}, "ModelError.*axis: must not be 0 0 0.*0 0 1"),
        (
            DH,
            {"convention": "craig"},
            "NameNotFound: DH, convention: expected one of standard, modified, got 'craig'",
        ),
        (DH, {"a": None}, "InputError.*DH, a: expected a number"),
        (Mimic, {"multiplier": math.inf}, "InputError.*mimic, multiplier.*finite"),
        (Hand, {"pose": np.diag([1.0, 1.0, -1.0, 1.0])}, "InputError.*hand.*rotation"),
        (Hand, {"pose": np.diag([1.0, 1.0, 1.0, 2.0])}, "InputError.*hand.*last row 0 0 0 1"),
        (Joint, {"kind": "continuous"}, ".*joint 'j', kind.*revolute, prismatic, fixed.*'continuous'"),
        (
            Joint,
            {"limits": (1.0, -1.0)},
            "ModelError.*joint 'j', limits.*lower must not be above upper.*1 and -1",
        ),
        (Joint, {"limits": (1.0,)}, r"InputError.*joint 'j', limits.*\[lower, upper\]"),
        (Joint, {"limits": ("0", "1")}, "InputError.*joint 'j', limits.1.: '0' is not an angle"),
        (Joint, {"max_speed": -1.0}, "ModelError.*joint 'j', max_speed.*at least 0"),
        (Joint, {"kind": "fixed", "motor": Motor()}, "ModelError: joint 'j': a fixed joint cannot have a m"),
        (Arm, {"gravity": (0.0, 0.0, math.nan)}, "InputError.*gravity.*finite"),
        (Arm, {"base": np.diag([1.0, 1.0, 2.0, 1.0])}, "InputError.*base.*rotation"),
        (Arm, {"hand": 5}, "InputError.*arm 'test', hand.*a Hand or the name of a link.*5"),
        (Arm, {"hand": "z"}, "NameNotFound.*arm 'test', link: expected one of a, b, c, d, got 'z'"),
        (Arm, {"base": HUGE}, ".*base"),
        (Arm, {"links": ("a", "b", "c", "d")}, ".*link"),
        (Joint, {"mimic": "one"}, ".*mimic"),
        (Arm, {"notes": 5}, ".*notes"),
        (Joint, {"child": 5}, "InputError: joint 'j', child: a name.*5"),
        (Joint, {"placement": None}, ".*placement"),
        (Mimic, {"joint": 5}, "InputError: mimic, joint: a name.*5"),
        (Link, {"com": np.array([1j, 0.0, 0.0])}, ".*com"),
        (
            Frame,
            {"axis": np.array([1e200, 1e200, -1e200])},
            "InputError: frame, axis.1.: no number may exceed 1e",
        ),
        (Link, {"inertia": np.diag([1.2e308] * 3)}, "InputError: link 'x', inertia: no number may exceed 1e"),
        (Link, {"mass": 1.1e30}, "InputError: link 'x', mass: no number may exceed 1e"),
        (DH, {"a": -1e308}, "InputError: DH, a: no number may exceed 1e"),
        (Joint, {"limits": (-1e31, 0.0)}, "InputError: joint 'j', limits.1.: no number may exceed 1e"),
        (Arm, {"gravity": (0.0, 0.0, -1e31)}, "InputError: arm 'test', gravity.3.: no number may exceed 1e"),
    ],
)
def test_values_refused(cls: type[Any], fields: dict[str, Any], words: str) -> None:
    with refused(words):
        cls(**(SOUND.get(cls, {}) | fields))


def test_rounding_is_not_refused() -> None:
    # Half of a last printed digit in a product of inertia of a thin plate, and one ulp of asymmetry.
    Link(name="x", mass=1.0, inertia=np.diag([1.0, 1.0, -1e-10]))
    tensor = np.array([[1.0, 0.1, 0.2], [0.1, 1.0, 0.3], [0.2, 0.3, 1.0]])
    tensor[0, 1] = np.nextafter(0.1, 1.0)
    assert np.array_equal(*(lambda x: (x, x.T))(Link(name="x", mass=1.0, inertia=tensor).inertia))
    with refused("ModelError.*semidefinite"):
        Link(name="x", mass=1.0, inertia=np.diag([1.0, 1.0, -1e-8]))
    with refused("ModelError.*symmetric"):
        Link(name="x", mass=1.0, inertia=tensor + np.array([[0, 1e-11, 0], [0, 0, 0], [0, 0, 0]]))


@given(st.tuples(*[st.floats(-1e30, 1e30)] * 3).filter(any))
@settings(max_examples=60)
def test_axes_become_unit_and_stay_as_they_are(given_axis: tuple[float, float, float]) -> None:
    axis = Frame(axis=given_axis).axis  # type: ignore[arg-type]
    assert abs(np.linalg.norm(axis) - 1.0) <= 1e-15
    assert Frame(axis=axis).axis.tobytes() == axis.tobytes()
    scaled = np.array(given_axis) / max(map(abs, given_axis))
    assert np.abs(np.cross(axis, scaled)).max() <= 1e-14


@given(st.tuples(*[st.floats(-4.0, 4.0)] * 3), st.tuples(*[st.floats(-2.0, 2.0)] * 3))
@settings(max_examples=50)
def test_a_frame_from_a_pose_is_at_that_pose(
    rpy: tuple[float, float, float], xyz: tuple[float, float, float]
) -> None:
    T = pose(rotation_rpy(rpy), xyz)
    frame = Frame.from_pose(T, np.array([0.0, 0.6, 0.8]))
    assert_near(frame.before, T, 2e-15)
    assert frame.axis.tolist() == [0.0, 0.6, 0.8]
    assert_near(Frame.from_pose(T).before @ inverse_pose(T), np.eye(4), 1e-14)


@pytest.mark.parametrize("q", [np.zeros(3), np.zeros((2, 2, 4)), np.zeros(()), "up", [[1.0], [1.0, 2.0]]])
def test_postures_of_another_shape_are_refused(q: Any) -> None:
    with refused("InputError: q: "):
        forward(random_arm(1), q)


def test_many_postures_at_once_and_nan_is_nan() -> None:
    arm = random_arm(1, tree=True, mimic=True)
    many = posture(arm, 2, 5)
    assert_near(forward(arm, many), np.array([forward(arm, q) for q in many]), 1e-15)
    assert forward(arm, many, link="part2").shape == (5, 4, 4)
    assert forward(arm, np.zeros((0, 4))).shape == (0, 4, 4)
    assert np.isnan(forward(arm, np.full(4, math.nan))).any()
    with refused("NameNotFound.*got 'part99'"):
        forward(arm, many, link="part99")


def test_limits_efforts_and_home_as_arrays() -> None:
    arm = load("panda")
    assert arm.joint_names == tuple(joint.name for joint in arm.joints)
    assert np.array_equal(np.column_stack([arm.lower, arm.upper]), [joint.limits for joint in arm.joints])
    assert arm.max_effort.tolist() == [joint.max_effort for joint in arm.joints]
    slow = arm.with_joint("joint2", max_speed=None, max_effort=None)
    assert slow.max_speed[1] == slow.max_effort[1] == math.inf
    assert np.array_equal(np.delete(slow.max_speed, 1), np.delete(arm.max_speed, 1))


def test_home_is_within_the_limits_and_stays_with_its_joints(tmp_path: Path) -> None:
    arm = load("panda")
    assert np.array_equal(arm.home, [0, 0, 0, 0.5 * (arm.lower[3] + arm.upper[3]), 0, 0, 0])
    posed = arm.replace(home={"joint2": 0.1, "joint6": 1.5})
    assert np.array_equal(posed.home - arm.home, [0, 0.1, 0, 0, 0, 1.5, 0])
    assert posed != arm
    assert pickle.loads(pickle.dumps(posed)) == posed
    assert posed.lock({"joint1": 0.4}).home[[0, 4]].tolist() == [0.1, 1.5]
    assert posed.with_joint("joint6", limits=(-1.0, 1.0)).home[5] == 0.0
    posed.save(tmp_path / "posed.toml")
    assert "home = [" in (tmp_path / "posed.toml").read_text()
    assert load(tmp_path / "posed.toml") == posed
    for wrong, words in (
        ({"joint2": 9.0}, "ModelError: arm 'panda', home, joint2: must be within the limits -1.76"),
        ({"joint22": 0.1}, "NameNotFound: arm 'panda', home: expected one of joint1, .*'joint22'"),
        ([0.0], "InputError: arm 'panda', home: expected a list of 7 values"),
        ({"joint2": math.nan}, "InputError: arm 'panda', home, joint2: the number must be finite"),
    ):
        with refused(words):
            arm.replace(home=wrong)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("mass_matrix", "did you mean 'inertia_matrix'? It is a function of fa.compile(arm)."),
        ("rnea", "did you mean 'inverse_dynamics'? It is a function of fa.compile(arm)."),
        ("end_effector", "did you mean 'hand'?"),
        ("qlim", "did you mean 'lower'?"),
        ("joint_name", "did you mean 'joint_names'"),
    ],
)
def test_names_of_other_packages_have_a_hint(name: str, hint: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(load("ascher2"), name)
    assert str(caught.value).startswith(f"'Arm' has no attribute {name!r}; {hint}")
    assert not hasattr(load("ascher2"), "_unknown")
