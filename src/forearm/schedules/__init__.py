"""One evaluation over several processors: task graphs, schedules of them, their check,
and code that runs them on threads.
"""

import warnings
from typing import Any

from forearm.schedules.checking import Violation, violations
from forearm.schedules.priority import schedule_by_priority
from forearm.schedules.rule import schedule_by_rule
from forearm.schedules.schedule import TaskSchedule
from forearm.schedules.tasks import Task, TaskGraph

__all__ = [
    "Task",
    "TaskGraph",
    "TaskSchedule",
    "Violation",
    "schedule_by_priority",
    "schedule_by_rule",
    "violations",
]

_RENAMED = {"Schedule": "TaskSchedule"}


def __getattr__(name: str) -> Any:
    if name not in _RENAMED:
        raise AttributeError(f"module 'forearm.schedules' has no attribute {name!r}")
    warnings.warn(
        f"schedules.{name} is now called {_RENAMED[name]}; the old name goes with the next release.",
        DeprecationWarning,
        stacklevel=2,
    )
    return globals()[_RENAMED[name]]
