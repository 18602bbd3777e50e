"""Programs from expression graphs: which values get a name, what becomes a loop or a routine."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from forearm.codegen.functions import Traced
from forearm.codegen.program import (
    ARRAY,
    CALL,
    END,
    NEXT,
    REPEAT,
    VARIABLE,
    WHILE,
    Argument,
    Op,
    Program,
    Ref,
    Routine,
    Statement,
    Tree,
)
from forearm.symbols import Expr, Graph, Region
from forearm.symbols.evaluate import transplanted
from forearm.symbols.functions import with_functions
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
    ROUND,
    SIGN,
    SIN,
    SQRT,
    SUB,
    expressions,
)

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
    ROUND: "rint",
}
FUNCTIONS = (COS, SIN, SQRT, SIGN, ABS, EXP, ATAN2, CHOOSE, LOOKUP, ROUND)
LONGEST = 6  # operations in one statement, not counting named values


def program_of(
    traced: Traced,
    name: str,
    about: tuple[str, ...] = (),
    parameters: Mapping[str, float] = MappingProxyType({}),
    with_routines: bool = True,
) -> Program:
    """The program that computes the results; inputs of the graph are named "q[0]",
    its parameters as in `parameters`. Functions that are called several times become routines, or are
    inlined at every call if not `with_routines`.
    """
    graph, results = (with_functions if with_routines else _inlined)(traced.graph, traced.results)
    taken = {a.name.lower() for a in traced.arrays} | {"k", "p"}
    writer = _Writer(graph, results, _Names(taken), _Routines())
    prepare, statements = writer.parts(parameters)
    return Program(
        name,
        about,
        traced.inputs,
        traced.outputs,
        tuple(statements),
        graph.counts(results),
        tuple(parameters),
        tuple(parameters.values()),
        tuple(prepare),
        len({s.target for s in prepare if s.target.name == "k"}),
        routines=tuple(writer.routines.made.values()),
    )


def _inlined(graph: Graph, results: Any) -> tuple[Graph, Any]:
    """The same with every function inlined; loops stay."""
    if not graph.calls:
        return graph, results
    new = Graph()
    values: dict[int, Any] = {}
    for place, leaf in graph.leaves.items():
        values[place] = new.parameter(leaf) if graph.kinds[place] == PARAMETER else new.input(leaf)
    return new, transplanted(graph, results, values, new, written_out=True)


class _Names:
    """The names in use in a program, case-insensitive, as in Fortran."""

    def __init__(self, taken: set[str]) -> None:
        self.taken, self.temporaries = taken, 0

    def unique(self, wanted: str | None) -> str:
        """The name itself, or with a number appended; t1, t2 and so on for values without a name."""
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


class _Routines:
    """The routines of a program, each once."""

    def __init__(self) -> None:
        self.made: dict[tuple[Region, tuple[Tree | None, ...]], Routine] = {}
        self.names = _Names({"k"})

    def of(self, region: Region, given: list[Tree]) -> tuple[Routine, tuple[Tree, ...]]:
        """The routine for a region, and the operands to pass to it; it reads entries of k directly."""
        fixed = tuple(tree if isinstance(tree, Ref) and tree.name == "k" else None for tree in given)
        routine = self.made.get((region, fixed))
        if routine is None:
            made = self._write(region, fixed)  # the routines that it calls come first
            routine = self.made[region, fixed] = made
        return routine, tuple(tree for tree, known in zip(given, fixed, strict=True) if known is None)

    def _write(self, region: Region, fixed: tuple[Tree | None, ...]) -> Routine:
        writer = _Writer(region.graph, list(region.results), _Names({"given", "made", "k"}), self)
        size = 0
        for x, tree in zip(region.inputs, fixed, strict=True):
            writer.named[x.node] = Ref("given", size) if tree is None else tree
            size += tree is None
        statements = writer._statements([p for p in writer.needed if region.graph.kinds[p] >= MUL])
        for index, value in enumerate(region.results):
            statements.append(Statement(Ref("made", index), writer._signed(value), "results"))
        title = region.title or "part"
        name = self.names.unique(re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_") or "part")
        taken, made = Argument("given", (size,), ""), Argument("made", (len(region.results),), "")
        return Routine(name, title, taken, made, tuple(statements), _reads_kept(statements))


def _reads_kept(statements: list[Statement]) -> bool:
    def reads(tree: Tree) -> bool:
        if isinstance(tree, Op):
            return any(map(reads, tree.operands))
        return isinstance(tree, Ref) and tree.name == "k"

    return any(reads(s.value) or (s.routine is not None and s.routine.needs_kept) for s in statements)


class _Writer:
    def __init__(self, graph: Graph, results: Any, names: _Names, routines: _Routines) -> None:
        self.graph, self.results, self.names, self.routines = graph, results, names, routines
        self.needed = graph.needed(results)
        self.uses = self._uses()
        self.given = {p for place in self.needed if place in graph.calls for p in graph.operands(place)}
        self.named: dict[int, Tree] = {}
        self.sizes: dict[int, int] = {}

    def parts(self, parameters: Mapping[str, float]) -> tuple[list[Statement], list[Statement]]:
        """The statements of `prepare`, and of the evaluation."""
        graph = self.graph
        places = {leaf: place for place, leaf in graph.leaves.items()}
        for index, parameter in enumerate(parameters):
            if parameter in places:
                self.named[places[parameter]] = Ref("p", index)
        for place, leaf in graph.leaves.items():
            if graph.kinds[place] == INPUT:
                self.named[place] = _entry(leaf)
        prepare = self._prepare()
        return prepare, self._body([p for p in self.needed if not graph.offline[p]])

    def _uses(self) -> Counter[int]:
        graph, uses = self.graph, Counter(e.node for e in expressions(self.results))
        for place in self.needed:
            if graph.kinds[place] >= MUL:
                uses.update(graph.operands(place))
        return uses

    def _prepare(self) -> list[Statement]:
        """The offline values that evaluations need, as entries of k."""
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
        return made

    def _body(self, places: list[int]) -> list[Statement]:
        made = self._statements([p for p in places if self.graph.kinds[p] >= MUL])
        last = made[-1].section if made else ""
        for output, table in self.results.items():
            for index, value in enumerate(np.ravel(np.asarray(table, dtype=object))):
                made.append(Statement(Ref(output, index), self._signed(value), "results" if last else ""))
        return made

    def _statements(self, places: list[int], section: str | None = None) -> list[Statement]:
        """A statement for every value that has a name, is used more than once, or has become too long."""
        made: list[Statement] = []
        for place in places:
            operands = self.graph.operands(place)
            self.sizes[place] = 1 + sum(self.sizes.get(p, 0) for p in operands if p not in self.named)
            name = self.graph.names.get(place)
            if place in self.graph.calls:
                loops = self.graph.calls[place][0].condition is not None
                written = self._loop if loops else self._call
                made += written(place, section or self.graph.sections[place])
                continue
            if place in self.graph.picks:
                continue
            function = self.graph.kinds[place] in FUNCTIONS or place in self.given
            if name is None and not function and self.uses[place] <= 1 and self.sizes[place] < LONGEST:
                continue
            tree = self._tree(place)
            if name is not None and name.startswith("neg_"):
                name = name.removeprefix("neg_") + "n"
            target = self.named[place] = Ref(self.names.unique(name))
            made.append(Statement(target, tree, section or self.graph.sections[place]))
        return made

    def _call(self, place: int, section: str) -> list[Statement]:
        """A region that does not iterate: its operands as an array, and a routine that maps it to another."""
        region, operands = self.graph.calls[place]
        routine, given = self.routines.of(region, [self._tree(operand) for operand in operands])
        taken, made = (Ref(self.names.unique(f"{routine.name}_{part}")) for part in ("in", "out"))
        for pick, k in self.graph.picks.items():
            if self.graph.left[pick] == place:
                self.named[pick] = Ref(made.name, k)
        return [
            Statement(taken, Op("array", given), section, ARRAY),
            Statement(made, Op("call", (taken,)), section, CALL, routine),
        ]

    def _loop(self, place: int, section: str) -> list[Statement]:
        """A region that iterates: variables, what the condition needs, the condition, the step."""
        region, operands = self.graph.calls[place]
        assert region.condition is not None
        count = len(region.results)
        states = [Ref(self.names.unique("x")) for _ in range(count)]
        for pick, k in self.graph.picks.items():
            if self.graph.left[pick] == place:
                self.named[pick] = states[k]
        given = [self._tree(operand) for operand in operands]
        made = [Statement(x, tree, section, VARIABLE) for x, tree in zip(states, given, strict=False)]
        inside = _Writer(region.graph, region.wanted, self.names, self.routines)
        inside.named = dict(zip((x.node for x in region.inputs), [*states, *given[count:]], strict=True))
        turn = Ref(self.names.unique("turn"))
        made.append(Statement(turn, float(region.most), section, REPEAT))
        first = region.graph.needed(list(region.condition))
        made += inside._statements([p for p in first if region.graph.kinds[p] >= MUL], section)
        made.append(Statement(turn, Op("<", tuple(map(inside._signed, region.condition))), section, WHILE))
        rest = [p for p in inside.needed if region.graph.kinds[p] >= MUL and p not in set(first)]
        made += inside._statements(rest, section)
        following = [inside._signed(x) for x in region.results]
        for k, tree in enumerate(following):  # before any variable changes
            if isinstance(tree, Op) or (tree in states and tree != states[k]):
                following[k] = kept = Ref(self.names.unique(None))
                made.append(Statement(kept, tree, section))
        changed = [(x, tree) for x, tree in zip(states, following, strict=True) if tree != x]
        made += [Statement(x, tree, section, NEXT) for x, tree in changed]
        return [*made, Statement(turn, 0.0, section, END)]

    def _signed(self, value: Expr | float) -> Tree:
        if not isinstance(value, Expr):
            return float(value)
        tree = self._tree(value.node)
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
