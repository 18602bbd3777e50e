"""Jamming: load-dependent friction that admits no acceleration, diagnosed after an overflow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.drives.joint import depends_on_load
from forearm.drives.motor import torque_of
from forearm.dynamics.reference import forward
from forearm.errors import ModelError
from forearm.kernels.rollout import Simulator, State
from forearm.simulation.methods import weighted
from forearm.values import LARGEST

Floats = NDArray[np.float64]


def is_jammed(arm: Arm, q: Floats, qd: Floats, tau: Floats) -> bool:
    """Whether, at a state (n,) without an acceleration, the rigid arm would have one of physical
    magnitude.
    """
    if not depends_on_load(arm) or not all(np.isfinite(v).all() for v in (q, qd, tau)):
        return False
    try:
        with np.errstate(all="ignore"):
            qdd = forward(arm.rigid(), q, qd, tau)
    except ModelError:
        return False
    return bool(np.all(np.abs(np.concatenate([q, qd, tau, qdd])) <= LARGEST))


def jams_within(
    simulator: Simulator, before: State, after: State, inputs: tuple[Floats, Floats], h: float
) -> bool:
    """Whether a step produced non-finite values because one of its stages has no acceleration.

    `inputs` (n,) are those at its start and its end. The stick and slip state is that after the step, which
    begins by breaking joints loose.
    """
    if not depends_on_load(simulator.arm) or not simulator.coordinates.is_plain:
        return False
    y = np.stack([before.q[0], before.qd[0]])
    way = np.where(np.isnan(after.friction_sign), before.friction_sign, after.friction_sign)[0]
    c, a, _ = simulator.tableau
    rates: list[Floats] = []
    for share, row in zip(c, a, strict=True):
        with np.errstate(all="ignore"):
            q, qd = y + weighted(row, h, rates) if rates else y
        u = inputs[0] + share * (inputs[1] - inputs[0])
        qdd = simulator.accelerations(q, qd, u, way, after.is_free[0])
        if not np.isfinite(qdd).all():
            tau = torque_of(simulator.arm, u, qd) if simulator.voltage else u
            return is_jammed(simulator.arm, q, qd, tau)
        rates.append(np.stack([qd, qdd]))
    return False
