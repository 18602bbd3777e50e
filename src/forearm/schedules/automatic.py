"""Task graphs of generated functions, one task per operation, for any function and any arm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, fields
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from forearm.arm.arm import Arm, check_arm
from forearm.codegen.functions import FUNCTIONS, Traced, trace
from forearm.codegen.tracing import Tracing
from forearm.errors import InputError
from forearm.schedules.checking import check_schedule
from forearm.schedules.schedule import TaskSchedule
from forearm.schedules.tasks import Task, TaskGraph
from forearm.spatial import Floats
from forearm.symbols.evaluate import computed
from forearm.symbols.graph import ADD, COS, COUNTED, MUL, SIN, SUB, Graph, expressions, mapped
from forearm.values import check_number, chosen, frozen

MOST_OPERATIONS = 60_000


@frozen
class Costs:
    """Cost of an operation by kind; `other` stands for sign and absolute value."""

    mul: float = 1.0
    add: float = 1.0
    div: float = 4.0
    sqrt: float = 4.0
    trig: float = 8.0
    lookup: float = 8.0
    other: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            cost = getattr(self, field.name)
            check_number(cost, f"costs, {field.name}", minimum=0.0, maximum=1e6)

    def of(self, graph: Graph, place: int) -> float:
        """The cost of a node; an iteration costs as much as one round."""
        if place in graph.picks:
            return 0.0
        if place in graph.calls:
            inside = asdict(graph.calls[place][0].counts)
            return float(sum(getattr(self, kind) * count for kind, count in inside.items()))
        return float(getattr(self, COUNTED.get(graph.kinds[place], "other")))


@frozen
class Division:
    """A traced function divided into tasks: task k computes the graph nodes `places[k]`, operands first."""

    traced: Traced
    graph: TaskGraph
    places: tuple[tuple[int, ...], ...]


def traced_function(arm: Arm, function: str) -> Traced:
    """A function of an arm on the graph, drives included, as in generated code and kernels."""
    check_arm(arm, "schedule, arm", moves=True)
    wanted = chosen(FUNCTIONS, function, "schedule, function")
    traced = trace(Tracing(arm, {}), [wanted])
    if len(traced.graph) > MOST_OPERATIONS:
        raise InputError(
            f"{function} of {arm.name!r} has more than {MOST_OPERATIONS} operations; use an "
            "arm with fewer joints.",
            "schedule",
        )
    return traced


def operations(
    traced: Traced, name: str = "operations", costs: Costs | None = None, fused: bool = False
) -> Division:
    """One task per operation; with `fused` one per instruction of the kernels.

    Fused are a product with the sum that uses it, and the sine with the cosine of an angle.
    """
    graph = traced.graph
    needed = [place for place in graph.needed(traced.results) if graph.kinds[place] >= MUL]
    belongs = _instructions(graph, traced.results, needed) if fused else {}
    belongs |= {place: graph.left[place] for place in needed if place in graph.picks}
    members: dict[int, list[int]] = {}
    for place in needed:
        members.setdefault(belongs.get(place, place), []).append(place)
    return divided(traced, [tuple(group) for group in members.values()], name, costs or Costs())


def divided(traced: Traced, groups: list[tuple[int, ...]], name: str, costs: Costs) -> Division:
    """The tasks that compute these groups of nodes, in topological order."""
    graph = traced.graph
    owner = {place: k for k, group in enumerate(groups) for place in group}
    before = [
        {owner[p] for place in group for p in graph.operands(place) if owner.get(p, k) != k}
        for k, group in enumerate(groups)
    ]
    order = _in_order(before, [group[-1] for group in groups])
    rank = {k: position for position, k in enumerate(order)}
    tasks = tuple(_task(graph, groups[k], costs) for k in order)
    return Division(
        traced,
        TaskGraph(tasks, tuple(tuple(sorted(rank[e] for e in before[k])) for k in order), name),
        tuple(tuple(sorted(groups[k])) for k in order),
    )


def profile(graph: TaskGraph) -> tuple[int, ...]:
    """The number of tasks in each layer."""
    count = Counter(graph.layers)
    return tuple(count[layer] for layer in sorted(count))


def evaluated(division: Division, schedule: TaskSchedule, given: Mapping[str, float]) -> dict[str, Floats]:
    """The function's results, computed task by task in the order of their starts.

    A task sees inputs, constants and the results of its predecessors, nothing else.
    """
    check_schedule(schedule, division.graph, "evaluated")
    graph, made = division.traced.graph, [dict[int, Any]() for _ in division.places]
    used = [graph.leaves[place] for place in graph.needed(division.traced.results) if place in graph.leaves]
    missing = [name for name in used if name not in given]
    if missing:
        raise InputError(
            f"expected a number for every input; missing: {', '.join(map(repr, missing))}.", "evaluated"
        )
    leaves = dict(graph.values) | {
        place: given[name] for place, name in graph.leaves.items() if name in given
    }
    for k in sorted(range(len(made)), key=lambda k: (schedule.start[k], k)):
        seen = dict(leaves)
        for e in division.graph.before[k]:
            seen |= made[e]
        for place in division.places[k]:
            seen[place] = computed(graph, place, *(seen[p] for p in graph.operands(place)))
            made[k][place] = seen[place]
    values = leaves | {place: value for part in made for place, value in part.items()}
    results = mapped(division.traced.results, lambda e: -values[e.node] if e.negative else values[e.node])
    return {name: np.asarray(table, dtype=float) for name, table in results.items()}


def _task(graph: Graph, group: tuple[int, ...], costs: Costs) -> Task:
    last = max(group)
    name = graph.names.get(last, f"v{last}")
    return Task(name, sum(costs.of(graph, place) for place in group), graph.sections[last])


def _instructions(graph: Graph, results: Any, needed: list[int]) -> dict[int, int]:
    """Maps nodes to the node that they are computed with: products to their sum, cosine and sine of one
    angle.
    """
    uses = Counter(e.node for e in expressions(results))
    for place in needed:
        uses.update(graph.operands(place))
    belongs, angles = dict[int, int](), dict[int, int]()
    for place in needed:
        if graph.kinds[place] in (ADD, SUB):
            operands = (graph.right[place], graph.left[place])
            product = next(
                (p for p in operands if graph.kinds[p] == MUL and uses[p] == 1 and not graph.offline[p]), None
            )
            if product is not None:
                belongs[product] = place
        elif graph.kinds[place] in (COS, SIN):
            belongs[place] = angles.setdefault(graph.left[place], place)
    return belongs


def _in_order(before: list[set[int]], age: list[int]) -> list[int]:
    """Groups in topological order, older ones first."""
    after: list[list[int]] = [[] for _ in before]
    for k, earlier in enumerate(before):
        for e in earlier:
            after[e].append(k)
    missing = [len(earlier) for earlier in before]
    ready = [(age[k], k) for k, count in enumerate(missing) if not count]
    heapify(ready)
    order = []
    while ready:
        _, k = heappop(ready)
        order.append(k)
        for later in after[k]:
            missing[later] -= 1
            if not missing[later]:
                heappush(ready, (age[later], later))
    if len(order) < len(before):
        raise AssertionError("groups of operations depend on each other in a cycle")
    return order
