"""What a controller is told of the arm: positions and velocities in the steps of encoders and
tachometers, accelerations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.symbols.scalars import Scalar, quantised
from forearm.values import check_number, check_whole

Floats = NDArray[np.float64]
MOST_BITS = 52
# From the true q, qd, qdd (n,) to the accelerations that are told.
Accelerometers = Callable[[Floats, Floats, Floats], Floats]


@dataclass(frozen=True)
class Encoder:
    """Positions in steps; one of its arguments is given.

    Args:
        bits: 2^bits steps a turn (a metre where a joint slides).
        resolution: length of a step, rad (m).
    """

    bits: int | None = None
    resolution: float | None = None

    def __post_init__(self) -> None:
        if (self.bits is None) == (self.resolution is None):
            raise InputError("Encoder: expected either bits or a resolution.")
        if self.bits is not None:
            check_whole(self.bits, "Encoder, bits", 1, MOST_BITS)
        if self.resolution is not None:
            check_number(self.resolution, "Encoder, resolution", above=0.0)

    def steps(self, arm: Arm) -> Floats:
        """The smallest change that is seen of each joint, (n,)."""
        if self.resolution is not None:
            return np.full(arm.n, self.resolution)
        parts = 2 ** (self.bits or 0)
        return np.array([(2.0 * math.pi if j.kind == "revolute" else 1.0) / parts for j in arm.joints])


@dataclass(frozen=True)
class Tachometer:
    """Velocities in steps, 0 being one of them.

    Args:
        bits: 2^bits steps from -span to span.
        span: largest velocity, rad/s (m/s).
    """

    bits: int
    span: float

    def __post_init__(self) -> None:
        check_whole(self.bits, "Tachometer, bits", 1, MOST_BITS)
        check_number(self.span, "Tachometer, span", above=0.0)

    @property
    def step(self) -> float:
        """The smallest change that is seen."""
        return float(2.0 * self.span / 2**self.bits)

    def told(self, qd: Scalar) -> Scalar:
        """What it shows of a velocity, over any scalar."""
        half = float(2 ** (self.bits - 1))
        return quantised(qd, self.step, -half, half - 1.0)


@dataclass(frozen=True)
class Sensors:
    """What a controller is told of the plant's state, the same sensors at every joint.

    Args:
        encoder: of positions; None: exact.
        tachometer: of velocities; None: exact.
        differences: whether velocities are differences of positions instead.
        accelerometers: function from the true q, qd, qdd (n,) to measured accelerations; None: none are told.
    """

    encoder: Encoder | None = None
    tachometer: Tachometer | None = None
    differences: bool = False
    accelerometers: Accelerometers | None = None

    def __post_init__(self) -> None:
        if self.differences and self.tachometer is not None:
            raise InputError(
                "Sensors: velocities come from a tachometer or from differences of positions, not both."
            )

    def reader(self, arm: Arm, period: float) -> Reader:
        """These sensors on an arm.

        Args:
            arm: the arm.
            period: between two readings, s.
        """
        return Reader(self, None if self.encoder is None else self.encoder.steps(arm), period)


EXACT = Sensors()


def exact_accelerations(q: Floats, qd: Floats, qdd: Floats) -> Floats:
    """Accelerometers without an error.

    Args:
        q, qd, qdd: the true state (n,).
    """
    return qdd


class Reader:
    """Sensors at work: differences remember the last position."""

    def __init__(self, sensors: Sensors, steps: Floats | None, period: float) -> None:
        self.sensors, self.steps, self.period = sensors, steps, period
        self.last: Floats | None = None

    def read(self, q: Floats, qd: Floats) -> tuple[Floats, Floats]:
        """What is told of a state (n,); differences tell no velocity at the first sample."""
        seen = q.copy() if self.steps is None else quantised(q, self.steps)
        if self.sensors.differences:
            rate = np.zeros(len(q)) if self.last is None else (seen - self.last) / self.period
            self.last = seen
            return seen, rate
        tachometer = self.sensors.tachometer
        if tachometer is None:
            return seen, qd.copy()
        return seen, tachometer.told(qd)
