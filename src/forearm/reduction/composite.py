"""The inertia matrix by composite bodies in moments, and accelerations from it. Swartz (16)-(26), Mata 4.2.

A unit acceleration of a revolute joint requires of everything behind it, as one rigid body with moments m, h,
J, the force z x h = (-hy, hx, 0) and the moment (-Jxz, -Jyz, Jxx + Jyy); of a prismatic one m and h x axis.
"""

from __future__ import annotations

import numpy as np

from forearm.model import Array, Note, Scalar, Vector, cross, silent
from forearm.portable import dot
from forearm.reduction.chain import SYMMETRIC, Chain, Pair, Segment, SegmentRotation, levers, turns
from forearm.reduction.recursion import inverse
from forearm.symbols.linear import solve_symmetric
from forearm.symbols.scalars import Values, is_zero, objects

Six = Values  # a symmetric matrix by the entries of SYMMETRIC


def inertia_matrix(chain: Chain, q: Vector, note: Note = silent) -> Array:
    """M over the joints, one per segment."""
    at, l = turns(chain, q), levers(chain, q)  # noqa: E741
    note("turn", 0, ())
    m, h, J = composites(chain, at, l)
    count = len(chain.segments)
    M = np.zeros((count, count), dtype=object)
    for j, s in enumerate(chain.segments):
        f, n = accelerated(s, m[j], h[j], J[j])
        i = j
        while True:
            felt = chain.segments[i]
            M[i, j] = M[j, i] = dot(felt.axis, n if felt.revolute else f)
            note(f"M{i + 1}_", j, M[i, j])
            if felt.parent < 0:
                break
            f, n = passed(at[i], l[i], f, n)
            i = felt.parent
    return M


def accelerated(s: Segment, m: Scalar, h: Array, J: Six) -> tuple[Array, Array]:
    """The force and moment that a unit acceleration of a joint requires for everything behind it."""
    if not s.revolute:
        return m * s.axis, cross(h, s.axis)
    xx, _, xz, yy, yz, _ = J
    return objects([-h[1], h[0], 0.0]), objects([-xz, -yz, xx + yy])


def passed(turn: SegmentRotation, l: Array, f: Array, n: Array) -> tuple[Array, Array]:  # noqa: E741
    """A force and a moment at a segment's origin, transferred to its parent."""
    f = turn.up(f)
    return f, turn.up(n) + cross(l, f)


def composites(
    chain: Chain,
    at: list[SegmentRotation],
    l: list[Array],  # noqa: E741
) -> tuple[Values, list[Array], list[Six]]:
    """Moments of each segment with everything behind it, about its origin, in its axes."""
    m = [s.m for s in chain.segments]
    h = [objects(s.h) for s in chain.segments]
    J = [[s.J[a, b] for a, b in SYMMETRIC] for s in chain.segments]
    for c in reversed(range(len(m))):
        p = chain.segments[c].parent
        if p < 0:
            continue
        # offline values first, the mass at the end of l
        m[p] = m[p] + m[c]
        point, hc, known, own, across = shifted(at[c], l[c], m[c], h[c], J[c])
        h[p] = (h[p] + point) + hc
        J[p] = [((x + k) + t) + y for x, k, t, y in zip(J[p], known, own, across, strict=True)]
    return m, h, J


def shifted(
    turn: SegmentRotation,
    l: Array,  # noqa: E741
    m: Scalar,
    h: Array,
    J: Six,
) -> tuple[Array, Array, Six, Six, Six]:
    """The contributions to the parent's moments: the mass at the end of l, and h rotated;
    m l l^T, J rotated, and l h^T + h l^T.
    """
    hc = turn.up(h)
    across = [l[a] * hc[b] + l[b] * hc[a] if a != b else (l[a] + l[a]) * hc[a] for a, b in SYMMETRIC]
    return m * l, hc, [m * (l[a] * l[b]) for a, b in SYMMETRIC], turned(turn, J), across


def turned(turn: SegmentRotation, J: Six) -> Six:
    """A symmetric matrix in the parent's axes."""
    return _about_z(turn.segment.phi, _about_x(turn.segment.alpha, _about_z(turn.pair, J)))


def _about_z(turn: Pair, J: Six) -> Six:
    xx, xy, xz, yy, yz, zz = J
    c, s = turn
    xx, xy, yy = _in_plane(turn, xx, xy, yy)
    return [xx, xy, c * xz - s * yz, yy, s * xz + c * yz, zz]


def _about_x(turn: Pair, J: Six) -> Six:
    xx, xy, xz, yy, yz, zz = J
    c, s = turn
    yy, yz, zz = _in_plane(turn, yy, yz, zz)
    return [xx, c * xy - s * xz, s * xy + c * xz, yy, yz, zz]


def _in_plane(turn: Pair, ii: Scalar, ij: Scalar, jj: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """The 2x2 part: with u = s (S_ii - S_jj) + c 2 S_ij, it is S_ii - s u, c u - S_ij, S_jj + s u."""
    c, s = turn
    if is_zero(s):
        return ii, ij, jj
    if is_zero(c):
        return jj, -ij, ii
    u = s * (ii - jj) + c * (ij + ij)
    return ii - s * u, c * u - ij, jj + s * u


def forward(chain: Chain, q: Vector, qd: Vector, tau: Vector, rotor: Vector, note: Note = silent) -> Values:
    """Joint accelerations: M qdd = tau - bias, by L D L^T from the last joint to the first.

    q and qd are one per segment, tau and the rotors' inertia one per joint coordinate.
    """
    model, rest = chain.model, [0.0] * len(chain.segments)
    right = objects(tau) - objects(model.gathered(inverse(chain, q, qd, rest, note)))
    M = model.gathered_matrix(inertia_matrix(chain, q, note))
    for j, inertia in enumerate(rotor):
        M[j, j] = M[j, j] + inertia
    return list(solve_symmetric(M[::-1, ::-1], right[::-1])[::-1])
