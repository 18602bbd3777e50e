"""Campaigns: rows that differ in payload and friction compared with one arm in all rows, one thread; a
complete study compared with the kernel that computes it, all threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.drive import Friction
from forearm.benchmarks.timing import BenchmarkRow, medians, relative
from forearm.files.builtin import load_builtin
from forearm.simulation.many import simulate_many
from forearm.simulation.row_parameters import row_arm
from forearm.spatial import Floats
from forearm.studies.engines.sweep import sweep
from forearm.studies.rows.evaluation import RowEvaluation
from forearm.studies.sampling.distributions import Uniform
from forearm.studies.study import Study

ROWS, STEP, STEPS = 4000, 1e-3, 1000
# simulations of a study, and the share of the kernel's throughput that it should reach
SIMULATIONS, THROUGHPUT = 100_000, 0.9
COST = 1.3  # maximum slowdown compared with one arm in all rows
MOVED = 0.5  # friction parameters vary by this share of their values
USUAL = Friction(viscous=0.3, coulomb=0.5)  # of an arm whose file has none


def rows(peers: bool) -> Iterator[BenchmarkRow]:
    """The results of docs/performance.md, campaigns: seconds per step and row."""
    for name in ("puma560", "panda"):
        arm = load_builtin(name)
        arm = arm if any(joint.friction for joint in arm.joints) else arm.with_drives(friction=USUAL)
        yield _beside_one_arm(name, arm, {})
        yield _beside_one_arm(f"{name} with figures", arm, {"summaries": ["peak_torque", "work"]})
    yield _study_beside_its_kernel()


def _beside_one_arm(name: str, arm: Arm, asked: dict[str, Any]) -> BenchmarkRow:
    """The peer is the arm of the first row, with its payload, in all rows."""
    rng = np.random.default_rng(1)
    q, qd = rng.uniform(-0.5, 0.5, (2, ROWS, arm.n))
    different = _parameters(arm, rng)
    alone = row_arm(arm, {key: float(x[0]) for key, x in different.items()})
    run: dict[str, Any] = {"step": STEP, "threads": 1, **asked}

    works = [
        lambda: simulate_many(arm, q, qd, STEPS * STEP, parameters=different, **run),
        lambda: simulate_many(alone, q, qd, STEPS * STEP, **run),
    ]
    seconds, theirs = (t / ROWS / STEPS for t in medians(works, 5))
    return relative(f"a step of {name}, rows differ", seconds, "one arm", theirs, COST, group="campaigns")


def _parameters(arm: Arm, rng: np.random.Generator) -> dict[str, Floats]:
    made = {"payload.mass": rng.uniform(0.1, 2.0, ROWS)}
    made |= {f"payload.com.{axis}": rng.uniform(-0.1, 0.1, ROWS) for axis in "xyz"}
    for key, x in arm.named_values.items():
        if ".friction." in key:
            made[key] = x * rng.uniform(1.0 - MOVED, 1.0 + MOVED, ROWS)
    return made


def _study_beside_its_kernel() -> BenchmarkRow:
    """A study in a folder, compared with one kernel call for all of its rows that stores nothing."""
    q0, q1 = [0.0, -0.5, 0.5, 0.0, 0.3, 0.0], [1.0, -1.2, 1.2, 0.5, -0.3, 0.8]
    study = Study(
        "campaign",
        "puma560",
        {"payload.mass": Uniform(0.0, 2.0), "joint2.friction.viscous": Uniform(0.0, 0.002)},
        ["peak_torque", "energy", "tracking_error"],
        motion=[q0, q1],
        settle=0.5,
        law="computed_torque",
        rows=SIMULATIONS,
    )
    evaluation = RowEvaluation(study, threads=None)
    values = study.values()
    works = [lambda: sweep(study), lambda: evaluation.figures(values)]
    seconds, theirs = (t / SIMULATIONS for t in medians(works, 3))
    name = f"a study of {SIMULATIONS} simulations, each"
    return relative(name, seconds, "kernel", theirs, 1.0 / THROUGHPUT, group="campaigns")
