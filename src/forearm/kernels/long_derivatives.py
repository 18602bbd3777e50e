"""Derivatives of inverse dynamics for long arms, from inverse dynamics alone and exact but for rounding.

In the coordinate of a turning joint the torques are a trigonometric polynomial of second degree: five values
around the circle give its slope. In that of a sliding joint, and in a velocity, they are polynomials of
second degree: central differences of any step are exact. So each column is a few evaluations of the kernel,
and no code grows with the square of n.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.drives.joint import drives_of

if TYPE_CHECKING:
    from forearm.kernels.kernel import Kernel

Array = NDArray[Any]
AT_ONCE = 1 << 22  # numbers in a block of evaluations
# Steps, and weights of f(x + step) - f(x - step).
CIRCLE = [(2.0 * math.pi * k / 5.0, -((-1.0) ** k) / (2.0 * math.sin(math.pi * k / 5.0))) for k in (1, 2)]
LINE = [(1.0, 0.5)]


def inverse_derivatives(
    arm: Arm, rigid: Kernel, given: list[Array], threads: int | None
) -> tuple[Array, Array]:
    """(dtau/dq, dtau/dqd) at q, qd, qdd, each (B, n); `rigid` is the kernel of the arm without drives."""
    count, n = given[0].shape
    by_q, by_qd = np.empty((2, count, n, n), dtype=given[0].dtype)
    block = max(1, AT_ONCE // (n * n))
    turning = np.array([joint.kind == "revolute" for joint in arm.joints])
    for start in range(0, count, block):
        part = slice(start, start + block)
        states = [v[part] for v in given]
        by_q[part] = _columns(rigid, states, 0, CIRCLE, threads)
        if not turning.all():
            by_q[part] = np.where(turning, by_q[part], _columns(rigid, states, 0, LINE, threads))
        by_qd[part] = _columns(rigid, states, 1, LINE, threads)
    viscous = [drive.at_joint.viscous for drive in drives_of(arm)]
    by_qd[:, range(n), range(n)] += np.array(viscous, dtype=by_qd.dtype)
    return by_q, by_qd


def _columns(
    rigid: Kernel, states: list[Array], which: int, stencil: list[tuple[float, float]], threads: int | None
) -> Array:
    """d tau_i / d x_j as (B, n, n), x being the argument number `which`."""
    count, n = states[0].shape
    total = np.zeros((count, n, n), dtype=states[0].dtype)  # [b, j, i]
    many = [np.repeat(v, n, axis=0) for v in states]
    for step, weight in stencil:
        for sign in (1.0, -1.0):
            moved = (states[which][:, None, :] + sign * step * np.eye(n)).reshape(-1, n).astype(total.dtype)
            q, qd, qdd = (moved if k == which else v for k, v in enumerate(many))
            total += (sign * weight) * rigid.inverse_dynamics(q, qd, qdd, threads=threads).reshape(
                count, n, n
            )
    return total.transpose(0, 2, 1)
