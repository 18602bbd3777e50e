"""The motion controller of Waters Fig. 1 as one call: a request becomes a trajectory, then
torques, then voltages.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm, check_arm
from forearm.drives.motor import constants_of, voltage_of
from forearm.errors import InputError, shorten
from forearm.kernels.kernel import Kernel
from forearm.kernels.kernel import compile as compile_arm
from forearm.kinematics.poses import forward
from forearm.logs.table import ENDINGS, write_table
from forearm.tables import Report, number
from forearm.trajectories.accelerating import chosen_accelerations
from forearm.trajectories.configurations import configurations
from forearm.trajectories.limits import SLACK, MotionLimits, beyond_arm
from forearm.trajectories.line_file import load_motion
from forearm.trajectories.lines import HandLine
from forearm.trajectories.polygon import Deviation, deviation
from forearm.trajectories.requestfile import read_request
from forearm.trajectories.requests import Request, Waypoint
from forearm.trajectories.sampling import ticks
from forearm.trajectories.switching import Switching
from forearm.trajectories.waypoints import through
from forearm.values import as_floats, check_ending, check_number

Array = NDArray[np.float64]
Wanted = Request | Switching | HandLine | str | os.PathLike[str] | Sequence[Any] | NDArray[Any]
SAME = 1e-9  # m: what two arms' hands may be apart at the ends of a line that is taken from one to the other


@dataclass(frozen=True, eq=False)
class Plan:
    """A motion and what it asks of the motors, at times every `step` s and at the end.

    `motion` gives q, qd, qdd at any time; t is (m,), the arrays of states (m, n). `limits` are those that it
    was planned within, None for a line of the hand, whose own `problems` say what stands in its way. `notes`
    say which waypoints could not be met as they were given.
    """

    arm: Arm
    motion: Switching | HandLine
    limits: MotionLimits | None = None
    step: float = 1e-3
    notes: tuple[str, ...] = ()
    _kernel: Kernel | None = field(default=None, repr=False)

    @property
    def duration(self) -> float:
        """In s."""
        return self.motion.duration

    @cached_property
    def t(self) -> Array:
        """Times, (m,)."""
        return ticks(self.duration, self.step, "plan, step")

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
        return self._compiled.inverse_dynamics(*self._states)

    @cached_property
    def voltage(self) -> Array | None:
        """The voltages that these torques need, None where a motor is not known."""
        known = all(
            j.motor is not None and j.motor.torque_constant and j.motor.resistance for j in self.arm.joints
        )
        return voltage_of(self.arm, self.tau, self.qd) if known else None

    def torque(self, t: ArrayLike) -> Array:
        """The torques at a time, (n,), or at times (m,), (m, n)."""
        return self._compiled.inverse_dynamics(*self.motion.at(t))

    @cached_property
    def _compiled(self) -> Kernel:
        return compile_arm(self.arm) if self._kernel is None else self._kernel

    @cached_property
    def deviation(self) -> Deviation | None:
        """How far joints go from the straight lines between the points;
        None for a line of the hand, which has none.
        """
        return deviation(self.motion) if isinstance(self.motion, Switching) else None

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What is not as it should be: waypoints, places of a line, and positions to voltages
        beyond what the arm has.
        """
        found = [
            *self.notes,
            *([p.text for p in self.motion.problems] if isinstance(self.motion, HandLine) else []),
        ]
        if isinstance(self.motion, Switching):
            found += beyond_arm(self.arm, *self.motion.extremes())
        names = [j.name for j in self.arm.joints]
        effort = np.array([np.inf if j.max_effort is None else j.max_effort for j in self.arm.joints])
        found += _excesses(names, self.tau, effort, "N m (N) that it has")
        if self.voltage is not None:
            found += _excesses(
                names, self.voltage, constants_of(self.arm).most_voltage, "V that its motor takes"
            )
        return tuple(found)

    def columns(self) -> dict[str, Array]:
        """The plan as a table: t, q1.., qd1.., qdd1.., tau1.., and voltage1.. where motors are known."""
        table: dict[str, Array] = {"t": self.t}
        blocks = {"q": self.q, "qd": self.qd, "qdd": self.qdd, "tau": self.tau}
        for name, block in (blocks | ({} if self.voltage is None else {"voltage": self.voltage})).items():
            table |= {f"{name}{i + 1}": block[:, i] for i in range(self.arm.n)}
        return table

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it whole or not at all: .csv and .parquet hold the table, .json what
        makes the motion again.
        """
        if check_ending(path, (*ENDINGS, ".json"), "a plan") == ".json":
            self.motion.save(path)
        else:
            write_table(path, self.columns())

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A matplotlib figure of the joints' motion, the torques and the hand's path;
        saved where a path is given.
        """
        from forearm.plots.plans import plan_figure, save_figure

        figure = plan_figure(self)
        if path is not None:
            save_figure(figure, path)
        return figure

    def _kind(self) -> str:
        if isinstance(self.motion, Switching):
            return f"{len(self.motion.points)} points"
        corners = self.motion.hand(self.motion.times)[0]
        length = np.linalg.norm(np.diff(corners, axis=0), axis=1).sum()
        return f"a line of the hand, {length:.4g} m"

    def __repr__(self) -> str:
        return f"<Plan of {self.arm.name!r}: {self._kind()} in {self.duration:.4g} s>"

    def report(self) -> Report:
        """Where each joint goes, and the largest size of everything at the sampled times."""
        blocks = {"speed": self.qd, "acceleration": self.qdd, "torque": self.tau}
        blocks |= {} if self.voltage is None else {"voltage": self.voltage}
        columns = [self.q[0], self.q[-1], *map(_peaks, blocks.values())]
        rows = [
            [
                joint.name,
                *(number(float(column[i]), 5) for column in columns),
                number(joint.max_effort),
                "rad, N m" if joint.kind == "revolute" else "m, N",
            ]
            for i, joint in enumerate(self.arm.joints)
        ]
        header = ["joint", "from", "to", *(f"largest {name}" for name in blocks), "torque it has", "unit"]
        after = []
        if self.deviation is not None:
            off = number(float(self.deviation))
            after.append(f"joints leave the straight lines between the points by {off} rad (m) at most")
        if self.limits is not None:
            most = ", ".join(map(number, self.limits.acceleration))
            after.append(f"largest accelerations: {most} rad/s^2 (m/s^2)")
        return Report(header, rows, f"{self.arm.name}: {self._kind()}, {self.duration:.6g} s", after=after)

    def _repr_html_(self) -> str:
        report = self.report()
        return replace(report, after=[*report.after, *self.warnings]).html()


def _peaks(block: Array) -> Array:
    """The largest size in each column, where a line can be followed; NaN where it never can."""
    return np.where(
        np.isnan(block).all(axis=0), np.nan, np.abs(np.where(np.isnan(block), 0.0, block)).max(axis=0)
    )


def _excesses(names: Sequence[str], needed: Array, allowed: Array, what: str) -> list[str]:
    # where a line cannot be followed nothing is needed
    peaks = np.abs(np.where(np.isnan(needed), 0.0, needed)).max(axis=0)
    return [
        f"{name} needs {peak:.4g} of the {limit:g} {what}."
        for name, peak, limit in zip(names, peaks, allowed, strict=True)
        if peak > limit * (1.0 + SLACK)
    ]


def plan(arm: Arm, request: Wanted, *, step: float = 1e-3) -> Plan:
    """From a request to a motion, its torques and voltages. Waters Fig. 1.

    The request is a `Request`, the path of its file, configurations (k, n) to go through from rest to rest,
    or a motion planned already, or its .json file. Poses of the hand become the posture nearest to the one
    before. Accelerations that the request leaves open are what each joint needs times the largest factor with
    which torques stay within the joints' max_effort.
    """
    check_arm(arm, "plan, arm")
    step = check_number(step, "plan, step", above=0.0)
    kernel = compile_arm(arm)
    if isinstance(request, str | os.PathLike) and Path(request).suffix.lower() == ".json":
        request = load_motion(arm, request)
    if isinstance(request, Switching | HandLine):
        _check_for(arm, request)
        return Plan(arm, request, None, step, (), kernel)
    wanted = _request(arm, request)
    way = configurations(arm, wanted)
    accelerations = (
        chosen_accelerations(arm, kernel, way.q, way.qd, wanted) if wanted.acceleration is None else None
    )
    limits = wanted.limits(arm, accelerations)
    return Plan(arm, through(way.q, way.qd, limits), limits, step, way.notes, kernel)


def _check_for(arm: Arm, motion: Switching | HandLine) -> None:
    """Refuse a motion of another number of joints, and a line of an arm whose hand is
    elsewhere at its ends.
    """
    n = motion.n if isinstance(motion, Switching) else motion.task.arm.n
    if n != arm.n:
        raise InputError(f"plan: the motion is one of {n} joints, {arm.name!r} has {arm.n}.")
    if isinstance(motion, HandLine) and motion.task.arm is not arm:
        followed = np.vstack(
            [stretch.q[[0, -1]] for stretch in motion.stretches if np.isfinite(stretch.q[0]).all()]
        )
        apart = np.abs(forward(arm, followed) - forward(motion.task.arm, followed)).max()
        if apart > SAME:
            raise InputError(
                f"plan: the line was made for {motion.task.arm.name!r}; with its joints the hand "
                f"of {arm.name!r} would be {apart:.3g} m (or rad) off. Make the line with "
                "hand_line for this arm."
            )


def _request(arm: Arm, given: Any) -> Request:
    if isinstance(given, Request):
        return given
    if isinstance(given, str | os.PathLike):
        return read_request(given)
    rows = as_floats(given, "plan, request")
    if rows.ndim != 2 or rows.shape[1] != arm.n:
        raise InputError(
            f"plan, request: expected a Request, the path of its file, or configurations of shape "
            f"(k, {arm.n}), got {shorten(given)}."
        )
    return Request(tuple(Waypoint(q=row) for row in rows))
