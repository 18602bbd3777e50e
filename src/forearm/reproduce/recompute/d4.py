"""The simulation program of Dhanaraj D.4, rerun: its initial state, its integrator, and a line of our own."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.dh import from_dh
from forearm.dynamics import inverse
from forearm.reproduce.lines import JointMotion, Positioning, half_sine, moved
from forearm.reproduce.recompute import Figures
from forearm.reproduce.recompute.dhanaraj import d4_arm
from forearm.simulation import Schedule, Simulation, simulate
from forearm.simulation.arguments import Accuracy
from forearm.simulation.methods import tableau_of
from forearm.spatial import pose

DURATION, STEP, ROW = 2.0, 0.02, 0.01  # s; ROW is the sampling time of the torque table
TIP = (0.4, 0.1, 0.1)  # m, initial position of the tip
TURN = 2.0 * math.pi
# Lengths of D.1.3, second root of q1, first of q3. The hand is at +y of frame 3 here,
# though the 10 kg are at -y.
GEOMETRY = Positioning(upper=0.4318, fore=0.4318, offset=0.127, roots=(-1.0, 1.0))

# Assumed: the line, as neither trajectory nor torques are in the document.
END = (0.4, 0.3, 0.3)  # m
RTOL, ATOL = 1e-11, 1e-12  # of dp45


def start() -> Figures:
    """Dhanaraj D.4, DATA Y: the joint angles for the tip at (0.4, 0.1, 0.1)."""
    q1, q2, q3 = GEOMETRY.joints(np.array([TIP]))[0].tolist()
    return {"q1": q1 + TURN, "q2": q2, "q3": q3}


def gill() -> Figures:
    """Dhanaraj D.4, subroutine RUNGE: constants of Gill's method from our tableau, and its measured order."""
    _, a, _ = tableau_of("gill").floats
    return {"first A": a[1][0], "second A": a[2][1], "third A": a[3][2], "order": order()}


def order() -> float:
    """The order of Gill's method on D.4's arm falling from its initial state, from halving the step."""
    run = partial(simulate, d4_arm(16.04), list(start().values()), np.zeros(3), 0.4)
    truth = run(method="dp87", accuracy=Accuracy(rtol=1e-12, atol=1e-13)).q[-1]
    coarse, fine = (np.abs(run(method="gill", step=h).q[-1] - truth).max() for h in (0.01, 0.005))
    return math.log2(coarse / fine)


def rerun() -> Figures:
    """Dhanaraj D.4: torques along a line, sampled every 0.01 s and integrated by Gill's method in steps of
    0.02 s and by dp45.
    """
    motion = planned()
    by_gill, by_dp45 = run("gill"), run("dp45")
    end = by_dp45.q[-1]
    return {
        "Gill, from dp45 at the end": np.abs(by_gill.q[-1] - end).max(),
        "Gill, from the line, largest": np.abs(by_gill.q - motion.q[::2]).max(),
        "dp45, from the line at the end": np.abs(end - motion.q[-1]).max(),
    }


def planned() -> JointMotion:
    """The joint motion along the assumed line, sampled as in the program's tables."""
    t = np.linspace(0.0, DURATION, round(DURATION / ROW) + 1)
    line = half_sine(TIP, END, t, DURATION)
    return moved(_hand(), line, GEOMETRY.joints(line.p))


def run(method: str) -> Simulation:
    """The motion under the torques of the planned motion."""
    arm, motion = d4_arm(16.04), planned()
    table = Schedule(times=motion.t, values=inverse(arm, motion.q, motion.qd, motion.qdd), how="linear")
    return simulate(
        arm,
        motion.q[0],
        motion.qd[0],
        DURATION,
        torque=table,
        method=method,
        step=STEP,
        accuracy=Accuracy(rtol=RTOL, atol=ATOL),
    )


def _hand() -> Arm:
    """An arm with the lengths of D.1.3, for its Jacobian."""
    table = [(0.0, 0.0, 0.0, 0.0), (0.0, -math.pi / 2, GEOMETRY.offset, 0.0), (GEOMETRY.upper, 0.0, 0.0, 0.0)]
    arm = from_dh("pumakin", table, convention="modified", mass=[0.0, 0.0, 0.0])
    return arm.replace(hand=pose(p=(0.0, GEOMETRY.fore, 0.0)))
