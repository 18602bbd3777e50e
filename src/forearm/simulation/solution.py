"""The result of an integration: its steps, dense output between them, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike

from forearm.simulation.events import EventHit
from forearm.simulation.methods import Floats


class Status(Enum):
    """How an integration ended; the value states the remedy."""

    END = "the end was reached"
    EVENT = "a terminal event occurred; continue from there, or stop"
    DIVERGED = (
        "a component became non-finite; inspect the input and the state at the last step, or use smaller "
        "steps"
    )
    JAMMED = (
        "no acceleration satisfies the equations of motion; check the load-dependent friction of bearings "
        "and gears, and the torques there"
    )
    STEP_TOO_SMALL = (
        "the error stays too large at any step size; pass an input that jumps as a schedule or through a "
        "dac, use method 'radau' if the system is stiff, loosen rtol and atol, or find out why the state "
        "grows"
    )
    STEP_TOO_LONG = (
        "the equations of an implicit step were not solved; use a shorter step, or an adaptive method"
    )
    TOO_MANY_STEPS = (
        "more steps than one run may have; use method 'radau' if the system is stiff, loosen rtol and atol, "
        "or simulate in parts with continued="
    )


@dataclass(frozen=True)
class DenseSolution:
    """The steps t (k,), q and qd (k, n); call it to interpolate between them.

    `component` is the joint responsible for a failure, if any; passing `next_step` as first_step of a run
    from the last state continues as if there had been only a breakpoint, bit for bit.
    """

    t: Floats
    q: Floats
    qd: Floats
    status: Status
    message: str
    component: int | None
    events: tuple[EventHit, ...]
    next_step: float
    evaluations: int
    rejected: int
    dense: Floats = field(repr=False)  # (k - 1, p, 2, n), coefficients of powers of theta
    widths: Floats = field(repr=False)

    @property
    def ok(self) -> bool:
        """Whether the end or a terminal event was reached."""
        return self.status in (Status.END, Status.EVENT)

    def __call__(self, t: ArrayLike) -> tuple[Floats, Floats]:
        """q and qd at a time, (n,), or at times (m,), (m, n), by the dense output of the method."""
        times = np.asarray(t, dtype=np.float64)
        flat = np.atleast_1d(times)
        index = np.clip(np.searchsorted(self.t, flat, side="right") - 1, 0, len(self.t) - 1)
        out = np.stack([self.q[index], self.qd[index]], axis=1)
        if len(self.dense):
            step = np.minimum(index, len(self.dense) - 1)  # no step begins at the last state
            theta = np.where(index == step, (flat - self.t[step]) / self.widths[step], 0.0)
            out += powers_of(self.dense[step].swapaxes(0, 1), theta[:, None, None])
        return out[:, 0].reshape(*times.shape, -1), out[:, 1].reshape(*times.shape, -1)


def powers_of(dense: Floats, theta: float | Floats) -> Floats:
    """sum_k theta^k D_k, from k = 1 on, by Horner's rule."""
    total: Floats = dense[-1] * theta
    for D in dense[-2::-1]:
        total = (total + D) * theta
    return total
