"""Energies against those of tests/arms.py, which know no inertia code; power along a motion;
Lagrange's equation itself.
"""

from __future__ import annotations

import numpy as np
import pytest
from arms import (
    DIFFERENCE,
    OFFSETS,
    SEVEN_POINTS,
    kinetic_energy,
    potential_energy,
    potential_slope,
    random_arm,
)
from dynamics.cases import (
    INVERSE,
    SERIAL_ONLY,
    Array,
    assert_agree,
    random_state,
    rigid_arms,
    simple_drives,
    with_kinds,
)

from forearm import Arm, dynamics
from forearm.drives.joint import driven, drives_of
from forearm.kinematics import link_poses
from forearm.model import model_of

# a seven-point difference of energies that are exact to 1e-12 (their own differences), over steps of 2e-3
POWER = 1e-8
LAGRANGE = 1e-7  # two such differences one in the other; the brief asks for 1e-5
ARMS = {f"n{n}, {kind}": arm for n in (1, 3) for kind, arm in rigid_arms(n, seed=80).items()}
ARMS |= {
    kinds: with_kinds(random_arm(90 + i, 3, "frames"), kinds) for i, kinds in enumerate(("PRR", "RRP", "PPR"))
}
DRIVEN = {
    "chain": simple_drives(random_arm(95, 4, "standard")),
    "tree": simple_drives(random_arm(96, 4, "frames", tree=True)),
    "followers": simple_drives(random_arm(97, 4, "modified", mimic=True)),
}

each_arm = pytest.mark.parametrize("arm", ARMS.values(), ids=ARMS.keys())
each_driven = pytest.mark.parametrize("arm", DRIVEN.values(), ids=DRIVEN.keys())


class Motion:
    """A smooth motion of every joint: q = centre + size sin(rate t + phase), with its derivatives."""

    def __init__(self, arm: Arm, seed: int) -> None:
        rng = np.random.default_rng([seed, 11])
        self.centre, self.phase = rng.uniform(-1.0, 1.0, (2, arm.n))
        self.size, self.rate = rng.uniform(0.3, 1.0, arm.n), rng.uniform(0.5, 2.0, arm.n)

    def at(self, t: float) -> tuple[Array, Array, Array]:
        angle = self.rate * t + self.phase
        sin, cos = self.size * np.sin(angle), self.size * np.cos(angle)
        return self.centre + sin, self.rate * cos, -(self.rate**2) * sin


def static_potential(arm: Arm) -> float:
    """What the links that never move have: no part of the potential energy of the moving bodies."""
    poses = link_poses(arm, np.zeros(arm.n))
    still = [link for link in arm.links if arm.moving.frames[link.name][0] < 0]
    return -sum(
        link.mass * float(arm.gravity @ (poses[link.name][:3, :3] @ link.com + poses[link.name][:3, 3]))
        for link in still
    )


@each_arm
def test_energies_are_those_of_the_links_and_gravity_is_a_slope(arm: Arm) -> None:
    size = arm.mass * float(np.linalg.norm(arm.gravity))
    for seed in range(2):
        q, qd, _ = random_state(arm, seed)
        truth = kinetic_energy(arm, q, qd)
        assert_agree(dynamics.kinetic_energy(arm, q, qd), truth, DIFFERENCE)
        assert_agree(0.5 * qd @ dynamics.inertia_matrix(arm, q) @ qd, truth, DIFFERENCE)
        truth = potential_energy(arm, q) - static_potential(arm)
        np.testing.assert_allclose(dynamics.potential_energy(arm, q), truth, rtol=0, atol=1e-13 * size)
        slope = potential_slope(arm, q)
        np.testing.assert_allclose(dynamics.gravity(arm, q), slope, rtol=0, atol=DIFFERENCE * size)


@each_driven
def test_power_balance_with_rotors_and_friction(arm: Arm) -> None:
    """What tau . qd does not put into K + P, friction takes, and it never gives any back."""
    motion = Motion(arm, 2)
    for t in (0.0, 1.3, 7.1):
        (q, qd, qdd), near = motion.at(t), [motion.at(t + h) for h in OFFSETS]
        energy = np.array(
            [dynamics.kinetic_energy(arm, *x[:2]) + dynamics.potential_energy(arm, x[0]) for x in near]
        )
        rates = model_of(arm).rates(qd.tolist())
        friction = model_of(arm).gathered(driven(drives_of(arm), [0.0] * len(rates), None, rates))
        tau, lost = dynamics.inverse(arm, q, qd, qdd), np.array(friction) @ qd
        assert lost > 0.0
        wrong = POWER * (np.abs(tau * qd).sum() + abs(energy[3]))
        assert abs(tau @ qd - lost - SEVEN_POINTS @ energy) <= wrong


@each_arm
def test_lagranges_equation(arm: Arm) -> None:
    """d/dt dK/dqd - dK/dq + dP/dq = tau; K is quadratic in qd, so that dK/dqd by steps of 1 is exact."""
    motion, units = Motion(arm, 3), np.eye(arm.n)

    def momentum(q: Array, qd: Array, _: Array) -> list[float]:
        return [0.5 * (kinetic_energy(arm, q, qd + e) - kinetic_energy(arm, q, qd - e)) for e in units]

    q, qd, qdd = motion.at(0.7)
    by_time = np.array([momentum(*motion.at(0.7 + h)) for h in OFFSETS])
    by_place = np.array([[kinetic_energy(arm, q + h * e, qd) for e in units] for h in OFFSETS])
    truth = SEVEN_POINTS @ (by_time - by_place) + potential_slope(arm, q)
    for formulation in INVERSE:
        if formulation not in SERIAL_ONLY or arm.is_serial:
            assert_agree(dynamics.inverse(arm, q, qd, qdd, formulation), truth, LAGRANGE)


def test_the_step_is_that_of_the_offsets() -> None:
    """The slope of t^6 and of sin, so that a wrong weight is found here and not in the physics."""
    assert float(SEVEN_POINTS @ (1.0 + OFFSETS) ** 6) == pytest.approx(6.0, rel=1e-11)
    assert float(SEVEN_POINTS @ np.sin(0.4 + OFFSETS)) == pytest.approx(np.cos(0.4), rel=1e-11)
