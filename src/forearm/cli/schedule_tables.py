"""What `forearm schedule` shows: lengths of schedules, their tasks, measured threads, printed schedules."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from forearm.arm.arm import Arm
from forearm.schedules.assembly import SubtaskProgram
from forearm.schedules.automatic import Division
from forearm.schedules.bounds import lower_bound
from forearm.schedules.comparison import compared, printed_levels
from forearm.schedules.further import FIRST_DRIVE
from forearm.schedules.printed import GENERAL, STANFORD
from forearm.schedules.printed import load as printed_load
from forearm.schedules.schedule import TaskSchedule
from forearm.schedules.search import is_proven
from forearm.schedules.subtasks import SUBTASKS
from forearm.tables import Report, number

TITLES = {GENERAL: "General arm of six joints", STANFORD: "Stanford arm"}


def parts_of(program: SubtaskProgram) -> dict[str, int]:
    """How many subtasks are Dhanaraj's, how many are beyond the 43, and how many belong to drives."""
    numbers = [number for _, number in program.layered.places]
    return {
        "table_subtasks": sum(k <= len(SUBTASKS) for k in numbers),
        "further_subtasks": sum(len(SUBTASKS) < k < FIRST_DRIVE for k in numbers),
        "drive_subtasks": sum(k >= FIRST_DRIVE for k in numbers),
    }


def parts_sentence(program: SubtaskProgram, is_rigid: bool) -> str:
    """The same in words; drives that are left out are named."""
    parts = parts_of(program)
    drives = (
        "drives left out by --rigid" if is_rigid else f"{parts['drive_subtasks']} for friction and rotors"
    )
    sprung = [joint.name for joint in program.arm.joints if joint.elasticity is not None]
    springs = f"; springs of {', '.join(sprung)} left out: inverse dynamics is that of stiff joints"
    return (
        f"{parts['table_subtasks']} of Table 4.1, {parts['further_subtasks']} for other twists and products "
        f"of inertia, {drives}{springs if sprung else ''}"
    )


def entry_of(made: TaskSchedule) -> dict[str, Any]:
    """One schedule in figures, for the JSON document."""
    bound = lower_bound(made.graph, made.processors) if made.bound is None else made.bound
    names = ("processors", "length", "speedup", "efficiency", "waits")
    return {name: getattr(made, name) for name in names} | {
        "used": len(set(made.processor)),
        "bound": bound,
        "proven": is_proven(replace(made, bound=bound)),
    }


def cells_of(entry: dict[str, Any]) -> list[str]:
    """The same as a row of the table."""
    return [
        str(entry["processors"]),
        number(entry["length"]),
        number(entry["speedup"], 4),
        f"{100.0 * entry['efficiency']:.1f} %",
        str(entry["waits"]),
        number(entry["bound"]),
        "the shortest" if entry["proven"] else "",
    ]


def plan_of(made: TaskSchedule) -> list[dict[str, Any]]:
    """Every task with its start, its processor and its predecessors."""
    return [
        asdict(task) | {"start": start, "processor": p, "after": list(earlier)}
        for task, start, p, earlier in zip(
            made.graph.tasks, made.start, made.processor, made.graph.before, strict=True
        )
    ]


def run_threads(
    arm: Arm,
    function: str,
    division: Division,
    made: list[TaskSchedule],
    document: dict[str, Any],
    blocks: list[Report],
) -> None:
    """Measure the schedules on threads; the kernel and threads that share nothing are the comparison."""
    from forearm.benchmarks.schedules import Case
    from forearm.schedules.duplicating import apart
    from forearm.schedules.threaded import compiled_threads
    from forearm.schedules.threaded_plan import planned_threads

    case = Case(arm, function)
    kernel = case.kernel
    document["run"] = {"kernel_seconds": kernel, "threads": []}
    rows = [["kernel", "1", "0", f"{1e9 * kernel:.0f}", "1", "-"]]
    for schedule in made:
        forms = {
            "scheduled": planned_threads(division, schedule),
            "sharing nothing": apart(case.traced, schedule.processors),
        }
        for name, plan in forms.items():
            m = case.measured(compiled_threads(plan))
            document["run"]["threads"].append({"how": name, "processors": schedule.processors} | asdict(m))
            gain = number(kernel / m.seconds, 3)
            rows.append(
                [name, str(m.threads), str(m.waits), f"{1e9 * m.seconds:.0f}", gain, f"{m.agreement:.0e}"]
            )
    title = (
        "Measured on this machine: minimum of many short runs; error relative to the largest kernel result"
    )
    blocks.append(Report(["one evaluation", "threads", "waits", "ns", "speed-up", "error"], rows, title))


def add_printed(processors: list[int], document: dict[str, Any], blocks: list[Report]) -> None:
    """Compare Dhanaraj's printed schedules with ours of the same tasks."""
    document["printed"] = {}
    header = ["processors", "printed", "rule", "priority", "best", "lower bound", ""]
    for table, title in TITLES.items():
        lines = compared(printed_load(table), processors, printed_levels(table))
        document["printed"][table] = [asdict(line) for line in lines]
        rows = [
            [
                str(c.processors),
                number(c.printed),
                *map(number, (c.rule, c.priority, c.best, c.bound)),
                "the shortest" if c.is_proven else "",
            ]
            for c in lines
        ]
        tasks = len(printed_load(table).graph)
        blocks.append(Report(header, rows, f"{title}, {tasks} tasks of Table {table}: levels"))
