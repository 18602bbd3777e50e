"""A measured log as arrays: t, q and torques, from a file or from columns, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError, ModelError
from forearm.trajectories.recorded import read_motion

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MeasuredLog:
    """Increasing times (T,), positions and torques (T, n); torques are motor torque times gear ratio."""

    name: str
    t: Floats
    q: Floats
    tau: Floats
    from_current: bool


def measured_log(
    arm: Arm,
    log: Any,
    period: float | None = None,
    columns: Mapping[str, str] | None = None,
    units: str | Sequence[str] = (),
) -> MeasuredLog:
    """The log of an arm: a file, a mapping with t (T,), q (T, n) and tau or current (T, n), or a simulation
    result; measured positions, if any, take precedence over the plant's.
    """
    used = ("q", "measured_q", "tau", "current")
    found = read_motion(arm, log, columns=columns, units=units, period=period, used=used)
    q = found.q if found.measured_q is None else found.measured_q
    if q is None:
        raise InputError("no joint positions q; torques alone cannot be compared with a model.", found.name)
    if (found.tau is None) == (found.current is None):
        what = (
            "both tau and current are present; remove one"
            if found.tau is not None
            else "neither joint tau nor current is present"
        )
        raise InputError(f"{what}. Comparison with the model needs one of them for every joint.", found.name)
    if found.tau is not None:
        return MeasuredLog(found.name, found.t, q, found.tau, False)
    assert found.current is not None
    return MeasuredLog(found.name, found.t, q, found.current * torque_constants(arm), True)


def torque_constants(arm: Arm) -> Floats:
    """N Kt of every motor, N m / A (n,): torque per current."""
    unknown = [j.name for j in arm.joints if j.motor is None or j.motor.torque_constant is None]
    if unknown:
        raise ModelError(
            f"currents need the torque_constant of every motor; {', '.join(unknown)} "
            f"{'has' if len(unknown) == 1 else 'have'} none. Add them to the arm file, or use "
            "a log of torques.",
            f"arm {arm.name!r}",
        )
    return np.array(
        [
            j.motor.gear_ratio * j.motor.torque_constant
            for j in arm.joints
            if j.motor and j.motor.torque_constant
        ]
    )
