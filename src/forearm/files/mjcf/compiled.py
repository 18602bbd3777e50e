"""Convert a model compiled by MuJoCo to an Arm. Only attributes are read, so MuJoCo need not be installed."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.joint import Limits, Mimic
from forearm.arm.tree import MAX_LINKS
from forearm.errors import InputError, shorten
from forearm.files.mjcf.assemble import arm_of
from forearm.files.mjcf.drives import Coefficients, Driven, add_actuator, coupling, leads, with_drive
from forearm.files.mjcf.orientation import Placed, rotation_of_quat
from forearm.files.mjcf.tree import ArmBody, ArmJoint, BodyTree, joints_of
from forearm.files.report import FileReport
from forearm.portable import norm
from forearm.spatial import Floats, pose, turn_inertia

# MuJoCo's enumerations, with the numbers of its headers.
FREE, BALL, SLIDE = 0, 1, 2  # mjtJoint
ON_JOINT, ON_JOINT_IN_PARENT, ON_TENDON = 0, 1, 3  # mjtTrn
WRAP_JOINT = 1  # mjtWrap
EQ_JOINT = 2  # mjtEq
GAIN_FIXED, BIAS_NONE = 0, 0  # mjtGain, mjtBias
NEEDED = ("nbody", "body_parentid", "body_inertia", "jnt_type", "qpos0", "dof_armature", "names")


def from_mujoco(model: Any, hand: str | None = None, root: str | None = None) -> Arm:
    """Convert a compiled model (`mujoco.MjModel`) to an Arm. The result is that of `load` for MJCF, with the
    mass of meshes and everything else that only MuJoCo's compiler computes.

    Args:
        model: the model.
        hand, root: as in `load`.
    """
    for name in NEEDED:
        if not hasattr(model, name):
            raise InputError(f"expected a mujoco.MjModel, got {shorten(model)}.", "from_mujoco")
    if model.nbody > MAX_LINKS:
        raise InputError(f"at most {MAX_LINKS} bodies, got {model.nbody}.", "from_mujoco")
    reader = _Compiled(model)
    bodies = reader.bodies()
    joints = joints_of(bodies)
    tree = BodyTree(
        name=reader.text(0) or "model",
        bodies=bodies,
        gravity=np.zeros(3) if _is_weightless(model) else np.array(model.opt.gravity),
        driven=reader.driven(joints),
        mimics=reader.mimics(joints),
    )
    arm = arm_of(tree, "from_mujoco", root, hand)
    reader.report.warn(stacklevel=3)
    return arm


def _is_weightless(model: Any) -> bool:
    """Whether gravity is disabled; the flag's bit depends on the version, which the model's module knows."""
    bits = getattr(sys.modules.get("mujoco"), "mjtDisableBit", None)
    return bits is not None and bool(model.opt.disableflags & int(bits.mjDSBL_GRAVITY))


class _Compiled:
    """The arrays of a compiled model as bodies and joints."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.report = FileReport("from_mujoco")
        m = model
        self.body_names = [self.text(m.name_bodyadr[i]) or f"body{i}" for i in range(m.nbody)]
        self.joint_names = [self._joint_name(i) for i in range(m.njnt)]

    def text(self, address: int) -> str:
        """The name that starts at this address."""
        names: bytes = self.model.names
        return names[address : names.index(b"\0", address)].decode("utf-8", "replace")

    def _joint_name(self, i: int) -> str:
        m = self.model
        body = int(m.jnt_bodyid[i])
        index = i - int(m.body_jntadr[body])
        given = self.text(m.name_jntadr[i])
        return given or f"{self.body_names[body]}_joint" + ("" if index == 0 else f"{index + 1}")

    def bodies(self) -> tuple[ArmBody, ...]:
        """The bodies on the world, each with its subtree."""
        m = self.model
        children: dict[int, list[ArmBody]] = {}
        for i in range(m.nbody - 1, 0, -1):  # children follow their parents
            body = self._body(i, tuple(reversed(children.get(i, []))))
            children.setdefault(int(m.body_parentid[i]), []).append(body)
        return tuple(reversed(children.get(0, [])))

    def _body(self, i: int, children: tuple[ArmBody, ...]) -> ArmBody:
        m = self.model
        if m.body_gravcomp[i] != 0.0:
            self.report.ignored("gravcomp")
        mine = range(int(m.body_jntadr[i]), int(m.body_jntadr[i]) + int(m.body_jntnum[i]))
        loose = [k for k in mine if m.jnt_type[k] in (FREE, BALL)]
        R = _rotation(m.body_iquat[i])
        said = f"from_mujoco: body {shorten(self.body_names[i])}"
        return ArmBody(
            name=self.body_names[i],
            placed=Placed(np.array(m.body_pos[i]), _rotation(m.body_quat[i])),
            joints=tuple(self._joint(k) for k in mine if k not in loose),
            loose=f"{said} is on a {'free' if m.jnt_type[loose[0]] == FREE else 'ball'} joint"
            if loose
            else "",
            properties=(
                float(m.body_mass[i]),
                np.array(m.body_ipos[i]),
                turn_inertia(R, np.diag(m.body_inertia[i])),
            ),
            sites={
                self.text(m.name_siteadr[k]): pose(_rotation(m.site_quat[k]), m.site_pos[k])
                for k in range(m.nsite)
                if m.site_bodyid[k] == i and self.text(m.name_siteadr[k])
            },
            children=children,
            where=said,
        )

    def _joint(self, i: int) -> ArmJoint:
        m = self.model
        dof = int(m.jnt_dofadr[i])
        if np.any(m.jnt_stiffness[i]):
            self.report.ignored("springs of joints")
        return ArmJoint(
            name=self.joint_names[i],
            kind="prismatic" if m.jnt_type[i] == SLIDE else "revolute",
            axis=np.array(m.jnt_axis[i]),
            pos=np.array(m.jnt_pos[i]),
            ref=float(m.qpos0[int(m.jnt_qposadr[i])]),
            limits=Limits(*map(float, m.jnt_range[i])) if m.jnt_limited[i] else Limits(),
            armature=float(m.dof_armature[dof]),
            viscous=float(m.dof_damping[dof]),
            coulomb=float(m.dof_frictionloss[dof]),
            effort=_largest(m.jnt_actfrcrange[i]) if m.jnt_actfrclimited[i] else None,
            where=f"from_mujoco: joint {shorten(self.joint_names[i])}",
        )

    def driven(self, joints: Mapping[str, ArmJoint]) -> dict[str, ArmJoint]:
        """The joints that actuators drive."""
        m = self.model
        found: dict[str, Driven] = {}
        for i in range(m.nu):
            arms = {name: arm for name, arm in self._arms(i).items() if name in joints}
            if not arms:
                self.report.ignored("actuators on something other than joints")
                continue
            force = _largest(m.actuator_forcerange[i]) if m.actuator_forcelimited[i] else math.inf
            is_motor = m.actuator_gaintype[i] == GAIN_FIXED and m.actuator_biastype[i] == BIAS_NONE
            if is_motor and m.actuator_ctrllimited[i]:
                force = min(force, abs(m.actuator_gainprm[i][0]) * _largest(m.actuator_ctrlrange[i]))
            # actuators have armature and damping since MuJoCo 4
            armature = float(m.actuator_armature[i]) if hasattr(m, "actuator_armature") else 0.0
            damping = float(m.actuator_damping[i]) if hasattr(m, "actuator_damping") else 0.0
            add_actuator(found, arms, float(m.actuator_gear[i][0]), force, armature, damping)
        return {name: with_drive(joints[name], drive) for name, drive in found.items()}

    def _arms(self, i: int) -> Coefficients:
        """The moment arms of an actuator, by joint."""
        m = self.model
        kind, target = int(m.actuator_trntype[i]), int(m.actuator_trnid[i][0])
        if kind in (ON_JOINT, ON_JOINT_IN_PARENT):
            return {self.joint_names[target]: 1.0}
        if kind != ON_TENDON:
            return {}
        first, count = int(m.tendon_adr[target]), int(m.tendon_num[target])
        wraps = [k for k in range(first, first + count) if m.wrap_type[k] == WRAP_JOINT]
        return {self.joint_names[int(m.wrap_objid[k])]: float(m.wrap_prm[k]) for k in wraps}

    def mimics(self, joints: Mapping[str, ArmJoint]) -> dict[str, Mimic]:
        """Joints coupled to another by a linear law."""
        m = self.model
        found: dict[str, Mimic] = {}
        for i in range(m.neq):
            if not m.eq_active0[i]:
                continue
            if m.eq_type[i] != EQ_JOINT:
                self.report.ignored("equalities that close loops")
                continue
            law = [float(v) for v in m.eq_data[i][:5]]
            names = [self.joint_names[int(k)] for k in (m.eq_obj1id[i], m.eq_obj2id[i]) if k >= 0]
            if len(names) < 2 or any(law[2:]) or any(name not in joints for name in names):
                self.report.ignored("couplings that are not linear in two joints")
            elif names[0] in found or leads(names[0], names[1], found):
                self.report.ignored("couplings of joints that are coupled already")
            else:
                found[names[0]] = coupling(joints[names[0]], joints[names[1]], law[0], law[1])
        return found


def _rotation(wxyz: Any) -> Floats:
    q = np.array(wxyz, dtype=float)
    return rotation_of_quat(q / norm(q))


def _largest(bounds: Any) -> float:
    return float(np.abs(bounds).max())
