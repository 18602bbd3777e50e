"""SciPy's solve_ivp with RK45, the same pair as dp45, on our compiled forward dynamics."""

from __future__ import annotations

from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.benchmarks.timing import Work
from forearm.kernels.kernel import compile as compile_arm
from forearm.simulation.arguments import Accuracy

Floats = NDArray[np.float64]


class SolveIVP:
    """An arm under constant torques from an initial state;
    friction as in forward dynamics, without sticking.
    """

    def __init__(self, arm: Arm, q: Floats, qd: Floats, torque: Floats) -> None:
        self.solve_ivp = import_module("scipy.integrate").solve_ivp
        self.forward, self.torque, self.n = compile_arm(arm).forward_dynamics, torque, arm.n
        self.start = np.concatenate([q, qd])

    def at(self, duration: float, accuracy: Accuracy) -> Floats:
        """Positions after a time."""
        made = self.solve_ivp(
            self._rate, (0.0, duration), self.start, method="RK45", rtol=accuracy.rtol, atol=accuracy.atol
        )
        q: Floats = made.y[: self.n, -1]
        return q

    def work(self, duration: float, accuracy: Accuracy, compared: tuple[float, Accuracy]) -> Work:
        """The work to be timed; results are compared after another duration at another accuracy."""
        return Work("SciPy RK45", lambda: self.at(duration, accuracy), 1, lambda: self.at(*compared))

    def _rate(self, t: float, y: Floats) -> Floats:
        q, qd = y[: self.n], y[self.n :]
        return np.concatenate([qd, self.forward(q, qd, self.torque)])
