"""The inertia matrix by composite bodies in moments, and accelerations from it. Swartz (16)-(26), Mata 4.2.

A unit acceleration of a turning joint asks of everything behind it, as one rigid body with moments m, h, J, the force
z x h = (-hy, hx, 0) and the moment (-Jxz, -Jyz, Jxx + Jyy); of a sliding one m and h x axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from forearm.dynamics.forward import solve_symmetric
from forearm.model import Array, Note, Scalar, Vector, cross, silent
from forearm.reduction.chain import SYMMETRIC, Chain, Pair, Turn, is_zero, levers, turns
from forearm.reduction.recursion import inverse

Six = list[Scalar]  # a symmetric matrix by the entries of SYMMETRIC


def inertia_matrix(chain: Chain, q: Vector, note: Note = silent) -> Array:
    """M over the joints, one a segment."""
    at, l = turns(chain, q), levers(chain, q)  # noqa: E741
    note("turn", 0, ())
    m, h, J = composites(chain, at, l)
    count = len(chain.segments)
    M = np.zeros((count, count), dtype=object)
    for j, s in enumerate(chain.segments):
        xx, _, xz, yy, yz, _ = J[j]
        if s.revolute:
            f, n = np.array([-h[j][1], h[j][0], 0.0], dtype=object), np.array([-xz, -yz, xx + yy], dtype=object)
        else:
            f, n = m[j] * s.axis, cross(h[j], s.axis)
        i = j
        while True:
            felt = chain.segments[i]
            M[i, j] = M[j, i] = felt.axis @ n if felt.revolute else felt.axis @ f
            note(f"M{i + 1}_", j, M[i, j])
            if felt.parent < 0:
                break
            f = at[i].up(f)
            n = at[i].up(n) + cross(l[i], f)
            i = felt.parent
    return M


def composites(chain: Chain, at: list[Turn], l: list[Array]) -> tuple[list[Scalar], list[Array], list[Six]]:  # noqa: E741
    """Moments of each segment with everything behind it, about its origin, in its axes."""
    m: list[Any] = [s.m for s in chain.segments]
    h: list[Any] = [np.array(s.h, dtype=object) for s in chain.segments]
    J: list[Six] = [[s.J[a, b] for a, b in SYMMETRIC] for s in chain.segments]
    for c in range(len(m) - 1, -1, -1):
        p = chain.segments[c].parent
        if p < 0:
            continue
        # first what is known beforehand, the mass at the end of l
        m[p] = m[p] + m[c]
        hc, lc = at[c].up(h[c]), l[c]
        h[p] = (h[p] + m[c] * lc) + hc
        across = [lc[a] * hc[b] + lc[b] * hc[a] if a != b else (lc[a] + lc[a]) * hc[a] for a, b in SYMMETRIC]
        known = [m[c] * (lc[a] * lc[b]) for a, b in SYMMETRIC]
        J[p] = [((own + k) + t) + x for own, k, t, x in zip(J[p], known, turned(at[c], J[c]), across, strict=True)]
    return m, h, J


def turned(turn: Turn, J: Six) -> Six:
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


def forward(chain: Chain, q: Vector, qd: Vector, tau: Vector, rotor: Vector, note: Note = silent) -> list[Scalar]:
    """Accelerations of the freedoms: M qdd = tau - bias, by L D L^T from the last freedom to the first.

    q and qd are one a segment, tau and the rotors' inertia one a freedom.
    """
    model, rest = chain.model, [0.0] * len(chain.segments)
    right = np.array(tau, dtype=object) - np.array(model.gathered(inverse(chain, q, qd, rest, note)), dtype=object)
    M = model.gathered_matrix(inertia_matrix(chain, q, note))
    for j, inertia in enumerate(rotor):
        M[j, j] = M[j, j] + inertia
    return list(solve_symmetric(M[::-1, ::-1], right[::-1])[::-1])
