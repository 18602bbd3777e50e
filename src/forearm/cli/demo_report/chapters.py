"""Further chapters of the demo: the fastest motion, an object file, a model learned from a log,
and a study of many loads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forearm.arm.arm import Arm
from forearm.cli.demo_report.motion import POSTURES, Followed
from forearm.codegen import Source, generate
from forearm.control import perturbed
from forearm.identification import identify
from forearm.spatial import Floats
from forearm.studies import Normal, Study, Uniform, Variable, sweep
from forearm.tables import Report, number
from forearm.trajectories import Plan, time_optimal

VOLTAGE = 40.0  # V, of the amplifiers; assumed
INTERVALS = 200
TARGET = "cortex-m4"
MODEL_ERROR = 0.3  # of every mass, inertia and friction value
NOISE_Q, NOISE_TAU = 1e-5, 0.02  # rad; of the largest torque of each joint
ROWS, STEP = 2000, 1e-3  # s
FIGURES = ("peak_torque.joint2", "energy", "tracking_error", "torque_margin")


@dataclass(frozen=True, eq=False)
class Learned:
    """A model before and after identification: rms torque residuals (n,), N m, and samples of the log."""

    before: Floats
    after: Floats
    samples: int

    def report(self, arm: Arm) -> Report:
        """The residuals of every joint."""
        residuals = zip(arm.joints, self.before, self.after, strict=True)
        rows = [[joint.name, number(before, 3), number(after, 3)] for joint, before, after in residuals]
        return Report(["rms torque error, N m", "model 30 % wrong", "identified model"], rows)


@dataclass(frozen=True, eq=False)
class Studied:
    """Quantiles of a study's values over its rows, and the fraction of rows that exceed a torque limit."""

    rows: int
    table: tuple[tuple[str, str, float, float, float, float], ...]  # name, unit, 5 %, median, 95 %, max
    overloaded: float

    def report(self) -> Report:
        """The quantiles."""
        rows = [[name, unit or "-", *(number(x, 3) for x in values)] for name, unit, *values in self.table]
        said = f"{self.overloaded:.0%} of the {self.rows:,} arms exceed a torque limit of the arm."
        return Report(["value", "unit", "5 %", "median", "95 %", "largest"], rows, after=[said])


@dataclass(frozen=True, eq=False)
class Chapters:
    """The results beyond one motion."""

    fastest: Plan
    board: Source
    learned: Learned
    study: Studied


def fastest(arm: Arm) -> Plan:
    """The fastest motion through the same configurations within torque and voltage limits."""
    return time_optimal(arm, POSTURES, voltage=VOLTAGE, points=INTERVALS)


def on_board(arm: Arm) -> Source:
    """Inverse dynamics as an object file for a microcontroller."""
    return generate(arm, "inverse_dynamics", target=TARGET)


def learn(followed: Followed, arm: Arm) -> Learned:
    """A wrong model, improved from a noisy log of the simulated run."""
    run, rng = followed.run, np.random.default_rng(0)
    noise = rng.normal(size=(2, *run.q.shape))
    log = {
        "t": run.t,
        "q": run.q + NOISE_Q * noise[0],
        "tau": run.tau + NOISE_TAU * np.abs(run.tau).max(axis=0) * noise[1],
    }
    found = identify(perturbed(arm, MODEL_ERROR, seed=4), log, torque_side="motor")
    return Learned(found.rms_before, found.rms, len(run.t))


def unknown_loads(made: Plan) -> Study:
    """Many arms with random payload and friction, each simulated by computed torque along the first leg of
    the plan.
    """
    name, leg = made.arm.name, made.motion.times[1]
    friction = Variable("friction", Normal(1.0, 0.2, low=0.3), of="*.friction.*", factor=True)
    variables = {"payload.mass": Uniform(0.0, 2.5), "friction": friction}
    return Study(
        f"{name} with an unknown load",
        name,
        variables,
        FIGURES,
        motion=made.motion.at(np.arange(0.0, leg, STEP)),
        step=STEP,
        law="computed_torque",
        rows=ROWS,
    )


def studied(made: Plan) -> Studied:
    """The quantiles of that study."""
    results = sweep(unknown_loads(made))
    table = []
    for figure in results.figures:
        low, median, high, largest = map(float, np.quantile(results[figure.name], (0.05, 0.5, 0.95, 1.0)))
        table.append((figure.name, figure.unit, low, median, high, largest))
    return Studied(ROWS, tuple(table), float(np.mean(results["torque_margin"] < 0.0)))
