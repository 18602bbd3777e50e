"""Step size control, over any scalar, from the errors of the last two steps."""

from __future__ import annotations

from forearm.model import Scalar
from forearm.symbols.scalars import choose, exp, maximum, minimum, root

SAFETY = 0.9
SHRINK, GROW = 0.2, 10.0
# The initial error of the controller's memory: E. Hairer's FACOLD.
FIRST_ERROR = 1e-4
# beta of E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, II.4
MEMORY = 0.04
# Errors outside these bounds, relative to the tolerance, are clipped to them.
LEAST_ERROR, MOST_ERROR = 1e-10, 1e8
HALVINGS, TERMS = 6, 8  # square roots of x taken, and terms of the remaining series, for its logarithm


def step_size(h: Scalar, left: Scalar) -> Scalar:
    """The next step size for a remaining interval: the last two steps share it."""
    return choose(h, left, choose(left, 2.0 * h, 0.5 * left, h), left)


def next_factor(exponent: float, memory: float, error: Scalar, before: Scalar, growth: Scalar) -> Scalar:
    """The ratio of the next step size to this one, from the error of this step and the one before (Hairer and
    Wanner, section IV.2).
    """
    now = minimum(maximum(error, LEAST_ERROR), MOST_ERROR)
    factor = SAFETY * power(now, 0.75 * memory - exponent) * power(before, memory)
    return minimum(maximum(factor, SHRINK), growth)


def power(x: Scalar, exponent: float) -> Scalar:
    """x^exponent of a float; for other scalars to 1e-10, for x from LEAST_ERROR to MOST_ERROR."""
    if isinstance(x, float):
        return x**exponent
    for _ in range(HALVINGS):
        x = root(x)
    s = (x - 1.0) / (x + 1.0)  # ln x = 2 artanh s
    square, series = s * s, 1.0 / (2 * TERMS - 1)
    for k in range(TERMS - 2, -1, -1):
        series = series * square + 1.0 / (2 * k + 1)
    return exp((2.0 * 2**HALVINGS * exponent) * (s * series))
