"""MuJoCo's model of an MJCF text, asked in the coordinates of an Arm."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from forearm.arm import Arm

Array = NDArray[np.float64]


class MjcfPeer:
    """What MuJoCo computes from the same text; joints that follow others move with them."""

    def __init__(self, text: str, arm: Arm) -> None:
        self.model: Any = mujoco.MjModel.from_xml_string(text)
        self.data: Any = mujoco.MjData(self.model)
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT  # states may lie beyond limits
        bodies = arm.moving.bodies
        self.addresses = [self.model.joint(body.joint.name) for body in bodies]
        # coordinates of all joints = G q + shift
        self.G, self.shift = np.zeros((self.model.nv, arm.n)), np.array(self.model.qpos0)
        for body, joint in zip(bodies, self.addresses, strict=True):
            self.G[joint.dofadr[0], body.freedom] = body.multiplier
            self.shift[joint.qposadr[0]] = body.offset

    def move_to(self, q: Array, qd: Array) -> None:
        """Every position and velocity, and what follows from them."""
        self.data.qpos[:], self.data.qvel[:] = self.G @ q + self.shift, self.G @ qd
        mujoco.mj_forward(self.model, self.data)

    def inertia_matrix(self) -> Array:
        """G^T M G, armature included."""
        nv = self.model.nv
        M = np.zeros((nv, nv))
        for i, unit in enumerate(np.eye(nv)):
            mujoco.mj_mulM(self.model, self.data, M[i], unit)
        return np.asarray(self.G.T @ M @ self.G)

    def bias(self) -> Array:
        """Coriolis, centrifugal and gravity torques."""
        return np.asarray(self.G.T @ self.data.qfrc_bias)
