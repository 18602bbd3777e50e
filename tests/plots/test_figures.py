"""One look for every picture: units at the axes, nothing cut or covered, a white ground,
the same bytes in any setting.
"""

from __future__ import annotations

import dataclasses
import inspect
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from simulation.making import sines
from sweeps import long

import forearm as fa
from forearm.control.comparison import Comparison, Row
from forearm.errors import InputError
from forearm.identification.logs_against_model import LogComparison
from forearm.schedules.printed import load
from forearm.schedules.rule import schedule_by_rule
from forearm.simulation import Simulation
from forearm.trajectories import MotionLimits, Request, Waypoint, plan, through
from forearm.trajectories.planning import Plan

pytest.importorskip("matplotlib")

from forearm.plots.arms import picture
from forearm.plots.control import comparison_figure
from forearm.plots.costs import cost_picture
from forearm.plots.figure import (
    COLOURS,
    FORMATS,
    LINE,
    SMALL,
    figure_bytes,
    look,
    new_figure,
    save_figure,
    shown,
)
from forearm.plots.friction import (
    efficiency_figure,
    hand_figure,
    joints_figure,
    quadrants_figure,
    torque_figure,
)
from forearm.plots.logs import log_figure
from forearm.plots.precision import precision_figure
from forearm.plots.schedules import assembly_figure, gantt_figure, layers_figure, speedup_figure, times_figure
from forearm.plots.speeds import speed_picture
from forearm.plots.trajectories import phase_figure, profile_figure, waters_figure
from forearm.reproduce.friction_study import gears, study

LONG = "left_arm_of_the_second_robot_{}_link"
UNITS = re.compile(
    r"(?:\n|, )(?:(?:rad|m|N m|N|V|J|s|ms|mm|%|degrees|1/s|rad/s²?|m/s²?)(?: or (?=\w))?)+(?: \(|$)"
)
# Axes that count something, compare like with like, or whose document gives no unit.
WITHOUT_UNIT = {
    "cond(M)",
    "efficiency",
    "output torque / rated torque",
    "processors",
    "speed-up",
    "layer",
    "time, in units of task cost",
    "number of joints n (all revolute, every parameter symbolic)",
    "multiplications + additions per evaluation",
    "position (unit unknown)",
    "velocity (quadratic scale; unit unknown)",
    "median time, units at the ticks (logarithmic)",
}
# rows that their own words name, and the strip of events
NAMED_BY_TICKS = {"gantt", "speeds", "assembly", "sim", "sim-30"}
PIXEL = 1.5


def chain(n: int) -> fa.Arm:
    """An arm of n joints with long names."""
    arm = fa.load(f"chain{n}").rigid()
    return arm.replace(tree=tuple(dataclasses.replace(j, name=LONG.format(j.name)) for j in arm.tree))


def planned(arm: fa.Arm) -> Plan:
    slides = np.array([0.6 * (joint.kind == "prismatic") for joint in arm.joints])
    ends = (
        Waypoint(q=np.linspace(0.1, 0.3, arm.n) + slides),
        Waypoint(q=np.linspace(0.5, -0.2, arm.n) + slides),
    )
    return plan(arm, Request(ends, velocity=1.0, acceleration=2.0))


def logged(arm: fa.Arm) -> LogComparison:
    t = np.arange(0.0, 0.5, 0.004)
    q = np.sin(2.0 * np.pi * t[:, None] * (1.0 + 0.1 * np.arange(arm.n)))
    return fa.identification.compare_log(arm, {"t": t, "q": q, "tau": 3.0 * q})


def compared() -> Comparison:
    row = Row("PD", 12.0, 12e3, 0.0125, 0.03, 0.0021, 0.0043, 3.5, 0.0, 0.02, 0.0067, 0.0)
    rows = [
        dataclasses.replace(row, name=name, operations_per_second=12e3 * 2**k, hand_rms=0.002 / 3**k)
        for k, name in enumerate(("PD", "computed torque, no friction", "computed torque", "path length"))
    ]
    return Comparison(random_arm(31, 3).rigid(), 2.0, 1e-3, 20.0, 0.5, (1.0, 1.0, 1.0), (), tuple(rows))


def precision() -> Any:
    arm = fa.load("ascher2")
    return precision_figure(arm, fa.dynamics.precision_study(arm, [[0.0, 0.1 * k] for k in range(30)]), 1, 1)


LIMITS = MotionLimits([2.0, 3.0], [1.0, 1.5], -2.0, 2.0)
MOTION = through([[0.0, 1.0], [0.6, 0.2], [1.1, -0.7]], None, LIMITS)
BARS = {
    "kernels": [
        ("inverse dynamics", None, 2.3e-7),
        ("inverse dynamics", "Pinocchio", 8e-7),
        ("forward", None, 6e-7),
    ]
}
FIGURES: dict[str, Callable[[], Any]] = {
    "arm": lambda: picture([(fa.load("stanford"), np.array([0.5, -1.2, 0.9, 0.0, 0.6, 0.0]))]),
    "arms": lambda: picture([(fa.load("puma560"), np.zeros(6)), (chain(30), np.full(30, 0.2))]),
    "sim": lambda: sines("stanford").plot(),
    "sim-30": lambda: sines(chain(30), samples=21).plot(),
    "plan": lambda: planned(fa.load("stanford").rigid()).plot(),
    "plan-13": lambda: planned(chain(13)).plot(),
    "plan-30": lambda: planned(chain(30)).plot(),
    "log": lambda: logged(fa.load("stanford").rigid()).plot(),
    "log-30": lambda: logged(chain(30)).plot(),
    "compare": lambda: comparison_figure(compared()),
    "profile": lambda: profile_figure(
        MOTION, [LONG.format(k) for k in "ab"], lambda q, qd, qdd: 2.0 * qdd + qd
    ),
    "phase": lambda: phase_figure([MOTION], LIMITS, joint=1, unit="rad"),
    "waters": waters_figure,
    "precision": precision,
    "cost": cost_picture,
    "efficiency": efficiency_figure,
    "quadrants": lambda: quadrants_figure(gears()[1]),
    "hand": lambda: hand_figure(study()),
    "joints": lambda: joints_figure(study()),
    "torque": lambda: torque_figure(study(), 0),
    "gantt": lambda: gantt_figure(schedule_by_rule(load("4.7"), 4)),
    "layers": lambda: layers_figure(load("4.3"), "one link", [(3, k) for k in range(1, 26)]),
    "assembly": lambda: assembly_figure(load("4.7")),
    "speedup": lambda: speedup_figure({"one": load("4.7")}, 3),
    "times": times_figure,
    "speeds": lambda: speed_picture(BARS),
}
SLOWEST = ["cost", "efficiency", "log-30", "plan-13", "plan-30", "precision", "sim-30"]
NAMES = [*(name for name in FIGURES if name not in SLOWEST), *long(SLOWEST)]


@cache
def laid_out(name: str) -> Any:
    """A figure whose parts are where they will be."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = FIGURES[name]()
    FigureCanvasAgg(figure)
    figure.canvas.draw()
    return figure


def boxes(figure: Any) -> list[tuple[str, Any]]:
    """Every text of a figure and the box in which it is drawn, but for words inside bars
    and what axes cut off.
    """
    from matplotlib.text import Text

    found = figure.findobj(
        lambda a: isinstance(a, Text) and a.get_visible() and a.get_text() and a.get_in_layout()
    )
    renderer = figure.canvas.get_renderer()
    off = {id(t) for ax in figure.axes if not ax.get_visible() for t in ax.findobj(Text)}
    for ax in figure.axes:
        for along in ax._axis_map.values():
            low, high = sorted(along.get_view_interval())
            hidden = ax.name == "3d" or not ax.axison  # there matplotlib draws other ticks than these
            ticks = [t for t in along.get_major_ticks() if hidden or not low <= t.get_loc() <= high]
            off |= {id(label) for t in ticks for label in (t.label1, t.label2)}
    return [(t.get_text(), t.get_window_extent(renderer)) for t in found if id(t) not in off]


def check_labels(name: str, figure: Any) -> None:
    """Every axis says what it measures and in which unit."""
    for axes in figure.axes:
        if not axes.get_visible() or not axes.axison:
            continue
        below = axes.xaxis.get_tick_params()["labelbottom"]
        for along in (x for x in "xyz" if hasattr(axes, f"get_{x}label")):
            label = getattr(axes, f"get_{along}label")()
            if along == "x" and not below:
                continue  # a panel over others that share its axis
            if along == "y" and name in NAMED_BY_TICKS and not label:
                assert [t.get_text() for t in axes.get_yticklabels() if t.get_text()]
                continue
            if along == "x" and name == "gantt" and not label:
                continue  # the last band has it
            assert label in WITHOUT_UNIT or UNITS.search(label), (along, label)


def check_legends(figure: Any) -> None:
    """They cover neither panels nor titles."""
    from matplotlib.legend import Legend

    renderer = figure.canvas.get_renderer()
    legends = [legend.get_window_extent(renderer) for legend in figure.findobj(Legend)]
    flat = [axes for axes in figure.axes if axes.name != "3d" and axes.get_visible()]
    titles = [axes.title if axes.title.get_text() else axes._left_title for axes in flat]
    others = [part.get_window_extent(renderer) for part in (*flat, *(t for t in titles if t.get_text()))]
    for legend in legends:
        for other in others:
            wide, tall = np.minimum(legend.max, other.max) - np.maximum(legend.min, other.min)
            assert min(wide, tall) <= PIXEL, (legend, other)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_labelled_and_nothing_of_it_cut_covered_or_out_of_the_look(name: str) -> None:
    from matplotlib.text import Text

    figure = laid_out(name)
    check_labels(name, figure)
    if name != "compare":  # there it lies over a free place of the only panel
        check_legends(figure)
    page = figure.bbox
    assert len(boxes(figure)) > 5
    for words, box in boxes(figure):
        inside = (box.min >= page.min - PIXEL).all() and (box.max <= page.max + PIXEL).all()
        assert inside, (words, box.extents.tolist(), page.extents.tolist())
    for text in figure.findobj(Text):
        if text.get_text() and text.get_visible() and text.get_in_layout():
            assert text.get_fontname() == "DejaVu Sans"
            assert SMALL <= text.get_fontsize() <= 10.0, text.get_text()
    wide, tall = figure.get_size_inches()
    assert 4.0 <= wide <= 16.0
    assert 1.5 <= tall <= 16.0


@pytest.mark.long
@pytest.mark.slow
def test_curves_of_one_panel_differ_in_more_than_colour() -> None:
    for name in ("sim", "plan", "cost", "quadrants", "joints", "torque", "times"):
        for axes in laid_out(name).axes:
            if axes.name == "3d":
                continue
            lines = [line for line in axes.lines if not line.get_label().startswith("_")][:6]
            looks = {str(line._unscaled_dash_pattern) for line in lines}
            assert len(looks) == len(lines), (name, axes.get_ylabel())


def away(box: Any, x: float, y: float) -> float:
    """How far a point is from a box."""
    return float(np.hypot(max(box.x0 - x, 0, x - box.x1), max(box.y0 - y, 0, y - box.y1)))


@pytest.mark.slow
def test_labels_of_controllers_name_their_own_points() -> None:
    """A label is nearest to its own dot, or a line leads there that no other dot is on;
    points in one place share a label.
    """
    places = ((1e5, 1e-3), (1.02e5, 1.05e-3), (1.04e5, 1e-3), (1e5, 2e-3), (1e5, 2e-3), (3e5, 5e-3))
    row = compared().rows[0]
    rows = tuple(
        dataclasses.replace(row, name=f"PD of some kind, {k}", operations_per_second=rate, hand_rms=error)
        for k, (rate, error) in enumerate(places)
    )
    figure = comparison_figure(dataclasses.replace(compared(), rows=rows))
    figure.draw_without_rendering()
    (axes,) = figure.axes
    labels = [text for text in axes.texts if text.get_text()]
    assert [text.get_text() for text in labels if "\n" in text.get_text()] == [
        "PD of some kind, 3\nPD of some kind, 4"
    ]
    assert len(labels) == 5
    at = axes.transData.transform([(rate, 1e3 * error) for rate, error in places])
    dots = {r.name: dot for r, dot in zip(rows, at, strict=True)}
    for text in labels:
        box, names = text.get_window_extent(), text.get_text().split("\n")
        if text.arrow_patch is None:
            assert min(dots, key=lambda name: away(box, *dots[name])) in names
            continue
        own, line = dots[names[0]], 0.5 * (box.min + box.max) - dots[names[0]]
        for name in set(dots) - set(names):
            along = np.clip((dots[name] - own) @ line / (line @ line), 0.0, 1.0)
            assert np.hypot(*(own + along * line - dots[name])) > 4.0, (name, names)


def test_forty_two_curves_have_looks_of_their_own() -> None:
    assert len({str(look(k)) for k in range(42)}) == 42
    assert [look(k)["color"] for k in range(7)] == list(COLOURS)


def test_names_are_shown_as_they_are_or_without_their_middle() -> None:
    names = ("a", "$x$", "_x", "x" * 28, LONG.format("joint17"))
    assert [*map(shown, names)] == ["a", r"\$x\$", "\u200b_x", "x" * 28, "left_arm_of_...t_joint17_link"]


@cache
def plain(suffix: str) -> bytes:
    return figure_bytes(sines("chain2", events=()).plot(), suffix)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.sweep(first=1)
def test_the_same_figure_has_the_same_bytes_whatever_is_set_elsewhere(suffix: str) -> None:
    from matplotlib import style

    usual = plain(suffix)
    with style.context(
        ["dark_background", {"lines.linewidth": 9.0, "font.size": 30.0, "savefig.transparent": True}]
    ):
        made = sines("chain2", events=()).plot()
        assert figure_bytes(made, suffix) == usual
    assert made.axes[0].lines[0].get_linewidth() == LINE


@pytest.mark.slow
def test_the_ground_is_white_and_opaque(tmp_path: Path) -> None:
    from matplotlib.image import imread

    for name in ("arm", "waters"):
        save_figure(laid_out(name), tmp_path / "a.png")
        pixels = imread(tmp_path / "a.png")
        assert (pixels[..., 3] == 1.0).all()
        assert (pixels[[0, 0, -1, -1], [0, -1, 0, -1], :3] == 1.0).all()
    save_figure(laid_out("waters"), tmp_path / "a.svg")
    first = re.search(
        r'<g id="patch_1">.*?style="fill: (#\w+)[^"]*"',
        (tmp_path / "a.svg").read_text(encoding="utf-8"),
        re.S,
    )
    assert first is not None
    assert first[1] == "#ffffff"


@pytest.mark.slow
def test_endings_are_three_and_files_whole_or_none(tmp_path: Path) -> None:
    figure = laid_out("waters")
    for suffix, begin in ((".png", b"\x89PNG"), (".SVG", b"<?xml"), (".pdf", b"%PDF")):
        save_figure(figure, tmp_path / f"a{suffix}")
        assert (tmp_path / f"a{suffix}").read_bytes().startswith(begin)
    for name in ("a.gif", "a", "a.png.txt"):
        with pytest.raises(InputError, match=r"a picture ends in \.png, \.svg or \.pdf\."):
            save_figure(figure, tmp_path / name)
    with pytest.raises(InputError, match="cannot be written"):
        save_figure(figure, tmp_path / "nowhere" / "a.png")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.SVG", "a.pdf", "a.png"]


@pytest.mark.parametrize("kind", [Simulation, Plan, LogComparison, Comparison])
def test_results_are_drawn_the_same_way(kind: Any) -> None:
    assert inspect.signature(kind.plot) == inspect.signature(Simulation.plot)


@pytest.mark.long
def test_a_picture_without_a_path_is_a_figure_and_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arm = fa.load("chain2").rigid()
    for result in (sines(arm), planned(arm), logged(arm)):
        figure = result.plot()
        assert figure.get_axes()
        assert list(tmp_path.iterdir()) == []
        assert result.plot("a.png").get_axes()
        assert Path("a.png").read_bytes() == figure_bytes(figure)
        Path("a.png").unlink()


def test_too_many_joints_for_a_log_are_refused() -> None:
    few = logged(fa.load("chain1").rigid())
    with pytest.raises(InputError, match="at most 60 joints; this arm has 61"):
        log_figure(dataclasses.replace(few, joints=("j",) * 61))


@pytest.mark.long
def test_nothing_is_left_behind_by_a_picture() -> None:
    """No window, no list of open figures: pyplot is not even imported, and a figure goes
    when its last name goes.
    """
    code = (
        "import gc, sys, weakref\nfrom forearm.plots.trajectories import waters_figure\n"
        "from forearm.plots.figure import figure_bytes\nf = waters_figure(); "
        "figure_bytes(f); w = weakref.ref(f)\n"
        "del f; gc.collect(); print('matplotlib.pyplot' in sys.modules, w() is None)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["False", "True"]


def test_without_matplotlib_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for make in (waters_figure, lambda: new_figure(3.0, 3.0)):
        with pytest.raises(InputError, match=r"pip install 'forearm\[plot\]'"):
            make()


@pytest.mark.slow
def test_a_figure_shows_itself_in_a_notebook() -> None:
    figure = sines("chain2", events=()).plot()
    assert figure._repr_png_() == plain(".png")
    assert pickle.loads(pickle.dumps(figure)).get_axes()
