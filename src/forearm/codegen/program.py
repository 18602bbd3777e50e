"""A program: straight-line statements with names, made of an expression graph,
that every language writes in its own words.

What is known before any state is (`parameters` that the caller chose to keep as symbols, and what is computed
of them alone) is computed by the program's `prepare` part and handed to the evaluation as the array `k`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from forearm.symbols import Counts, Expr, Graph
from forearm.symbols.graph import (
    ABS,
    ADD,
    ATAN2,
    CHOOSE,
    COS,
    DIV,
    EXP,
    INPUT,
    LOOKUP,
    MUL,
    PARAMETER,
    SIGN,
    SIN,
    SQRT,
    SUB,
    expressions,
)
from forearm.symbols.table import LookupTable

OPERATORS = {
    MUL: "*",
    ADD: "+",
    SUB: "-",
    DIV: "/",
    SQRT: "sqrt",
    COS: "cos",
    SIN: "sin",
    SIGN: "sign",
    ABS: "abs",
    EXP: "exp",
    ATAN2: "atan2",
    CHOOSE: "choose",
    LOOKUP: "lookup",
}
FUNCTIONS = (COS, SIN, SQRT, SIGN, ABS, EXP, ATAN2, CHOOSE, LOOKUP)
LONGEST = 6  # operations in one statement, beyond those of values that have a name


@dataclass(frozen=True)
class Argument:
    """An array that goes in or comes out: its name, shape and meaning, with unit and frame."""

    name: str
    shape: tuple[int, ...]
    meaning: str

    @property
    def size(self) -> int:
        """The number of entries."""
        return int(np.prod(self.shape))


@dataclass(frozen=True)
class Ref:
    """A value by name: an entry of an argument (flat index, row by row), or a statement's own value."""

    name: str
    index: int | None = None


@dataclass(frozen=True)
class Op:
    """An operation: * + - / atan2 with two operands, neg sqrt cos sin sign abs exp with one; choose with
    four, a, b, x, y, is x where a < b, else y; lookup takes its one operand to its table.
    """

    operator: str
    operands: tuple[Tree, ...]
    table: LookupTable | None = None


Tree = float | Ref | Op


@dataclass(frozen=True)
class Statement:
    """target = value; a target with an index is an entry of an output (or of k),
    one without is a new constant.

    `section` says what it belongs to, such as "link 3, outwards".
    """

    target: Ref
    value: Tree
    section: str


@dataclass(frozen=True)
class Program:
    """All that a language needs to know. `parameters`, `kept` and `prepare` are empty when all
    parameters are numbers.
    """

    name: str
    about: tuple[str, ...]  # lines for the head of the file: arm, source, frames
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    statements: tuple[Statement, ...]
    counts: Counts
    parameters: tuple[str, ...] = ()
    defaults: tuple[float, ...] = ()  # the arm's own values of the parameters
    prepare: tuple[Statement, ...] = ()
    kept: int = 0


def program_of(
    graph: Graph,
    results: dict[str, Any],
    name: str,
    about: tuple[str, ...],
    inputs: tuple[Argument, ...],
    outputs: tuple[Argument, ...],
    parameters: dict[str, float] | None = None,
) -> Program:
    """The program that computes the results; inputs of the graph are named "q[0]",
    its parameters as in `parameters`.
    """
    return _Writer(graph, results, {a.name for a in (*inputs, *outputs)}).program(
        name, about, inputs, outputs, parameters or {}
    )


class _Writer:
    def __init__(self, graph: Graph, results: dict[str, Any], taken: set[str]) -> None:
        self.graph, self.results = graph, results
        self.needed = graph.needed(results)
        self.uses = self._uses()
        self.taken = {name.lower() for name in taken} | {"k", "p"}
        self.named: dict[int, Ref] = {}
        self.sizes: dict[int, int] = {}
        self.temporaries = 0

    def program(
        self,
        name: str,
        about: tuple[str, ...],
        inputs: tuple[Argument, ...],
        outputs: tuple[Argument, ...],
        parameters: dict[str, float],
    ) -> Program:
        graph = self.graph
        places = {leaf: place for place, leaf in graph.leaves.items()}
        for index, parameter in enumerate(parameters):
            if parameter in places:
                self.named[places[parameter]] = Ref("p", index)
        for place, leaf in graph.leaves.items():
            if graph.kinds[place] == INPUT:
                self.named[place] = _entry(leaf)
        prepare, kept = self._prepare()
        statements = self._body([p for p in self.needed if not graph.offline[p]])
        return Program(
            name,
            about,
            inputs,
            outputs,
            tuple(statements),
            graph.counts(self.results),
            tuple(parameters),
            tuple(parameters.values()),
            tuple(prepare),
            kept,
        )

    def _uses(self) -> Counter[int]:
        graph, uses = self.graph, Counter(e.node for e in expressions(self.results))
        for place in self.needed:
            if graph.kinds[place] >= MUL:
                uses.update(graph.operands(place))
        return uses

    def _prepare(self) -> tuple[list[Statement], int]:
        """What evaluations need of what is offline, as entries of k."""
        graph = self.graph
        wanted = {e.node for e in expressions(self.results)}
        for place in self.needed:
            if graph.kinds[place] >= MUL and not graph.offline[place]:
                wanted.update(graph.operands(place))
        kept = [p for p in sorted(wanted) if graph.offline[p] and p not in graph.values]
        made = self._statements(
            [p for p in self.needed if graph.offline[p] and graph.kinds[p] >= MUL], "prepare"
        )
        for index, place in enumerate(kept):
            made.append(Statement(Ref("k", index), self._tree(place), "prepare"))
        for index, place in enumerate(kept):
            self.named[place] = Ref("k", index)
        return made, len(kept)

    def _body(self, places: list[int]) -> list[Statement]:
        made = self._statements([p for p in places if self.graph.kinds[p] >= MUL])
        last = made[-1].section if made else ""
        for output, table in self.results.items():
            for index, value in enumerate(np.ravel(np.asarray(table, dtype=object))):
                tree = self._signed(value) if isinstance(value, Expr) else float(value)
                made.append(Statement(Ref(output, index), tree, "results" if last else ""))
        return made

    def _statements(self, places: list[int], section: str | None = None) -> list[Statement]:
        """A statement for everything that has a name, is needed more than once, or has grown long."""
        made: list[Statement] = []
        for place in places:
            operands = self.graph.operands(place)
            self.sizes[place] = 1 + sum(self.sizes.get(p, 0) for p in operands if p not in self.named)
            name = self.graph.names.get(place)
            function = self.graph.kinds[place] in FUNCTIONS
            if name is None and not function and self.uses[place] <= 1 and self.sizes[place] < LONGEST:
                continue
            tree = self._tree(place)
            if name is not None and name.startswith("neg_"):
                name = name.removeprefix("neg_") + "n"
            self.named[place] = Ref(self._unique(name))
            made.append(Statement(self.named[place], tree, section or self.graph.sections[place]))
        return made

    def _unique(self, wanted: str | None) -> str:
        if wanted is None:
            self.temporaries += 1
            wanted = f"t{self.temporaries}"
        plain = re.sub(r"\W", "c", wanted)
        name, copy = plain, 1
        while name.lower() in self.taken:
            copy += 1
            name = f"{plain}_{copy}"
        self.taken.add(name.lower())
        return name

    def _signed(self, value: Expr) -> Tree:
        tree = self.named.get(value.node) or self._tree(value.node)
        if isinstance(tree, float):
            return -tree if value.negative else tree
        return Op("neg", (tree,)) if value.negative else tree

    def _tree(self, place: int) -> Tree:
        graph = self.graph
        if place in self.named:
            return self.named[place]
        if place in graph.values:
            return graph.values[place]
        assert graph.kinds[place] not in (INPUT, PARAMETER), graph.leaves.get(place)
        operands = tuple(self._tree(p) for p in graph.operands(place))
        return Op(OPERATORS[graph.kinds[place]], operands, graph.tables.get(place))


def _entry(leaf: str) -> Ref:
    """ "q[2]" as an entry of q."""
    match = re.fullmatch(r"(\w+)\[(\d+)\]", leaf)
    assert match is not None, leaf
    return Ref(match[1], int(match[2]))
