"""The steps of each thread: wait for others, load their values, compute, store values for others, publish its
progress.

A thread publishes the number of its tasks that are done; others wait for such a number and nothing else.
Waits that an earlier one of the same thread covers are left out, and numbers that no thread waits for are not
published.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from forearm.codegen.functions import Traced
from forearm.schedules.automatic import Division
from forearm.schedules.checking import check_schedule
from forearm.schedules.schedule import TaskSchedule
from forearm.symbols.graph import MUL, expressions
from forearm.values import frozen

APART = 16  # scalars between the values of two threads: two cache lines


@dataclass
class ThreadStep:
    """One step of a thread: `waits` are (thread, number of its tasks that must be done), the rest are graph
    nodes.
    """

    waits: list[tuple[int, int]] = field(default_factory=list)
    loads: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    stores: list[int] = field(default_factory=list)
    done: int | None = None  # tasks of this thread so far, if another thread waits for this number


@frozen
class Threads:
    """The steps of each thread, the thread that writes each result, and the slots in shared memory of values
    that are passed between threads.
    """

    traced: Traced
    steps: tuple[tuple[ThreadStep, ...], ...]
    writer: dict[int, int]  # node of a result -> thread
    slots: dict[int, int]
    size: int  # scalars of shared memory
    turn: int  # by how much an evaluation advances the progress counters

    @property
    def waits(self) -> int:
        """How many times an evaluation waits for another thread, its start not counted."""
        return sum(len(step.waits) for lane in self.steps for step in lane)


def planned_threads(division: Division, schedule: TaskSchedule) -> Threads:
    """The threads of a schedule; processors without tasks get none."""
    check_schedule(schedule, division.graph, "threads")
    lanes = [lane for lane in schedule.lanes if lane] or [()]
    where = {k: (thread, number) for thread, lane in enumerate(lanes) for number, k in enumerate(lane, 1)}
    waits = {
        k: wait
        for thread, lane in enumerate(lanes)
        for k, wait in _waits(division, thread, lane, where).items()
    }
    said = {key for found in waits.values() for key in found}
    owner = {place: where[k][0] for k, group in enumerate(division.places) for place in group}
    steps = [tuple(_steps(division, thread, lane, waits, said, owner)) for thread, lane in enumerate(lanes)]
    slots, size = _slots(steps)
    for step in (step for lane_steps in steps for step in lane_steps):
        step.stores = [place for place in step.places if place in slots]
    writer = {e.node: owner[e.node] for e in expressions(division.traced.results) if e.node in owner}
    return Threads(division.traced, tuple(steps), writer, slots, size, max(map(len, lanes)) + 1)


def kept_places(threads: Threads, thread: int) -> list[set[int]]:
    """For each step of a thread the nodes that are used outside of it, which must be kept as values."""
    graph, lane = threads.traced.graph, threads.steps[thread]
    at = {place: s for s, step in enumerate(lane) for place in step.places}
    kept = [set(step.stores) for step in lane]
    for place, here in at.items():
        for operand in graph.operands(place):
            if at.get(operand, here) != here:
                kept[at[operand]].add(operand)
    for node, writer in threads.writer.items():
        if writer == thread:
            kept[at[node]].add(node)
    return kept


def _waits(
    division: Division, thread: int, lane: tuple[int, ...], where: dict[int, tuple[int, int]]
) -> dict[int, list[tuple[int, int]]]:
    """For each task of a thread the waits that no earlier task of it covers."""
    reached: dict[int, int] = {}
    made = {}
    for k in lane:
        needs: dict[int, int] = {}
        for e in division.graph.before[k]:
            other, number = where[e]
            if other != thread:
                needs[other] = max(needs.get(other, 0), number)
        made[k] = [
            (other, number) for other, number in sorted(needs.items()) if number > reached.get(other, 0)
        ]
        reached |= dict(made[k])
    return made


def _steps(
    division: Division,
    thread: int,
    lane: tuple[int, ...],
    waits: dict[int, list[tuple[int, int]]],
    said: set[tuple[int, int]],
    owner: dict[int, int],
) -> list[ThreadStep]:
    graph, loaded = division.traced.graph, set[int]()
    steps = [ThreadStep()]
    for number, k in enumerate(lane, 1):
        if waits[k] or steps[-1].done is not None:
            steps.append(ThreadStep(waits=list(waits[k])))
        step = steps[-1]
        for place in division.places[k]:
            for p in graph.operands(place):
                if graph.kinds[p] >= MUL and owner.get(p, thread) != thread and p not in loaded:
                    loaded.add(p)
                    step.loads.append(p)
        step.places += division.places[k]
        if (thread, number) in said:
            step.done = number
    return steps


def _slots(steps: list[tuple[ThreadStep, ...]]) -> tuple[dict[int, int], int]:
    """Slots in shared memory for values that are passed between threads, in the order of their computation,
    each thread's apart.
    """
    wanted = {place for lane in steps for step in lane for place in step.loads}
    slots = {}
    size = 0
    for lane in steps:
        size = -(-size // APART) * APART
        for place in (place for step in lane for place in step.places if place in wanted):
            slots[place] = size
            size += 1
    return slots, size
