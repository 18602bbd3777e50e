"""How far derivatives by windows are from the true ones: noise that passes, and what a window bends away."""

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
    """Standard deviations of qd and of qdd, (n,) each, from stretches of times and positions whose noise (n,)
    is known; one of them at least is as long as a window.
    """
    gains = np.sum(taps(half, period) ** 2, axis=1)
    long = [(t, q) for t, q in stretches if len(t) > 4 * half]
    # a window by a window; where no stretch has room for two, one must do
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
    """Mean square (n,) of what the window bends away.

    The difference of the degrees is bending and noise. Bending is as slow as the motion: a filter takes most
    of the noise away, and what is left of it is known and subtracted. Where the whole difference has more in
    it than that, the motion is faster than the filter, and the whole counts.
    """
    weights = taps(half, period)[order] - taps(half, period, FINER)[order]
    values = taps(half, period)[0]
    variance = noise**2
    whole = _mean_square(apart) - np.sum(weights**2) * variance
    smooth = [filtered(part, values[None, :])[0] for part in apart if len(part) > 2 * half]
    if not smooth:
        return np.asarray(np.maximum(whole, 0.0))
    slow = _mean_square(smooth) - np.sum(np.convolve(weights, values) ** 2) * variance
    count = sum(len(part) for part in apart) / half  # differences that know nothing of each other, about
    doubt = SURE * math.sqrt(2.0 / count) * np.sum(weights**2) * variance
    return np.asarray(np.maximum(np.where(whole > slow + doubt, whole, slow), 0.0))


def _mean_square(parts: Sequence[Floats]) -> Floats:
    return np.asarray(sum((part**2).sum(axis=0) for part in parts) / sum(len(part) for part in parts))
