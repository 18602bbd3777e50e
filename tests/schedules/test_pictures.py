"""Pictures of schedules and task graphs: every task is in them, names where they fit,
files that can be written.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from schedules.brute import random_graph

from forearm.errors import InputError
from forearm.schedules.assembly import subtask_work
from forearm.schedules.cases import general_arm
from forearm.schedules.printed import load
from forearm.schedules.rule import schedule_by_rule
from forearm.schedules.schedule import TaskSchedule
from forearm.schedules.tasks import Task, TaskGraph

pytest.importorskip("matplotlib")

from forearm.plots.figure import save_figure
from forearm.plots.schedules import (
    assembly_figure,
    gantt_figure,
    layers_figure,
    schedule_figures,
    speedup_figure,
    times_figure,
)


def words(figure: Any) -> list[str]:
    return [text.get_text() for axis in figure.axes for text in axis.texts if text.get_text()]


def boxes(figure: Any) -> list[tuple[float, float, float]]:
    """(processor, left, width) of every bar, in data units."""
    found = []
    for axis in figure.axes:
        for collection in axis.collections:
            for path in collection.get_paths():
                (x0, y0), (x1, y1) = path.vertices.min(axis=0), path.vertices.max(axis=0)
                found.append(((y0 + y1) / 2.0, x0, x1 - x0))
    return found


def test_a_chart_has_a_box_and_a_name_for_every_task() -> None:
    schedule = schedule_by_rule(load("4.7"), 4)
    figure = gantt_figure(schedule)
    assert sorted(words(figure)) == sorted(task.name for task in schedule.graph.tasks)
    drawn = sorted((round(p), round(left, 9), round(width, 9)) for p, left, width in boxes(figure))
    truth = zip(schedule.processor, schedule.start, schedule.graph.tasks, strict=True)
    assert drawn == sorted((p, round(s, 9), round(task.cost, 9)) for p, s, task in truth)
    assert "156 tasks on 4 processors in 40, by rule; speed-up 3.90" in figure.axes[0].get_title(loc="left")
    assert [label.get_text() for label in figure.legends[0].get_texts()] == [f"link {i}" for i in range(1, 7)]


def many_groups(links: int) -> TaskGraph:
    names = [f"link{i}, {way}" for i in range(1, links + 1) for way in ("inwards", "outwards")] + [
        "joints",
        "angles",
    ]
    tasks = tuple(Task(f"t{k}", 1.0, name) for k, name in enumerate(names))
    return TaskGraph(tasks, ((),) * len(tasks))


@pytest.mark.slow
@pytest.mark.parametrize("links", [3, 20])
def test_every_group_has_a_look_of_its_own_and_a_line_in_the_legend(links: int) -> None:
    schedule = schedule_by_rule(many_groups(links), 4)
    (legend,) = gantt_figure(schedule).legends
    lines = [label.get_text() for label in legend.get_texts()]
    assert lines[:4] == ["link1, outwards", "link1, inwards", "link2, outwards", "link2, inwards"]
    assert len(lines) == 2 * links + 2
    looks = {(patch.get_facecolor(), patch.get_hatch()) for patch in legend.get_patches()}
    assert len(looks) == len(lines)
    first, second = legend.get_patches()[:2]
    assert first.get_facecolor() == second.get_facecolor(), "a link has one colour"
    assert gantt_figure(schedule_by_rule(many_groups(2 * 20), 2)).legends == [], "they cannot be told apart"


@pytest.mark.long
def test_charts_of_many_processors_stay_small() -> None:
    graph = random_graph(3, 40, density=0.05)
    assert gantt_figure(schedule_by_rule(graph, 1024)).get_figheight() <= 30.0
    wide = TaskGraph(tuple(Task(str(k)) for k in range(900)), ((),) * 900)
    assert gantt_figure(schedule_by_rule(wide, 900)).get_figheight() <= 30.0


def test_places_need_links() -> None:
    with pytest.raises(InputError, match="places: these tasks belong to no subtasks of links"):
        layers_figure(random_graph(1, 5), "some", [(1, 1)])


def test_long_schedules_go_on_in_further_bands_and_lose_nothing() -> None:
    schedule = schedule_by_rule(load("4.3"), 2)
    figure = gantt_figure(schedule)
    assert 2 <= len(figure.axes) <= 6
    assert sum(width for _, _, width in boxes(figure)) == pytest.approx(schedule.graph.total)


def test_names_that_do_not_fit_stay_away() -> None:
    tasks = (Task("a-name-that-is-far-too-long-for-its-box", 1.0), Task("b", 60.0))
    schedule = TaskSchedule(TaskGraph(tasks, ((), (0,))), 1, (0.0, 1.0), (0, 0), "by hand")
    assert set(words(gantt_figure(schedule))) == {"b"}


@pytest.mark.slow
def test_charts_and_layers_of_nothing(tmp_path: Path) -> None:
    tasks = 0
    graph = TaskGraph(tuple(Task(str(k)) for k in range(tasks)), ((),) * tasks)
    schedule = TaskSchedule(graph, 1, (0.0,) * tasks, (0,) * tasks, "by hand")
    save_figure(gantt_figure(schedule), tmp_path / "chart.png")
    save_figure(layers_figure(graph), tmp_path / "layers.svg")
    assert (tmp_path / "chart.png").stat().st_size > 0


def test_layers_are_rows_from_the_top_and_arrows_are_precedence() -> None:
    graph = random_graph(4, 9, density=0.3)
    figure = layers_figure(graph)
    (axis,) = figure.axes
    at = {text.get_text(): text.get_position() for text in axis.texts if text.get_text().startswith("t")}
    assert len(at) == 9
    pairs = [
        (graph.tasks[e].name, graph.tasks[k].name) for k, earlier in enumerate(graph.before) for e in earlier
    ]
    assert all(at[first][1] > at[second][1] for first, second in pairs)
    arrows = [text for text in axis.texts if not text.get_text()]
    assert len(arrows) == len(pairs)
    assert len(set(at.values())) == 9, "no two in one place"


def test_a_part_of_a_graph_shows_what_comes_from_outside() -> None:
    figure = layers_figure(load("4.3"), "one link", [(3, k) for k in range(1, 26)])
    (axis,) = figure.axes
    assert sorted(w for w in words(figure) if w.startswith("T")) == sorted(f"T{k}" for k in range(1, 26))
    thick = [text for text in axis.texts if not text.get_text() and text.arrow_patch.get_linewidth() > 2.0]
    assert len(thick) == 2 + 2 + 3 + 3, "T1, T2, T4, T5, T12 to T17 take from the link before"


@pytest.mark.slow
def test_stacked_links_count_every_task() -> None:
    layered = subtask_work(general_arm(4), all_made=True).layered
    figure = assembly_figure(layered)
    links, total = len({i for i, _ in layered.places}), 0
    for text in figure.axes[0].texts:
        _, y = text.get_position()
        total += int(text.get_text()) if y <= links else 0
    assert total == len(layered.graph)


def test_curves_are_those_of_the_schedules() -> None:
    layered = load("4.7")
    speedup, efficiency = speedup_figure({"one": layered}, 4).axes
    truth = [schedule_by_rule(layered, p) for p in range(1, 5)]
    assert speedup.lines[0].get_ydata().tolist() == [s.speedup for s in truth]
    assert efficiency.lines[0].get_ydata().tolist() == [100.0 * s.efficiency for s in truth]
    ours = times_figure().axes[0].lines[-1].get_ydata().tolist()
    assert ours[0] == pytest.approx(21.06)
    assert len(ours) == 8


@pytest.mark.long
def test_the_pictures_of_the_chapter_are_drawn() -> None:
    """`forearm reproduce dhanaraj --figures` writes them: reproduce/test_friction_study.py."""
    figures = schedule_figures()
    assert {"fig-4.5", "fig-4.6", "fig-4.7", "fig-4.8", "fig-4.9", "fig-4.11-4.12", "fig-4.13"} <= set(
        figures
    )
    assert {f"table-c.{k}" for k in range(1, 16)} <= set(figures)
