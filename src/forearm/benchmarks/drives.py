"""Drives with internal states: the cost of springs, backlash, bristles and sticking per step relative to the
rigid Panda, and the torques of an elastic arm; one thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.drive import Elasticity, Friction, Motor
from forearm.benchmarks.timing import BenchmarkRow, medians, relative
from forearm.files.load import load
from forearm.kernels.kernel import compile as compile_arm
from forearm.simulation.machine import simulator_of
from forearm.simulation.start import loaded

STEP, STEPS = 1e-4, 100_000
PARTS = 10  # pieces of a run, which keep its record small
STATES = 10_000
MANY, MANY_STEPS = 4096, 200
START = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7])
# assumed: a harmonic drive of size 25, ratio 100, and friction of LuGre's form
MOTOR = Motor(gear_ratio=100.0, rotor_inertia=3e-5)
SPRING: dict[str, Any] = {"stiffness": 2e4, "damping": 5.0}
CURVE = ((1e-4, 1.0), (1e-3, 15.0), (1e-2, 200.0))
STRIBECK: dict[str, Any] = {"viscous": 0.5, "coulomb": 2.0, "static": 3.0, "stribeck_speed": 0.01}
# Maximum cost of drive effects, in steps of the rigid arm.
COSTS: dict[str, tuple[float | None, dict[str, Any]]] = {
    "seven springs": (2.5, {"elasticity": Elasticity(**SPRING)}),
    "nonlinear springs": (2.5, {"elasticity": Elasticity(curve=CURVE, damping=5.0)}),
    "springs, gyroscopic rotors": (2.5, {"elasticity": Elasticity(**SPRING, rotor_axis=(0.0, 0.0, 1.0))}),
    "springs with backlash": (2.5, {"elasticity": Elasticity(**SPRING, half_gap=1e-4)}),
    "LuGre": (1.5, {"friction": Friction(**STRIBECK, bristle_stiffness=1e4, bristle_damping=20.0)}),
    "Stribeck friction, stiction": (None, {"friction": Friction(**STRIBECK)}),
}


def rows(peers: bool) -> Iterator[BenchmarkRow]:
    """The results of docs/performance.md, Elastic drives."""
    panda = load("panda").with_drives(motor=MOTOR)
    rigid = _UndrivenRun(panda)
    for name, (most, drive) in COSTS.items():
        ours, theirs = medians([_UndrivenRun(panda.with_drives(**drive)).run, rigid.run], 5)
        yield relative(f"10 s of the Panda at 0.1 ms, {name}", ours, "rigid drives", theirs, most)
    yield _sticking()
    yield from _inverse(panda.with_drives(elasticity=Elasticity(stiffness=2e4)))


def _sticking() -> BenchmarkRow:
    """A step of many PUMAs whose joints come to rest, compared with the same without friction."""
    puma, rng = load("puma560"), np.random.default_rng(0)
    q, qd = rng.uniform(-1.0, 1.0, (2, MANY, puma.n))
    qd *= rng.random((MANY, puma.n)) < 0.7
    rubbing, rigid = (compile_arm(arm) for arm in (puma, puma.rigid()))
    ours, theirs = medians(
        [
            lambda: rubbing.simulate(q, qd, steps=MANY_STEPS, step=1e-3, threads=1),
            lambda: rigid.simulate(q, 0.0 * qd, steps=MANY_STEPS, step=1e-3, threads=1),
        ],
        5,
    )
    name = f"a step of {MANY} PUMAs that come to rest, per arm"
    each = MANY * MANY_STEPS
    return relative(name, ours / each, "without friction", theirs / each, None)


def _inverse(arm: Arm) -> Iterator[BenchmarkRow]:
    """Motor torques of link motions, per state of many."""
    rng = np.random.default_rng(3)
    motion = [np.ascontiguousarray(block) for block in rng.uniform(-1.0, 1.0, (5, STATES, arm.n))]
    none = np.zeros_like(motion[0])
    k = compile_arm(arm)
    q, qd, qdd, qddd, qdddd = motion
    ours, theirs = medians(
        [
            lambda: k.elastic_inverse_dynamics(q, qd, qdd, qddd, qdddd, none, threads=1),
            lambda: k.inverse_dynamics(q, qd, qdd, threads=1),
        ],
        7,
    )
    name = "motor torques of the elastic Panda, per state of 10,000"
    yield relative(name, ours / STATES, "rigid arm", theirs / STATES, None)


class _UndrivenRun:
    """The compiled steps from a configuration where springs carry gravity, undriven."""

    def __init__(self, arm: Arm) -> None:
        self.simulator = simulator_of(arm, False, "rk4")
        self.start = loaded(self.simulator, START[None], np.zeros((1, arm.n)))
        self.u = np.zeros(arm.n)

    def run(self) -> None:
        """All steps from the start."""
        state = self.simulator.at_rest_or_moving(*self.start)
        for _ in range(PARTS):
            self.simulator.run(state, self.u, STEPS // PARTS, STEP, STEPS // PARTS, linear=False)
