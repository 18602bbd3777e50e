"""Samples from the pieces of a log: filtered positions and their efforts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from forearm.identification.log_derivatives import even_derivatives, even_steps, smoothed
from forearm.identification.samples import Samples
from forearm.identification.signals.cleaning import PieceRows
from forearm.identification.signals.shifting import Shifter
from forearm.identification.signals.table import LogTable
from forearm.spatial import Floats
from forearm.values import frozen

BLOCK = 4096  # most samples in a block


@frozen
class WindowPlan:
    """How samples are formed from the rows of a log.

    Attributes:
        table: source of the rows.
        period: sampling period, s; None: rows are states without time.
        half: half window; 0 if logged qd and qdd are used.
        lowest, highest: clipping levels of efforts (n,).
        is_dead: joints (n,) without usable effort.
    """

    table: LogTable
    period: float | None
    half: int
    lowest: Floats
    highest: Floats
    is_dead: Floats


def samples_of(plan: WindowPlan, stretches: Iterable[PieceRows], shift: float) -> Iterator[Samples]:
    """The samples of all pieces."""
    maker = _SampleMaker(plan, shift)
    for stretch in stretches:
        if stretch.starts:
            yield from maker.samples(None)
        yield from maker.samples(stretch.rows)
    yield from maker.samples(None)


class _SampleMaker:
    """Converts rows of a piece to samples; None ends the piece.

    Internally a row is t, then q (and qd, qdd if logged), then efforts (and currents), then 1 for each usable
    effort.
    """

    def __init__(self, plan: WindowPlan, shift: float) -> None:
        self._plan = plan
        n, table = plan.table.n, plan.table
        motion = [table.position, *(() if plan.half else ("qd", "qdd"))]
        beside = ["current"] if table.has_current else []
        self._columns = [0, *table.places(*motion, table.effort, *beside)]
        first, count = 1 + len(motion) * n, (1 + len(beside)) * n
        self._effort = slice(first, first + n)
        self._efforts = slice(first, first + count)
        self._usable = slice(first + count, first + count + n)
        self._has_current = bool(beside)
        self._shifter = Shifter(-shift, slice(1, first))
        self._held = np.zeros(count)  # the last valid efforts
        self._rows = np.zeros((0, first + count + n))
        self._starts = True

    def samples(self, rows: Floats | None) -> Iterator[Samples]:
        """Samples that are complete after these rows."""
        ready = self._shifter.shifted(self._rows[:0] if rows is None else self._marked(rows), rows is None)
        self._rows = np.concatenate([self._rows, ready]) if len(self._rows) else ready
        edge = 2 * self._plan.half
        while len(self._rows) >= BLOCK + edge or (rows is None and len(self._rows) > edge):
            yield self._block(self._rows[: BLOCK + edge])
            self._rows = self._rows[BLOCK:]
            self._starts = False
        if rows is None:
            self._rows = self._rows[:0]
            self._starts = True
            self._shifter.start()

    def _marked(self, rows: Floats) -> Floats:
        """Rows in internal order; invalid efforts hold the last valid value and are marked."""
        plan = self._plan
        taken = rows[:, self._columns]
        efforts = taken[:, self._efforts]
        if not np.isfinite(efforts).all():
            taken[:, self._efforts] = self._filled(efforts)
        effort = rows[:, plan.table.at(plan.table.effort)]
        usable = (
            np.isfinite(effort) & (effort > plan.lowest) & (effort < plan.highest) & (plan.is_dead == 0.0)
        )
        if self._has_current:
            usable &= np.isfinite(rows[:, plan.table.at("current")])
        self._held = taken[-1, self._efforts]
        return np.concatenate([taken, usable], axis=1)

    def _filled(self, efforts: Floats) -> Floats:
        with_last = np.concatenate([self._held[None, :], efforts])
        last = np.where(np.isfinite(with_last), np.arange(len(with_last))[:, None], 0)
        last = np.maximum.accumulate(last, axis=0)
        return np.take_along_axis(with_last, last, axis=0)[1:]

    def _block(self, rows: Floats) -> Samples:
        plan = self._plan
        n, lost = plan.table.n, plan.half
        inner = rows[lost : len(rows) - lost]
        if not plan.half:
            motion = [np.ascontiguousarray(inner[:, 1 + k * n : 1 + (k + 1) * n]) for k in range(3)]
        else:
            motion = _windows(rows[:, 0], rows[:, 1 : 1 + n], plan)
        current = inner[:, self._effort.stop : self._efforts.stop].copy() if self._has_current else None
        return Samples(
            t=inner[:, 0].copy(),
            q=motion[0],
            qd=motion[1],
            qdd=motion[2],
            effort=inner[:, self._effort].copy(),
            usable=inner[:, self._usable] > 0.0,
            current=current,
            starts=self._starts,
        )


def _windows(t: Floats, values: Floats, plan: WindowPlan) -> list[Floats]:
    """Value, slope and curvature of the window polynomials, (T - 2 half, m) each: with constant weights at
    uniform times, otherwise by individual fits.
    """
    assert plan.period is not None
    half = plan.half
    uneven = np.concatenate([[0], np.cumsum(~even_steps(t, plan.period))])
    odd = uneven[2 * half :] > uneven[: len(t) - 2 * half]  # (T - 2 half,)
    if odd.all():
        out = [np.empty((len(odd), values.shape[1])) for _ in range(3)]
    else:
        out = even_derivatives(values, half, plan.period)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], odd, [False]])))
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        fit = smoothed(t[begin : end + 2 * half], values[begin : end + 2 * half], half)
        for made, part in zip(out, (fit.q, fit.qd, fit.qdd), strict=True):
            made[begin:end] = part
    return out
