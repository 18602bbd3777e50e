"""Inverse kinematics: all branches compared with EAIK;
numeric compared with the Robotics Toolbox, in batches, out of reach.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.joint import DH, Limits
from forearm.benchmarks.peers import wanted
from forearm.benchmarks.timing import BenchmarkRow, Work, beside, keeping, median_time
from forearm.files.builtin import load_builtin
from forearm.kernels.kernel import compile as compile_arm
from forearm.kinematics import forward, inverse_numeric
from forearm.spatial import Floats, inverse_pose

BRANCHED = ("puma560", "ur5", "stanford")
BATCH, PEER_BATCH = 100_000, 5000
BRANCHES_UNDER = 1e-6  # s per pose
ARMS = ("panda", "puma560", "ur5", "stanford", "chain12")
FEW, MANY = 200, 10_000
TOLERANCE = 1e-9  # m and rad
STARTS, STEPS = 64, 100
ONE_UNDER, EACH_UNDER = 100e-6, 5e-6  # s per pose, one at a time and in batches
FARTHER = 20.0  # times the distance of an arm's own poses


def rows(peers: bool) -> Iterator[BenchmarkRow]:
    """The results of docs/numeric-inverse-kinematics.md;
    poses are those of random configurations within the limits.
    """
    group = "inverse kinematics"
    yield from _closed_forms(peers, group)
    panda = load_builtin("panda")
    T = _poses(panda, FEW)
    ours = keeping("ours", lambda: [_solved(panda, pose) for pose in T], FEW, partial(_reached, panda))
    theirs = toolbox_ik(panda, T) if wanted("Robotics Toolbox", peers) else None
    yield beside("a pose of the Panda, one at a time", ours, theirs, 5, group=group, bar=ONE_UNDER)
    for name in ARMS:
        arm = load_builtin(name)
        T = _poses(arm, MANY)
        solved = int(np.sum(inverse_numeric(arm, T).solved))
        seconds = median_time(partial(inverse_numeric, arm, T), 5) / MANY
        title = f"a pose of {name}, {MANY:,} at once, {solved:,} solved"
        yield BenchmarkRow(title, seconds, EACH_UNDER, group=group)
    T = _poses(panda, FEW)
    T[:, :3, 3] *= FARTHER
    seconds = median_time(lambda: inverse_numeric(panda, T), 5) / FEW
    yield BenchmarkRow(f"a pose beyond the Panda's reach, {STARTS} starts", seconds, group=group)


def _solved(arm: Arm, T: Floats) -> Floats:
    return inverse_numeric(arm, T, tolerance=TOLERANCE, starts=STARTS, most_steps=STEPS).q


def _reached(arm: Arm, q: list[Floats]) -> Floats:
    """The hand's poses, which are what is compared."""
    return forward(arm, np.array(q))


def _closed_forms(peers: bool, group: str) -> Iterator[BenchmarkRow]:
    """All branches of 100,000 poses, one thread; the peer's arms are the same Denavit-Hartenberg tables."""
    for name in BRANCHED:
        arm = load_builtin(name)
        T = _poses(arm, BATCH)
        theirs = eaik(arm, T[:PEER_BATCH]) if wanted("EAIK", peers) and _is_table(arm) else None
        title = f"every branch of a pose of {name}, {BATCH:,} at once"
        yield beside(title, branches(arm, T), theirs, 5, group=group, bar=BRANCHES_UNDER)


def _is_table(arm: Arm) -> bool:
    """Whether joints are rows of the standard convention from the base on, without offsets."""
    rows = [j.placement for j in arm.joints]
    plain = all(isinstance(row, DH) and row.convention == "standard" and row.theta == 0.0 for row in rows)
    return plain and all(j.kind == "revolute" for j in arm.joints)


def branches(arm: Arm, T: Floats) -> Work:
    """All branches by the kernel, without limits, as the peer supports none;
    the compared result is the hand's pose for the first branch of each of the peer's poses.
    """
    kernel = compile_arm(arm.replace(tree=tuple(replace(j, limits=Limits()) for j in arm.tree)))

    def first(found: Floats) -> Floats:
        return _reached(arm, [rows[~np.isnan(rows).any(axis=1)][0] for rows in found[:PEER_BATCH]])

    return keeping("ours", lambda: kernel.inverse_kinematics(T, threads=1), len(T), first)


def eaik(arm: Arm, T: Floats) -> Work:
    """The same by EAIK, batched, limited to one thread."""
    rows = [j.placement for j in arm.joints]
    alpha, a, d = np.array([(row.alpha, row.a, row.d) for row in rows if isinstance(row, DH)]).T
    robot = import_module("eaik.IK_DH").DhRobot(alpha, a, d)
    poses = np.ascontiguousarray(T @ inverse_pose(arm.hand.pose))
    solve = partial(robot.IK_batched, poses, 1)
    return keeping("EAIK", solve, len(T), lambda found: _reached(arm, [each.Q[0] for each in found]))


def _poses(arm: Arm, count: int) -> Floats:
    """Poses of random configurations, (count, 4, 4); joints without limits within half a turn."""
    lower, upper = np.array([j.limits for j in arm.joints]).T
    lower, upper = (np.where(np.isfinite(b), b, e) for b, e in ((lower, -np.pi), (upper, np.pi)))
    return forward(arm, np.random.default_rng(1).uniform(lower, upper, (count, arm.n)))


def toolbox_ik(arm: Arm, T: Floats) -> Work:
    """The same by the Robotics Toolbox: Levenberg-Marquardt in C++, random starts, within limits, to the same
    error, which is half the sum of all squares.
    """
    toolbox = import_module("roboticstoolbox")
    parts: list[Any] = []
    for body in arm.moving.bodies:  # a chain of rotations about z
        limits = list(body.joint.limits)
        parts += [toolbox.ET.SE3(body.before), toolbox.ET.Rz(qlim=limits), toolbox.ET.SE3(body.after)]
    _, last = arm.moving.frames[arm.hand.link]
    chain = toolbox.ETS([*parts, toolbox.ET.SE3(last @ arm.hand.pose)])
    solve = partial(chain.ik_LM, tol=0.5 * TOLERANCE**2, slimit=STARTS, ilimit=STEPS)
    return keeping("toolbox ik_LM", lambda: [solve(pose).q for pose in T], len(T), partial(_reached, arm))
