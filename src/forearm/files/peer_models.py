"""Convert an Arm to models of MuJoCo and Pinocchio in memory; each needs its package."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from forearm.arm.arm import Arm, check_arm
from forearm.errors import InputError, LossWarning, ModelError


def to_mujoco(arm: Arm) -> Any:
    """The arm as a `mujoco.MjModel`: the compiled output of `arm.to_mjcf`, with rotors as armature."""
    check_arm(arm, "to_mujoco")
    from forearm.files.mjcf.write import mjcf_text

    mujoco = _package("mujoco", "to_mujoco")
    _warn_of_springs(arm, "to_mujoco")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LossWarning)
        text = mjcf_text(arm)
    try:
        return mujoco.MjModel.from_xml_string(text)
    except ValueError as error:
        raise ModelError(f"MuJoCo refuses {arm.name!r}: {str(error).splitlines()[0]}", "to_mujoco") from error


def to_pinocchio(arm: Arm) -> Any:
    """The arm as a `pinocchio.Model` on a fixed base: the output of `arm.to_urdf` with gravity and rotor
    inertias. Mimicking joints are not supported by such a model.
    """
    check_arm(arm, "to_pinocchio")
    from forearm.files.urdf_write import urdf_text

    pinocchio = _package("pinocchio", "to_pinocchio")
    if any(joint.mimic is not None for joint in arm.tree):
        raise ModelError(
            f"{arm.name!r} has joints that follow others; lock or free them first.", "to_pinocchio"
        )
    _warn_of_springs(arm, "to_pinocchio")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LossWarning)
        model = pinocchio.buildModelFromXML(urdf_text(arm))
    model.gravity.linear = arm.gravity
    for joint in arm.joints:
        if joint.motor is not None:
            model.armature[model.joints[model.getJointId(joint.name)].idx_v] = joint.motor.reflected_inertia
    return model


def _warn_of_springs(arm: Arm, what: str) -> None:
    """Warn that elasticity is left out: in the model motors move rigidly with their joints."""
    springs = [joint.name for joint in arm.joints if joint.elasticity is not None]
    if springs:
        text = (
            f"{what}: the elasticity of {', '.join(springs)} is left out; "
            "these joints are rigid in the model."
        )
        warnings.warn(text, LossWarning, stacklevel=3)


def _package(name: str, what: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        wheel = {"pinocchio": "pin"}.get(name, name)
        raise InputError(f"needs the package {name}: pip install {wheel}.", what) from None
