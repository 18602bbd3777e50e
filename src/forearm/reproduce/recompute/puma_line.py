"""Mata 5.2: the PUMA's hand on a straight line, simulated under the torques of its inverse dynamics.

Inertias, tool and details of the integrator are not given. Here: puma560-akb, rigid, the tool's point at the wrist's centre,
and our dp45.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.files.builtin import load_builtin
from forearm.kernels import Kernel, compile
from forearm.reproduce.lines import Motion, even, moved, tracked
from forearm.reproduce.recompute import Figures
from forearm.simulation import Simulation, simulate

Floats = NDArray[np.float64]
START, END, SPEED = (0.50, 0.00, 0.05), (0.62, 0.30, 0.11), 0.1  # m, m, m/s
TOLERANCE, SAMPLE = 1e-6, 0.1  # of the integration; s, at which states are compared
# z, y, z by 0, 90, 180 degrees: the hand points along x of the base.
R_BASE_HAND = np.array([[0.0, 0.0, 1.0], [0.0, -1.0, 0.0], [1.0, 0.0, 0.0]])

# Assumed: of the eight ways to be there, the arm to the right, elbow up; Newton's steps go from here.
NEAR = (-0.3, -1.1, -2.7, 2.8, 1.0, 0.2)


@dataclass(frozen=True, eq=False)
class Run:
    """The planned motion at every tenth of a second and at the end, and the simulated one."""

    arm: Arm
    planned: Motion
    simulation: Simulation


@lru_cache(maxsize=4)
def run(duration: float | None = None) -> Run:
    """Integrated by dp45 at Mata's tolerance, the torques computed at every instant; 0.1 m/s unless a duration is given."""
    duration = math.dist(START, END) / SPEED if duration is None else duration
    arm = load_builtin("puma560-akb")
    kernel = compile(arm)
    t = np.append(np.arange(0.0, duration - 1e-9, SAMPLE), duration)
    planned = _motion(arm, kernel, t, duration, np.array(NEAR))

    def torque(now: float) -> Floats:
        row = min(int(np.searchsorted(t, now, side="right")) - 1, len(t) - 1)
        near = planned.q[row] + (now - t[row]) * planned.qd[row]
        at = _motion(arm, kernel, np.array([now]), duration, near)
        return kernel.inverse_dynamics(at.q[0], at.qd[0], at.qdd[0])

    simulation = simulate(
        arm, planned.q[0], planned.qd[0], duration, torque=torque, method="dp45", rtol=TOLERANCE, atol=TOLERANCE
    )
    return Run(arm, planned, simulation)


def _motion(arm: Arm, kernel: Kernel, t: Floats, duration: float, near: Floats) -> Motion:
    line = even(START, END, t, duration)
    return moved(arm, line, tracked(kernel, line.p, R_BASE_HAND, near))


def table_6() -> Figures:
    """Mata Table 6: mean absolute differences of the simulated from the planned motion, joint by joint."""
    made = run()
    planned, simulation = made.planned, made.simulation
    q, qd = simulation.at(planned.t)
    tau = compile(made.arm).inverse_dynamics(planned.q, planned.qd, planned.qdd)
    qdd = compile(made.arm).forward_dynamics(q, qd, tau)
    figures: Figures = {}
    for name, ours, wanted in (("q", q, planned.q), ("qd", qd, planned.qd), ("qdd", qdd, planned.qdd)):
        mean = np.abs(ours - wanted).mean(axis=0)
        figures |= {f"{name}{i}": float(value) for i, value in enumerate(mean, start=1)}
    return figures


def evaluations() -> Figures:
    """Mata Table 7: accelerations that the steps of dp45 asked for, six each and one at the start; one run for all three."""
    asked = float(6 * (len(run().simulation.t) - 1) + 1)
    return {f"{method} evaluations": asked for method in ("CRBA", "ABM", "GA")}


def ends() -> Figures:
    """Mata 5.2: how far from the end of the line the simulated hand is, at 0.1 m/s and in 5.0 s, and how fast errors grow."""
    figures: Figures = {}
    for label, made in (("0.1 m/s", run()), ("5.0 s", run(5.0))):
        hand = compile(made.arm).forward_kinematics(made.simulation.q[-1])[:3, 3]
        figures[f"distance from the end, {label}"] = float(np.linalg.norm(hand - END))
    return figures | {"growth": growth()}


def growth() -> float:
    """The factor by which errors grow in a second at 0.1 m/s: from 1 s to 3 s, root of the ratio."""
    made = run()
    apart = [np.abs(made.simulation.at(made.planned.t[k])[0] - made.planned.q[k]).max() for k in (10, 30)]
    return float(math.sqrt(apart[1] / apart[0]))
