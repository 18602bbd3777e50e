"""How well arms explain measured efforts: every figure of a joint comes from the same rows, and the predicted
efforts from the arm itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from forearm.identification.condensed import fold_of
from forearm.identification.effort_model import EffortModel
from forearm.identification.rows import RowSource
from forearm.identification.samples import Samples
from forearm.spatial import Floats
from forearm.values import frozen


class Predicts(Protocol):
    """What predicts the efforts of a log."""

    def efforts(self, s: Samples, rows: NDArray[np.intp]) -> Floats:
        """Efforts (T, n) at samples, which belong to these rows (T,) of the log."""
        ...


@frozen
class Prediction:
    """Efforts of an arm as sensors show them: its model, the values with load and offsets, and gains (n,)."""

    model: EffortModel
    x: Floats
    gains: Floats | float = 1.0

    def efforts(self, s: Samples, rows: NDArray[np.intp]) -> Floats:
        """Efforts (T, n) at samples of any row."""
        return self.gains * self.model.efforts(s, self.x)


@frozen
class HeldOut:
    """Each fold of a log predicted by an arm fitted to other data; NaN where there is none.

    Attributes:
        parts: predictions by fold.
        folds: their number.
        total: expected number of rows.
    """

    parts: Mapping[int, Prediction]
    folds: int
    total: int

    def efforts(self, s: Samples, rows: NDArray[np.intp]) -> Floats:
        """Efforts (T, n) at samples of these rows."""
        fold = fold_of(rows, self.folds, self.total)
        made = np.full_like(s.q, np.nan)
        for k in set(fold.tolist()) & set(self.parts):
            which = fold == k
            made[which] = self.parts[k].efforts(s.part(which), rows[which])
        return made


@frozen
class ComparedRows:
    """Rows of a log: times (T,), speeds, measured efforts and usable ones (T, n), and predicted efforts."""

    t: Floats
    speed: Floats
    measured: Floats
    usable: NDArray[np.bool_]
    predicted: tuple[Floats, ...]


def compared(source: RowSource, model: EffortModel, by: Sequence[Predicts]) -> Iterator[ComparedRows]:
    """One pass over a log, with the rows that a fit of the model uses."""
    seen = 0
    for s in source.samples():
        rows = seen + np.arange(len(s.t)) // source.averaged
        seen += len(s.t) // source.averaged
        predicted = (one.efforts(s, rows) for one in by)
        t, speed, measured, *efforts = map(source.means, (s.t, s.qd, s.effort, *predicted))
        yield ComparedRows(t, speed, measured, source.usable(s, model), tuple(efforts))


@frozen
class Agreement:
    """Agreement of predicted with measured efforts, over the same rows for every figure of a joint.

    Attributes:
        rows: number of rows (n,).
        sums, squares: sums over them of measured efforts and of residuals, and of their squares (k, n);
            residuals of the new arm, of the arm as given, and of arms fitted to other data.
    """

    rows: Floats
    sums: Floats
    squares: Floats

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(self.rows + other.rows, self.sums + other.sums, self.squares + other.squares)

    def rms_of(self, k: int) -> Floats:
        """Rms of the k-th quantity, (n,); NaN without rows."""
        return np.asarray(np.sqrt(self.squares[k] / self._rows))

    def explained_by(self, k: int) -> Floats:
        """1 - var(residual) / var(measured), (n,); NaN if nothing varies."""
        rows = self._rows
        spread, left = (self.squares[j] / rows - (self.sums[j] / rows) ** 2 for j in (0, k))
        return np.asarray(1.0 - left / np.where(spread > 0.0, spread, np.nan))

    @property
    def measured(self) -> Floats:
        """Rms of the measured efforts, (n,)."""
        return self.rms_of(0)

    @property
    def rms(self) -> Floats:
        """Rms residual of the new arm, (n,)."""
        return self.rms_of(1)

    @property
    def rms_before(self) -> Floats:
        """Rms residual of the arm as given, (n,)."""
        return self.rms_of(2)

    @property
    def rms_left_out(self) -> Floats:
        """Rms residual of arms fitted to other data, (n,)."""
        return self.rms_of(3)

    @property
    def explained(self) -> Floats:
        """Fraction of the variance of measured efforts that the new arm explains, (n,)."""
        return self.explained_by(1)

    @property
    def explained_before(self) -> Floats:
        """The same for the arm as given, (n,)."""
        return self.explained_by(2)

    @property
    def _rows(self) -> Floats:
        return np.where(self.rows > 0.0, self.rows, np.nan)


def agreement_of(usable: NDArray[np.bool_], measured: Floats, predicted: Sequence[Floats]) -> Agreement:
    """The agreement of efforts (T, n) where usable."""
    parts = np.array([measured, *(measured - one for one in predicted)])
    parts = np.where(usable, parts, 0.0)
    return Agreement(usable.sum(axis=0).astype(np.float64), parts.sum(axis=1), (parts**2).sum(axis=1))
