"""SciPy's solve_ivp with RK45, the same pair as dp45, on our compiled forward dynamics."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np

from forearm.arm.arm import Arm
from forearm.kernels.kernel import compile as compile_arm
from forearm.simulation.arguments import Accuracy
from forearm.spatial import Floats


def ivp_of(arm: Arm, q: Floats, qd: Floats, torque: Floats) -> Callable[[float, Accuracy], Floats]:
    """Positions after a time, to an accuracy, of an arm under constant torques from an initial state;
    friction as in forward dynamics, without sticking.
    """
    solve, forward, n = import_module("scipy.integrate").solve_ivp, compile_arm(arm).forward_dynamics, arm.n

    def rate(t: float, y: Floats) -> Floats:
        return np.concatenate([y[n:], forward(y[:n], y[n:], torque)])

    def at(duration: float, accuracy: Accuracy) -> Floats:
        start, tolerances = np.concatenate([q, qd]), {"rtol": accuracy.rtol, "atol": accuracy.atol}
        found: Floats = solve(rate, (0.0, duration), start, method="RK45", **tolerances).y[:n, -1]
        return found

    return at
