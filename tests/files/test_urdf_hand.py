"""Where the hand of a URDF is: before the fingers of a gripper; and the name of the link that a written URDF
gives a tool, none that the arm has taken.
"""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from nearness import assert_near

from forearm.arm import Arm, Frame, Hand, Joint, Link, Mimic
from forearm.arm.text import headline
from forearm.files.urdf_read import arm_from_urdf
from forearm.files.urdf_write import urdf_text
from forearm.kinematics import forward
from forearm.spatial import pose_xyz_rpy


@pytest.mark.parametrize(
    ("links", "joints", "hand"),
    [
        (("base", "a", "b"), ("hand_joint", "second"), "hand2"),
        (("base", "hand_joint", "hand2"), ("hand3", "hand4_joint"), "hand5"),
    ],
)
def test_the_tool_gets_a_name_whose_joint_is_free_too(
    links: tuple[str, str, str], joints: tuple[str, str], hand: str
) -> None:
    place = Frame(xyz=np.array([0.1, 0.2, 0.3]))
    tree = tuple(
        Joint(name=name, kind="revolute", parent=links[i], child=links[i + 1], placement=place)
        for i, name in enumerate(joints)
    )
    tool = Hand(link=links[2], pose=pose_xyz_rpy((0.1, -0.2, 0.3), (0.4, 0.5, 0.6)))
    arm = Arm(name="r", links=tuple(Link(name=name) for name in links), tree=tree, hand=tool)
    text = urdf_text(arm)
    names = [e.attrib["name"] for e in ElementTree.fromstring(text).findall("joint")]
    assert sorted(names) == sorted({*joints, f"{hand}_joint"})
    back = arm_from_urdf(text.encode(), "r.urdf")
    assert back.hand == Hand(link=hand)
    assert_near(forward(back, [0.4, -0.7]), forward(arm, [0.4, -0.7]), 1e-12)


def gripper_arm(*fingers: tuple[str, str, str, str, str], wrist: str = "revolute") -> Arm:
    """base, two links, a wrist that is fixed or turns, and joints (name, kind, parent, child, leader)."""
    before = [
        ("j1", "revolute", "base", "a", ""),
        ("j2", "revolute", "a", "b", ""),
        ("j3", wrist, "b", "palm", ""),
    ]
    tree = tuple(
        Joint(
            name=name,
            kind=kind,  # type: ignore[arg-type]
            parent=parent,
            child=child,
            placement=Frame(),
            mimic=Mimic(joint=leader) if leader else None,
        )
        for name, kind, parent, child, leader in (*before, *fingers)
    )
    return Arm(name="r", links=tuple(Link(name=n) for n in ("base", *(j.child for j in tree))), tree=tree)


SLIDING = (("f1", "prismatic", "palm", "left", ""), ("f2", "prismatic", "palm", "right", ""))
FOLLOWING = (("f1", "revolute", "palm", "left", ""), ("f2", "revolute", "palm", "right", "f1"))
LINKAGE = (
    *FOLLOWING,
    ("f3", "revolute", "left", "left tip", "f1"),
    ("f4", "revolute", "right", "right tip", "f1"),
    ("tcp", "fixed", "palm", "tcp", ""),
)


@pytest.mark.parametrize("fingers", [SLIDING, FOLLOWING, LINKAGE], ids=["sliding", "following", "linkage"])
@pytest.mark.parametrize("wrist", ["revolute", "fixed"])
def test_hand_is_the_last_link_before_the_fingers(
    fingers: tuple[tuple[str, str, str, str, str], ...], wrist: str
) -> None:
    arm = gripper_arm(*fingers, wrist=wrist)
    assert arm.hand == Hand(link="palm")
    assert "\npalm is the last link before the fingers, such as left" in headline(arm)
    assert arm_from_urdf(urdf_text(arm).encode(), "r.urdf").hand == arm.hand
    assert arm.replace(hand="right").hand.link == "right"


@pytest.mark.parametrize(
    ("more", "hand"),
    [
        ((("f1", "prismatic", "palm", "quill", ""),), "quill"),  # no fork: a tool that slides
        ((("f1", "revolute", "palm", "left", ""), ("f2", "revolute", "palm", "right", "")), "left"),
        ((("f1", "revolute", "palm", "left", ""), ("f2", "revolute", "palm", "right", "j1")), "left"),
    ],
    ids=["quill", "two that turn freely", "one that follows the arm"],
)
def test_hand_stays_at_the_leaf_where_there_are_no_fingers(
    more: tuple[tuple[str, str, str, str, str], ...], hand: str
) -> None:
    arm = gripper_arm(*more)
    assert arm.hand.link == hand
    assert "fingers" not in headline(arm)
