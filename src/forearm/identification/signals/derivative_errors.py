"""Errors of windowed derivatives: noise and filter bias."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from forearm.identification.convolution import filtered
from forearm.identification.log_derivatives import FINER, even_steps, smoothed, taps
from forearm.spatial import Floats

SURE = 3.0  # standard deviations of an estimate


def derivative_errors(
    stretches: Sequence[tuple[Floats, Floats]], half: int, period: float, noise: Floats
) -> tuple[Floats, Floats]:
    """Standard deviations of qd and of qdd, (n,) each, from stretches of times and positions with known noise
    (n,); at least one stretch is as long as a window.
    """
    gains = np.sum(taps(half, period) ** 2, axis=1)
    long = [(t, q) for t, q in stretches if len(t) > 4 * half]
    # non-overlapping windows; a single one if no stretch holds two
    used = long or [(t, q) for t, q in stretches if len(t) > 2 * half]
    apart = [_apart(t, q, half, period) for t, q in used]
    qd, qdd = (
        np.sqrt(_bent([both[k - 1] for both in apart], half, period, noise, k) + gains[k] * noise**2)
        for k in (1, 2)
    )
    return qd, qdd


def _apart(t: Floats, q: Floats, half: int, period: float) -> list[Floats]:
    """Slope and curvature by degree 4 less those by degree 6, (T - 2 half, n) each."""
    if even_steps(t, period).all():
        return filtered(q, (taps(half, period) - taps(half, period, FINER))[1:])
    coarse, fine = smoothed(t, q, half), smoothed(t, q, half, FINER)
    return [coarse.qd - fine.qd, coarse.qdd - fine.qdd]


def _bent(apart: Sequence[Floats], half: int, period: float, noise: Floats, order: int) -> Floats:
    """Mean square (n,) of the filter bias.

    The difference between the degrees contains bias and noise. Bias varies as slowly as the motion: a filter
    removes most of the noise, and the known remainder is subtracted. If the whole difference exceeds that,
    the motion is faster than the filter, and the whole difference counts.
    """
    weights = taps(half, period)[order] - taps(half, period, FINER)[order]
    values = taps(half, period)[0]
    variance = noise**2
    whole = _mean_square(apart) - np.sum(weights**2) * variance
    smooth = [filtered(part, values[None, :])[0] for part in apart if len(part) > 2 * half]
    if not smooth:
        return np.asarray(np.maximum(whole, 0.0))
    slow = _mean_square(smooth) - np.sum(np.convolve(weights, values) ** 2) * variance
    count = sum(len(part) for part in apart) / half  # approximate number of independent differences
    doubt = SURE * math.sqrt(2.0 / count) * np.sum(weights**2) * variance
    return np.asarray(np.maximum(np.where(whole > slow + doubt, whole, slow), 0.0))


def _mean_square(parts: Sequence[Floats]) -> Floats:
    return np.asarray(sum((part**2).sum(axis=0) for part in parts) / sum(len(part) for part in parts))
