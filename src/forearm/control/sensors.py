"""Sensor models: encoders and tachometers with finite resolution, on links, motors or both;
accelerometers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.arm.elastic import is_elastic
from forearm.control.controller import Pair
from forearm.errors import InputError
from forearm.reading.fields import FunctionField, ObjectField, WholeField
from forearm.records import choice, declared, flag, number, positional_record
from forearm.spatial import Floats
from forearm.symbols.scalars import Scalar, quantised

Side = Literal["link", "motor", "both"]
SIDES: tuple[Side, ...] = get_args(Side)
# From the true q, qd, qdd (n,) to the measured accelerations.
Accelerometers = Callable[[Floats, Floats, Floats], Floats]


BITS = WholeField(
    "2^bits steps: per turn or per metre of an encoder, from -span to span of a tachometer", 1, 52
)


@positional_record
class Encoder:
    """Quantised position; give one of its arguments. On a motor it measures the motor's angle."""

    bits: int | None = declared(BITS, default=None)
    resolution: float | None = number("step size", "rad (m)", default=None, above=0.0)

    def __post_init__(self) -> None:
        if (self.bits is None) == (self.resolution is None):
            raise InputError("expected either bits or a resolution.", "Encoder")

    def steps(self, arm: Arm) -> Floats:
        """Resolution of each joint, (n,)."""
        if self.resolution is not None:
            return np.full(arm.n, self.resolution)
        parts = 2 ** (self.bits or 0)
        return np.array([(2.0 * math.pi if j.kind == "revolute" else 1.0) / parts for j in arm.joints])

    def motor_steps(self, arm: Arm) -> Floats:
        """Resolution on the motors, over their gear ratios (n,)."""
        bare = [joint.name for joint in arm.joints if joint.motor is None]
        if bare:
            raise InputError(
                f"an encoder on a motor needs its gear_ratio; joints of {arm.name!r} without "
                f"a motor: {', '.join(bare)}. Use side='link', or add motors to them.",
                "Sensors",
                "side",
            )
        step = 2.0 * math.pi / 2 ** (self.bits or 0) if self.resolution is None else self.resolution
        return np.array([step / abs(joint.motor.gear_ratio) for joint in arm.joints if joint.motor])


@positional_record
class Tachometer:
    """Quantised velocity; 0 is one of the levels."""

    bits: int = declared(BITS)
    span: float = number("largest velocity; of a motor over its gear ratio", "rad/s (m/s)", above=0.0)

    @property
    def step(self) -> float:
        """Resolution."""
        return float(2.0 * self.span / 2**self.bits)

    def told(self, qd: Scalar) -> Scalar:
        """Reading at a velocity, over any scalar."""
        half = float(2 ** (self.bits - 1))
        return quantised(qd, self.step, -half, half - 1.0)


@positional_record
class Sensors:
    """What a controller measures of the plant's state, with the same sensors at every joint."""

    encoder: Encoder | None = declared(
        ObjectField("of positions; if absent, exact", (Encoder,)), default=None
    )
    tachometer: Tachometer | None = declared(
        ObjectField("of velocities; if absent, exact", (Tachometer,)), default=None
    )
    differences: bool = flag("whether velocities are differences of positions instead", default=False)
    accelerometers: Accelerometers | None = declared(
        FunctionField(
            "function from the true q, qd, qdd (n,) to measured accelerations; if absent, not measured",
            "(q, qd, qdd)",
        ),
        default=None,
    )
    side: Side = choice(
        'where encoders and tachometers are, on the "link", the "motor" or on "both"; they differ if joints '
        "are elastic",
        SIDES,
        default="link",
    )

    def __post_init__(self) -> None:
        if self.differences and self.tachometer is not None:
            raise InputError(
                "velocities come from a tachometer or from differences of positions, not both.", "Sensors"
            )

    @property
    def is_exact(self) -> bool:
        """Whether positions and velocities are measured exactly."""
        return self.encoder is None and self.tachometer is None and not self.differences

    def reader(self, arm: Arm, period: float, on_motors: bool = False) -> Reader:
        """These sensors on the links of an arm, or on its motors.

        Args:
            arm: the arm.
            period: between two readings, s.
            on_motors: whether motors are measured, over their gear ratios.
        """
        if self.encoder is None:
            return Reader(self, None, period)
        return Reader(self, self.encoder.motor_steps(arm) if on_motors else self.encoder.steps(arm), period)


EXACT = Sensors()


def all_of(plant: Arm, accelerometers: Accelerometers | None = None) -> Sensors:
    """Sensors that measure the full state of an arm, including motors behind springs.

    Args:
        plant: the arm.
        accelerometers: as in `Sensors`.
    """
    return Sensors(accelerometers=accelerometers, side="both" if is_elastic(plant) else "link")


def exact_accelerations(q: Floats, qd: Floats, qdd: Floats) -> Floats:
    """Accelerometers without an error.

    Args:
        q, qd, qdd: the true state (n,).
    """
    return qdd


class Reader:
    """Sensors in operation: differences remember the last position."""

    def __init__(self, sensors: Sensors, steps: Floats | None, period: float) -> None:
        self.sensors, self.steps, self.period = sensors, steps, period
        self.last: Floats | None = None

    def read(self, q: Floats, qd: Floats) -> Pair:
        """Readings at a state (n,); differences yield zero velocity at the first sample."""
        seen = q.copy() if self.steps is None else quantised(q, self.steps)
        if self.sensors.differences:
            rate = np.zeros(len(q)) if self.last is None else (seen - self.last) / self.period
            self.last = seen
            return seen, rate
        tachometer = self.sensors.tachometer
        if tachometer is None:
            return seen, qd.copy()
        return seen, tachometer.told(qd)


Told = Pair  # positions and velocities


class Readings:
    """Sensors in a run: readings at each period from a state (m,), whose first n coordinates are those of
    links, and whose coordinates `motors` (n,) are those of motors.
    """

    def __init__(
        self, sensors: Sensors, arm: Arm, motors: NDArray[np.intp], period: float, samples: int
    ) -> None:
        self.sees_motors, links = sensors.side != "link", slice(arm.n)
        sides: dict[Side, list[slice | NDArray[np.intp]]] = {
            "link": [links],
            "motor": [motors],
            "both": [links, motors],
        }
        self._places = sides[sensors.side]
        self._readers = [sensors.reader(arm, period, on_motors=some is not links) for some in self._places]
        self._kept: list[Told] = []
        if not sensors.is_exact:
            self._kept = [(np.empty((samples, arm.n)), np.empty((samples, arm.n))) for _ in self._places]

    def at(self, k: int, x: Floats, xd: Floats) -> tuple[Told, Told | None]:
        """Readings of q and qd, and of the motors, at a period."""
        told = [reader.read(x[p], xd[p]) for p, reader in zip(self._places, self._readers, strict=True)]
        for (q, qd), seen in zip(self._kept, told, strict=False):
            q[k], qd[k] = seen
        return told[0], told[-1] if self.sees_motors else None

    def all(self, x: Floats, xd: Floats) -> tuple[Told, Told | None]:
        """The same for all samples, whose states are (T, m)."""
        told = [(q[: len(x)], qd[: len(x)]) for q, qd in self._kept] or [
            (np.ascontiguousarray(x[:, p]), np.ascontiguousarray(xd[:, p])) for p in self._places
        ]
        return told[0], told[-1] if self.sees_motors else None
