"""Symplectic steps in positions and momenta, for arms that nothing drives and nothing brakes.

The inertia matrix depends on q, so that H(q, p) = p' M(q)^-1 p / 2 + V(q) does not separate and (q, qd) is
not canonical: the methods of Gauss are symplectic for every H, but in q and p = M(q) qd only.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from forearm.errors import InputError
from forearm.simulation.methods import GAUSS4, MIDPOINT, Floats, Tableau, stacked

Pairing: TypeAlias = Callable[[Floats, Floats], ArrayLike]

SYMPLECTIC = (MIDPOINT, GAUSS4)
ITERATIONS = 60
# Iteration goes on until the next change would be below rounding;
# a plateau above this part of the state is no convergence.
ROUNDING = 1e-17
PLATEAU = 1e-11


class StageError(InputError):
    """A step whose stages were not found."""


def symplectic_step(
    tableau: Tableau, velocity: Pairing, force: Pairing, q: ArrayLike, p: ArrayLike, h: float
) -> tuple[Floats, Floats]:
    """One step of q' = velocity(q, p) = M(q)^-1 p, p' = force(q, qd) = dT/dq - dV/dq at constant qd,
    by midpoint or gauss4.

    Both functions take (..., n); the state may be a batch (..., n). The stages are iterated to
    rounding, so that the step is symplectic and reversible (-h leads back) to rounding, and depends on
    nothing but the state.
    """
    if tableau not in SYMPLECTIC:
        names = " or ".join(repr(m.name) for m in SYMPLECTIC)
        raise InputError(f"method {tableau.name!r} is not symplectic here; use {names}.")
    y = stacked(q, p)
    with np.errstate(over="ignore", invalid="ignore"):
        K = _stage_rates(tableau, velocity, force, y, h)
    y = y + h * (np.array(tableau.floats[2]) @ K).reshape(y.shape)
    return y[0], y[1]


def _stage_rates(tableau: Tableau, velocity: Pairing, force: Pairing, y: Floats, h: float) -> Floats:
    """The rates K (2, s, m) = (velocity, force) at the stages y + h a K, all states flat in m,
    by fixed-point iteration.
    """
    ha = h * np.array(tableau.floats[1])
    start = y.reshape(2, 1, -1)
    shape = (len(ha), *y.shape[1:])
    K = np.zeros((2, len(ha), start.shape[2]))
    before = 1.0
    for _ in range(ITERATIONS):
        Q, P = (start + ha @ K).reshape(2, *shape)
        new = np.empty_like(K)
        qd, pd = new.reshape(2, *shape)
        qd[...] = velocity(Q, P)
        pd[...] = force(Q, qd)
        change = _relative(new - K, new, start, h)
        K = new
        if change * change <= ROUNDING * before or (change >= before and change < PLATEAU):
            return K
        if not isfinite(change):
            break
        before = change
    raise StageError(
        f"symplectic_step: a step of {h:g} is too long for the stages to converge in this state; "
        "take a shorter one, or an adaptive method."
    )


def _relative(change: Floats, K: Floats, y: Floats, h: float) -> float:
    """What a change of the rates does to the positions and to the momenta,
    each as a part of the largest of its kind.
    """
    changes, rates, sizes = (np.abs(x).max(axis=(1, 2)).tolist() for x in (change, K, y))
    return max(
        0.0 if c == 0.0 else abs(h) * c / (size + abs(h) * k)
        for c, k, size in zip(changes, rates, sizes, strict=True)
    )
