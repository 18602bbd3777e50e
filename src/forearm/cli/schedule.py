"""`forearm schedule`: divide a function of an arm into tasks, schedule them on processors, draw them and run
them on threads.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from typing import Any

from forearm.arm.arm import Arm
from forearm.cli.command import Command, names_of, show_json
from forearm.cli.loading import load
from forearm.cli.options import ARM, HAND, JSON, RIGID, Group, Option, plot
from forearm.cli.outputs import tell_written
from forearm.cli.progress import ProgressBar
from forearm.cli.schedule_tables import (
    add_printed,
    cells_of,
    entry_of,
    parts_of,
    parts_sentence,
    plan_of,
    run_threads,
)
from forearm.cli.terminal import show
from forearm.codegen.functions import FUNCTIONS
from forearm.errors import ForearmError, InputError, shorten
from forearm.reading.fields import ChoiceField, FlagField, NumberField
from forearm.schedules.assembly import Layered, subtask_work
from forearm.schedules.automatic import Division, operations, profile, traced_function
from forearm.schedules.checking import violations
from forearm.schedules.exact import has_solver, is_modelled, schedule_exact
from forearm.schedules.grouping import grouped
from forearm.schedules.priority import MOST_PROCESSORS, schedule_by_priority
from forearm.schedules.rule import schedule_by_rule
from forearm.schedules.schedule import TaskSchedule
from forearm.schedules.search import is_proven, schedule_by_search
from forearm.schedules.subtask_code import subtask_division
from forearm.schedules.tasks import TaskGraph
from forearm.tables import Report, number

METHODS = ("rule", "priority", "search", "exact")
MOST_RANGE = 64
MOST_DRAWN = 600  # tasks: pictures of more are unreadable
SOLVER = "a solver may decide it (pip install 'forearm[schedule]')"


# what concerns an arm alone: the printed schedules are fixed
OF_AN_ARM = (
    Option("--function", names_of(FUNCTIONS, "inverse_dynamics"), "NAME", default="inverse_dynamics"),
    Option(
        "--size",
        "largest cost of a task in operations, above 0 (default: 1)",
        "K",
        reads=NumberField(above=0.0),
        default=1.0,
    ),
    Option(
        "--subtasks",
        "Dhanaraj's subtasks of three operations, 43 per link, instead of generated "
        "code; with friction and rotors "
        "unless --rigid",
        reads=FlagField(),
        default=False,
    ),
)
PROCESSORS = Option(
    "--processors",
    f"number from 1 to {MOST_PROCESSORS}, or a range of at most {MOST_RANGE} numbers "
    "such as 2-9 (default: 2-9)",
    "P",
    default="2-9",
)
SCHEDULED = (
    Option(
        "--method",
        "rule: Dhanaraj's, layer by layer; priority: critical path first; search: the "
        "best of many priority lists; "
        "exact: the shortest, proven (default: priority)",
        reads=ChoiceField(METHODS),
        default="priority",
    ),
    *(
        Option(
            f"--{name}",
            f"{what} another processor in operations, at least 0 (default: 0)",
            "C",
            reads=NumberField(minimum=0.0),
            default=0.0,
        )
        for name, what in (
            ("communication", "delay of a result on its way to"),
            ("synchronisation", "cost of a wait for"),
        )
    ),
    Option("--run", "also run the schedules on threads and measure them", reads=FlagField(), default=False),
)
FILES = (plot("the schedule on one P"), plot("the tasks layer by layer with their precedence", "--layers"))


def _run(given: argparse.Namespace) -> int:
    if given.arm is None and not given.printed:
        raise InputError("expected an ARM or --printed. See 'forearm schedule --help'.", "schedule")
    if given.arm is None:
        _refuse_options(given)
    processors = read_processors(given.processors)
    document: dict[str, Any] = {}
    blocks: list[Report] = []
    with ProgressBar() as bar:
        if given.arm is not None:
            _schedule_arm(given, processors, document, blocks, bar)
        if given.printed:
            bar.say("scheduling the tasks of Dhanaraj's tables")
            add_printed(processors, document, blocks)
    if given.json:
        show_json(document)
        return 0
    show(Report(parts=blocks))
    tell_written((given.plot, given.layers))
    return 0


def _refuse_options(given: argparse.Namespace) -> None:
    """Refuse options that only concern an arm: the printed schedules are fixed."""
    options = (HAND, *OF_AN_ARM, *SCHEDULED, replace(RIGID, default=False), *FILES)
    set_ones = [option.name for option in options if getattr(given, option.dest) != option.default]
    if set_ones:
        raise InputError(
            f"{', '.join(set_ones)} would change nothing in the printed schedules; leave them "
            "out or name an ARM too.",
            "--printed",
        )


def read_processors(text: str) -> list[int]:
    """A number, or a range such as 2-9."""
    found = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", text.strip())
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= first <= last <= MOST_PROCESSORS:
        raise InputError(
            f"expected a number from 1 to {MOST_PROCESSORS}, or a range such as 2-9, got {shorten(text)}.",
            "--processors",
        )
    if last - first >= MOST_RANGE:
        raise InputError(
            f"expected a range of at most {MOST_RANGE} numbers, got {shorten(text)}.", "--processors"
        )
    return list(range(first, last + 1))


def _schedule_arm(
    given: argparse.Namespace,
    processors: list[int],
    document: dict[str, Any],
    blocks: list[Report],
    bar: ProgressBar,
) -> None:
    arm = load(given.arm, hand=given.hand)
    arm = arm.rigid() if given.rigid else arm
    _check(given, processors)
    bar.say(f"dividing {given.function} of {arm.name} into tasks")
    program = subtask_work(arm) if given.subtasks else None
    division = _divided(arm, given) if program is None else subtask_division(program)
    work = division if program is None else program.layered
    graph = division.graph
    if given.layers and len(graph) > MOST_DRAWN:
        raise InputError(f"at most {MOST_DRAWN} tasks are drawn, got {len(graph)}; raise --size.", "--layers")
    document |= _summary(arm, graph, given)
    made = []
    for p in processors:
        bar.say(f"scheduling {len(graph)} tasks on {p} processors by {given.method}")
        made.append(_scheduled(work, p, given))
    document["schedules"] = [entry_of(schedule) for schedule in made]
    blocks.append(Report(before=_headline(document, given)))
    if program is not None:
        document |= parts_of(program)
        blocks.append(Report(before=[parts_sentence(program, given.rigid)]))
    rows = [cells_of(entry) for entry in document["schedules"]]
    header = ["processors", "length", "speed-up", "efficiency", "waits", "lower bound", ""]
    costs = f"communication {number(given.communication)}, synchronisation {number(given.synchronisation)}"
    blocks.append(Report(header, rows, f"Method {given.method}, {costs}"))
    blocks += [Report(before=[line]) for line in _unproven(given.method, made)]
    if len(processors) == 1:
        document["plan"] = plan_of(made[0])
    bar.say("drawing")
    _draw(given, work, made[0], document)
    if given.run:
        bar.say_once("running on threads")
        run_threads(arm, given.function, division, made, document, blocks)


def _summary(arm: Arm, graph: TaskGraph, given: argparse.Namespace) -> dict[str, Any]:
    names = ("function", "method", "size", "communication", "synchronisation", "subtasks")
    return (
        {"arm": arm.name, "n": arm.n}
        | {name: getattr(given, name) for name in names}
        | {
            "tasks": len(graph),
            "total": graph.total,
            "critical_path": graph.critical_path,
            "profile": profile(graph),
        }
    )


def _headline(document: dict[str, Any], given: argparse.Namespace) -> list[str]:
    levels, total, path = document["profile"], document["total"], document["critical_path"]
    tasks = "operations" if given.size <= 1.0 else f"tasks of up to {number(given.size)}"
    what = "subtasks" if given.subtasks else tasks
    return [
        f"{document['arm']}, {given.function}: {document['tasks']} {what}, total cost {number(total)}",
        f"critical path {number(path)}: average parallelism {number(total / (path or 1.0), 3)}; "
        f"{len(levels)} levels of up to {max(levels, default=0)} tasks",
    ]


def _unproven(method: str, made: list[TaskSchedule]) -> list[str]:
    """For method exact: why a schedule is not proven to be the shortest, and what could decide it."""
    gaps = [s for s in made if not is_proven(s)]
    if method != "exact" or not gaps:
        return []
    if not all(is_modelled(s) for s in gaps):
        return [
            "Where length and lower bound differ the search found the schedule: the solver does not model "
            "such tasks, times or waits."
        ]
    return [] if has_solver() else [f"Where length and lower bound differ, {SOLVER}."]


def _draw(
    given: argparse.Namespace, work: Division | Layered, made: TaskSchedule, document: dict[str, Any]
) -> None:
    if not (given.plot or given.layers):
        return
    from forearm.plots.figure import save_figure
    from forearm.plots.schedules import gantt_figure, layers_figure

    if given.plot:
        save_figure(gantt_figure(made), given.plot)
        document["plot"] = given.plot
    if given.layers:
        save_figure(layers_figure(work if isinstance(work, Layered) else work.graph), given.layers)
        document["layers"] = given.layers


def _check(given: argparse.Namespace, processors: list[int]) -> None:
    if given.plot and len(processors) > 1:
        raise InputError("one schedule is drawn; give one number with --processors.", "--plot")
    for name in ("communication", "synchronisation"):
        if given.method == "rule" and getattr(given, name):
            raise InputError(
                "the document's rule has no such cost; use method priority, search or exact.", f"--{name}"
            )
    if given.subtasks and (given.function != "inverse_dynamics" or given.size != 1.0):
        raise InputError(
            "they are those of inverse_dynamics, each of cost 1; leave out --function and --size.",
            "--subtasks",
        )
    if given.run:
        from forearm.schedules.threaded import cores

        if processors[-1] > cores():
            raise InputError(
                "threads that wait for each other need one core each; expected at most "
                f"{cores()} processors, got {processors[-1]}.",
                "--run",
            )


def _divided(arm: Arm, given: argparse.Namespace) -> Division:
    """The function as operations, grouped up to --size; for threads fused as in the kernels, so that results
    have the same bits.
    """
    division = operations(
        traced_function(arm, given.function), f"{arm.name} {given.function}", fused=given.run
    )
    return division if given.size == 1.0 else grouped(division, given.size)


def _scheduled(work: Division | Layered, processors: int, given: argparse.Namespace) -> TaskSchedule:
    if given.method == "rule":
        made = schedule_by_rule(work if isinstance(work, Layered) else work.graph, processors)
    else:
        methods = {"priority": schedule_by_priority, "search": schedule_by_search, "exact": schedule_exact}
        made = methods[given.method](work.graph, processors, given.communication, given.synchronisation)
    wrong = violations(made)
    if wrong:
        raise ForearmError(
            f"method {given.method} gave an invalid schedule on {processors} processors: "
            f"{wrong[0].message}. This is a bug in forearm: report it with this command, and "
            "use another method.",
            "schedule",
        )
    return made


COMMAND = Command(
    "forearm schedule puma560 --function inverse_dynamics --processors 2-9\n"
    "forearm schedule stanford --subtasks --processors 4 --method search --plot schedule.png\n"
    "forearm schedule --printed",
    (
        replace(ARM[0], count="?"),
        HAND,
        RIGID,
        Option(
            "--printed",
            "compare our schedules with those that Dhanaraj prints; needs no ARM",
            reads=FlagField(),
        ),
        JSON,
        Group("tasks", OF_AN_ARM),
        Group("schedules", (PROCESSORS, *SCHEDULED)),
        Group("files", FILES),
    ),
    _run,
)
