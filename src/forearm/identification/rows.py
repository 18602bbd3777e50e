"""Rows of the least-squares problem: columns and efforts of a log, averaged over neighbouring samples.

A relation that is linear in the unknowns holds for averages as it does for samples: averages on both sides
take away noise without distorting either, and noise that is independent from sample to sample stays so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from forearm.identification.drive_law import COULOMB, LOSS, OFFSET, STATIC, STRIBECK_SPEED
from forearm.identification.effort_model import EffortModel, EffortScale
from forearm.identification.samples import LogSignals, PreparedLog, Samples
from forearm.identification.signals.jumps import around
from forearm.spatial import Floats

AVERAGED = 8.0  # rows in a window of the filter of positions: averages within it lose nothing of the motion
MOST_AVERAGED = 50  # samples in a row
Extras: TypeAlias = Callable[[Samples, Floats], Floats]
MOVING = 3.0  # standard deviations of qd: a joint that is slower may as well stand, or go the other way
# samples: nearer to where a joint reverses, a jump of its effort cannot be told from an early or a late one
NEAR_REVERSAL = 2.0
JUMPING = (*COULOMB, *STATIC, STRIBECK_SPEED, LOSS, OFFSET, ".mu")  # figures whose efforts jump, or stay
SLOWEST = 1e-4  # of a joint's largest speed, where nothing is known of the error of its speed


@dataclass(frozen=True, eq=False)
class Rows:
    """Consecutive rows of every joint.

    Attributes:
        t: times (T,), s.
        columns: (T, n, width + 1 + e): those of the model, what a shift in time changes, and further ones
            that tests of what is left hold it against.
        y: what they are to explain (T, n).
        effort: the measured efforts, as torques (T, n).
        speed: qd (T, n).
        usable: (T, n).
        starts: whether a new piece begins here.
        before: efforts of the arm as it was given (T, n), where they were asked for.
    """

    t: Floats
    columns: Floats
    y: Floats
    effort: Floats
    speed: Floats
    usable: NDArray[np.bool_]
    starts: bool
    before: Floats | None = None


@dataclass(frozen=True, eq=False)
class RowSource:
    """A log and how rows are made of it.

    Attributes:
        log: the log.
        scale: from what was measured to torques.
        averaged: samples in a row.
        dead_zone: slower joints are left out where their friction is dry (n,), rad/s (m/s).
        shift: of efforts against the motion, s.
        jumps: joints whose acceleration jumps where they reverse or stop (n,).
    """

    log: PreparedLog
    scale: EffortScale
    averaged: int
    dead_zone: Floats
    shift: float
    jumps: NDArray[np.bool_]

    def rows(
        self, model: EffortModel, x: Floats, before: EffortModel | None = None, extras: Extras | None = None
    ) -> Iterator[Rows]:
        """Rows at the unknowns x: for a model that is linear they are the same at every x.

        Args:
            model: whose columns they have.
            x: its unknowns.
            before: the model of the arm as it was given, whose efforts are asked for, too.
            extras: further columns (T, n, e) from samples and the torques of the rigid arm (T, n).
        """
        smooth = np.where([name.endswith(JUMPING) for name in model.names], 0.0, x[: len(model.names)])
        for s in _whole_averages(self.log.blocks(self.shift), self.averaged):
            s = self.scale.torque(s)
            columns, efforts = model.columns(s, x)
            y = s.effort - model.known(s)
            linear = model.times(columns, x)
            if efforts is not None:
                y = y - efforts + linear
            parts = [columns, self._slopes(s, model.times(columns, smooth))[:, :, None]]
            if extras is not None:
                p = len(model.base)
                rigid = columns[:, :, :p] @ x[:p]
                parts.append(extras(s, rigid))
            usable = s.usable & ~self._near_reversals(s, model)
            t, columns, y, effort, speed = (
                _means(a, self.averaged) for a in (s.t, np.concatenate(parts, axis=2), y, s.effort, s.qd)
            )
            given = None if before is None else _means(before.efforts(s), self.averaged)
            whole = np.asarray(usable.reshape(len(t), self.averaged, -1).all(axis=1))
            yield Rows(t, columns, y, effort, speed, whole, s.starts, given)

    def _near_reversals(self, s: Samples, model: EffortModel) -> NDArray[np.bool_]:
        """Samples (T, n) that say nothing of a joint with dry friction: it stands, or may go either way; and
        those around that the filter of positions bends, where accelerations jump. A joint with Stribeck's
        friction keeps those: they are all that shows it.
        """
        slow = _slow(s, self.log.signals, self.dead_zone) & np.array(model.is_dry)
        bent = self.jumps & np.array([law.friction != "stribeck" for law in model.laws])
        return np.where(bent, around(slow, _half_window(self.log.signals)), slow)

    def _slopes(self, s: Samples, efforts: Floats) -> Floats:
        """What a shift of the measured efforts changes of torques (T, n), by the efforts of the model:
        measured ones are too noisy. Noise of accelerations is in these, too: differences go over a good part
        of the filter's window, else the column is mostly noise, and the shift looks surer than it is. Dry
        friction is not in them: it jumps where joints reverse, and hardly changes elsewhere.
        """
        if len(s.t) < 2 or not self.log.signals.window:
            return np.zeros_like(efforts)
        slopes = np.gradient(efforts, s.t, axis=0)
        reach = _half_window(self.log.signals) // 2
        if reach > 1 and len(s.t) > 2 * reach:
            apart = s.t[2 * reach :] - s.t[: -2 * reach]
            slopes[reach:-reach] = (efforts[2 * reach :] - efforts[: -2 * reach]) / apart[:, None]
        if self.scale.of_current is None:
            slopes = slopes - self.scale.by_speed * s.qdd
        return np.asarray(slopes)


def row_source(log: PreparedLog, scale: EffortScale, shift: float, fastest: Floats) -> RowSource:
    """How rows are made of a log, by what is known of it; `fastest` are its joints' largest speeds (n,)."""
    known = log.signals
    averaged = 1
    if np.isfinite(known.window) and known.window > 0.0:
        averaged = int(np.clip(round(known.window / (AVERAGED * known.period)), 1, MOST_AVERAGED))
    dead_zone = np.fmax(MOVING * known.qd_error, SLOWEST * fastest)  # an error may be unknown
    jumps = np.zeros(len(fastest), dtype=np.bool_) if known.jumps is None else known.jumps
    return RowSource(log, scale, averaged, dead_zone, shift, jumps)


def _slow(s: Samples, known: LogSignals, dead_zone: Floats) -> NDArray[np.bool_]:
    """Where joints stand, or may go either way (T, n)."""
    return np.asarray(np.abs(s.qd) <= np.maximum(dead_zone, NEAR_REVERSAL * known.period * np.abs(s.qdd)))


def _half_window(known: LogSignals) -> int:
    """Of the filter of positions, samples; 0: there is none."""
    return math.ceil(0.5 * known.window / known.period) if math.isfinite(known.window) else 0


def _means(a: Floats, averaged: int) -> Floats:
    return a if averaged == 1 else a.reshape(len(a) // averaged, averaged, *a.shape[1:]).mean(axis=1)


def _whole_averages(blocks: Iterator[Samples], averaged: int) -> Iterator[Samples]:
    """The same samples in blocks of whole averages; what is left at the end of a piece is dropped."""
    kept: Samples | None = None
    for s in blocks:
        if kept is not None and not s.starts:
            s = replace(_joined(kept, s), starts=kept.starts)
        whole = len(s.t) - len(s.t) % averaged
        kept = _part(s, slice(whole, None)) if whole < len(s.t) else None
        if kept is not None and whole:
            kept = replace(kept, starts=False)
        if whole:
            yield _part(s, slice(0, whole))


def _part(s: Samples, which: slice) -> Samples:
    current = None if s.current is None else s.current[which]
    arrays = {name: getattr(s, name)[which] for name in _ARRAYS}
    return Samples(**arrays, current=current, starts=s.starts)


def _joined(a: Samples, b: Samples) -> Samples:
    arrays = {name: np.concatenate([getattr(a, name), getattr(b, name)]) for name in _ARRAYS}
    current = None if a.current is None or b.current is None else np.concatenate([a.current, b.current])
    return Samples(**arrays, current=current, starts=a.starts)


_ARRAYS = ("t", "q", "qd", "qdd", "effort", "usable")
