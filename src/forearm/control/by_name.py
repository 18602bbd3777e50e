"""A controller by its name, with gains for the arm, the motion and the loop at hand."""

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

POSTURES = 9  # of the motion, in which gains must be bearable
OF_PLANTS = ("counterbalanced", "still joints locked")  # what is done to the arm itself, not by a controller


def setting_for(
    arm: Arm,
    motion: Any,
    period: float,
    bandwidth: float,
    delay: int,
    inertias: ArrayLike | None = None,
    side: Side | None = None,
) -> Setting:
    """What controllers are made for: the motion at every period, and gains that do not shake the arm, or
    those of given inertias; behind springs, that do not shake its rotors.
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

    Capitals, hyphens and underscores do not matter: "computed torque" is "computed_torque".

    Args:
        arm: what the controller believes in.
        name: such as "PD + gravity" or "computed torque"; a wrong one is answered with those there are.
        motion: what it is to follow, with .duration and .at(t), such as a plan.
        period: between samples, s (default: the converter's, or 1 ms).
        bandwidth: of the gains, rad/s.
        actuators: how commands reach the plant.
        inertias: what gains of joints are multiplied by (n,), kg m^2 (kg); None: M_jj in mid-range, less
            where joints would shake.
    """
    check_kind(arm, Arm, "controller_by_name, arm")
    check_kind(name, str, "controller_by_name, name")
    setting = setting_for(arm, motion, actuators.period(period), bandwidth, actuators.delay, inertias)
    known = {_plain(one): one for one in available(setting) if not one.endswith(OF_PLANTS)}
    if _plain(name) not in known:
        if any(_plain(name).endswith(_plain(one)) for one in OF_PLANTS):
            raise InputError(
                f"controller {shorten(name)}: it needs a changed arm, which control.compare makes; "
                "make it with control.counterbalanced or control.locked_arm."
            )
        for one in ELASTIC:
            if _plain(one) == _plain(name):
                check_elastic_name(one, arm)
        raise NameNotFound(f"controller: there is no {shorten(name)}; {suggest(name, known.values())}")
    trial = available(setting)[known[_plain(name)]](setting)
    if trial.note:
        warnings.warn(f"controller {known[_plain(name)]!r}: {trial.note}.", ModelWarning, stacklevel=2)
    return trial.controller


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", " ", name.lower()).strip()
