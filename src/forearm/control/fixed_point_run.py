"""Interpreter of a fixed-point program in NumPy integers: bit for bit what the C code computes."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from forearm.control import fixed_point_sine as sines
from forearm.control.fixed_point_plan import FixedPointStep, Steps
from forearm.symbols.graph import ABS, ADD, CHOOSE, CONSTANT, COS, DIV, INPUT, MUL, SIN, SQRT, SUB

Whole = NDArray[np.int64]


def run(steps: Steps, leaves: Mapping[int, str], given: Mapping[str, Whole]) -> dict[int, Whole]:
    """Every value by index, for inputs by name, arrays of one shape."""
    shape = np.shape(next(iter(given.values()))) if given else ()
    values: dict[int, Whole] = {}
    for place, step in steps.items():
        if step.kind == CONSTANT:
            values[place] = np.full(shape, step.number, dtype=np.int64)
        elif step.kind == INPUT:
            values[place] = np.asarray(given[leaves[place]], dtype=np.int64)
        else:
            values[place] = _value(step, steps, values)
    return values


def _value(step: FixedPointStep, steps: Steps, values: Mapping[int, Whole]) -> Whole:
    a = values[step.left]
    if step.kind == MUL:
        return sines.rounded_shift(a * values[step.right], step.down)
    if step.kind in (ADD, SUB):
        x, y = (lifted(values[p], up) for p, up in step.lifted)
        return sines.rounded_shift(x + y if step.kind == ADD else x - y, step.down)
    if step.kind == CHOOSE:
        a, b, x, y = (lifted(values[p], up) for p, up in (*step.lifted, *step.branches))
        return np.where(a < b, x, y)
    if step.kind == DIV:
        b = values[step.right]
        size = np.abs(a << step.up_a) // np.abs(b)  # C truncates towards 0
        return sines.rounded_shift(np.where((a < 0) != (b < 0), -size, size), step.down)
    if step.kind in (SIN, COS):
        return sines.rounded_shift(sines.sine(a, steps[step.left].bits, int(step.kind == COS)), step.down)
    if step.kind == SQRT:
        roots = [math.isqrt(max(int(v), 0) << step.up_a) for v in np.ravel(a)]
        return np.array(roots, dtype=np.int64).reshape(np.shape(a))
    return np.abs(a) if step.kind == ABS else np.sign(a)


def lifted(x: Whole, up: int) -> Whole:
    """x 2^up, rounded to nearest if up is negative."""
    return x << up if up >= 0 else sines.rounded_shift(x, -up)
