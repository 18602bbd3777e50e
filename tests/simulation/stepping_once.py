"""One step by its tableau: what the integrator's own steps, and symplectic ones, are held against."""

from __future__ import annotations

from typing import Any

import numpy as np

from forearm.simulation.implicit import StageEquations, correction, differences
from forearm.simulation.methods import Acceleration, Floats, Tableau, explicit_stages, rate_of, weighted
from forearm.simulation.stepping import System


def explicit_step(
    tableau: Tableau, f: Acceleration, t: float, q: Any, qd: Any, h: float
) -> tuple[Floats, Floats]:
    """One step of an explicit method, for a state (n,) or a batch (..., n)."""
    y = np.array([q, qd], dtype=float)
    y = y + weighted(tableau.floats[2], h, explicit_stages(tableau, rate_of(f), t, y, h))
    return y[0], y[1]


def implicit_step(
    tableau: Tableau, f: Acceleration, t: float, q: Any, qd: Any, h: float
) -> tuple[Floats, Floats]:
    """One step of an implicit method as its tableau says, the stages solved to rounding."""
    y = np.stack([np.asarray(q, dtype=float), np.asarray(qd, dtype=float)])
    system = System(f)
    inverse = np.linalg.inv(np.array(tableau.floats[1]))
    equations = StageEquations(inverse / h, *differences(system, t, y, system(t, y)))
    Z = np.zeros((len(inverse), *y.shape))
    for _ in range(50):
        change = correction(system, tableau, equations, t, y, h, Z)
        Z = Z + change
        if np.abs(change).max() <= 1e-15 * (np.abs(y) + np.abs(Z)).max():
            break
    y = y + np.tensordot(np.array(tableau.floats[2]) @ inverse, Z, 1)
    return y[0], y[1]
