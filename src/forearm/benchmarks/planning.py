"""Plans from state to state, seven joints without and with jerk limits: one at a time and in batches,
compared with Ruckig; and plans of arms through points, with chosen accelerations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from forearm.benchmarks.peers import wanted
from forearm.benchmarks.timing import BenchmarkRow, Work, beside, keeping
from forearm.files.load import load
from forearm.kinematics.limits import limits_of
from forearm.spatial import Floats
from forearm.trajectories import (
    MotionLimits,
    bang_bang,
    bang_bang_many,
    jerk_limited,
    jerk_limited_many,
    plan,
)

ARMS = ("panda", "puma560")
JOINTS, FEW, MANY = 7, 1000, 100_000
ONE_UNDER, EACH_UNDER = 20e-6, 0.3e-6  # s per plan, one at a time and in batches
ONE_JERK_UNDER, EACH_JERK_UNDER = 15e-6, 2e-6  # the same with jerk limits
VELOCITY, ACCELERATION = np.linspace(1.0, 2.5, JOINTS), np.linspace(2.0, 8.0, JOINTS)
JERK = 10.0 * ACCELERATION


def rows(peers: bool) -> Iterator[BenchmarkRow]:
    """The results of docs/trajectories.md; requests are random, at rest or moving at either end."""
    rng = np.random.default_rng(4)
    q0, q1 = rng.uniform(-2.5, 2.5, (2, MANY, JOINTS))
    qd0, qd1 = rng.uniform(-1.0, 1.0, (2, MANY, JOINTS)) * VELOCITY
    qdd0, qdd1 = rng.uniform(-0.5, 0.5, (2, MANY, JOINTS)) * ACCELERATION
    # all can respect their limits: at 0.8 of the maximum velocity half of the acceleration can be reduced to
    # 0
    jerky = (q0, 0.8 * qd0, qdd0, q1, 0.8 * qd1, qdd1)
    cases: tuple[tuple[str, tuple[Floats, ...], float, float], ...] = (
        ("a plan", (q0, qd0, q1, qd1), ONE_UNDER, EACH_UNDER),
        ("a jerk-limited plan", jerky, ONE_JERK_UNDER, EACH_JERK_UNDER),
    )
    for name, states, one, each in cases:
        few = tuple(x[:FEW] for x in states)
        theirs = [ruckig(x) if wanted("Ruckig", peers) else None for x in (few, states)]
        yield beside(f"{name}, one at a time", ours(few, False), theirs[0], 5, group="plans", bar=one)
        title = f"{name}, 100,000 at once"
        yield beside(title, ours(states, True), theirs[1], 3, group="plans", bar=each)
    for name in ARMS:
        for count in (2, 3):
            yield beside(f"fa.plan, {name}, {count} points", through_points(name, count), group="plans")


def through_points(name: str, count: int) -> Work:
    """A plan of an arm through points in the middle of its range, as fast as its drives allow."""
    arm = load(name)
    lower, upper = limits_of(arm)
    points = lower + (upper - lower) * np.random.default_rng(1).uniform(0.2, 0.8, (count, arm.n))
    return Work("ours", lambda: plan(arm, points), 1, lambda: points)


def ours(states: tuple[Floats, ...], together: bool) -> Work:
    """All plans, by one call or one after the other; the results are their durations. Of six states the third
    and the last are accelerations, and jerk is limited.
    """
    with_jerk = len(states) == 6
    limits = MotionLimits(ACCELERATION, VELOCITY, jerk=JERK if with_jerk else np.inf)
    single: Any = jerk_limited if with_jerk else bang_bang
    many: Any = jerk_limited_many if with_jerk else bang_bang_many
    if together:
        return keeping("ours", lambda: many(*states, limits).duration, len(states[0]))
    return keeping(
        "ours", lambda: [single(*ends, limits).duration for ends in zip(*states, strict=True)], len(states[0])
    )


def ruckig(states: tuple[Floats, ...]) -> Work:
    """The same by Ruckig, its inputs filled from Python one by one; only its calculation is timed."""
    package: Any = import_module("ruckig")
    order = len(states) // 2
    inputs = []
    for row in zip(*states, strict=True):
        request = package.InputParameter(JOINTS)
        for end, ends in (("current", row[:order]), ("target", row[order:])):
            for name, x in zip(("position", "velocity", "acceleration"), ends, strict=False):
                setattr(request, f"{end}_{name}", x.tolist())
        request.max_velocity, request.max_acceleration = VELOCITY.tolist(), ACCELERATION.tolist()
        request.max_jerk = JERK.tolist() if order == 3 else [math.inf] * JOINTS
        inputs.append(request)
    calculate, trajectory = package.Ruckig(JOINTS).calculate, package.Trajectory(JOINTS)
    durations = np.zeros(len(inputs))

    def run() -> None:
        for k, request in enumerate(inputs):
            calculate(request, trajectory)
            durations[k] = trajectory.duration

    return Work("Ruckig", run, len(inputs), lambda: durations)
