"""The shortest schedule by a constraint solver (OR-Tools' CP-SAT, extra `schedule`) and its proven bound."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from forearm.schedules.bounds import ROUNDING
from forearm.schedules.schedule import TaskSchedule
from forearm.schedules.search import is_proven, schedule_by_search
from forearm.schedules.tasks import TaskGraph
from forearm.values import check_number

GRID = 1000  # time steps per unit, where costs are not whole
LARGEST = 2**40  # time steps, all tasks together
EVEN = 1e-12  # of a cost: rounding allowed for a whole number of time steps
WORKERS = 4  # of the solver, interleaved so that the answer is reproducible
MOST_TASKS = 5000


def has_solver() -> bool:
    """Whether OR-Tools is installed."""
    return find_spec("ortools") is not None


def schedule_exact(
    graph: TaskGraph,
    processors: int,
    communication: float = 0.0,
    synchronisation: float = 0.0,
    effort: float = 30.0,
) -> TaskSchedule:
    """The shortest schedule found, with the proven lower bound in `bound`: its own length if it is optimal.

    It starts from the search and its bound, and calls the solver only if they differ. `effort` limits the
    solver, in seconds of its deterministic clock. Without the solver the result is the search's, as it is
    for what the solver does not model: waits that cost time, costs that are not multiples of 1/GRID, more
    than MOST_TASKS tasks.
    """
    check_number(effort, "effort", above=0.0, maximum=1e5)
    found = replace(schedule_by_search(graph, processors, communication, synchronisation), method="exact")
    if is_proven(found) or not has_solver() or not is_modelled(found):
        return found
    return _solved(found, effort)


def is_modelled(schedule: TaskSchedule) -> bool:
    """Whether the solver models this schedule."""
    return len(schedule.graph) <= MOST_TASKS and not schedule.synchronisation and _grid(schedule) is not None


def _solved(hint: TaskSchedule, effort: float) -> TaskSchedule:
    cp = import_module("ortools.sat.python.cp_model")
    graph, grid = hint.graph, _grid(hint) or 1
    cost = [round(task.cost * grid) for task in graph.tasks]
    delay = round(hint.communication * grid)
    model = cp.CpModel()
    least, most = _parts(hint.bound or 0.0, grid, up=True), _parts(hint.length, grid, up=False)
    length = model.new_int_var(least, most, "length")
    start = _starts(model, hint, grid, most)
    if delay:
        owner = _on_processors(model, hint, start, cost, delay)
    else:
        owner = []
        model.add_cumulative(
            [model.new_fixed_size_interval_var(s, c, "") for s, c in zip(start, cost, strict=True)],
            [1] * len(cost),
            hint.processors,
        )
    for k, earlier in enumerate(graph.before):
        for e in earlier if not delay else ():
            model.add(start[k] >= start[e] + cost[e])
        model.add(length >= start[k] + cost[k] + round((graph.tails[k] - graph.tasks[k].cost) * grid))
    model.minimize(length)
    solver = cp.CpSolver()
    solver.parameters.max_deterministic_time = effort
    solver.parameters.num_workers = WORKERS
    solver.parameters.interleave_search = True
    solver.parameters.random_seed = 1
    status = solver.solve(model)
    bound = max(hint.bound or 0.0, solver.best_objective_bound / grid)
    if status not in (cp.OPTIMAL, cp.FEASIBLE):
        return hint
    begins = [solver.value(s) for s in start]
    owners = [next(p for p, x in enumerate(row) if solver.value(x)) for row in owner] or _dealt(
        begins, cost, hint.processors
    )
    made = replace(hint, start=tuple(begin / grid for begin in begins), processor=tuple(owners), bound=bound)
    return made if made.length <= hint.length else replace(hint, bound=bound)


def _starts(model: Any, hint: TaskSchedule, grid: int, most: int) -> list[Any]:
    graph, made = hint.graph, []
    for k, task in enumerate(graph.tasks):
        first, last = round(graph.heads[k] * grid), most - round(graph.tails[k] * grid)
        made.append(model.new_int_var(min(first, last), last, task.name))
        model.add_hint(made[-1], round(hint.start[k] * grid))
    return made


def _on_processors(
    model: Any, hint: TaskSchedule, start: list[Any], cost: list[int], delay: int
) -> list[list[Any]]:
    """The processor of each task, one task at a time each; results from another processor arrive after the
    delay.
    """
    count = min(hint.processors, len(cost))  # more could not all be used
    owner = [[model.new_bool_var("") for _ in range(count)] for _ in cost]
    for k, row in enumerate(owner):
        model.add_exactly_one(row)
        for p, x in enumerate(row):
            model.add_hint(x, hint.processor[k] == p)
    for p in range(count):
        model.add_no_overlap(
            [
                model.new_optional_fixed_size_interval_var(start[k], cost[k], owner[k][p], "")
                for k in range(len(cost))
            ]
        )
    for k, earlier in enumerate(hint.graph.before):
        for e in earlier:
            model.add(start[k] >= start[e] + cost[e])
            for p in range(count):
                model.add(start[k] >= start[e] + cost[e] + delay).only_enforce_if([owner[e][p], ~owner[k][p]])
    return owner


def _dealt(begins: list[int], cost: list[int], processors: int) -> list[int]:
    """Assign processors to tasks of which no more run at once than there are processors; in whole time steps.

    A task of zero duration occupies no processor: any will do.
    """
    free, owner = [0] * processors, [0] * len(cost)
    for k in sorted((k for k, c in enumerate(cost) if c), key=lambda k: (begins[k], k)):
        owner[k] = next(p for p in range(processors) if free[p] <= begins[k])
        free[owner[k]] = begins[k] + cost[k]
    return owner


def _grid(schedule: TaskSchedule) -> int | None:
    """Time steps per unit in which all costs are whole; None if there are none, or too many."""
    given = [task.cost for task in schedule.graph.tasks] + [schedule.communication]
    grid = 1 if all(float(c).is_integer() for c in given) else GRID
    whole = all(abs(c * grid - round(c * grid)) <= EVEN * c * grid for c in given)
    return grid if whole and sum(given) * grid <= LARGEST else None


def _parts(length: float, grid: int, up: bool) -> int:
    """A length in time steps: a bound rounded up, a length to the nearest."""
    return int(-(-length * grid * (1.0 - ROUNDING) // 1)) if up else round(length * grid)
