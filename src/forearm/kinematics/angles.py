"""Conversions between orientation forms and the rotation matrix, and their rates, for arrays (..., 3, 3).

R = R_base_hand throughout: its columns are the hand's axes in the base frame; w is the angular velocity in
base axes.
"""

from __future__ import annotations

import numpy as np

from forearm.spatial import Floats

# Sine and cosine that are both this small are rounding errors: the angle is then 0 by definition.
ROUNDING = 1e-12


def rpy_of_matrix(R: Floats) -> Floats:
    """Roll, pitch, yaw with R = Rz(yaw) Ry(pitch) Rx(roll), pitch in [-pi/2, pi/2];
    at +-pi/2 the roll is 0.
    """
    roll = _angle(R[..., 2, 1], R[..., 2, 2])
    c, s = np.cos(roll), np.sin(roll)
    # The other two come from R Rx(-roll), so that the yaw compensates a roll spoilt by rounding.
    yaw = np.arctan2(s * R[..., 0, 2] - c * R[..., 0, 1], c * R[..., 1, 1] - s * R[..., 1, 2])
    pitch = np.arctan2(-R[..., 2, 0], np.maximum(s * R[..., 2, 1] + c * R[..., 2, 2], 0.0))
    return np.stack([roll, pitch, yaw], axis=-1)


def matrix_of_rpy(angles: Floats) -> Floats:
    """R = Rz(yaw) Ry(pitch) Rx(roll)."""
    roll, pitch, yaw = np.moveaxis(angles, -1, 0)
    return _turn(2, yaw) @ _turn(1, pitch) @ _turn(0, roll)


def axes_of_rpy(angles: Floats) -> Floats:
    """E with w = E (roll', pitch', yaw'): columns are the three rotation axes; |det E| = cos pitch."""
    _, pitch, yaw = np.moveaxis(angles, -1, 0)
    cp, sp, cy, sy, zero = np.cos(pitch), np.sin(pitch), np.cos(yaw), np.sin(yaw), np.zeros_like(yaw)
    return _columns([(cy * cp, sy * cp, -sp), (-sy, cy, zero), (zero, zero, zero + 1.0)])


def zyz_of_matrix(R: Floats) -> Floats:
    """a, b, c with R = Rz(a) Ry(b) Rz(c), b in [0, pi]; at 0 and pi the first angle is 0. Mata 5.2."""
    first = _angle(R[..., 1, 2], R[..., 0, 2])
    c, s = np.cos(first), np.sin(first)
    last = np.arctan2(c * R[..., 1, 0] - s * R[..., 0, 0], c * R[..., 1, 1] - s * R[..., 0, 1])
    middle = np.arctan2(np.maximum(c * R[..., 0, 2] + s * R[..., 1, 2], 0.0), R[..., 2, 2])
    return np.stack([first, middle, last], axis=-1)


def matrix_of_zyz(angles: Floats) -> Floats:
    """R = Rz(a) Ry(b) Rz(c): successive rotations about body axes."""
    a, b, c = np.moveaxis(angles, -1, 0)
    return _turn(2, a) @ _turn(1, b) @ _turn(2, c)


def axes_of_zyz(angles: Floats) -> Floats:
    """E with w = E (a', b', c'); |det E| = sin b."""
    a, b, _ = np.moveaxis(angles, -1, 0)
    ca, sa, cb, sb, zero = np.cos(a), np.sin(a), np.cos(b), np.sin(b), np.zeros_like(a)
    return _columns([(zero, zero, zero + 1.0), (-sa, ca, zero), (ca * sb, sa * sb, cb)])


def waters_of_matrix(R: Floats) -> Floats:
    """Waters' three angles; an angle is 0 if its hand axis coincides with the axis it is measured about.
    Waters II.
    """
    x = _angle(R[..., 2, 1], R[..., 1, 1])
    y = _angle(R[..., 0, 2], R[..., 2, 2])
    z = _angle(R[..., 1, 0], R[..., 0, 0])
    return np.stack([x, y, z], axis=-1)


def matrix_of_waters(angles: Floats) -> Floats:
    """The rotation with these three angles, NaN if there is none or it is not unique. Waters II.

    An angle gives a half-plane for an axis of the hand: X_H = (cos z, sin z, u), Y_H = (v, cos x, sin x), Z_H
    = (sin y, w, cos y), up to their lengths. Orthogonality is linear in u, v, w, with determinant D = cos x
    cos y cos z + sin x sin y sin z; X_H x Y_H . Z_H has the sign of D, so a rotation needs D > 0.
    """
    (cx, cy, cz), (sx, sy, sz) = np.moveaxis(np.cos(angles), -1, 0), np.moveaxis(np.sin(angles), -1, 0)
    D = cx * cy * cz + sx * sy * sz
    D = np.where(D > ROUNDING, D, np.nan)
    # X.Y: sx u + cz v = -sz cx,  Y.Z: sy v + cx w = -sx cy,  Z.X: cy u + sz w = -sy cz, by Cramer's rule.
    xy, yz, zx = -sz * cx, -sx * cy, -sy * cz
    u = (xy * sy * sz - cz * yz * sz + cz * cx * zx) / D
    v = (sx * yz * sz - sx * cx * zx + cx * cy * xy) / D
    w = (sx * sy * zx - xy * sy * cy + cz * yz * cy) / D
    axes = _columns([(cz, sz, u), (v, cx, sx), (sy, w, cy)])
    R: Floats = axes / np.linalg.norm(axes, axis=-2, keepdims=True)
    return R


def slopes_of_waters(R: Floats) -> Floats:
    """F with (x', y', z') = F w; rows are NaN if their angle is undefined.

    z' = w_z - R_zx (w_x R_xx + w_y R_yx) / (R_xx^2 + R_yx^2), the others in turn.
    """
    F = np.zeros(R.shape)
    for k in range(3):  # the angle about axis k is that of the hand's axis i, seen from base axis i towards j
        i, j = (k + 1) % 3, (k + 2) % 3
        seen = R[..., i, i] ** 2 + R[..., j, i] ** 2
        seen = np.where(seen > ROUNDING**2, seen, np.nan)
        F[..., k, k] = np.where(np.isnan(seen), np.nan, 1.0)
        F[..., k, i] = -R[..., k, i] * R[..., i, i] / seen
        F[..., k, j] = -R[..., k, i] * R[..., j, i] / seen
    return F


def quaternion_of_matrix(R: Floats) -> Floats:
    """w, x, y, z of unit length with w >= 0; for half turns the first nonzero of x, y, z is positive.

    The largest of the four comes from the diagonal and the others from it, so none loses precision.
    """
    trace = np.trace(R, axis1=-2, axis2=-1)
    diagonal = np.moveaxis(np.diagonal(R, axis1=-2, axis2=-1), -1, 0)
    # 4 q q^T: its row with the largest diagonal element is the quaternion up to scale.
    squares = [1.0 + trace, *(1.0 + 2.0 * d - trace for d in diagonal)]
    turned = [R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]]
    both = {(i, j): R[..., i, j] + R[..., j, i] for i, j in ((0, 1), (0, 2), (1, 2))}
    rows = [
        [squares[0], turned[0], turned[1], turned[2]],
        [turned[0], squares[1], both[0, 1], both[0, 2]],
        [turned[1], both[0, 1], squares[2], both[1, 2]],
        [turned[2], both[0, 2], both[1, 2], squares[3]],
    ]
    products = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
    largest = np.argmax(np.stack(squares, axis=-1), axis=-1)[..., None, None]
    q = np.take_along_axis(products, largest, axis=-2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    q[..., 0] = np.where(np.abs(q[..., 0]) <= ROUNDING, 0.0, q[..., 0])
    told = np.argmax(np.abs(q) > ROUNDING, axis=-1)[..., None]
    positive: Floats = q * np.where(np.take_along_axis(q, told, axis=-1) < 0.0, -1.0, 1.0)
    return positive


def matrix_of_quaternion(q: Floats) -> Floats:
    """R = 1 + 2 w K + 2 K^2 with K the cross product by x, y, z, of a normalised quaternion (w, x, y, z)."""
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    K = cross_matrix(q[..., 1:])
    return np.eye(3) + 2.0 * q[..., :1, None] * K + 2.0 * (K @ K)


def vector_of_matrix(R: Floats) -> Floats:
    """The rotation vector: axis times angle in [0, pi], (..., 3); for half turns the one with a positive
    first nonzero component.
    """
    q = quaternion_of_matrix(R)
    v = q[..., 1:]
    size = np.linalg.norm(v, axis=-1, keepdims=True)
    scale = np.where(size > 0.0, 2.0 * np.arctan2(size, q[..., :1]) / np.where(size > 0.0, size, 1.0), 2.0)
    return scale * v


def matrix_of_vector(r: Floats) -> Floats:
    """R = 1 + sin(t)/t K + (1 - cos(t))/t^2 K^2 with K the cross product by r and t its length."""
    t = np.linalg.norm(r, axis=-1)[..., None, None]
    K = cross_matrix(r)
    R: Floats = np.eye(3) + np.sinc(t / np.pi) * K + 0.5 * np.sinc(0.5 * t / np.pi) ** 2 * (K @ K)
    return R


def spin_of_vector(r: Floats) -> Floats:
    """E with w = E r': 1 + (1 - cos t)/t^2 K + (t - sin t)/t^3 K^2, det E = (2 - 2 cos t)/t^2,
    singular at whole turns.
    """
    t = np.linalg.norm(r, axis=-1)[..., None, None]
    K = cross_matrix(r)
    small = t < 0.1
    large = np.where(small, 1.0, t)
    # The difference t - sin t loses digits as t^2; its series to t^6 is exact to 1e-16 at 0.1.
    series = (1.0 - t**2 / 20.0 * (1.0 - t**2 / 42.0 * (1.0 - t**2 / 72.0))) / 6.0
    third = np.where(small, series, (large - np.sin(large)) / large**3)
    E: Floats = np.eye(3) + 0.5 * np.sinc(0.5 * t / np.pi) ** 2 * K + third * (K @ K)
    return E


def cross_matrix(v: Floats) -> Floats:
    """The matrix of the cross product for vectors (..., 3): (..., 3, 3)."""
    x, y, z = np.moveaxis(v, -1, 0)
    zero = np.zeros_like(x)
    return _columns([(zero, z, -y), (-z, zero, x), (y, -x, zero)])


def axis_of(S: Floats) -> Floats:
    """The vector of the skew part of S (..., 3, 3): the opposite of `cross_matrix`."""
    return 0.5 * np.stack(
        [S[..., 2, 1] - S[..., 1, 2], S[..., 0, 2] - S[..., 2, 0], S[..., 1, 0] - S[..., 0, 1]], axis=-1
    )


def determinant(M: Floats) -> Floats:
    """The triple product of the columns, (...): unlike a factorisation it propagates NaN."""
    product: Floats = np.einsum("...i,...i->...", np.cross(M[..., 0], M[..., 1]), M[..., 2])
    return product


def _angle(sine: Floats, cosine: Floats) -> Floats:
    open_to_choice = np.hypot(sine, cosine) <= ROUNDING
    return np.where(open_to_choice, 0.0, np.arctan2(sine, cosine))


def _turn(axis: int, angle: Floats) -> Floats:
    """Rotations about x, y or z (0, 1, 2) by angles (...): (..., 3, 3)."""
    R = np.zeros((*angle.shape, 3, 3))
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R[..., axis, axis] = 1.0
    R[..., i, i] = R[..., j, j] = np.cos(angle)
    R[..., j, i] = np.sin(angle)
    R[..., i, j] = -R[..., j, i]
    return R


def _columns(columns: list[tuple[Floats, Floats, Floats]]) -> Floats:
    return np.stack([np.stack(column, axis=-1) for column in columns], axis=-1)
