"""Integer sine: an angle as a fraction of a turn in 32 bits, which wraps around, and a polynomial over a
quarter turn.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
# sin(pi x / 2) = x P(x^2) on 0..1: P interpolates at Chebyshev points, error at most 2.7e-11; coefficients
# times 2^30.
COEFFICIENTS = (1686629713, -693598666, 85569282, -5026892, 172072, -3685)
FRACTION = 30
TURNS, TURN_FRACTION = 1367130551, 33  # 1 / (2 pi) times 2^33
TURNS_ERROR = abs(TURNS / 2.0**TURN_FRACTION - 1.0 / (2.0 * math.pi))
# Units of 2^-30: six rounded coefficients, five products and x^2 (slope of P below 0.7), the last product,
# and P itself.
ERROR = (0.5 * 6 + 0.5 * 5 + 0.5 * 0.7 + 0.5 + 0.03) * 2.0**-FRACTION


def angle_error(most: float) -> float:
    """Error of converting an angle of at most so many rad to a phase, rad."""
    return 2.0 * math.pi * (most * TURNS_ERROR + 2.0**-33)


def rounded_shift(x: Whole, bits: int) -> Whole:
    """x / 2^bits rounded to nearest, halves upwards."""
    return x if bits == 0 else (x + (1 << (bits - 1))) >> bits


def sine(angle: Whole, fraction: int, quarter: int) -> Whole:
    """sin(angle 2^-fraction + quarter pi / 2) times 2^30."""
    phase = (rounded_shift(angle * TURNS, fraction + TURN_FRACTION - 32) + (quarter << 30)) & 0xFFFFFFFF
    t = np.where(phase >= 3 << 30, phase - (1 << 32), np.where(phase > 1 << 30, (1 << 31) - phase, phase))
    square = rounded_shift(t * t, FRACTION)
    value = np.full_like(t, COEFFICIENTS[-1])
    for c in COEFFICIENTS[-2::-1]:
        value = c + rounded_shift(value * square, FRACTION)
    return np.clip(rounded_shift(value * t, FRACTION), -(1 << FRACTION), 1 << FRACTION)


C_TEXT = f"""\
/* The sine times 2^30 of a share of a turn times 2^32. */
static int32_t turn_sine(uint32_t phase)
{{
    static const int32_t p[{len(COEFFICIENTS)}] = {{{", ".join(map(str, COEFFICIENTS))}}};
    int64_t t = (int64_t)phase, square, value = p[{len(COEFFICIENTS) - 1}];
    int i;

    if (t >= INT64_C(3221225472))
        t -= INT64_C(4294967296);
    else if (t > INT64_C(1073741824))
        t = INT64_C(2147483648) - t;
    square = (t * t + INT64_C(536870912)) >> 30;
    for (i = {len(COEFFICIENTS) - 2}; i >= 0; i--)
        value = p[i] + ((value * square + INT64_C(536870912)) >> 30);
    value = (value * t + INT64_C(536870912)) >> 30;
    if (value > INT64_C(1073741824))
        return INT32_C(1073741824);
    return value < -INT64_C(1073741824) ? -INT32_C(1073741824) : (int32_t)value;
}}
"""
