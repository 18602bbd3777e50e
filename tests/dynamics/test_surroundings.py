"""A loaded hand and a moving base against truths of their own:
power, Jacobian, payload, and an arm on a carriage.
"""

from __future__ import annotations

import numpy as np
import pytest
from arms import OFFSETS, SEVEN_POINTS, random_arm
from dynamics.cases import (
    INVERSE,
    SECOND,
    SECOND_POINTS,
    Array,
    assert_agree,
    geometric_jacobian,
    random_load,
    random_state,
    random_wrench,
    rigid_arms,
)

from forearm import Arm, Frame, Hand, Joint, Link, dynamics
from forearm.kinematics import forward as hand_pose
from forearm.kinematics import link_poses
from forearm.spatial import tilde

POWER = 1e-8  # velocities by seven-point differences of poses, exact to 1e-11, times forces that may cancel
ARMS = {f"n{n}, {kind}": arm for n in (1, 3) for kind, arm in rigid_arms(n, seed=110).items()}

each_arm = pytest.mark.parametrize("arm", ARMS.values(), ids=ARMS.keys())


@each_arm
def test_load_on_the_hand(arm: Arm) -> None:
    """The load does work on the arm, so the joints need that much less: d tau . qd = -(force . v +
    moment . w);
    without followers, d tau = -J^T (R force, R moment), J from poses.
    """
    force, moment = random_wrench(3)
    q, qd, qdd = random_state(arm, 1)
    path = hand_pose(arm, q + OFFSETS[:, None] * qd)
    R = path[3, :3, :3]
    v = SEVEN_POINTS @ path[:, :3, 3]
    spin = np.einsum("t,tij->ij", SEVEN_POINTS, path[:, :3, :3]) @ R.T
    w = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
    free = dynamics.inverse(arm, q, qd, qdd)
    more = dynamics.inverse(arm, q, qd, qdd, "newton-euler", force, moment) - free
    assert more @ qd == pytest.approx(-(R @ force @ v + R @ moment @ w), rel=POWER, abs=POWER)
    if not any(joint.mimic for joint in arm.tree):
        truth = -geometric_jacobian(arm, q).T @ np.concatenate([R @ force, R @ moment])
        np.testing.assert_allclose(more, truth, rtol=0, atol=1e-12 * np.abs(free).max())


@each_arm
def test_holding_a_weight_is_a_force_on_the_hand(arm: Arm) -> None:
    """At rest a payload at the hand's origin is its weight, in hand axes; its lever arm is a moment."""
    q, rest = random_state(arm, 2).q, np.zeros(arm.n)
    mass, com = 1.7, np.array([0.12, -0.23, 0.31])
    weight = hand_pose(arm, q)[:3, :3].T @ (mass * arm.gravity)
    held = dynamics.gravity(arm.with_payload(mass, com, np.diag([0.1, 0.11, 0.12])), q)
    assert_agree(
        dynamics.inverse(arm, q, rest, rest, "newton-euler", weight, np.cross(com, weight)), held, 1e-12
    )


def test_a_load_on_the_base_does_nothing() -> None:
    arm = random_arm(120, 3).rigid()
    arm = arm.replace(hand=Hand(link=arm.base_link))
    state, load = random_state(arm, 1), random_load(1)
    for name in INVERSE:
        assert_agree(
            dynamics.inverse(arm, *state, name, load.hand_force, load.hand_moment),
            dynamics.inverse(arm, *state),
            1e-13,
        )


def on_a_carriage(arm: Arm) -> Arm:
    """The arm with its base on six joints that can move it anyhow:
    three slides and three turns, on a fixed ground.
    """
    rng = np.random.default_rng(5)
    joints, below = [], "ground"
    for i in range(6):
        name = arm.base_link if i == 5 else f"carriage{i + 1}"
        placement = Frame(xyz=rng.normal(size=3), rpy=rng.normal(size=3), axis=rng.normal(size=3))
        joints.append(
            Joint(
                name=f"carry{i + 1}",
                kind="prismatic" if i < 3 else "revolute",
                parent=below,
                child=name,
                placement=placement,
            )
        )
        below = name
    links = (Link(name="ground"), *(Link(name=f"carriage{i + 1}", mass=1.0) for i in range(5)), *arm.links)
    return Arm(name="carried", links=links, tree=(*joints, *arm.tree), hand=arm.hand)


@each_arm
def test_moving_base_is_an_arm_on_a_carriage(arm: Arm) -> None:
    """The base's w, wd and acceleration by differences of its pose;
    the joints need what the same joints of the whole do.
    """
    whole = on_a_carriage(arm)
    q, qd, qdd = random_state(whole, 1)
    assert [j.name for j in whole.joints[6:]] == [j.name for j in arm.joints]
    t = OFFSETS[:, None]
    poses: Array = link_poses(whole, q + t * qd + 0.5 * t * t * qdd)[arm.base_link]
    R = poses[3, :3, :3]
    first, second = (
        np.einsum("t,tij->ij", points, poses[:, :3, :3]) @ R.T for points in (SEVEN_POINTS, SECOND_POINTS)
    )
    w = np.array([first[2, 1], first[0, 2], first[1, 0]])
    turn = second - tilde(w) @ tilde(w)
    wd = np.array([turn[2, 1], turn[0, 2], turn[1, 0]])
    moved = tuple(R.T @ v for v in (w, wd, SECOND_POINTS @ poses[:, :3, 3]))
    alone = arm.replace(gravity=R.T @ whole.gravity)
    load = random_load(6)[:2]
    truth = dynamics.inverse(whole, q, qd, qdd, "newton-euler", *load)[6:]
    found = dynamics.inverse(alone, q[6:], qd[6:], qdd[6:], "newton-euler", *load, moved)
    assert_agree(found, truth, SECOND)


def test_a_base_in_free_fall_feels_no_gravity() -> None:
    arm = random_arm(121, 5, tree=True).rigid()
    state = random_state(arm, 1)
    none = np.zeros(3)
    falling = dynamics.inverse(arm, *state, "newton-euler", None, None, (none, none, arm.gravity))
    assert_agree(falling, dynamics.inverse(arm.replace(gravity=none), *state), 1e-13)


def test_a_base_said_to_be_at_rest_is_at_rest() -> None:
    arm = random_arm(122, 4).rigid()
    state, none = random_state(arm, 1), np.zeros(3)
    for name in INVERSE:
        still = dynamics.inverse(arm, *state, name, none, none, (none,) * 3)
        assert_agree(still, dynamics.inverse(arm, *state, name), 1e-13)
