"""Setups of rows that share arm, motion and law."""

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

POSTURES = 9  # samples of the motion at which gains must be stable


class RowKind(NamedTuple):
    """The names of an arm, a motion and a law; "" for none."""

    arm: str
    motion: str
    law: str


class RowSetup:
    """Rows of one kind: their arm, its parameters per row, reference motion and inputs.

    Args:
        study: the study.
        kind: the arm, motion and law they share.
        values: of every variable by name, (B,).
        controller: returns the law of rows of a kind along their motion.
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
        """Duration of a run, s."""
        run = self.study.run
        return run.step * (run.steps if self.motion is None else self.motion.steps)

    @property
    def is_simulated(self) -> bool:
        """Whether there is a simulation, not only quantities required by a motion."""
        return self.motion is None or bool(self.kind.law)

    def start(self) -> tuple[Floats, Floats]:
        """Initial states, (B, n) each."""
        begin, speed = np.asarray(self.study.run.start), np.zeros(self.arm.n)
        if self.motion is not None:
            begin, speed = self.motion.q[0], self.motion.qd[0]
        return begin + self.numbers.start, np.broadcast_to(speed, self.numbers.start.shape)

    def driving(self) -> dict[str, Any]:
        """The input of the arms: constant torques or voltages, or a law."""
        run = self.study.run
        if self.motion is None:
            return {"torque": run.torque, "voltage": run.voltage}
        return {"controller": self._with_gains(self._controller(self.kind, self.motion))}

    def arms(self) -> list[Arm]:
        """The arm of each row by itself."""
        return [arm_at(self.study, self.arm, self.numbers, k) for k in range(self.count)]

    def parameter(self, name: str, own: float) -> Floats:
        """A parameter of the arm per row, (B,).

        Args:
            name: of the parameter.
            own: the arm's value, if rows do not vary it.
        """
        return np.broadcast_to(self.numbers.parameters.get(name, np.asarray(own)), (self.count,))

    def _with_gains(self, controller: TracedController) -> TracedController:
        """The law with gains per row, if they differ: kp scales as w^2, kd as w, ki as w^3."""
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
    """The arm of a row: links, gears, payload, and catalogue motors with their limits.

    Args:
        study: the study.
        arm: the nominal arm.
        numbers: parameters of some rows.
        k: index of the row among them.
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
    """The law of rows of a kind, with the nominal arm as its model and open gains.

    Args:
        study: the study.
        kind: the arm, motion and law they share.
        motion: the reference motion.
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
    """Gains of a law at 1 rad/s, times inertias for which joints remain stable along the motion at the
    largest bandwidth of the study.

    Args:
        study: the study.
        kind: the arm, motion and law they share.
        motion: the reference motion.
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
    """The arm model of laws: the arm with the payload common to all rows."""
    return row_arm(study.arms[name], {f"payload.{key}": x for key, x in study.run.payload.items()})
