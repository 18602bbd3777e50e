"""A graph as integer operations: each value v is stored as v 2^f, with f as large as its range allows. Waters
IV.

Products and sums are formed in twice the word's width and shifted down with rounding to nearest. The error of
each operation, and the propagated errors of its operands, are summed per box.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from forearm.control import fixed_point_sine as sines
from forearm.control.fixed_point_ranges import Box, Ranges, extreme_of, most_of, turned_pair
from forearm.errors import InputError
from forearm.spatial import Floats
from forearm.symbols import Graph
from forearm.symbols.graph import ABS, ADD, CHOOSE, CONSTANT, COS, DIV, INPUT, MUL, SIGN, SIN, SQRT, SUB

Steps = Mapping[int, "FixedPointStep"]
WORDS = (16, 32)
LARGEST_FRACTION = 60
HEADROOM = 2.0**-10  # of the range, reserved for errors; checked once they are known


@dataclass(frozen=True)
class FixedPointStep:
    """One value: kind and operands of the graph, fractional `bits`, and the shifts that align its operands.

    MUL: (a b) >> down. ADD, SUB: (a 2^up_a + b 2^up_b) >> down, a negative `up` shifting down first. DIV: (a
    2^up_a / b) >> down, truncated. SQRT: floor of the root of a 2^up_a. CHOOSE: x 2^up_x where a 2^up_a < b
    2^up_b, else y 2^up_y, for `branches` (x, up_x), (y, up_y). `number` is that of a constant.
    """

    place: int
    kind: int
    bits: int
    left: int = -1
    right: int = -1
    up_a: int = 0
    up_b: int = 0
    down: int = 0
    number: int = 0
    branches: tuple[tuple[int, int], ...] = ()

    @property
    def lifted(self) -> tuple[tuple[int, int], ...]:
        """The two operands with their left shifts."""
        return (self.left, self.up_a), (self.right, self.up_b)


def planned(
    graph: Graph, needed: Sequence[int], ranges: Ranges, word: int, less: Mapping[int, int]
) -> dict[int, FixedPointStep]:
    """The operations in order, by index; `less` removes bits from values whose errors need more headroom."""
    steps: dict[int, FixedPointStep] = {}
    for place in needed:
        most = ranges.most(place)
        bits = _bits(most, word) - less.get(place, 0)
        steps[place] = _step(graph, place, bits, steps, word)
    return steps


def _bits(most: float, word: int) -> int:
    """The largest number of fractional bits with which +-most fits a word."""
    if most == 0.0:
        return 0
    room = (2.0 ** (word - 1) - 2.0) * (1.0 - HEADROOM)
    bits = min(math.floor(math.log2(room / most)), LARGEST_FRACTION)
    if bits < -LARGEST_FRACTION // 2:
        raise InputError(f"a value reaches {most:.3g}; use narrower ranges.", "fixed_point")
    return bits


def _step(graph: Graph, place: int, bits: int, steps: Steps, word: int) -> FixedPointStep:
    kind, left, right = graph.kinds[place], graph.left[place], graph.right[place]
    if kind == CONSTANT:
        return constant(graph.values[place], word, place)
    if kind == INPUT:
        return FixedPointStep(place, kind, bits)
    far = 2 * word - 2  # the largest shift within twice the word, with room for the rounding half
    fa = steps[left].bits
    fb = steps[right].bits if right >= 0 else 0
    if kind == MUL:
        bits = max(min(bits, fa + fb), fa + fb - far)
        return FixedPointStep(place, kind, bits, left, right, down=fa + fb - bits)
    if kind in (ADD, SUB, CHOOSE):
        common = _common(fa, fb, word)
        # a number shifted down by its whole word is 0, so larger shifts are equivalent
        ups = max(common - fa, -far), max(common - fb, -far)
        if kind == CHOOSE:
            fx, fy = (steps[p].bits for p in graph.branches[place])
            bits = min(bits, _common(fx, fy, word))
            branches = zip(graph.branches[place], (max(bits - f, -far) for f in (fx, fy)), strict=True)
            return FixedPointStep(place, kind, bits, left, right, *ups, branches=tuple(branches))
        bits = max(min(bits, common), common - far)
        return FixedPointStep(place, kind, bits, left, right, *ups, common - bits)
    if kind == DIV:
        up = min(max(bits - fa + fb, 0), word - 2)
        bits = max(min(bits, fa - fb + up), fa - fb + up - far)
        return FixedPointStep(place, kind, bits, left, right, up, down=fa - fb + up - bits)
    if kind == SQRT:
        up = min(2 * bits - fa, word - 2)
        up -= (fa + up) % 2
        if up < 0:
            raise InputError(
                "a square root of numbers that exceed the word; use narrower ranges.", "fixed_point"
            )
        return FixedPointStep(place, kind, (fa + up) // 2, left, up_a=up)
    if kind in (SIN, COS):
        if fa < -1:
            raise InputError("an angle of more than 10^9 turns; use narrower ranges.", "fixed_point")
        return FixedPointStep(place, kind, word - 2, left, down=sines.FRACTION - (word - 2))
    return FixedPointStep(place, kind, fa if kind == ABS else 0, left)


def _common(fa: int, fb: int, word: int) -> int:
    """Fractional bits to which two numbers are aligned without exceeding twice the word."""
    return min(max(fa, fb), min(fa, fb) + word - 2)


def constant(value: float, word: int, place: int = -1) -> FixedPointStep:
    """A constant with all bits that a word has, without trailing zeros."""
    if value == 0.0:
        return FixedPointStep(place, CONSTANT, 0)
    bits = min(math.floor(math.log2((2.0 ** (word - 1) - 1.0) / abs(value))), LARGEST_FRACTION)
    number = round(value * 2.0**bits)
    if abs(number) > 2 ** (word - 1) - 1:
        bits, number = bits - 1, round(value * 2.0 ** (bits - 1))
    while number and number % 2 == 0:
        number, bits = number // 2, bits - 1
    return FixedPointStep(place, CONSTANT, bits, number=number)


def errors_in(
    graph: Graph, steps: Steps, boxes: Mapping[int, Box], known: Mapping[int, float]
) -> dict[int, float]:
    """Largest distance over the boxes of each integer from the exact value, for exact inputs.

    Never more than the bound known from other boxes.
    """
    errors = _Errors(graph, steps, boxes)
    for place, step in steps.items():
        found = errors.found(step)
        errors.of[place] = np.minimum(found, known[place]) if place in known else found
    return {place: float(e.max()) for place, e in errors.of.items()}


@dataclass(frozen=True, eq=False)
class _Errors:
    """Errors of the steps so far, by index, one entry per box."""

    graph: Graph
    steps: Steps
    boxes: Mapping[int, Box]
    of: dict[int, Floats] = field(default_factory=dict)

    def found(self, step: FixedPointStep) -> Floats:
        """The error of the next step."""
        unit, boxes, count = 2.0**-step.bits, self.boxes, len(next(iter(self.boxes.values()))[0])
        if step.kind == CONSTANT:
            return np.full(count, abs(step.number * unit - self.graph.values[step.place]))
        if step.kind == INPUT:
            return np.zeros(count)
        ea, a = self.of[step.left], most_of(boxes[step.left])
        half = 0.5 * unit if step.down > 0 else 0.0
        if step.kind == MUL:
            b, eb = most_of(boxes[step.right]), self.of[step.right]
            return a * eb + b * ea + ea * eb + half
        if step.kind in (ADD, SUB):
            lost = sum(self._lost(*operand) for operand in step.lifted)
            plain = ea + self.of[step.right]
            return np.minimum(plain, self._turned(step, plain)) + lost + half
        if step.kind == CHOOSE:
            return self._choice(step)
        if step.kind == DIV:
            b, eb, r = _least(boxes[step.right]), self.of[step.right], most_of(boxes[step.place])
            if (b <= eb).any():
                raise InputError(
                    "a divisor can be as small as its rounding error; use narrower ranges.", "fixed_point"
                )
            return (ea + r * eb) / (b - eb) + 2.0 ** -(step.bits + step.down) + half
        return _function_error(step, boxes, ea, a)

    def _lost(self, place: int, up: int) -> float:
        """Error of shifting an operand down."""
        return 2.0 ** -(self.steps[place].bits + up + 1) if up < 0 else 0.0

    def _choice(self, step: FixedPointStep) -> Floats:
        """Error of the branch taken; where errors may select the other branch, the distance between them as
        well.
        """
        (a, ea), (b, eb), (x, ex), (y, ey) = (
            (self.boxes[p], self.of[p] + self._lost(p, up)) for p, up in (*step.lifted, *step.branches)
        )
        either = np.maximum(ex, ey)
        if extreme_of(self.graph, step.place):  # the wrong branch is off by no more than the compared values
            return either + self._lost(*step.lifted[0]) + self._lost(*step.lifted[1])
        far = np.maximum(x[1] - y[0], y[1] - x[0])
        first, second = a[1] + ea < b[0] - eb, a[0] - ea >= b[1] + eb
        is_exact = (ea == 0.0) & (eb == 0.0)
        return np.where(first, ex, np.where(second, ey, np.where(is_exact, either, either + far)))

    def _turned(self, step: FixedPointStep, plain: Floats) -> Floats:
        """Error of c x +- s y: errors of x and y are rotated, those of c, s and of the products add."""
        pair = turned_pair(self.graph, step.place)
        if pair is None:
            return plain
        total = np.hypot(self.of[pair[0]], self.of[pair[1]])
        for term, value in zip((step.left, step.right), pair, strict=True):
            product = self.steps[term]
            turn = product.left if product.right == value else product.right
            total = total + (most_of(self.boxes[value]) + self.of[value]) * self.of[turn]
            total = total + (2.0 ** -(product.bits + 1) if product.down > 0 else 0.0)
        return total


def _function_error(step: FixedPointStep, boxes: Mapping[int, Box], ea: Floats, a: Floats) -> Floats:
    if step.kind in (SIN, COS):
        rounding = 2.0 ** -(step.bits + 1) if step.down else 0.0
        return ea + sines.angle_error(float(a.max())) + sines.ERROR + rounding
    if step.kind == SQRT:
        root = np.sqrt(np.maximum(boxes[step.left][0] - ea, 0.0))
        return (
            np.where(root > 0.0, np.minimum(ea / np.maximum(root, 1e-300), np.sqrt(ea)), np.sqrt(ea))
            + 2.0**-step.bits
        )
    if step.kind == SIGN:  # a value closer to 0 than its error may have any sign
        return np.where((_least(boxes[step.left]) > ea) | (ea == 0.0), 0.0, 2.0)
    return ea


def _least(box: Box) -> Floats:
    return np.maximum(np.maximum(box[0], -box[1]), 0.0)
