"""Sensitivity of an output to variables: Sobol' indices, rank correlations and rank regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from forearm.errors import InputError
from forearm.spatial import Floats
from forearm.values import as_floats, check_number, check_whole

BLOCK = 2**22  # values in a block of resamples
SAME = 1e-12  # of the values themselves: smaller differences are rounding


@dataclass(frozen=True, eq=False)
class SobolIndices:
    """Sobol' indices of an output by variable; NaN if the output does not vary.

    Attributes:
        first: first-order indices, explained by a variable alone, (d,).
        total: total indices, including all interactions, (d,).
        first_interval, total_interval: confidence limits (d, 2).
        samples: number of base samples used.
        dropped: number of base samples excluded for non-finite values.
    """

    first: Floats
    total: Floats
    first_interval: Floats
    total_interval: Floats
    samples: int
    dropped: int


def sobol_indices(
    values: ArrayLike, d: int, *, resamples: int = 200, seed: int = 0, level: float = 0.95
) -> SobolIndices:
    """First-order and total Sobol' indices of the outputs of a sobol-indices design.

    First order by A. Saltelli et al., Computer Physics Communications 181, 2010, from centred values; total
    by M. Jansen, Computer Physics Communications 117, 1999; intervals by a percentile bootstrap over the
    base samples.

    Args:
        values: outputs in the order of the design's rows (rows,).
        d: dimensions of the design.
        resamples: number of bootstrap resamples.
        seed: of the bootstrap.
        level: confidence level of the intervals.
    """
    d = check_whole(d, "sobol_indices, d", 1)
    check_whole(resamples, "sobol_indices, resamples", 2)
    check_whole(seed, "sobol_indices, seed", 0)
    check_number(level, "sobol_indices, level", above=0.0, maximum=1.0)
    runs = _base_samples(values, d)
    kept = runs[np.isfinite(runs).all(axis=1)]
    counts = len(kept), len(runs) - len(kept)
    if not _varies(kept[:, :2]):
        one, two = np.full(d, np.nan), np.full((d, 2), np.nan)
        return SobolIndices(one, one.copy(), two, two.copy(), *counts)
    terms = _terms(kept)
    estimate = _indices(terms.mean(axis=0)[None], d)[0]
    limits = _limits(_resampled(terms, d, resamples, seed), level)
    return SobolIndices(estimate[:d], estimate[d:], limits[:d], limits[d:], *counts)


def rank_correlations(inputs: ArrayLike, values: ArrayLike) -> Floats:
    """Spearman's rank correlation of each input with an output, (d,); NaN if one does not vary.

    Args:
        inputs: (rows, d); rows with non-finite values are excluded.
        values: (rows,).
    """
    X, y = _standard_ranks(inputs, values)
    if not len(y):
        return np.full(X.shape[1], np.nan)
    return np.asarray((X * y[:, None]).mean(axis=0))


def _base_samples(values: ArrayLike, d: int) -> Floats:
    """The outputs of A, B and each AB_i, one base sample per row, (n, d + 2)."""
    outputs = as_floats(values, "sobol_indices, values")
    if outputs.ndim != 1 or not outputs.size or outputs.size % (d + 2):
        raise InputError(
            f"expected one per row of a sobol-indices design, a multiple of {d + 2}, got "
            f"shape {outputs.shape}; give all rows in their order.",
            "sobol_indices",
            "values",
        )
    return outputs.reshape(-1, d + 2)


def _varies(outputs: Floats) -> bool:
    if not outputs.size:
        return False
    low, high = float(outputs.min()), float(outputs.max())
    return high - low > SAME * max(abs(low), abs(high))


def _terms(runs: Floats) -> Floats:
    """Terms that the estimators average over base samples, (n, 2 d + 2).

    By column: f_B (f_ABi - f_A), (f_A - f_ABi)^2 / 2, then mean and mean square of f_A and f_B; f is centred
    and scaled, which leaves the indices unchanged and avoids overflow.
    """
    scaled = runs / np.abs(runs).max()
    scaled -= scaled[:, :2].mean()
    scaled /= np.abs(scaled).max()
    f_A, f_B, f_AB = scaled[:, :1], scaled[:, 1:2], scaled[:, 2:]
    both = scaled[:, :2]
    means = np.stack([both.mean(axis=1), (both * both).mean(axis=1)], axis=1)
    return np.concatenate([f_B * (f_AB - f_A), 0.5 * (f_A - f_AB) ** 2, means], axis=1)


def _indices(averages: Floats, d: int) -> Floats:
    """First-order and total indices from averages of the terms: (r, 2 d + 2) -> (r, 2 d)."""
    mean, square = averages[:, -2], averages[:, -1]
    variance = square - mean * mean
    # A resample may consist of one base sample only.
    variance = np.where(variance > 0.0, variance, np.nan)
    with np.errstate(over="ignore"):
        found = averages[:, : 2 * d] / variance[:, None]
    return np.where(np.isfinite(found), found, np.nan)


def _resampled(terms: Floats, d: int, resamples: int, seed: int) -> Floats:
    """Indices of base samples resampled with replacement, (resamples, 2 d)."""
    generator = np.random.default_rng(seed)
    n = len(terms)
    size = max(1, BLOCK // n)
    found = []
    for start in range(0, resamples, size):
        drawn = [generator.integers(n, size=n) for _ in range(min(size, resamples - start))]
        times = np.stack([np.bincount(rows, minlength=n) for rows in drawn])
        found.append(_indices(times @ terms / n, d))
    return np.concatenate(found)


def _limits(resampled: Floats, level: float) -> Floats:
    """The percentiles that exclude (1 - level) / 2 at either end, (2 d, 2)."""
    finite = resampled[np.isfinite(resampled).all(axis=1)]
    if not len(finite):
        return np.full((resampled.shape[1], 2), np.nan)
    outside = 0.5 * (1.0 - level)
    return np.asarray(np.quantile(finite, [outside, 1.0 - outside], axis=0).T)


def _standard_ranks(inputs: ArrayLike, values: ArrayLike) -> tuple[Floats, Floats]:
    """Ranks of inputs (n, d) and values (n,) of the finite rows, each standardised or all NaN."""
    X, y = as_floats(inputs, "inputs"), as_floats(values, "values")
    finite = np.isfinite(X).all(axis=1) & np.isfinite(y)
    columns = [_standard_rank(column[finite]) for column in (*X.T, y)]
    return np.stack(columns[:-1], axis=1) if len(columns) > 1 else X[finite], columns[-1]


def _standard_rank(column: Floats) -> Floats:
    _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    if len(counts) < 2:
        return np.full(len(column), np.nan)
    ranks = (np.cumsum(counts) - 0.5 * (counts - 1))[place]  # ties get their mean rank
    centred = ranks - ranks.mean()
    return np.asarray(centred / np.sqrt((centred * centred).mean()))
