"""Waters' matrices against finite differences of each other and of poses."""

from __future__ import annotations

import numpy as np
import pytest
from arms import STYLES, Style, random_arm

import forearm as fa
from forearm.kinematics import forward, waters_matrices
from forearm.kinematics.matrices import WatersMatrices

STEP = 1e-5
# Central differences with this step leave about 1e-10 of rounding and truncation;
# second differences about 1e-5.
FIRST, SECOND = 1e-8, 1e-4


@pytest.mark.parametrize("convention", STYLES)
def test_derivatives_of_A_W_U_and_V(convention: Style) -> None:
    arm = random_arm(1, n=4, convention=convention)
    q, qd = np.random.default_rng(1).uniform(-1.2, 1.2, (2, arm.n))
    at, bodies = waters_matrices(arm, q, qd), range(arm.n)

    def ends(way: np.ndarray) -> tuple[WatersMatrices, WatersMatrices]:
        return waters_matrices(arm, q + STEP * way, qd), waters_matrices(arm, q - STEP * way, qd)

    for j, unit in enumerate(np.eye(arm.n)):
        ahead, behind = ends(unit)
        assert np.abs(at.dA[j] - (ahead.A[j] - behind.A[j]) / (2 * STEP)).max() < FIRST
        assert np.abs(at.ddA[j] - (ahead.A[j] - 2 * at.A[j] + behind.A[j]) / STEP**2).max() < SECOND
        for i in bodies:
            moved = (ahead.W[i] - behind.W[i]) / (2 * STEP)
            assert np.abs((at.U[i][j] if j <= i else np.zeros((4, 4))) - moved).max() < FIRST
    later, earlier = ends(qd)
    for i in bodies:
        assert np.abs(at.V[i] - (later.W[i] - earlier.W[i]) / (2 * STEP)).max() < FIRST
        assert np.abs(at.W[i] - forward(arm, q, arm.moving.bodies[i].joint.child)).max() < 1e-13


def test_a_tree_and_a_batch_are_refused() -> None:
    with pytest.raises(fa.ModelError, match="serial chains"):
        waters_matrices(random_arm(3, n=4, convention="frames", tree=True), np.zeros(4), np.zeros(4))
    with pytest.raises(fa.InputError, match="one state"):
        waters_matrices(random_arm(3, n=2, convention="standard"), np.zeros((2, 2)), np.zeros((2, 2)))
