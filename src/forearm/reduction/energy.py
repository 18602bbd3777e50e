"""Energies on a chain of moments. Swartz (13)-(15)."""

from __future__ import annotations

import numpy as np

from forearm.model import Note, Scalar, Vector, cross, silent
from forearm.portable import dot
from forearm.reduction.chain import Chain, levers, turns


def kinetic(chain: Chain, q: Vector, qd: Vector, note: Note = silent) -> Scalar:
    """Sum of 1/2 m v.v + v.(w x h) + 1/2 w.I w, I = tr(J) 1 - J; rotors not included."""
    at, l = turns(chain, q), levers(chain, q)  # noqa: E741
    w = {-1: np.zeros(3)}
    v = {-1: np.zeros(3)}
    K = 0.0
    for i, s in enumerate(chain.segments):
        w[i] = at[i].down(w[s.parent])
        v[i] = at[i].down(v[s.parent] + cross(w[s.parent], l[i]))
        if s.revolute:
            w[i] = w[i] + s.axis * qd[i]
        else:
            v[i] = v[i] + s.axis * qd[i]
        note("w", i, w[i])
        note("v", i, v[i])
        x, y, z = w[i]
        (Jxx, Jxy, Jxz), (_, Jyy, Jyz), (_, _, Jzz) = s.J
        spin = (Jyy + Jzz) * (x * x) + (Jxx + Jzz) * (y * y) + (Jxx + Jyy) * (z * z)
        spin = 0.5 * spin - Jxy * (x * y) - Jxz * (x * z) - Jyz * (y * z)
        K = K + (0.5 * s.m) * dot(v[i], v[i]) + dot(v[i], cross(w[i], s.h)) + spin
    return K


def potential(chain: Chain, q: Vector, note: Note = silent) -> Scalar:
    """-sum of g . (m p + h), zero if the moving links' centres of mass are level with the base's origin."""
    at, l = turns(chain, q), levers(chain, q)  # noqa: E741
    g = {-1: chain.g}
    fallen = {-1: 0.0}  # g . p of each origin
    P = -dot(chain.g, chain.grounded)
    for i, s in enumerate(chain.segments):
        fallen[i] = fallen[s.parent] + dot(g[s.parent], l[i])
        g[i] = at[i].down(g[s.parent])
        note("g", i, g[i])
        P = P - s.m * fallen[i] - dot(g[i], s.h)
    return P
