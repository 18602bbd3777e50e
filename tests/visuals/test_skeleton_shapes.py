"""The skeleton: on the axes, along the links, for every kind of arm, and the same in every posture."""

from __future__ import annotations

import math

import numpy as np
import pytest
from arms import every_kind, posture, random_arm
from nearness import assert_near

import forearm as fa
from forearm.kinematics import link_poses
from forearm.visuals.skeleton_layout import layout
from forearm.visuals.skeleton_shapes import ROLES, SkeletonShape, skeleton_shapes

ARMS = ["panda", "stanford", "ur5", "ascher2", "chain50"]
ON_AXIS = 1e-9  # m


@pytest.fixture(params=ARMS)
def arm(request: pytest.FixtureRequest) -> fa.Arm:
    return fa.load(request.param)


def all_kinds() -> list[fa.Arm]:
    return [*every_kind(1), random_arm(3, 1), random_arm(4, 0), fa.load("panda"), fa.load("chain50")]


def drums(arm: fa.Arm) -> dict[int, SkeletonShape]:
    return {s.body: s for s in skeleton_shapes(arm) if s.role == "drum" and len(s.mesh.vertices) > 8}


def assert_on_axes(arm: fa.Arm) -> None:
    """The middle of each drum lies on its joint's axis, and the drum along it."""
    found = drums(arm)
    turning = {i for i, body in enumerate(arm.moving.bodies) if body.kind == "revolute"}
    assert set(found) == turning
    for i in turning:
        body = arm.moving.bodies[i]
        back = np.linalg.inv(body.after)
        axis = back[:3, :3] @ body.axis
        T = found[i].pose
        z = T[:3, 2] / np.linalg.norm(T[:3, 2])
        assert abs(abs(z @ axis) - 1.0) < ON_AXIS
        assert np.linalg.norm(np.cross(axis, T[:3, 3] - back[:3, 3])) < ON_AXIS


def test_every_kind_of_arm_has_a_sound_skeleton() -> None:
    for made in all_kinds():
        assert_on_axes(made)
        shapes = skeleton_shapes(made)
        assert {s.role for s in shapes} <= set(ROLES)
        assert {"hand", "base"} <= {s.role for s in shapes}
        assert {s.body for s in shapes} <= set(range(-1, len(made.moving.bodies)))
        for shape in shapes:
            assert np.isfinite(shape.pose).all()
            assert np.linalg.det(shape.pose[:3, :3]) > 0.0
        slides = [i for i, body in enumerate(made.moving.bodies) if body.kind == "prismatic"]
        assert all(any(s.body == i and s.role == "tube" for s in shapes) for i in slides)


def test_pieces_of_links_meet_the_axes_in_any_posture() -> None:
    """A piece ends on the axis of the joint it leads to, seen from the world, however joints stand."""
    for made in all_kinds():
        bodies = made.moving.bodies
        poses = link_poses(made, posture(made, 7) if made.n else np.zeros(0))
        for piece in layout(made).segments[:-1]:
            body = bodies[piece.to]
            parent = poses[made.base_link if piece.body < 0 else bodies[piece.body].joint.child]
            own = poses[body.joint.child] @ np.linalg.inv(body.after)
            end = parent[:3, :3] @ piece.end + parent[:3, 3]
            axis = own[:3, :3] @ body.axis
            assert np.linalg.norm(np.cross(axis, end - own[:3, 3])) < ON_AXIS


@pytest.mark.parametrize(("name", "forwards", "tips"), [("panda", 2, False), ("ascher2", 0, True)])
def test_the_hand_points_on_and_touches_its_frame(name: str, forwards: int, tips: bool) -> None:
    """The palm is at the hand's frame, or the fingertips where the last link leaves room for them."""
    arm = fa.load(name)
    carrier, T = arm.moving.frames[arm.hand.link]
    hand = T @ arm.hand.pose
    fingers = [s for s in skeleton_shapes(arm) if s.role == "hand"]
    assert {s.body for s in fingers} == {carrier}
    corners = np.concatenate([s.mesh.vertices @ s.pose[:3, :3].T + s.pose[:3, 3] for s in fingers])
    along = (corners - hand[:3, 3]) @ hand[:3, forwards]
    assert (along.max() if tips else along.min()) == pytest.approx(0.0, abs=1e-9)
    assert np.ptp(along) > 0.0


def test_radii_follow_what_is_carried(arm: fa.Arm) -> None:
    radii = [axis.radius for axis in layout(arm).axes]
    assert radii == sorted(radii, reverse=True)
    assert radii[0] <= 2.0 * radii[-1] * (1 + 1e-9)


def test_the_skeleton_scales_with_the_arm() -> None:
    """An arm of the same shape and twice the size has every pose twice as large."""
    rows = np.array(
        [[0.0, 1.2, 0.3, 0.0], [0.4, 0.2, 0.0, 0.0], [0.1, -1.4, 0.2, 0.0], [0.0, 0.9, 0.35, 0.0]]
    )
    one, two = (
        skeleton_shapes(fa.from_dh("a", rows * [size, 1, size, 1], convention="modified"))
        for size in (1.0, 2.0)
    )
    assert len(one) == len(two)
    for a, b in zip(one, two, strict=True):
        assert_near(2.0 * a.pose[:3], b.pose[:3], 1e-12)


def test_arms_without_any_length_are_drawn_too() -> None:
    links = tuple(fa.Link(name=name) for name in ("a", "b", "c"))
    axes = np.eye(3)[[2, 1]]
    joints = tuple(
        fa.Joint(name=f"j{i}", kind="revolute", parent="ab"[i], child="bc"[i], placement=fa.Frame(axis=axis))
        for i, axis in enumerate(axes)
    )
    made = fa.Arm(name="gimbal", links=links, tree=joints)
    first, second = drums(made).values()
    assert_on_axes(made)
    assert np.linalg.norm(first.pose[:3, 3] - second.pose[:3, 3]) > 0.01  # beside one another
    slide = fa.Joint(name="s", kind="prismatic", parent="a", child="b", placement=fa.Frame())
    assert len(skeleton_shapes(fa.Arm(name="slide", links=links[:2], tree=(slide,)))) > 3
    assert all(math.isfinite(v) for s in skeleton_shapes(made) for v in s.pose.ravel())
