"""How long the next step is, over any scalar, from the errors of the last two."""

from __future__ import annotations

from forearm.model import Scalar
from forearm.symbols.scalars import choose, exponential, maximum, minimum, root

SAFETY = 0.9
SHRINK, GROW = 0.2, 10.0
# The error a controller with memory believes in before its first step: E. Hairer's FACOLD.
FIRST_ERROR = 1e-4
# beta of E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, II.4
MEMORY = 0.04
# Errors beyond these, in units of what is allowed, change a step no more than these do.
LEAST_ERROR, MOST_ERROR = 1e-10, 1e8
HALVINGS, TERMS = 6, 8  # square roots taken of x, and terms of the series that is left, for its logarithm


def step_size(h: Scalar, left: Scalar) -> Scalar:
    """The size of the next step where so much is left: the last two steps share it."""
    return choose(h, left, choose(left, 2.0 * h, 0.5 * left, h), left)


def next_factor(exponent: float, memory: float, error: Scalar, before: Scalar, growth: Scalar) -> Scalar:
    """The next step over this one, by the error of this one and of the one before (Hairer and
    Wanner, section IV.2).
    """
    now = minimum(maximum(error, LEAST_ERROR), MOST_ERROR)
    factor = SAFETY * power(now, 0.75 * memory - exponent) * power(before, memory)
    return minimum(maximum(factor, SHRINK), growth)


def power(x: Scalar, exponent: float) -> Scalar:
    """x^exponent of a float; of other scalars to 1e-10, for x from LEAST_ERROR to MOST_ERROR."""
    if isinstance(x, float):
        return x**exponent
    for _ in range(HALVINGS):
        x = root(x)
    s = (x - 1.0) / (x + 1.0)  # ln x = 2 artanh s
    square, series = s * s, 1.0 / (2 * TERMS - 1)
    for k in range(TERMS - 2, -1, -1):
        series = series * square + 1.0 / (2 * k + 1)
    return exponential((2.0 * 2**HALVINGS * exponent) * (s * series))
