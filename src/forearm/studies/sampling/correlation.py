"""Correlated variables: a Gaussian copula between the columns of a design."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from forearm.errors import InputError, shorten
from forearm.records import set_field
from forearm.spatial import Floats
from forearm.studies.sampling.normal_quantile import normal_cdf, normal_quantile
from forearm.values import check_choice, check_number

Pairs = Mapping[tuple[str, str], float]

SMALLEST = 1e-9  # eigenvalue that rounding cannot produce from 0
LOWEST, HIGHEST = np.nextafter(0.0, 1.0), np.nextafter(1.0, 0.0)


@dataclass(frozen=True, eq=False)
class Correlation:
    """A Gaussian copula: each column keeps its distribution, and pairs become correlated.

    A pair's rho is the correlation of the underlying normals; Spearman's rank correlation of two continuous
    variables is then 6/pi asin(rho/2), whatever their distributions.

    Attributes:
        names: of the columns.
        pairs: rho by the two names of a pair, in either order; unnamed pairs have 0.
    """

    names: Sequence[str]
    pairs: Pairs
    _columns: tuple[int, ...] = field(init=False, repr=False)  # columns with a correlation
    _factor: Floats = field(init=False, repr=False)  # Cholesky factor of these columns

    def __post_init__(self) -> None:
        pairs = _checked_pairs(self.names, self.pairs)
        paired = {name for pair in pairs for name in pair}
        columns = tuple(column for column, name in enumerate(self.names) if name in paired)
        set_field(self, "pairs", pairs)
        set_field(self, "_columns", columns)
        set_field(self, "_factor", _factor_of(self.names, pairs, columns))

    def correlated(self, u: Floats) -> Floats:
        """Points of a design (B, d) with correlated columns; uncorrelated columns are unchanged."""
        made = u.copy()
        normals = [normal_quantile(u[:, column]) for column in self._columns]
        for column, weights in zip(self._columns, self._factor, strict=True):
            if np.count_nonzero(weights) > 1:
                made[:, column] = np.clip(normal_cdf(_weighted_sum(weights, normals)), LOWEST, HIGHEST)
        return made


def _weighted_sum(weights: Floats, columns: Sequence[Floats]) -> Floats:
    """Weighted sum of columns (B,).

    Column by column: a matrix product rounds differently in blocks of different sizes.
    """
    total = np.zeros_like(columns[0])
    for weight, column in zip(weights.tolist(), columns, strict=True):
        if weight != 0.0:
            total += weight * column
    return total


def _checked_pairs(names: Sequence[str], pairs: Pairs) -> dict[tuple[str, str], float]:
    checked: dict[tuple[str, str], float] = {}
    for pair, given in pairs.items():
        if not isinstance(pair, tuple) or len(pair) != 2 or pair[0] == pair[1]:
            raise InputError(f"expected a pair of two different names, got {shorten(pair)}.", "correlation")
        a, b = (check_choice(name, names, "correlation") for name in pair)
        where = f"correlation of {a} and {b}"
        if (b, a) in checked:
            raise InputError("given twice; remove one.", where)
        checked[a, b] = check_number(given, where)
        if not -1.0 < checked[a, b] < 1.0:
            raise InputError(
                f"expected a number between -1 and 1, ends excluded, got {given:g}; for full "
                "correlation vary one parameter and derive the other from it.",
                where,
            )
    return checked


def _factor_of(names: Sequence[str], pairs: Pairs, columns: Sequence[int]) -> Floats:
    """Cholesky factor of the correlations of some columns; refused if not positive definite.

    Args:
        names: of all columns.
        pairs: rho by names.
        columns: those with a correlation.
    """
    place = {names[column]: k for k, column in enumerate(columns)}
    R = np.eye(len(columns))
    for (a, b), rho in pairs.items():
        R[place[a], place[b]] = R[place[b], place[a]] = rho
    values, vectors = np.linalg.eigh(R)
    if len(values) and values[0] <= SMALLEST:
        # v^T R v = 1 + 2 sum of rho_ij v_i v_j is the eigenvalue: the most suspicious pair lowers it most.
        v = vectors[:, 0]
        a, b = min(pairs, key=lambda pair: pairs[pair] * v[place[pair[0]]] * v[place[pair[1]]])
        raise InputError(
            f"expected a positive definite matrix, got the eigenvalue {values[0]:.3g}: such "
            f"correlations are impossible. Check {a} and {b} ({pairs[a, b]:g}) first, or "
            f"multiply every correlation by less than {1.0 / (1.0 - values[0]):.3g}.",
            "correlation",
        )
    return _cholesky(R)


def _cholesky(R: Floats) -> Floats:
    """The lower factor, with the same order of summation on every machine."""
    L = np.zeros_like(R)
    for i in range(len(R)):
        for k in range(i + 1):
            rest = float(R[i, k])
            for j in range(k):
                rest -= float(L[i, j]) * float(L[k, j])
            L[i, k] = math.sqrt(rest) if i == k else rest / float(L[k, k])
    return L
