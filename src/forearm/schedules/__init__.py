"""One evaluation over several processors: task graphs, schedules of them, their check,
and code that runs them on threads.
"""

from forearm.schedules.checking import Violation, violations
from forearm.schedules.priority import schedule_by_priority
from forearm.schedules.rule import schedule_by_rule
from forearm.schedules.schedule import Schedule
from forearm.schedules.tasks import Task, TaskGraph

__all__ = [
    "Schedule",
    "Task",
    "TaskGraph",
    "Violation",
    "schedule_by_priority",
    "schedule_by_rule",
    "violations",
]
