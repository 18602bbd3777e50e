"""Schedules as Gantt charts, task graphs in layers, speed-up and efficiency; Dhanaraj's Figs. 4.5 to 4.13
recomputed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from forearm.errors import InputError
from forearm.plots.figure import (
    BLACK,
    FILLS,
    GREY,
    LETTER,
    SMALL,
    THIN,
    WIDE,
    WIDTH,
    dash,
    drawn,
    legend_beside,
    legend_of_figure,
    look,
    new_figure,
    put_title,
)
from forearm.schedules.assembly import Layered
from forearm.schedules.printed import (
    GENERAL,
    LINKS,
    STANFORD,
    as_printed,
    load,
    names,
    printed_schedule,
    printed_times,
)
from forearm.schedules.rule import schedule_by_rule
from forearm.schedules.schedule import TaskSchedule
from forearm.schedules.subtasks import LAST_FORWARD, SUBTASKS
from forearm.schedules.tasks import TaskGraph

DARK = FILLS[-1:]  # colours with white text
# Pairs of hatches, for the outward and the inward recursion of a part; each pair once with all colours.
HATCHES = (("", "////"), ("....", "xxxx"), ("----", "||||"), ("++++", "oooo"))
LIGHT = "#cccccc"
MARKS = "os^vDPX"  # markers of curves with few points
BOX, NAME = 0.3, 0.062  # inches: width of a chart's median task, and of a letter of its name
MOST_BANDS = 6
MOST_INCHES = 28.0  # limit of a chart's height; rows get thinner for many processors
ENTRY = 0.16  # inches per line of a legend
MOST_LINES = 30  # lines of a legend per column
INWARDS, OUTWARDS = ", inwards", ", outwards"  # names of the two recursions of a link in generated code
MIDDLE = 3  # a link that has all subtasks
LEVEL_MS = 21.06 / 156.0  # Table 4.8: time of one processor for the tasks of Table 4.7, per task


@dataclass(frozen=True)
class Look:
    """Style of the tasks of a group."""

    colour: str = LIGHT
    hatch: str = ""


def schedule_figures() -> dict[str, Any]:
    """The figures of Dhanaraj's chapter 4 by file name; 4.1 to 4.4 and 4.10 show computers and a flow
    chart.
    """
    forward = [(MIDDLE, k) for k in range(1, LAST_FORWARD + 1)]
    backward = [(MIDDLE, k) for k in range(LAST_FORWARD + 1, len(SUBTASKS) + 1)]
    general, stanford = load(GENERAL), load(STANFORD)
    charts = {f"table-{name.lower()}": _chart(name) for name in names()}
    return {
        "fig-4.5": layers_figure(general, "Fig. 4.5: forward recursion of a link", forward),
        "fig-4.6": layers_figure(general, "Fig. 4.6: backward recursion of a link", backward),
        "fig-4.7": layers_figure(general, "Fig. 4.7: forward recursion in layers", forward, arrows=False),
        "fig-4.8": layers_figure(general, "Fig. 4.8: backward recursion in layers", backward, arrows=False),
        "fig-4.9": assembly_figure(general, "Fig. 4.9: six links stacked; tasks of each link in each layer"),
        "fig-4.11-4.12": speedup_figure({"general arm": general, "Stanford arm": stanford}, 9),
        "fig-4.13": times_figure(),
        **charts,
    }


@drawn
def gantt_figure(schedule: TaskSchedule, title: str = "") -> Any:
    """Gantt chart: one row per processor, one box per task, coloured by group, split into as many bands as
    keep names readable.

    Beyond 16 processors, idle ones after the last active one are not drawn.
    """
    graph = schedule.graph
    length = schedule.length or 1.0
    usual = median([task.cost for task in graph.tasks if task.cost > 0.0] or [1.0])
    bands = min(MOST_BANDS, max(1, math.ceil(length / (usual * WIDE / BOX))))
    band = math.ceil(length / bands / usual) * usual
    shown = max(min(schedule.processors, 16), 1 + max(schedule.processor, default=0))
    row = min(0.3 if shown <= 16 else 0.16, (MOST_INCHES / bands - 0.55) / shown)
    looks = _looks(graph)
    columns = math.ceil(len(looks) / MOST_LINES)
    height = max(bands * (row * shown + 0.55) + 0.5, ENTRY * math.ceil(len(looks) / max(columns, 1)) + 0.5)
    figure = new_figure(WIDE + 1.6 * max(columns, 1), height)
    axes = figure.subplots(bands, 1, squeeze=False)[:, 0]
    for number, axis in enumerate(axes):
        _band(axis, schedule, looks, shown, number * band, (number + 1) * band)
    axes[-1].set_xlabel("time, in units of task cost")
    _legend(figure, looks, columns)
    words = (
        f"{graph.name}: {len(graph)} tasks on {schedule.processors} processors in "
        f"{schedule.length:g}, by {schedule.method}"
    )
    words += f"; speed-up {schedule.speedup:.2f}, efficiency {100.0 * schedule.efficiency:.1f} %"
    put_title(axes[0], title or words)
    return figure


@drawn
def layers_figure(
    layered: Layered | TaskGraph,
    title: str = "",
    places: Collection[tuple[int, int]] | None = None,
    arrows: bool = True,
) -> Any:
    """A task graph layer by layer from the top; optionally only some `places`, with thick arrows for inputs
    from others.

    A graph without explicit layers is drawn by precedence.
    """
    graph = layered.graph if isinstance(layered, Layered) else layered
    layers = layered.layers if isinstance(layered, Layered) else graph.layers
    named = layered.places if isinstance(layered, Layered) else ()
    if places is not None and not named:
        raise InputError("these tasks belong to no subtasks of links; omit it, or pass a Layered.", "places")
    shown = [k for k in range(len(graph)) if places is None or named[k] in set(places)]
    first = min(layers[k] for k in shown) if shown else 1
    rows: dict[int, list[int]] = {}
    for k in shown:
        rows.setdefault(layers[k] - first, []).append(k)
    widest = max(map(len, rows.values()), default=1)
    looks = _looks(graph) if places is None else {}
    letters = max((len(graph.tasks[k].name) for k in shown), default=1) if places is None else 3
    wide = max(0.75, LETTER * SMALL / 72.0 * letters + 0.3) * widest + 1.5 + (2.4 if looks else 0.0)
    figure = new_figure(max(5.0, wide), max(2.0, 0.95 * (max(rows, default=0) + 1) + 0.6))
    axis = figure.subplots()
    at = {
        k: (place - (len(row) - 1) / 2.0, -level)
        for level, row in rows.items()
        for place, k in enumerate(row)
    }
    for k in shown if arrows else []:
        for earlier in graph.before[k]:
            if earlier in at:
                axis.annotate("", at[k], at[earlier], arrowprops=_arrow(GREY, 0.7), zorder=1)
        if any(earlier not in at for earlier in graph.before[k]):
            axis.annotate("", at[k], (at[k][0], at[k][1] + 0.62), arrowprops=_arrow(BLACK, 2.2), zorder=1)
    for k, (x, y) in at.items():
        name = graph.tasks[k].name if places is None else f"T{named[k][1]}"
        face = looks.get(graph.tasks[k].group, Look()).colour if places is None else "white"
        box = {"boxstyle": "round", "fc": face, "ec": BLACK}
        axis.text(x, y, name, ha="center", va="center", fontsize=SMALL, zorder=2, color=_ink(face), bbox=box)
    for level in rows:
        axis.text(-widest / 2.0 - 0.5, -level, f"layer {level + 1}", ha="right", va="center", fontsize=SMALL)
    axis.set_xlim(-widest / 2.0 - 1.3, widest / 2.0 + 0.3)
    axis.set_ylim(-max(rows, default=0) - 0.5, 0.75)
    axis.set_axis_off()
    put_title(axis, title or f"{graph.name}: {len(graph)} tasks in {len(rows)} layers")
    if looks:
        _legend(figure, {_part(group): Look(has.colour) for group, has in looks.items()}, 1)
    return figure


@drawn
def assembly_figure(layered: Layered, title: str = "") -> Any:
    """Stacking of the links of an arm: number of tasks of each link in each layer."""
    links = sorted({i for i, _ in layered.places})
    layers = max(layered.layers, default=1)
    figure = new_figure(max(5.0, 0.36 * layers + 1.2), 0.42 * (len(links) + 1) + 1.1)
    axis = figure.subplots()
    for i in links:
        for layer, row in enumerate(layered.rows, start=1):
            count = sum(layered.places[k][0] == i for k in row)
            if count:
                face = FILLS[(i - 1) % len(FILLS)]
                axis.broken_barh([(layer - 0.5, 1.0)], (i - 0.4, 0.8), color=face, edgecolor="white")
                axis.text(layer, i, str(count), ha="center", va="center", fontsize=SMALL, color=_ink(face))
    for layer, row in enumerate(layered.rows, start=1):
        axis.text(layer, len(links) + 1, str(len(row)), ha="center", va="center", fontsize=SMALL, color=GREY)
    axis.set_yticks([*links, len(links) + 1], [*(f"link {i}" for i in links), "all"])
    axis.set_xticks(
        range(1, layers + 1),
        [str(layer) if layer % 3 == 0 or layer == 1 else "" for layer in range(1, layers + 1)],
    )
    axis.grid(visible=False)
    axis.set_xlim(0.4, layers + 0.6)
    axis.set_ylim(len(links) + 1.5, 0.4)
    axis.set_xlabel("layer")
    put_title(axis, title or f"{layered.graph.name}: {len(layered.graph)} tasks in {layers} layers")
    return figure


@drawn
def speedup_figure(loads: Mapping[str, Layered | TaskGraph], most: int) -> Any:
    """Speed-up and efficiency of the rule on 1 to `most` processors. Dhanaraj's Figs. 4.11 and 4.12."""
    figure = new_figure(WIDE, 4.0)
    speedup, efficiency = figure.subplots(1, 2)
    numbers = list(range(1, most + 1))
    for k, (name, graph) in enumerate(loads.items()):
        made = [schedule_by_rule(graph, p) for p in numbers]
        style = {"marker": MARKS[k % len(MARKS)], "label": name, **look(k)}
        speedup.plot(numbers, [s.speedup for s in made], **style)
        efficiency.plot(numbers, [100.0 * s.efficiency for s in made], **style)
    speedup.plot(numbers, numbers, color=GREY, linestyle=dash(2), linewidth=THIN, label="linear speed-up")
    for axis, words, title in (
        (speedup, "speed-up", "Fig. 4.11: speed-up by the rule"),
        (efficiency, "efficiency, %", "Fig. 4.12: efficiency by the rule"),
    ):
        axis.set_xlabel("processors")
        axis.set_ylabel(words)
        axis.set_xticks(numbers)
        put_title(axis, title)
    legend_of_figure(figure, 4.0, [("", speedup)])
    efficiency.set_ylim(0.0, 105.0)
    speedup.set_ylim(bottom=0.0)
    return figure


@drawn
def times_figure() -> Any:
    """Fig. 4.13: times of Table 4.8 for the Stanford arm, and the levels of the rule at the same time per
    level.
    """
    figure = new_figure(WIDTH, 4.2)
    axis = figure.subplots()
    for k, (author, times) in enumerate(printed_times().items()):
        axis.plot(
            list(times), list(times.values()), marker=MARKS[k], label=f"{author}, printed", **look(k + 1)
        )
    numbers = list(range(1, 9))
    ours = [LEVEL_MS * schedule_by_rule(as_printed(STANFORD), p).length for p in numbers]
    axis.plot(numbers, ours, marker="x", label="the rule, recomputed", **look(0))
    axis.set_xlabel("processors")
    axis.set_ylabel("time of one evaluation, ms")
    axis.set_ylim(bottom=0.0)
    put_title(axis, f"Fig. 4.13: inverse dynamics of the Stanford arm ({LINKS} links)")
    legend_beside(axis)
    return figure


def _chart(name: str) -> Any:
    """A table of appendix C recomputed, with every task after its predecessors."""
    printed = printed_schedule(name)
    schedule = schedule_by_rule(load(printed.load), printed.processors)
    words = (
        f"Table {name} recomputed: {len(schedule.graph)} tasks on {printed.processors} processors in "
        f"{schedule.length:g} levels"
    )
    words += (
        f" (printed: {printed.levels}); speed-up {schedule.speedup:.2f}, efficiency "
        f"{100.0 * schedule.efficiency:.1f} %"
    )
    return gantt_figure(schedule, words)


def _band(
    axis: Any, schedule: TaskSchedule, looks: Mapping[str, Look], shown: int, begin: float, end: float
) -> None:
    """The part of a schedule between two times."""
    inches = WIDE / (end - begin)
    size = 6.5 if shown <= 16 else 4.0
    bars: dict[tuple[int, Look], list[tuple[float, float]]] = {}
    for k, task in enumerate(schedule.graph.tasks):
        left, right = max(schedule.start[k], begin), min(schedule.start[k] + task.cost, end)
        if right <= left:
            continue
        p, look = schedule.processor[k], looks.get(task.group, Look())
        bars.setdefault((p, look), []).append((left, right - left))
        if (right - left) * inches >= NAME * len(task.name) and shown <= 40:
            plain = {"boxstyle": "square,pad=0.1", "fc": look.colour, "ec": "none"} if look.hatch else None
            name = axis.text(
                (left + right) / 2.0,
                p,
                task.name,
                ha="center",
                va="center",
                fontsize=size,
                clip_on=True,
                bbox=plain,
                color=_ink(look.colour),
            )
            # clipping each of hundreds to its box would take most of the time
            name.set_in_layout(False)
    for (p, look), spans in bars.items():
        axis.broken_barh(spans, (p - 0.42, 0.84), facecolor=look.colour, hatch=look.hatch, ec="white", lw=0.5)
    axis.set_xlim(begin, end)
    axis.set_ylim(shown - 0.5, -0.5)
    ticks = range(0, shown, max(1, shown // 16))
    axis.set_yticks(list(ticks), [f"p{t + 1}" for t in ticks])
    axis.tick_params(axis="x", labelsize=7)
    axis.xaxis.get_major_locator().set_params(integer=end - begin > 2.0)
    axis.spines["left"].set_visible(False)
    axis.grid(visible=False, axis="y")


def _looks(graph: TaskGraph) -> dict[str, Look]:
    """A colour for each part of the arm, hatched for the inward recursion; ungrouped tasks stay grey.

    Parts are links in order, then the rest. With more parts than colours, colours repeat with other hatches.
    """
    groups = sorted({task.group for task in graph.tasks if task.group}, key=_rank)
    parts = list(dict.fromkeys(_part(group) for group in groups))
    made = {}
    for group in groups:
        k = parts.index(_part(group))
        pair = HATCHES[k // len(FILLS) % len(HATCHES)]
        made[group] = Look(FILLS[k % len(FILLS)], pair[group.endswith(INWARDS)])
    return made


def _part(group: str) -> str:
    return group.removesuffix(INWARDS).removesuffix(OUTWARDS)


def _rank(group: str) -> tuple[bool, int, str]:
    """Sort key: links by number, outwards before inwards, then the rest."""
    number = re.search(r"\d+", _part(group))
    return (
        number is None,
        int(number[0]) if number else 0,
        _part(group) + ("2" if group.endswith(INWARDS) else "1"),
    )


def _legend(figure: Any, looks: Mapping[str, Look], columns: int) -> None:
    """Legend of colours and hatches, if all groups look different."""
    if not looks or len(set(looks.values())) < len(looks):
        return
    from matplotlib.patches import Patch

    patches = [
        Patch(facecolor=look.colour, hatch=look.hatch, edgecolor="white", label=group)
        for group, look in looks.items()
    ]
    figure.legend(handles=patches, loc="outside right upper", ncols=columns, handlelength=1.6)


def _ink(face: str) -> str:
    """A text colour readable on this background."""
    return "white" if face in DARK else BLACK


def _arrow(colour: str, width: float) -> dict[str, Any]:
    return {"arrowstyle": "->", "color": colour, "linewidth": width, "shrinkA": 9, "shrinkB": 9}
