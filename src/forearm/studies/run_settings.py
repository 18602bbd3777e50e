"""Simulation settings of a study: law or constant inputs, steps, payload, kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.control.controllers.formulas import CONTROL_LAWS
from forearm.control.gains import BANDWIDTH
from forearm.errors import InputError
from forearm.reading.fields import AngleField, Field, MapField, NumberField, OneOrMany
from forearm.records import choice, declaration, declared, flag, number, record, whole
from forearm.simulation.methods import FIXED
from forearm.simulation.row_parameters import PAYLOAD
from forearm.simulation.start import whole_steps
from forearm.values import as_finite, as_floats, check_choice

MOST_STEPS = 100_000_000  # steps of a run


def _per_joint(doc: str, item: Field) -> Any:
    return declared(OneOrMany(item, doc), default=None)


@record
class RunSettings:
    """Settings of the simulation of each row."""

    law: str | None = choice(
        "control law that tracks the motion; if absent, there is no simulation, only figures required by the "
        "motion",
        tuple(CONTROL_LAWS),
        default=None,
    )
    bandwidth: float = number("of its gains", "rad/s", default=BANDWIDTH, above=0.0)
    period: int = whole("sampling period of the law, steps", 1, 1_000_000, default=1)
    friction: bool = flag("whether the law's model includes friction", default=True)
    torque: tuple[float, ...] | None = _per_joint(
        "constant torque, N m (N), instead of a motion", NumberField()
    )
    voltage: tuple[float, ...] | None = _per_joint("constant voltage, V, instead of a motion", NumberField())
    acceleration: tuple[float, ...] | None = _per_joint(
        "limits for planning the motion, rad/s^2 (m/s^2); if absent, the drives'", NumberField(above=0.0)
    )
    velocity: tuple[float, ...] | None = _per_joint(
        "limits for planning the motion, rad/s (m/s); if absent, the drives'", NumberField(above=0.0)
    )
    start: tuple[float, ...] | None = _per_joint(
        "initial joint coordinates, rad (m), without a motion", AngleField()
    )
    duration: float = number(
        "of a run without a motion, a whole number of steps", "s", default=0.0, minimum=0.0
    )
    settle: float = number("time for which the end of the motion is held", "s", default=0.0, minimum=0.0)
    step: float = number("integration step", "s", default=1e-3, above=0.0)
    method: str = choice("integration method", FIXED, default="rk4")
    effort_limits: bool = flag("whether motor torques saturate at max_effort", default=False)
    payload: Mapping[str, float] = declared(
        MapField(NumberField(), "load in the hand: mass, com.x, inertia.xx ..."), default=None
    )
    dtype: str = choice("of the kernel", ("float64", "float32"), default="float64")
    device: str = choice("of the kernel", ("cpu", "cuda"), default="cpu")

    @property
    def steps(self) -> int:
        """Number of steps of a run without a motion."""
        return whole_steps(self.duration, self.step)[0]


RUN = RunSettings()


def settings_of(run: RunSettings, arm: Arm, has_motion: bool) -> RunSettings:
    """The settings for an arm, one value per joint, and checked together.

    Args:
        run: as given by a caller.
        arm: the arm, for its number of joints.
        has_motion: whether rows follow a motion.
    """
    values: dict[str, Any] = {"payload": run.payload or {}, "start": [0.0] * arm.n}
    for name, field in declaration(RunSettings).items():
        if isinstance(field, OneOrMany) and (value := getattr(run, name)) is not None:
            given = as_floats(value, f"study, {name}")
            given = np.full(arm.n, given) if given.ndim == 0 else given
            values[name] = as_finite(given, (arm.n,), f"study, {name}").tolist()
    for name in values["payload"]:
        check_choice(f"payload.{name}", PAYLOAD, "study, payload")
    if sum((has_motion, run.torque is not None, run.voltage is not None)) > 1:
        raise InputError("expected one of motion, torque and voltage, got several.", "study")
    if has_motion and run.duration:
        raise InputError("follows from the motion; omit it, or use settle.", "study", "duration")
    if not has_motion and (run.duration <= 0.0 or run.law is not None or run.settle):
        raise InputError(
            "without a motion expected a duration above 0, and neither law nor settle; give "
            "motion = ... for a law, or duration = 1.0.",
            "study",
        )
    steps = (run.duration + run.settle) / run.step
    if not steps <= MOST_STEPS:
        raise InputError(
            f"expected at most {MOST_STEPS} steps, got {steps:.6g}.", "study", "duration and settle"
        )
    if run.duration and whole_steps(run.duration, run.step)[1]:
        raise InputError(
            f"expected a whole number of steps of {run.step:g} s, got {run.duration!r} s.",
            "study",
            "duration",
        )
    return replace(run, **values)
