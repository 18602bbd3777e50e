"""What the tests of symbols share: random programs that run on any scalar,
and formulations traced on expressions.
"""

from __future__ import annotations

import cmath
import math
import operator
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import forearm as fa
from forearm import Arm
from forearm.dynamics.forward import articulated_body
from forearm.dynamics.gibbs_appell import gibbs_appell
from forearm.dynamics.modified_newton_euler import modified_newton_euler
from forearm.dynamics.newton_euler import newton_euler
from forearm.model import model_of
from forearm.symbols import Expr, Graph
from forearm.symbols.scalars import choose, look_up, maximum
from forearm.symbols.table import spline

Floats = NDArray[np.float64]
# An operation and its operands: an int is the place of an earlier value, a float is a constant.
Step = tuple[str, int | float, int | float]
EXACT = "++--**h"  # sums, products and halves of small whole numbers have no rounding
SMOOTH = "+++---****/cnq"
EVERY = SMOOTH + "saemtw"
TABLE = spline((-1.5, -0.7, 0.2, 0.9, 2.5), (0.4, -0.3, 1.1, 0.6, -0.8))
LEAVES = ("x", "y", "z", "p", "r")  # the last two are parameters
INVERSE = {
    "newton-euler": newton_euler,
    "gibbs-appell": gibbs_appell,
    "modified-newton-euler": modified_newton_euler,
}


def cos(x: Any) -> Any:
    return x.cos() if isinstance(x, Expr) else cmath.cos(x) if isinstance(x, complex) else math.cos(x)


def sin(x: Any) -> Any:
    return x.sin() if isinstance(x, Expr) else cmath.sin(x) if isinstance(x, complex) else math.sin(x)


def sqrt(x: Any) -> Any:
    return x.sqrt() if isinstance(x, Expr) else cmath.sqrt(x) if isinstance(x, complex) else math.sqrt(x)


def sign(x: Any) -> Any:
    return x.sign() if isinstance(x, Expr) else math.copysign(1.0, x.real) if x else 0.0


def size(x: Any) -> Any:
    return abs(x) if not isinstance(x, complex) else x if x.real > 0.0 else -x


def exp(x: Any) -> Any:
    return x.exp() if isinstance(x, Expr) else cmath.exp(x) if isinstance(x, complex) else math.exp(x)


def greater(x: Any, y: Any) -> Any:
    """The greater of two, by their real parts."""
    if isinstance(x, Expr) or isinstance(y, Expr):
        return maximum(x, y)
    return y if x.real < y.real else x


def against(x: Any, y: Any) -> Any:
    """-x where it is smaller than y, else x y: branches with different signs."""
    if isinstance(x, Expr) or isinstance(y, Expr):
        return choose(x, y, -x, x * y)
    return -x if x.real < y.real else x * y


def table(x: Any) -> Any:
    """The table's value, written out piece by piece."""
    if isinstance(x, Expr):
        return look_up(TABLE, x)
    k = sum(b <= x.real for b in TABLE.breaks)
    u = x - TABLE.breaks[max(k - 1, 0)]
    return sum(c * u**power for power, c in enumerate(TABLE.pieces[k]))


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "m": greater,
    "w": against,
}
UNARY: dict[str, Callable[[Any], Any]] = {
    "c": cos,
    "n": sin,
    "q": sqrt,
    "s": sign,
    "a": size,
    "e": exp,
    "t": table,
    "h": lambda x: x / 2.0,
}


def run(steps: Sequence[Step], leaves: Sequence[Any]) -> list[Any]:
    """Every value of a program, the leaves first, on floats, complex numbers or expressions."""
    values = list(leaves)
    for operation, a, b in steps:
        values.append(
            _done(operation, values[a] if isinstance(a, int) else a, values[b] if isinstance(b, int) else b)
        )
    return values


def _done(operation: str, x: Any, y: Any) -> Any:
    return BINARY[operation](x, y) if operation in BINARY else UNARY[operation](x)


def random_program(seed: int, operations: str, size: int = 40) -> tuple[list[Step], list[list[float]]]:
    """Steps and three rows of leaves at which nothing in it is large, divided by almost 0
    or the root of almost 0.
    """
    rng = random.Random(seed)
    exact = operations == EXACT
    rows = [
        [
            float(rng.choice([-3, -2, 2, 3])) if exact else rng.choice([-1, 1]) * rng.uniform(0.6, 1.7)
            for _ in LEAVES
        ]
        for _ in range(3)
    ]
    constants = [-3.0, -2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0] + ([] if exact else [0.1, -1.0 / 3.0, 49.0])
    largest, fraction = (2.0**20, 64.0) if exact else (50.0, 0.0)
    tables = [list(row) for row in rows]
    steps: list[Step] = []
    while len(steps) < size:
        count = len(tables[0])
        a: int | float = (
            rng.randrange(count) if rng.random() < 0.5 else rng.randrange(max(0, count - 4), count)
        )
        b: int | float = rng.choice(constants) if rng.random() < 0.25 else rng.randrange(count)
        operation = rng.choice(operations)
        if operation in BINARY and rng.random() < 0.5:
            a, b = b, a
        pairs = [(t[a] if isinstance(a, int) else a, t[b] if isinstance(b, int) else b) for t in tables]
        if not all(_tame(operation, x, y) for x, y in pairs):
            continue
        made = [_done(operation, x, y) for x, y in pairs]
        if all(abs(v) < largest and (v * fraction).is_integer() for v in made):
            steps.append((operation, a, b))
            for table, v in zip(tables, made, strict=True):
                table.append(v)
    return steps, rows


def _tame(operation: str, x: float, y: float) -> bool:
    return {
        "/": abs(y) > 0.5,
        "q": x > 0.3,
        "s": abs(x) > 0.1,
        "a": abs(x) > 0.1,
        "e": abs(x) < 3.0,
        "m": abs(x - y) > 1e-3,
        "w": abs(x - y) > 1e-3,
        "t": all(abs(x - b) > 1e-3 for b in TABLE.breaks),
    }.get(operation, True)


def leaves_of(graph: Graph) -> list[Expr]:
    return [graph.input(name) for name in LEAVES[:3]] + [graph.parameter(name) for name in LEAVES[3:]]


def given(row: Sequence[Any]) -> dict[str, Any]:
    """A row of leaves as `evaluate` takes them."""
    return dict(zip(LEAVES, row, strict=True))


def some_of(values: Sequence[Any], seed: int) -> list[int]:
    """Which values of a program are its results: late ones, some of them twice, and sometimes a leaf."""
    rng = random.Random(seed + 1)
    late = [len(values) - 1 - rng.randrange(min(8, len(values))) for _ in range(rng.randint(1, 5))]
    return late + [rng.randrange(len(values)) for _ in range(2)]


def random_results(
    seed: int, operations: str = EVERY
) -> tuple[Graph, list[Any], list[Floats], list[list[float]]]:
    """A graph, results in it (some negated), what Python's floats make of them (one
    array a row), and the rows.
    """
    steps, rows = random_program(seed, operations)
    graph = Graph()
    values = run(steps, leaves_of(graph))
    places = some_of(values, seed)
    signs = [-1.0 if k % 3 == 2 else 1.0 for k in range(len(places))]
    results = [-values[p] if s < 0.0 else values[p] for p, s in zip(places, signs, strict=True)]
    truths = [np.array(signs) * np.array(run(steps, row))[places] for row in rows]
    return graph, results, truths, rows


def loaded(name: str) -> Arm:
    return fa.load(name).rigid()


def traced(name: str, method: str) -> tuple[Graph, list[Any]]:
    """An inverse dynamics, or "forward", as a graph: inputs q0, qd0, qdd0 (or tau0) and so on."""
    graph, model = Graph(), model_of(loaded(name))
    third = "tau" if method == "forward" else "qdd"
    q, qd, last = ([graph.input(f"{symbol}{i}") for i in range(model.n)] for symbol in ("q", "qd", third))
    if method == "forward":
        return graph, articulated_body(model.map(float), q, qd, last, [0.0] * model.n)

    def note(symbol: str, link: int, value: Any) -> None:
        graph.name(f"{symbol}{link + 1}", value)
        graph.section = f"link {link + 1}"

    return graph, INVERSE[method](model, q, qd, last, note=note)


def states(name: str, method: str, count: int = 3) -> tuple[dict[str, Floats], Floats]:
    """Random states for such a graph, arrays (count,) by the inputs' names, and the answers
    (count, n) of the reference.
    """
    arm = loaded(name)
    rng = np.random.default_rng([count, arm.n])
    q, qd, last = rng.uniform(0.3, 2.0, (3, count, arm.n)) * rng.choice([-1.0, 1.0], (3, count, arm.n))
    if method == "forward":
        symbols, answers = ("q", "qd", "tau"), fa.dynamics.forward(arm, q, qd, last, "composite-body")
    else:
        symbols, answers = ("q", "qd", "qdd"), fa.dynamics.inverse(arm, q, qd, last, "kane")
    table = {f"{s}{i}": v[:, i] for s, v in zip(symbols, (q, qd, last), strict=True) for i in range(arm.n)}
    return table, answers
