"""Simulation settings of a study: law or constant inputs, steps, payload, kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.control.controllers.formulas import CONTROL_LAWS
from forearm.control.gains import BANDWIDTH
from forearm.errors import InputError, NameNotFound, shorten, suggest
from forearm.simulation.methods import FIXED
from forearm.simulation.row_parameters import PAYLOAD
from forearm.simulation.start import whole_steps
from forearm.spatial import Floats
from forearm.values import as_finite, as_floats, check_choice, check_kind, check_number, check_whole

PER_JOINT = ("torque", "voltage", "start", "acceleration", "velocity")
MOST_STEPS = 100_000_000  # steps of a run
MOST_PERIOD = 1_000_000


@dataclass(frozen=True)
class RunSettings:
    """Settings of the simulation of each row.

    Args:
        law: the control law that tracks the motion; None: no simulation, only figures required by the motion.
        bandwidth: of its gains, rad/s.
        period: sampling period of the law, steps.
        friction: whether the law's model includes friction.
        torque, voltage: constant input instead of a motion.
        acceleration, velocity: limits of a motion planned from configurations or a request; None: the drives'
            limits.
        duration: of a run without a motion, s: a whole number of steps.
        settle: time for which the end of the motion is held, s.
        step: integration step, s.
        method: "rk3", "rk4" or "gill".
        effort_limits: whether motor torques saturate at max_effort.
        start: initial joint coordinates of a run without a motion.
        payload: load in the hand, by name: "mass", "com.x", "inertia.xx".
        dtype, device: of the kernel, as in `fa.compile`.
    """

    law: str | None = None
    bandwidth: float = BANDWIDTH
    period: int = 1
    friction: bool = True
    torque: tuple[float, ...] | None = None
    voltage: tuple[float, ...] | None = None
    acceleration: tuple[float, ...] | None = None
    velocity: tuple[float, ...] | None = None
    duration: float = 0.0
    settle: float = 0.0
    step: float = 1e-3
    method: str = "rk4"
    effort_limits: bool = False
    start: tuple[float, ...] = ()
    payload: Mapping[str, float] = field(default_factory=dict)
    dtype: str = "float64"
    device: str = "cpu"

    @property
    def steps(self) -> int:
        """Number of steps of a run without a motion."""
        return whole_steps(self.duration, self.step)[0]


def settings_of(given: Mapping[str, Any], arm: Arm, has_motion: bool) -> RunSettings:
    """The settings given by a caller, checked.

    Args:
        given: fields of `RunSettings` by name; None: default.
        arm: the arm, for its number of joints.
        has_motion: whether rows follow a motion.
    """
    known = RunSettings.__dataclass_fields__
    for key in given:
        if key not in known:
            raise NameNotFound(f"unknown setting {shorten(key)}; {suggest(str(key), known)}", "study")
    values = {key: _checked(key, value, arm) for key, value in given.items() if value is not None}
    if not values.get("start"):
        values["start"] = (0.0,) * arm.n
    run = RunSettings(**values)
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
    _check_steps(run)
    return run


def _checked(key: str, value: Any, arm: Arm) -> Any:
    where = f"study, {key}"
    if key in PER_JOINT:
        return tuple(_per_joint(value, arm, where).tolist())
    if key in ("friction", "effort_limits"):
        check_kind(value, bool, where)
        return value
    if key in ("bandwidth", "step"):
        return check_number(value, where, above=0.0)
    if key in ("settle", "duration"):
        return check_number(value, where, minimum=0.0)
    if key == "period":
        return check_whole(value, where, 1, MOST_PERIOD)
    if key == "payload":
        check_kind(value, Mapping, where)
        for name in value:
            check_choice(f"payload.{name}", PAYLOAD, where)
        return {name: check_number(x, f"{where}, {name}") for name, x in value.items()}
    choices = {"method": FIXED, "law": tuple(CONTROL_LAWS), "dtype": ("float64", "float32")}
    return check_choice(value, {**choices, "device": ("cpu", "cuda")}[key], where)


def _check_steps(run: RunSettings) -> None:
    steps = (run.duration + run.settle) / run.step
    if not steps <= MOST_STEPS:
        raise InputError(f"study, duration and settle: expected at most {MOST_STEPS} steps, got {steps:.6g}.")
    if run.duration and whole_steps(run.duration, run.step)[1]:
        raise InputError(
            f"expected a whole number of steps of {run.step:g} s, got {run.duration!r} s.",
            "study",
            "duration",
        )


def _per_joint(given: ArrayLike, arm: Arm, what: str) -> Floats:
    values = as_floats(given, what)
    return as_finite(np.broadcast_to(values, (arm.n,)) if values.ndim == 0 else values, (arm.n,), what)
