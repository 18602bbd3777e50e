"""Closed-form initial estimate of where the measuring device stands and where its target sits on the hand.

Measured poses are Z = B F H with the base B in the device's frame, F the hand in the base by the file, H the
target in the hand; measured points are z = B (F h).
"""

from __future__ import annotations

import numpy as np

from forearm.spatial import Floats, pose

ROUNDS = 200
STILL = 1e-12


def base_of_poses(Z: Floats, F: Floats) -> Floats:
    """B (4, 4) of Z = B F: the best-fitting rotation, then the mean of the remaining offsets."""
    R = nearest_rotation(np.einsum("bij,bkj->ik", Z[:, :3, :3], F[:, :3, :3]))
    return pose(R, np.median(Z[:, :3, 3] - F[:, :3, 3] @ R.T, axis=0))


def base_and_hand_of_poses(Z: Floats, F: Floats) -> tuple[Floats, Floats]:
    """B and H of Z = B F H: rotations first, or positions first if all rotations share one axis."""
    at, h = base_and_point(Z[:, :3, 3], F)
    R_H = nearest_rotation(np.einsum("bji,bjk->ik", at[:3, :3] @ F[:, :3, :3], Z[:, :3, :3]))
    tried = [_by_rotations(Z, F), (at, pose(R_H, h))]
    return min(
        tried, key=lambda found: float(np.median(np.abs(found[0] @ F @ found[1] - Z).max(axis=(1, 2))))
    )


def _by_rotations(Z: Floats, F: Floats) -> tuple[Floats, Floats]:
    """R_Z R_H^T = R_B R_F is linear in both rotations: they are singular vectors of the sum of R_F (x) R_Z;
    then positions by least squares.
    """
    count = len(Z)
    K = sum((np.kron(f, z) for f, z in zip(F[:, :3, :3], Z[:, :3, :3], strict=True)), np.zeros((9, 9)))
    # vec(R_B) goes with vec(R_H^T), column by column
    M = np.linalg.svd(K)[0][:, 0].reshape(3, 3).T
    R_B = nearest_rotation(M if np.linalg.det(M) > 0.0 else -M)
    R_H = nearest_rotation(np.einsum("bji,bjk->ik", R_B @ F[:, :3, :3], Z[:, :3, :3]))
    A = np.concatenate([np.tile(np.eye(3), (count, 1)), (R_B @ F[:, :3, :3]).reshape(-1, 3)], axis=1)
    b = (Z[:, :3, 3] - F[:, :3, 3] @ R_B.T).reshape(-1)
    found = np.linalg.lstsq(A, b, rcond=None)[0]
    return pose(R_B, found[:3]), pose(R_H, found[3:])


def base_of_points(z: Floats, f: Floats) -> Floats:
    """B of z = B f, for points (B, 3)."""
    centre, middle = z.mean(axis=0), f.mean(axis=0)
    R = nearest_rotation((z - centre).T @ (f - middle))
    return pose(R, centre - R @ middle)


def base_and_point(z: Floats, F: Floats) -> tuple[Floats, Floats]:
    """B and h of z = B (F h): each from the other, until they rest."""
    h = np.zeros(3)
    rotations, origins = F[:, :3, :3], F[:, :3, 3]
    for _ in range(ROUNDS):
        B = base_of_points(z, rotations @ h + origins)
        b = (z - B[:3, 3]) @ B[:3, :3] - origins
        # minimum change where a direction of the point shows nothing
        A = rotations.reshape(-1, 3)
        step = np.linalg.lstsq(A, b.reshape(-1) - A @ h, rcond=1e-9)[0]
        h = h + step
        if np.abs(step).max() < STILL:
            break
    return B, h


def nearest_rotation(M: Floats) -> Floats:
    """The rotation R with the largest trace(R^T M)."""
    U, _, Vt = np.linalg.svd(M)
    return np.asarray(U @ np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ Vt))]) @ Vt)
