"""What an integration gives back: the states it stepped through, all states between
them, and how it ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike

from forearm.errors import InputError
from forearm.simulation.events import EventHit
from forearm.simulation.methods import Floats
from forearm.values import as_floats


class Status(Enum):
    """How an integration ended; the value says what to do."""

    END = "the end was reached"
    EVENT = "an event that was to end it was met; go on from there, or stop"
    DIVERGED = (
        "a component is no finite number any more; look at the input and the state at the last "
        "step, or take smaller steps"
    )
    JAMMED = (
        "no acceleration fits the torques; look at the friction that grows with the load, in bearings and "
        "gears, and at the torques there"
    )
    STEP_TOO_SMALL = (
        "the error stays too large however small the step; put an input that jumps into a schedule "
        "or behind a dac, take method 'radau' where the system is stiff, loosen rtol and atol, or "
        "see why the state grows"
    )
    STEP_TOO_LONG = (
        "the equations of an implicit step were not solved; take a shorter step, or an adaptive method"
    )
    TOO_MANY_STEPS = (
        "more steps than one run may have; take method 'radau' where the system is stiff, loosen rtol and "
        "atol, or simulate in parts with continued="
    )


@dataclass(frozen=True)
class DenseSolution:
    """The steps t (k,), q and qd (k, n), and by calling it the states between them.

    `component` is the joint to blame where one is; `next_step` as first_step of a run from the last state
    goes on as if there had been no end there but a breakpoint, bit for bit.
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
    dense: Floats = field(repr=False)  # (k - 1, p, 2, n), of powers of the part of the step
    widths: Floats = field(repr=False)

    @property
    def ok(self) -> bool:
        """Whether the end or a terminal event was reached."""
        return self.status in (Status.END, Status.EVENT)

    def __call__(self, t: ArrayLike) -> tuple[Floats, Floats]:
        """q and qd at a time, (n,), or at times (m,), (m, n), by the dense output of the method."""
        times = as_floats(t, "t")
        if times.size and not (self.t[0] <= times.min() and times.max() <= self.t[-1]):
            wrong = times.min() if not self.t[0] <= times.min() else times.max()
            ending = "." if self.ok else f": {self.message}"
            raise InputError(
                f"t = {wrong:.9g} is outside what was integrated, {self.t[0]:.9g} to {self.t[-1]:.9g}{ending}"
            )
        flat = np.atleast_1d(times)
        index = np.clip(np.searchsorted(self.t, flat, side="right") - 1, 0, len(self.t) - 1)
        out = np.stack([self.q[index], self.qd[index]], axis=1)
        if len(self.dense):
            step = np.minimum(index, len(self.dense) - 1)  # the last state is nobody's start
            theta = np.where(index == step, (flat - self.t[step]) / self.widths[step], 0.0)
            out += powers_of(self.dense[step].swapaxes(0, 1), theta[:, None, None])
        return out[:, 0].reshape(*times.shape, -1), out[:, 1].reshape(*times.shape, -1)


def powers_of(dense: Floats, theta: float | Floats) -> Floats:
    """sum_k theta^k D_k, from k = 1 on, by Horner's rule."""
    total: Floats = dense[-1] * theta
    for D in dense[-2::-1]:
        total = (total + D) * theta
    return total
