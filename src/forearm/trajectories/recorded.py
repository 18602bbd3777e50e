"""Motions from tables: of a plan, a simulation or a measurement, from a file or in memory."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.errors import InputError, shorten
from forearm.logs.motion import BLOCKS, MotionLog, read_motion_log
from forearm.logs.units import ask_about_times, units_of
from forearm.spatial import Floats
from forearm.trajectories.sampling import States, piece_at, sampled
from forearm.values import check_kind, frozen

ANGULAR = tuple(x for x in BLOCKS if x.endswith(("q", "qd", "qdd")))


@frozen
class RecordedMotion:
    """A motion through samples: between them q is the cubic Hermite interpolant, qd its derivative, and qdd
    is linear.

    Args:
        t: times (m,) from 0, s.
        q, qd, qdd: positions, velocities and accelerations (m, n).
        name: its source.
    """

    t: Floats
    q: Floats
    qd: Floats
    qdd: Floats
    name: str = "motion"

    @property
    def n(self) -> int:
        """The number of joints."""
        return int(self.q.shape[1])

    @property
    def duration(self) -> float:
        """Duration, s."""
        return float(self.t[-1])

    @property
    def times(self) -> Floats:
        """The start and the end."""
        return self.t[[0, -1]]

    def at(self, t: ArrayLike) -> States:
        """q, qd, qdd at a time, (n,) each, or at times (m,), (m, n) each; exactly the samples at their
        times.
        """
        return sampled(self, t, self._states)

    def _states(self, times: Floats) -> States:
        k = piece_at(self.t, times)
        h = (self.t[k + 1] - self.t[k])[:, None]
        s = (times - self.t[k])[:, None] / h
        q, qd = cubic(self.q[k], self.qd[k], self.q[k + 1], self.qd[k + 1], h, s)
        qdd = self.qdd[k] + s * (self.qdd[k + 1] - self.qdd[k])
        is_end = times == self.t[k + 1]
        for block, samples in ((q, self.q), (qd, self.qd), (qdd, self.qdd)):
            block[is_end] = samples[k[is_end] + 1]
        return q, qd, qdd

    def extremes(self) -> States:
        """Minimum q, maximum q and maximum |qd| of the samples, (n,) each."""
        return self.q.min(axis=0), self.q.max(axis=0), np.abs(self.qd).max(axis=0)

    @cached_property
    def log(self) -> MotionLog:
        """The samples as a table."""
        joints = tuple(f"joint{i + 1}" for i in range(self.n))
        return MotionLog(joints, self.t, self.q, self.qd, self.qdd, name=self.name)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the samples: .csv, .parquet, .npz or .json."""
        self.log.save(path)

    def __repr__(self) -> str:
        return f"<RecordedMotion of {self.n} joints: {len(self.t)} samples in {self.duration:g} s>"


def recorded(log: MotionLog) -> RecordedMotion:
    """The motion of a table: the reference if a controller drove the arm, and the actual motion otherwise.

    Missing velocities and accelerations are differences of the positions.
    """
    x = "wanted_" if log.wanted_q is not None else ""
    q, qd, qdd = (getattr(log, x + name) for name in ("q", "qd", "qdd"))
    if q is None:
        raise InputError(f"a motion needs q of every joint, got {', '.join(log.blocks)}.", log.name)
    if len(log.t) < 2:
        raise InputError(f"a motion needs at least two rows, got {len(log.t)}.", log.name)
    qd = _slopes(q, log.t) if qd is None else qd
    qdd = _slopes(qd, log.t) if qdd is None else qdd
    return RecordedMotion(log.t - log.t[0], q, qd, qdd, log.name)


def _slopes(values: Floats, t: Floats) -> Floats:
    return np.gradient(values, t, axis=0, edge_order=1 if len(t) == 2 else 2)


def read_motion(
    arm: Arm,
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    units: str | Sequence[str] = (),
    period: float | None = None,
    used: Sequence[str] = BLOCKS,
) -> MotionLog:
    """Read the motion of an arm's joints from a file, from arrays by name, or from a plan or simulation.

    If positions look like degrees or times like milliseconds and no units are given, it is refused, and the
    error asks for the units.

    Args:
        arm: the arm, whose joint names identify the columns.
        source: the path of a .csv, .parquet, .npz or .json file, arrays by name, or an object with a `log`.
        columns: names of the file's columns mapped to ours: {"angle": "q", "load": "tau"}.
        units: "deg" or "rad", and "s", "ms", "us" or "ns", in one text or a list (default: rad, and s unless
            the name of the time column says otherwise, as t_ms does).
        period: between rows, s, if there are no times.
        used: the quantities that are read (default: all).
    """
    check_kind(arm, Arm, "read_motion, arm")
    joints = tuple(joint.name for joint in arm.joints)
    given = units_of(units)
    times = given.get("times")
    if isinstance(source, str | os.PathLike | Mapping):
        log = read_motion_log(
            source, joints, columns=columns, period=period, used=used, time_unit=times
        )  # a unit that is given overrides the one in the column's name, and leaves `period` in s
    elif isinstance(source, MotionLog) or hasattr(source, "log"):
        log = source if isinstance(source, MotionLog) else source.log
        log = replace(log, t=log.t / times) if times not in (None, 1.0) else log
    else:
        raise InputError(
            f"expected the path of a file, arrays by name, or a plan or simulation, got {shorten(source)}.",
            "motion",
        )
    if len(log.joints) != arm.n:
        raise InputError(f"it has {len(log.joints)} joints, {arm.name!r} has {arm.n}.", log.name)
    _ask(arm, log, given)
    return _in_radians(arm, log, given.get("angles", 1.0))


def _ask(arm: Arm, log: MotionLog, given: Mapping[str, float]) -> None:
    """Refuse numbers that look like degrees or milliseconds, unless units are given."""
    if "angles" not in given and log.q is not None:
        ask_about_degrees(arm, log.q, log.name)
    if "times" not in given and len(log.t) > 2:
        ask_about_times(log.t, log.q, log.qd, log.name)


def ask_about_degrees(arm: Arm, q: Floats, name: str) -> None:
    """Refuse positions (T, n), with at least one row, that are beyond limits by more than a turn from 0."""
    for joint, column in zip(arm.joints, q.T, strict=True):
        worst = float(column[np.argmax(np.abs(column))])
        low, high = joint.limits
        if joint.kind == "revolute" and abs(worst) > 2.0 * math.pi and not low <= worst <= high:
            raise InputError(
                f"{joint.name} is at {worst:.6g}, beyond its limits, {low:.4g} to {high:.4g} "
                "rad. Are these degrees? Set units to deg, or to rad if the values are right "
                "(--units deg).",
                name,
            )


def _in_radians(arm: Arm, log: MotionLog, angle: float) -> MotionLog:
    """The log, whose angles are in units of which one rad has `angle`."""
    if angle == 1.0:
        return log
    turning = np.array([angle if joint.kind == "revolute" else 1.0 for joint in arm.joints])
    return replace(log, **{x: block / turning for x, block in log.blocks.items() if x in ANGULAR})


def cubic(
    q0: Floats, v0: Floats, q1: Floats, v1: Floats, h: Floats, s: float | Floats
) -> tuple[Floats, Floats]:
    """Cubic Hermite interpolant from q0 with velocity v0 to q1 with v1 a time h later, and its derivative, at
    a fraction s of it.

    If h is 0 the derivative is v0.
    """
    d = q1 - q0
    q = q0 + s * (h * v0 + s * (3.0 * d - h * (2.0 * v0 + v1) + s * (h * (v0 + v1) - 2.0 * d)))
    with np.errstate(divide="ignore", invalid="ignore"):
        qd = v0 + s * (2.0 * (3.0 * d / h - 2.0 * v0 - v1) + 3.0 * s * (v0 + v1 - 2.0 * d / h))
    return q, np.where(h > 0.0, qd, v0)
