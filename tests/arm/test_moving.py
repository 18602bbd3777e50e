"""The moving bodies against the links they were merged from: same energies, same places, same followers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from arms import (
    DIFFERENCE,
    OFFSETS,
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
from nearness import assert_near

from forearm import Arm, Joint
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
@given(st.integers(0, 10_000), st.sampled_from([1, 2, 4]))
@settings(max_examples=3)
def test_energies_by_bodies_are_those_by_links_and_no_mass_is_lost(seed: int, n: int) -> None:
    for arm in every_kind(seed, n):
        q, qd, elsewhere = posture(arm, seed), speed(arm, seed), posture(arm, seed + 1)
        kinetic, potential = energies_by_bodies(arm, q, qd)
        assert kinetic == pytest.approx(kinetic_energy(arm, q, qd), rel=DIFFERENCE)
        # What rides on the base does not move: only differences of the potential energy are the bodies'.
        change = potential - energies_by_bodies(arm, elsewhere, qd)[1]
        truth = potential_energy(arm, q) - potential_energy(arm, elsewhere)
        assert change == pytest.approx(truth, rel=1e-11, abs=1e-10)
        for index, body in enumerate(arm.moving.bodies):
            carried = [x.mass for x in arm.links if arm.moving.frames[x.name][0] == index]
            assert body.mass == pytest.approx(math.fsum(carried), rel=1e-15)
            assert np.array_equal(body.inertia, body.inertia.T)
            arrays = (body.before, body.axis, body.after, body.com, body.inertia)
            assert not any(array.flags.writeable for array in arrays)


@pytest.mark.parametrize("seed", range(2))
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
        found, bodies = link_poses(arm, q), [np.eye(4), *body_poses(arm, q)]
        assert list(found) == list(poses)
        for name, T in poses.items():
            index, placed = arm.moving.frames[name]
            assert_near(found[name], T, ROUNDING)
            assert_near(bodies[index + 1] @ placed, T, ROUNDING)
        for index, body in enumerate(arm.moving.bodies):
            assert body.parent < index
            assert arm.moving.frames[body.joint.child][0] == index
            assert np.array_equal(arm.moving.frames[body.joint.child][1], np.eye(4))
            assert arm.moving.frames[body.joint.parent][0] == body.parent


def follow(arm: Arm, joint: Joint, at: dict[str, float]) -> float:
    if joint.mimic is None:
        return at[joint.name]
    leader = follow(arm, arm.joint(joint.mimic.joint), at)
    return joint.mimic.multiplier * leader + joint.mimic.offset


def test_an_arm_that_cannot_move() -> None:
    arm = random_arm(1, n=0)
    assert arm.n == 0
    assert arm.moving.bodies == ()
    assert set(arm.moving.frames) == {x.name for x in arm.links}
    assert kinetic_energy(arm, np.zeros(0), np.zeros(0)) <= 1e-25
