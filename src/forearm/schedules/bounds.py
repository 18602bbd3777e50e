"""Lower bounds on the length of every schedule, with the reason."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from forearm.schedules.priority import check_machine
from forearm.schedules.tasks import TaskGraph
from forearm.spatial import Floats

ENTRIES = 2e7  # entries of the table over windows and tasks; larger graphs get fewer windows
MOST_WINDOWS = 160  # thresholds on each side
ROUNDING = 1e-9  # of a sum of costs, relative: the bound is lowered by it, so that it stays valid


@dataclass(frozen=True)
class Bound:
    """A proven lower bound, and its reason.

    The window that starts `head` after the start and ends `tail` before the end must hold `work` on
    all processors together.
    """

    length: float
    head: float
    tail: float
    work: float
    reason: str


def lower_bound(graph: TaskGraph, processors: int) -> float:
    """The lower bound on the length of schedules on so many processors, whatever communication costs."""
    return proof(graph, processors).length


def proof(graph: TaskGraph, processors: int) -> Bound:
    """The best of three bounds: the critical path, the total over the processors, and the fullest window.

    In a schedule of length T task k starts between head_k and T - tail_k. In the window from a to T - b it
    therefore spends at least min(c_k, head_k + c_k - a, tail_k - b, T - a - b), if that is positive; the
    sum over all tasks must fit: T >= a + b + sum / p. The inequality contains T itself, so that a bound
    may sharpen the next. Costs that are whole numbers give whole lengths. Fernandez and Bussell's bound is
    the case T = critical path.
    """
    check_machine(processors)
    path, load = graph.critical_path, graph.total / processors
    best = Bound(_whole(graph, path), 0.0, 0.0, path, "critical path")
    if _whole(graph, load) > best.length:
        best = Bound(_whole(graph, load), 0.0, 0.0, graph.total, "total work")
    while len(graph):
        better = _fullest(graph, processors, best.length)
        if better.length <= best.length:
            break
        best = better
    return best


def _fullest(graph: TaskGraph, processors: int, known: float) -> Bound:
    """The bound by the most restrictive window, given the bound `known`."""
    cost = np.array([task.cost for task in graph.tasks])
    head, tail = np.array(graph.heads), np.array(graph.tails)
    at_most = int(max(4, min(MOST_WINDOWS, math.sqrt(ENTRIES / len(graph)))))
    after = _thresholds(tail - cost, at_most)
    best = Bound(0.0, 0.0, 0.0, 0.0, "window")
    for a in _thresholds(head, at_most):
        inside = np.minimum(cost, head + cost - a)
        reaching = inside > 0.0
        spent = np.minimum(inside[reaching], tail[reaching] - after[:, None])  # (windows, tasks)
        spent = np.clip(np.minimum(spent, known - a - after[:, None]), 0.0, None)
        work = spent.sum(axis=1)
        length = np.where(known > a + after, a + after + work / processors, 0.0)
        at = int(np.argmax(length))
        whole = _whole(graph, float(length[at]))
        if whole > best.length:
            best = Bound(whole, float(a), float(after[at]), float(work[at]), "window")
    return best


def _thresholds(values: Floats, at_most: int) -> Floats:
    """The distinct values, or an even selection of them: any window gives a bound."""
    found = np.unique(values)
    chosen: Floats = found[
        np.unique(np.linspace(0, len(found) - 1, min(at_most, len(found))).round().astype(int))
    ]
    return chosen


def _whole(graph: TaskGraph, length: float) -> float:
    """The bound lowered by possible rounding, and rounded up where all costs are whole."""
    least = length * (1.0 - ROUNDING)
    if all(float(task.cost).is_integer() for task in graph.tasks):
        return float(math.ceil(least))
    return least
