"""Schedules compared: printed, by the document's rule, by critical path, the best found, the lower bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forearm.schedules.assembly import Layered
from forearm.schedules.exact import schedule_exact
from forearm.schedules.printed import names, printed_schedule
from forearm.schedules.priority import schedule_by_priority
from forearm.schedules.rule import schedule_by_rule
from forearm.schedules.search import is_proven
from forearm.schedules.tasks import TaskGraph
from forearm.values import frozen

EFFORT = 10.0  # s of the solver's deterministic clock, for each number of processors


@frozen
class ScheduleComparison:
    """Lengths on so many processors; `best` is optimal if `is_proven`, and at least `bound`."""

    processors: int
    printed: int | None
    rule: float
    priority: float
    best: float
    bound: float
    is_proven: bool


def compared(
    graph: TaskGraph | Layered, processors: Sequence[int], printed: Mapping[int, int] | None = None
) -> list[ScheduleComparison]:
    """One comparison for each number of processors."""
    tasks = graph.graph if isinstance(graph, Layered) else graph
    made = []
    for p in processors:
        best = schedule_exact(tasks, p, effort=EFFORT)
        rule, priority = schedule_by_rule(graph, p).length, schedule_by_priority(tasks, p).length
        bound = 0.0 if best.bound is None else best.bound
        made.append(
            ScheduleComparison(p, (printed or {}).get(p), rule, priority, best.length, bound, is_proven(best))
        )
    return made


def printed_levels(table: str) -> dict[int, int]:
    """Levels of the printed schedules of a table by number of processors. Dhanaraj C.1 to C.15."""
    found = map(printed_schedule, names())
    return {schedule.processors: schedule.levels for schedule in found if schedule.load == table}
