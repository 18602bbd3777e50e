"""MuJoCo from Python:
kinematics and Newton-Euler for inverse dynamics, the complete mj_forward for forward dynamics.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.benchmarks.timing import Work
from forearm.benchmarks.work import calls
from forearm.files.urdf_write import urdf_text


class MuJoCo:
    """An arm as MuJoCo reads it from URDF, in the first state.
    Arms with a massless link are rejected: ValueError.
    """

    def __init__(self, arm: Arm, states: NDArray[np.float64]) -> None:
        self.mujoco = import_module("mujoco")
        self.model = self.mujoco.MjModel.from_xml_string(urdf_text(arm))
        # the states may exceed limits
        self.model.opt.disableflags |= self.mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        self.state = [v[0].copy() for v in states]

    def one_call(self, name: str) -> Work:
        """The first state."""
        data = self.mujoco.MjData(self.model)
        names: dict[str, Any] = {
            "m": self.model,
            "d": data,
            "mj": self.mujoco,
            "out": np.zeros(self.model.nv),
        }
        data.qpos[:], data.qvel[:] = self.state[:2]
        if name == "forward_dynamics":
            data.qfrc_applied[:] = self.state[2]
            return calls("MuJoCo mj_forward", "mj.mj_forward(m, d)", names, lambda _: np.array(data.qacc))
        data.qacc[:] = self.state[2]
        steps = "mj.mj_kinematics(m, d); mj.mj_comPos(m, d); mj.mj_comVel(m, d); mj.mj_rne(m, d, 1, out)"
        return calls("MuJoCo mj_rne", steps, names, lambda _: np.array(names["out"]))
