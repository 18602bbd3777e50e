"""Small random graphs, the shortest schedule by trying everything, and a check of schedules
that knows only the rules.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forearm.schedules.schedule import TaskSchedule
from forearm.schedules.tasks import Task, TaskGraph

CLOSE = 1e-9  # of a unit of time: sums of a few costs


def random_graph(seed: int, n: int, density: float = 0.3, costs: Sequence[float] = (1.0,)) -> TaskGraph:
    """Tasks with costs drawn from these, each waiting for some of the earlier ones."""
    rng = np.random.default_rng([seed, n])
    tasks = tuple(Task(f"t{k}", float(rng.choice(np.array(costs)))) for k in range(n))
    return TaskGraph(
        tasks, tuple(tuple(e for e in range(k) if rng.random() < density) for k in range(n)), f"random {seed}"
    )


def shortest(
    graph: TaskGraph, processors: int, communication: float = 0.0, synchronisation: float = 0.0
) -> float:
    """The least length: tasks in every order on every processor, each as early as it can be
    behind the others there.

    Tasks of one processor are numbered as they come; one that needs a higher number of another
    than any before it waits.
    """
    n = len(graph)
    best = sum(task.cost for task in graph.tasks)
    ends, owner, number = [0.0] * n, [-1] * n, [0] * n

    def place(
        done: int, free: tuple[float, ...], count: tuple[int, ...], known: frozenset[tuple[int, int, int]]
    ) -> None:
        nonlocal best
        if done == n:
            best = min(best, max(free))
            return
        for k in range(n):
            if owner[k] >= 0 or any(owner[e] < 0 for e in graph.before[k]):
                continue
            empty = False
            for p in range(processors):
                if free[p] == 0.0 and empty:
                    break  # processors on which nothing is done yet are all the same
                empty = empty or free[p] == 0.0
                needs = {(p, owner[e], number[e]) for e in graph.before[k] if owner[e] != p}
                new = {a[1] for a in needs if not any(b[:2] == a[:2] and b[2] >= a[2] for b in known)}
                there = [ends[e] + (communication if owner[e] != p else 0.0) for e in graph.before[k]]
                end = max([free[p], *there]) + synchronisation * len(new) + graph.tasks[k].cost
                if end + graph.tails[k] - graph.tasks[k].cost >= best:
                    continue
                ends[k], owner[k], number[k] = end, p, count[p]
                more = (*count[:p], count[p] + 1, *count[p + 1 :])
                place(done + 1, (*free[:p], end, *free[p + 1 :]), more, known | needs)
                owner[k] = -1

    place(0, (0.0,) * processors, (0,) * processors, frozenset())
    return best


def faults(schedule: TaskSchedule) -> list[str]:
    """What is wrong with a schedule: two tasks at once on a processor, a task before what it
    waits for has arrived.
    """
    graph, found = schedule.graph, []
    ends = [s + task.cost for s, task in zip(schedule.start, graph.tasks, strict=True)]
    for k in range(len(graph)):
        if not 0 <= schedule.processor[k] < schedule.processors or schedule.start[k] < -CLOSE:
            found.append(f"{k} is nowhere")
        for e in graph.before[k]:
            late = schedule.communication if schedule.processor[e] != schedule.processor[k] else 0.0
            if schedule.start[k] < ends[e] + late - CLOSE:
                found.append(f"{k} before {e}")
        for other in range(k):
            same = schedule.processor[other] == schedule.processor[k]
            if same and schedule.start[k] < ends[other] - CLOSE and schedule.start[other] < ends[k] - CLOSE:
                found.append(f"{k} and {other} at once")
    return found
