"""Controllers by name, with gains for the given arm, motion and loop."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.arm.elastic import is_elastic
from forearm.control.actuators import DIRECT, Actuators
from forearm.control.controller import Controller
from forearm.control.elastic_gains import stable_motor_inertias
from forearm.control.gains import BANDWIDTH, stable_inertias
from forearm.control.reference import sampled
from forearm.control.registry import ELASTIC, Setting, available, check_elastic_name
from forearm.control.sensors import Side
from forearm.errors import InputError, ModelWarning, NameNotFound, shorten, suggest
from forearm.values import check_kind, frozen_array

POSTURES = 9  # configurations along the motion in which the gains must be stable
OF_PLANTS = ("counterbalanced", "still joints locked")  # these modify the arm itself


def setting_for(
    arm: Arm,
    motion: Any,
    period: float,
    bandwidth: float,
    delay: int,
    inertias: ArrayLike | None = None,
    side: Side | None = None,
) -> Setting:
    """Settings for making controllers: the motion at every period, and gains that are stable for the arm, or
    those of given inertias; with elastic joints, stable for the rotors.
    """
    reference = sampled(arm, motion, period)
    postures = reference.q[np.linspace(0, len(reference.q) - 1, POSTURES).astype(int)]
    if inertias is None:
        stable = stable_motor_inertias if is_elastic(arm) else stable_inertias
        d = stable(arm, postures, bandwidth, period, delay)
    else:
        d = frozen_array(inertias, (arm.n,), "inertias")
    return Setting(arm, motion, reference, bandwidth, d, period, delay, side)


def controller_by_name(
    arm: Arm,
    name: str,
    motion: Any,
    *,
    period: float | None = None,
    bandwidth: float = BANDWIDTH,
    actuators: Actuators = DIRECT,
    inertias: ArrayLike | None = None,
) -> Controller:
    """The controller that `control.compare` runs under this name, ready for `control.run`.

    Capitals, hyphens and underscores do not matter: "computed torque" equals "computed_torque".

    Args:
        arm: the controller's model of the arm.
        name: such as "PD + gravity" or "computed torque"; for an unknown name the error lists the valid ones.
        motion: the reference motion, with .duration and .at(t), such as a plan.
        period: sampling period, s (default: the converter's, or 1 ms).
        bandwidth: of the gains, rad/s.
        actuators: how commands reach the plant.
        inertias: factors of the joint gains (n,), kg m^2 (kg); None: M_jj in mid-range, reduced where the
            sampled loop would be unstable.
    """
    check_kind(arm, Arm, "controller_by_name, arm")
    check_kind(name, str, "controller_by_name, name")
    setting = setting_for(arm, motion, actuators.period(period), bandwidth, actuators.delay, inertias)
    known = {_plain(one): one for one in available(setting) if not one.endswith(OF_PLANTS)}
    if _plain(name) not in known:
        if any(_plain(name).endswith(_plain(one)) for one in OF_PLANTS):
            raise InputError(
                "it needs a modified arm, as in control.compare; make one with "
                "control.counterbalanced or control.locked_arm.",
                f"controller {shorten(name)}",
            )
        for one in ELASTIC:
            if _plain(one) == _plain(name):
                check_elastic_name(one, arm)
        raise NameNotFound(f"unknown name {shorten(name)}; {suggest(name, known.values())}", "controller")
    trial = available(setting)[known[_plain(name)]](setting)
    if trial.note:
        warnings.warn(f"controller {known[_plain(name)]!r}: {trial.note}.", ModelWarning, stacklevel=2)
    return trial.controller


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", " ", name.lower()).strip()
