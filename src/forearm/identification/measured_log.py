"""A measured log as arrays: t, q and torques, from a file or from columns, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.arm.drive import Motor
from forearm.errors import InputError, ModelError
from forearm.identification.requests import LogFormat
from forearm.records import fields_of
from forearm.trajectories.recorded import read_motion
from forearm.values import frozen

Floats = NDArray[np.float64]


@frozen
class MeasuredLog:
    """Increasing times (T,), positions and torques (T, n); torques are motor torque times gear ratio."""

    name: str
    t: Floats
    q: Floats
    tau: Floats
    from_current: bool


def measured_log(arm: Arm, log: Any, form: LogFormat) -> MeasuredLog:
    """The log of an arm: a file, a mapping with t (T,), q (T, n) and tau or current (T, n), or a simulation
    result; measured positions, if any, take precedence over the plant's.
    """
    used = ("q", "measured_q", "tau", "current")
    found = read_motion(arm, log, used=used, **fields_of(form))
    q = found.q if found.measured_q is None else found.measured_q
    if q is None:
        raise InputError("no joint positions q; torques alone cannot be compared with a model.", found.name)
    if found.tau is not None and found.current is None:
        return MeasuredLog(found.name, found.t, q, found.tau, False)
    if found.current is not None and found.tau is None:
        return MeasuredLog(found.name, found.t, q, found.current * torque_constants(arm), True)
    what = (
        "neither joint tau nor current is present"
        if found.tau is None
        else "both tau and current are present; remove one"
    )
    raise InputError(f"{what}. Comparison with the model needs one of them for every joint.", found.name)


def torque_constants(arm: Arm) -> Floats:
    """N Kt of every motor, N m / A (n,): torque per current."""
    motors = [j.motor or Motor() for j in arm.joints]
    unknown = [j.name for j, motor in zip(arm.joints, motors, strict=True) if not motor.torque_constant]
    if unknown:
        raise ModelError(
            f"currents need the torque_constant of every motor; {', '.join(unknown)} "
            f"{'has' if len(unknown) == 1 else 'have'} none. Add them to the arm file, or use "
            "a log of torques.",
            f"arm {arm.name!r}",
        )
    return np.array([motor.gear_ratio * (motor.torque_constant or 0.0) for motor in motors])
