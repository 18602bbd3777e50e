"""Derivatives of inverse dynamics on a chain of moments, without differentiating the recursion."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from forearm.model import Array, Scalar, Vector, cross
from forearm.portable import dot
from forearm.reduction.chain import (
    NO_TURN,
    SYMMETRIC,
    Chain,
    Pair,
    Segment,
    SegmentRotation,
    about_x,
    about_z,
    back,
    cos_sin_of,
    levers,
)
from forearm.reduction.composite import Six, shifted, turned as turned_six
from forearm.reduction.recursion import REST, Spin, Through, turned
from forearm.symbols.scalars import is_zero

ENTRY = {pair: k for k, pair in enumerate(SYMMETRIC)} | {(b, a): k for k, (a, b) in enumerate(SYMMETRIC)}


@dataclass(frozen=True, eq=False)
class Assembly:
    m: Scalar
    H: Array
    J: Six
    K: Array
    V: Array
    A: Array
    T: Array


@dataclass(frozen=True, eq=False)
class Joined:
    s: Segment
    turn: SegmentRotation
    l: Array
    h: Array
    J: Six
    root: int
    rate: Scalar
    acceleration: Scalar


def full(six):
    xx, xy, xz, yy, yz, zz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=object)


def joined(chain, q, qd, qdd):
    first, on = chain.runs(), chain.children()
    count = len(first)
    l = levers(chain, q)
    # runs are taken together where nothing else sits on their inner members
    for i in range(count):
        if first[i] != i and any(len(on[k]) > 1 for k in range(count) if first[k] == first[i] and any(first[c] == first[i] for c in on[k])):
            pass
    together = list(range(count))
    for i in range(count):
        if first[i] != i:
            together[i] = together[chain.segments[i].parent] if len(on[chain.segments[i].parent]) == 1 else i
    made = []
    for i, s in enumerate(chain.segments):
        start = together[i]
        members = [k for k in range(count) if together[k] == start]
        if s.revolute:
            later = [k for k in members if k > i]
            angle, offset = _sum(chain, q, later)
            back_turn = NO_TURN if angle is None else back(cos_sin_of(angle, offset))
            if start == i:
                angle, offset = _sum(chain, q, members)
                pair = NO_TURN if angle is None else cos_sin_of(angle, offset)
            else:
                pair = NO_TURN
        else:
            back_turn, pair = NO_TURN, NO_TURN
        upto = [k for k in members if k <= i]
        rate = qd[upto[0]]
        acc = qdd[upto[0]]
        for k in upto[1:]:
            rate, acc = rate + qd[k], acc + qdd[k]
        li = l[i]
        if start != i:
            back_parent = _sum(chain, q, [k for k in members if k >= i])
            if back_parent[0] is not None:
                li = about_z(back(cos_sin_of(*back_parent)), np.array(li, dtype=object))
        h = about_z(back_turn, np.array(s.h, dtype=object))
        turnJ = SegmentRotation(replace(s, phi=NO_TURN, alpha=NO_TURN), back_turn)
        J = turned_six(turnJ, [s.J[a, b] for a, b in SYMMETRIC])
        made.append(Joined(s, SegmentRotation(s, pair), li, h, J, chain.segments[start].parent, rate, acc))
    return made


def _sum(chain, q, some):
    angle, offset = None, 0.0
    for k in some:
        if chain.segments[k].still:
            continue
        angle = q[k] if angle is None else angle + q[k]
        offset = offset + chain.segments[k].offset
    return angle, offset


def _up(pair, M):
    """R M R^T for a general matrix turned about z."""
    c, s = pair
    if is_zero(s) and not is_zero(c) and c == 1.0:
        return M
    left = np.array([about_z(pair, M[k]) for k in range(3)])  # rows turned: M R^T
    return np.array([about_z(pair, left[:, k]) for k in range(3)]).T


def _twisted(s, M):
    def t(v):
        return about_z(s.phi, about_x(s.alpha, v))

    left = np.array([t(M[k]) for k in range(3)])
    return np.array([t(left[:, k]) for k in range(3)]).T


def _untwisted(s, M):
    def t(v):
        return about_x(back(s.alpha), about_z(back(s.phi), v))

    left = np.array([t(M[k]) for k in range(3)])
    return np.array([t(left[:, k]) for k in range(3)]).T


def _turned_K(pair, K):
    """As sums and differences in the plane."""
    c, s = pair
    if is_zero(s):
        return _up(pair, K)
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = K
    S, D = xy + yx, xx - yy
    u = s * D + c * S
    su, cu = s * u, c * u
    return np.array(
        [
            [xx - su, cu - yx, c * xz - s * yz],
            [cu - xy, yy + su, s * xz + c * yz],
            [c * zx - s * zy, s * zx + c * zy, zz],
        ],
        dtype=object,
    )


def derivatives(chain: Chain, q: Vector, qd: Vector, qdd: Vector) -> tuple[Array, Array, Array]:
    count = len(chain.segments)
    joints = joined(chain, q, qd, qdd)
    spins: dict[int, Spin] = {-1: REST}
    a: dict[int, Any] = {-1: -np.array(chain.g, dtype=object)}
    before: list[Array] = []
    for i, (s, j) in enumerate(zip(chain.segments, joints)):
        P = s.parent
        ref = a[P] + spins[P].Omega @ j.l
        before.append(ref)
        if s.revolute:
            first = chain.segments[joints.index(j)]
            k = i
            while joints[k].root != chain.segments[k].parent:
                k = chain.segments[k].parent
            th = Through(j.root, joints[k].turn, 0.0, 0.0, j.rate, j.acceleration)
            spins[i] = turned(s, th, spins[j.root])
            a[i] = j.turn.down(ref)
        else:
            spins[i] = spins[P]
            a[i] = ref + s.axis * qdd[i] + cross(spins[P].w, s.axis) * (qd[i] + qd[i])
    zero = np.zeros(3, dtype=object)
    own = [Assembly(s.m, j.h, j.J, np.zeros((3, 3), dtype=object), zero, zero, zero) for s, j in zip(chain.segments, joints)]
    shape = (count, count)
    tq, tv, M = (np.zeros(shape, dtype=object) for _ in range(3))
    for j in range(count - 1, -1, -1):
        s, J = chain.segments[j], joints[j]
        P = s.parent
        spin = spins[P]
        w = about_x(back(s.alpha), about_z(back(s.phi), np.array(spin.w, dtype=object)))
        O = _untwisted(s, np.array(spin.Omega, dtype=object))
        acc = about_x(back(s.alpha), about_z(back(s.phi), np.array(before[j], dtype=object)))
        x, vectors = (_turning if s.revolute else _sliding)(s, own[j], J.turn.pair, w, O, acc, qd[j], qdd[j])
        f, n, e, fC, nC, fA, nA = vectors
        M[j, j], tv[j, j], tq[j, j] = (
            (n[2], nC[2], nA[2]) if s.revolute else (dot(s.axis, f), dot(s.axis, fC), dot(s.axis, fA))
        )
        if P >= 0:
            own[P] = _added(s, own[P], x, J.l)
        f, n, e, fC, nC, fA, nA = (about_z(s.phi, about_x(s.alpha, v)) for v in (f, n, e, fC, nC, fA, nA))
        i, k = P, j
        while i >= 0:
            l = joints[k].l
            n, nC, nA = n + cross(l, f), nC + cross(l, fC), nA + cross(l, fA)
            c = cross(spins[i].w + spins[i].w, l)
            e = e + cross(c, f)
            si, spin, ai = chain.segments[i], spins[i], a[i]
            if si.revolute:
                w = spin.w
                u = spin.Omega[:, 2]
                M[i, j] = M[j, i] = n[2]
                tv[i, j], tq[i, j] = nC[2], nA[2]
                tv[j, i] = e[2] + (n[0] * (w[1] + w[1]) - n[1] * (w[0] + w[0]))
                tq[j, i] = dot(n, u) + (e[0] * w[1] - e[1] * w[0]) + (f[0] * ai[1] - f[1] * ai[0])
                turn = joints[i].turn
                f, n, e, fC, nC, fA, nA = (turn.up(v) for v in (f, n, e, fC, nC, fA, nA))
            else:
                d = si.axis
                M[i, j] = M[j, i] = dot(d, f)
                tv[i, j], tq[i, j] = dot(d, fC), dot(d, fA)
                tv[j, i] = dot(f, cross(spin.w + spin.w, d))
                tq[j, i] = dot(f, spin.Omega @ d)
                e = e + cross(d * (qd[i] + qd[i]), f)
            k, i = i, si.parent
    return tq, tv, M


def _turning(s, b, pair, w, O, a, rate, acceleration):
    m, H, (xx, xy, xz, yy, yz, zz), K, V = b.m, b.H, b.J, b.K, b.V
    twice, half = rate + rate, 0.5 * rate
    # as seen from what carries it
    trace = xx + yy
    Kp = K + twice * np.array([[-xy, xx, 0.0], [-yy, xy, 0.0], [-yz, xz, 0.0]], dtype=object)
    Vp = V + twice * np.array([-H[1], H[0], 0.0], dtype=object)
    both = V + Vp
    A = b.A + half * np.array([-both[1], both[0], 0.0], dtype=object) + acceleration * np.array([-H[1], H[0], 0.0], dtype=object)
    bk = K + Kp
    traceK = K[0, 0] + K[1, 1]
    T = b.T + half * np.array([-bk[2, 0], -bk[2, 1], traceK + traceK], dtype=object) + acceleration * np.array([-xz, -yz, trace], dtype=object)
    K, V, H, A, T = _turned_K(pair, Kp), about_z(pair, Vp), about_z(pair, H), about_z(pair, A), about_z(pair, T)
    J = turned_six(SegmentRotation(replace(s, phi=NO_TURN, alpha=NO_TURN), pair), b.J)
    x = Assembly(m, H, J, K, V, A, T)
    xx, xy, xz, yy, yz, zz = J
    w2 = w + w
    f = np.array([-H[1], H[0], 0.0], dtype=object)
    n = np.array([-xz, -yz, trace], dtype=object)
    e = np.array([w2[1] * xx - w2[0] * xy - K[0, 2], w2[1] * xy - w2[0] * yy - K[1, 2], traceK + (w2[1] * xz - w2[0] * yz)], dtype=object)
    nC = np.array(
        [
            (w2[0] * xy + w2[1] * yy) + w2[2] * yz - K[2, 0],
            -((w2[0] * xx + w2[1] * xy) + w2[2] * xz) - K[2, 1],
            traceK,
        ],
        dtype=object,
    )
    fC = np.array([-(w2[2] * H[0]) - V[1], V[0] - w2[2] * H[1], w2[0] * H[0] + w2[1] * H[1]], dtype=object)
    across = np.array([-V[1], V[0], 0.0], dtype=object)
    fA = O @ f + cross(w, across) + np.array([-A[1], A[0], 0.0], dtype=object)
    d00, d01, d02, d12 = -(xy + xy), xx - yy, -yz, xz
    S, D = K[0, 1] + K[1, 0], K[0, 0] - K[1, 1]
    nA = np.array(
        [
            O[2, 0] * d01 - O[2, 1] * d00 + (O[2, 2] - O[1, 1]) * d12 - O[1, 0] * d02
            + (w[0] * S - w[1] * D + w[2] * K[2, 1]) - T[1] + H[0] * a[2],
            (O[0, 0] - O[2, 2]) * d02 + O[0, 1] * d12 - O[2, 0] * d00 - O[2, 1] * d01
            - (w[0] * D + w[1] * S + w[2] * K[2, 0]) + T[0] + H[1] * a[2],
            (O[1, 0] + O[0, 1]) * d00 + (O[1, 1] - O[0, 0]) * d01 + O[1, 2] * d02 - O[0, 2] * d12
            - (w[1] * K[0, 2] - w[0] * K[1, 2]) - (H[1] * a[1] + H[0] * a[0]),
        ],
        dtype=object,
    )
    return x, (f, n, e, fC, nC, fA, nA)


def _sliding(s, b, pair, w, O, a, rate, acceleration):
    d = np.array(s.axis, dtype=object)
    m, H, twice = b.m, b.H, rate + rate
    V = b.V + d * (m * twice)
    K = b.K + np.outer(H * twice, d)
    A = b.A + d * (m * acceleration)
    T = b.T + cross(H, d) * acceleration
    x = Assembly(m, H, b.J, K, V, A, T)
    f, n = m * d, cross(H, d)
    e = cross(cross(w + w, H) + V, d)
    wd = cross(w + w, d)
    fC, nC = m * wd, cross(H, wd)
    F = m * a + O @ H + cross(w, V) + A
    Od = O @ d
    fA, nA = m * Od, cross(H, Od) + cross(d, F)
    return x, (f, n, e, fC, nC, fA, nA)


def _added(s, p, x, l):
    twist = SegmentRotation(s, NO_TURN)
    point, hc, known, own, across = shifted(twist, l, x.m, x.H, x.J)
    up = twist.up
    V, A = up(x.V), up(x.A)
    return Assembly(
        p.m + x.m,
        (p.H + point) + hc,
        [((y + k) + t) + z for y, k, t, z in zip(p.J, known, own, across, strict=True)],
        p.K + _twisted(s, x.K) + np.outer(l, V),
        p.V + V,
        p.A + A,
        p.T + up(x.T) + cross(l, A),
    )
