"""Checks that arms, motion and law of a study can provide its figures of merit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from forearm.arm.arm import Arm
from forearm.drives.coordinates import coordinates_of
from forearm.drives.motor import without_constants
from forearm.errors import InputError
from forearm.simulation.windings import has_inductance
from forearm.studies.catalogue import LIMITS
from forearm.studies.figures import REQUIRED, Column
from forearm.studies.targets import motor_joint

if TYPE_CHECKING:
    from forearm.studies.study import Study

ERRORS = ("peak_error", "rms_error", "tracking_error", "hand_error")
OF_MOTION = ("manipulability", "time_optimal_duration")
OF_LIMITS = ("limit_margin", "limit_time")
ELECTRIC = {"peak_voltage", "rms_voltage", "peak_current", "rms_current", "copper_loss", "energy"}


def check_figures(study: Study) -> None:
    """Refuse figures that the study cannot provide."""
    for column in study.columns:
        _check_column(study, column)
        for arm in study.arms.values():
            _check_arm(study, arm, column)


def _check_column(study: Study, column: Column) -> None:
    name, is_run = column.figure.name, study.has_law or not study.motions
    if (column.figure.is_required or name in OF_MOTION) and not study.motions:
        raise InputError("requires a motion; add motion = ...", "figures", name)
    if name in ERRORS and not (study.motions and is_run):
        raise InputError("requires a law and a motion; give both.", "figures", name)
    if column.figure.is_simulated and not is_run:
        raise InputError(
            f"requires a simulation; give law = 'computed_torque', or use required_{name}.", "figures", name
        )
    if name == "motor_mass" and not study.motors:
        raise InputError("requires a catalogue of motors; add motors = ...", "figures", "motor_mass")


def _check_arm(study: Study, arm: Arm, column: Column) -> None:
    """Refuse a figure of limits or motors that an arm lacks."""
    figure, by_voltage = column.figure, study.run.voltage is not None
    name = figure.name.removeprefix(REQUIRED)
    if figure.is_simulated and coordinates_of(arm, by_voltage and has_inductance(arm)).count > arm.n:
        raise InputError(
            "elastic drives, bristle friction and inductance add states, which studies do "
            "not simulate; remove them from the arm, or use only figures that begin with "
            "required_.",
            "study",
            f"arm {arm.name!r}",
        )
    if ELECTRIC.intersection(figure.needs):
        for joint in without_constants(arm):
            raise InputError(
                f"{joint} of {arm.name!r} has no motor with torque_constant and "
                "resistance, which currents, voltages and electrical energy require; add "
                "one (arm.with_drives), or omit the figure.",
                "figures",
                figure.name,
            )
    if name in OF_LIMITS:
        found = any(math.isfinite(x) for joint in arm.joints for x in joint.limits)
    elif name.endswith("_margin"):
        found = _has_limit(study, arm, name.removesuffix("_margin"))
    else:
        return
    if not found:
        raise InputError(
            f"no joint of {arm.name!r} has such a limit; add one, or omit the figure.", "figures", figure.name
        )


def _has_limit(study: Study, arm: Arm, what: str) -> bool:
    key = LIMITS.get(what)
    if key is None:
        name = {"torque": "max_effort", "speed": "max_speed"}[what]
        return any(math.isfinite(getattr(joint, name) or math.inf) for joint in arm.joints)
    is_chosen = any(motor_joint(arm, target) is not None for v in study.variables for target in v.of)
    return any(math.isfinite(getattr(j.motor, key, None) or math.inf) for j in arm.joints) or (
        is_chosen and any(getattr(motor, key) for motor in study.motors.values())
    )
