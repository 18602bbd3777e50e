"""The Robotics Toolbox for Python: rne and accel of a robot given by DH parameters."""

from __future__ import annotations

from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.arm.joint import DH
from forearm.benchmarks.timing import Work
from forearm.benchmarks.work import calls


class Toolbox:
    """A rigid chain of revolute joints, link by link."""

    def __init__(self, arm: Arm, states: NDArray[np.float64]) -> None:
        toolbox = import_module("roboticstoolbox")
        links = []
        for joint in arm.joints:
            place, link = joint.placement, arm.link(joint.child)
            assert isinstance(place, DH)
            kind = toolbox.RevoluteMDH if place.convention == "modified" else toolbox.RevoluteDH
            dh = {"d": place.d, "a": place.a, "alpha": place.alpha, "offset": place.theta}
            links.append(kind(**dh, m=link.mass, r=link.com, I=link.inertia, Jm=0.0, G=1.0, B=0.0))
        self.robot = toolbox.DHRobot(links)
        self.state = [v[0].copy() for v in states]

    def one_call(self, name: str) -> Work:
        """The first state from Python."""
        q, qd, third = self.state
        function = "accel" if name == "forward_dynamics" else "rne"
        names = {"robot": self.robot, "q": q, "qd": qd, "third": third}
        return calls(f"toolbox {function}", f"robot.{function}(q, qd, third)", names)
