"""Straight Cartesian lines with constant orientation, followed exactly by the joints. Mata 5.2, Dhanaraj
3.5.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm, check_arm
from forearm.errors import InputError, shorten
from forearm.kinematics.jacobian import jacobian
from forearm.kinematics.poses import forward
from forearm.spatial import Floats, Indices
from forearm.trajectories.hand_way import straight
from forearm.trajectories.line_checks import SAMPLES, Problem, end_of_branch, limits_passed, singular_places
from forearm.trajectories.line_joints import joints_along
from forearm.trajectories.line_path import LineTask, Stretch, follow_way
from forearm.trajectories.line_speed import Speed, speed_along
from forearm.trajectories.sampling import States, chord_lengths, from_zero, piece_at, sampled
from forearm.values import as_finite, as_floats, check_choice, check_ending, check_number, frozen

ATTITUDES = ("constant", "free")
CORNERS = 1000  # corners per line
AROUND = 0.3  # rad, m: far enough to leave a singular configuration


@frozen
class Asked:
    """The request of a line, as arguments of `hand_line`: q0 (n,), to (m, 3)."""

    q0: Floats
    to: Floats
    speed: float
    acceleration: float | None
    profile: str
    attitude: str


@frozen
class HandLine:
    """A motion of the hand along straight lines, at rest at every corner (except at constant speed); made by
    `hand_line`.

    Beyond an unreachable position q, qd and qdd are NaN.

    Attributes:
        asked: arguments of `hand_line`.
        task: the arm, the pose whose rotation is kept, and held combinations of joints.
        stretches: joint coordinates along each line.
        speeds: speed profile along each line.
        problems: obstacles in order of time; without any it is `feasible`.
    """

    asked: Asked
    task: LineTask
    stretches: tuple[Stretch, ...]
    speeds: tuple[Speed, ...]
    problems: tuple[Problem, ...] = ()

    @cached_property
    def times(self) -> Floats:
        """Times at the corners, from 0."""
        return from_zero([speed.duration for speed in self.speeds])

    @cached_property
    def switches(self) -> Floats:
        """All times at which accelerations may jump, increasing, the ends included."""
        inside = [
            begin + x
            for begin, speed in zip(self.times[:-1], self.speeds, strict=True)
            for x in speed.switches
        ]
        return np.unique(np.concatenate([self.times, inside]))

    @property
    def duration(self) -> float:
        """Duration, s."""
        return float(self.times[-1])

    @property
    def feasible(self) -> bool:
        """Whether there is no obstacle."""
        return not self.problems

    @property
    def message(self) -> str:
        """The problems in sentences, or that there are none."""
        return (
            " ".join(p.text for p in self.problems)
            or "Reachable, within limits and away from singular configurations throughout."
        )

    def hand(self, t: ArrayLike) -> States:
        """Position, velocity and acceleration of the hand's origin, base frame, at a time, (3,) each, or
        times, (m, 3) each.
        """
        return sampled(self, t, self._hand)

    def _hand(self, times: Floats) -> States:
        k, s, rate, second = self._way(times)
        places, along, curvature = np.empty((3, len(times), 3))
        for index, stretch in enumerate(self.stretches):
            here = k == index
            places[here], along[here], curvature[here] = stretch.way.at(s[here])
        return places, rate[:, None] * along, second[:, None] * along + rate[:, None] ** 2 * curvature

    def at(self, t: ArrayLike) -> States:
        """q, qd, qdd at a time, (n,) each, or at times (m,), (m, n) each.

        q puts the hand on its line to 1e-12; J qd = (v; 0), J qdd = (a; 0) - J' qd. At a switch of the speed
        profile qdd is the value after it. In a singular configuration on the line qd and qdd are the limits
        from both sides, NaN if there are none.
        """
        return sampled(self, t, self._joints)

    def _joints(self, times: Floats) -> States:
        k, s, rate, second = self._way(times)
        q, slopes, bends = np.full((3, len(times), self.task.arm.n), np.nan)
        for index, stretch in enumerate(self.stretches):
            here = k == index
            q[here], slopes[here], bends[here] = joints_along(self.task, stretch, s[here])
        return q, slopes * rate[:, None], bends * rate[:, None] ** 2 + slopes * second[:, None]

    def _way(self, times: Floats) -> tuple[Indices, Floats, Floats, Floats]:
        k = piece_at(self.times, times)
        s, rate, second = (np.zeros_like(times) for _ in range(3))
        for index, speed in enumerate(self.speeds):
            here = k == index
            since = np.minimum(times[here] - self.times[index], speed.duration)
            s[here], rate[here], second[here] = speed.at(since)
        return k, s, rate, second

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write its request as .json, atomically; `fa.plan` accepts the file."""
        from forearm.trajectories.motion_files import write_motion

        check_ending(path, (".json",), "a Cartesian line (fa.plan(arm, line).save writes samples)")
        write_motion(self, path)

    def __repr__(self) -> str:
        return f"<HandLine of {self.task.arm.name!r} over {len(self.stretches)} lines in {self.duration:g} s>"


def hand_line(
    arm: Arm,
    q0: ArrayLike,
    to: ArrayLike,
    speed: float,
    acceleration: float | None = None,
    profile: str = "trapezoidal",
    attitude: str = "constant",
) -> HandLine:
    """Move the hand from its position at q0 straight to a position, or through several.

    Redundant arms hold the joint combinations that do not move the hand at q0. Mata 5.2.

    Args:
        arm: the arm.
        q0: joint coordinates (n,) at the start, rad or m.
        to: position (3,) or positions (m, 3) in the base frame, m.
        speed: largest speed of the hand, m/s.
        acceleration: largest acceleration of the hand, m/s^2; None: unlimited ("trapezoidal" needs one).
        profile: "trapezoidal", "quintic", or "constant" (one line only).
        attitude: "constant", that of q0, or "free" if the arm has too few joints to keep it.
    """
    check_arm(arm, "arm", moves=True)
    q = q0 = as_finite(q0, (arm.n,), "q0")
    task, corners = line_task(arm, q, attitude), hand_corners(arm, q, to)
    speed = check_number(speed, "speed", above=0.0)
    acceleration = None if acceleration is None else check_number(acceleration, "acceleration", above=0.0)
    if profile == "constant" and len(corners) > 2:
        raise InputError(
            "'constant' supports one line only, as it cannot turn a corner; use 'quintic'.", "profile"
        )
    speeds: list[Speed] = []
    stretches: list[Stretch] = []
    for start, end in pairwise(corners):
        speeds.append(speed_along(float(np.linalg.norm(end - start)), speed, acceleration, profile))
        if not stretches or stretches[-1].whole:
            stretches.append(follow_way(task, q, straight(start, end)))
            q = stretches[-1].q[-1]
        else:
            stretches.append(_not_followed(arm, start, end))
    asked = Asked(q0, corners[1:], speed, acceleration, profile, attitude)
    line = HandLine(asked, task, tuple(stretches), tuple(speeds))
    return replace(line, problems=_problems(line))


def line_task(arm: Arm, q: Floats, attitude: str) -> LineTask:
    """The task from a configuration q (n,): keep its orientation, or leave it free."""
    check_choice(attitude, ATTITUDES, "attitude")
    rows = 6 if attitude == "constant" else 3
    held = np.linalg.svd(jacobian(arm, q)[:rows])[2][_most_rank(arm, q, rows) :]
    return LineTask(arm, forward(arm, q), attitude == "constant", held)


def _most_rank(arm: Arm, q: Floats, rows: int) -> int:
    """Number of directions in which joints can move the hand, in configurations around q: fewer than `rows`
    for a planar arm.
    """
    around = q + np.random.default_rng(0).uniform(-AROUND, AROUND, (8, arm.n))
    values = np.linalg.svd(jacobian(arm, around)[:, :rows], compute_uv=False)
    return int((values > 1e-9 * values[:, :1]).sum(axis=1).max())


def hand_corners(arm: Arm, q: Floats, to: ArrayLike) -> Floats:
    """Positions (m + 1, 3) between which the hand moves: that of q (n,), and the given ones."""
    ends = np.atleast_2d(as_floats(to, "to"))
    if (
        ends.ndim != 2
        or ends.shape[1:] != (3,)
        or not 1 <= len(ends) <= CORNERS
        or not np.isfinite(ends).all()
    ):
        raise InputError(
            f"to: expected a position (3,) in m or up to {CORNERS} of them, (m, 3), finite, got shape "
            f"{ends.shape}."
        )
    corners = np.concatenate([forward(arm, q)[None, :3, 3], ends])
    short = chord_lengths(corners) < 1e-9
    if short.any():
        k = int(short.argmax())
        raise InputError(
            f"to: position {k + 1} equals the one before, {shorten(corners[k].tolist())}; remove it."
        )
    return corners


def _not_followed(arm: Arm, start: Floats, end: Floats) -> Stretch:
    nothing = np.full((1, arm.n), np.nan)
    return Stretch(straight(start, end), np.array([-1.0]), nothing, nothing)


def _problems(line: HandLine) -> tuple[Problem, ...]:
    found: list[Problem] = []
    times = []
    for begin, stretch, speed in zip(line.times[:-1], line.stretches, line.speeds, strict=True):
        if stretch.ways[0] < 0.0:
            break

        def when(s: float, begin: float = float(begin), speed: Speed = speed) -> float:
            return min(begin + float(speed.when(np.array([s]))[0]), line.duration)

        found += singular_places(line.task, stretch, when)
        if not stretch.whole:
            found.append(end_of_branch(line.task, stretch, when))
        knots = speed.when(stretch.ways)
        even = np.linspace(0.0, speed.duration, SAMPLES + 1)
        inside = np.concatenate([even, np.array(speed.switches)])
        times.append(begin + np.unique(np.concatenate([knots, inside[inside <= knots[-1]]])))
    at = np.minimum(np.concatenate(times), line.duration)
    found += limits_passed(line.task, line.at, lambda t: line.hand(t)[0], at)
    return tuple(sorted(found, key=lambda p: (p.time, p.kind, p.joint)))
