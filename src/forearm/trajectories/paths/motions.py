"""The geometric path of a motion, without its timing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from forearm.errors import InputError, shorten
from forearm.logs.motion import MotionLog
from forearm.spatial import Floats
from forearm.trajectories.lines import HandLine
from forearm.trajectories.paths.hand_paths import path_along
from forearm.trajectories.paths.joint_path import JointPath
from forearm.trajectories.paths.log_paths import path_of_samples
from forearm.trajectories.paths.sampled import quintic_pieces
from forearm.trajectories.recorded import RecordedMotion, recorded
from forearm.trajectories.sampling import SampledMotion, from_zero

SAMPLES = 10_000  # of a motion that is not smooth between its switches
LOOKED_AT = 16  # times between two switches at which rests are searched
STILL = 1e-9  # of the largest |qd|: slower is at rest
SLOW = 0.3  # of the largest |qd|: a slower minimum is a cut, as |qd| bends sharply beside it
APART = 1e-9  # of the duration: closer cuts are one
PARTS = 8  # subintervals between two cuts, for quadrature
BESIDE = 1e-4 * np.array([1.0, 2.0, 3.0])  # of the length between two cuts: sample points of limits
LIMIT = np.array([3.0, -3.0, 1.0])  # extrapolation weights of the values there to the end
REST = 1e-6  # of the mean |qd| between two cuts: a slower end is a rest
ONE_SIDED = 1e-9  # of the time between two cuts: offset of one-sided accelerations
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


def from_motion(motion: Any, tolerance: float | None = None, name: str | None = None) -> JointPath:
    """The path of a motion by arc length, rad (m); rests are left out.

    A motion that can be evaluated at any time is followed exactly: |q'| = 1; where it comes to rest and
    continues in another direction, its path has a corner. Samples (a log, the result of a controller or a
    simulation) become a spline that stays within a tolerance of them. A Cartesian line is parametrised by the
    arc length of the hand, as in `hand_lines`.

    Args:
        motion: an object with `at` and `duration` and, if accelerations jump, their times `switches`; a plan,
            a `MotionLog`, or an object with a `log`.
        tolerance: of samples, rad or m: largest distance between them and the path; None: eight standard
            deviations of their noise, estimated from fourth differences. The path's name states it.
        name: of the path, for messages (default: the log's, or "motion").
    """
    inner = getattr(motion, "motion", motion)
    if not isinstance(inner, MotionLog | RecordedMotion) and not _is_timed(inner):
        inner = getattr(inner, "log", inner)
    if isinstance(inner, MotionLog):
        inner = recorded(inner)
    if isinstance(inner, HandLine):
        return path_along(inner.task, inner.asked.q0, [x.way for x in inner.stretches], name or "hand line")
    if isinstance(inner, RecordedMotion):
        return path_of_samples(inner.t, inner.q, tolerance, inner.name if name is None else name)
    if not _is_timed(inner):
        raise InputError(f"expected a motion, a plan or a log, got {shorten(motion)}.", "from_motion")
    if tolerance is not None:
        raise InputError(
            "for samples only; a motion that can be evaluated at any time is followed exactly.", "tolerance"
        )
    own = getattr(inner, "path", None)
    if isinstance(own, JointPath):  # of a motion along a path
        return own if name is None else replace(own, name=name)
    name = "motion" if name is None else name
    stretches = _moving(inner, name)
    try:
        return _followed(inner, stretches, name)
    except InputError:  # its accelerations jump at times not listed as switches
        t = np.linspace(0.0, inner.duration, SAMPLES)
        return path_of_samples(t, inner.at(t)[0], None, name)


def _is_timed(motion: object) -> bool:
    return callable(getattr(motion, "at", None)) and hasattr(motion, "duration")


def _followed(motion: SampledMotion, stretches: list[tuple[float, float]], name: str) -> JointPath:
    breaks, pieces = [np.zeros(1)], []
    for begin, end in stretches:
        way = _Way(motion, begin, end)
        s, c = quintic_pieces(way.curve, np.array([0.0, way.length]), name)
        breaks.append(breaks[-1][-1] + s[1:])
        pieces.append(c)
    return JointPath(np.concatenate(breaks), np.concatenate(pieces), name)


def _moving(motion: SampledMotion, name: str) -> list[tuple[float, float]]:
    """Time intervals between switches and rests in which something moves."""
    ends = np.array([0.0, motion.duration])
    switches = np.asarray(getattr(motion, "switches", getattr(motion, "times", ends)), dtype=np.float64)
    cuts = np.unique(np.clip(np.concatenate([ends, switches.ravel()]), 0.0, motion.duration))
    t = np.append(
        (cuts[:-1, None] + np.diff(cuts)[:, None] * np.arange(LOOKED_AT) / LOOKED_AT).ravel(), cuts[-1]
    )
    speed = _speed(motion, t)
    if not np.isfinite(speed).all():
        lost = float(t[~np.isfinite(speed)][0])
        raise InputError(f"q or qd are not finite from {lost:.6g} s on.", name)
    fastest = float(speed.max(initial=0.0))
    if fastest == 0.0:
        raise InputError("nothing moves; a path needs two different points.", name)
    around = np.concatenate([[np.inf], speed, [np.inf]])
    low = np.flatnonzero((speed <= around[:-2]) & (speed <= around[2:]) & (speed < SLOW * fastest))
    slowest = _least(motion, t[np.maximum(low - 1, 0)], t[np.minimum(low + 1, len(t) - 1)])
    cuts = np.unique(np.concatenate([cuts, slowest, t[speed <= STILL * fastest]]))
    cuts = cuts[np.diff(cuts, prepend=-motion.duration) > APART * motion.duration]
    cuts[-1] = motion.duration
    inside = _speed(motion, (cuts[:-1, None] + np.diff(cuts)[:, None] * np.array([0.25, 0.5, 0.75])).ravel())
    moves = inside.reshape(-1, 3).max(axis=1) > STILL * fastest
    return [(float(a), float(b)) for a, b, there in zip(cuts[:-1], cuts[1:], moves, strict=True) if there]


def _speed(motion: SampledMotion, t: Floats) -> Floats:
    return np.asarray(np.linalg.norm(motion.at(t)[1], axis=1))


def _least(motion: SampledMotion, low: Floats, high: Floats) -> Floats:
    """The times of minimum |qd| in these intervals, by golden-section search."""
    if not low.size:
        return low
    for _ in range(70):
        a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        left = _speed(motion, a) < _speed(motion, b)
        low, high = np.where(left, low, a), np.where(left, b, high)
    return 0.5 * (low + high)


def _by_length(q: Floats, qd: Floats, qdd: Floats) -> Floats:
    """q and two derivatives by arc length, (m, 3, n), from those by time, (m, n) each."""
    speed = np.linalg.norm(qd, axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):  # NaN at an undetected rest is refused later
        along = qd / speed
        across = qdd - along * (along * qdd).sum(axis=1, keepdims=True)
        return np.stack([q, along, across / speed**2], axis=1)


class _Way:
    """The motion between two cuts by arc length: s(t) is the integral of |qd|."""

    def __init__(self, motion: SampledMotion, begin: float, end: float) -> None:
        self.motion = motion
        self.t = np.linspace(begin, end, PARTS + 1)
        self.s = from_zero(self._travelled(self.t[:-1], self.t[1:]))
        self.length = float(self.s[-1])

    def curve(self, s: Floats) -> Floats:
        """q, q', q'' (m, 3, n); at both ends the limits from within."""
        inside = (s > 0.0) & (s < self.length)
        made = np.empty((len(s), 3, self.motion.at(self.t[:1])[0].shape[1]))
        made[inside] = self._at(self._when(s[inside]))
        for end, inward, beside in ((0, 1.0, BESIDE), (-1, -1.0, 1.0 - BESIDE)):
            here = ~inside & ((s == 0.0) == (end == 0))
            if here.any():
                made[here] = self._limit(self.t[[end]], inward, beside)
        return made

    def _limit(self, t: Floats, inward: float, beside: Floats) -> Floats:
        """At an end: from its velocity, with the acceleration beside it, or extrapolated from places beside a
        rest.
        """
        q, qd, _ = self.motion.at(t)
        if float(np.linalg.norm(qd)) > REST * self.length / float(self.t[-1] - self.t[0]):
            qdd = self.motion.at(t + inward * ONE_SIDED * (self.t[-1] - self.t[0]))[2]
            return _by_length(q, qd, qdd)
        made = self._at(self._when(beside * self.length))
        made = np.einsum("k,kij->ij", LIMIT, made)[None]
        made[:, 0] = q
        return np.asarray(made)

    def _at(self, t: Floats) -> Floats:
        return _by_length(*self.motion.at(t))

    def _when(self, s: Floats) -> Floats:
        """The times at arc lengths s: Newton steps with bisection as a safeguard."""
        k = np.clip(np.searchsorted(self.s, s, side="right") - 1, 0, PARTS - 1)
        low, high = self.t[k], self.t[k + 1]
        t = low + (high - low) * (s - self.s[k]) / (self.s[k + 1] - self.s[k])
        for _ in range(60):
            off = self.s[k] + self._travelled(self.t[k], t) - s
            low, high = np.where(off < 0.0, t, low), np.where(off > 0.0, t, high)
            if np.abs(off).max() <= 1e-15 * self.length:
                break
            step = t - off / np.maximum(_speed(self.motion, t), 1e-300)
            t = np.where((step > low) & (step < high), step, 0.5 * (low + high))
        return np.asarray(t)

    def _travelled(self, begin: Floats, end: Floats) -> Floats:
        """The integral of |qd| from `begin` to `end`, (m,) each."""
        half = 0.5 * (end - begin)
        t = (0.5 * (begin + end))[:, None] + half[:, None] * NODES
        return (_speed(self.motion, t.ravel()).reshape(t.shape) @ WEIGHTS) * half
