"""From values of variables to numbers of arms, gains, starts and motors, one per row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.drives.parameters import drive_values, motor_constant_values
from forearm.errors import InputError, NameNotFound, shorten, suggest
from forearm.reduction.symbolic import parameter_values
from forearm.simulation.row_parameters import added_body_names, is_added_body
from forearm.spatial import Floats
from forearm.studies.catalogue import OPEN, CatalogueMotor
from forearm.studies.sampling.distributions import Choice
from forearm.studies.variable import Variable
from forearm.values import check_choice

if TYPE_CHECKING:
    from forearm.studies.study import Study

GAINS = ("controller.bandwidth", "controller.kp", "controller.kd", "controller.ki")
Values = Mapping[str, NDArray[Any]]


@dataclass
class RowNumbers:
    """What some rows of one arm are computed with.

    Attributes:
        parameters: numbers of the arm and its payload by name, (B,) each.
        gains: of the controller by name, (B,) each.
        start: offset of the joints at the start, (B, n).
        motors: names in the catalogue by joint, (B,) each.
    """

    parameters: dict[str, Floats]
    start: Floats
    gains: dict[str, Floats] = field(default_factory=dict)
    motors: dict[int, NDArray[Any]] = field(default_factory=dict)


@lru_cache(maxsize=32)
def open_values(arm: Arm) -> dict[str, float]:
    """Every number of an arm that rows may differ in, with its own value."""
    return parameter_values(arm) | drive_values(arm) | motor_constant_values(arm)


def row_numbers(study: Study, arm: Arm, values: Values) -> RowNumbers:
    """The numbers of rows of an arm.

    Args:
        study: whose variables they are.
        arm: the arm of these rows.
        values: of every variable by name, (B,).
    """
    count = len(next(iter(values.values())))
    own = open_values(arm) | {f"payload.{key}": float(x) for key, x in study.run.payload.items()}
    numbers = {f"payload.{key}": np.full(count, float(x)) for key, x in study.run.payload.items()}
    made = RowNumbers(numbers, np.zeros((count, arm.n)))
    joints = [joint.name for joint in arm.joints]
    for variable in sorted(study.variables, key=lambda v: v.factor):
        x = values[variable.name]
        for target in variable.of:
            if target in ("arm", "motion", "law"):
                continue
            if (joint := motor_joint(arm, target)) is not None and not variable.distribution.is_numeric:
                made.motors[joint] = x
                made.parameters |= _motor_numbers(study.motors, target, x)
            elif target in GAINS:
                made.gains[target] = np.asarray(x, dtype=np.float64)
            elif target.startswith("start."):
                made.start[:, joints.index(target[6:])] = x
            else:
                for name in [target] if is_added_body(arm, target) else matching(own, target):
                    before = made.parameters.get(name, own.get(name, 0.0))
                    made.parameters[name] = np.asarray(before * x if variable.factor else x, dtype=np.float64)
    return made


def _motor_numbers(
    catalogue: Mapping[str, CatalogueMotor], target: str, names: NDArray[Any]
) -> dict[str, Floats]:
    """Constants of the motors that rows choose, by the names that the arm's own have."""
    order = {name: k for k, name in enumerate(catalogue)}
    places = np.array([order[name] for name in names], dtype=np.intp)
    return {
        f"{target}.{key}": np.array([getattr(m, key) for m in catalogue.values()])[places] for key in OPEN
    }


def motor_joint(arm: Arm, target: str) -> int | None:
    """The joint whose motor a target names, None where it is something else."""
    names = [f"{joint.name}.motor" for joint in arm.joints]
    return names.index(target) if target in names else None


def matching(own: Iterable[str], target: str) -> list[str]:
    """The names that a target or a pattern means: itself, what begins with it, what matches."""
    known = list(own)
    if target in known:
        return [target]
    if "*" in target or "?" in target:
        return [name for name in known if fnmatchcase(name, target)]
    return [name for name in known if name.startswith(f"{target}.")]


def check_targets(study: Study) -> None:
    """Refuse a variable that says nothing of some arm of the study."""
    for arm in study.arms.values():
        own = open_values(arm)
        for variable in study.variables:
            for target in variable.of:
                _check_target(study, arm, variable, target, own)


def _check_target(study: Study, arm: Arm, variable: Variable, target: str, own: Mapping[str, float]) -> None:
    from forearm.studies.study import LEVELS, level_names

    where = f"vary, {variable.name}"
    joints = [joint.name for joint in arm.joints]
    if target in LEVELS:
        for value in _texts(variable, where):
            check_choice(value, level_names(study, target), where)
    elif not variable.distribution.is_numeric:
        if (joint := motor_joint(arm, target)) is None:
            raise InputError(f"{where}: texts choose an arm, a motion, a law or JOINT.motor; got {target!r}.")
        for value in _texts(variable, where):
            check_choice(value, study.motors, where)
        motor = arm.joints[joint].motor
        if motor is None or motor.torque_constant is None or motor.resistance is None:
            raise InputError(
                f"{where}: {arm.joints[joint].name} of {arm.name!r} has no motor with torque_constant and "
                "resistance whose place another could take; give it one (arm.with_drives)."
            )
        if study.run.voltage is not None:
            raise InputError(
                f"{where}: motors are chosen where torques drive; give a law in the place of voltages."
            )
    elif target in GAINS:
        if study.run.law is None and not any("law" in v.of for v in study.variables):
            raise InputError(f"{where}: there is no controller; give law = 'computed_torque' or another.")
    elif target.startswith("start."):
        check_choice(target[6:], joints, f"{where}, start of a joint")
    elif is_added_body(arm, target):
        check_choice(target, added_body_names(arm), where)
    else:
        _check_parameter(arm, variable, target, own, where)


def _check_parameter(arm: Arm, variable: Variable, target: str, own: Mapping[str, float], where: str) -> None:
    found = matching(own, target)
    if not found:
        known = [
            *own,
            *added_body_names(arm),
            *GAINS,
            "arm",
            "motion",
            "law",
            *(f"start.{j.name}" for j in arm.joints),
        ]
        raise NameNotFound(f"{where}: {arm.name!r} has no {shorten(target)}; {suggest(target, known)}")
    if not variable.factor and (len(found) > 1 or target not in own):
        raise InputError(
            f"{where}: {target!r} is {len(found)} numbers, which one value cannot replace; name one of them, "
            "such as " + found[0] + ", or set factor = true to multiply all of them."
        )


def _texts(variable: Variable, where: str) -> tuple[str, ...]:
    values = variable.distribution.values if isinstance(variable.distribution, Choice) else ()
    if not values or not all(isinstance(value, str) for value in values):
        raise InputError(f"{where}: expected names to choose from, such as choice = ['a', 'b'].")
    return tuple(str(value) for value in values)
