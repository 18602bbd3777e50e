"""The task graph of an arm assembled from those of its links, in 4n + 3 layers once the first link's
unnecessary subtasks are removed. Dhanaraj 4.3.1, Figs. 4.7 to 4.9.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from graphlib import TopologicalSorter

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.drives.joint import drives_of
from forearm.errors import InputError, shorten
from forearm.kinematics.arguments import states_of
from forearm.schedules.elimination import Remaining, given_values, remaining
from forearm.schedules.further import FIRST_DRIVE, TWISTED_FORWARD
from forearm.schedules.links import chain_of, joints_at
from forearm.schedules.packing import packed
from forearm.schedules.subtasks import BACKWARD_LAYERS, FORWARD_LAYERS, LAST_FORWARD, SUBTASKS, Place
from forearm.schedules.tasks import Task, TaskGraph
from forearm.schedules.terms import Operand
from forearm.spatial import Floats
from forearm.symbols.graph import NOTHING
from forearm.values import check_whole, frozen

MOST_LINKS = 200
FORWARD_BEYOND = frozenset(task.number for task in TWISTED_FORWARD)


@frozen
class Layered:
    """A task graph with the layer of each task, from 1; `places` gives link and subtask number of each task.

    A task depends on tasks of earlier layers only. Tasks are in the order of Table 4.3: layer by layer,
    forward recursions from the base outwards, backward recursions from the hand inwards.
    """

    graph: TaskGraph
    layers: tuple[int, ...]
    places: tuple[Place, ...]

    @cached_property
    def rows(self) -> tuple[tuple[int, ...], ...]:
        """The tasks of each layer."""
        made: list[list[int]] = [[] for _ in range(max(self.layers, default=0))]
        for k, layer in enumerate(self.layers):
            made[layer - 1].append(k)
        return tuple(map(tuple, made))

    @property
    def concurrency(self) -> int:
        """The size of the largest layer: the processors needed to execute one layer at a time."""
        return max(map(len, self.rows), default=0)


@frozen
class SubtaskProgram:
    """The non-empty subtasks of an arm, the operations of each, and their task graph."""

    arm: Arm
    layered: Layered
    remaining: Remaining
    operations: tuple[tuple[int, ...], ...]  # of each task, as indices of remaining.operations

    @property
    def graph(self) -> TaskGraph:
        """The subtasks as tasks, with their precedence."""
        return self.layered.graph


def layer_of(place: Place, n: int) -> int:
    """The layer of a subtask where links are stacked two layers apart: forwards from link 2, then
    backwards from link n.
    """
    i, number = place
    if number >= FIRST_DRIVE:
        layer = BACKWARD_LAYERS + 1
    else:
        layer = SUBTASKS[number - 1].layer if number <= len(SUBTASKS) else 1
    if number > LAST_FORWARD and number not in FORWARD_BEYOND:
        return FORWARD_LAYERS + 2 * (n - 2) + 2 * (n - i) + layer
    return 1 if i == 1 else 2 * (i - 2) + layer


def layers_of(n: int) -> int:
    """The layers of n links: 4n + 3, of which 2n + 2 forwards and 2n + 1 backwards.

    For two links or more this is the critical path too, once the first link's unnecessary subtasks are
    removed; with them it is 4n + 5.
    """
    return (FORWARD_LAYERS + 2 * (n - 2)) + (BACKWARD_LAYERS + 2 * (n - 1))


def table_graph(n: int, left_out: Collection[Place] = (), name: str = "") -> Layered:
    """All subtasks of n links but those left out, with the precedence of Table 4.1.

    Successors of a task that is left out depend on its predecessors instead.
    """
    check_whole(n, "subtasks, links", 1, MOST_LINKS)
    everything = [(i, task.number) for i in range(1, n + 1) for task in SUBTASKS]
    known, waits = set(everything), {}
    for i, number in everything:
        near = ((i + shift, other) for other, shift in SUBTASKS[number - 1].after)
        waits[i, number] = {place for place in near if place in known}
    return _layered(n, _bridged(waits, set(left_out)), name or f"{n} links")


def subtask_work(arm: Arm, all_made: bool = False) -> SubtaskProgram:
    """The subtasks of a serial arm and of its drives that remain once zeros are eliminated.

    Operations that no torque depends on are removed too, unless `all_made`, as in the document. Precedence
    follows the data flow. Raises ModelError for trees and mimicking joints.
    """
    left = remaining(chain_of(arm), drives_of(arm))
    tasks = packed(left, all_made)
    owner = {k: place for place, operations in tasks.items() for k in operations}
    waits = {
        place: {owner[e] for k in ks for r in left.operations[k].reads if (e := r - len(left.given)) >= 0}
        - {place}
        for place, ks in tasks.items()
    }
    layered = _layered(len(left.chain), waits, arm.name)
    return SubtaskProgram(arm, layered, left, tuple(tuple(sorted(tasks[place])) for place in layered.places))


def run_tasks(
    work: SubtaskProgram, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, order: Sequence[int] | None = None
) -> Floats:
    """The torques (n,) at one state, computed task by task in the given order (default: the graph's)."""
    left = work.remaining
    sequence = range(len(work.graph)) if order is None else _complete(work.graph, order)
    state = [np.ravel(given) for given in states_of(work.arm, q=q, qd=qd, qdd=qdd)]
    if any(len(given) != len(left.chain) for given in state):
        raise InputError(
            f"expected one state, {len(left.chain)} numbers each; call run_tasks once per row.", work.arm.name
        )
    if np.isnan(state).any():  # the tasks that would propagate it may have been eliminated
        return np.full(len(left.chain), np.nan)
    joints = joints_at(left.chain, *(v.tolist() for v in state))
    values = dict(enumerate(given_values(left.chain, joints)))

    def value(operand: Operand) -> float:
        factor, at = operand
        return factor if at == NOTHING else factor * values[at]

    for task in sequence:
        for k in work.operations[task]:
            operation = left.operations[k]
            try:
                operands = [value(operand) for operand in operation.operands]
            except KeyError as error:
                name = work.graph.tasks[task].name
                raise InputError(
                    f"{name} comes before a task that it depends on; move it after that task."
                ) from error
            values[len(left.given) + k] = operation.of(*operands)
    return np.array([value(torque) for torque in left.torques])


def _complete(graph: TaskGraph, order: Sequence[int]) -> list[int]:
    """The order as a list; InputError if a task is missing, repeated or unknown."""
    count = Counter(order)
    for k, task in enumerate(graph.tasks):
        if count[k] != 1:
            raise InputError(
                f"expected every task once; {task.name} is {'repeated' if count[k] else 'missing'}.", "order"
            )
    if len(count) > len(graph):
        odd = next(k for k in count if k not in range(len(graph)))
        raise InputError(f"expected tasks from 0 to {len(graph) - 1}, got {shorten(odd)}.", "order")
    return list(order)


def _bridged(waits: Mapping[Place, set[Place]], left_out: set[Place]) -> dict[Place, set[Place]]:
    """The predecessors of each remaining task, through the tasks that are left out."""
    sources: dict[Place, set[Place]] = {}
    made = {}
    for place in TopologicalSorter(waits).static_order():
        found = set().union(*(sources[earlier] for earlier in waits[place]))
        sources[place] = found if place in left_out else {place}
        if place not in left_out:
            made[place] = found
    return made


def _layered(n: int, waits: Mapping[Place, set[Place]], name: str) -> Layered:
    """Tasks in layers: the stacked layer, or one behind the last predecessor if that is later."""
    layer: dict[Place, int] = {}
    for place in TopologicalSorter(waits).static_order():
        layer[place] = max([layer_of(place, n), *(layer[earlier] + 1 for earlier in waits[place])])

    def rank(place: Place) -> tuple[int, bool, int, int]:
        backward = place[1] > LAST_FORWARD and place[1] not in FORWARD_BEYOND
        return layer[place], backward, -place[0] if backward else place[0], place[1]

    places = sorted(waits, key=rank)
    index = {place: k for k, place in enumerate(places)}
    tasks = tuple(Task(_name(*place), 1.0, f"link {place[0]}") for place in places)
    before = tuple(tuple(sorted(index[earlier] for earlier in waits[place])) for place in places)
    return Layered(TaskGraph(tasks, before, name), tuple(layer[place] for place in places), tuple(places))


def _name(i: int, number: int) -> str:
    """The document's three digits, such as 126; with a dot from subtask 100 of a link on."""
    return f"{i}{number:02d}" if number < 100 else f"{i}.{number}"
