"""Tables of figures on the pages, computed anew: those of control, dynamics and
schedules that need no clock.
"""

from __future__ import annotations

import re
import runpy
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sweeps import long

import forearm as fa
from forearm import control
from forearm.schedules.automatic import Division, operations, profile, traced_function
from forearm.schedules.grouping import grouped
from forearm.schedules.priority import schedule_by_priority

DOCS = Path(__file__).parent.parent / "docs"
CLOSE = 0.03  # of a figure in three digits: the last of them may come out otherwise on another processor
CHAOTIC = 0.2  # the arm that nothing holds to its path
PROCESSORS = (2, 4, 8, 16)


def rows_below(page: str, first: str) -> list[list[str]]:
    """The cells of the table whose heading begins with these."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    (start,) = (k for k, line in enumerate(lines) if line.startswith(f"| {first} |"))
    found = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return found


@cache
def arm_of(name: str) -> fa.Arm:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fa.ForearmWarning)
        return fa.load(name)


@cache
def tasks(name: str, function: str) -> Division:
    return operations(traced_function(arm_of(name).rigid(), function))


@pytest.mark.long
def test_controllers_compared_on_the_puma() -> None:
    printed = {
        row[0]: row[1:] for row in rows_below("control.md", "controller | operations | hand | with load")
    }
    found = control.compare(arm_of("puma560"), control.default_motion(arm_of("puma560")), list(printed))
    assert {row.name for row in found.rows} == set(printed)
    for row in found.rows:
        count, alone, loaded = map(float, printed[row.name])
        assert row.operations == count, row.name
        assert 1e3 * row.hand_rms == pytest.approx(alone, rel=CLOSE), row.name
        assert 1e3 * row.loaded_hand_rms == pytest.approx(
            loaded, rel=CHAOTIC if row.name == "feed-forward" else CLOSE
        ), row.name


@pytest.mark.slow
def test_what_simplifications_save_on_the_puma() -> None:
    names = {
        "counterbalanced, no gravity": "counterbalanced",
        "three of six joints locked": "3 joints locked",
    }
    printed = rows_below("control.md", "simplification | saved | Waters | cost")
    found = {saving.name: saving for saving in control.savings(arm_of("puma560"))}
    for name, saved, *_ in printed:
        assert f"{100.0 * found[names.get(name, name)].saved:.1f} %" == saved, name
    assert len(printed) == len(found) - 1  # nothing left out


def test_terms_left_out_along_a_motion() -> None:
    """The text says what each costs joint 2."""
    t, w = np.linspace(0.0, 1.0, 50)[:, None], np.arange(1, 7)
    motion = np.sin(w * t), w * np.cos(w * t), -(w**2) * np.sin(w * t)
    found = {error.dropped: error for error in fa.dynamics.drop_errors(arm_of("puma560"), *motion)}
    text = " ".join((DOCS / "dynamics.md").read_text(encoding="utf-8").split())
    for name, words in {
        "no-velocity-terms": r"up to ([\d.]+) N m at joint 2 \((\d+) % rms\)",
        "no-gravity": r"dropping gravity up to ([\d.]+) N m()",
        "own-link-only": r"own link up to ([\d.]+) N m \((\d+) % rms\)",
    }.items():
        said = re.search(words, text)
        assert said is not None, name
        digits = len(said[1].partition(".")[2])
        assert round(float(found[name].largest[1]), digits) == float(said[1])
        assert not said[2] or round(100.0 * float(found[name].relative[1])) == int(said[2])


@pytest.mark.slow
def test_single_precision_of_two_bars() -> None:
    """As `forearm precision ascher2`: 180 postures."""
    study = fa.dynamics.precision_study(arm_of("ascher2"), [[0.0, np.radians(2.0 * k)] for k in range(180)])
    for method, largest, mean in rows_below(
        "dynamics.md", "`forearm precision ascher2` | largest error, rad/s² | mean"
    ):
        assert study.difference(method, 1) == pytest.approx((float(largest), float(mean)), rel=0.15), method


def quick_and_long_rows() -> list[Any]:
    """Those of 20 joints take longest."""
    rows = rows_below("schedules.md", "arm, rigid")
    return [row for row in rows if row[0] != "chain20"] + long(row for row in rows if row[0] == "chain20")


@pytest.mark.slow
@pytest.mark.parametrize("row", quick_and_long_rows(), ids=lambda row: f"{row[0]}-{row[1]}")
def test_task_graphs_of_generated_code(row: list[str]) -> None:
    graph = tasks(row[0], row[1]).graph
    assert [len(graph), graph.total, graph.critical_path, max(profile(graph))] == list(map(float, row[2:6]))
    lengths = [schedule_by_priority(graph, p).length for p in PROCESSORS]
    assert lengths == [float(cell.split(" ")[0]) for cell in row[6:]]


@pytest.mark.parametrize("row", rows_below("schedules.md", "tasks of up to"), ids=lambda row: row[0])
def test_what_communication_and_larger_tasks_cost(row: list[str]) -> None:
    graph = grouped(tasks("puma560", "inverse_dynamics"), float(row[0])).graph
    lengths = [schedule_by_priority(graph, 4, communication=c).length for c in (0.0, 2.0, 10.0, 50.0)]
    assert [len(graph), graph.critical_path, *lengths] == list(map(float, row[1:]))


def test_what_waits_cost() -> None:
    lengths, waits = rows_below("schedules.md", "synchronisation")
    graph = grouped(tasks("puma560", "inverse_dynamics"), 4.0).graph
    for cost, length, count in zip((0.0, 1.0, 4.0, 16.0), lengths[1:], waits[1:], strict=True):
        made = schedule_by_priority(graph, 4, communication=2.0, synchronisation=cost)
        assert [made.length, made.waits] == [float(length), float(count.partition(":")[0])]


@pytest.mark.long
def test_comparisons_of_time_optimal_plans() -> None:
    made = runpy.run_path(str(DOCS / "compare_time_optimal.py"))
    for first, found in (("arm, blind", made["friction_blind"]()), ("arm | bang-bang", made["bang_bang"]())):
        printed = rows_below("time-optimal.md", first)
        assert len(printed) == len(found)
        for row, cells in zip(printed, found, strict=True):
            assert row[0].split(",")[0] == cells[0]
            for a, b in zip(row[1:], cells[1:], strict=True):
                percent = a.endswith("%")
                assert b.endswith("%") == percent
                if a != "-":
                    shown, now = float(a.split()[0]), float(b.split()[0])
                    close = pytest.approx(shown, abs=1.01) if percent else pytest.approx(shown, rel=CLOSE)
                    assert now == close
