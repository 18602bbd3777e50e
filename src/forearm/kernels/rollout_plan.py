"""What a simulation in machine code is made of: the arm, what drives it, the method;
and torques from what drives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.codegen.tracing import Tracing
from forearm.drives.motor import constants_of
from forearm.kernels.rollout import count_of_loads, held_freedoms
from forearm.symbols.scalars import choose


@dataclass(frozen=True, eq=False)
class RolloutPlan:
    """What is simulated: the arm, whether voltages drive it, and the method by its tableau c, a, b."""

    arm: Arm
    voltage: bool
    c: tuple[float, ...]
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]

    @property
    def loads(self) -> int:
        """How many numbers the drives feel whose friction depends on them."""
        return count_of_loads(self.arm)

    @property
    def dry(self) -> list[bool]:
        """For each freedom whether friction can hold it."""
        return held_freedoms(self.arm)


def torques(tracing: Tracing, plan: RolloutPlan, u: Sequence[Any]) -> list[Any]:
    """Torques from what drives the arm: themselves, or what the motors make of
    voltages within their limits.
    """
    if not plan.voltage:
        return list(u)
    c = constants_of(plan.arm)
    made = []
    for j, V in enumerate(u):
        V = _clipped(V, float(c.most_voltage[j]))
        current = _clipped(
            (V - float(c.K[j]) * tracing.qd[j]) * (1.0 / float(c.R[j])), float(c.most_current[j])
        )
        made.append(float(c.K[j]) * current)
    return made


def _clipped(x: Any, most: float) -> Any:
    return x if np.isinf(most) else choose(x, -most, -most, choose(most, x, most, x))


def inputs(tracing: Tracing, name: str) -> list[Any]:
    """A symbol for each joint."""
    return [tracing.graph.input(f"{name}[{j}]") for j in range(tracing.arm.n)]
