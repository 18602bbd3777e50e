"""Closed-loop simulation: reference, measurement and command together with the resulting motion."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.kernels.kept import kernel_of
from forearm.logs.motion import MotionLog
from forearm.simulation.result import Array, Simulation, numbered, taken
from forearm.values import check_number, check_text

WANTED = ("wanted_q", "wanted_qd", "wanted_qdd")
MEASURED = ("measured_q", "measured_qd")
MOTOR = ("measured_motor_q", "measured_motor_qd")
NOT_LOGGED = ("saturated", *MOTOR)  # quantities without a column in tables of motions


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Run(Simulation):
    """A simulation of a plant under a controller, sampled at the start of each period and at the end.

    The last sample has no command: there `tau`, `voltage`, `asked` and `saturated` are those held until then.
    A run that diverged ends with the last sample that is within bounds.

    Attributes:
        controller: name of the controller.
        period: sampling period, s.
        wanted: reference (q, qd, qdd), (T, n) each.
        measured: (q, qd) as reported by the sensors, (T, n) each; with sensors on the motors alone, motor
            positions and speeds divided by the gear ratios.
        asked: commanded torques (T, n), N m (N).
        saturated: (T, n), where the applied torque falls short of the commanded one.
        operations: operations of the controller per period.
        measured_motor: motor positions and speeds divided by the gear ratios as reported by the sensors, (T,
            n) each; None: no sensors on motors.
    """

    controller: str
    period: float
    wanted: tuple[Array, Array, Array]
    measured: tuple[Array, Array]
    asked: Array
    saturated: NDArray[np.bool_]
    operations: float
    measured_motor: tuple[Array, Array] | None = None

    def _check_motion(self) -> None:
        super()._check_motion()
        check_text(self.controller, "run, controller")
        shape, saturated = self.q.shape, np.array(self.saturated, dtype=bool)
        saturated.flags.writeable = False
        values: dict[str, Any] = {
            "period": check_number(self.period, "run, period", above=0.0),
            "operations": float(self.operations),
            "asked": taken(self.asked, shape, "asked"),
            "saturated": saturated,
        }
        counts = {"wanted": 3, "measured": 2, "measured_motor": 2}  # (q, qd, qdd) and (q, qd)
        for name, count in counts.items():
            blocks = getattr(self, name)
            if (blocks is not None or count == 3) and len(blocks) != count:
                raise InputError(f"expected {count} arrays {shape}, got {len(blocks)}.", "run", name)
            values[name] = None if blocks is None else tuple(taken(x, shape, name) for x in blocks)
        if saturated.shape != shape:
            raise InputError(f"expected shape {shape}, got {saturated.shape}.", "run", "saturated")
        self.__dict__.update(values)

    @property
    def plant(self) -> Arm:
        """The simulated arm, which may differ from the controller's model."""
        return self.arm

    @cached_property
    def error(self) -> Array:
        """Reference minus actual position, (T, n)."""
        return self.wanted[0] - self.q

    @cached_property
    def hand_error(self) -> Array:
        """Distance of the hand from its reference, (T,), m."""
        kernel = kernel_of(self.arm)
        away = np.subtract(
            *(kernel.forward_kinematics(np.ascontiguousarray(q))[:, :3, 3] for q in (self.wanted[0], self.q))
        )
        return np.asarray(np.linalg.norm(away, axis=1))

    @property
    def rms(self) -> float:
        """RMS error over all joints and samples, rad (m); NaN, like every figure, if the run diverged."""
        return self._figure(np.sqrt(np.mean(self.error**2)))

    @property
    def largest(self) -> float:
        """Largest error of any joint, rad (m)."""
        return self._figure(np.max(np.abs(self.error)))

    @property
    def hand_rms(self) -> float:
        """RMS distance of the hand from its reference, m."""
        return self._figure(np.sqrt(np.mean(self.hand_error**2)))

    @property
    def hand_largest(self) -> float:
        """Largest distance of the hand from its reference, m."""
        return self._figure(np.max(self.hand_error))

    @property
    def operations_per_second(self) -> float:
        """Multiplications and additions of the controller per second."""
        return self.operations / self.period

    def _figure(self, value: float) -> float:
        return float(value) if self.ok else math.nan

    @property
    def log(self) -> MotionLog:
        """The motion with reference, measurement and command."""
        known = {x: block for x, block in self.blocks().items() if x not in NOT_LOGGED}
        return replace(super().log, **known)  # type: ignore[arg-type]

    def columns(self) -> dict[str, Array]:
        """The table of a simulation, with wanted_q1.., wanted_qd1.., wanted_qdd1.., measured_q1..,
        measured_qd1.., asked1.., saturated1.. (1 or 0), and measured_motor_q1.., measured_motor_qd1.. if
        motors have sensors.
        """
        return super().columns() | numbered(self.blocks())

    def blocks(self) -> dict[str, Array]:
        """Quantities that a plain simulation lacks, (T, n) each, by name."""
        blocks = dict(zip(WANTED, self.wanted, strict=True)) | dict(zip(MEASURED, self.measured, strict=True))
        blocks |= {"asked": self.asked, "saturated": self.saturated.astype(np.float64)}
        return blocks | (dict(zip(MOTOR, self.measured_motor, strict=True)) if self.measured_motor else {})

    def __repr__(self) -> str:
        return f"<Run under {self.controller!r}: {super().__repr__()[1:-1]}>"
