"""Parallel evaluation of one function: task graphs, schedules, schedule validation, and machine code that
runs a schedule on threads.
"""

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
