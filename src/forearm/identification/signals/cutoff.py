"""The cut-off of a window: the frequency up to which it lets motion through."""

from __future__ import annotations

import numpy as np

from forearm.errors import InputError
from forearm.identification.log_derivatives import HALVES, taps

SHORTEST = HALVES[0]
BISECTIONS = 60


def cutoff_of(half: int, period: float) -> float:
    """Where the filter of positions passes half the power, Hz: |H(f)|^2 = 1/2.

    H(f) = sum w_k cos(2 pi f k period), w the weights of the polynomial's value.
    """
    weights = taps(half, 1.0)[0]
    k = np.arange(-half, half + 1)

    def power(f: float) -> float:
        return float(weights @ np.cos(2.0 * np.pi * f * k)) ** 2

    high = 0.25 / half  # well below the cut-off of degree 4, which is near 1.4 / (2 half + 1)
    low = 0.0
    while power(high) > 0.5 and high < 0.5:
        low, high = high, high * 1.05
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if power(middle) > 0.5 else (low, middle)
    return min(high, 0.5) / period


def half_for(cutoff: float, period: float, longest: int, name: str) -> int:
    """The half window whose cut-off is nearest to this one, Hz; `longest` rows are in one piece."""
    most = cutoff_of(SHORTEST, period)
    if cutoff > 1.05 * most:
        raise InputError(
            f"{name}, cutoff: {cutoff:g} Hz; rows {period:.4g} s apart allow {most:.4g} Hz at most, by a "
            f"window of {2 * SHORTEST + 1} samples. Give a lower one, or leave it out."
        )
    low, high = SHORTEST, max(SHORTEST + 1, (longest - 1) // 2)
    if cutoff_of(high, period) > cutoff:
        raise InputError(
            f"{name}, cutoff: {cutoff:g} Hz; the longest piece of {longest} rows, {period:.4g} s apart, "
            f"allows {cutoff_of(high, period):.4g} Hz at least. Give a higher one, or leave it out."
        )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if cutoff_of(middle, period) > cutoff else (low, middle)
    return min((low, high), key=lambda half: abs(cutoff_of(half, period) - cutoff))
