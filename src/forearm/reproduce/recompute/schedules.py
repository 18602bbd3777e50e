"""Dhanaraj's chapter 4 and appendix C recomputed: subtasks, what can be left out, layers, schedules by the
rule, and their check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from forearm.files.builtin import load_builtin
from forearm.reproduce.recompute import Figures
from forearm.schedules.assembly import Layered, layers_of, subtask_work, table_graph
from forearm.schedules.cases import (
    derived_sparse,
    derived_special,
    derived_steps,
    general_arm,
    stanford_pattern,
)
from forearm.schedules.elimination import remaining
from forearm.schedules.links import chain_of
from forearm.schedules.printed import (
    GENERAL,
    LINKS,
    STANFORD,
    as_printed,
    faults,
    load,
    names,
    printed_schedule,
    printed_times,
    special_cases,
)
from forearm.schedules.rule import schedule_by_rule
from forearm.schedules.subtasks import LAST_FORWARD, OPERATIONS, SUBTASKS, Subtask
from forearm.spatial import Floats

MIDDLE = 4  # a link of the general arm that keeps every subtask
ENOUGH = 13  # processors for the largest layer of Table 4.3
HIGH = 0.98  # the efficiency that the text calls high


def table_4_1() -> Figures:
    """Subtasks of a link and their operations, counted by running them on a link without zeros."""
    done = Counter(o.place[1] for o in remaining(chain_of(general_arm())).operations if o.place[0] == MIDDLE)
    return {
        "subtasks of a link": len(done),
        "operations of a subtask, fewest": min(done.values()),
        "operations of a subtask, most": max(done.values()),
    }


def table_4_2() -> Figures:
    """Subtasks that can be left out of a link, and how our lists differ from the printed ones."""
    figures: Figures = {}
    for case, found in derived_special().items():
        printed = special_cases()[case]
        figures |= {
            f"{case}, total": len(found),
            f"{case}, printed though something is left to do": len(printed - found),
            f"{case}, nothing is left to do though not printed": len(found - printed),
        }
    return figures


def table_4_4() -> Figures:
    """Zeros in the vectors of the Stanford arm; the displacement of the sliding joint is not one."""
    return {"zeros": (np.array(_stanford_vectors()) == 0.0).sum()}


def table_4_5() -> Figures:
    """Subtasks of a step by the number of zeros in its vector."""
    return {
        f"step {step}, zeros: {zeros}": count
        for step, counts in derived_steps().items()
        for zeros, count in enumerate(counts)
    }


def table_4_6() -> Figures:
    """Subtasks that zeros in the vectors remove from each link of the Stanford arm."""
    return {f"link {link}": count for link, count in derived_sparse().items()}


def table_4_3() -> Figures:
    """The layers of the general six-link arm."""
    return _layers(load(GENERAL))


def table_4_7() -> Figures:
    """The layers of the Stanford arm."""
    return _layers(load(STANFORD))


def assembly() -> Figures:
    """Layers by the formula, by stacking links, and along the critical path, for 2, 6 and 12 links."""
    first = {number for number in special_cases()["first"] if number not in (26, 27)} | {19}
    figures: Figures = {"layers, n = 6, formula": layers_of(LINKS)}
    for n in (2, LINKS, 12):
        left_out = {(1, k) for k in first} | {(n, k) for k in special_cases()["last"]}
        stacked = table_graph(n, left_out)
        figures[f"layers, n = {n}, stacked"] = max(stacked.layers)
        figures[f"layers, n = {n}, longest chain"] = stacked.graph.critical_path
    return figures


def loads() -> Figures:
    """Numbers of tasks and operations, as the text counts them and after propagating all zeros."""
    general, stanford = load(GENERAL).graph, load(STANFORD).graph
    fastest = schedule_by_rule(load(GENERAL), ENOUGH)
    derived = {arm.name: subtask_work(arm, all_made=True) for arm in (general_arm(), stanford_pattern())}
    by_table = len(SUBTASKS) * LINKS - sum(len(special_cases()[case]) for case in ("first", "last"))
    return {
        "tasks, by Table 4.2": by_table,
        "tasks, general arm": general.total,
        "operations, general arm": OPERATIONS * general.total,
        "operations along the critical path": OPERATIONS * general.critical_path,
        "speed-up on 13 processors": fastest.speedup,
        "efficiency on 13 processors, %": 100.0 * fastest.efficiency,
        "tasks, Stanford arm": stanford.total,
        "operations, Stanford arm": OPERATIONS * stanford.total,
        "reduction, %": 100.0 * (1.0 - stanford.total / general.total),
        "tasks, general arm, all zeros followed": derived["general6"].graph.total,
        "tasks, Stanford arm, all zeros followed": derived["stanford-pattern"].graph.total,
    }


def steps_of_link() -> Figures:
    """Subtasks of each step of the recursion, and layers of a link (Dhanaraj 4.3.1)."""
    steps = Counter(task.step for task in SUBTASKS)
    forward = sum(task.forward for task in SUBTASKS)
    return {f"step {step}": steps[step] for step in ("1", "2A", "3", "4", "5", "6", "7", "8")} | {
        "step 2": steps["2"] + 1,  # T3 ends step 1 and begins step 2
        "forward": forward,
        "backward": len(SUBTASKS) - forward,
        "layers of a link, forward": _longest([task for task in SUBTASKS if task.forward]),
        "layers of a link, backward": _longest([task for task in SUBTASKS if not task.forward]),
    }


def idle() -> Figures:
    """Idle processors when the general arm runs layer by layer on 13 processors (Dhanaraj 4.3.1)."""
    layered = load(GENERAL)
    sizes = [len(row) for row in layered.rows]
    forward = max(
        layer
        for layer, (_, number) in zip(layered.layers, layered.places, strict=True)
        if number <= LAST_FORWARD
    )
    return {
        "idle, %": 100.0 * (1.0 - schedule_by_rule(layered, ENOUGH).efficiency),
        "idle processors in the first cycle": ENOUGH - sizes[0],
        "idle processors in the 27th cycle": ENOUGH - sizes[26],
        "layers of 13 tasks": sizes.count(ENOUGH),
        "forward layers, 2n + 2": forward,
        "backward layers, 2n + 1": len(sizes) - forward,
    }


def table_4_6_zeros() -> Figures:
    """Zeros in s and p of each link of the Stanford arm (Dhanaraj Table 4.6)."""
    s, p = _stanford_vectors()
    return {
        f"{name}, link {i + 1}": (v[i] == 0.0).sum() for name, v in (("s", s), ("p", p)) for i in range(LINKS)
    }


def c_levels() -> Figures:
    """Levels of C.1 to C.15 by the rule, in the printed layers."""
    return {name: _levels(as_printed(printed_schedule(name).load), name) for name in names()}


def c_levels_corrected() -> Figures:
    """Levels by the rule with T20 to T22 of link 1 after T10, whose results they use."""
    return {name: _levels(load(printed_schedule(name).load), name) for name in names()}


def c_faults() -> Figures:
    """Faults that the schedule check finds in the printed schedules."""
    words = {
        "missing": "missing",
        "repeated": "repeated",
        "none of the tasks": "unknown",
        "too early": "precedence",
    }
    found = {name: Counter[str](fault.kind for fault in faults(name)) for name in names()}
    return {f"{name}, {word}": found[name][kind] for name in names() for word, kind in words.items()}


def statements() -> Figures:
    """The text on Figs. 4.11 and 4.12 (Dhanaraj 4.5): 1 if it holds for the schedules by the rule."""

    def high(table: str) -> list[int]:
        """The numbers of processors that are used well."""
        every = range(1, ENOUGH + 1)
        return [p for p in every if schedule_by_rule(as_printed(table), p).efficiency > HIGH]

    general, stanford = as_printed(GENERAL), as_printed(STANFORD)
    return {
        "general arm, over 98 % up to 6 processors": high(GENERAL)[:6] == [1, 2, 3, 4, 5, 6],
        "Stanford arm, over 98 % up to 4 processors": high(STANFORD)[:4] == [1, 2, 3, 4],
        "general arm, ideal number of processors": high(GENERAL)[-1],
        "Stanford arm, ideal number of processors": high(STANFORD)[-1],
        "Stanford arm, tasks saved, %": 100.0 * (1.0 - stanford.graph.total / general.graph.total),
        "general arm, concurrency": general.concurrency,
        "Stanford arm, concurrency": stanford.concurrency,
    }


def table_4_8() -> Figures:
    """Milliseconds for the Stanford arm: the printed levels times the printed time of a task."""
    level = printed_times()["Dhanaraj 1990"][1] / len(as_printed(STANFORD).graph)
    schedules = [schedule for schedule in map(printed_schedule, names()) if schedule.load == STANFORD]
    return {f"{schedule.processors} processors": level * schedule.levels for schedule in schedules}


def _stanford_vectors() -> tuple[Floats, Floats]:
    """s and p of the Stanford arm's links, (6, 3) each; p of the last link is 0."""
    links = chain_of(load_builtin("stanford")).links
    ways = [link.p + (0.0 if link.revolute else link.axes[:, 2]) for link in links[1:]]
    return np.array([link.s for link in links]), np.array([*ways, np.zeros(3)])


def _longest(tasks: Sequence[Subtask]) -> int:
    """The longest chain of subtasks of one recursion of one link, in tasks."""
    numbers = {task.number for task in tasks}
    depth: dict[int, int] = {}
    for task in tasks:  # in order of numbers: predecessors in the same link have smaller ones
        depth[task.number] = 1 + max(
            (depth[k] for k, shift in task.after if shift == 0 and k in numbers), default=0
        )
    return max(depth.values())


def _levels(layered: Layered, name: str) -> float:
    return schedule_by_rule(layered, printed_schedule(name).processors).length


def _layers(layered: Layered) -> Figures:
    return {f"layer {k}": len(row) for k, row in enumerate(layered.rows, start=1)} | {
        "layers": len(layered.rows),
        "tasks": layered.graph.total,
        "maximum concurrency": layered.concurrency,
    }
