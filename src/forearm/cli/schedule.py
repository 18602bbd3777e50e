"""`forearm schedule`: a function of an arm cut into tasks, scheduled on processors,
drawn, and run on threads.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import asdict, replace
from typing import Any

from forearm.arm.arm import Arm
from forearm.cli.command import Command, add_arm, add_json, add_rigid, group, names_of, show_json
from forearm.cli.loading import load
from forearm.cli.numbers import NOT_NEGATIVE, POSITIVE
from forearm.cli.outputs import add_plot, check_picture, tell_written
from forearm.cli.progress import ProgressBar
from forearm.cli.terminal import show
from forearm.codegen.functions import FUNCTIONS
from forearm.errors import ForearmError, InputError, shorten
from forearm.schedules.assembly import Layered, subtask_work
from forearm.schedules.automatic import Division, operations, profile, traced_function
from forearm.schedules.bounds import lower_bound
from forearm.schedules.checking import violations
from forearm.schedules.comparison import compared, printed_levels
from forearm.schedules.exact import has_solver, is_modelled, schedule_exact
from forearm.schedules.grouping import grouped
from forearm.schedules.printed import GENERAL, STANFORD
from forearm.schedules.printed import load as printed_load
from forearm.schedules.priority import MOST_PROCESSORS, schedule_by_priority
from forearm.schedules.rule import schedule_by_rule
from forearm.schedules.schedule import TaskSchedule
from forearm.schedules.search import is_proven, schedule_by_search
from forearm.tables import Report, number

METHODS = ("rule", "priority", "search", "exact")
MOST_RANGE = 64
MOST_DRAWN = 600  # tasks in layers: more are a picture that nobody can read
OF_AN_ARM = (
    "hand",
    "function",
    "method",
    "size",
    "communication",
    "synchronisation",
    "subtasks",
    "rigid",
    "plot",
    "layers",
    "run",
)
SOLVER = "pip install 'forearm[schedule]' brings a solver that may decide it"
TITLES = {GENERAL: "General arm of six joints", STANFORD: "Stanford arm"}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_arm(parser, is_needed=False)
    add_rigid(parser)
    parser.add_argument(
        "--printed", action="store_true", help="ours beside the schedules that Dhanaraj prints; needs no ARM"
    )
    add_json(parser)
    tasks = group(parser, "tasks")
    tasks.add_argument(
        "--function", default="inverse_dynamics", metavar="NAME", help=names_of(FUNCTIONS, "inverse_dynamics")
    )
    tasks.add_argument(
        "--size",
        type=POSITIVE,
        default=1.0,
        metavar="K",
        help="operations that a task may cost, above 0 (default: 1)",
    )
    tasks.add_argument(
        "--subtasks", action="store_true", help="Dhanaraj's 43 subtasks a link instead of generated code"
    )
    how = group(parser, "schedules")
    how.add_argument(
        "--processors",
        default="2-9",
        metavar="P",
        help=(
            f"a number from 1 to {MOST_PROCESSORS}, or a range of up to {MOST_RANGE} such "
            "as 2-9 (default: 2-9)"
        ),
    )
    how.add_argument(
        "--method",
        choices=METHODS,
        default="priority",
        metavar="NAME",
        help="rule: Dhanaraj's, layer by layer; priority: longest chain first; search: the best of many such "
        "lists; exact: the shortest, with its proof (default: priority)",
    )
    for name, what in (
        ("communication", "a result takes to reach"),
        ("synchronisation", "a task pays to wait for"),
    ):
        text = f"operations that {what} another processor, at least 0 (default: 0)"
        how.add_argument(f"--{name}", type=NOT_NEGATIVE, default=0.0, metavar="C", help=text)
    how.add_argument("--run", action="store_true", help="also run it on as many threads and measure it")
    files = group(parser, "files")
    add_plot(files, "the schedule of one P")
    add_plot(files, "the tasks layer by layer, with what waits for what", "--layers")


def _run(given: argparse.Namespace) -> int:
    if given.arm is None and not given.printed:
        raise InputError("schedule: expected an ARM or --printed. See 'forearm schedule --help'.")
    if given.arm is None:
        _refuse_options(given)
    check_picture("--plot", given.plot)
    check_picture("--layers", given.layers)
    processors = read_processors(given.processors)
    document: dict[str, Any] = {}
    blocks: list[Report] = []
    with ProgressBar() as bar:
        if given.arm is not None:
            _schedule_arm(given, processors, document, blocks, bar)
        if given.printed:
            bar.say("scheduling what Dhanaraj prints")
            _beside_printed(processors, document, blocks)
    if given.json:
        show_json(document)
        return 0
    show(Report(parts=blocks))
    tell_written((given.plot, given.layers))
    return 0


def _refuse_options(given: argparse.Namespace) -> None:
    """The printed schedules are what they are: options that shape others need an arm."""
    parser = argparse.ArgumentParser()
    _add_arguments(parser)
    set_ones = [f"--{name}" for name in OF_AN_ARM if getattr(given, name) != parser.get_default(name)]
    if set_ones:
        raise InputError(
            f"--printed: {', '.join(set_ones)} would change nothing in the printed "
            "schedules; name an ARM too."
        )


def read_processors(text: str) -> list[int]:
    """A number, or a range such as 2-9."""
    found = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", text.strip())
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= first <= last <= MOST_PROCESSORS:
        raise InputError(
            f"--processors: expected a number from 1 to {MOST_PROCESSORS}, or a range such as 2-9, "
            f"got {shorten(text)}."
        )
    if last - first >= MOST_RANGE:
        raise InputError(
            f"--processors: expected a range of at most {MOST_RANGE} numbers, got {shorten(text)}."
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
    bar.say(f"cutting {given.function} of {arm.name} into tasks")
    division = None if given.subtasks else _divided(arm, given)
    work = division if division is not None else subtask_work(arm.rigid()).layered
    graph = work.graph
    if given.layers and len(graph) > MOST_DRAWN:
        raise InputError(
            f"--layers: up to {MOST_DRAWN} tasks are drawn, here are {len(graph)}; raise --size."
        )
    levels = profile(graph)
    document |= {
        "arm": arm.name,
        "n": arm.n,
        "function": given.function,
        "method": given.method,
        "size": given.size,
        "communication": given.communication,
        "synchronisation": given.synchronisation,
        "subtasks": given.subtasks,
        "tasks": len(graph),
        "total": graph.total,
        "critical_path": graph.critical_path,
        "profile": levels,
    }
    made = []
    for p in processors:
        bar.say(f"scheduling {len(graph)} tasks on {p} processors by {given.method}")
        made.append(_scheduled(work, p, given))
    document["schedules"] = [_entry(schedule) for schedule in made]
    what = (
        "subtasks"
        if given.subtasks
        else "operations"
        if given.size <= 1.0
        else f"tasks of up to {number(given.size)}"
    )
    said = (
        f"{arm.name}, {given.function}: {len(graph)} {what}, {number(graph.total)} in all",
        f"critical path {number(graph.critical_path)}, so "
        f"{number(graph.total / (graph.critical_path or 1.0), 3)} processors could be busy on average; "
        f"{len(levels)} levels, up to {max(levels, default=0)} at once",
    )
    blocks.append(Report(before=said))
    rows = [_cells(entry) for entry in document["schedules"]]
    header = ["processors", "length", "speed-up", "efficiency", "waits", "no shorter than", ""]
    costs = f"communication {number(given.communication)}, synchronisation {number(given.synchronisation)}"
    blocks.append(Report(header, rows, f"By {given.method}, {costs}"))
    blocks += [Report(before=[line]) for line in _unproven(given.method, made)]
    if len(processors) == 1:
        document["plan"] = _plan(made[0])
    bar.say("drawing")
    _draw(given, work, made[0], document)
    if given.run and division is not None:
        bar.say_once("running on threads")
        _run_threads(arm, given, division, made, document, blocks)


def _unproven(method: str, made: list[TaskSchedule]) -> list[str]:
    """What could still decide whether there is a shorter one, where that is asked."""
    gaps = [s for s in made if not is_proven(s)]
    if method != "exact" or not gaps:
        return []
    if not all(is_modelled(s) for s in gaps):
        return [
            "Where the two differ the answer is the search's: the solver takes no such tasks, times or waits."
        ]
    return [] if has_solver() else [f"Where the two differ {SOLVER}."]


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
        raise InputError("--plot: one schedule is drawn; give one number by --processors.")
    for name in ("communication", "synchronisation"):
        if given.method == "rule" and getattr(given, name):
            raise InputError(
                f"--{name}: the document's rule knows none; take method priority, search or exact."
            )
    if given.subtasks and (given.function != "inverse_dynamics" or given.run or given.size != 1.0):
        raise InputError(
            "--subtasks: those of inverse_dynamics, each of cost 1; leave out --function, --size and --run."
        )
    if given.run:
        from forearm.schedules.threaded import cores

        if processors[-1] > cores():
            raise InputError(
                f"--run: {cores()} cores are here, and threads that wait for each other need one each; "
                f"--processors goes up to {processors[-1]}."
            )


def _divided(arm: Arm, given: argparse.Namespace) -> Division:
    """Single operations; for threads those of the kernels, so that their results have the same bits."""
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
            f"schedule: method {given.method} has made none on {processors} processors: {wrong[0].message}. "
            "The fault is not yours: report it with this command, and take another method."
        )
    return made


def _entry(made: TaskSchedule) -> dict[str, Any]:
    bound = lower_bound(made.graph, made.processors) if made.bound is None else made.bound
    return {
        "processors": made.processors,
        "used": len(set(made.processor)),
        "length": made.length,
        "speedup": made.speedup,
        "efficiency": made.efficiency,
        "waits": made.waits,
        "bound": bound,
        "proven": is_proven(replace(made, bound=bound)),
    }


def _cells(entry: dict[str, Any]) -> list[str]:
    return [
        str(entry["processors"]),
        number(entry["length"]),
        number(entry["speedup"], 4),
        f"{100.0 * entry['efficiency']:.1f} %",
        str(entry["waits"]),
        number(entry["bound"]),
        "the shortest" if entry["proven"] else "",
    ]


def _plan(made: TaskSchedule) -> list[dict[str, Any]]:
    return [
        {
            "name": task.name,
            "cost": task.cost,
            "group": task.group,
            "start": start,
            "processor": p,
            "after": list(earlier),
        }
        for task, start, p, earlier in zip(
            made.graph.tasks, made.start, made.processor, made.graph.before, strict=True
        )
    ]


def _run_threads(
    arm: Arm,
    given: argparse.Namespace,
    division: Division,
    made: list[TaskSchedule],
    document: dict[str, Any],
    blocks: list[Report],
) -> None:
    from forearm.benchmarks.schedules import Case
    from forearm.schedules.duplicating import apart
    from forearm.schedules.threaded import compiled_threads
    from forearm.schedules.threaded_plan import planned_threads

    case = Case(arm, given.function)
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
    title = "Run here, least of many short runs; apart: from the kernel's results, of the largest"
    blocks.append(Report(["one evaluation", "threads", "waits", "ns", "gain", "apart"], rows, title))


def _beside_printed(processors: list[int], document: dict[str, Any], blocks: list[Report]) -> None:
    document["printed"] = {}
    header = ["processors", "printed", "rule", "priority", "best", "no shorter than", ""]
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


COMMAND = Command(
    "forearm schedule puma560 --function inverse_dynamics --processors 2-9\n"
    "forearm schedule stanford --subtasks --processors 4 --method search --plot schedule.png\n"
    "forearm schedule --printed",
    _add_arguments,
    _run,
)
