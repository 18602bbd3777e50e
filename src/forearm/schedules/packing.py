"""Packing the remaining operations of a step into as few subtasks of three operations as possible.
Dhanaraj 4.3.2, Table 4.5.
"""

from __future__ import annotations

from collections.abc import Sequence

from forearm.schedules.elimination import Remaining
from forearm.schedules.further import FIRST_DRIVE
from forearm.schedules.subtasks import OPERATIONS, Place

# Steps that consist of several subtasks of the same kind: a + lambda p, a + lambda s, p x f, s x F.
STEPS = (range(12, 18), range(20, 26), range(33, 36), range(36, 39))
ROWS = 3  # components of a vector


def packed(left: Remaining, all_made: bool) -> dict[Place, list[int]]:
    """The operations of every subtask, with those of STEPS packed into the last numbers of their step.

    Of the possible packings the one with the shortest chain of subtasks is chosen.
    """
    made = left.by_place(all_made)
    for i in range(1, len(left.chain) + 1):
        for step in STEPS:
            inside = {number: made.pop((i, number)) for number in step if (i, number) in made}
            rows: list[list[int]] = [[] for _ in range(ROWS)]
            for number, operations in inside.items():
                rows[(number - step[0]) % ROWS] += operations
            tasks = _tasks(left, rows)
            made |= {(i, step[len(step) - len(tasks) + k]): operations for k, operations in enumerate(tasks)}
        drive = _drive_tasks(left, made.pop((i, FIRST_DRIVE), []))
        made |= {(i, FIRST_DRIVE + k): operations for k, operations in enumerate(drive)}
    return made


def _drive_tasks(left: Remaining, operations: list[int]) -> list[list[int]]:
    """Operations of a drive as tasks of at most three, those that depend on given quantities alone first."""
    first = len(left.given)
    early = set()
    for k in operations:
        if all(read < first or read - first in early for read in left.operations[k].reads):
            early.add(k)
    level = _levels(left, operations)
    late = [k for k in operations if k not in early]
    return [
        task
        for some in ([k for k in operations if k in early], late)
        for task in _cut(sorted(some, key=lambda k: (level[k], k)))
    ]


def _tasks(left: Remaining, rows: Sequence[list[int]]) -> list[list[int]]:
    """Rows of operations as tasks of at most three operations."""
    everything = [k for row in rows for k in row]
    depth = _levels(left, everything)
    early = [k for row in rows for k in row[:-OPERATIONS]]
    late = [k for row in rows for k in row[-OPERATIONS:]]
    ways = [_whole_rows(rows)] if not early else []
    ways += [_cut(sorted(everything, key=lambda k: (depth[k], k))), _cut([*early, *late])]
    fewest = -(-len(everything) // OPERATIONS)
    return min((way for way in ways if len(way) == fewest), key=lambda way: _depth(left, way), default=[])


def _whole_rows(rows: Sequence[list[int]]) -> list[list[int]]:
    """Rows of at most three operations packed by first fit, none of them cut."""
    tasks: list[list[int]] = []
    for row in sorted((row for row in rows if row), key=lambda row: -len(row)):
        room = next((task for task in tasks if len(task) + len(row) <= OPERATIONS), None)
        if room is None:
            tasks.append(list(row))
        else:
            room += row
    return tasks


def _cut(order: list[int]) -> list[list[int]]:
    return [order[k : k + OPERATIONS] for k in range(0, len(order), OPERATIONS)]


def _levels(left: Remaining, operations: list[int]) -> dict[int, int]:
    """The length of the longest chain of these operations before each of them."""
    level: dict[int, int] = {}
    for k in sorted(operations):
        level[k] = max(
            (level[e] + 1 for r in left.operations[k].reads if (e := r - len(left.given)) in level), default=0
        )
    return level


def _depth(left: Remaining, tasks: list[list[int]]) -> int:
    """The length of the longest chain of tasks."""
    owner = {k: number for number, task in enumerate(tasks) for k in task}
    depth = [0] * len(tasks)
    for number, task in enumerate(tasks):
        reads = (owner.get(r - len(left.given)) for k in task for r in left.operations[k].reads)
        depth[number] = 1 + max((depth[e] for e in reads if e is not None and e != number), default=0)
    return max(depth, default=0)
