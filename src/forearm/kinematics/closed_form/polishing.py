"""Newton refinement of branches on the exact arm."""

from __future__ import annotations

import numpy as np

from forearm.arm.arm import Arm
from forearm.kinematics.closed_form.solver import FINE, NEARLY, solver_of
from forearm.kinematics.nearby import newton_rows
from forearm.spatial import Floats


def polished(arm: Arm, q: Floats, T: Floats, nearly: float = NEARLY) -> tuple[Floats, Floats]:
    """Configurations (B, n) after Newton's steps as long as they improve, and their errors (B,).

    Most are exact to rounding without any step.
    """
    q, error = q.copy(), solver_of(arm).seen(q, T)[0]
    rows = np.flatnonzero((error > FINE) & (error < nearly))
    if rows.size:
        q[rows], error[rows] = newton_rows(arm, T[rows], q[rows], arm.n != 3)
    return q, error
