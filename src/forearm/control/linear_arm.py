"""An arm with elastic joints linearised about a configuration, in links and rotors, and sampled."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.elastic import elastic_freedoms, expanded, link_side
from forearm.control.controller import Pair
from forearm.drives.elasticity import deflection_of, pressed, spring_stiffness
from forearm.drives.joint import drives_of
from forearm.dynamics.modes import gravity_stiffness
from forearm.dynamics.reference import gravity, inertia_matrix
from forearm.spatial import Floats

TERMS = 18  # terms of the exponential series, for row sums below 1/8


@dataclass(frozen=True, eq=False)
class LinearArm:
    """M xdd + D xd + (K + G) x = motor torques at the coordinates `motors` (n,): small motions about rest,
    links first, then rotors behind springs, m in all. K is the stiffness of springs, G that of gravity.
    """

    M: Floats
    D: Floats
    K: Floats
    G: Floats
    motors: tuple[int, ...]

    def joint(self, j: int) -> LinearArm:
        """One joint, with all others locked and without gravity: link and rotor, or one mass."""
        own = [j] if self.motors[j] == j else [j, self.motors[j]]
        at = np.ix_(own, own)
        return LinearArm(self.M[at], self.D[at], self.K[at], np.zeros_like(self.K[at]), (len(own) - 1,))

    def lumped(self) -> LinearArm:
        """The same with the spring of a single joint rigid."""
        one = np.ones((1, 1))
        return LinearArm(one * self.M.sum(), one * self.D.sum(), 0.0 * one, 0.0 * one, (0,))

    def sampled(self, period: float) -> Pair:
        """F - 1 and G of (x, xd) over a period, F (x, xd) + G tau, with torques held."""
        m, n = len(self.M), len(self.motors)
        W = np.linalg.inv(self.M)
        A = np.zeros((2 * m + n, 2 * m + n))
        A[:m, m : 2 * m] = np.eye(m)
        A[m : 2 * m, : 2 * m] = np.hstack([-W @ (self.K + self.G), -W @ self.D])
        A[m : 2 * m, 2 * m :] = W[:, list(self.motors)]
        grown = _exponential_less_one(A * period)
        return grown[: 2 * m, : 2 * m], grown[: 2 * m, 2 * m :]

    def with_delay(self, period: float, delay: int) -> Pair:
        """F - 1 and G of a loop, with the pending torques in the state if there is a delay."""
        F, G = self.sampled(period)
        if not delay:
            return F, G
        n = len(self.motors)
        zero, one = np.zeros((n, len(F))), np.eye(n)
        return np.block([[F, G], [zero, -one]]), np.vstack([np.zeros_like(G), one])

    def radius(self, gains: Floats, period: float, delay: int = 0) -> float:
        """Largest |z| under tau = -gains (x, xd, and with a delay the pending torques), gains (n, 2 m) or
        (n, 2 m + n): below 1 the loop is stable.
        """
        F, G = self.with_delay(period, delay)
        return float(np.abs(np.linalg.eigvals(np.eye(len(F)) + F - G @ gains)).max())


def linear_arm(arm: Arm, q: Floats) -> LinearArm:
    """Linearise an arm about a configuration (n,) in which springs balance gravity. Dry friction is not
    included.

    Args:
        arm: the arm, elastic or not.
        q: joint coordinates (n,).
    """
    own, apart = list(elastic_freedoms(arm)), expanded(arm)
    n, m = arm.n, apart.n
    M = inertia_matrix(apart, np.concatenate([q, q[own]]))
    D, K, G = (np.zeros((m, m)) for _ in range(3))
    for drive in drives_of(apart):
        D[drive.freedom, drive.freedom] += drive.multiplier**2 * drive.at_joint.viscous
    motors, load = list(range(n)), gravity(link_side(arm).rigid(), q)
    for place, j in enumerate(own, n):
        spring, motors[j] = arm.joints[j].elasticity, place
        assert spring is not None
        pull = np.zeros(m)
        pull[[j, place]] = -1.0, 1.0
        stiffness = float(spring_stiffness(spring, pressed(spring, deflection_of(spring, float(load[j])))))
        K += stiffness * np.outer(pull, pull)
        D += spring.damping * np.outer(pull, pull)
    G[:n, :n] = gravity_stiffness(arm, q)
    return LinearArm(M, D, K, G, tuple(motors))


def _exponential_less_one(A: Floats) -> Floats:
    """e^A - 1, by its series and E^2 - 1 = (E - 1)^2 + 2 (E - 1), which preserves the digits of small
    entries.
    """
    halvings = max(0, math.ceil(math.log2(max(float(np.abs(A).sum(axis=1).max()), 1e-300))) + 3)
    part = A / 2.0**halvings
    term = made = part
    for k in range(2, TERMS + 1):
        term = term @ part / k
        made = made + term
    for _ in range(halvings):
        made = made @ made + 2.0 * made
    return np.asarray(made)
