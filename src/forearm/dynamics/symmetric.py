"""Operations on symmetric and skew matrices, over any scalar, without redundant computation."""

from __future__ import annotations

import numpy as np

from forearm.model import Array, JointTransform, Model, Scalar


def turned(step: JointTransform, X: Array) -> Array:
    """R X R^T, a similarity transformation."""
    half = np.array([step.up(row) for row in X.T]).T
    return np.array([step.up(row) for row in half])


def turned_back(step: JointTransform, X: Array) -> Array:
    """R^T X R: a matrix of the parent's axes in those of the body."""
    if step.R is not None:
        return step.R.T @ X @ step.R
    half = np.array([step.down(column) for column in X.T]).T
    return np.array([step.down(row) for row in half])


def turned_symmetric(step: JointTransform, S: Array) -> Array:
    """R S R^T of a symmetric S; by elementary rotations for scalars other than floats. Mata 4.2, step 5."""
    if step.R is not None:
        return step.R @ S @ step.R.T
    for R in (step.body.Ra, step.Rz, step.body.Rb):
        S = turned_once(R, S)
    return S


def turned_once(R: Array, S: Array) -> Array:
    """R S R^T of a symmetric S with 8 multiplications and 8 additions, if R rotates about a coordinate axis.

    In the plane of rotation, with u = s (S_ii - S_jj) + c 2 S_ij: S_ii - s u, S_jj + s u, c u - S_ij.
    """
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        c, s = R[i, i], R[j, i]
        if is_structure(R[k, k]) and R[k, k] == 1.0 and not is_structure(s):
            mixed = S[i, j]
            u = s * (S[i, i] - S[j, j]) + c * (mixed + mixed)
            shift = s * u
            turned = np.array(S)
            turned[i, i], turned[j, j] = S[i, i] - shift, S[j, j] + shift
            turned[i, j] = turned[j, i] = c * u - mixed
            turned[i, k] = turned[k, i] = c * S[i, k] - s * S[j, k]
            turned[j, k] = turned[k, j] = s * S[i, k] + c * S[j, k]
            return turned
    return mirrored(R @ S @ R.T)


def both_ways(a: Array, b: Array) -> Array:
    """tilde(a) tilde(b) plus its transpose: a b^T + b a^T - 2 (a . b) 1 with nine products."""
    (ax, ay, az), (bx, by, bz) = a, b
    x, y, z = ax * bx, ay * by, az * bz
    xy, xz, yz = ax * by + ay * bx, ax * bz + az * bx, ay * bz + az * by
    dx, dy, dz = y + z, x + z, x + y
    return np.array([[-(dx + dx), xy, xz], [xy, -(dy + dy), yz], [xz, yz, -(dz + dz)]])


def mirrored(S: Array) -> Array:
    """A symmetric matrix from its upper half; other scalars than floats skip the lower half."""
    if S.dtype != object:
        return S
    made = np.array(S)
    for i in range(len(S)):
        for j in range(i):
            made[i, j] = S[j, i]
    return made


def is_structure(x: Scalar) -> bool:
    """Whether it is a plain 0, 1 or -1, which folds."""
    return isinstance(x, float) and x in (0.0, 1.0, -1.0)


def zeros(model: Model) -> Array:
    """A square matrix to be filled, one row per body, of the model's scalar type."""
    return np.zeros(
        (len(model.bodies), len(model.bodies)), dtype=model.bodies[0].Rb.dtype if model.bodies else float
    )
