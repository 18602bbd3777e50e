"""Bounds of every value of a graph: interval arithmetic over boxes of inputs, which proves that nothing
overflows.

Interval arithmetic ignores dependencies between values, so the ranges of some inputs are subdivided and each
node gets the hull over all pieces; every such subdivision is a bound, and so is their intersection. A sum c x
+ s y with the cosine and sine of one angle is no longer than (x, y), which keeps the bounds of rotated
vectors from growing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from forearm.control.controller import Pair
from forearm.errors import InputError
from forearm.spatial import Floats
from forearm.symbols import Graph
from forearm.symbols.graph import ABS, ADD, CHOOSE, CONSTANT, COS, DIV, INPUT, MUL, SIGN, SIN, SQRT, SUB

Range = tuple[float, float]
Box = Pair  # lower and upper ends, one entry per box
WIDER = 1e-12  # relative: far more than the rounding of any bound, so that bounds stay valid
MOST_PIECES = 16  # per subdivided input range
TOGETHER = 3  # inputs subdivided at once
ROOM = 4_000_000  # bounds stored at once, 64 MB


@dataclass(frozen=True, eq=False)
class Ranges:
    """Bounds of the required values of a graph, (lower, upper) by index."""

    of: dict[int, Range]

    def most(self, place: int) -> float:
        """Largest magnitude."""
        return max(abs(self.of[place][0]), abs(self.of[place][1]))


def ranges_of(graph: Graph, needed: Sequence[int], inputs: Mapping[str, Range]) -> Ranges:
    """Bounds of these values for inputs within ranges."""
    known: dict[int, Range] = {}
    for boxes in cuts(graph, needed, inputs):
        for place, (low, high) in propagated(graph, needed, boxes, known).items():
            found = (float(low.min()), float(high.max()))
            old = known.get(place, found)
            known[place] = (max(found[0], old[0]), min(found[1], old[1]))
    return Ranges({place: _wider(bounds) for place, bounds in known.items()})


def cuts(graph: Graph, needed: Sequence[int], inputs: Mapping[str, Range]) -> Iterator[dict[str, Box]]:
    """The full input box, then subdivisions along groups of neighbouring angles: recursions couple
    neighbours.
    """
    angles = _angles(graph, needed)
    size = min(TOGETHER, len(angles))
    pieces = max(2, min(MOST_PIECES, int((ROOM / max(len(needed), 1)) ** (1.0 / TOGETHER))))
    yield _boxes(inputs, (), pieces)
    for k in range(len(angles) - size + 1 if size else 0):
        yield _boxes(inputs, angles[k : k + size], pieces)


def _angles(graph: Graph, needed: Sequence[int]) -> list[str]:
    """The inputs whose sines and cosines occur."""
    marks = {graph.left[p] for p in needed if graph.kinds[p] in (COS, SIN)}
    for place in reversed(needed):
        if place in marks:
            marks |= set(graph.operands(place))
    return [graph.leaves[p] for p in needed if p in marks and graph.kinds[p] == INPUT]


def _boxes(inputs: Mapping[str, Range], group: Sequence[str], pieces: int) -> dict[str, Box]:
    """The input box with the ranges of some inputs subdivided: all combinations of pieces."""
    ends = [np.linspace(*inputs[name], pieces + 1) for name in group]
    chosen = np.array(list(product(range(pieces), repeat=len(group))), dtype=int).reshape(
        pieces ** len(group), len(group)
    )
    count = len(chosen)
    made = {name: (np.full(count, low), np.full(count, high)) for name, (low, high) in inputs.items()}
    for k, name in enumerate(group):
        made[name] = (ends[k][chosen[:, k]], ends[k][chosen[:, k] + 1])
    return made


def propagated(
    graph: Graph, needed: Sequence[int], boxes: Mapping[str, Box], known: Mapping[int, Range]
) -> dict[int, Box]:
    """Bounds of every value in every box, never wider than known bounds."""
    count = len(next(iter(boxes.values()))[0]) if boxes else 1
    made: dict[int, Box] = {}
    for place in needed:
        low, high = _bounds(graph, place, made, boxes, count)
        if place in known:
            low, high = np.maximum(low, known[place][0]), np.minimum(high, known[place][1])
        made[place] = (low, high)
    return made


def _bounds(graph: Graph, place: int, made: Mapping[int, Box], boxes: Mapping[str, Box], count: int) -> Box:
    kind = graph.kinds[place]
    if kind == CONSTANT:
        return np.full(count, graph.values[place]), np.full(count, graph.values[place])
    if kind == INPUT:
        return boxes[graph.leaves[place]]
    left, right = graph.left[place], graph.right[place]
    a = made[left]
    if kind in (ADD, SUB):
        b = made[right] if kind == ADD else (-made[right][1], -made[right][0])
        low, high, turned = a[0] + b[0], a[1] + b[1], turned_pair(graph, place)
        if turned is None:
            return low, high
        bound = np.hypot(most_of(made[turned[0]]), most_of(made[turned[1]]))
        return np.maximum(low, -bound), np.minimum(high, bound)
    if kind == MUL:
        return _square(a) if left == right else _times(a, made[right])
    if kind == DIV:
        low, high = made[right]
        if ((low <= 0.0) & (high >= 0.0)).any():
            raise InputError(
                "a divisor may be 0 within these ranges; use narrower ranges, or a function "
                "without division, such as inverse_dynamics.",
                "fixed_point",
            )
        return _times(a, (1.0 / high, 1.0 / low))
    if kind == CHOOSE:
        return _choice(graph, place, made)
    return _function(kind, a)


def _choice(graph: Graph, place: int, made: Mapping[int, Box]) -> Box:
    """Bounds of a choice: minimum or maximum, one branch if the ranges decide, or the hull of both."""
    a, b, x, y = (made[p] for p in graph.operands(place))
    if extreme := extreme_of(graph, place):
        return extreme(a[0], b[0]), extreme(a[1], b[1])
    first, second = a[1] < b[0], a[0] >= b[1]
    low, high = np.minimum(x[0], y[0]), np.maximum(x[1], y[1])
    return (
        np.where(first, x[0], np.where(second, y[0], low)),
        np.where(first, x[1], np.where(second, y[1], high)),
    )


def extreme_of(graph: Graph, place: int) -> np.ufunc | None:
    """np.minimum or np.maximum if a choice selects the smaller or the larger of what it compares."""
    a, b, x, y = graph.operands(place)
    return np.minimum if (x, y) == (a, b) else np.maximum if (x, y) == (b, a) else None


def _function(kind: int, a: Box) -> Box:
    low, high = a
    if kind == COS:
        return _cosine(low, high)
    if kind == SIN:
        return _cosine(low - 0.5 * np.pi, high - 0.5 * np.pi)
    if kind == ABS:
        return np.maximum(np.maximum(low, -high), 0.0), np.maximum(-low, high)
    if kind == SIGN:
        return np.sign(low), np.sign(high)
    if kind == SQRT:
        if (low < 0.0).any():
            # rounding of a sum of squares, or NaN, which fixed point cannot produce
            low = np.maximum(low, 0.0)
        return np.sqrt(low), np.sqrt(np.maximum(high, 0.0))
    raise InputError(
        "exponentials (Stribeck's friction), angles and look-ups (gears) are not supported "
        "in fixed point; leave them out.",
        "fixed_point",
    )


def _cosine(low: Floats, high: Floats) -> Box:
    """Bounds from the values at the ends, and 1 or -1 if an extremum lies between."""
    ends = np.cos(low), np.cos(high)
    turns = np.floor(high / (2.0 * np.pi)) - np.ceil(low / (2.0 * np.pi)) >= 0.0
    half = np.floor((high - np.pi) / (2.0 * np.pi)) - np.ceil((low - np.pi) / (2.0 * np.pi)) >= 0.0
    return np.where(half, -1.0, np.minimum(*ends)), np.where(turns, 1.0, np.maximum(*ends))


def _times(a: Box, b: Box) -> Box:
    corners = np.stack([x * y for x in a for y in b])
    return corners.min(axis=0), corners.max(axis=0)


def _square(a: Box) -> Box:
    low, high = _function(ABS, a)
    return low * low, high * high


def turned_pair(graph: Graph, place: int) -> tuple[int, int] | None:
    """(x, y) of a sum c x +- s y with the cosine and sine of one angle, in either order."""
    terms = [graph.left[place], graph.right[place]]
    if graph.kinds[place] not in (ADD, SUB) or any(graph.kinds[t] != MUL for t in terms):
        return None
    for first, second in product(
        *(((graph.left[t], graph.right[t]), (graph.right[t], graph.left[t])) for t in terms)
    ):
        kinds = {graph.kinds[first[0]], graph.kinds[second[0]]}
        if kinds == {COS, SIN} and graph.left[first[0]] == graph.left[second[0]]:
            return first[1], second[1]
    return None


def most_of(box: Box) -> Floats:
    """Largest magnitude in each box."""
    return np.maximum(np.abs(box[0]), np.abs(box[1]))


def _wider(bounds: Range) -> Range:
    margin = WIDER * max(abs(bounds[0]), abs(bounds[1]))
    return bounds[0] - margin, bounds[1] + margin
