"""Inverse kinematics: all branches compared with EAIK;
numeric compared with the Robotics Toolbox, in batches, out of reach.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.arm.joint import DH, Joint, Limits
from forearm.benchmarks.peers import problem
from forearm.benchmarks.timing import BenchmarkRow, Work, beside, median_time
from forearm.files.builtin import load_builtin
from forearm.kernels.kernel import compile as compile_arm
from forearm.kinematics import forward, inverse_numeric
from forearm.spatial import inverse_pose

BRANCHED = ("puma560", "ur5", "stanford")
BATCH, PEER_BATCH = 100_000, 5000
BRANCHES_UNDER = 1e-6  # s per pose
ARMS = ("panda", "puma560", "ur5", "stanford", "chain12")
FEW, MANY = 200, 10_000
TOLERANCE = 1e-9  # m and rad
STARTS, STEPS = 64, 100
ONE_UNDER, EACH_UNDER = 100e-6, 5e-6  # s per pose, one at a time and in batches
FARTHER = 20.0  # times the distance of an arm's own poses

Floats = NDArray[np.float64]


def rows(peers: bool) -> Iterator[BenchmarkRow]:
    """The results of docs/numeric-inverse-kinematics.md;
    poses are those of random configurations within the limits.
    """
    group = "inverse kinematics"
    yield from _closed_forms(peers, group)
    panda = load_builtin("panda")
    T = _poses(panda, FEW)
    theirs = ToolboxIK(panda, T).work() if peers and problem("Robotics Toolbox") is None else None
    yield beside(
        "a pose of the Panda, one at a time",
        NumericIK(panda, T).work(),
        theirs,
        5,
        group=group,
        bar=ONE_UNDER,
    )
    for name in ARMS:
        arm = load_builtin(name)
        T = _poses(arm, MANY)
        solved = int(np.sum(inverse_numeric(arm, T).solved))
        seconds = median_time(lambda arm=arm, T=T: inverse_numeric(arm, T), 5) / MANY  # type: ignore[misc]
        yield BenchmarkRow(
            f"a pose of {name}, {MANY:,} at once, {solved:,} solved", seconds, EACH_UNDER, group=group
        )
    T = _poses(panda, FEW)
    T[:, :3, 3] *= FARTHER
    seconds = median_time(lambda: inverse_numeric(panda, T), 5) / FEW
    yield BenchmarkRow(f"a pose beyond the Panda's reach, {STARTS} starts", seconds, group=group)


def _closed_forms(peers: bool, group: str) -> Iterator[BenchmarkRow]:
    """All branches of 100,000 poses, one thread; the peer's arms are the same Denavit-Hartenberg tables."""
    for name in BRANCHED:
        arm = load_builtin(name)
        T = _poses(arm, BATCH)
        theirs = (
            Eaik(arm, T[:PEER_BATCH]).work() if peers and problem("EAIK") is None and _is_table(arm) else None
        )
        row = beside(
            f"every branch of a pose of {name}, {BATCH:,} at once",
            Branches(arm, T).work(),
            theirs,
            5,
            group=group,
        )
        yield replace(row, bar=BRANCHES_UNDER)


def _is_table(arm: Arm) -> bool:
    """Whether joints are rows of the standard convention from the base on, without offsets."""
    rows = [j.placement for j in arm.joints]
    plain = all(isinstance(row, DH) and row.convention == "standard" and row.theta == 0.0 for row in rows)
    return plain and all(j.kind == "revolute" for j in arm.joints)


class Branches:
    """All branches by the kernel;
    the compared result is the hand's pose for the first branch of each of the first poses.
    """

    def __init__(self, arm: Arm, T: Floats) -> None:
        self.arm, self.T, self.kernel = (
            arm,
            T,
            compile_arm(arm.replace(tree=tuple(_free(j) for j in arm.tree))),
        )
        self.q = np.zeros((0, 8, arm.n))

    def run(self) -> None:
        """All of them."""
        self.q = self.kernel.inverse_kinematics(self.T, threads=1)

    def answer(self) -> Floats:
        """For the poses that the peer has too."""
        first = np.array([rows[~np.isnan(rows).any(axis=1)][0] for rows in self.q[:PEER_BATCH]])
        return forward(self.arm, first)

    def work(self) -> Work:
        """The work to be timed."""
        return Work("ours", self.run, len(self.T), self.answer)


class Eaik:
    """The same by EAIK, batched, limited to one thread."""

    def __init__(self, arm: Arm, T: Floats) -> None:
        rows = [j.placement for j in arm.joints]
        alpha, a, d = np.array([(row.alpha, row.a, row.d) for row in rows if isinstance(row, DH)]).T
        self.robot = import_module("eaik.IK_DH").DhRobot(alpha, a, d)
        self.arm, self.T = arm, np.ascontiguousarray(T @ inverse_pose(arm.hand.pose))
        self.answers: list[Any] = []

    def run(self) -> None:
        """All of them."""
        self.answers = self.robot.IK_batched(self.T, 1)

    def answer(self) -> Floats:
        """The hand's pose for its first branches."""
        return forward(self.arm, np.array([found.Q[0] for found in self.answers]))

    def work(self) -> Work:
        """The work to be timed."""
        return Work("EAIK", self.run, len(self.T), self.answer)


def _free(joint: Joint) -> Joint:
    """A joint without limits, as the peer supports none."""
    return replace(joint, limits=Limits())


def _poses(arm: Arm, count: int) -> Floats:
    """Poses of random configurations, (count, 4, 4); joints without limits within half a turn."""
    lower, upper = np.array([j.limits for j in arm.joints]).T
    lower, upper = (np.where(np.isfinite(b), b, e) for b, e in ((lower, -np.pi), (upper, np.pi)))
    return forward(arm, np.random.default_rng(1).uniform(lower, upper, (count, arm.n)))


class NumericIK:
    """Poses one after the other from Python."""

    def __init__(self, arm: Arm, T: Floats) -> None:
        self.arm, self.T = arm, T
        self.q = np.zeros((len(T), arm.n))

    def run(self) -> None:
        """All of them."""
        for k, T in enumerate(self.T):
            self.q[k] = inverse_numeric(self.arm, T, tolerance=TOLERANCE, starts=STARTS, most_steps=STEPS).q

    def work(self) -> Work:
        """The work to be timed; the results are the hand's poses."""
        return Work("ours", self.run, len(self.T), lambda: forward(self.arm, self.q))


class ToolboxIK:
    """The same by the Robotics Toolbox:
    Levenberg-Marquardt in C++, random starts, within limits, to the same error.
    """

    def __init__(self, arm: Arm, T: Floats) -> None:
        toolbox = import_module("roboticstoolbox")
        parts: list[Any] = []
        for body in arm.moving.bodies:  # a chain of rotations about z
            limits = list(body.joint.limits)
            parts += [toolbox.ET.SE3(body.before), toolbox.ET.Rz(qlim=limits), toolbox.ET.SE3(body.after)]
        _, last = arm.moving.frames[arm.hand.link]
        self.chain = toolbox.ETS([*parts, toolbox.ET.SE3(last @ arm.hand.pose)])
        self.arm, self.T = arm, T
        self.q = np.zeros((len(T), arm.n))

    def run(self) -> None:
        """All of them; its error is half the sum of all squares."""
        for k, T in enumerate(self.T):
            self.q[k] = self.chain.ik_LM(T, tol=0.5 * TOLERANCE**2, slimit=STARTS, ilimit=STEPS).q

    def work(self) -> Work:
        """The work to be timed."""
        return Work("toolbox ik_LM", self.run, len(self.T), lambda: forward(self.arm, self.q))
