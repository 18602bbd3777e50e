"""Rows of the least-squares problem: columns and efforts of a log, averaged over neighbouring samples.

A relation that is linear in the unknowns holds for averages as for samples: averaging both sides reduces
noise without distorting either, and sample-to-sample noise stays independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from forearm.identification.drive_law import COULOMB, LOSS, OFFSET, STATIC, STRIBECK_SPEED
from forearm.identification.effort_model import EffortModel, EffortScale
from forearm.identification.samples import LogSignals, PreparedLog, Samples, joined
from forearm.identification.signals.jumps import around
from forearm.spatial import Floats
from forearm.values import frozen

AVERAGED = 8.0  # rows per filter window: shorter averages lose nothing of the motion
MOST_AVERAGED = 50  # samples in a row
Extras: TypeAlias = Callable[[Samples, Floats], Floats]
MOVING = 3.0  # standard deviations of qd: a slower joint may be at rest or moving the other way
# samples: closer to a reversal, a jump of the effort cannot be separated from a time shift
NEAR_REVERSAL = 2.0
JUMPING = (*COULOMB, *STATIC, STRIBECK_SPEED, LOSS, OFFSET, ".mu")  # drive parameters whose effort jumps
SLOWEST = 1e-4  # of a joint's largest speed, if the error of its speed is unknown


@frozen
class Rows:
    """Consecutive rows of every joint.

    Attributes:
        t: times (T,), s.
        columns: (T, n, width + 1 + e): those of the model, the derivative by a time shift, and columns for
            residual tests.
        y: right side (T, n).
        usable: (T, n).
        starts: whether a new piece begins here.
    """

    t: Floats
    columns: Floats
    y: Floats
    usable: NDArray[np.bool_]
    starts: bool


@frozen
class RowSource:
    """A log and how its rows are formed.

    Attributes:
        log: the log.
        scale: conversion from measured efforts to torques.
        averaged: samples averaged per row.
        dead_zone: samples of slower joints with dry friction are excluded (n,), rad/s (m/s).
        shift: delay of efforts after the motion, s.
        jumps: joints whose acceleration jumps where they reverse or stop (n,).
    """

    log: PreparedLog
    scale: EffortScale
    averaged: int
    dead_zone: Floats
    shift: float
    jumps: NDArray[np.bool_]

    def rows(self, model: EffortModel, x: Floats, extras: Extras | None = None) -> Iterator[Rows]:
        """Rows at the unknowns x; for a linear model they do not depend on x.

        Args:
            model: the effort model.
            x: its unknowns.
            extras: additional columns (T, n, e) from samples and the torques of the rigid arm (T, n).
        """
        smooth = np.where([name.endswith(JUMPING) for name in model.names], 0.0, x[: len(model.names)])
        for s in self.samples():
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
            t, columns, y = (self.means(a) for a in (s.t, np.concatenate(parts, axis=2), y))
            yield Rows(t, columns, y, self.usable(s, model), s.starts)

    def samples(self) -> Iterator[Samples]:
        """The samples with torques as efforts, in blocks of whole rows."""
        for s in _whole_averages(self.log.blocks(self.shift), self.averaged):
            yield self.scale.torque(s)

    def means(self, a: Floats) -> Floats:
        """Values of samples as values of rows."""
        return a if self.averaged == 1 else a.reshape(-1, self.averaged, *a.shape[1:]).mean(axis=1)

    def usable(self, s: Samples, model: EffortModel) -> NDArray[np.bool_]:
        """Usable rows (T, n)."""
        there = s.usable & ~self._near_reversals(s, model)
        return np.asarray(there.reshape(-1, self.averaged, there.shape[1]).all(axis=1))

    def _near_reversals(self, s: Samples, model: EffortModel) -> NDArray[np.bool_]:
        """Unusable samples (T, n) of joints with dry friction: at rest or of uncertain direction; and the
        neighbourhood that the position filter distorts where accelerations jump. A joint with Stribeck
        friction keeps those, as nothing else shows it.
        """
        slow = _slow(s, self.log.signals, self.dead_zone) & np.array(model.is_dry)
        bent = self.jumps & np.array([law.friction != "stribeck" for law in model.laws])
        return np.where(bent, around(slow, _half_window(self.log.signals)), slow)

    def _slopes(self, s: Samples, efforts: Floats) -> Floats:
        """Derivative of torques (T, n) by a shift of the measured efforts, from the efforts of the model, as
        measured ones are too noisy. Noise of accelerations enters too: differences span a good part of the
        filter window, otherwise the column is mostly noise and the shift looks more certain than it is. Dry
        friction is excluded: it jumps at reversals, and hardly changes elsewhere.
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
        return slopes


def row_source(log: PreparedLog, scale: EffortScale, shift: float) -> RowSource:
    """How a log's rows are formed, from its properties."""
    known = log.signals
    averaged = 1
    if np.isfinite(known.window) and known.window > 0.0:
        averaged = int(np.clip(round(known.window / (AVERAGED * known.period)), 1, MOST_AVERAGED))
    dead_zone = np.fmax(MOVING * known.qd_error, SLOWEST * known.fastest)  # an error may be unknown
    jumps = np.zeros(len(dead_zone), dtype=np.bool_) if known.jumps is None else known.jumps
    return RowSource(log, scale, averaged, dead_zone, shift, jumps)


def _slow(s: Samples, known: LogSignals, dead_zone: Floats) -> NDArray[np.bool_]:
    """Samples at which joints are at rest or of uncertain direction (T, n)."""
    return np.abs(s.qd) <= np.maximum(dead_zone, NEAR_REVERSAL * known.period * np.abs(s.qdd))


def _half_window(known: LogSignals) -> int:
    """Half window of the position filter, samples; 0 without a filter."""
    return math.ceil(0.5 * known.window / known.period) if math.isfinite(known.window) else 0


def _whole_averages(blocks: Iterator[Samples], averaged: int) -> Iterator[Samples]:
    """The samples in blocks of whole averages; the remainder of a piece is dropped."""
    kept: Samples | None = None
    for s in blocks:
        if kept is not None and not s.starts:
            s = joined([kept, s])
        whole = len(s.t) - len(s.t) % averaged
        kept = s.part(slice(whole, None)) if whole < len(s.t) else None
        if kept is not None and whole:
            kept = replace(kept, starts=False)
        if whole:
            yield s.part(slice(0, whole))
