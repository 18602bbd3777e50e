"""Numbers with two derivatives by time: every operation against seven points along a motion, and arrays entry
by entry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from arms import OFFSETS, SEVEN_POINTS
from dynamics.cases import SECOND_POINTS, assert_agree

from forearm.dynamics.taylor import Taylor
from forearm.symbols.scalars import choose, exp, look_up, root, sign
from forearm.symbols.table import LookupTable

FIRST, SECOND = 1e-10, 1e-7
TABLE = LookupTable((-0.3, 0.4), ((1.0, -2.0, 0.5), (1.1, 3.0, -0.7), (2.0, 0.2, 0.9)))
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda x, y: x + y + 1.5 + y,
    "difference": lambda x, y: 2.0 - x - (y - 0.3),
    "product": lambda x, y: x * y * 1.7 * x,
    "quotient": lambda x, y: (x / y) + 3.0 / y - x / 2.5,
    "turned": lambda x, y: -x + np.float64(2.0) * y,
    "cosine": lambda x, y: (x * y).cos(),
    "sine": lambda x, y: (x + y * y).sin(),
    "root": lambda x, y: root(x * x + y * y),
    "exponential": lambda x, y: exp(-(x * y)),
    "size": lambda x, y: abs(x - 4.0) * abs(y),
    "sign": lambda x, y: sign(x) * y + sign(-y) * x,
    "choice": lambda x, y: choose(x, y, x * x, x * y) + choose(y, x, x * x, x * y),
    "table": lambda x, y: look_up(TABLE, x - 0.8) * y,
}


def along(t: float) -> tuple[float, float]:
    return 0.9 + 0.7 * t - 0.4 * t * t + 0.3 * t**3, 1.3 - 0.5 * t + 0.8 * t * t


def at_zero() -> tuple[Taylor, Taylor]:
    return Taylor(0.9, 0.7, -0.8), Taylor(1.3, -0.5, 1.6)


class Number(float):
    """A float that brings cosine and sine, as other scalars do, and so does what is made of it."""

    def __add__(self, other: Any) -> Any:
        return Number(float(self) + float(other))

    def __mul__(self, other: Any) -> Any:
        return Number(float(self) * float(other))

    def cos(self) -> float:
        return float(np.cos(float(self)))

    def sin(self) -> float:
        return float(np.sin(float(self)))


def plainly(operation: Callable[[Any, Any], Any], t: float) -> float:
    return float(operation(*map(Number, along(t))))


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_has_its_derivatives(name: str) -> None:
    operation = OPERATIONS[name]
    found = operation(*at_zero())
    values = np.array([plainly(operation, t) for t in OFFSETS])
    assert_agree(found.value, values[3], 1e-14)
    assert_agree([found.rate], [SEVEN_POINTS @ values], FIRST)
    assert_agree([found.second], [SECOND_POINTS @ values], SECOND)


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name not in ("choice", "table")])
def test_arrays_are_taken_entry_by_entry(name: str) -> None:
    """What decides by a value takes one state at a time. Arrays of them go element by element."""
    values, rates, seconds = np.random.default_rng(1).uniform(0.4, 1.5, (3, 2, 5))
    pairs = [[Taylor(values[i, k], rates[i, k], seconds[i, k]) for k in range(5)] for i in range(2)]
    found = OPERATIONS[name](*(Taylor(*given) for given in zip(values, rates, seconds, strict=True)))
    ones = [OPERATIONS[name](x, y) for x, y in zip(*pairs, strict=True)]
    for part in ("value", "rate", "second"):
        assert_agree(np.broadcast_to(getattr(found, part), 5), [getattr(one, part) for one in ones], 1e-14)
    x, two = pairs[0][0], np.array([2.0, 3.0])
    for made, rate in (
        (two * x, two),
        (x * two, two),
        (two - x, [-1.0] * 2),
        (x - two, [1.0] * 2),
        (x / two, 1.0 / two),
    ):
        assert_agree([entry.rate for entry in made], np.array(rate) * x.rate, 1e-14)
    assert (two / x)[0].value == pytest.approx(2.0 / x.value)
