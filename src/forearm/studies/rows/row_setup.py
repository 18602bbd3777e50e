"""What rows of a study are computed with, where they share arm, motion and law."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.joint import Joint
from forearm.control.gains import Gains, stable_inertias
from forearm.control.rollout_laws import gains_row, law_gains, rollout_controller
from forearm.kernels.traced_controller import TracedController
from forearm.simulation.row_parameters import row_arm
from forearm.spatial import Floats
from forearm.studies.catalogue import CatalogueMotor
from forearm.studies.reference_motion import ReferenceMotion
from forearm.studies.rows.row_numbers import RowNumbers, Values, row_numbers
from forearm.studies.study import Study

POSTURES = 9  # of the motion, in which gains must be bearable


class RowKind(NamedTuple):
    """The names of an arm, a motion and a law; "" where there is none."""

    arm: str
    motion: str
    law: str


class RowSetup:
    """Some rows of one kind: their arm, its numbers by row, what they follow and what drives them.

    Args:
        study: whose rows they are.
        kind: what they share.
        values: of every variable by name, (B,).
        controller: gives the law of rows of a kind along their motion.
    """

    def __init__(
        self,
        study: Study,
        kind: RowKind,
        values: Values,
        controller: Callable[[RowKind, ReferenceMotion], TracedController],
    ) -> None:
        self.study, self.kind = study, kind
        self.arm = study.arms[kind.arm]
        self.motion = study.motions.get(kind.motion, {}).get(kind.arm)
        self.numbers: RowNumbers = row_numbers(study, self.arm, values)
        self.count = len(next(iter(values.values())))
        self._controller = controller

    @property
    def duration(self) -> float:
        """Of a run, s."""
        run = self.study.run
        return run.step * (run.steps if self.motion is None else self.motion.steps)

    @property
    def is_simulated(self) -> bool:
        """Whether there is a run, and not only a motion that requires something."""
        return self.motion is None or bool(self.kind.law)

    def start(self) -> tuple[Floats, Floats]:
        """States at the start, (B, n) each."""
        begin, speed = np.asarray(self.study.run.start), np.zeros(self.arm.n)
        if self.motion is not None:
            begin, speed = self.motion.q[0], self.motion.qd[0]
        return begin + self.numbers.start, np.broadcast_to(speed, self.numbers.start.shape)

    def driving(self) -> dict[str, Any]:
        """What drives the arms: torques or voltages that are held, or a law."""
        run = self.study.run
        if self.motion is None:
            return {"torque": run.torque, "voltage": run.voltage}
        return {"controller": self._with_gains(self._controller(self.kind, self.motion))}

    def arms(self) -> list[Arm]:
        """The arm of each row by itself."""
        return [arm_at(self.study, self.arm, self.numbers, k) for k in range(self.count)]

    def parameter(self, name: str, own: float) -> Floats:
        """A number of the arm by row, (B,).

        Args:
            name: of the number.
            own: the arm's own, where rows do not differ in it.
        """
        return np.broadcast_to(self.numbers.parameters.get(name, np.asarray(own)), (self.count,))

    def _with_gains(self, controller: TracedController) -> TracedController:
        """The law with gains by row, where they differ: kp grows as w^2, kd as w, ki as w^3."""
        gains = self.numbers.gains
        if not gains:
            return controller
        assert self.motion is not None
        run, arm = self.study.run, self.arm
        gains_of_1 = unit_gains(self.study, self.kind, self.motion)
        unit = gains_row(gains_of_1, run.step * run.period).reshape(3, arm.n)
        w = gains.get("controller.bandwidth", np.full(self.count, run.bandwidth))
        ones = np.ones(self.count)
        factors = [gains.get(f"controller.{key}", ones) for key in ("kp", "kd", "ki")]
        scales = np.stack([w * w, w, w * w * w], axis=1) * np.stack(factors, axis=1)
        rows = scales[:, :, None] * unit[None]
        return replace(controller, gains=rows.reshape(self.count, 3 * arm.n))


def arm_at(study: Study, arm: Arm, numbers: RowNumbers, k: int) -> Arm:
    """The arm of a row: links, gears, payload, and motors of the catalogue with their limits.

    Args:
        study: whose row it is.
        arm: the arm as it is.
        numbers: of some rows.
        k: which of them.
    """
    made = row_arm(arm, {name: float(x[k]) for name, x in numbers.parameters.items()})
    chosen = {arm.joints[j].name: study.motors[names[k]] for j, names in numbers.motors.items()}
    return made.replace(tree=tuple(_with_limits(joint, chosen.get(joint.name)) for joint in made.tree))


def _with_limits(joint: Joint, motor: CatalogueMotor | None) -> Joint:
    if motor is None or joint.motor is None:
        return joint
    own = replace(joint.motor, inductance=None, max_voltage=motor.max_voltage, max_current=motor.max_current)
    return replace(joint, motor=own)


def law_of(study: Study, kind: RowKind, motion: ReferenceMotion) -> TracedController:
    """The law of rows of a kind, believing in the arm as it is, gains open.

    Args:
        study: whose rows they are.
        kind: what they share.
        motion: what the law follows.
    """
    run, unit, w = study.run, unit_gains(study, kind, motion), study.run.bandwidth
    wanted = [x[None, : motion.steps] for x in (motion.q, motion.qd, motion.qdd)]
    return rollout_controller(
        believed_arm(study, kind.arm),
        kind.law,
        *wanted,
        step=run.step,
        period=run.period,
        gains=Gains(w * w * unit.kp, w * unit.kd, w * w * w * unit.ki),
        friction=run.friction,
        open_gains=True,
    )


def unit_gains(study: Study, kind: RowKind, motion: ReferenceMotion) -> Gains:
    """Gains of a law at 1 rad/s, times inertias that do not shake joints along the motion at the largest
    bandwidth of the study.

    Args:
        study: whose rows they are.
        kind: what they share.
        motion: what the law follows.
    """
    run, arm = study.run, believed_arm(study, kind.arm)
    if kind.law == "computed_torque":
        return law_gains(arm, kind.law, 1.0)
    bounds = [v.distribution.bounds for v in study.variables if "controller.bandwidth" in v.of]
    most = max([run.bandwidth, *(b[1] for b in bounds if b is not None and math.isfinite(b[1]))])
    postures = motion.q[np.linspace(0, motion.steps, POSTURES).astype(int)]
    d = stable_inertias(arm, postures, most, run.step * run.period)
    return law_gains(arm, kind.law, 1.0, d)


def believed_arm(study: Study, name: str) -> Arm:
    """What laws know: the arm with the payload that all rows have."""
    return row_arm(study.arms[name], {f"payload.{key}": x for key, x in study.run.payload.items()})
