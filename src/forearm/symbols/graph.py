"""The expression graph:
every value stored once, signs kept outside nodes, 0, 1 and constants folded during construction.

A `Graph` is a growing list of operations; an `Expr` is a node of it with a sign. The same operation on the
same operands is the same node, so values shared during a recursion stay shared and expressions do not swell.
Negation is free and creates no node: x - y and y - x are one node with two signs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from forearm.errors import InputError
from forearm.portable import atan2, cos, exp, sin
from forearm.symbols.counts import Counts
from forearm.symbols.table import LookupTable

if TYPE_CHECKING:
    from forearm.symbols.region import Region

# Kinds of nodes. Operands of SUB and DIV are ordered, those of MUL and ADD sorted. CHOOSE has four, a, b, x,
# y: x where a < b, else y. LOOKUP has one, and a table. CALL has any number, and a region that computes
# several values; PICK is one of these.
CONSTANT, INPUT, PARAMETER, MUL, ADD, SUB, DIV, SQRT, COS, SIN, SIGN, ABS, EXP, ATAN2 = range(14)
CHOOSE, LOOKUP, CALL, PICK, ROUND = range(14, 19)
# Reading or removing a sign is free, as is negation; exponentials and angles count like sines, a choice and a
# rounding like an addition.
COUNTED = {
    MUL: "mul",
    ADD: "add",
    SUB: "add",
    DIV: "div",
    SQRT: "sqrt",
    COS: "trig",
    SIN: "trig",
    EXP: "trig",
    ATAN2: "trig",
    CHOOSE: "add",
    LOOKUP: "lookup",
    ROUND: "add",
}
NOTHING = -1
REAL = (float, int)


class Graph:
    """Operations in order of creation; operands always precede the operations that use them."""

    interned = True  # hash-consing: the same operation is the same node, multiples of one value share one

    def __init__(self) -> None:
        self.kinds: list[int] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.branches: dict[int, tuple[int, int]] = {}  # operands of choices
        self.tables: dict[int, LookupTable] = {}  # tables of look-ups
        self.calls: dict[int, tuple[Region, tuple[int, ...]]] = {}  # regions, and their operands
        self.picks: dict[int, int] = {}  # index of a region's value
        # offline: constants, parameters, and what is computed from them alone
        self.offline: list[bool] = []
        self.values: dict[int, float] = {}  # of constants, positive except for operands of choices
        self.leaves: dict[int, str] = {}  # names of inputs and parameters
        self.names: dict[int, str] = {}  # names given to computed values
        self.section = ""  # the current section, such as "link 3, outwards"
        self.sections: list[str] = []  # the section in which each node was created
        self._places: dict[tuple[Any, ...], int] = {}
        self._constants: dict[float, int] = {}

    def __len__(self) -> int:
        return len(self.kinds)

    def input(self, name: str) -> Expr:
        """A value that changes with each evaluation."""
        return Expr(self, self._leaf(INPUT, name), False)

    def inputs(self, name: str, *shape: int) -> Any:
        """An array of inputs, each named after its index, such as q[0]."""
        made = np.empty(shape, dtype=object)
        for index in np.ndindex(shape):
            made[index] = self.input(f"{name}{list(index)}")
        return made

    def parameter(self, name: str) -> Expr:
        """A value known before any evaluation: what is computed from parameters alone is offline."""
        return Expr(self, self._leaf(PARAMETER, name), False)

    def constant(self, value: float) -> Expr:
        """A number as an expression.
        Plain floats need not be wrapped: they combine with expressions directly.
        """
        return Expr(self, self._constant(abs(float(value))), math.copysign(1.0, value) < 0.0)

    def name(self, symbol: str, value: Any) -> None:
        """Give a computed value (a scalar, vector or matrix) its name in the
        document; the first name stays.
        """
        if isinstance(value, Expr):
            if value.node not in self.names and self.kinds[value.node] >= MUL:
                self.names[value.node] = f"neg_{symbol}" if value.negative else symbol
            return
        for index, entry in np.ndenumerate(np.asarray(value, dtype=object)):
            if isinstance(entry, Expr):
                self.name(symbol + "".join("xyz"[i] if i < 3 else str(i) for i in index), entry)

    def name_again(self, name: str, value: Any) -> None:
        """Give a value the name that it had in another graph, where it may have had the opposite sign."""
        plain = name.removeprefix("neg_")
        self.name(plain, value if plain == name else -value)

    def operation(self, kind: int, left: int, right: int = NOTHING, key: tuple[Any, ...] = ()) -> int:
        """The node of an operation, created if it does not exist; `known_by` overrides its key."""
        key = key or (kind, left, right)
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = len(self.kinds)
            self.kinds.append(kind)
            self.left.append(left)
            self.right.append(right)
            self.sections.append(self.section)
            self.offline.append(self.offline[left] and (right < 0 or self.offline[right]))
        return place

    def choice(self, a: int, b: int, x: int, y: int) -> int:
        """The node of x where a < b, else y."""
        place = self.operation(CHOOSE, a, b, (CHOOSE, a, b, x, y))
        self.branches[place] = (x, y)
        self.offline[place] = all(self.offline[operand] for operand in (a, b, x, y))
        return place

    def look_up(self, table: LookupTable, x: int) -> int:
        """The node of a table's value at x."""
        place = self.operation(LOOKUP, x, NOTHING, (LOOKUP, x, table))
        self.tables[place] = table
        return place

    def call(self, region: Region, operands: tuple[int, ...]) -> list[Expr]:
        """The values of a region for these operands."""
        place = self._places.get((CALL, operands, region))
        if place is None:
            place = self._places[CALL, operands, region] = self._append_leaf(
                CALL, offline=all(self.offline[operand] for operand in operands)
            )
            self.sections[place] = self.section
            self.calls[place] = (region, operands)
        made = [self.operation(PICK, place, NOTHING, (PICK, place, k)) for k in range(len(region.results))]
        self.picks |= {pick: k for k, pick in enumerate(made)}
        return [Expr(self, pick, False) for pick in made]

    def operands(self, place: int) -> tuple[int, ...]:
        """The operands of a node: one place, two, four, or as many as its region takes."""
        if place in self.calls:
            return self.calls[place][1]
        a, b = self.left[place], self.right[place]
        if b < 0:
            return (a,) if a >= 0 else ()
        return (a, b, *self.branches[place]) if place in self.branches else (a, b)

    def needed(self, results: Any) -> list[int]:
        """The nodes that the results need, operands first."""
        marks = bytearray(len(self.kinds))
        for result in expressions(results):
            if result.graph is not self:
                raise InputError(
                    "a result belongs to another graph; use the graph that created it.", "symbols"
                )
            marks[result.node] = 1
        kinds, left, right = self.kinds, self.left, self.right
        place = marks.rfind(1)
        while place >= 0:  # from one needed node to the one before it
            kind = kinds[place]
            if kind >= CHOOSE:
                for operand in self.operands(place):
                    marks[operand] = 1
            elif kind >= MUL:
                marks[left[place]] = 1
                if right[place] >= 0:
                    marks[right[place]] = 1
            place = marks.rfind(1, 0, place)
        return list(compress(range(len(marks)), marks))

    def forget(self, size: int) -> None:
        """Remove all nodes created since the graph had this many."""
        for nodes in (self.kinds, self.left, self.right, self.offline, self.sections):
            del nodes[size:]
        for places in (self._places, self._constants):
            while places and next(reversed(places.values())) >= size:
                places.popitem()
        for about in (
            self.branches, self.tables, self.calls, self.picks, self.values, self.leaves, self.names
        ):  # fmt: skip
            for place in [place for place in about if place >= size]:
                del about[place]

    def known_before(self, results: Any) -> list[Expr]:
        """Offline nodes that online ones use, or that are results themselves; plain numbers are left out."""
        used = {e.node for e in expressions(results)}
        for place in self.needed(results):
            if not self.offline[place]:
                used.update(self.operands(place))
        return [
            Expr(self, place, False)
            for place in sorted(used)
            if self.offline[place] and place not in self.values
        ]

    def counts(self, results: Any) -> Counts:
        """The operations that the results need per evaluation: offline operations are not counted."""
        return self.counts_of(place for place in self.needed(results) if not self.offline[place])

    def counts_of(self, places: Iterable[int]) -> Counts:
        """The operations at these places;
        0 - x only changes a sign and is not counted. An iteration counts as one round, a look-up also its
        polynomial: one multiplication and two additions per power, value * (x - start) + coefficient.
        """
        some = list(places)
        count = dict.fromkeys(("mul", "add", "div", "sqrt", "trig", "lookup"), 0)
        for kind, times in Counter(map(self.kinds.__getitem__, some)).items():
            if kind in COUNTED:
                count[COUNTED[kind]] += times
        zero = self._constants.get(0.0, NOTHING)
        count["add"] -= sum(self.kinds[p] == SUB for p in some if self.left[p] == zero) if zero >= 0 else 0
        powers = sum(self.tables[p].order - 1 for p in some if p in self.tables) if self.tables else 0
        count["mul"] += powers
        count["add"] += 2 * powers
        called = [self.calls[p][0].counts for p in some if p in self.calls] if self.calls else []
        return sum(called, Counts(**count))

    def _leaf(self, kind: int, name: str) -> int:
        if name in self.leaves.values():
            raise InputError(
                f"there is already an input or parameter {name!r} in this graph; give it another name.",
                "symbols",
            )
        place = self._append_leaf(kind, offline=kind == PARAMETER)
        self.leaves[place] = name
        return place

    def _constant(self, value: float) -> int:
        if not math.isfinite(value):
            raise InputError(
                f"{value} cannot be a constant of an expression; only finite numbers can.", "symbols"
            )
        place = self._constants.get(value)
        if place is None:
            place = self._constants[value] = self._append_leaf(CONSTANT, offline=True)
            self.values[place] = value
        return place

    def _append_leaf(self, kind: int, offline: bool) -> int:
        self.kinds.append(kind)
        self.left.append(NOTHING)
        self.right.append(NOTHING)
        self.sections.append("")
        self.offline.append(offline)
        return len(self.kinds) - 1


class Expr:
    """A value of the graph with a sign.
    Adds, multiplies and divides with other expressions of its graph and with plain numbers.
    """

    __slots__ = ("graph", "negative", "node")

    def __init__(self, graph: Graph, node: int, negative: bool) -> None:
        self.graph, self.node, self.negative = graph, node, negative

    def __neg__(self) -> Expr:
        return Expr(self.graph, self.node, not self.negative)

    def __pos__(self) -> Expr:
        return self

    def __mul__(self, other: Any) -> Any:
        if type(other) is not Expr:
            return scaled(self, float(other)) if isinstance(other, REAL) else NotImplemented
        graph = self.graph if self.graph is other.graph else graph_of(self, other)
        a, b = (self.node, other.node) if self.node <= other.node else (other.node, self.node)
        negative = self.negative is not other.negative
        offline = graph.offline
        if not offline[a] and not offline[b]:
            return Expr(graph, graph.operation(MUL, a, b), negative)
        if a in graph.values or b in graph.values:
            k, x = (a, b) if a in graph.values else (b, a)
            return scaled(Expr(graph, x, negative), graph.values[k])
        if offline[a] is not offline[b]:
            k, x = (a, b) if offline[a] else (b, a)
            return known_times(Expr(graph, k, negative), x)
        return Expr(graph, graph.operation(MUL, a, b), negative)

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Any:
        if type(other) is not Expr:
            if not isinstance(other, REAL):
                return NotImplemented
            if other == 0:
                return self
            other = self.graph.constant(float(other))
        return total(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if type(other) is Expr:
            return total(self, Expr(other.graph, other.node, not other.negative))
        return self + -other if isinstance(other, REAL) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __truediv__(self, other: Any) -> Any:
        other = number(other)
        if type(other) is not Expr:
            if not isinstance(other, REAL):
                return NotImplemented
            if other == 0:
                raise ZeroDivisionError("symbols: an expression was divided by the number 0")
            if self.graph.interned or abs(other) == 1:
                return scaled(self, 1.0 / float(other))
            other = self.graph.constant(float(other))
        graph = graph_of(self, other)
        if graph.values.get(self.node) == 0.0:
            return 0.0
        negative = self.negative is not other.negative
        if self.node == other.node and graph.interned:
            return -1.0 if negative else 1.0
        return Expr(graph, graph.operation(DIV, self.node, other.node), negative)

    def __rtruediv__(self, other: Any) -> Any:
        if not isinstance(other, REAL):
            return NotImplemented
        return self.graph.constant(float(other)) / self

    def __pow__(self, exponent: int) -> Any:
        if not isinstance(exponent, int) or exponent < 1:
            return NotImplemented
        power = self
        for _ in range(exponent - 1):
            power = power * self
        return power

    def cos(self) -> Any:
        """The cosine: even, so the sign of the angle is dropped."""
        return self._function(COS, cos, odd=False)

    def sin(self) -> Any:
        """The sine: odd, so the sign of the angle is moved outside."""
        return self._function(SIN, sin, odd=True)

    def sqrt(self) -> Any:
        """The square root. The sign of an expression does not determine that of its value, as y - x may be
        stored as -(x - y): it is moved inside, as 0 - x.
        """
        return self._sign_inside()._function(SQRT, square_root, odd=False)

    def sign(self) -> Any:
        """-1, 0 or 1."""
        return self._function(SIGN, lambda x: math.copysign(1.0, x) if x else 0.0, odd=True)

    def rint(self) -> Any:
        """The nearest integer, ties to even: odd, so the sign is moved outside."""
        return self._function(ROUND, lambda x: float(np.rint(x)), odd=True)

    def __abs__(self) -> Any:
        return self._function(ABS, abs, odd=False)

    def exp(self) -> Any:
        """The exponential. A sign is moved inside, as 0 - x."""
        return self._sign_inside()._function(EXP, exp, odd=False)

    def arctangent(self, x: Any) -> Any:
        """The angle of (x, y), y being this value: odd in y, so its sign is moved outside; a sign of x is
        moved inside, as 0 - x.
        """
        y, across = number(self), number(x)
        if isinstance(y, REAL) and isinstance(across, REAL):
            return atan2(y, across)
        across = across if isinstance(across, Expr) else self.graph.constant(float(across))
        graph = graph_of(self, across)
        across = _subtracted_from_zero(across) if across.negative else across
        return Expr(graph, graph.operation(ATAN2, self.node, across.node), self.negative)

    def looked_up(self, table: LookupTable) -> Any:
        """A table's value at this expression. A sign is moved inside, as 0 - x."""
        value = number(self)
        if isinstance(value, float):
            return table.at(value)
        x = self._sign_inside()
        return Expr(self.graph, self.graph.look_up(table, x.node), False)

    def _sign_inside(self) -> Expr:
        return _subtracted_from_zero(self) if self.negative and self.node not in self.graph.values else self

    def _function(self, kind: int, function: Callable[[float], float], odd: bool) -> Any:
        value = number(self)
        if isinstance(value, float):
            return function(value)
        return Expr(self.graph, self.graph.operation(kind, self.node), odd and self.negative)

    def __repr__(self) -> str:
        sign, graph = "-" if self.negative else "", self.graph
        if self.node in graph.values:
            return f"Expr({sign}{graph.values[self.node]!r})"
        return f"Expr({sign}{graph.leaves.get(self.node) or graph.names.get(self.node) or f'#{self.node}'})"


def chosen(graph: Graph, a: Any, b: Any, x: Any, y: Any) -> Any:
    """x where a < b, else y; each an expression or a plain number."""
    a, b, x, y = (number(value) for value in (a, b, x, y))
    if isinstance(a, REAL) and isinstance(b, REAL):
        return x if a < b else y
    if x is y or (isinstance(x, REAL) and isinstance(y, REAL) and x == y):
        return x
    left, right, first, second = (
        value if isinstance(value, Expr) else graph.constant(float(value)) for value in (a, b, x, y)
    )
    for other in (right, first, second):
        graph_of(left, other)
    if first.node == second.node and first.negative is second.negative:
        return x
    if left.node == right.node and left.negative is right.negative:
        return y
    if left.negative and right.negative:  # -a < -b
        left, right = -right, -left
    negative = first.negative and second.negative
    if negative:
        first, second = -first, -second
    places = [unsigned(value).node for value in (left, right, first, second)]
    return Expr(graph, graph.choice(*places), negative)


def unsigned(x: Expr) -> Expr:
    """A value as a node without a sign, for choices and regions;
    only for these are negative constants stored.
    """
    if x.negative and x.node in x.graph.values:
        return Expr(x.graph, x.graph._constant(-x.graph.values[x.node]), False)
    return _subtracted_from_zero(x) if x.negative else x


def _subtracted_from_zero(x: Expr) -> Expr:
    """-x as a node, for functions that are neither even nor odd."""
    graph = x.graph
    return Expr(graph, graph.operation(SUB, graph.constant(0.0).node, x.node), False)


def scaled(x: Expr, factor: float) -> Any:
    """factor x with 0, 1 and -1 folded, and a constant factor of x absorbed."""
    if factor == 0.0:
        return 0.0
    if (factor == 1.0 or factor == -1.0) and x.node not in x.graph.values:
        return x if factor == 1.0 else -x
    graph, negative = x.graph, x.negative is not (factor < 0.0)
    factor, node = abs(factor), x.node
    if node in graph.values:
        factor *= graph.values[node]
        return -factor if negative else factor
    inner, node = multiple(graph, node)
    if isinstance(inner, Expr):
        return scaled(Expr(graph, inner.node, negative), factor) * Expr(graph, node, False)
    factor *= inner
    if factor == 0.0:  # possibly zero by underflow
        return 0.0
    if factor == 1.0:
        return Expr(graph, node, negative)
    k = graph._constant(factor)
    return Expr(graph, graph.operation(MUL, min(k, node), max(k, node)), negative)


def total(x: Expr, y: Expr) -> Any:
    """x + y: multiples of one value are combined, and a sum takes the sign of its earlier operand."""
    graph = x.graph if x.graph is y.graph else graph_of(x, y)
    a, b, values = x.node, y.node, graph.values
    if a in values or b in values:
        if a in values and b in values:
            return number(x) + number(y)
        if values.get(a) == 0.0 or values.get(b) == 0.0:
            return y if values.get(a) == 0.0 else x
    if a == b:
        return 0.0 if x.negative is not y.negative else Expr(graph, graph.operation(ADD, a, a), x.negative)
    kinds = graph.kinds
    if kinds[a] == MUL or kinds[b] == MUL:
        (ca, na), (cb, nb) = multiple(graph, a), multiple(graph, b)
        if na == nb:
            return Expr(graph, na, False) * ((-ca if x.negative else ca) + (-cb if y.negative else cb))
    if b < a:
        a, b, x, y = b, a, y, x
    if kinds[b] in (ADD, SUB) and (rest := _without(graph, y, x)) is not None:
        return rest
    return Expr(graph, graph.operation(ADD if x.negative is y.negative else SUB, a, b), x.negative)


def _without(graph: Graph, whole: Expr, part: Expr) -> Expr | None:
    """whole + part where the whole is a sum that contains -part: the rest of the sum."""
    if not graph.interned:
        return None
    kind = graph.kinds[whole.node]
    left, right = graph.left[whole.node], graph.right[whole.node]
    second = whole.negative is not (kind == SUB)
    if left == part.node and whole.negative is not part.negative:
        return Expr(graph, right, second)
    if right == part.node and second is not part.negative:
        return Expr(graph, left, whole.negative)
    return None


def known_times(k: Expr, node: int) -> Expr:
    """k x for an offline k; an offline factor of x is absorbed, so that one product remains."""
    inner, node = multiple(k.graph, node)
    k = k * inner
    return Expr(k.graph, k.graph.operation(MUL, min(k.node, node), max(k.node, node)), k.negative)


def multiple(graph: Graph, node: int) -> tuple[Any, int]:
    """(c, x) with the node equal to c x: c a constant, or an offline expression while x is online."""
    if graph.kinds[node] == MUL and graph.interned:
        for c, x in ((graph.left[node], graph.right[node]), (graph.right[node], graph.left[node])):
            if c in graph.values:
                return graph.values[c], x
            if graph.offline[c] and not graph.offline[x]:
                return Expr(graph, c, False), x
    return 1.0, node


def square_root(x: float) -> float:
    """The square root of a plain number."""
    if x < 0.0:
        raise InputError(f"the square root of {x} is not a real number.", "symbols")
    return math.sqrt(x)


def number(x: Any) -> Any:
    """A constant as a plain number; everything else unchanged."""
    if isinstance(x, Expr) and x.node in x.graph.values:
        value = x.graph.values[x.node]
        return -value if x.negative else value
    return x


def graph_of(x: Expr, y: Expr) -> Graph:
    """The common graph of both."""
    if x.graph is not y.graph:
        raise InputError(
            "expected expressions of one graph, got expressions of two different graphs.", "symbols"
        )
    return x.graph


def mapped(results: Any, change: Callable[[Expr], Any]) -> Any:
    """Nested lists, tuples, dictionaries and arrays with each expression mapped; plain numbers stay."""
    if isinstance(results, Expr):
        return change(results)
    if isinstance(results, np.ndarray):
        made = np.empty(results.shape, dtype=object)
        for index, entry in np.ndenumerate(results):
            made[index] = change(entry) if isinstance(entry, Expr) else entry
        return made
    if isinstance(results, dict):
        return {key: mapped(entry, change) for key, entry in results.items()}
    if isinstance(results, list | tuple):
        return type(results)(mapped(entry, change) for entry in results)
    return results


def expressions(results: Any) -> Iterator[Expr]:
    """The expressions in nested lists, tuples, dictionaries and arrays;
    plain numbers among them are omitted.
    """
    if isinstance(results, Expr):
        yield results
    elif isinstance(results, np.ndarray):
        yield from (entry for entry in results.flat if isinstance(entry, Expr))
    elif isinstance(results, dict | list | tuple):
        for entry in results.values() if isinstance(results, dict) else results:
            yield from expressions(entry)
