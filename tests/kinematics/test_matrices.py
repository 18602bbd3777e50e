"""Waters' matrices against finite differences of each other and of poses."""

from __future__ import annotations

import numpy as np
import pytest
from arms import Style, random_arm

import forearm as fa
from forearm.kinematics import forward, waters_matrices

STEP = 1e-5
# Central differences with this step leave about 1e-10 of rounding and truncation;
# second differences about 1e-5.
FIRST, SECOND = 1e-8, 1e-4


@pytest.mark.parametrize("convention", ["standard", "modified", "frames"])
@pytest.mark.parametrize("seed", [1, 2])
def test_derivatives_of_A_W_U_and_V(convention: Style, seed: int) -> None:
    arm = random_arm(seed, n=5, convention=convention)
    q, qd = np.random.default_rng(seed).uniform(-1.2, 1.2, (2, arm.n))
    at = waters_matrices(arm, q, qd)
    for j in range(arm.n):
        step = np.zeros(arm.n)
        step[j] = STEP
        ahead, behind = waters_matrices(arm, q + step, qd), waters_matrices(arm, q - step, qd)
        assert np.abs(at.dA[j] - (ahead.A[j] - behind.A[j]) / (2 * STEP)).max() < FIRST
        assert np.abs(at.ddA[j] - (ahead.A[j] - 2 * at.A[j] + behind.A[j]) / STEP**2).max() < SECOND
        for i in range(arm.n):
            moved = (ahead.W[i] - behind.W[i]) / (2 * STEP)
            assert np.abs((at.U[i][j] if j <= i else np.zeros((4, 4))) - moved).max() < FIRST
    later, earlier = waters_matrices(arm, q + STEP * qd, qd), waters_matrices(arm, q - STEP * qd, qd)
    for i, body in enumerate(arm.moving.bodies):
        assert np.abs(at.V[i] - (later.W[i] - earlier.W[i]) / (2 * STEP)).max() < FIRST
        assert np.abs(at.W[i] - forward(arm, q, body.joint.child)).max() < 1e-13


def test_a_tree_and_a_batch_are_refused() -> None:
    with pytest.raises(fa.ModelError, match="serial chains"):
        waters_matrices(random_arm(3, n=4, convention="frames", tree=True), np.zeros(4), np.zeros(4))
    with pytest.raises(fa.InputError, match="one state"):
        waters_matrices(random_arm(3, n=2, convention="standard"), np.zeros((2, 2)), np.zeros((2, 2)))
