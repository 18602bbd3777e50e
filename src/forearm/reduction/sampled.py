"""The regressor at random states, and which of its columns are linearly dependent,
with the same result on every machine.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.dynamics.regressor import regressor
from forearm.model import model_of
from forearm.portable import cos_sin
from forearm.spatial import Floats
from forearm.symbols import Graph, evaluate
from forearm.symbols.scalars import objects
from forearm.values import frozen

RANGES = {"q": math.pi, "qd": 2.0, "qdd": 5.0}


@frozen
class _Turned:
    """A joint's coordinate given by its cosine and sine only."""

    cosine: Any
    sine: Any

    def cos(self) -> Any:
        return self.cosine

    def sin(self) -> Any:
        return self.sine


def sampled_regressor(arm: Arm, samples: int) -> Floats:
    """Y of the rigid arm at random states, stacked: (samples n, 10 N); traced once for all."""
    model, graph, rng = model_of(arm), Graph(), np.random.default_rng(0)
    q, qd, qdd = (size * (2.0 * rng.random((arm.n, samples)) - 1.0) for size in RANGES.values())
    given: dict[str, Any] = {}

    def entered(name: str, values: Any) -> Any:
        given[name] = values
        return graph.input(name)

    at: list[Any] = []
    for i, (body, values) in enumerate(zip(model.bodies, model.coordinates(q), strict=True)):
        if body.revolute:
            pairs = np.array([cos_sin(x) for x in values.tolist()]).T
            at.append(_Turned(*(entered(f"{name}[{i}]", v) for name, v in zip("cs", pairs, strict=True))))
        else:
            at.append(entered(f"q[{i}]", values))
    rates, accelerations = (
        [entered(f"{name}[{i}]", values) for i, values in enumerate(model.rates(of))]
        for name, of in (("qd", qd), ("qdd", qdd))
    )
    Y = regressor(model.map(float), at, rates, accelerations)
    rows = objects(model.gathered(list(Y)))
    table: Floats = evaluate(graph, rows, given)  # (n, 10 N, samples)
    return np.moveaxis(table, -1, 0).reshape(samples * arm.n, -1)


def dependence(columns: Floats, nothing: float) -> tuple[int, Floats]:
    """The numerical rank of columns of length 1, and a row for each dependent column: 1 for it, minus its
    coefficients in the others. Residuals shorter than this fraction of all columns together count as zero.

    Columns are eliminated one after the other, the longest remaining first (modified Gram-Schmidt, twice).
    """
    left, count = columns.copy(), columns.shape[1]
    R = np.zeros((count, count))
    order: list[int] = []
    shortest = nothing * math.sqrt(count)
    while len(order) < count:
        sizes = np.sqrt(np.add.reduce(left * left, axis=0))
        sizes[order] = 0.0
        k = int(np.argmax(sizes))
        if sizes[k] <= shortest:
            break
        direction = left[:, k] / sizes[k]
        for _ in range(2):
            taken = np.add.reduce(direction[:, None] * left, axis=0)
            taken[order] = 0.0
            left -= direction[:, None] * taken
            R[len(order)] += taken
        order.append(k)
    rank = len(order)
    others = [k for k in range(count) if k not in order]
    null = np.zeros((len(others), count))
    for row, k in enumerate(others):
        null[row, k] = 1.0
        for i in reversed(range(rank)):  # R x = the column's own entries, from the last
            x = R[i, k]
            for j in range(i + 1, rank):
                x += R[i, order[j]] * null[row, order[j]]
            null[row, order[i]] = -x / R[i, order[i]]
    return rank, null
