"""Feasibility checks of a Cartesian line before it is executed: unreachable positions, singular
configurations, joint limits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from forearm.arm.moving import MovingBody
from forearm.kinematics.numerical import inverse_numeric
from forearm.spatial import Flags, Floats
from forearm.trajectories.limits import SLACK
from forearm.trajectories.line_path import LineTask, Stretch
from forearm.trajectories.sampling import States

Motion = Callable[[Floats], States]
Excess = Callable[[States], Floats]
Kind = Literal["unreachable", "singular", "position limit", "velocity limit"]

NEAR = 1e-3  # smallest over largest singular value: below it joints move a thousand times faster than at best
SAMPLES = 240  # times per segment at which limits are checked
AHEAD = 24  # positions beyond the end of a branch at which the hand is tried
TRIALS = 8  # configurations from which each of them is tried
FULL = 6  # joints that position and orientation together need
FINER = 64  # subdivisions of a sample, twice, to locate the first moment beyond a limit


@dataclass(frozen=True)
class Problem:
    """One obstacle to a Cartesian line.

    Attributes:
        kind: "unreachable", "singular", "position limit" or "velocity limit".
        time, until: interval, s.
        place: position of the hand then, base frame, m.
        joint: name of the joint concerned.
        text: description, a sentence.
    """

    kind: Kind
    time: float
    until: float
    place: tuple[float, float, float]
    joint: str
    text: str


def end_of_branch(
    task: LineTask, stretch: Stretch, when: Callable[[float], float], unit: str = "s"
) -> Problem:
    """Why a segment could not be followed to its end: singular if positions beyond it are reachable,
    otherwise out of reach. `unit` is that of the result of `when`.
    """
    s, q = float(stretch.ways[-1]), stretch.q[-1]
    joint = _weak_joint(task, q)
    ahead = s + min(task.scale(q, stretch.length), stretch.length - s) * np.arange(1, AHEAD + 1) / AHEAD
    poses = np.tile(task.pose, (AHEAD, 1, 1))
    poses[:, :3, 3] = stretch.way.at(np.minimum(ahead, stretch.length))[0]
    near = np.tile(q, (AHEAD, 1))
    tried = inverse_numeric(
        task.arm, poses, start=near, position_only=not task.attitude, limits=False, starts=TRIALS
    )
    there = np.asarray(tried.solved)
    time = when(s)
    if there[0]:
        text = "the branch ends in a singular configuration; beyond it another branch, or a jump, is needed"
        return _problem("singular", time, time, stretch, s, joint, text, unit)
    back = float(ahead[there.argmax()]) if there.any() else stretch.length
    text = (
        f"no configuration reaches farther along the line{' until' if there.any() else ', to its end at'} "
        f"{when(back):.4g} {unit}"
    )
    if task.attitude and task.arm.n < FULL:
        text += f"; {task.arm.n} joints rarely keep an orientation along a line: use attitude='free'"
    return _problem("unreachable", time, when(back), stretch, s, joint, text, unit)


def singular_places(
    task: LineTask, stretch: Stretch, when: Callable[[float], float], unit: str = "s"
) -> list[Problem]:
    """Passages near or through singular configurations, where knots are dense: the worst of each. `unit` is
    that of the result of `when`.
    """
    ratio = task.closeness(stretch.q)
    found = []
    for first, last in _runs(ratio < NEAR):
        if last == len(ratio) - 1 and not stretch.whole:
            continue  # the end of the branch, which is reported separately
        s, q = _worst(task, stretch, max(first - 1, 0), min(last + 1, len(ratio) - 1))
        closest = float(task.closeness(q[None])[0])
        begins, ends = when(float(stretch.ways[first])), when(float(stretch.ways[last]))
        text = (
            f"a singular configuration at {when(s):.4g} {unit} (smallest over largest singular value "
            f"{closest:.2g})"
        )
        found.append(_problem("singular", begins, ends, stretch, s, _weak_joint(task, q), text, unit))
    return found


def limits_passed(
    task: LineTask, motion: Motion, hand: Callable[[Floats], Floats], times: Floats
) -> list[Problem]:
    """Each joint's first moment beyond its range and beyond its velocity limit, and the last sample of the
    violation.
    """
    states = motion(times)
    found = []
    for body in task.arm.moving.bodies:  # mimic joints included
        for kind, excess, allowed in _excesses(body):
            over = excess(states)
            above = np.flatnonzero(over > 0.0)
            if len(above):
                first = _first_above(motion, excess, times, int(above[0]))
                x, y, z = _place(hand(np.array([first]))[0])
                name = body.joint.name
                text = (
                    f"from {first:.4g} s, hand at ({x:.4g}, {y:.4g}, {z:.4g}) m: "
                    f"{name} exceeds {allowed} by up to {np.nanmax(over):.3g}."
                )
                found.append(Problem(kind, first, float(times[above[-1]]), (x, y, z), name, text))
    return found


def _excesses(body: MovingBody) -> list[tuple[Kind, Excess, str]]:
    """By how much states exceed the range and the velocity limit of a joint, and these limits."""
    joint, i, (low, high) = body.joint, body.freedom, body.joint.limits
    fastest = np.inf if joint.max_speed is None else joint.max_speed
    unit = "rad" if joint.kind == "revolute" else "m"

    def beyond(states: States) -> Floats:
        at = body.multiplier * states[0][:, i] + body.offset
        return np.asarray(np.maximum(low - at, at - high) - SLACK)

    def too_fast(states: States) -> Floats:
        return np.asarray(np.abs(body.multiplier * states[1][:, i]) - fastest * (1.0 + SLACK))

    return [
        ("position limit", beyond, f"its range {low:.4g} to {high:.4g} {unit}"),
        ("velocity limit", too_fast, f"{fastest:.4g} {unit}/s"),
    ]


def _first_above(motion: Motion, excess: Excess, times: Floats, first: int) -> float:
    """The first time at which an excess is above 0, to a 4096th of a sample; `first` is the first sample at
    which it is.
    """
    if first == 0:
        return float(times[0])
    low, high = float(times[first - 1]), float(times[first])
    for _ in range(2):
        finer = np.linspace(low, high, FINER + 1)
        k = int(np.argmax(excess(motion(finer[1:])) > 0.0)) + 1
        low, high = float(finer[k - 1]), float(finer[k])
    return high


def _worst(task: LineTask, stretch: Stretch, first: int, last: int) -> tuple[float, Floats]:
    """The arc length and configuration nearest to singular between two knots, by successive refinement."""
    low, high = float(stretch.ways[first]), float(stretch.ways[last])
    best, posture = low, stretch.q[first]
    for _ in range(4):
        s = np.linspace(low, high, FINER + 1)
        q, _ = stretch.joints(task, s)
        k = int(np.argmin(task.closeness(q)))
        best, posture = float(s[k]), q[k]
        low, high = float(s[max(k - 1, 0)]), float(s[min(k + 1, FINER)])
    return best, posture


def _weak_joint(task: LineTask, q: Floats) -> str:
    """The joint with the largest share of the motion that moves the hand least."""
    direction = np.linalg.svd(task.rows(q[None])[0])[2][-1]
    return task.arm.joints[int(np.argmax(np.abs(direction)))].name


def _runs(flags: Flags) -> list[tuple[int, int]]:
    """First and last index of every run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _problem(
    kind: Kind, time: float, until: float, stretch: Stretch, s: float, joint: str, text: str, unit: str
) -> Problem:
    x, y, z = _place(stretch.way.at(np.array([s]))[0][0])
    where = f"at {time:.4g} {unit}, hand at ({x:.4g}, {y:.4g}, {z:.4g}) m, mainly {joint}"
    return Problem(kind, time, until, (x, y, z), joint, f"{where}: {text}.")


def _place(p: Floats) -> tuple[float, float, float]:
    x, y, z = (round(float(v), 9) + 0.0 for v in p)  # nm: removes rounding errors around 0
    return x, y, z
