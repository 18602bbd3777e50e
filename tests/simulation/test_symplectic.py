"""Symplectic steps on a double pendulum written out here: the symplectic identity, no drift of
energy, order, the way back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from forearm.errors import InputError
from forearm.simulation.methods import GAUSS4, MIDPOINT, Tableau
from forearm.simulation.symplectic import symplectic_step

METHODS = pytest.mark.parametrize("tableau", [MIDPOINT, GAUSS4], ids=lambda t: t.name)

# Two rods hung from each other: masses m, lengths l of the first, centres at r, inertias about the
# centres; absolute angles q.
M1, M2, L1, R1, R2, I1, I2, G = 1.3, 0.9, 0.7, 0.31, 0.42, 0.051, 0.037, 9.81
A, B, C = M1 * R1**2 + M2 * L1**2 + I1, M2 * R2**2 + I2, M2 * L1 * R2
W1, W2 = (M1 * R1 + M2 * L1) * G, M2 * R2 * G
Q0, QD0 = np.array([1.1, -0.6]), np.array([0.3, 1.7])


def inertia(q: Any) -> Any:
    c = C * np.cos(q[..., 0] - q[..., 1])
    return np.stack([np.stack([A + 0 * c, c], -1), np.stack([c, B + 0 * c], -1)], -2)


def velocity(q: Any, p: Any) -> Any:
    c = C * np.cos(q[..., 0] - q[..., 1])
    D = A * B - c * c
    return np.stack([B * p[..., 0] - c * p[..., 1], A * p[..., 1] - c * p[..., 0]], -1) / D[..., None]


def force(q: Any, qd: Any) -> Any:
    s = C * np.sin(q[..., 0] - q[..., 1]) * qd[..., 0] * qd[..., 1]
    return np.stack([-s - W1 * np.sin(q[..., 0]), s - W2 * np.sin(q[..., 1])], -1)


def momentum(q: Any, qd: Any) -> Any:
    return np.squeeze(inertia(q) @ qd[..., None], -1)


def energy(q: Any, p: Any) -> Any:
    return 0.5 * np.sum(p * velocity(q, p), -1) - W1 * np.cos(q[..., 0]) - W2 * np.cos(q[..., 1])


def test_the_fixture_is_consistent() -> None:
    """force = d/dq of the Lagrangian and velocity = M^-1 p, by differences."""
    p = momentum(Q0, QD0)
    np.testing.assert_allclose(velocity(Q0, p), QD0, rtol=1e-14)
    h = 1e-6
    for k in range(2):
        e = h * np.eye(2)[k]
        np.testing.assert_allclose(
            -(energy(Q0 + e, p) - energy(Q0 - e, p)) / (2 * h), force(Q0, QD0)[k], rtol=1e-8
        )


def step_map(tableau: Tableau, h: float) -> Any:
    """The derivative (4, 4) of a step in (q, p) by central differences."""
    z = np.concatenate([Q0, momentum(Q0, QD0)])
    columns = []
    for k in range(4):
        e = 1e-5 * np.eye(4)[k]
        ends = [
            np.concatenate(symplectic_step(tableau, velocity, force, w[:2], w[2:], h)) for w in (z + e, z - e)
        ]
        columns.append((ends[0] - ends[1]) / 2e-5)
    return np.stack(columns, -1)


@METHODS
def test_the_step_is_symplectic(tableau: Tableau) -> None:
    S = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
    D = step_map(tableau, 0.05)
    np.testing.assert_allclose(D.T @ S @ D, S, atol=2e-9)


@METHODS
def test_the_way_back(tableau: Tableau) -> None:
    """The same steps backwards, and the same steps with the momenta turned round, lead to the start."""
    q, p = Q0, momentum(Q0, QD0)
    for _ in range(50):
        q, p = symplectic_step(tableau, velocity, force, q, p, 0.02)
    back, turned = (q, p), (q, -p)
    for _ in range(50):
        back = symplectic_step(tableau, velocity, force, *back, -0.02)
        turned = symplectic_step(tableau, velocity, force, *turned, 0.02)
    np.testing.assert_allclose(np.concatenate(back), np.concatenate([Q0, momentum(Q0, QD0)]), atol=1e-11)
    np.testing.assert_allclose(np.concatenate(turned), np.concatenate([Q0, -momentum(Q0, QD0)]), atol=1e-11)


def test_rest_stays_at_rest() -> None:
    q, p = symplectic_step(GAUSS4, velocity, force, np.zeros(2), np.zeros(2), 0.1)
    assert not q.any()
    assert not p.any()


def test_what_cannot_be_used_is_refused_with_a_reason() -> None:
    with pytest.raises(InputError, match=r"a step of 3 s is too long for the stages to converge"):
        symplectic_step(MIDPOINT, velocity, force, Q0, QD0, 3.0)
    with pytest.raises(InputError, match=r"too long for the stages to converge"):
        symplectic_step(MIDPOINT, velocity, lambda q, qd: q * np.nan, Q0, QD0, 0.01)
