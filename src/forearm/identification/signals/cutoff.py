"""The cut-off frequency of a window."""

from __future__ import annotations

import numpy as np

from forearm.errors import InputError
from forearm.identification.log_derivatives import HALVES, taps

SHORTEST = HALVES[0]
BISECTIONS = 60


def cutoff_of(half: int, period: float) -> float:
    """Half-power frequency of the position filter, Hz: |H(f)|^2 = 1/2.

    H(f) = sum w_k cos(2 pi f k period), w the polynomial's value weights.
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
    """The half window whose cut-off is nearest to this one, Hz; the longest piece has `longest` rows."""
    most = cutoff_of(SHORTEST, period)
    if cutoff > 1.05 * most:
        raise InputError(
            f"{cutoff:g} Hz; rows {period:.4g} s apart allow at most {most:.4g} Hz, with a "
            f"window of {2 * SHORTEST + 1} samples. Give a lower cutoff, or omit it.",
            name,
            "cutoff",
        )
    low, high = SHORTEST, max(SHORTEST + 1, (longest - 1) // 2)
    if cutoff_of(high, period) > cutoff:
        raise InputError(
            f"{cutoff:g} Hz; the longest piece of {longest} rows, {period:.4g} s apart, "
            f"allows no less than {cutoff_of(high, period):.4g} Hz. Give a higher cutoff, or "
            "omit it.",
            name,
            "cutoff",
        )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if cutoff_of(middle, period) > cutoff else (low, middle)
    return min((low, high), key=lambda half: abs(cutoff_of(half, period) - cutoff))
