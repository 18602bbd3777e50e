"""The moving bodies against the links they were merged from: same energies, same places, same followers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from arms import (
    DIFFERENCE,
    OFFSETS,
    STYLES,
    Array,
    body_energy,
    every_kind,
    kinetic_energy,
    posture,
    potential_energy,
    random_arm,
    speed,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from forearm import Arm, Frame, Joint, Link, Mimic
from forearm.arm.moving import Moving
from forearm.kinematics import body_poses, link_poses

ROUNDING = 1e-12  # products of ten poses with entries of order 1


def energies_by_bodies(arm: Arm, q: Array, qd: Array) -> tuple[float, float]:
    """Kinetic and potential energy from the merged bodies alone."""
    paths = body_poses(arm, q + OFFSETS[:, None] * qd)
    here = body_poses(arm, q)
    kinetic = potential = 0.0
    for body, path, T in zip(arm.moving.bodies, paths, here, strict=True):
        kinetic += body_energy(path, body.mass, body.com, body.inertia)
        potential -= body.mass * float(arm.gravity @ (T[:3, :3] @ body.com + T[:3, 3]))
    return kinetic, potential


@pytest.mark.slow
@given(st.integers(0, 10_000), st.sampled_from([1, 2, 4, 6]))
@settings(max_examples=6)
def test_energies_by_bodies_are_those_by_links(seed: int, n: int) -> None:
    for arm in every_kind(seed, n):
        q, qd, elsewhere = posture(arm, seed), speed(arm, seed), posture(arm, seed + 1)
        kinetic, potential = energies_by_bodies(arm, q, qd)
        assert kinetic == pytest.approx(kinetic_energy(arm, q, qd), rel=DIFFERENCE)
        # What rides on the base does not move: only differences of the potential energy are the bodies'.
        change = potential - energies_by_bodies(arm, elsewhere, qd)[1]
        truth = potential_energy(arm, q) - potential_energy(arm, elsewhere)
        assert change == pytest.approx(truth, rel=1e-11, abs=1e-10)


@pytest.mark.slow
@given(st.integers(0, 10_000))
@settings(max_examples=5)
def test_mass_is_neither_lost_nor_made(seed: int) -> None:
    for arm in every_kind(seed):
        frames = arm.moving.frames
        for index, body in enumerate(arm.moving.bodies):
            carried = [x.mass for x in arm.links if frames[x.name][0] == index]
            assert body.mass == pytest.approx(math.fsum(carried), rel=1e-15)
        on_base = math.fsum(x.mass for x in arm.links if frames[x.name][0] < 0)
        assert on_base + math.fsum(b.mass for b in arm.moving.bodies) == pytest.approx(arm.mass, rel=1e-14)


@pytest.mark.slow
@given(st.integers(0, 10_000))
@settings(max_examples=5)
def test_links_are_where_the_product_of_their_joints_puts_them(seed: int) -> None:
    """Poses joint by joint through arm.tree, fixed ones too, without the moving bodies."""
    for arm in every_kind(seed):
        q = posture(arm, seed)
        at = {j.name: float(v) for j, v in zip(arm.joints, q, strict=True)}
        poses = {arm.base_link: np.eye(4)}
        for j in arm.tree:
            if j.mimic is not None:
                at[j.name] = follow(arm, j, at)
            poses[j.child] = poses[j.parent] @ j.transform(at.get(j.name, 0.0))
        found = link_poses(arm, q)
        assert list(found) == list(poses)
        for name, T in poses.items():
            assert np.abs(found[name] - T).max() <= ROUNDING


def follow(arm: Arm, joint: Joint, at: dict[str, float]) -> float:
    if joint.mimic is None:
        return at[joint.name]
    leader = follow(arm, arm.joint(joint.mimic.joint), at)
    return joint.mimic.multiplier * leader + joint.mimic.offset


@pytest.mark.parametrize("seed", range(4))
def test_frames_say_where_each_link_sits(seed: int) -> None:
    for arm in every_kind(seed):
        q = posture(arm, seed)
        bodies, links = body_poses(arm, q), link_poses(arm, q)
        for name, (index, T) in arm.moving.frames.items():
            base = bodies[index] if index >= 0 else np.eye(4)
            assert np.abs(base @ T - links[name]).max() <= ROUNDING
        for index, body in enumerate(arm.moving.bodies):
            assert body.parent < index
            assert arm.moving.frames[body.joint.child][0] == index
            assert np.array_equal(arm.moving.frames[body.joint.child][1], np.eye(4))
            assert arm.moving.frames[body.joint.parent][0] == body.parent


@pytest.mark.parametrize("style", STYLES)
def test_without_fixed_joints_bodies_are_links_bit_for_bit(style: str) -> None:
    arm = random_arm(3, n=5, convention=style, fixed=False, tree=True)  # type: ignore[arg-type]
    for body in arm.moving.bodies:
        link = arm.link(body.joint.child)
        assert body.mass == link.mass
        assert np.array_equal(body.com, link.com)
        assert np.array_equal(body.inertia, link.inertia)
        assert np.array_equal(body.before, body.joint.before)


def test_tensors_stay_symmetric() -> None:
    for arm in every_kind(1):
        for body in arm.moving.bodies:
            assert np.array_equal(body.inertia, body.inertia.T)


def follower_arm() -> Arm:
    """A leader, a follower, a follower of the follower (before it in the tree), and a freedom of its own."""
    made = [
        ("third", "base", "a", Mimic(joint="second", multiplier=-2.0, offset=0.3)),
        ("leader", "a", "b", None),
        ("second", "b", "c", Mimic(joint="leader", multiplier=0.5, offset=0.1)),
        ("free", "c", "d", None),
    ]
    joints = [
        Joint(name=name, kind="revolute", parent=parent, child=child, placement=Frame(), mimic=mimic)
        for name, parent, child, mimic in made
    ]
    return Arm(
        name="follow", links=tuple(Link(name=x) for x in ("base", "a", "b", "c", "d")), tree=tuple(joints)
    )


def test_followers_are_multiplied_out() -> None:
    moving: Moving = follower_arm().moving
    found = {b.joint.name: (b.freedom, b.multiplier, b.offset) for b in moving.bodies}
    assert found["leader"] == (0, 1.0, 0.0)
    assert found["free"] == (1, 1.0, 0.0)
    assert found["second"] == (0, 0.5, 0.1)
    # third = -2 (0.5 q + 0.1) + 0.3 = -q + 0.1
    assert found["third"][:2] == (0, -1.0)
    assert found["third"][2] == pytest.approx(0.1, abs=1e-16)


def test_a_follower_turns_by_its_multiplier() -> None:
    arm = follower_arm()
    # All axes are z at one point, so angles add: a at -q + 0.1; b + q; c + q/2 + 0.1; d + p.
    for q, p in ((0.0, 0.0), (0.7, -0.2), (-2.5, 3.0)):
        links = link_poses(arm, [q, p])
        angles = {name: math.atan2(T[1, 0], T[0, 0]) for name, T in links.items()}
        for name, angle in {"a": 0.1 - q, "b": 0.1, "c": 0.2 + q / 2, "d": 0.2 + q / 2 + p}.items():
            assert abs(math.remainder(angles[name] - angle, 2 * math.pi)) <= 1e-14


def test_an_arm_that_cannot_move() -> None:
    arm = random_arm(1, n=0)
    assert arm.n == 0
    assert arm.moving.bodies == ()
    assert set(arm.moving.frames) == {x.name for x in arm.links}
    assert kinetic_energy(arm, np.zeros(0), np.zeros(0)) <= 1e-25


def test_no_array_of_the_moving_bodies_can_be_written() -> None:
    moving = random_arm(1).moving
    arrays = [a for b in moving.bodies for a in (b.before, b.axis, b.after, b.com, b.inertia)]
    arrays += [T for _, T in moving.frames.values()]
    assert not any(a.flags.writeable for a in arrays)
