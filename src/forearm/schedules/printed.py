"""Dhanaraj's printed schedules and layered task tables, misprints included, and their faults."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from forearm.schedules.assembly import Layered, table_graph
from forearm.schedules.checking import ScheduleEntry, Violation, violations_of_entries
from forearm.schedules.subtasks import SUBTASKS, Place
from forearm.schedules.tasks import TaskGraph
from forearm.values import chosen

LINKS = 6
GENERAL, STANFORD = "4.3", "4.7"  # the layered tables scheduled in C.1 to C.8 and C.9 to C.15
LAST_GENERAL = 8
# Table 4.2 prints 26, 27 for the first link. T26 is its force and stays in every table;
# N.x and N.y, T27 and T28, are 0.
FIRST_LINK_MOMENTS: frozenset[Place] = frozenset({(1, 27), (1, 28)})
# Table 4.7 keeps 127, N.x, which is 0, where 129, N.z, is meant: three of its schedules have 129.
MISPRINTS = {STANFORD: {127: 129}}


@dataclass(frozen=True)
class Printed:
    """One table of appendix C: one row of tasks per processor, from level 1; 0 is idle."""

    name: str
    rows: tuple[tuple[int, ...], ...]

    @property
    def processors(self) -> int:
        """The number of columns."""
        return len(self.rows[0])

    @property
    def levels(self) -> int:
        """The number of levels."""
        return len(self.rows)

    @property
    def entries(self) -> tuple[ScheduleEntry, ...]:
        """Its tasks by name, processors from 0, level 1 starting at 0."""
        return tuple(
            ScheduleEntry(str(task), column, float(level))
            for level, row in enumerate(self.rows)
            for column, task in enumerate(row)
            if task
        )

    @property
    def load(self) -> str:
        """The layered table whose tasks it schedules."""
        return GENERAL if int(self.name.removeprefix("C.")) <= LAST_GENERAL else STANFORD


def names() -> tuple[str, ...]:
    """C.1 to C.15."""
    return tuple(_document()["schedules"])


def printed_schedule(name: str) -> Printed:
    """A table of appendix C as printed."""
    return Printed(name, tuple(map(tuple, chosen(_document()["schedules"], name, "printed schedule"))))


def printed_layers(table: str) -> tuple[tuple[int, ...], ...]:
    """The rows of Table 4.3 or 4.7."""
    return tuple(map(tuple, _document()["layers"][table]))


def special_cases() -> dict[str, frozenset[int]]:
    """Table 4.2: the subtasks left out for a prismatic joint, the first link and the last link."""
    return {case: frozenset(numbers) for case, numbers in _document()["special"].items()}


def sparse_cases() -> dict[int, frozenset[Place]]:
    """Table 4.6: the subtasks eliminated by zeros in the Stanford arm's vectors, link by link."""
    return {int(link): frozenset(map(place_of, tasks)) for link, tasks in _document()["sparse"].items()}


def printed_times() -> dict[str, dict[int, float]]:
    """Table 4.8: milliseconds by author and number of processors."""
    return {
        author: {int(p): float(t) for p, t in times.items()} for author, times in _document()["times"].items()
    }


def place_of(task: int) -> Place:
    """Link and subtask of a number such as 110."""
    return task // 100, task % 100


def corrected_layers(table: str) -> tuple[tuple[Place, ...], ...]:
    """The rows of a table, restricted to the tasks of its schedules.

    Table 4.3 prints all tasks of the last link, and T27 and T28 of the first;
    its schedules leave out what Table 4.2 names.
    """
    wrong = MISPRINTS.get(table, {})
    drop = {(LINKS, number) for number in special_cases()["last"]} | FIRST_LINK_MOMENTS
    rows = ([place_of(wrong.get(task, task)) for task in row] for row in printed_layers(table))
    return tuple(tuple(place for place in row if place not in drop) for row in rows)


@cache
def load(table: str) -> Layered:
    """The tasks of a table with the corrected precedence of Table 4.1, in recomputed layers."""
    everything = {(i, task.number) for i in range(1, LINKS + 1) for task in SUBTASKS}
    kept = {place for row in corrected_layers(table) for place in row}
    return table_graph(LINKS, everything - kept, f"Table {table}")


@cache
def as_printed(table: str) -> Layered:
    """The same tasks in the document's own layers, without the precedence that these layers violate."""
    right = load(table)
    rows = corrected_layers(table)
    layer = {place: k for k, row in enumerate(rows, start=1) for place in row}
    index = {place: k for k, place in enumerate(layer)}
    old = {place: k for k, place in enumerate(right.places)}

    def before(place: Place) -> tuple[int, ...]:
        earlier = (right.places[e] for e in right.graph.before[old[place]])
        return tuple(sorted(index[e] for e in earlier if layer[e] < layer[place]))

    tasks = tuple(right.graph.tasks[old[place]] for place in layer)
    graph = TaskGraph(tasks, tuple(map(before, layer)), f"Table {table} as printed")
    return Layered(graph, tuple(layer.values()), tuple(layer))


@cache
def faults(name: str) -> tuple[Violation, ...]:
    """The violations of a printed schedule, by the check that ours pass."""
    printed = printed_schedule(name)
    return violations_of_entries(load(printed.load).graph, printed.entries, printed.processors)


@cache
def _document() -> Any:
    return json.loads(files("forearm.schedules").joinpath("printed.json").read_text(encoding="utf-8"))
