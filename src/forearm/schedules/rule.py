"""The document's rule: layer by layer, and where a layer leaves processors free,
whatever of the next layers can be done.

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
    """Tasks of the first layer that is not done come first, in their order;
    then those of the next layers that can be done.

    Args:
        graph: the tasks; one without layers of its own has those of precedence, a task one layer behind the
            last that it waits for.
        processors: how many there are.
    """
    check_machine(processors)
    if isinstance(graph, Layered):
        return by_layers(graph.graph, graph.layers, processors)
    return by_layers(graph, graph.layers, processors)


def by_layers(graph: TaskGraph, layers: Sequence[int], processors: int) -> TaskSchedule:
    """The rule with layers that are given."""
    if len(layers) != len(graph):
        raise InputError(f"{graph.name}: expected one layer per task, {len(graph)}, got {len(layers)}.")
    start, processor = listed(graph, processors, [-float(layer) for layer in layers])
    return TaskSchedule(graph, processors, tuple(start), tuple(processor), "rule")
