"""Drives in inverse and forward dynamics: friction on either side of the gear, rotors,
followers, and what they leave.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from dynamics.cases import INERTIA, INVERSE, Array, assert_agree, random_state, simple_drives

import forearm as fa
from forearm import Arm, Friction, ModelError, Motor, Transmission, dynamics

EXACT = 1e-13


def driven(arm: Arm, **drive: Any) -> Arm:
    """The rigid arm with this drive on its first joint."""
    return arm.rigid().with_drives({arm.joints[0].name: drive})


def on_top(arm: Arm, q: Array, qd: Array, qdd: Array, formulation: str = "newton-euler") -> Array:
    """What the drives add to the torques of the rigid arm."""
    return dynamics.inverse(arm, q, qd, qdd, formulation) - dynamics.inverse(
        arm.rigid(), q, qd, qdd, formulation
    )


def test_the_friction_law_of_the_puma() -> None:
    """tau_f = |G| (B |G| qd + Tc+-), from the built-in arm's own drives, in both directions and at rest."""
    arm = fa.load("puma560")
    q, none = random_state(arm, 1).q, np.zeros(6)
    motors, frictions = [j.motor for j in arm.joints], [j.friction for j in arm.joints]
    assert {f.side for f in frictions if f} == {"motor"}
    G, B = (np.abs([m.gear_ratio for m in motors if m]), np.array([f.viscous for f in frictions if f]))
    for way in (0, 1):
        qd = (1.0, -1.0)[way] * np.array([0.1, 0.7, 1.3, 0.4, 2.1, 0.9])
        dry = np.array([f.coulomb[way] for f in frictions if f])
        assert_agree(on_top(arm, q, qd, none), G * (B * G * qd + dry), EXACT * 100)
    for rest in (none, -none):
        assert np.array_equal(on_top(arm, q, rest, none), none)


@pytest.mark.parametrize(
    ("side", "ratio"), [("motor", 53.7), ("motor", -53.7), ("joint", -53.7), ("joint", 1.0)]
)
def test_friction_of_one_joint(side: Any, ratio: float) -> None:
    """The sign of the gear ratio turns the motor round, and friction still brakes; sgn(0) = 0."""
    friction = Friction(side=side, viscous=0.013, coulomb=(0.31, -0.17))
    arm = driven(random_arm(25, 3, drives=False), motor=Motor(gear_ratio=ratio), friction=friction)
    q, _, qdd = random_state(arm, 1)
    G = abs(ratio) if side == "motor" else 1.0
    for speed, dry in ((0.0, 0.0), (1e-300, 0.31), (-1e-300, -0.17), (0.7, 0.31), (-0.7, -0.17)):
        for formulation in ("newton-euler", "lagrange-waters"):
            added = on_top(arm, q, np.array([speed, 0.4, -0.8]), qdd, formulation)
            assert added[0] == pytest.approx(G * (0.013 * G * speed + dry), abs=1e-12, rel=1e-12)
            assert np.abs(added[1:]).max() == 0.0


def test_friction_on_the_motor_side_without_a_motor_is_refused() -> None:
    with pytest.raises(ModelError, match="friction: given on the motor side, but there is no motor"):
        driven(random_arm(4, 2, drives=False), friction=Friction(side="motor", viscous=0.5))


def test_rotor_inertia_stands_in_matrix_and_torque() -> None:
    """N^2 J on the diagonal alone: the gear's turning with the arm is left out, as is usual. Neither gravity
    nor velocity torques know rotors.
    """
    arm = driven(random_arm(2, 4, drives=False), motor=Motor(gear_ratio=-40.0, rotor_inertia=2.5e-4))
    q, qd, qdd = random_state(arm, 1)
    more = np.diag([0.4, 0.0, 0.0, 0.0])
    for method in INERTIA:
        found = dynamics.inertia_matrix(arm, q, method) - dynamics.inertia_matrix(arm.rigid(), q, method)
        np.testing.assert_allclose(found, more, rtol=0, atol=1e-15)
    for formulation in INVERSE:
        np.testing.assert_allclose(on_top(arm, q, qd, qdd, formulation), more @ qdd, rtol=0, atol=1e-13)
    assert_agree(dynamics.kinetic_energy(arm, q, qd), 0.5 * qd @ dynamics.inertia_matrix(arm, q) @ qd, EXACT)
    assert np.array_equal(dynamics.bias(arm, q, qd), dynamics.bias(arm.rigid(), q, qd))


@pytest.mark.slow
def test_many_light_links_behind_gears_are_not_wedged() -> None:
    """The determinant of such a matrix is below every float;
    its Cholesky factor is there, and the way back is exact.
    """
    arm = fa.load("chain50")
    arm = arm.with_drives(transmission=Transmission(efficiency=((0.0, 0.8),), rated_torque=100.0))
    arm = arm.replace(
        links=tuple(replace(x, mass=1e-6 * x.mass, inertia=1e-6 * x.inertia) for x in arm.links)
    )
    q, qd, qdd = random_state(arm, 3)
    M = dynamics.inertia_matrix(arm, q)
    assert np.linalg.det(M) == 0.0
    assert (np.diagonal(np.linalg.cholesky(M)) > 0.0).all()
    report = dynamics.forward_report(arm, q, qd, dynamics.inverse(arm, q, qd, qdd))
    assert_agree(report.qdd, qdd, 1e-9)
    assert not report.is_wedged


@pytest.mark.parametrize("seed", [22, 23])
def test_drives_on_followers_by_power(seed: int) -> None:
    """The freedoms give the power that all joints, followers among them, take: tau .
    qd = sum of tau_joint qd_joint.
    """
    arm = simple_drives(random_arm(seed, 4, mimic=True, tree=seed % 2 == 0))
    assert sum(bool(j.mimic and j.motor and j.friction) for j in arm.tree) == 2
    free = arm.replace(tree=tuple(replace(j, mimic=None) for j in arm.tree))
    G, shift = np.zeros((free.n, arm.n)), np.zeros(free.n)
    order = [joint.name for joint in free.joints]
    for b in arm.moving.bodies:
        i = order.index(b.joint.name)
        G[i, b.freedom], shift[i] = b.multiplier, b.offset
    assert (G < 0.0).any(), "one that runs backwards"
    for number in range(3):
        q, qd, qdd = random_state(arm, number)
        all_tau = dynamics.inverse(free, G @ q + shift, G @ qd, G @ qdd)
        tau, M = dynamics.inverse(arm, q, qd, qdd), dynamics.inertia_matrix(free, G @ q + shift)
        assert tau @ qd == pytest.approx(all_tau @ (G @ qd), rel=1e-11)
        assert_agree(tau, G.T @ all_tau, 1e-12)
        assert_agree(dynamics.inertia_matrix(arm, q), G.T @ M @ G, 1e-12)
