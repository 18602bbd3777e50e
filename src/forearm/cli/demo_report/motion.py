"""The motion of the demo: planned through four configurations, its torques, and how the arm follows
it under a controller.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from forearm.arm.arm import Arm
from forearm.charts import Band, Chart, Curve, Mark, look
from forearm.control import without_friction
from forearm.kernels.kernel import Kernel
from forearm.kernels.kernel import compile as compile_arm
from forearm.simulation import Simulation, simulate
from forearm.simulation.arguments import Controller
from forearm.spatial import Floats
from forearm.tables import Report, number
from forearm.trajectories import Plan, Request, Waypoint, plan

POSTURES = np.radians(
    [[-60, -10, 10, 0, 0, 0], [0, 40, -60, 60, 50, -60], [70, -30, 40, -40, -50, 90], [-60, -10, 10, 0, 0, 0]]
)
VELOCITY = (1.6, 1.2, 1.6, 2.5, 2.5, 2.5)  # rad/s
ACCELERATION = (4.0, 3.0, 4.0, 6.0, 6.0, 6.0)  # rad/s^2
# rad/s: stiffness and damping of the feedback, critically damped on each joint's own inertia
BANDWIDTH = 20.0


@dataclass(frozen=True, eq=False)
class Torques:
    """One motion's torques over time, (m, n): of the rigid arm, with its rotors,
    and with rotors and friction.
    """

    t: Floats
    rigid: Floats
    smooth: Floats
    real: Floats

    @cached_property
    def peaks(self) -> Floats:
        """The largest size of each, (n, 3)."""
        return np.column_stack([np.abs(block).max(axis=0) for block in (self.rigid, self.smooth, self.real)])

    def report(self, arm: Arm) -> Report:
        """The largest torques of every joint, and curves of those with and without friction."""
        rows = [
            [joint.name, *(number(x, 3) for x in peaks)]
            for joint, peaks in zip(arm.joints, self.peaks, strict=True)
        ]
        header = ["largest torque, N m", "rigid links only", "with rotors", "with rotors and friction"]
        charts = []
        for i, joint in enumerate(arm.joints):
            without, with_ = self.smooth[:, i], self.real[:, i]
            area = Band(self.t, without, with_, "difference due to friction", 0, 0.16)
            marks: list[Mark] = [
                area,
                Curve(self.t, without, "without", look(1)),
                Curve(self.t, with_, "with friction"),
            ]
            unit = "N m" if joint.kind == "revolute" else "N"
            charts.append(Chart("time, s", f"torque, {unit}", marks, joint.name))
        return Report(header, rows, charts=charts)


@dataclass(frozen=True, eq=False)
class Followed:
    """A run of the real arm under a controller, and how far its hand was from the plan at most, in m."""

    run: Simulation
    off: float


def planned(arm: Arm) -> Plan:
    """The motion, for an arm of six revolute joints."""
    points = tuple(Waypoint(q=q) for q in POSTURES)
    return plan(
        arm, Request(points, velocity=np.array(VELOCITY), acceleration=np.array(ACCELERATION), name="demo")
    )


def torques(made: Plan) -> Torques:
    """The torques that a plan needs, and what they would be without friction, and without rotors too."""
    rigid, smooth = (
        compile_arm(arm).inverse_dynamics(made.q, made.qd, made.qdd)
        for arm in (made.arm.rigid(), without_friction(made.arm))
    )
    return Torques(made.t, rigid, smooth, made.tau)


def follow(made: Plan, believed: Arm) -> Followed:
    """The real arm moved along a plan: torques of the arm that the controller believes in,
    and the same weak feedback.
    """
    kernel = compile_arm(made.arm)
    run = simulate(
        made.arm,
        made.q[0],
        np.zeros(made.arm.n),
        made.duration,
        controller=_controller(made, compile_arm(believed), kernel),
    )
    hand, wanted = (kernel.forward_kinematics(q)[:, :3, 3] for q in (run.q, made.motion.at(run.t)[0]))
    return Followed(run, float(np.linalg.norm(hand - wanted, axis=1).max()))


def _controller(made: Plan, believed: Kernel, real: Kernel) -> Controller:
    """tau = inverse dynamics of the plan + K (q_plan - q) + D (qd_plan - qd)."""
    inertia = np.diag(real.inertia_matrix(made.q[0]))
    stiffness, damping = BANDWIDTH**2 * inertia, 2.0 * BANDWIDTH * inertia

    def answer(t: float, q: Floats, qd: Floats) -> Floats:
        wanted_q, wanted_qd, wanted_qdd = made.motion.at(min(t, made.duration))
        ahead = believed.inverse_dynamics(wanted_q, wanted_qd, wanted_qdd)
        torque: Floats = ahead + stiffness * (wanted_q - q) + damping * (wanted_qd - qd)
        return torque

    return answer
