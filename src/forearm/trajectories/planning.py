"""The motion controller of Waters Fig. 1 as one call: a request becomes a trajectory, then torques, then
voltages.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm, check_arm
from forearm.arm.elastic import is_elastic
from forearm.drives.motor import DAC, constants_of, voltage_of
from forearm.errors import InputError
from forearm.kernels.kept import kernel_of
from forearm.kernels.kernel import Kernel
from forearm.logs.motion import ALL_ENDINGS, HasLog, MotionLog
from forearm.records import fields_of, flat
from forearm.spatial import Floats
from forearm.tables import Report, number
from forearm.trajectories.accelerating import PlanningProblem, chosen_motion
from forearm.trajectories.configurations import configurations
from forearm.trajectories.continuous_snap.driven import smooth_for
from forearm.trajectories.continuous_snap.motion import SmoothMotion
from forearm.trajectories.demands import Demands, even_times
from forearm.trajectories.drive_limits import DriveLimits, LimitUse
from forearm.trajectories.excitation import Excitation
from forearm.trajectories.failures import joints_named
from forearm.trajectories.jerk_limited.motion import JerkMotion
from forearm.trajectories.jerk_limited.waypoints import through_with_jerk
from forearm.trajectories.limits import SLACK, MotionLimits, beyond_arm
from forearm.trajectories.lines import HandLine
from forearm.trajectories.motion_files import PlannedMotion, load_motion
from forearm.trajectories.path_options import PathLimits
from forearm.trajectories.plan_arguments import as_request, check_for
from forearm.trajectories.polygon import Deviation, deviation
from forearm.trajectories.recorded import RecordedMotion, read_motion, recorded
from forearm.trajectories.requests import Request
from forearm.trajectories.sampling import States, chord_lengths, ticks
from forearm.trajectories.series.motion import SeriesMotion
from forearm.trajectories.shortest_time.path_motion import PathMotion
from forearm.trajectories.shortest_time.timing import PathTiming
from forearm.trajectories.switching import Switching
from forearm.trajectories.waypoints import through
from forearm.values import LARGEST, check_ending, check_kind, check_number, frozen

Wanted = Request | PlannedMotion | MotionLog | HasLog | str | os.PathLike[str] | Sequence[Any] | NDArray[Any]
TABLES = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".npz")
# Limits of these motions that a report lists: the power of time in their units.
LIMITED = (
    ("acceleration", 2, PlannedMotion),
    ("jerk", 3, JerkMotion | SmoothMotion),
    ("snap", 4, SmoothMotion),
)
MOST_SAVINGS = 8  # listed in a report


@frozen
class Plan:
    """A motion and its motor demands at times t (m,); states are (m, n).

    Attributes:
        arm: the arm.
        motion: q, qd, qdd at any time.
        limits: limits it was planned within, 1e30 where unlimited; None: a Cartesian line, whose `problems`
            list its obstacles, or a motion that was planned before.
        step: t is sampled every `step` s, and at the end.
        notes: waypoints that could not be met as requested.
        dac: source of the motors' voltages; None: no DAC limits.
        timing: for a time-optimal plan, what limits its speed along the path; else None.
        excitation: for an exciting plan, the identifiability of the arm's parameters; else None.
    """

    arm: Arm
    motion: PlannedMotion
    limits: MotionLimits | None = None
    step: float = 1e-3
    notes: tuple[str, ...] = ()
    dac: DAC | None = None
    _kernel: Kernel | None = field(default=None, repr=False)
    timing: PathTiming | None = None
    excitation: Excitation | None = None

    @property
    def duration(self) -> float:
        """Duration, s."""
        return self.motion.duration

    def at(self, t: ArrayLike) -> States:
        """q, qd, qdd at a time, (n,) each, or at times (m,), (m, n) each: a plan is a motion."""
        return self.motion.at(t)

    @cached_property
    def t(self) -> Floats:
        """Times, (m,)."""
        return ticks(self.duration, self.step, "plan, step")

    @cached_property
    def _states(self) -> States:
        return self.motion.at(self.t)

    @property
    def q(self) -> Floats:
        """Joint positions, (m, n)."""
        return self._states[0]

    @property
    def qd(self) -> Floats:
        """Joint velocities."""
        return self._states[1]

    @property
    def qdd(self) -> Floats:
        """Joint accelerations; at a jump, the value after it."""
        return self._states[2]

    @cached_property
    def tau(self) -> Floats:
        """Torques required by the motion, drives included."""
        return self._compiled.inverse_dynamics(*self._states)

    @cached_property
    def voltage(self) -> Floats | None:
        """Voltages required by these torques, None if a motor is undefined."""
        known = all(
            j.motor is not None and j.motor.torque_constant and j.motor.resistance for j in self.arm.joints
        )
        return voltage_of(self.arm, self.tau, self.qd) if known else None

    @cached_property
    def limit(self) -> NDArray[np.str_] | None:
        """The name of the binding limit at each sample, such as "joint2 torque", (m,), "" if none binds; None
        if the plan is not time-optimal.
        """
        return None if self.timing is None else self.timing.limit_at(self.t)

    def torque(self, t: ArrayLike) -> Floats:
        """The torques at a time, (n,), or at times (m,), (m, n)."""
        return self._compiled.inverse_dynamics(*self.motion.at(t))

    @cached_property
    def _compiled(self) -> Kernel:
        return kernel_of(self.arm) if self._kernel is None else self._kernel

    @cached_property
    def deviation(self) -> Deviation | None:
        """Deviation of the joints from the straight lines between the points; None for a Cartesian line, and
        for a motion with limits of jerk or snap.
        """
        return deviation(self.motion) if isinstance(self.motion, Switching) else None

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Warnings: unmet waypoints, what makes a line infeasible, and positions to voltages beyond the arm's
        limits.
        """
        found = [
            *self.notes,
            *([p.text for p in self.motion.problems] if isinstance(self.motion, HandLine) else []),
        ]
        if not isinstance(self.motion, HandLine):
            found += beyond_arm(self.arm, *self.motion.extremes())
        found += [use.text for use in self.uses if use.share > 1.0 + SLACK]
        return tuple(found)

    @property
    def log(self) -> MotionLog:
        """The plan as a log with torques, and voltages and currents if motors are defined."""
        joints = tuple(joint.name for joint in self.arm.joints)
        current = None if self.voltage is None else self.tau / constants_of(self.arm).K
        blocks = (self.q, self.qd, self.qdd, self.tau, self.voltage, current)
        return MotionLog(joints, self.t, *blocks, name=f"plan of {self.arm.name}")

    @cached_property
    def uses(self) -> tuple[LimitUse, ...]:
        """The largest use of each limited torque, current and voltage of the joints.

        By rigid inverse dynamics, evaluated between jumps of acceleration and friction, on both sides of
        them, and at ten times the samples; for a jerk-limited or periodic motion, at jumps of jerk and at ten
        times the samples; along a path, at ten times per interval; for a Cartesian line, at the samples.
        """
        limits = DriveLimits.of(self.arm, self.dac)
        demands = Demands(self.arm, self._compiled, limits)
        if isinstance(self.motion, Switching | SmoothMotion):
            return demands.uses(self.motion, self.step)
        if isinstance(self.motion, JerkMotion | SeriesMotion):
            return demands.uses_at(self.motion, even_times(self.motion, self.step))
        if isinstance(self.motion, PathMotion):
            return demands.uses_at(self.motion, self.motion.fine_times)
        return limits.uses(self.t, self.tau, self.qd)

    @property
    def limited_by(self) -> LimitUse | None:
        """The drive limit with the largest use; None if no drive has one."""
        return max(self.uses, key=lambda use: use.share, default=None)

    def columns(self) -> dict[str, Floats]:
        """The plan as a table: t, q1.., qd1.., qdd1.., tau1.., and voltage1.., current1.. if motors are
        defined.
        """
        return self.log.columns()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it atomically: .csv, .parquet and .npz hold the table, .json the parameters of the motion."""
        kind = check_ending(path, ALL_ENDINGS, "a plan")
        (self.motion if kind == ".json" else self.log).save(path)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Plot the joints' motion, the torques and the hand's path with matplotlib; save the figure if a path
        is given.
        """
        from forearm.plots.plans import plan_figure, save_figure

        figure = plan_figure(self)
        if path is not None:
            save_figure(figure, path)
        return figure

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write one self-contained page for a browser: curves against their limits, and for a time-optimal
        plan the binding limits.
        """
        from forearm.trajectories.plan_page import write_plan_page

        write_plan_page(self, path)

    def _kind(self) -> str:
        if isinstance(self.motion, Switching | JerkMotion):
            return f"{len(self.motion.points)} points"
        if isinstance(self.motion, SmoothMotion):
            return f"{len(self.motion.passed)} points, snap continuous"
        if isinstance(self.motion, PathMotion):
            return f"{self.motion.path.name}, {self.motion.path.length:.4g} long"
        if isinstance(self.motion, SeriesMotion):
            return f"a {self.motion.basis} series, periodic"
        if isinstance(self.motion, RecordedMotion):
            return f"{len(self.motion.t)} samples of {self.motion.name}"
        corners = self.motion.hand(self.motion.times)[0]
        return f"a Cartesian line, {chord_lengths(corners).sum():.4g} m"

    def __repr__(self) -> str:
        return f"<Plan of {self.arm.name!r}: {self._kind()} in {self.duration:.4g} s>"

    def report(self) -> Report:
        """The motion of each joint, and the largest magnitude of each quantity at the sampled times."""
        blocks = {"speed": self.qd, "acceleration": self.qdd, "torque": self.tau}
        blocks |= {} if self.voltage is None else {"voltage": self.voltage}
        columns = [self.q[0], self.q[-1], *(np.fmax.reduce(np.abs(x)) for x in blocks.values())]
        rows = [
            [
                joint.name,
                *(number(float(column[i]), 5) for column in columns),
                number(joint.max_effort),
                "rad, N m" if joint.kind == "revolute" else "m, N",
            ]
            for i, joint in enumerate(self.arm.joints)
        ]
        header = ["joint", "from", "to", *(f"largest {name}" for name in blocks), "torque limit", "unit"]
        after = []
        if self.deviation is not None:
            off = number(float(self.deviation))
            after.append(
                f"joints deviate from the straight lines between the points by at most {off} rad (m)"
            )
        if self.limits is not None:
            for name, power, kinds in LIMITED:
                most = getattr(self.limits, name)
                if isinstance(self.motion, kinds) and (most < LARGEST).any():
                    unit = f"rad/s^{power} (m/s^{power})"
                    after.append(f"largest {name}s: {', '.join(map(number, most))} {unit}")
        if (use := self.limited_by) is not None:
            after.append(
                f"largest use of a limit: {use.share:.1%} of the {use.quantity} of {use.joint}, at "
                f"{use.time:.4g} s"
            )
        if is_elastic(self.arm):
            after.append(
                "torques and voltages assume rigid joints; fa.dynamics.elastic_inverse_along computes those "
                "of motors behind springs"
            )
        title = f"{self.arm.name}: {self._kind()}, {self.duration:.6g} s"
        parts = [] if self.timing is None else [self.timing.report(MOST_SAVINGS)]
        parts += [] if self.excitation is None else [self.excitation.report()]
        return Report(header, rows, title, after=after, parts=parts)

    def __str__(self) -> str:
        return str(self.report())

    def _repr_html_(self) -> str:
        report = self.report()
        return replace(report, after=[*report.after, *self.warnings]).html()


@flat(limits=PathLimits)
def plan(
    arm: Arm,
    request: Wanted,
    *,
    limits: PathLimits | None = None,
    snap: ArrayLike | bool | None = None,
    duration: float | None = None,
    dac: DAC | None = None,
    step: float = 1e-3,
) -> Plan:
    """Plan a motion from a request, with its torques and voltages. Waters Fig. 1.

    For poses of the hand, the configuration nearest to the previous one is chosen. Open accelerations, and
    with them top velocities, are chosen so that over the whole motion torques stay within the joints'
    max_effort, currents and voltages within the motors' and the DAC's limits. A start above its velocity
    limit brakes first; a later waypoint is passed at the limit. With a jerk limit, open velocities are 0, and
    accelerations are 0 at waypoints. With a snap limit, q to qdddd are continuous, as arms with elastic
    joints need; torques are still those of rigid joints. A time-optimal request yields the plan of
    `fa.time_optimal`. Limits given here take the place of the request's.

    Args:
        arm: the arm.
        request: a `Request`, the path of its file, configurations (k, n) or waypoints, by default from rest
            to rest, or a planned motion: an object, its .json file, or a table of samples, such as a log in
            memory or in a .csv, .parquet or .npz file.
        limits: those below as one record, instead of the request's.
        snap: largest |qdddd|, one number or one per joint, or True for a continuous, unlimited snap; None:
            the request's, or unlimited (jerks jump).
        duration: of a motion of continuous snap, s; None: the request's, or the shortest found.
        dac: the converter in front of the motors; None: the request's.
        step: time between samples of the plan, s.
    """
    check_arm(arm, "plan, arm")
    check_kind(dac, (DAC, type(None)), "plan, dac")
    step = check_number(step, "plan, step", above=0.0)
    kernel = kernel_of(arm)
    request = _planned(arm, request)
    given = fields_of(limits or PathLimits()) | {"snap": snap, "duration": duration, "dac": dac}
    if isinstance(request, PlannedMotion):
        check_for(arm, request)
        for name, value in given.items():
            if value is not None and name != "dac":
                raise InputError(
                    "not allowed for a motion that is already planned; pass its points to plan it again.",
                    "plan",
                    name,
                )
        DriveLimits.of(arm, dac)  # raise errors now rather than when `uses` is evaluated
        return Plan(arm, request, None, step, (), dac, kernel)
    wanted = as_request(arm, request).changed(**given)
    if wanted.time_optimal is not None:
        from forearm.trajectories.shortest_time.requested import requested_plan

        return requested_plan(arm, wanted, step)
    with joints_named([joint.name for joint in arm.joints]):
        return _through_points(arm, wanted, step, kernel)


def _through_points(arm: Arm, wanted: Request, step: float, kernel: Kernel) -> Plan:
    """The plan of a request that is not time-optimal."""
    way = configurations(arm, wanted)
    demands = Demands(arm, kernel, DriveLimits.of(arm, wanted.dac))
    limits = wanted.limits(arm, 1.0 if wanted.snap is None else LARGEST)
    problem = PlanningProblem(way.q, way.qd, limits, demands, step)
    motion: PlannedMotion | None = None
    if wanted.snap is not None:
        motion = smooth_for(problem, wanted.duration)
    elif wanted.acceleration is None:
        motion, limits = chosen_motion(problem)
    if wanted.jerk is not None and wanted.snap is None:
        limits = limits.with_jerk(cast(Any, wanted.jerk))
        motion = through_with_jerk(way.q, way.qd, limits)
    if motion is None:
        motion = through(way.q, way.qd, limits)
    return Plan(arm, motion, limits, step, way.notes, wanted.dac, kernel)


def _planned(arm: Arm, request: Any) -> Any:
    """The motion, if one is given, as an object, a table or a file; otherwise the request."""
    kind = Path(request).suffix.lower() if isinstance(request, str | os.PathLike) else None
    if kind == ".json":
        return load_motion(arm, request)
    if isinstance(request, Plan):
        return request.motion
    if kind in TABLES or isinstance(request, MotionLog) or hasattr(request, "log"):
        return recorded(read_motion(arm, request))
    return request
