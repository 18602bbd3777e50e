"""Fewer operations for the same values:
common factors outside, common sums and products shared, constants collected.

The graph is read as n-ary sums and products, merged where no other node needs the intermediate value. Then,
as long as this saves operations: a factor common to several terms of a sum is factored out,
x y + x z = x (y + z); a pair of terms that several sums share, up to a factor, becomes a separate value; and
so does a pair of factors that several products share.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import chain
from typing import Any

from forearm.portable import total
from forearm.symbols.evaluate import again, called
from forearm.symbols.graph import ADD, DIV, MUL, NOTHING, PARAMETER, SUB, Expr, Graph, expressions, mapped
from forearm.symbols.region import Region
from forearm.values import frozen

ONE = -1  # represents the number 1 in a sum
Sum = dict[int, float]  # place -> coefficient


def refined(graph: Graph, results: Any) -> tuple[Graph, Any]:
    """A graph with the same results and fewer operations; the given one if none is found."""
    refinement = Refinement(graph, results)
    refinement.search()
    return min((refinement.rebuilt(), (graph, results)), key=_cost)


@lru_cache(maxsize=64)
def _refined_region(region: Region, live: tuple[int, ...]) -> Region:
    """The region reduced to these results;
    state entries that are not among them are removed from the inputs too.
    """
    states = range(len(region.results)) if region.condition else ()
    inputs = [x for k, x in enumerate(region.inputs) if k not in states or k in live]
    results = [region.results[k] for k in live]
    graph, wanted = refined(region.graph, [*results, *(region.condition or ())])
    places = {leaf: place for place, leaf in graph.leaves.items()}
    there = tuple(Expr(graph, places[region.graph.leaves[x.node]], False) for x in inputs)
    count = len(live)
    condition = (wanted[count], wanted[count + 1]) if region.condition else None
    zero = region.zero
    if zero is not None and len(live) < len(region.results):
        given = tuple(x for k, x in enumerate(zero.inputs) if k not in states or k in live)
        zero = Region(zero.graph, given, tuple(zero.results[k] for k in live if k < len(zero.results)))
    return Region(graph, there, tuple(wanted[:count]), condition, region.most, zero, region.title)


def _cost(traced: tuple[Graph, Any]) -> tuple[int, int]:
    counts = traced[0].counts(traced[1])
    return counts.mul + counts.add, counts.mul


@frozen
class Rewrite:
    """A rewrite that saves operations, the definitions that it changes, and how to apply it."""

    gain: int
    key: tuple[Any, ...]
    places: frozenset[int]
    do: Callable[[], None]


class Refinement:
    """Definitions by place: `sums` and `products` of many terms; everything else as in the graph."""

    def __init__(self, graph: Graph, results: Any) -> None:
        self.graph, self.results = graph, results
        self.sums: dict[int, Sum] = {}
        self.products: dict[int, list[int]] = {}
        self.fresh = len(graph)
        online = [place for place in graph.needed(results) if not graph.offline[place]]
        self.others = [place for place in online if graph.kinds[place] >= DIV]
        # values needed as they are, by results and functions
        self.held = Counter(e.node for e in expressions(results))
        for place in self.others:
            self.held.update(graph.operands(place))
        for place in online:
            self._read(place)

    def _read(self, place: int) -> None:
        graph = self.graph
        kind, a, b = graph.kinds[place], graph.left[place], graph.right[place]
        if kind in (ADD, SUB):
            entry: Sum = {}
            for node, sign in ((a, 1.0), (b, 1.0 if kind == ADD else -1.0)):
                if node in graph.values:
                    _add(entry, ONE, sign * graph.values[node])
                else:
                    _add(entry, node, sign)
            self.sums[place] = entry
        elif kind == MUL and (a in graph.values or b in graph.values):
            k, x = (a, b) if a in graph.values else (b, a)
            self.sums[place] = {x: graph.values[k]}
        elif kind == MUL:
            self.products[place] = [a, b]

    def _uses(self) -> Counter[int]:
        uses = Counter(self.held)
        uses.update(chain.from_iterable(self.sums.values()))
        uses.update(chain.from_iterable(self.products.values()))
        return uses

    def _flatten(self) -> bool:
        """Merge sums into sums and products into products where no other node needs the inner one;
        move constants outside.
        """
        uses, changed = self._uses(), False
        inner_places = {place for place in (*self.sums, *self.products) if uses[place] == 1}
        for place in list(self.products):
            if place not in self.products or inner_places.isdisjoint(self.products[place]):
                continue
            flat = []
            scale = 1.0
            for f in self.products[place]:
                inner = self.sums.get(f)
                if uses[f] == 1 and f in self.products:
                    flat += self.products.pop(f)
                elif uses[f] == 1 and inner is not None and len(inner) == 1 and ONE not in inner:
                    ((x, c),) = self.sums.pop(f).items()
                    flat.append(x)
                    scale *= c
                else:
                    flat.append(f)
            changed = changed or flat != self.products[place]
            self.products[place] = sorted(flat)
            if scale != 1.0:
                self.products[bare := self._new()] = self.products.pop(place)
                self.sums[place] = {bare: scale}
        for place in list(self.sums):
            if place not in self.sums or inner_places.isdisjoint(self.sums[place]):
                continue
            entry: Sum = {}
            for node, c in self.sums[place].items():
                inner = self.sums.get(node)
                if inner is None or uses[node] > 1 or (abs(c) != 1.0 and len(inner) > 1):
                    _add(entry, node, c)
                    continue
                changed = True
                for x, d in self.sums.pop(node).items():
                    _add(entry, x, c * d)
            self.sums[place] = entry
        return changed

    def search(self) -> None:
        """Apply the rewrites, the best first, until none is left."""
        self._settle()
        while self._pass():
            self._settle()

    def _settle(self) -> None:
        """Merge equal definitions, and inline those with a single user, until nothing changes."""
        self._merge_equal()
        while self._flatten():
            self._merge_equal()

    def _pass(self) -> bool:
        uses = self._uses()
        findings = [*self._common_factors(uses), *self._common_terms(), *self._common_products()]
        findings.sort(key=lambda f: (-f.gain, f.key))
        touched: set[int] = set()
        for finding in findings:
            if touched.isdisjoint(finding.places):
                touched |= finding.places
                finding.do()
        return bool(findings)

    def _common_factors(self, uses: Counter[int]) -> Iterator[Rewrite]:
        """In each sum:
        constants common to several terms, and factors of products that only this sum needs.
        """
        for place, entry in self.sums.items():
            if len(entry) < 2:
                continue
            constants = defaultdict(list)
            factors = defaultdict(list)
            for node, c in entry.items():
                if node == ONE:
                    continue
                if abs(c) != 1.0:
                    constants[abs(c)].append(node)
                if node in self.products and uses[node] == 1:
                    for f in set(self.products[node]):
                        factors[f].append(node)
                else:
                    factors[node].append(node)
            for c, nodes in constants.items():
                if len(nodes) > 1:
                    do = partial(self._take_constant, place, c, tuple(nodes))
                    yield Rewrite(len(nodes) - 1, (0, place, c), frozenset([place, *nodes]), do)
            for f, nodes in factors.items():
                if len(nodes) > 1 and (gain := _gain_of_factor(entry, f, nodes)) > 0:
                    do = partial(self._take_factor, place, f, tuple(nodes))
                    yield Rewrite(gain, (1, place, f), frozenset([place, *nodes]), do)

    def _take_constant(self, place: int, c: float, nodes: tuple[int, ...]) -> None:
        entry = self.sums[place]
        inner = self._new()
        self.sums[inner] = {node: entry.pop(node) / c for node in nodes}
        entry[inner] = c

    def _take_factor(self, place: int, factor: int, nodes: tuple[int, ...]) -> None:
        entry = self.sums[place]
        inside: Sum = {}
        for node in nodes:
            c = entry.pop(node)
            if node == factor:
                _add(inside, ONE, c)
                continue
            rest = self.products.pop(node)
            rest.remove(factor)
            if len(rest) > 1:
                self.products[bare := self._new()] = rest
                rest = [bare]
            _add(inside, rest[0], c)
        inner, product = self._new(), self._new()
        self.sums[inner] = inside
        self.products[product] = sorted([factor, inner])
        entry[product] = 1.0

    def _common_terms(self) -> Iterator[Rewrite]:
        """Pairs of terms that several sums contain in the same ratio."""
        where = defaultdict(list)
        sums = Counter(chain.from_iterable(self.sums.values()))
        for place, entry in self.sums.items():
            items = sorted(item for item in entry.items() if sums[item[0]] > 1)
            for i, (a, ca) in enumerate(items):
                for b, cb in items[i + 1 :]:
                    where[a, b, cb / ca].append(place)
        for (a, b, ratio), places in where.items():
            if len(places) > 1 and 0.0 < abs(ratio) < math.inf:
                shared, gain = self._best_shared(a, b, places)
                if gain > 0:
                    do = partial(self._take_terms, a, b, shared, tuple(places))
                    yield Rewrite(gain, (2, a, b, ratio), frozenset(places), do)

    def _best_shared(self, a: int, b: int, places: list[int]) -> tuple[int, int]:
        """The sum whose coefficients the shared pair takes (that pair itself, if it exists),
        and the operations saved.
        """
        cost = {p: 1 + sum(node != ONE and abs(self.sums[p][node]) != 1.0 for node in (a, b)) for p in places}
        alike = Counter(abs(self.sums[p][a]) for p in places)
        after = {p: cost[p] + len(places) - alike[abs(self.sums[p][a])] for p in places}
        shared = min(places, key=lambda p: (after[p], len(self.sums[p]) > 2, p))
        return shared, sum(cost.values()) - after[shared]

    def _take_terms(self, a: int, b: int, shared: int, places: tuple[int, ...]) -> None:
        pair = {node: self.sums[shared][node] for node in (a, b)}
        if len(self.sums[shared]) > 2:
            self.sums[shared := self._new()] = pair
        for p in places:
            if p != shared:
                c = self.sums[p].pop(a) / pair[a]
                del self.sums[p][b]
                _add(self.sums[p], shared, c)

    def _common_products(self) -> Iterator[Rewrite]:
        """Pairs of factors that several products contain."""
        where = defaultdict(set)
        products = Counter(chain.from_iterable(self.products.values()))
        for place, every in self.products.items():
            factors = [f for f in every if products[f] > 1]
            for i, a in enumerate(factors):
                for b in factors[i + 1 :]:
                    where[a, b].add(place)
        for pair, places in where.items():
            if len(places) > 1:
                do = partial(self._take_product, pair, tuple(sorted(places)))
                yield Rewrite(len(places) - 1, (3, *pair), frozenset(places), do)

    def _take_product(self, pair: tuple[int, int], places: tuple[int, ...]) -> None:
        shared = next((p for p in places if len(self.products[p]) == 2), None)
        if shared is None:
            shared = self._new()
            self.products[shared] = list(pair)
        for p in places:
            if p != shared:
                factors = self.products[p]
                for f in pair:
                    factors.remove(f)
                factors.append(shared)
                factors.sort()

    def _merge_equal(self) -> None:
        """Keep one of equal definitions, and each that a result or a function needs."""
        while True:
            seen: dict[Any, int] = {}
            renamed = {}
            for place in sorted(self.products):
                renamed[place] = seen.setdefault(tuple(self.products[place]), place)
            alike = defaultdict(list)  # sums by a figure that equal ones share
            for place in sorted(self.sums):
                alike[sum(self.sums[place])].append(place)
            for places in alike.values():
                for place in places if len(places) > 1 else ():
                    renamed[place] = seen.setdefault(frozenset(self.sums[place].items()), place)
            renamed = {a: b for a, b in renamed.items() if a != b and not self.held[a]}
            if not renamed:
                return
            for place in renamed:
                self.products.pop(place, None)
                self.sums.pop(place, None)
            for place, factors in self.products.items():
                if not renamed.keys().isdisjoint(factors):
                    self.products[place] = sorted(renamed.get(f, f) for f in factors)
            for entry in self.sums.values():
                for node in () if renamed.keys().isdisjoint(entry) else [n for n in entry if n in renamed]:
                    _add(entry, renamed[node], entry.pop(node))

    def _new(self) -> int:
        self.fresh += 1
        return self.fresh - 1

    def rebuilt(self) -> tuple[Graph, Any]:
        """The graph rebuilt from the definitions in their old order; names and sections are kept."""
        old, new = self.graph, Graph()
        made = {}
        for place, name in old.leaves.items():
            made[place] = new.parameter(name) if old.kinds[place] == PARAMETER else new.input(name)
        self._reached_places = self._reached()
        for place in sorted(p for p in self._reached_places if p < len(old)):
            self._make(place, new, made)
        for place, name in old.names.items():
            value = made.get(place)
            if isinstance(value, Expr):
                new.name_again(name, value)
        return new, mapped(self.results, lambda e: -made[e.node] if e.negative else made[e.node])

    def _reached(self) -> set[int]:
        reached = set()
        ends = [e.node for e in expressions(self.results)]
        while ends:
            place = ends.pop()
            if place not in reached:
                reached.add(place)
                ends += self._operands(place)
        return reached

    def _operands(self, place: int) -> list[int]:
        if place in self.sums:
            return [p for p in self.sums[place] if p != ONE]
        if place in self.products:
            return self.products[place]
        return list(self.graph.operands(place))

    def _make(self, root: int, new: Graph, made: dict[int, Any]) -> None:
        ends = [root]
        while ends:
            place = ends[-1]
            missing = [p for p in self._operands(place) if p not in made]
            if place in made or not missing:
                ends.pop()
                if place not in made:
                    new.section = self.graph.sections[min(place, root)]
                    made[place] = self._made(place, made)
                continue
            ends += reversed(missing)

    def _called_again(self, place: int, operands: list[Any]) -> list[Any]:
        """A region refined, without the state entries that nothing uses: 0 takes their place."""
        region, graph = self.graph.calls[place][0], self.graph
        picks = (p for p in self._reached_places if p in graph.picks and graph.left[p] == place)
        live = _live(region, frozenset(graph.picks[p] for p in picks))
        made = [0.0] * len(region.results)
        states = range(len(region.results)) if region.condition else ()
        given = [x for k, x in enumerate(operands) if k not in states or k in live]
        for k, value in zip(live, called(_refined_region(region, live), given), strict=True):
            made[k] = value
        return made

    def _made(self, place: int, made: dict[int, Any]) -> Any:
        if place in self.sums:
            terms = [(1.0 if node == ONE else made[node], c) for node, c in self.sums[place].items()]
            return total((x * c for x, c in sorted(terms, key=lambda term: _age(term[0]))), start=0.0)
        if place in self.products:
            return math.prod(sorted((made[f] for f in self.products[place]), key=_age), start=1.0)
        if place in self.graph.values:
            return self.graph.values[place]
        operands = [made[operand] for operand in self._operands(place)]
        if place in self.graph.calls:
            return self._called_again(place, operands)
        return again(self.graph, place, *operands)


def _live(region: Region, used: frozenset[int]) -> tuple[int, ...]:
    """The results in use; of a state everything that those, or the condition, depend on."""
    if region.condition is None:
        return tuple(sorted(used))
    live = set(used)
    while True:
        ends = [*(region.results[k] for k in live), *region.condition]
        needed = set(region.graph.needed(ends))
        more = {k for k in range(len(region.results)) if region.inputs[k].node in needed}
        if more <= live:
            return tuple(sorted(live))
        live |= more


def _gain_of_factor(entry: Sum, factor: int, nodes: list[int]) -> int:
    """Operations saved by x y + x z = x (y + z), and 3 x + x y = x (3 + y)."""
    return sum(n != factor for n in nodes) - 1 + (factor in nodes and abs(entry[factor]) != 1.0)


def _age(x: Any) -> tuple[bool, int]:
    """Sort key: offline values first, then in order of creation, so that like terms are adjacent."""
    return (not x.graph.offline[x.node], x.node) if isinstance(x, Expr) else (False, NOTHING)


def _add(entry: Sum, node: int, c: float) -> None:
    value = entry.get(node, 0.0) + c
    if value == 0.0:
        entry.pop(node, None)
    else:
        entry[node] = value
