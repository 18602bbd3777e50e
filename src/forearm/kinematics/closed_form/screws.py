"""The axes of a serial arm in its home position, and the common normals between them.

The arm is T(q) = e(S_1 q_1) ... e(S_n q_n) home: each S_i a rotation about, or a translation along, a line of
the base frame.
"""

from __future__ import annotations

import math

import numpy as np

from forearm.arm.arm import Arm
from forearm.portable import atan2, cos_sin, dot, matmul, norm, product, total
from forearm.spatial import Floats, inverse_pose, pose
from forearm.values import frozen

# Axes closer than this count as meeting, and as parallel if their angle is less (rad): the accuracy of angles
# given with five digits. Newton's steps on the exact arm remove the remaining error.
MEETING = 2e-5
# Sines and cosines this close to 0 and 1 are rounded to them.
ROUNDING = 1e-12


@frozen
class Screws:
    """Joint axes at q = 0: `revolute` (n,), directions w (n, 3), points p (n, 3); `home` (4, 4) the hand
    there.
    """

    revolute: tuple[bool, ...]
    w: Floats
    p: Floats
    home: Floats

    def backwards(self) -> Screws:
        """The reversed arm, seen from its hand: T^-1 = home^-1 e(-S_n q_n) ... e(-S_1 q_1), with coordinates
        -q_n ... -q_1.
        """
        T = inverse_pose(self.home)
        R, p = T[:3, :3], T[:3, 3]
        return Screws(self.revolute[::-1], matmul(self.w, R.T)[::-1], (matmul(self.p, R.T) + p)[::-1], T)


@frozen
class CommonNormal:
    """From one axis to the next along their common normal: z by d, x by a, about x by the
    twist (cosine c, sine s).

    `turn` is the angle about the first axis from its x to the normal.
    """

    turn: float
    d: float
    a: float
    c: float
    s: float


def screws_of(arm: Arm) -> Screws:
    """The joint axes of a serial arm at q = 0, in the base frame."""
    W = np.eye(4)
    w, p = [], []
    for body in arm.moving.bodies:
        at = matmul(W, body.before)
        w.append(matmul(at[:3, :3], body.axis))
        p.append(at[:3, 3])
        W = matmul(at, body.after)
    index, T = arm.moving.frames[arm.hand.link]
    assert index == arm.n - 1
    return Screws(
        tuple(b.kind == "revolute" for b in arm.moving.bodies),
        np.array(w),
        np.array(p),
        product(W, T, arm.hand.pose),
    )


def link_between(frame: Floats, w: Floats, p: Floats) -> tuple[CommonNormal, Floats]:
    """The link from a frame, whose z is an axis, to the axis (w, p), and the resulting frame on that axis.

    Nearly parallel or nearly meeting axes are treated as exact; parallel axes use the normal through the
    origin.
    """
    z, origin = frame[:3, 2], frame[:3, 3]
    across, along = np.cross(z, w), dot(z, w)
    sine = norm(across)
    if sine < MEETING:
        off = p - origin
        off = off - dot(off, z) * z
        a, d = norm(off), 0.0
        x = off / a if a > MEETING else frame[:3, 0]
        c, s = math.copysign(1.0, along), 0.0
    else:
        x = across / sine
        a = dot(p - origin, x)
        # z d + x a - w e = p - origin, so d is the part along z of what remains in the plane of z and w.
        d = dot(np.cross(p - origin, w), across) / (sine * sine)
        c, s = (0.0, 1.0) if abs(along) < MEETING else (along, sine)
    a, d = (0.0 if abs(v) < MEETING else v for v in (a, d))
    turn = atan2(dot(x, frame[:3, 1]), dot(x, frame[:3, 0]))
    link = CommonNormal(snapped(turn), d, a, c, s)
    return link, matmul(frame, link_pose(link))


def link_pose(link: CommonNormal) -> Floats:
    """Rz(turn) Tz(d) Tx(a) Rx(twist)."""
    ct, st = cos_sin(link.turn)
    R = np.array([[ct, -st * link.c, st * link.s], [st, ct * link.c, -ct * link.s], [0.0, link.s, link.c]])
    return pose(R, (ct * link.a, st * link.a, link.d))


def snapped(value: float) -> float:
    """0, 1 or -1 if the value is close to it."""
    return float(round(value)) if abs(value - round(value)) < ROUNDING and abs(value) < 1.5 else value


def meeting_point(w: Floats, p: Floats) -> tuple[Floats, float]:
    """The point nearest to lines, not all parallel, and the largest distance (m) of a line from it."""
    across = [np.eye(3) - np.outer(d, d) for d in w]
    x, y, z = total(across)
    b = total(matmul(A, q) for A, q in zip(across, p, strict=True))
    # Cramer's rule, the rows being those of a symmetric matrix
    by = (np.cross(y, z), np.cross(z, x), np.cross(x, y))
    point = total(b[k] * by[k] for k in range(3)) / dot(x, by[0])
    return point, max(norm(matmul(A, point - q)) for A, q in zip(across, p, strict=True))


def angle_between(v: Floats, w: Floats) -> float:
    """The angle between two lines, 0 to 90 degrees, in rad."""
    return atan2(norm(np.cross(v, w)), abs(dot(v, w)))
