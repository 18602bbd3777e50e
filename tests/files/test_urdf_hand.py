"""The name of the link that a written URDF gives a tool: none that the arm has taken."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from forearm.arm import Arm, Frame, Hand, Joint, Link
from forearm.files.urdf_read import arm_from_urdf
from forearm.files.urdf_write import urdf_text
from forearm.kinematics import forward
from forearm.spatial import pose_xyz_rpy


@pytest.mark.parametrize(
    ("links", "joints", "hand"),
    [
        (("base", "a", "b"), ("first", "second"), "hand"),
        (("base", "a", "b"), ("hand_joint", "second"), "hand2"),
        (("base", "hand", "b"), ("first", "hand2_joint"), "hand3"),
        (("base", "hand_joint", "hand2"), ("hand3", "hand4_joint"), "hand5"),
    ],
)
def test_the_tool_gets_a_name_whose_joint_is_free_too(
    links: tuple[str, str, str], joints: tuple[str, str], hand: str
) -> None:
    tree = tuple(
        Joint(
            name=name,
            kind="revolute",
            parent=links[i],
            child=links[i + 1],
            placement=Frame(xyz=np.array([0.1, 0.2, 0.3])),
        )
        for i, name in enumerate(joints)
    )
    tool = Hand(link=links[2], pose=pose_xyz_rpy((0.1, -0.2, 0.3), (0.4, 0.5, 0.6)))
    bodies = tuple(Link(name=name, mass=1.3, inertia=np.diag([0.1, 0.2, 0.25])) for name in links)
    arm = Arm(name="r", links=bodies, tree=tree, hand=tool)
    text = urdf_text(arm)
    names = [e.attrib["name"] for e in ElementTree.fromstring(text).findall("joint")]
    assert sorted(names) == sorted({*joints, f"{hand}_joint"})
    back = arm_from_urdf(text.encode(), "r.urdf")
    assert back.hand == Hand(link=hand)
    np.testing.assert_allclose(forward(back, [0.4, -0.7]), forward(arm, [0.4, -0.7]), rtol=0, atol=1e-12)
