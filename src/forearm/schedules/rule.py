"""The document's rule: layer by layer; idle processors take ready tasks of the next layers.

Dhanaraj 4.3.3, Fig. 4.10.
"""

from __future__ import annotations

from collections.abc import Sequence

from forearm.errors import InputError
from forearm.schedules.assembly import Layered
from forearm.schedules.priority import check_machine, listed
from forearm.schedules.schedule import TaskSchedule
from forearm.schedules.tasks import TaskGraph


def schedule_by_rule(graph: TaskGraph | Layered, processors: int) -> TaskSchedule:
    """Tasks of the first unfinished layer come first, in their order; then ready tasks of the next layers.

    Args:
        graph: the tasks; a graph without layers gets those of precedence, each task one layer after its last
            predecessor.
        processors: how many there are.
    """
    check_machine(processors)
    return by_layers(graph.graph if isinstance(graph, Layered) else graph, graph.layers, processors)


def by_layers(graph: TaskGraph, layers: Sequence[int], processors: int) -> TaskSchedule:
    """The rule with the given layers."""
    if len(layers) != len(graph):
        raise InputError(f"expected one layer per task, {len(graph)}, got {len(layers)}.", graph.name)
    start, processor = listed(graph, processors, [-float(layer) for layer in layers])
    return TaskSchedule(graph, processors, tuple(start), tuple(processor), "rule")
