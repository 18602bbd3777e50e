"""Simulations: 10 s of the Panda compared with MuJoCo, the cost of drives on the PUMA, runs to a tolerance,
ten thousand arms at once; one thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib import import_module

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.drive import Bearing, Transmission
from forearm.benchmarks import adaptive
from forearm.benchmarks.peers import wanted
from forearm.benchmarks.timing import BenchmarkRow, Work, beside, keeping, median_time, medians, relative
from forearm.benchmarks.work import each_joint
from forearm.files.builtin import load_builtin
from forearm.files.urdf_write import urdf_text
from forearm.kernels.kernel import compile as compile_arm
from forearm.simulation.machine import simulator_of
from forearm.simulation.many import simulate_many
from forearm.simulation.run import simulate
from forearm.spatial import Floats

STEP, STEPS = 1e-3, 10_000
COMPARED = 100  # steps after which results are compared: in 10 s an undriven arm amplifies the last bit
MANY, MANY_STEPS = 10_000, 1000
FASTER = 10.0  # times as fast as MuJoCo
MANY_UNDER = 3.0  # s
# Maximum cost of drive effects, in simulations of the rigid arm.
COSTS = {"motors, viscous, Coulomb": 2.5, "the same and gears": 2.5, "the same and bearings": 6.0}
GEAR = Transmission(efficiency=((0.1, 0.7), (1.0, 0.85)), rated_torque=100.0, breakaway=0.3)
PUSH = np.array([80.0, 150.0, 80.0, 20.0, 20.0, 20.0])  # N m
BEARING = Bearing(kind="journal", mu=0.01, radius=0.02, distance=0.2)


def rows(peers: bool) -> Iterator[BenchmarkRow]:
    """The results of docs/performance.md, Simulation."""
    panda, rng = load_builtin("panda").rigid(), np.random.default_rng(1)
    q, qd = rng.uniform(-1.0, 1.0, (2, panda.n))
    theirs = MuJoCoRollout(panda, q, qd) if wanted("MuJoCo", peers) else None
    work = None if theirs is None else theirs.work()
    alone = Alone(panda, q, qd)
    ours = Work("ours", alone.run, 1, lambda: alone.record[0][0, COMPARED])
    row = beside("10 s of the Panda, steps alone", ours, work, 5, group="simulation", at_least=FASTER)
    yield row
    whole = partial(simulate, panda, q, qd, STEPS * STEP, method="rk4", step=STEP)
    kept = keeping("ours", whole, 1, lambda found: found.q[COMPARED])
    yield beside("the same with fa.simulate", kept, work, 5, group="simulation")
    drift = _drift(panda, *(block[0] for block in alone.record))
    yield BenchmarkRow(f"energy drift {drift:.3g} J", row.seconds, group="simulation")
    if theirs is not None and row.peer_seconds is not None:
        drift = _drift(panda, *theirs.motion())
        yield BenchmarkRow(f"MuJoCo's energy drift {drift:.3g} J", row.peer_seconds, group="simulation")
    yield from _costs()
    yield from adaptive.rows(peers)
    qs, qds = rng.uniform(-1.0, 1.0, (2, MANY, panda.n))
    seconds = median_time(lambda: simulate_many(panda, qs, qds, MANY_STEPS * STEP, step=STEP), 3)
    yield BenchmarkRow("10,000 Pandas, 1 s each at 1 ms", seconds, MANY_UNDER, group="simulation")


def _costs() -> Iterator[BenchmarkRow]:
    """The PUMA with more and more of its drives;
    the peer is the rigid arm, so that the ratio is one over the cost.
    """
    puma = load_builtin("puma560")
    geared = each_joint(puma, transmission=GEAR)
    arms = dict(zip(COSTS, (puma, geared, each_joint(geared, bearings=(BEARING,))), strict=True))
    q, qd = np.random.default_rng(2).uniform(-1.0, 1.0, (2, puma.n))
    t = STEP * np.arange(STEPS + 1)[:, None]
    u = PUSH * np.sin(t * np.linspace(5.0, 9.0, puma.n))  # so that joints move, most of the time
    rigid = Alone(puma.rigid(), q, qd)  # without friction these torques would make it diverge
    for name, arm in arms.items():
        ours, theirs = medians([Alone(arm, q, qd, u).run, rigid.run], 5)
        yield relative(f"10 s of the PUMA, {name}", ours, "rigid", theirs, COSTS[name], group="drives")


class Alone:
    """Only the compiled steps and their record, driven by torques or undriven."""

    def __init__(self, arm: Arm, q: Floats, qd: Floats, u: Floats | None = None) -> None:
        self.q, self.qd, self.u = q, qd, np.zeros(arm.n) if u is None else u
        self.simulator = simulator_of(arm, False, "rk4")
        self.record: tuple[Floats, Floats] = (np.zeros(0), np.zeros(0))

    def run(self) -> None:
        """All steps from the start."""
        state = self.simulator.at_rest_or_moving(self.q[None], self.qd[None])
        self.record = self.simulator.run(state, self.u, STEPS, STEP, 1, linear=False)


class MuJoCoRollout:
    """The same arm from URDF, RK4, constraints off; its steps in a loop of its own C (rollout)."""

    def __init__(self, arm: Arm, q: Floats, qd: Floats) -> None:
        self.mujoco, self.rollout = import_module("mujoco"), import_module("mujoco.rollout")
        self.model = self.mujoco.MjModel.from_xml_string(urdf_text(arm))
        self.model.opt.disableflags |= self.mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        self.model.opt.integrator = self.mujoco.mjtIntegrator.mjINT_RK4
        self.model.opt.timestep = STEP
        self.arm, self.data = arm, self.mujoco.MjData(self.model)
        self.data.qpos[:], self.data.qvel[:] = q, qd
        size = self.mujoco.mj_stateSize(self.model, self.mujoco.mjtState.mjSTATE_FULLPHYSICS)
        self.start = np.zeros(size)
        self.mujoco.mj_getState(self.model, self.data, self.start, self.mujoco.mjtState.mjSTATE_FULLPHYSICS)
        self.states = np.zeros((1, STEPS, size))

    def run(self) -> None:
        """All steps from the start."""
        self.states, _ = self.rollout.rollout(self.model, self.data, self.start[None], nstep=STEPS)

    def work(self) -> Work:
        """The work to be timed."""
        return Work("MuJoCo rollout", self.run, 1, lambda: self.states[0, COMPARED - 1, 1 : 1 + self.arm.n])

    def motion(self) -> tuple[Floats, Floats]:
        """All of its positions and velocities."""
        n, states = self.arm.n, np.concatenate([self.start[None], self.states[0]])
        return states[:, 1 : 1 + n], states[:, 1 + n : 1 + 2 * n]


def _drift(arm: Arm, q: Floats, qd: Floats) -> float:
    """Maximum deviation of the energy of an undriven arm from its initial value."""
    both = compile_arm(arm).fused(["kinetic_energy", "potential_energy"])(
        np.ascontiguousarray(q), np.ascontiguousarray(qd)
    )
    total = both["kinetic"] + both["potential"]
    return float(np.abs(total - total[0]).max())
