"""Mata 5.2: the PUMA's hand on a straight line, simulated open-loop under its inverse-dynamics torques.

The paper omits the inertias, the tool and the integrator's details. Here: puma560-akb, rigid, the tool point
at the wrist centre, and our dp45.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

import numpy as np

from forearm.arm.arm import Arm
from forearm.dynamics import forward
from forearm.files.builtin import load_builtin
from forearm.kernels import Kernel, compile
from forearm.kinematics import velocity
from forearm.reproduce.lines import JointMotion, even, moved, tracked
from forearm.reproduce.recompute import Figures
from forearm.reproduce.recompute.fehlberg import Attempts, StepControl, restarted
from forearm.simulation import Simulation, simulate
from forearm.simulation.adaptive import integrate
from forearm.simulation.arguments import Accuracy
from forearm.simulation.methods import rate_of
from forearm.spatial import Floats, rotation_rpy
from forearm.values import frozen

START, END, SPEED = (0.50, 0.00, 0.05), (0.62, 0.30, 0.11), 0.1  # m, m, m/s
DURATION = 5.0  # s, as printed, though 0.1 m/s takes 3.29 s
TOLERANCE, SAMPLE = 1e-6, 0.1  # integration tolerance; interval in s at which states are compared
# Euler angles z-y-z of 0, 90, 180 degrees: the hand points along x of the base.
R_BASE_HAND = np.array([[0.0, 0.0, 1.0], [0.0, -1.0, 0.0], [1.0, 0.0, 0.0]])

# Assumed: of the eight solutions, arm to the right, elbow up; the initial guess of Newton's method.
NEAR = (-0.3, -1.1, -2.7, 2.8, 1.0, 0.2)


@frozen
class LineRun:
    """The planned motion, sampled every 0.1 s and at the end, and the simulation."""

    arm: Arm
    planned: JointMotion
    simulation: Simulation


@frozen
class Stepwise:
    """The planned motion, simulated q and qd at its times (the integration restarts at each),
    and the number of acceleration evaluations.
    """

    arm: Arm
    planned: JointMotion
    q: Floats
    qd: Floats
    evaluations: int


@lru_cache(maxsize=4)
def run(duration: float | None = None) -> LineRun:
    """Simulate with dp45 at Mata's tolerance, torques computed at every evaluation;
    duration in s (default: that of 0.1 m/s).
    """
    duration = math.dist(START, END) / SPEED if duration is None else duration
    arm, planned, torque = _driven(duration)
    simulation = simulate(
        arm,
        planned.q[0],
        planned.qd[0],
        duration,
        torque=torque,
        method="dp45",
        accuracy=Accuracy(rtol=TOLERANCE, atol=TOLERANCE),
    )
    return LineRun(arm, planned, simulation)


@lru_cache(maxsize=1)
def stepwise() -> Stepwise:
    """The same in Mata's 5.0 s, with the integration restarted every 0.1 s."""
    arm, planned, torque = _driven(DURATION)
    kernel, asked = compile(arm), 0

    def acceleration(t: float, q: Floats, qd: Floats) -> Floats:
        nonlocal asked
        asked += 1
        return kernel.forward_dynamics(q, qd, torque(t))

    states = [(planned.q[0], planned.qd[0])]
    for start, end in pairwise(planned.t):
        part = integrate(
            acceleration, start, end, *states[-1], rtol=TOLERANCE, atol_q=TOLERANCE, atol_qd=TOLERANCE
        )
        states.append((part.q[-1], part.qd[-1]))
    q, qd = (np.array(rows) for rows in zip(*states, strict=True))
    return Stepwise(arm, planned, q, qd, asked)


def _driven(duration: float) -> tuple[Arm, JointMotion, Callable[[float], Floats]]:
    """The arm, its planned motion sampled every 0.1 s, and the torque of its inverse dynamics over time."""
    arm = load_builtin("puma560-akb")
    kernel = compile(arm)
    t = np.append(np.arange(0.0, duration - 1e-9, SAMPLE), duration)
    planned = _motion(arm, kernel, t, duration, np.array(NEAR))

    def torque(now: float) -> Floats:
        row = min(int(np.searchsorted(t, now, side="right")) - 1, len(t) - 1)
        near = planned.q[row] + (now - t[row]) * planned.qd[row]
        at = _motion(arm, kernel, np.array([now]), duration, near)
        return kernel.inverse_dynamics(at.q[0], at.qd[0], at.qdd[0])

    return arm, planned, torque


def _motion(arm: Arm, kernel: Kernel, t: Floats, duration: float, near: Floats) -> JointMotion:
    line = even(START, END, t, duration)
    return moved(arm, line, tracked(kernel, line.p, R_BASE_HAND, near))


def table_6() -> Figures:
    """Mata Table 6: mean absolute difference between simulated and planned motion, per joint."""
    made = stepwise()
    planned, kernel = made.planned, compile(made.arm)
    qdd = kernel.forward_dynamics(
        made.q, made.qd, kernel.inverse_dynamics(planned.q, planned.qd, planned.qdd)
    )
    rows = {"q": (made.q, planned.q), "qd": (made.qd, planned.qd), "qdd": (qdd, planned.qdd)}
    means = {name: np.abs(ours - wanted).mean(axis=0) for name, (ours, wanted) in rows.items()}
    return {f"{name}{i}": value for name, mean in means.items() for i, value in enumerate(mean, start=1)}


def evaluations() -> Figures:
    """Mata Table 7: acceleration evaluations of Fehlberg's pair; one run stands for all three methods,
    whose accelerations agree to rounding.
    """
    return {f"{method} evaluations": by_fehlberg().evaluations for method in ("CRBA", "ABM", "GA")}


@lru_cache(maxsize=32)
def by_fehlberg(control: StepControl | None = None) -> Attempts:
    """The run of Table 6 with Fehlberg's six-stage pair, restarted every 0.1 s with a step of 0.1 s."""
    arm, planned, torque = _driven(DURATION)
    kernel = compile(arm)
    rate = rate_of(lambda t, q, qd: kernel.forward_dynamics(q, qd, torque(t)))
    start = np.stack([planned.q[0], planned.qd[0]])
    return restarted(rate, planned.t, start, TOLERANCE, control or StepControl())


def agreement() -> Figures:
    """Mata 5.2: accelerations along the run by the three methods, as largest difference
    over largest value.
    """
    made = stepwise()
    planned, arm = made.planned, made.arm
    tau = compile(arm).inverse_dynamics(planned.q, planned.qd, planned.qdd)
    by_gibbs = forward(arm, made.q, made.qd, tau, method="gibbs-appell")
    methods = {"CRBA": "composite-body", "ABM": "articulated-body"}
    by = {name: forward(arm, made.q, made.qd, tau, method=method) for name, method in methods.items()}
    return {
        f"{name} against GA": np.abs(x - by_gibbs).max() / np.abs(by_gibbs).max() for name, x in by.items()
    }


def task() -> Figures:
    """Mata 5.2: angular velocity of the planned hand, and its orientation against the printed angles."""
    made = run()
    w = velocity(made.arm, made.planned.q, made.planned.qd)[1]
    reached = compile(made.arm).forward_kinematics(made.planned.q)[:, :3, :3]
    quarter, half = (rotation_rpy(angles) for angles in ((0.0, math.pi / 2.0, 0.0), (0.0, 0.0, math.pi)))
    return {
        "turning of the hand, rad/s": np.abs(w).max(),
        "attitude against Z, Y, Z by 0, 90, 180 degrees": np.abs(quarter @ half - reached).max(),
    }


def ends() -> Figures:
    """Mata 5.2: distance of the simulated hand from the end of the line, at 0.1 m/s and in 5.0 s,
    and the growth of the error per second.
    """
    kernel = compile(run().arm)
    reached = {
        "0.1 m/s": run().simulation.q[-1],
        "5.0 s": run(DURATION).simulation.q[-1],
        "5.0 s, anew": stepwise().q[-1],
    }
    return {
        f"distance from the end, {label}": np.linalg.norm(kernel.forward_kinematics(q)[:3, 3] - END)
        for label, q in reached.items()
    } | {"growth": growth()}


def growth() -> float:
    """The factor by which the error grows per second at 0.1 m/s: square root of its ratio from 1 s to 3 s."""
    made = run()
    apart = [np.abs(made.simulation.at(made.planned.t[k])[0] - made.planned.q[k]).max() for k in (10, 30)]
    return float(math.sqrt(apart[1] / apart[0]))
