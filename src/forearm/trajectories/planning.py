"""The motion controller of Waters Fig. 1 as one call: a request becomes a trajectory, then torques, then voltages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.drives.motor import constants_of, voltage_of
from forearm.errors import InputError, shorten
from forearm.kernels.kernel import Kernel
from forearm.kernels.kernel import compile as compile_arm
from forearm.logs.table import ENDINGS, write_table
from forearm.trajectories.accelerating import chosen_accelerations
from forearm.trajectories.configurations import configurations
from forearm.trajectories.limits import MotionLimits
from forearm.trajectories.lines import HandLine
from forearm.trajectories.passing import through
from forearm.trajectories.polygon import Deviation, deviation
from forearm.trajectories.requestfile import read_request
from forearm.trajectories.requests import Request, Waypoint
from forearm.trajectories.switching import Switching
from forearm.values import as_floats, check_kind, check_number

Array = NDArray[np.float64]
Wanted = Request | Switching | HandLine | str | os.PathLike[str] | Sequence[Any] | NDArray[Any]
ROWS = 10_000_000  # a plan may have


@dataclass(frozen=True, eq=False)
class Plan:
    """A motion and what it asks of the motors, at times every `step` s and at the end.

    `motion` gives q, qd, qdd at any time; t is (m,), the arrays of states (m, n). `limits` are those that it was planned
    within, None for a line of the hand, whose own `problems` say what stands in its way.
    """

    arm: Arm
    motion: Switching | HandLine
    limits: MotionLimits | None = None
    step: float = 1e-3
    _kernel: Kernel | None = field(default=None, repr=False)

    @property
    def duration(self) -> float:
        """In s."""
        return self.motion.duration

    @cached_property
    def t(self) -> Array:
        """Times, (m,)."""
        if self.duration / self.step > ROWS:
            raise InputError(
                f"plan, step: {self.step!r} s gives more than {ROWS} rows of {self.duration:g} s; take a longer one."
            )
        ticks = np.arange(int(self.duration / self.step) + 1) * self.step
        return np.append(ticks[ticks < self.duration], self.duration).astype(np.float64)

    @cached_property
    def _states(self) -> tuple[Array, Array, Array]:
        return self.motion.at(self.t)

    @property
    def q(self) -> Array:
        """Joint positions, (m, n)."""
        return self._states[0]

    @property
    def qd(self) -> Array:
        """Joint velocities."""
        return self._states[1]

    @property
    def qdd(self) -> Array:
        """Joint accelerations; where they jump, what comes after."""
        return self._states[2]

    @cached_property
    def tau(self) -> Array:
        """The torques that the motion needs, drives included."""
        return self.torque(self.t)

    @cached_property
    def voltage(self) -> Array | None:
        """The voltages that these torques need, None where a motor is not known."""
        known = all(j.motor is not None and j.motor.torque_constant and j.motor.resistance for j in self.arm.joints)
        return voltage_of(self.arm, self.tau, self.qd) if known else None

    def torque(self, t: ArrayLike) -> Array:
        """The torques at a time, (n,), or at times (m,), (m, n)."""
        kernel = compile_arm(self.arm) if self._kernel is None else self._kernel
        q, qd, qdd = self.motion.at(t)
        return kernel.inverse_dynamics(q, qd, qdd)

    @cached_property
    def deviation(self) -> Deviation | None:
        """How far joints go from the straight lines between the points; None for a line of the hand, which has none."""
        return deviation(self.motion) if isinstance(self.motion, Switching) else None

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What stands in the way of the motion: places of a line, torques and voltages beyond what the arm has."""
        found = [p.text for p in self.motion.problems] if isinstance(self.motion, HandLine) else []
        most = [(j.name, j.max_effort) for j in self.arm.joints]
        tau, names = np.nanmax(np.abs(self.tau), axis=0), [name for name, _ in most]
        for name, limit, peak in zip(names, (limit for _, limit in most), tau, strict=True):
            if limit is not None and peak > limit * (1.0 + 1e-9):
                found.append(f"{name} needs {peak:.4g} of the {limit:g} N m (N) that it has.")
        if self.voltage is not None:
            peaks, allowed = np.nanmax(np.abs(self.voltage), axis=0), constants_of(self.arm).most_voltage
            found += [
                f"{name} needs {peak:.4g} of the {limit:g} V that its motor takes."
                for name, peak, limit in zip(names, peaks, allowed, strict=True)
                if peak > limit * (1.0 + 1e-9)
            ]
        return tuple(found)

    def columns(self) -> dict[str, Array]:
        """The plan as a table: t, q1.., qd1.., qdd1.., tau1.., and voltage1.. where motors are known."""
        table: dict[str, Array] = {"t": self.t}
        blocks = {"q": self.q, "qd": self.qd, "qdd": self.qdd, "tau": self.tau}
        for name, block in (blocks | ({} if self.voltage is None else {"voltage": self.voltage})).items():
            table |= {f"{name}{i + 1}": block[:, i] for i in range(self.arm.n)}
        return table

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it whole or not at all: .csv and .parquet hold the table, .json the switching points, if it has any."""
        kind = Path(path).suffix.lower()
        if kind in ENDINGS:
            write_table(path, self.columns())
        elif kind == ".json" and isinstance(self.motion, Switching):
            self.motion.save(path)
        else:
            why = "a line of the hand has no switching points, so it" if kind == ".json" else "a plan"
            allowed = ", ".join(ENDINGS) if kind == ".json" else f"{', '.join(ENDINGS)} or .json"
            raise InputError(f"{Path(path).name}: {why} is saved as {allowed}.")

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw positions, velocities, accelerations and torques, and the hand's path (.png, .svg or .pdf)."""
        from forearm.plots.plans import save_plan_picture

        save_plan_picture(self, path)

    def __repr__(self) -> str:
        kind = "a line of the hand" if isinstance(self.motion, HandLine) else f"{len(self.motion.points)} points"
        return f"<Plan of {self.arm.name!r}: {kind} in {self.duration:.4g} s>"


def plan(arm: Arm, request: Wanted, *, step: float = 1e-3) -> Plan:
    """From a request to a motion, its torques and voltages. Waters Fig. 1.

    The request is a `Request`, the path of its file, configurations (k, n) to go through from rest to rest, or a motion planned
    already. Poses of the hand become the posture nearest to the one before. Accelerations that the request leaves open are the
    largest with which torques stay within the joints' max_effort.
    """
    check_kind(arm, Arm, "plan, arm")
    step = check_number(step, "plan, step", above=0.0)
    kernel = compile_arm(arm)
    if isinstance(request, Switching | HandLine):
        n = request.n if isinstance(request, Switching) else request.task.arm.n
        if n != arm.n:
            raise InputError(f"plan: the motion is one of {n} joints, {arm.name!r} has {arm.n}.")
        return Plan(arm, request, None, step, kernel)
    wanted = _request(arm, request)
    q, qd = configurations(arm, wanted)
    accelerations = chosen_accelerations(arm, kernel, q, qd, wanted) if wanted.acceleration is None else None
    limits = wanted.limits(arm, accelerations)
    return Plan(arm, through(q, qd, limits), limits, step, kernel)


def _request(arm: Arm, given: Any) -> Request:
    if isinstance(given, Request):
        return given
    if isinstance(given, str | os.PathLike):
        return read_request(given)
    rows = as_floats(given, "plan, request")
    if rows.ndim != 2 or rows.shape[1] != arm.n:
        raise InputError(
            f"plan, request: a Request, the path of its file, or configurations of shape (k, {arm.n}) are needed; came "
            f"{shorten(given)}."
        )
    return Request(tuple(Waypoint(q=row) for row in rows))
