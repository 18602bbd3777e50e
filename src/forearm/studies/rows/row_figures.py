"""Figures of rows that share arm, motion and law: simulated, required by the motion, or of the design."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.with_values import GEOMETRY
from forearm.errors import ForearmError, InputError
from forearm.kernels.kernel import Kernel
from forearm.kernels.kernel import compile as compile_arm
from forearm.kernels.rollout_summary import StepView
from forearm.kinematics.manipulability import manipulability
from forearm.simulation.many import simulate_many
from forearm.simulation.row_parameters import open_names, row_values
from forearm.simulation.summaries import QUANTITIES
from forearm.spatial import Floats
from forearm.studies.catalogue import LIMITS
from forearm.studies.figures import REQUIRED, Column
from forearm.studies.reference_motion import ReferenceMotion
from forearm.studies.rows.row_setup import RowSetup
from forearm.trajectories.shortest_time.time_optimal import time_optimal

POSTURES = 64  # states per motion for manipulability
PATH_POINTS = 40  # states per motion when re-timing its path
AT_ONCE = 100_000  # states per call when computing torques along motions


class RowFigures:
    """The columns of some rows; intermediate results shared by columns are computed once."""

    def __init__(self, setup: RowSetup, threads: int | None) -> None:
        self.setup, self.threads = setup, threads
        self._found: dict[bool, Mapping[str, Floats]] = {}

    def column(self, column: Column) -> Floats:
        """One column, (B,)."""
        figure = column.figure
        if not figure.needs:
            return OF_DESIGN[figure.name](self.setup)
        found = self._needed(figure.is_required)[figure.needs[0]]
        name = figure.name.removeprefix(REQUIRED)
        if name == "tracking_error":
            return np.asarray(np.sqrt(np.mean(found * found, axis=1)))
        if name.endswith("_margin") and name != "limit_margin":
            return _margin(self.setup, name, found)
        if name == "limit_time":
            return np.where(np.isinf(found), self.setup.duration, found)
        return found if column.joint is None else found[:, column.joint]

    def _needed(self, is_required: bool) -> Mapping[str, Floats]:
        """Intermediate results of one kind, by name."""
        if is_required not in self._found:
            wanted = dict.fromkeys(
                need
                for column in self.setup.study.columns
                for need in column.figure.needs
                if column.figure.is_required == is_required
            )
            self._found[is_required] = (self._required if is_required else self._simulated)([*wanted])
        return self._found[is_required]

    def _simulated(self, wanted: list[str]) -> Mapping[str, Floats]:
        """Figures accumulated in rollouts."""
        setup, run = self.setup, self.setup.study.run
        made = simulate_many(
            setup.arm,
            *setup.start(),
            setup.duration,
            method=run.method,
            step=run.step,
            parameters=setup.numbers.parameters or None,
            summaries=wanted,
            effort_limits=run.effort_limits,
            dtype=run.dtype,
            device=run.device,
            threads=self.threads,
            check_steps=False,  # once per study, by its check
            **setup.driving(),
        )
        return {name: np.asarray(x, dtype=np.float64) for name, x in made.summaries.items()}

    def _required(self, wanted: list[str]) -> Mapping[str, Floats]:
        """Figures required by the motion itself, by inverse dynamics at every step."""
        motion, count = self.setup.motion, self.setup.count
        assert motion is not None
        size = max(AT_ONCE // motion.steps, 1)
        parts: dict[str, list[Floats]] = {name: [] for name in wanted}
        for first in range(0, count, size):
            samples = self._samples(motion, slice(first, min(first + size, count)))
            for name in wanted:
                found = QUANTITIES[name].over(samples)
                parts[name].append(found[:, 0] if QUANTITIES[name].size == 1 else found)
        return {name: np.concatenate(some) for name, some in parts.items()}

    def _samples(self, motion: ReferenceMotion, rows: slice) -> StepView:
        """A motion of some rows in the layout of figures, arrays (rows, steps) for each joint."""
        arm, step = self.setup.arm, self.setup.study.run.step
        count, T, n = rows.stop - rows.start, motion.steps + 1, arm.n
        given = {name: x[rows] for name, x in self.setup.numbers.parameters.items()}
        names = open_names(arm, given)
        states, parameters = [motion.q, motion.qd, motion.qdd], None
        if names:
            own = row_values(arm, given, count)
            parameters = {name: np.repeat(np.broadcast_to(x, (count,)), T) for name, x in own.items()}
            states = [np.tile(x, (count, 1)) for x in states]
        q, qd, qdd = states
        tau = _opened(arm, names).inverse_dynamics(q, qd, qdd, threads=self.threads, parameters=parameters)
        torques = np.broadcast_to(tau.reshape(-1, T, n), (count, T, n)).transpose(2, 0, 1)
        by_joint = [np.broadcast_to(x, (count, T, n)).transpose(2, 0, 1) for x in (motion.q, motion.qd)]
        now, after = [[x[..., :-1] for x in by_joint], [x[..., 1:] for x in by_joint]]
        return StepView(
            t=step * np.arange(T - 1.0),
            h=step,
            q=now[0],
            qd=now[1],
            q_next=after[0],
            qd_next=after[1],
            u=torques[..., :-1],
            reference=(),
            model=None,  # type: ignore[arg-type]  # no figure of a motion alone asks for it
            constants=_constants(self.setup, rows),
            torques=lambda qd: list(torques[..., :-1] if qd is now[1] else torques[..., 1:]),
        )


def _constants(setup: RowSetup, rows: slice) -> Callable[[int], tuple[Any, Any]]:
    """N Kt and R of motor j by row."""

    def of(j: int) -> tuple[Any, Any]:
        joint = setup.arm.joints[j]
        N, Kt, R = (
            setup.parameter(f"{joint.name}.motor.{key}", float(getattr(joint.motor, key)))[rows, None]
            for key in ("gear_ratio", "torque_constant", "resistance")
        )
        return N * Kt, R

    return of


def _margin(setup: RowSetup, name: str, found: Floats) -> Floats:
    """1 minus the largest utilisation of a limit, over the joints that have one."""
    limits = _limits(setup, name.removesuffix("_margin"))
    shares = [found[:, j] / limit for j, limit in limits.items()]
    return np.asarray(1.0 - np.max(np.stack(np.broadcast_arrays(*shares)), axis=0))


def _limits(setup: RowSetup, what: str) -> dict[int, Any]:
    """The limits of joints that have one, a scalar or (B,)."""
    made: dict[int, Any] = {}
    for j, joint in enumerate(setup.arm.joints):
        chosen = setup.numbers.motors.get(j)
        if chosen is not None and what in LIMITS:
            known = {name: getattr(m, LIMITS[what]) or math.inf for name, m in setup.study.motors.items()}
            made[j] = np.array([known[name] for name in chosen])
            continue
        limit = {"torque": joint.max_effort, "speed": joint.max_speed}.get(what)
        if what in LIMITS and joint.motor is not None:
            limit = getattr(joint.motor, LIMITS[what], None)
        if limit is not None and math.isfinite(limit):
            made[j] = limit
    return made


def _manipulability(setup: RowSetup) -> Floats:
    """The minimum along the motion."""
    assert setup.motion is not None
    q = setup.motion.q[np.unique(np.linspace(0, setup.motion.steps, POSTURES).astype(int))]
    if not any(name.rpartition(".")[2] in GEOMETRY for name in setup.numbers.parameters):
        return np.full(setup.count, float(manipulability(setup.arm, q).min()))
    return np.array([float(manipulability(arm, q).min()) for arm in setup.arms()])


def _shortest(setup: RowSetup) -> Floats:
    """The minimum time along the path of the motion, for the arm of each row; NaN if there is none."""
    assert setup.motion is not None
    way = path_points(setup.motion)
    durations: dict[Arm, float] = {}
    for arm in (arms := setup.arms()):
        if arm not in durations:
            try:
                durations[arm] = time_optimal(arm, way).duration
            except ForearmError:
                durations[arm] = math.nan
    return np.array([durations[arm] for arm in arms])


def _motor_mass(setup: RowSetup) -> Floats:
    total = np.zeros(setup.count)
    for names in setup.numbers.motors.values():
        total += np.array([setup.study.motors[name].mass for name in names])
    return total


OF_DESIGN: dict[str, Callable[[RowSetup], Floats]] = {
    "manipulability": _manipulability,
    "time_optimal_duration": _shortest,
    "motor_mass": _motor_mass,
}


def path_points(motion: ReferenceMotion) -> Floats:
    """Samples along a motion, evenly spread over its path length, where it moves."""
    steps = np.linalg.norm(np.diff(motion.q, axis=0), axis=1)
    length = np.concatenate([[0.0], np.cumsum(steps)])
    if length[-1] == 0.0:
        raise InputError("the motion does not move.", "figures", "time_optimal_duration")
    wanted = np.linspace(0.0, length[-1], PATH_POINTS)
    moving = np.concatenate([[True], steps > 0.0])
    return np.stack(
        [np.interp(wanted, length[moving], motion.q[moving, j]) for j in range(motion.q.shape[1])], axis=1
    )


@lru_cache(maxsize=16)
def _opened(arm: Arm, names: tuple[str, ...]) -> Kernel:
    """The functions of an arm with these parameters open."""
    return compile_arm(arm, parameters=names)
