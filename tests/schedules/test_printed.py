"""The printed schedules: what the data file holds, what the check says of it,
and the table of it in the docs.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import forearm as fa
from forearm.reproduce.catalogue import Result, catalogue, results
from forearm.schedules.assembly import _bridged, _layered
from forearm.schedules.printed import (
    LINKS,
    STANFORD,
    as_printed,
    corrected_layers,
    faults,
    load,
    names,
    place_of,
    printed_layers,
    printed_schedule,
    printed_times,
    special_cases,
)
from forearm.schedules.search import is_proven, schedule_by_search
from forearm.schedules.subtasks import SUBTASKS

DOCS = Path(__file__).parents[2] / "docs" / "schedules.md"


def of(name: str, kind: str) -> list[str]:
    return [fault.task for fault in faults(name) if fault.kind == kind]


def test_every_table_is_there_with_its_processors_and_levels() -> None:
    assert names() == tuple(f"C.{k}" for k in range(1, 16))
    shapes = [(printed_schedule(name).processors, printed_schedule(name).levels) for name in names()]
    general = list(zip(range(2, 10), (116, 78, 58, 47, 39, 34, 31, 30), strict=True))
    assert shapes == [*general, *zip(range(2, 9), (79, 52, 39, 32, 29, 27, 27), strict=True)]
    for name in names():
        assert len({len(row) for row in printed_schedule(name).rows}) == 1
    assert [sum(map(len, printed_layers(table))) for table in ("4.3", "4.7")] == [240, 156]
    assert {case: len(numbers) for case, numbers in special_cases().items()} == {
        "sliding": 9,
        "first": 19,
        "last": 8,
    }


def test_times_of_table_4_8_are_printed_levels_times_one_time() -> None:
    level = printed_times()["Dhanaraj 1990"][1] / 156.0
    assert level == pytest.approx(0.135)
    for name in names()[8:]:
        printed = printed_schedule(name)
        assert printed_times()["Dhanaraj 1990"][printed.processors] == pytest.approx(
            level * printed.levels, abs=0.0051
        )


def test_loads_hold_the_tasks_that_most_schedules_hold() -> None:
    assert [len(load(table).graph) for table in ("4.3", "4.7")] == [230, 156]
    for table, name in (("4.3", "C.3"), ("4.3", "C.5")):
        assert {place_of(int(entry.task)) for entry in printed_schedule(name).entries} == set(
            load(table).places
        )
    assert (1, 29) in load("4.7").places
    assert (1, 27) not in load("4.7").places


def test_only_precedence_that_printed_layers_break_is_let_go() -> None:
    """Three pairs: 120, 121 and 122 beside 110, which they wait for."""
    for table in ("4.3", "4.7"):
        right, printed = load(table), as_printed(table)
        pairs = [
            {(g.places[e], g.places[k]) for k, earlier in enumerate(g.graph.before) for e in earlier}
            for g in (right, printed)
        ]
        assert pairs[1] < pairs[0]
        assert pairs[0] - pairs[1] == {((1, 10), (1, 20)), ((1, 10), (1, 21)), ((1, 10), (1, 22))}
        assert tuple(tuple(printed.places[k] for k in row) for row in printed.rows) == corrected_layers(table)


def test_known_misprints_are_found() -> None:
    assert of("C.2", "repeated") == ["526", "527"]
    assert of("C.6", "missing") == ["329"]
    assert sorted(of("C.6", "repeated")) == ["336", "529"]
    assert sorted(of("C.7", "repeated")) == ["126", "129", "226", "227", "228", "229"]
    assert of("C.8", "unknown") == ["127", "128"]
    assert of("C.11", "missing") == ["132"]
    assert (of("C.12", "missing"), of("C.12", "repeated")) == (["429"], ["428"])
    assert (of("C.15", "missing"), of("C.15", "unknown")) == (["243"], ["245"])
    for name in ("C.9", "C.10", "C.13", "C.14"):
        assert (of(name, "missing"), of(name, "unknown")) == (["129"], ["127"])
    assert (len(of("C.1", "missing")), len(of("C.1", "repeated"))) == (16, 17)
    assert all(
        fault.kind in ("missing", "repeated", "unknown", "precedence")
        for name in names()
        for fault in faults(name)
    )


def test_every_schedule_has_a_task_of_link_1_beside_what_it_waits_for() -> None:
    for name in names()[1:]:
        pairs = {(fault.task, fault.other) for fault in faults(name) if fault.kind == "precedence"}
        assert any(other == "110" for _, other in pairs), name


def test_a_table_that_is_none_is_refused() -> None:
    with pytest.raises(
        fa.NameNotFound, match=r"printed schedule: expected one of C\.1, .*, got 'C\.16'; did you mean"
    ):
        printed_schedule("C.16")


def test_the_table_in_the_docs_says_what_the_check_says() -> None:
    rows = re.findall(r"^\| (C\.\d+) \|(.*)\|$", DOCS.read_text(encoding="utf-8"), flags=re.M)
    assert [name for name, _ in rows] == list(names())
    for name, rest in rows:
        cells = [cell.strip() for cell in rest.split("|")]
        printed = printed_schedule(name)
        assert cells[:3] == [str(printed.processors), str(printed.levels), str(len(printed.entries))]
        found = Counter(fault.kind for fault in faults(name))
        counts = [0 if cell == "-" else int(cell.split(":")[0]) for cell in cells[3:7]]
        assert counts == [found[kind] for kind in ("missing", "repeated", "unknown", "precedence")], name
        for cell, kind in zip(cells[3:6], ("missing", "repeated", "unknown"), strict=True):
            if ":" in cell and "..." not in cell:
                assert set(re.findall(r"\d{3}", cell)) == set(of(name, kind)), name


@pytest.fixture(scope="module")
def chapter() -> list[Result]:
    wanted = ("table-4", "tables-c", "layers-4", "loads-4", "figs-4")
    return [
        result for item in catalogue("dhanaraj") if item.id.startswith(wanted) for result in results(item)
    ]


@pytest.mark.slow
def test_every_figure_of_the_chapter_has_a_verdict_and_a_reason_where_it_differs(
    chapter: list[Result],
) -> None:
    assert [result.label for result in chapter if result.unexplained] == []
    items = {result.item.id for result in chapter}
    assert {f"table-4.{k}" for k in range(1, 9)} <= items
    assert {"tables-c-levels", "tables-c-levels-corrected", "tables-c-faults", "figs-4.11-4.12"} <= items


@pytest.mark.slow
def test_what_is_known_to_reproduce_does(chapter: list[Result]) -> None:
    exact = {
        (result.item.id, result.label) for result in chapter if result.verdict in ("exact", "within rounding")
    }
    general = {("tables-c-levels", f"C.{k}") for k in (1, 3, 4, 5, 6, 7, 8, 9, 10, 12)}
    assert general <= exact
    assert {
        ("table-4.1", "subtasks of a link"),
        ("table-4.2", "last, total"),
        ("loads-4.3-4.4", "tasks, Stanford arm"),
    } <= exact
    assert (
        sum(result.item.id == "table-4.5" for result in chapter if (result.item.id, result.label) in exact)
        == 16
    )


def test_the_stanford_arm_with_316_and_317_and_a_joint_that_slides() -> None:
    """T6 of the sliding link follows T18 and T19, what takes the acceleration follows T6,
    and T7 to T11 follow link 2's.
    """
    everything = {(i, task.number) for i in range(1, LINKS + 1) for task in SUBTASKS}
    waits = {
        (i, task.number): {(i + shift, other) for other, shift in task.after} & everything
        for i in range(1, LINKS + 1)
        for task in SUBTASKS
    }
    waits |= {(3, k): {(2, k)} for k in (7, 8, 9)} | {(3, k): {(2, 10), (2, 11)} for k in (10, 11)}
    waits |= {(4, k): {(2, 6)} for k in (4, 5)} | {(3, k): {(2, 6), (2, 7)} for k in (27, 28, 29)}
    waits[3, 6] = {(3, 3), (3, 18), (3, 19)}
    for place in [(3, 23), (3, 24), (3, 25), (4, 15), (4, 16), (4, 17)]:
        waits[place] |= {(3, 6)}
    printed = {place for row in corrected_layers(STANFORD) for place in row}
    assert printed & {(3, 16), (3, 17)} == set()
    graph = _layered(LINKS, _bridged(waits, everything - printed - {(3, 16), (3, 17)}), "right").graph
    assert len(graph) == 158
    made = [schedule_by_search(graph, p) for p in range(2, 10)]
    assert all(is_proven(schedule) for schedule in made)
    assert [schedule.length for schedule in made] == [79, 53, 40, 32, 27, 25, 25, 25]
