"""What a time-optimal plan says of itself: which limit binds where, what more of it would save, and the phase
plane of s.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.tables import Report, number
from forearm.trajectories.shortest_time.path_limits import UNITS, PathLimits
from forearm.trajectories.shortest_time.profile import NoProfile, PathProblem, Profile, fastest_profile
from forearm.trajectories.shortest_time.refine import Boundary

Array = NDArray[np.float64]
BINDING = 0.98  # of a limit: with less of it in use none binds
RAISED = 1.1  # times a limit: what savings are told for
NONE = ("", "")


@dataclass(frozen=True)
class LimitSaving:
    """What 10 % more of one limit would save.

    Attributes:
        limit: its name, as in `Plan.limit`.
        quantity, joint: its kind and joint ("" of the hand or the path).
        seconds: how much shorter the motion would be, s.
        share: of the duration.
        binds: for how much of the duration it binds now, s.
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


@dataclass(frozen=True, eq=False)
class PathTiming:
    """How fast a motion goes along its path, and why no faster.

    Attributes:
        problem: arm, path and limits.
        profile: the speeds.
        boundary: what they begin and end with.
        ceiling: (ds/dt)^2 that a duration asked for left, (N + 1,); None: the shortest.
    """

    problem: PathProblem
    profile: Profile
    boundary: Boundary
    ceiling: Array | None = None

    @property
    def s(self) -> Array:
        """Places along the path, (N + 1,)."""
        return self.profile.grid.s

    @property
    def speed(self) -> Array:
        """ds/dt at these places, (N + 1,)."""
        return np.sqrt(self.profile.x)

    @property
    def maximum_speed(self) -> Array:
        """The maximum-velocity curve: ds/dt that the limits of each place alone allow, (N + 1,)."""
        if self.ceiling is None:
            return np.sqrt(self.profile.top)
        tops = self.problem.tops(self.profile.ends)
        top = np.minimum(np.append(tops[0::2], np.inf), np.append(np.inf, tops[1::2]))
        top[self.profile.grid.stops] = 0.0
        return np.sqrt(top)

    @cached_property
    def shares(self) -> tuple[list[tuple[str, str]], Array]:
        """(kind, joint) of all limits, and the largest share of each that an interval uses, (N, r)."""
        problem, ends, u = self.problem, self.profile.ends, np.repeat(self.profile.u, 2)
        x = np.stack([self.profile.x[:-1], self.profile.x[1:]], axis=1).ravel()
        names: list[tuple[str, str]] = []
        blocks: list[Array] = []
        if problem.layout.kinds:
            names += problem.layout.names
            blocks.append(np.abs(problem.shares(ends, x, u)[0]))
        limits, joints = problem.limits, [joint.name for joint in problem.arm.joints]
        dq = ends.rows[:, problem.layout.slices["dq"]]
        names += [("velocity", joint) for joint in joints]
        blocks.append(np.abs(dq) * np.sqrt(x)[:, None] / limits.at("velocity", ends.s))
        if limits.bounds("hand speed"):
            hand = np.linalg.norm(ends.rows[:, problem.layout.slices["hand_1"]], axis=1)
            names.append(("hand speed", ""))
            blocks.append((hand * np.sqrt(x))[:, None] / limits.at("hand speed", ends.s))
        used = np.concatenate(blocks, axis=1).reshape(self.profile.grid.count, 2, -1).max(axis=1)
        if self.profile.grid.margin is not None:
            used[:, : -len(blocks[-1][0])] *= self.profile.grid.margin[:, None]
        return names, used

    @cached_property
    def binding(self) -> list[tuple[str, str]]:
        """(kind, joint) of the limit that binds in each interval, two empty texts where none does."""
        names, used = self.shares
        most = used.argmax(axis=1)
        enough = used[np.arange(len(used)), most] >= BINDING
        middle = 0.5 * (self.s[:-1] + self.s[1:])
        finer = _finer(self.problem.limits, np.abs(self.problem.drives.K), middle)
        joints = {joint.name: j for j, joint in enumerate(self.problem.arm.joints)}
        made = []
        for k, (i, is_binding) in enumerate(zip(most.tolist(), enough.tolist(), strict=True)):
            kind, joint = names[i] if is_binding else NONE
            made.append((finer[kind][k][joints[joint]] if kind in finer else kind, joint))
        return made

    @cached_property
    def limits(self) -> NDArray[np.str_]:
        """The name of the limit that binds in each interval, (N,), "" where none does."""
        return np.array([limit_name(*pair) for pair in self.binding])

    def limit_at(self, t: Array) -> NDArray[np.str_]:
        """The name of the limit that binds at times (m,)."""
        k = np.searchsorted(self.profile.times, t, side="right") - 1
        return self.limits[np.clip(k, 0, len(self.limits) - 1)]

    @cached_property
    def savings(self) -> tuple[LimitSaving, ...]:
        """What 10 % more of each limit that binds would save, the largest first: by solving anew."""
        joints = {joint.name: j for j, joint in enumerate(self.problem.arm.joints)}
        taken = np.diff(self.profile.times)
        found = []
        for kind, joint in sorted(set(self.binding) - {NONE}):
            raised = self.problem.limits.scaled(kind, joints.get(joint, 0), RAISED)
            try:
                faster = fastest_profile(
                    self.problem.with_limits(raised),
                    self.profile.grid,
                    self.boundary.start,
                    self.boundary.end,
                    self.ceiling,
                )
            except NoProfile:  # more of one limit never takes a way away, but for rounding
                continue
            name = limit_name(kind, joint)
            saved = max(self.profile.duration - faster.duration, 0.0)
            binds = float(taken[self.limits == name].sum())
            found.append(LimitSaving(name, kind, joint, saved, saved / self.profile.duration, binds))
        return tuple(sorted(found, key=lambda saving: -saving.seconds))

    @property
    def summary(self) -> str:
        """What limits the motion, in a sentence."""
        if not self.savings:
            return "No limit binds."
        longest = max(self.savings, key=lambda saving: saving.binds)
        most = self.savings[0]
        said = f"{longest.limit} binds for {longest.binds / self.profile.duration:.1%} of the time"
        if longest is most:
            return f"{said}; 10 % more of it would save {most.seconds:.4g} s ({most.share:.1%})."
        return f"{said}; 10 % more of {most.limit} would save most, {most.seconds:.4g} s ({most.share:.1%})."

    def report(self, most: int | None = None) -> Report:
        """How long each limit binds, and what 10 % more of it would save; at most so many of them."""
        rows = [
            [
                saving.limit,
                number(saving.binds, 4),
                f"{saving.binds / self.profile.duration:.1%}",
                number(saving.seconds, 4),
                f"{saving.share:.1%}",
            ]
            for saving in self.savings[:most]
        ]
        header = ["limit", "binds, s", "of the time", "10 % more saves, s", "of the time"]
        return Report(header, rows, self.summary) if rows else Report(before=[self.summary])

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A matplotlib figure of the phase plane: ds/dt over s, the maximum-velocity curve, by colour the
        limit that binds; saved where a path is given.
        """
        from forearm.plots.phase_plane import phase_plane_figure, save_figure

        figure = phase_plane_figure(self)
        if path is not None:
            save_figure(figure, path)
        return figure


def limit_name(kind: str, joint: str) -> str:
    """A limit in words: "joint2 torque", "hand speed"; "" for none."""
    return f"{joint} {kind}".strip()


def limit_text(kind: str, joint: str, allowed: float) -> str:
    """A limit with its value and unit."""
    return f"{limit_name(kind, joint)}, {allowed:.4g} {UNITS[kind]}"


def _finer(limits: PathLimits, K: Array, s: Array) -> dict[str, list[list[str]]]:
    """Which of the two limits that share a row is the smaller one, at places (m,), of each joint."""
    current, torque = K * limits.at("current", s), limits.at("torque", s)
    pairs = {
        "torque": ("current", "torque", current < torque),
        "voltage": ("DAC", "voltage", limits.at("DAC", s) < limits.at("voltage", s)),
    }
    return {kind: np.where(is_first, a, b).tolist() for kind, (a, b, is_first) in pairs.items()}
