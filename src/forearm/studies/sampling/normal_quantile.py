"""Quantile and distribution function of the normal distribution, for arrays."""

from __future__ import annotations

import math

import numpy as np

from forearm.spatial import Floats

# Numerator and denominator coefficients by region, highest power first.
CENTRE = (
    (
        2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
        1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0,
    ),
    (
        5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
        5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0,
    ),
)  # fmt: skip
TAIL = (
    (
        7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
        1.27045825245236838258e0, 3.64784832476320460504e0, 5.76949722146069140550e0,
        4.63033784615654529590e0, 1.42343711074968357734e0,
    ),
    (
        1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
        1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e0,
        2.05319162663775882187e0, 1.0,
    ),
)  # fmt: skip
FAR_TAIL = (
    (
        2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
        2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e0,
        5.46378491116411436990e0, 6.65790464350110377720e0,
    ),
    (
        2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
        7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
        5.99832206555887937690e-1, 1.0,
    ),
)  # fmt: skip
HALF_CENTRE = 0.425  # |u - 1/2| of the central region
SPLIT_TAIL = 5.0  # sqrt(-log u) at the start of the far tail
Rational = tuple[tuple[float, ...], tuple[float, ...]]

_erfc = np.frompyfunc(math.erfc, 1, 1)


def normal_quantile(u: Floats) -> Floats:
    """Standard normal quantiles, to about 1e-15 relative; NaN outside (0, 1).

    M. J. Wichura, Algorithm AS 241 (PPND16), Applied Statistics 37, 1988.
    """
    u = np.asarray(u, dtype=np.float64)
    offset = u - 0.5
    quantile = np.full(u.shape, np.nan)
    central = np.abs(offset) <= HALF_CENTRE
    inner = offset[central]
    quantile[central] = inner * _ratio(CENTRE, HALF_CENTRE * HALF_CENTRE - inner * inner)
    outer = ~central & (u > 0.0) & (u < 1.0)
    tail = np.where(offset < 0.0, u, 1.0 - u)[outer]
    quantile[outer] = np.copysign(_tail_quantile(np.sqrt(-np.log(tail))), offset[outer])
    return quantile


def normal_cdf(x: Floats) -> Floats:
    """The standard normal distribution function, erfc(-x / sqrt 2) / 2."""
    scaled = np.asarray(x, dtype=np.float64) * -math.sqrt(0.5)
    cdf: Floats = 0.5 * np.asarray(_erfc(scaled), dtype=np.float64)
    return cdf


def _tail_quantile(r: Floats) -> Floats:
    """The distance from 0 of the quantile beyond which the probability is exp(-r^2)."""
    return np.where(r <= SPLIT_TAIL, _ratio(TAIL, r - 1.6), _ratio(FAR_TAIL, r - SPLIT_TAIL))


def _ratio(rational: Rational, r: Floats) -> Floats:
    over, under = (np.zeros_like(r), np.zeros_like(r))
    for a, b in zip(*rational, strict=True):
        over = over * r + a
        under = under * r + b
    return over / under
