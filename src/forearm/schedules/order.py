"""The subtasks of an arm in sequential order."""

from __future__ import annotations

from functools import lru_cache

from forearm.schedules.further import further_subtasks
from forearm.schedules.links import SubtaskChain
from forearm.schedules.subtasks import SUBTASKS, Place, Subtask

# Further subtasks come before the first of the 43 that depends on them.
BEFORE = {44: 1, 45: 1, 46: 4, 47: 4, 48: 18, 49: 18, 50: 32, 51: 32, 52: 41, 53: 41}
BEFORE |= dict.fromkeys(range(54, 61), 30)


def plain_order(chain: SubtaskChain) -> tuple[Place, ...]:
    """A topological order of the subtasks; T6 of a prismatic joint needs the acceleration and follows T19."""
    return tuple(subtasks_of(chain))


@lru_cache(maxsize=16)
def subtasks_of(chain: SubtaskChain) -> dict[Place, Subtask]:
    """All subtasks of a chain, the 43 of each link and the further ones, in the plain order."""
    made: dict[Place, Subtask] = {}
    rows = [_link_order(chain, i) for i in range(1, len(chain) + 1)]
    for i, row in enumerate(rows, start=1):
        made |= {(i, task.number): task for task in row if task.forward}
    for i, row in reversed(list(enumerate(rows, start=1))):
        made |= {(i, task.number): task for task in row if not task.forward}
    return made


def _link_order(chain: SubtaskChain, i: int) -> list[Subtask]:
    numbers = list(range(1, len(SUBTASKS) + 1))
    if not chain.links[i - 1].revolute:
        numbers.remove(6)
        numbers.insert(numbers.index(19) + 1, 6)
    by_number = {task.number: task for task in (*SUBTASKS, *further_subtasks(chain, i))}
    for number in (number for number in by_number if number > len(SUBTASKS)):
        numbers.insert(numbers.index(BEFORE[number]), number)
    return [by_number[number] for number in numbers]
