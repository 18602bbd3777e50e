"""Drives in inverse and forward dynamics: friction on either side of the gear, rotors,
followers, and what they leave.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from dynamics.cases import (
    FORWARD,
    INERTIA,
    INVERSE,
    Array,
    assert_agree,
    random_state,
    random_wrench,
    simple_drives,
)

import forearm as fa
from forearm import Arm, Bearing, Friction, Joint, Mimic, ModelError, Motor, Transmission, dynamics

EXACT = 1e-13


def driven(arm: Arm, **drive: Any) -> Arm:
    """The rigid arm with this drive on its first joint."""
    first = arm.joints[0].name
    return arm.replace(
        tree=tuple(dataclasses.replace(j, **drive) if j.name == first else j for j in arm.rigid().tree)
    )


def on_top(arm: Arm, q: Array, qd: Array, qdd: Array, formulation: str = "newton-euler") -> Array:
    """What the drives add to the torques of the rigid arm."""
    return dynamics.inverse(arm, q, qd, qdd, formulation) - dynamics.inverse(
        arm.rigid(), q, qd, qdd, formulation
    )


def test_the_friction_law_of_the_puma() -> None:
    """tau_f = |G| (B |G| qd + Tc+-), from the built-in arm's own drives, in both directions and at rest."""
    arm = fa.load("puma560")
    q = random_state(arm, 1).q
    none = np.zeros(6)
    for sign in (1.0, -1.0):
        qd = sign * np.array([0.1, 0.7, 1.3, 0.4, 2.1, 0.9])
        truth = []
        for joint, speed in zip(arm.joints, qd, strict=True):
            assert joint.motor is not None
            assert joint.friction is not None
            assert joint.friction.side == "motor"
            G, B = abs(joint.motor.gear_ratio), joint.friction.viscous
            truth.append(G * (B * G * speed + joint.friction.coulomb[0 if speed > 0 else 1]))
        assert_agree(on_top(arm, q, qd, none), truth, EXACT * 100)
    assert np.array_equal(on_top(arm, q, none, none), none)


@pytest.mark.slow
@pytest.mark.parametrize("speed", [0.0, 1e-300, -1e-300, 0.7, -0.7])
@pytest.mark.parametrize("ratio", [53.7, -53.7, 1.0])
@pytest.mark.parametrize("side", ["motor", "joint"])
@pytest.mark.sweep(3)
def test_friction_of_one_joint(side: Any, ratio: float, speed: float) -> None:
    """The sign of the gear ratio turns the motor round, and friction still brakes; sgn(0) = 0."""
    friction = Friction(side=side, viscous=0.013, coulomb=(0.31, -0.17))
    arm = driven(random_arm(25, 3, drives=False), motor=Motor(gear_ratio=ratio), friction=friction)
    q, _, qdd = random_state(arm, 1)
    qd = np.array([speed, 0.4, -0.8])
    G = abs(ratio) if side == "motor" else 1.0
    dry = 0.31 if speed > 0 else -0.17 if speed < 0 else 0.0
    for formulation in INVERSE:
        added = on_top(arm, q, qd, qdd, formulation)
        assert added[0] == pytest.approx(G * (0.013 * G * speed + dry), abs=1e-12, rel=1e-12)
        assert np.abs(added[1:]).max() == 0.0
    assert np.signbit(added[0]) == (speed < 0)


def test_minus_zero_is_rest() -> None:
    arm = driven(random_arm(25, 3, drives=False), friction=Friction(coulomb=(0.3, -0.2)))
    q, none = random_state(arm, 1).q, np.zeros(3)
    assert np.array_equal(dynamics.bias(arm, q, -none), dynamics.gravity(arm.rigid(), q))


def test_friction_on_the_motor_side_without_a_motor_is_refused() -> None:
    with pytest.raises(ModelError, match="friction: given on the motor side, but there is no motor"):
        driven(random_arm(4, 2, drives=False), friction=Friction(side="motor", viscous=0.5))


def test_rotor_inertia_stands_in_matrix_and_torque() -> None:
    """N^2 J on the diagonal alone: the gear's turning with the arm is left out, as is usual."""
    arm = driven(random_arm(2, 4, drives=False), motor=Motor(gear_ratio=-40.0, rotor_inertia=2.5e-4))
    q, qd, qdd = random_state(arm, 1)
    more = np.zeros((4, 4))
    more[0, 0] = 0.4
    for method in INERTIA:
        found = dynamics.inertia_matrix(arm, q, method) - dynamics.inertia_matrix(arm.rigid(), q, method)
        np.testing.assert_allclose(found, more, rtol=0, atol=1e-15)
    for formulation in INVERSE:
        np.testing.assert_allclose(on_top(arm, q, qd, qdd, formulation), more @ qdd, rtol=0, atol=1e-13)
    assert_agree(dynamics.kinetic_energy(arm, q, qd), 0.5 * qd @ dynamics.inertia_matrix(arm, q) @ qd, EXACT)


def test_rotors_do_not_care_how_the_arm_hangs() -> None:
    """Neither gravity nor velocity torques know them."""
    arm = simple_drives(random_arm(3, 4))
    still = arm.replace(tree=tuple(dataclasses.replace(j, friction=None) for j in arm.tree))
    q, qd, _ = random_state(arm, 1)
    assert np.array_equal(dynamics.bias(still, q, qd), dynamics.bias(arm.rigid(), q, qd))
    assert np.array_equal(dynamics.gravity(arm, q), dynamics.gravity(arm.rigid(), q))


def test_rigid_takes_every_drive_away() -> None:
    arm = random_arm(4, 4, mimic=True)
    assert any(j.bearings for j in arm.tree)
    rigid = arm.rigid()
    assert not any(j.has_drive for j in rigid.tree)
    state = random_state(arm, 1)
    bare = arm.replace(
        tree=tuple(
            dataclasses.replace(j, motor=None, friction=None, bearings=(), transmission=None)
            for j in arm.tree
        )
    )
    assert np.array_equal(dynamics.inverse(rigid, *state), dynamics.inverse(bare, *state))
    assert np.array_equal(dynamics.inertia_matrix(rigid, state.q), dynamics.inertia_matrix(bare, state.q))


@pytest.mark.parametrize("method", FORWARD)
@pytest.mark.parametrize("name", ["puma560", "chain", "tree", "followers"])
def test_forward_with_drives_inverts_inverse(name: str, method: str) -> None:
    makings: dict[str, Any] = {"chain": {}, "tree": {"tree": True}, "followers": {"mimic": True}}
    arm = fa.load(name) if name == "puma560" else simple_drives(random_arm(5, 5, **makings[name]))
    for seed in range(3):
        q, qd, qdd = random_state(arm, seed)
        qd[-1] = 0.0  # one joint at rest, where friction has no direction
        load = random_wrench(seed)
        tau = dynamics.inverse(arm, q, qd, qdd, "kane", *load)
        condition = float(np.linalg.cond(dynamics.inertia_matrix(arm, q)))
        assert_agree(dynamics.forward(arm, q, qd, tau, method, *load), qdd, 1e-13 * condition)


COMPUTED: dict[str, dict[str, Any]] = {
    "bearings": {"bearings": (Bearing(kind="journal", mu=0.1, radius=0.05, distance=0.2),)},
    "transmission": {"transmission": Transmission(efficiency=((0.1, 0.8),), rated_torque=50.0)},
    "stribeck": {"friction": Friction(coulomb=(0.1, -0.1), static=(0.2, -0.2), stribeck_speed=0.1)},
}


@pytest.mark.slow
def test_many_light_links_behind_gears_are_not_wedged() -> None:
    """The determinant of such a matrix is below every float;
    its Cholesky factor is there, and the way back is exact.
    """
    gear = Transmission(efficiency=((0.0, 0.8),), rated_torque=100.0)
    arm = fa.load("chain50")
    light = tuple(
        dataclasses.replace(link, mass=1e-6 * link.mass, inertia=1e-6 * link.inertia) for link in arm.links
    )
    arm = arm.replace(links=light, tree=tuple(dataclasses.replace(j, transmission=gear) for j in arm.tree))
    q, qd, qdd = random_state(arm, 3)
    M = dynamics.inertia_matrix(arm, q)
    assert np.linalg.det(M) == 0.0
    assert (np.diagonal(np.linalg.cholesky(M)) > 0.0).all()
    report = dynamics.forward_report(arm, q, qd, dynamics.inverse(arm, q, qd, qdd))
    assert_agree(report.qdd, qdd, 1e-9)
    assert not report.is_wedged


@pytest.mark.parametrize("drive", COMPUTED.values(), ids=COMPUTED.keys())
def test_what_friction_there_is_counts_in_torques_alone(drive: dict[str, Any]) -> None:
    """On the first joint it moves the first torque against the motion, and neither energies,
    matrix nor what holds the arm.
    """
    arm = driven(random_arm(6, 3, prismatic=False, drives=False), **drive)
    q, qd, qdd = random_state(arm, 1)
    added = on_top(arm, q, qd, qdd)
    assert added[0] * qd[0] > 0.0
    assert np.abs(added[1:]).max() == 0.0
    assert np.array_equal(dynamics.gravity(arm, q), dynamics.gravity(arm.rigid(), q))
    assert np.array_equal(dynamics.inertia_matrix(arm, q), dynamics.inertia_matrix(arm.rigid(), q))
    assert dynamics.kinetic_energy(arm, q, qd) == dynamics.kinetic_energy(arm.rigid(), q, qd)
    tau = dynamics.inverse(arm, q, qd, qdd)
    assert_agree(dynamics.forward(arm, q, qd, tau), qdd, 1e-10)


def test_bearings_of_followers_count_by_their_multiplier() -> None:
    """A follower of -0.7 times the speed: what its bearing resists reaches the leader as -0.7 of it."""
    arm = random_arm(7, 3, prismatic=False, drives=False, mimic=True)
    bearing = Bearing(kind="journal", mu=0.1, radius=0.05, distance=0.2)
    braked = arm.replace(
        tree=tuple(dataclasses.replace(j, bearings=(bearing,)) if j.mimic else j for j in arm.tree)
    )
    q, qd, qdd = random_state(arm, 1)
    added = dynamics.inverse(braked, q, qd, qdd) - dynamics.inverse(arm, q, qd, qdd)
    assert added @ qd > 0.0
    leaders = {b.freedom for b in arm.moving.bodies if b.joint.mimic}
    assert all((added[k] * qd[k] > 0.0) == (k in leaders) for k in range(arm.n))


def freed(arm: Arm) -> Arm:
    """The same arm with every follower a freedom of its own."""
    return arm.replace(tree=tuple(dataclasses.replace(j, mimic=None) for j in arm.tree))


@pytest.mark.parametrize("seed", range(6))
def test_drives_on_followers_by_power(seed: int) -> None:
    """The freedoms give the power that all joints, followers among them, take: tau .
    qd = sum of tau_joint qd_joint.
    """
    arm = simple_drives(random_arm(20 + seed, 4, mimic=True, tree=seed % 2 == 0))
    assert sum(bool(j.mimic and j.motor and j.friction) for j in arm.tree) == 2
    free = freed(arm)
    laws = {b.joint.name: (b.freedom, b.multiplier, b.offset) for b in arm.moving.bodies}
    G, shift = np.zeros((free.n, arm.n)), np.zeros(free.n)
    for i, joint in enumerate(free.joints):
        freedom, G[i, freedom], shift[i] = (laws[joint.name][0], *laws[joint.name][1:])
    for number in range(3):
        q, qd, qdd = random_state(arm, number)
        all_tau = dynamics.inverse(free, G @ q + shift, G @ qd, G @ qdd)
        tau = dynamics.inverse(arm, q, qd, qdd)
        assert tau @ qd == pytest.approx(all_tau @ (G @ qd), rel=1e-11)
        assert_agree(tau, G.T @ all_tau, 1e-12)
        assert_agree(
            dynamics.inertia_matrix(arm, q), G.T @ dynamics.inertia_matrix(free, G @ q + shift) @ G, 1e-12
        )


def test_a_follower_that_runs_backwards_is_braked_in_its_own_direction() -> None:
    """Leader forwards, follower backwards: its friction of qd < 0 counts, with a minus sign,
    so it still takes power.
    """
    arm = random_arm(8, 2, prismatic=False, drives=False)
    last = arm.joints[-1]
    friction = Friction(viscous=0.2, coulomb=(0.5, -0.9))
    follower: Joint = dataclasses.replace(
        last, mimic=Mimic(joint="joint1", multiplier=-0.7, offset=0.2), friction=friction
    )
    arm = arm.replace(tree=tuple(follower if j.name == last.name else j for j in arm.tree))
    assert arm.n == 1
    q, qdd = np.array([0.3]), np.array([0.0])
    added = on_top(arm, q, np.array([2.0]), qdd)
    assert added[0] == pytest.approx(-0.7 * (0.2 * (-0.7 * 2.0) - 0.9), rel=1e-12)
    added = on_top(arm, q, np.array([-2.0]), qdd)
    assert added[0] == pytest.approx(-0.7 * (0.2 * (0.7 * 2.0) + 0.5), rel=1e-12)
