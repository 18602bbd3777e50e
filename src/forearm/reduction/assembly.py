"""Everything behind a joint as one body with moving parts:
its moments, their rates, and the response to the joint's own motion.

With x from the joint's origin to a mass element m, and x', x'' its rates in axes that rotate with a body, an
`Assembly` is the sums of m, H = m x, J = m x x^T, K = 2 m x x'^T, V = 2 m x', A = m x'' and T = m (x cross
x''). Motion before the joint is not included, and a body in its own axes has no K, V, A, T.
"""

from __future__ import annotations

import numpy as np

from forearm.model import Array, Scalar, cross
from forearm.reduction.chain import NO_TURN, Pair, Segment, SegmentRotation, about_x, about_z, back
from forearm.reduction.composite import Six, shifted
from forearm.reduction.composite import turned as turned_six
from forearm.symbols.scalars import is_zero, objects
from forearm.values import frozen

NONE = np.zeros(3, dtype=object)
UNTWISTED = Segment(-1, True, NO_TURN, NO_TURN, NONE, NONE, 0.0, 0.0, NONE, np.zeros((3, 3)))


def vector(x: Scalar, y: Scalar, z: Scalar = 0.0) -> Array:
    """Three scalars of any kind."""
    return objects([x, y, z])


@frozen
class Assembly:
    """The sums above; J by the entries of SYMMETRIC. `levels`: Jxx + Jyy and Kxx + Kyy, invariant under a
    rotation about z, if known already.
    """

    m: Scalar
    H: Array
    J: Six
    K: Array
    V: Array
    A: Array
    T: Array
    levels: tuple[Scalar, Scalar] | None = None

    def sums(self) -> tuple[Scalar, Scalar]:
        """Jxx + Jyy and Kxx + Kyy."""
        return self.levels or (self.J[0] + self.J[3], self.K[0, 0] + self.K[1, 1])

    def turned(self, pair: Pair) -> Assembly:
        """The same in axes relative to which these are rotated about z."""
        H, V, A, T = (about_z(pair, v) for v in (self.H, self.V, self.A, self.T))
        J = turned_six(SegmentRotation(UNTWISTED, pair), self.J)
        return Assembly(self.m, H, J, _turned_matrix(pair, self.K), V, A, T, self.sums())


def rigid(m: Scalar, h: Array, J: Six) -> Assembly:
    """A body at rest in its own axes."""
    return Assembly(m, h, J, np.zeros((3, 3), dtype=object), NONE, NONE, NONE)


def turning(b: Assembly, rate: Scalar, acceleration: Scalar) -> Assembly:
    """The assembly behind a revolute joint about z, in the axes of its carrier."""
    (xx, xy, xz, yy, yz, _), K, V = b.J, b.K, b.V
    across, levels = vector(-b.H[1], b.H[0]), b.sums()
    spun = objects([[-xy, xx, 0.0], [-yy, xy, 0.0], [-yz, xz, 0.0]])
    K_seen, V_seen = K + (rate + rate) * spun, V + (rate + rate) * across
    half = 0.5 * rate
    V_both, K_both = V + V_seen, K + K_seen
    A = b.A + half * vector(-V_both[1], V_both[0]) + acceleration * across
    T = b.T + vector(-half * K_both[2, 0], -half * K_both[2, 1], rate * levels[1])
    T = T + acceleration * vector(-xz, -yz, levels[0])
    return Assembly(b.m, b.H, b.J, K_seen, V_seen, A, T, levels)


def sliding(b: Assembly, axis: Array, rate: Scalar, acceleration: Scalar) -> Assembly:
    """The assembly behind a prismatic joint, in the axes of its carrier."""
    K = b.K + np.outer(b.H * (rate + rate), axis)
    V, A = b.V + axis * (b.m * (rate + rate)), b.A + axis * (b.m * acceleration)
    return Assembly(b.m, b.H, b.J, K, V, A, b.T + cross(b.H, axis) * acceleration)


def carrying(before: Assembly, s: Segment, seen: Assembly, l: Array) -> Assembly:  # noqa: E741
    """A body and what it carries at the end of l, in the body's axes."""
    twist = SegmentRotation(s, NO_TURN)
    point, h, known, own, across = shifted(twist, l, seen.m, seen.H, seen.J)
    V, A = twist.up(seen.V), twist.up(seen.A)
    return Assembly(
        before.m + seen.m,
        (before.H + point) + h,
        [((x + k) + t) + y for x, k, t, y in zip(before.J, known, own, across, strict=True)],
        before.K + twisted(s, seen.K) + np.outer(l, V),
        before.V + V,
        before.A + A,
        before.T + twist.up(seen.T) + cross(l, A),
    )


@frozen
class JointColumns:
    """The force and moment that a joint's motion requires from its carrier, at the joint's origin.

    `f`, `n`: force and moment for a unit acceleration; by reciprocity also the effect of an acceleration of
    the carrier on the joint's drive. `f_qd`, `n_qd` and `f_q`, `n_q`: derivatives of force and moment by the
    joint's velocity and coordinate. `e`: effect on the drive of a change dw of the carrier's angular
    velocity, with wd + w x dw and the acceleration of the origin unchanged.
    """

    f: Array
    n: Array
    e: Array
    f_qd: Array
    n_qd: Array
    f_q: Array
    n_q: Array

    def each(self, turn: SegmentRotation) -> JointColumns:
        """All of them in the axes of the rotation's parent."""
        return JointColumns(*map(turn.up, vars(self).values()))

    def moved(self, l: Array, twice_w: Array) -> JointColumns:  # noqa: E741
        """At the other end of l, which rotates with angular velocity w."""
        n, n_qd = self.n + cross(l, self.f), self.n_qd + cross(l, self.f_qd)
        e = self.e + cross(cross(twice_w, l), self.f)
        return JointColumns(self.f, n, e, self.f_qd, n_qd, self.f_q, self.n_q + cross(l, self.f_q))


def turning_columns(b: Assembly, w: Array, Omega: Array, a: Array) -> JointColumns:
    """The columns of a joint about z, from the assembly behind it and the motion of the frame in which that
    is given; a of the origin.

    Rotating the joint rotates the moments: z x H for H and so on. Derivatives by a velocity are twice the
    rates due to a unit velocity.
    """
    (xx, xy, xz, yy, yz, _), H, K, V, O = b.J, b.H, b.K, b.V, Omega  # noqa: E741
    (x, y, z), (xt, yt, zt) = w, w + w
    (level, trace), sum_xy, difference = b.sums(), K[0, 1] + K[1, 0], K[0, 0] - K[1, 1]
    f = vector(-H[1], H[0])
    e = vector(yt * xx - xt * xy - K[0, 2], yt * xy - xt * yy - K[1, 2], trace + (yt * xz - xt * yz))
    n_qd = vector((xt * xy + yt * yy) + zt * yz - K[2, 0], -((xt * xx + yt * xy) + zt * xz) - K[2, 1], trace)
    f_qd = vector(-(zt * H[0]) - V[1], V[0] - zt * H[1], xt * H[0] + yt * H[1])
    f_q = O @ f + cross(w, vector(-V[1], V[0])) + vector(-b.A[1], b.A[0])
    # J rotated: xx and -yy, xy; xz is -yz, yz is xz, and zz is 0
    turned_xx, turned_xy = -(xy + xy), xx - yy
    n_q = vector(
        O[2, 0] * turned_xy - O[2, 1] * turned_xx + (O[2, 2] - O[1, 1]) * xz + O[1, 0] * yz,
        O[0, 1] * xz - O[2, 0] * turned_xx - (O[0, 0] - O[2, 2]) * yz - O[2, 1] * turned_xy,
        (O[1, 0] + O[0, 1]) * turned_xx + (O[1, 1] - O[0, 0]) * turned_xy - O[1, 2] * yz - O[0, 2] * xz,
    )
    n_q = n_q + vector(
        (x * sum_xy - y * difference + z * K[2, 1]) - b.T[1] + H[0] * a[2],
        b.T[0] - (x * difference + y * sum_xy + z * K[2, 0]) + H[1] * a[2],
        (x * K[1, 2] - y * K[0, 2]) - (H[1] * a[1] + H[0] * a[0]),
    )
    return JointColumns(f, vector(-xz, -yz, level), e, f_qd, n_qd, f_q, n_q)


def sliding_columns(b: Assembly, axis: Array, w: Array, Omega: Array, a: Array) -> JointColumns:
    """The columns of a prismatic joint,
    from the assembly behind it in its carrier's axes, and the carrier's motion.
    """
    m, H, twice_w = b.m, b.H, w + w
    rate, change = cross(twice_w, axis), Omega @ axis
    force = m * a + Omega @ H + cross(w, b.V) + b.A
    return JointColumns(
        m * axis,
        cross(H, axis),
        cross(cross(twice_w, H) + b.V, axis),
        m * rate,
        cross(H, rate),
        m * change,
        cross(H, change) + cross(axis, force),
    )


def twisted(s: Segment, M: Array) -> Array:
    """A matrix in the parent's axes, without the joint's own rotation."""
    turn = SegmentRotation(s, NO_TURN)
    rows = np.array([turn.up(row) for row in M])
    return np.array([turn.up(column) for column in rows.T]).T


def untwisted(s: Segment, v: Array) -> Array:
    """A vector or matrix in the parent's axes, expressed in those in which the joint rotates about z."""
    if v.ndim == 1:
        return about_x(back(s.alpha), about_z(back(s.phi), objects(v)))
    rows = np.array([untwisted(s, row) for row in v])
    return np.array([untwisted(s, column) for column in rows.T]).T


def _turned_matrix(pair: Pair, M: Array) -> Array:
    """Its entries in the plane by sums and differences, of which only two change."""
    c, s = pair
    if is_zero(s):
        rows = np.array([about_z(pair, row) for row in M])
        return np.array([about_z(pair, column) for column in rows.T]).T
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = M
    u = s * (xx - yy) + c * (xy + yx)
    su, cu = s * u, c * u
    return objects(
        [
            [xx - su, cu - yx, c * xz - s * yz],
            [cu - xy, yy + su, s * xz + c * yz],
            [c * zx - s * zy, s * zx + c * zy, zz],
        ]
    )
