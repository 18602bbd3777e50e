"""Arms taken apart at their springs: links before them, rotors behind them, and what they have together."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from arms import (
    DIFFERENCE,
    OFFSETS,
    SEVEN_POINTS,
    kinetic_energy,
    posture,
    potential_slope,
    random_arm,
    speed,
)
from numpy.typing import NDArray

import forearm as fa
from forearm.arm.elastic import elastic_freedoms, expanded, has_spinning_rotors, is_elastic, link_side
from forearm.kinematics import link_poses

Floats = NDArray[np.float64]
AXIS = (0.48, -0.6, 0.64)
ROTORS = {0: (17.0, 2.1e-4), 2: (-53.0, 0.9e-4), 3: (29.0, 1.3e-4)}


def arm_of(axis: Any, kind: str = "chain", seed: int = 91) -> fa.Arm:
    """Four freedoms, three of them elastic; with every other drive that there is."""
    kinds: dict[str, dict[str, Any]] = {"chain": {}, "tree": {"tree": True}, "followers": {"mimic": True}}
    arm = random_arm(seed, 4, **kinds[kind])
    for j, (ratio, inertia) in ROTORS.items():
        arm = arm.with_joint(
            arm.joints[j].name,
            motor=fa.Motor(gear_ratio=ratio, rotor_inertia=inertia),
            elasticity=fa.Elasticity(stiffness=900.0, rotor_axis=axis),
        )
    return arm


def spin_of(arm: fa.Arm, link: str, q: Floats, qd: Floats) -> Floats:
    """The angular velocity of a link in its own frame, by differences of its pose."""
    poses = link_poses(arm, q + OFFSETS[:, None] * qd)[link]
    R = poses[:, :3, :3]
    W = R[3].T @ np.einsum("t,tik->ik", SEVEN_POINTS, R)
    return 0.5 * np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]])


def energy_of_rotors(arm: fa.Arm, q: Floats, qd: Floats, thetad: Floats) -> float:
    """J (N theta')^2 / 2, and J N theta' times what the link that carries the rotor turns about its axis; the
    rotor at rest is in the link's own inertia.
    """
    total = 0.0
    for j, rate in zip(elastic_freedoms(arm), thetad, strict=True):
        joint = arm.joints[j]
        assert joint.motor is not None
        assert joint.elasticity is not None
        J, spin = joint.motor.rotor_inertia, joint.motor.gear_ratio * float(rate)
        total += 0.5 * J * spin**2
        if (axis := joint.elasticity.rotor_axis) is not None:
            w = joint.before[:3, :3].T @ spin_of(arm, joint.parent, q, qd)
            total += J * spin * float(w @ np.array(axis))
    return total


@pytest.mark.parametrize("axis", [None, AXIS], ids=["reduced", "full"])
@pytest.mark.parametrize("kind", ["chain", "tree", "followers"])
def test_its_energies_are_those_of_links_and_rotors(axis: Any, kind: str) -> None:
    """x M x / 2 of the whole; gravity acts on links alone."""
    arm = arm_of(axis, kind)
    whole = expanded(arm)
    assert whole.n == 7
    q, qd = posture(arm, 91), speed(arm, 91)
    theta, thetad = np.array([0.4, -1.1, 2.3]), np.array([0.9, -1.3, 0.7])
    x, xd = np.concatenate([q, theta]), np.concatenate([qd, thetad])
    bare = arm.rigid()  # links, and rigid drives taken off
    own = energy_of_rotors(arm, q, qd, thetad)
    for body in arm.moving.bodies:  # the rotors of rigid joints, and of those that follow
        motor = body.joint.motor
        if motor is not None and body.joint.elasticity is None:
            own += 0.5 * motor.reflected_inertia * (body.multiplier * qd[body.freedom]) ** 2
    truth = kinetic_energy(bare, q, qd) + own
    M = fa.dynamics.inertia_matrix(whole, x)
    assert 0.5 * xd @ M @ xd == pytest.approx(truth, rel=DIFFERENCE)
    slope = potential_slope(bare, q)
    wanted = pytest.approx([*slope, 0.0, 0.0, 0.0], abs=DIFFERENCE * np.abs(slope).max())
    assert fa.dynamics.gravity(whole, x) == wanted


def test_in_the_reduced_model_links_and_rotors_do_not_act_on_each_other() -> None:
    arm = arm_of(None)
    q = posture(arm, 2)
    M = fa.dynamics.inertia_matrix(expanded(arm), np.concatenate([q, [0.1, 0.2, 0.3]]))
    assert M[:4, :4] == pytest.approx(fa.dynamics.inertia_matrix(link_side(arm), q), rel=1e-13, abs=1e-15)
    assert not M[:4, 4:].any()
    assert M[4:, 4:] == pytest.approx(np.diag([N**2 * J for N, J in ROTORS.values()]), rel=1e-13)


def test_what_is_where() -> None:
    arm = arm_of(AXIS)
    assert (elastic_freedoms(arm), is_elastic(arm), has_spinning_rotors(arm)) == ((0, 2, 3), True, True)
    assert not has_spinning_rotors(arm_of(None))
    for j, (before, after) in enumerate(zip(arm.joints, link_side(arm).joints, strict=True)):
        assert after.bearings == before.bearings
        if j not in ROTORS:
            assert after == before
            continue
        assert (after.motor, after.transmission, after.elasticity) == (None, None, None)
        friction = before.friction
        assert friction is not None
        assert after.friction == (friction if friction.side == "joint" else None)
    whole = expanded(arm)
    names = [joint.name for joint in arm.joints]
    assert [joint.name for joint in whole.joints] == names + [f"{names[j]}.shaft" for j in ROTORS]
    assert whole.hand == arm.hand
    q = posture(arm, 3)
    found = link_poses(whole, np.concatenate([q, [5.0, 6.0, 7.0]]))
    for name, pose in link_poses(arm, q).items():
        assert found[name] == pytest.approx(pose, abs=1e-15)
    rigid = random_arm(5, 2)
    assert link_side(rigid) is rigid
    assert not is_elastic(rigid)


@pytest.mark.parametrize("axis", [None, AXIS])
def test_the_friction_of_a_motor_goes_with_its_rotor(axis: Any) -> None:
    """|N| (B |N| v + Tc of N v), Stribeck's speed over |N|."""
    own = fa.Friction(side="motor", viscous=1e-3, coulomb=(0.2, -0.3), static=(0.3, -0.5), stribeck_speed=4.0)
    arm = random_arm(93, 2, prismatic=False, drives=False)
    motor = fa.Motor(gear_ratio=-53.0, rotor_inertia=0.9e-4)
    spring = fa.Elasticity(stiffness=900.0, rotor_axis=axis)
    arm = arm.with_joint(arm.joints[1].name, motor=motor, friction=own, elasticity=spring)
    assert link_side(arm).joints[1].friction is None
    whole, x = expanded(arm), np.zeros(3)
    for v, coulomb, static in ((0.05, 0.2, 0.3), (-0.02, -0.3, -0.5), (1.1, 0.2, 0.3)):
        shaft, xd = 53.0 * v, np.array([0.0, 0.0, v])
        truth = 53.0 * (1e-3 * shaft + coulomb + (static - coulomb) * np.exp(-((shaft / 4.0) ** 2)))
        lost = fa.dynamics.inverse(whole, x, xd, x) - fa.dynamics.inverse(whole.rigid(), x, xd, x)
        assert lost == pytest.approx([0.0, 0.0, truth], rel=1e-10, abs=1e-12)


def test_a_rotor_takes_its_inertia_from_a_link_that_has_it() -> None:
    """Where the carrier is a mere frame, a link that is fixed on it; where none has so much, it comes on
    top.
    """
    arm = arm_of(AXIS)
    joint = arm.joints[2]
    assert joint.motor is not None
    R = joint.before[:3, :3]
    J = joint.motor.rotor_inertia * np.outer(AXIS, AXIS)
    own, left = arm.link(joint.parent).inertia, expanded(arm).link(joint.parent).inertia
    assert own - left == pytest.approx(R @ J @ R.T, abs=1e-15)
    light = arm.replace(
        links=tuple(
            dataclasses.replace(link, inertia=1e-9 * np.eye(3)) if link.name == joint.parent else link
            for link in arm.links
        )
    )
    M = [fa.dynamics.inertia_matrix(expanded(some), np.zeros(7)) for some in (arm, light)]
    assert all((np.linalg.eigvalsh(some) > 0.0).all() for some in M)
    assert expanded(light).link(joint.parent).inertia == pytest.approx(1e-9 * np.eye(3))
