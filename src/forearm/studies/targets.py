"""Targets of a study's variables: their names, and checks."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING

from forearm.arm.arm import Arm
from forearm.control.controllers.formulas import CONTROL_LAWS
from forearm.drives.motor import without_constants
from forearm.drives.parameters import drive_values, motor_constant_values
from forearm.errors import InputError, NameNotFound, shorten, suggest
from forearm.reduction.symbolic import parameter_values
from forearm.simulation.row_parameters import added_body_names, is_added_body
from forearm.studies.catalogue import OPEN
from forearm.studies.sampling.distributions import Choice, LogNormal
from forearm.studies.variable import Variable
from forearm.values import check_choice

if TYPE_CHECKING:
    from forearm.studies.study import Study

CHOSEN = ("arm", "motion", "law")  # chosen by name
GAINS = ("controller.bandwidth", "controller.kp", "controller.kd", "controller.ki")
START = "start."


@lru_cache(maxsize=32)
def open_values(arm: Arm) -> dict[str, float]:
    """Every parameter of an arm that rows may vary, with its nominal value."""
    return parameter_values(arm) | drive_values(arm) | motor_constant_values(arm)


def motor_joint(arm: Arm, target: str) -> int | None:
    """The joint whose motor a target names, otherwise None."""
    names = [f"{joint.name}.motor" for joint in arm.joints]
    return names.index(target) if target in names else None


def matching(own: Iterable[str], target: str) -> list[str]:
    """The names that a target or pattern stands for: itself, by prefix, or by match."""
    known = list(own)
    if target in known:
        return [target]
    if "*" in target or "?" in target:
        return [name for name in known if fnmatchcase(name, target)]
    return [name for name in known if name.startswith(f"{target}.")]


def check_targets(study: Study) -> None:
    """Refuse a variable without effect on some arm of the study, and two that set the same parameter."""
    for arm in study.arms.values():
        taken: dict[str, str] = {}
        for variable in study.variables:
            for target in variable.of:
                _check_target(study, arm, variable, target)
                for name in () if variable.factor else _replaced(arm, variable, target):
                    if name in taken:
                        raise InputError(
                            f"{name} is already set by {taken[name]}; keep one of them, or "
                            "set factor = true to multiply it.",
                            "vary",
                            variable.name,
                        )
                    taken[name] = variable.name


def _replaced(arm: Arm, variable: Variable, target: str) -> list[str]:
    """What a variable's value replaces."""
    if motor_joint(arm, target) is not None and not variable.distribution.is_numeric:
        return [target, *(f"{target}.{key}" for key in OPEN)]
    return [target]


def _check_target(study: Study, arm: Arm, variable: Variable, target: str) -> None:
    where = f"vary, {variable.name}"
    if target in CHOSEN:
        names = {"arm": [*study.arms], "motion": [*study.motions], "law": [*CONTROL_LAWS]}[target]
        for value in _texts(variable, where):
            check_choice(value, names, where)
    elif not variable.distribution.is_numeric:
        _check_motor(study, arm, variable, target, where)
    elif target in GAINS:
        _check_gain(study, variable, target, where)
    elif target.startswith(START):
        check_choice(target[len(START) :], [joint.name for joint in arm.joints], f"{where}, start of a joint")
        _refuse_factor(variable, "the initial offset of a joint has no nominal value", where)
    elif is_added_body(arm, target):
        check_choice(target, added_body_names(arm), where)
        if target.removeprefix("payload.") not in study.run.payload:
            _refuse_factor(variable, f"{target} has no nominal value; give payload = ... too", where)
    else:
        _check_parameter(arm, variable, target, where)


def _refuse_factor(variable: Variable, why: str, where: str) -> None:
    if variable.factor:
        raise InputError(f"factor = true multiplies, but {why}.", where)


def _check_gain(study: Study, variable: Variable, target: str, where: str) -> None:
    if not study.has_law:
        raise InputError("no controller; give law = 'computed_torque' or another.", where)
    _refuse_factor(variable, "controller gains are factors already, or the bandwidth itself", where)
    lowest = (variable.distribution.bounds or (0.0, 0.0))[0]
    is_open = isinstance(variable.distribution, LogNormal)  # its bound is never reached
    is_bandwidth = target == GAINS[0]
    if lowest < 0.0 or (lowest == 0.0 and is_bandwidth and not is_open):
        raise InputError(
            f"expected values {'above' if is_bandwidth else 'of at least'} 0, got down to "
            f"{lowest:g}; bound the distribution.",
            where,
        )


def _check_motor(study: Study, arm: Arm, variable: Variable, target: str, where: str) -> None:
    joint = motor_joint(arm, target)
    if joint is None:
        names = ", ".join(one.name for one in arm.joints)
        raise InputError(
            "text values select an arm, a motion, a law or the motor of a joint of "
            f"{arm.name!r}, such as {arm.joints[0].name}.motor; got {target!r}. Its joints "
            f"are {names}.",
            where,
        )
    for value in _texts(variable, where):
        check_choice(value, study.motors, where)
    if arm.joints[joint].name in without_constants(arm):
        raise InputError(
            f"{arm.joints[joint].name} of {arm.name!r} has no motor with torque_constant and "
            "resistance to replace; add one (arm.with_drives).",
            where,
        )
    if study.run.voltage is not None:
        raise InputError(
            "motors can be chosen only with torque inputs; give a law instead of voltages.", where
        )


def _check_parameter(arm: Arm, variable: Variable, target: str, where: str) -> None:
    own = open_values(arm)
    found = matching(own, target)
    if not found:
        starts = [f"{START}{joint.name}" for joint in arm.joints]
        known = [*own, *added_body_names(arm), *GAINS, *CHOSEN, *starts]
        raise NameNotFound(f"{arm.name!r} has no {shorten(target)}; {suggest(target, known)}", where)
    if not variable.factor and (len(found) > 1 or target not in own):
        raise InputError(
            f"{target!r} is {len(found)} parameters, which one value cannot replace; name one of them, such "
            f"as {found[0]}, or set factor = true to multiply all of them.",
            where,
        )


def _texts(variable: Variable, where: str) -> tuple[str, ...]:
    values = variable.distribution.values if isinstance(variable.distribution, Choice) else ()
    if not values or not all(isinstance(value, str) for value in values):
        raise InputError("expected names to choose from, such as choice = ['a', 'b'].", where)
    return tuple(str(value) for value in values)
