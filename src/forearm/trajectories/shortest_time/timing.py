"""Analysis of a time-optimal plan: binding limits, time saved by raising them, and the phase plane of s."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.spatial import Floats
from forearm.tables import Report, number
from forearm.trajectories.shortest_time.jerk_stage import has_jerk_limits, smoothed
from forearm.trajectories.shortest_time.path_limits import LimitCurves
from forearm.trajectories.shortest_time.path_motion import PathMotion
from forearm.trajectories.shortest_time.profile import (
    USED,
    PathProblem,
    Profile,
    fastest_profile,
    smaller_at_nodes,
)
from forearm.trajectories.shortest_time.refine import Boundary
from forearm.values import frozen

MOMENTS = np.array([1e-6, 0.5, 1.0 - 1e-6])  # of an interval, at which shares are evaluated
BINDING = 0.98  # of a limit: share from which it counts as binding
RAISED = 1.1  # factor on a limit for its saving
NONE = ("", "")


@dataclass(frozen=True)
class LimitSaving:
    """Time saved by raising one limit by 10 %.

    Attributes:
        limit: its name, as in `Plan.limit`.
        quantity, joint: its kind and joint ("" for the hand or the path).
        seconds: reduction of the duration, s.
        share: of the duration.
        binds: time for which it binds now, s.
    """

    limit: str
    quantity: str
    joint: str
    seconds: float
    share: float
    binds: float

    @property
    def text(self) -> str:
        """As a sentence."""
        return (
            f"{self.limit}: 10 % more would save {self.seconds:.4g} s ({self.share:.1%}); "
            f"it binds for {self.binds:.4g} s."
        )


@frozen
class PathTiming:
    """Speeds of a motion along its path, and what limits them.

    Attributes:
        problem: arm, path and limits.
        profile: speeds on a grid of the path; without jerk limits those of the motion.
        motion: the motion.
        boundary: speeds at the ends.
        ceiling: (ds/dt)^2 imposed by a requested duration, (N + 1,); None: the shortest.
    """

    problem: PathProblem
    profile: Profile
    motion: PathMotion
    boundary: Boundary
    ceiling: Floats | None = None

    @property
    def s(self) -> Floats:
        """Places along the path, (N + 1,)."""
        return self.profile.grid.s

    @property
    def speed(self) -> Floats:
        """ds/dt at these places, (N + 1,)."""
        if has_jerk_limits(self.problem):
            return self.motion.along(self.motion.times)[1]
        return np.sqrt(self.profile.x)

    @property
    def maximum_speed(self) -> Floats:
        """The maximum-velocity curve: ds/dt that the limits of each place alone admit, (N + 1,)."""
        if self.ceiling is None:
            return np.sqrt(self.profile.top)
        top = smaller_at_nodes(self.problem.tops(self.profile.ends))
        top[self.profile.grid.stops] = 0.0
        return np.sqrt(top)

    @cached_property
    def shares(self) -> tuple[list[tuple[str, str]], Floats]:
        """(kind, joint) of all limits, and the largest share of each that an interval uses, (N, r)."""
        times = (self.motion.times[:-1, None] + MOMENTS * np.diff(self.motion.times)[:, None]).ravel()
        names, used = self.shares_at(times)
        return names, used.reshape(self.profile.grid.count, len(MOMENTS), -1).max(axis=1)

    def shares_at(self, times: Floats) -> tuple[list[tuple[str, str]], Floats]:
        """(kind, joint) of all limits, and the share of each used at times (m,), (m, r)."""
        problem, motion, grid = self.problem, self.motion, self.profile.grid
        k, s, rate, second = motion.details(times)
        places = problem.places(s, grid.piece[k], grid.direction[k])
        joints, limits = [joint.name for joint in problem.arm.joints], problem.limits
        dq = places.rows[:, problem.layout.slices["dq"]]
        blocks = {"velocity": np.abs(dq) * rate[:, None] / limits.at("velocity", s)}
        if limits.bounds("jerk"):
            blocks["jerk"] = np.abs(motion.jerk(times)) / limits.at("jerk", s)
        names = [(kind, joint) for kind in blocks for joint in joints]
        if limits.bounds("hand speed"):
            hand = np.linalg.norm(places.rows[:, problem.layout.slices["hand_1"]], axis=1)
            blocks["hand speed"] = (hand * rate)[:, None] / limits.at("hand speed", s)
            names.append(("hand speed", ""))
        if limits.bounds("path jerk"):
            blocks["path jerk"] = np.abs(motion.third(times))[:, None] / limits.at("path jerk", s)
            names.append(("path jerk", ""))
        if problem.layout.kinds:
            blocks["others"] = USED * np.abs(problem.shares(places, rate * rate, second)[0])
            names += problem.layout.names
        return names, np.concatenate(list(blocks.values()), axis=1)

    @cached_property
    def binding(self) -> list[tuple[str, str]]:
        """(kind, joint) of the binding limit in each interval, two empty strings if none binds."""
        return self._binding(*self.shares, 0.5 * (self.s[:-1] + self.s[1:]))

    def _binding(self, names: list[tuple[str, str]], used: Floats, s: Floats) -> list[tuple[str, str]]:
        """(kind, joint) of the limit with the largest use, (m, r), at places (m,), if it is fully used."""
        most = used.argmax(axis=1)
        enough = used[np.arange(len(used)), most] >= BINDING
        finer = _finer(self.problem.limits, np.abs(self.problem.drives.K), s)
        joints = {joint.name: j for j, joint in enumerate(self.problem.arm.joints)}
        made = []
        for k, (i, is_binding) in enumerate(zip(most.tolist(), enough.tolist(), strict=True)):
            kind, joint = names[i] if is_binding else NONE
            made.append((finer[kind][k][joints[joint]] if kind in finer else kind, joint))
        return made

    @cached_property
    def limits(self) -> NDArray[np.str_]:
        """The name of the binding limit in each interval, (N,), "" if none binds."""
        return np.array([limit_name(*pair) for pair in self.binding])

    def limit_at(self, t: Floats) -> NDArray[np.str_]:
        """The name of the binding limit at times (m,)."""
        found = self._binding(*self.shares_at(t), self.motion.details(t)[1])
        return np.array([limit_name(*pair) for pair in found])

    @cached_property
    def savings(self) -> tuple[LimitSaving, ...]:
        """Time saved by 10 % more of each binding limit, in descending order: by solving again."""
        joints = {joint.name: j for j, joint in enumerate(self.problem.arm.joints)}
        taken, duration = np.diff(self.motion.times), self.motion.duration
        found = []
        for kind, joint in sorted(set(self.binding) - {NONE}):
            raised = self.problem.limits.scaled(kind, joints.get(joint, 0), RAISED)
            name = limit_name(kind, joint)
            saved = max(duration - self._duration_within(raised), 0.0)
            binds = float(taken[self.limits == name].sum())
            found.append(LimitSaving(name, kind, joint, saved, saved / duration, binds))
        return tuple(sorted(found, key=lambda saving: -saving.seconds))

    @property
    def summary(self) -> str:
        """What limits the motion, in a sentence."""
        if not self.savings:
            asked = "" if self.ceiling is None else ": the requested duration is longer than the shortest"
            return f"No limit binds{asked}."
        longest = max(self.savings, key=lambda saving: saving.binds)
        most = self.savings[0]
        said = f"{longest.limit} binds for {longest.binds / self.motion.duration:.1%} of the time"
        if longest is most:
            return f"{said}; 10 % more of it would save {most.seconds:.4g} s ({most.share:.1%})."
        return (
            f"{said}; 10 % more of {most.limit} would save the most, {most.seconds:.4g} s ({most.share:.1%})."
        )

    def report(self, most: int | None = None) -> Report:
        """How long each limit binds, and the time saved by 10 % more of it; at most this many rows."""
        rows = [
            [
                saving.limit,
                number(saving.binds, 4),
                f"{saving.binds / self.motion.duration:.1%}",
                number(saving.seconds, 4),
                f"{saving.share:.1%}",
            ]
            for saving in self.savings[:most]
        ]
        header = ["limit", "binds, s", "of the time", "10 % more saves, s", "of the time"]
        return Report(header, rows, self.summary) if rows else Report(before=[self.summary])

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Plot the phase plane with matplotlib: ds/dt over s, the maximum-velocity curve, the binding limit
        by colour; save the figure if a path is given.
        """
        from forearm.plots.phase_plane import phase_plane_figure, save_figure

        figure = phase_plane_figure(self)
        if path is not None:
            save_figure(figure, path)
        return figure

    def _duration_within(self, limits: LimitCurves) -> float:
        """Duration within other limits, on the same grid."""
        problem, grid = self.problem.with_limits(limits), self.profile.grid
        ends = (self.boundary.start, self.boundary.end)
        profile = fastest_profile(problem, grid, *ends, self.ceiling)
        return (
            smoothed(problem, profile, grid=grid)[1].duration
            if has_jerk_limits(problem)
            else profile.duration
        )


def limit_name(kind: str, joint: str) -> str:
    """A limit in words: "joint2 torque", "hand speed"; "" for none."""
    return f"{joint} {kind}".strip()


def _finer(limits: LimitCurves, K: Floats, s: Floats) -> dict[str, list[list[str]]]:
    """Which of the two limits that share a row is the smaller one, at places (m,), for each joint."""
    current, torque = K * limits.at("current", s), limits.at("torque", s)
    pairs = {
        "torque": ("current", "torque", current < torque),
        "voltage": ("DAC", "voltage", limits.at("DAC", s) < limits.at("voltage", s)),
    }
    return {kind: np.where(is_first, a, b).tolist() for kind, (a, b, is_first) in pairs.items()}
