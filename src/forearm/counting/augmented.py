"""Newton-Euler with angular acceleration tensors and augmented bodies, for counting: its operations per
additional link are those of the row of Balafoutis and Patel. Mata Table 1.

The mass outboard of a joint is added offline to the link before it as a point mass at that joint. The
outboard bodies then enter only by their motion relative to the joint: no product of a mass and an
acceleration is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from forearm.counting.counts import GENERAL, conventional
from forearm.counting.models import chain
from forearm.dynamics.gibbs_appell import motion_of, skew_part
from forearm.model import AT_REST, Base, Model, Vector, cross, silent, steps
from forearm.spatial import pseudo_from_inertia
from forearm.symbols.counts import Counts
from forearm.symbols.recorder import Recorder
from forearm.symbols.scalars import Values


def augmented_newton_euler(model: Model, q: Vector, qd: Vector, qdd: Vector, base: Base = AT_REST) -> Values:
    """Torques of a chain of revolute joints.

    With the augmented first moment h and Euler tensor J about joint i, phi_i = Omega h + R phi_{i+1} and the
    moment is the skew part of Omega J plus h x sdd + s x R phi_{i+1} + R n_{i+1}.
    """
    at = steps(model, q)
    moving = motion_of(model, at, qd, qdd, base, silent)
    tau: Values = []
    behind = 0.0
    phi, n = np.zeros(3), np.zeros(3)
    for i in reversed(range(len(model.bodies))):
        body, tip = model.bodies[i], i == len(model.bodies) - 1
        h, J = body.m * body.r, pseudo_from_inertia(body.I) + body.m * np.outer(body.r, body.r)
        moment = np.zeros(3)
        if not tip:
            s, phi = at[i + 1].l, at[i + 1].up(phi)
            h, J = h + behind * s, J + behind * np.outer(s, s)
            moment = cross(s, phi) + at[i + 1].up(n)
        phi = moving.Omega[i] @ h + phi
        n = skew_part(moving.Omega[i], J) + cross(h, moving.sdd[i]) + moment
        behind = behind + body.m
        tau.insert(0, n[2])
    return tau


def count_augmented(n: int, **conventions: Any) -> Counts:
    """General counts of `augmented_newton_euler` for n revolute joints."""
    graph = Recorder()
    model = conventional(chain(n, **conventions).model(), graph, GENERAL)
    return graph.counts(
        augmented_newton_euler(model, *(graph.inputs(name, n) for name in ("q", "qd", "qdd")))
    )
