"""What notebooks show of arms, counts, simulations, plans and comparisons:
the right figures, no markup from outside.
"""

from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from arms import every_kind, posture, random_arm

import forearm as fa
from forearm.control.comparison import Comparison, Row
from forearm.simulation import Event, Simulation
from forearm.simulation.solution import Status
from forearm.symbols.counts import Counts
from forearm.tables import MOST_ROWS, html_lines, html_table
from forearm.trajectories import hand_line
from forearm.trajectories.planning import Plan

HOSTILE = "<img src=x onerror=alert(1)> & </table>"
SHOWN = 6e-4  # of a figure: four digits are shown, half a unit of the last is 5e-4 of the smallest


class Read(HTMLParser):
    """A fragment as a browser takes it: tags in balance, tables as rows of text, and paragraphs."""

    def __init__(self, shown: Any) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.lines: list[str] = []
        self.captions: list[str] = []
        self.feed(shown if isinstance(shown, str) else shown._repr_html_())
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("th", "td"):
            self.tables[-1][-1].append("")
        if tag == "p":
            self.lines.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("th", "td"):
            self.tables[-1][-1][-1] += data
        if self.open and self.open[-1] == "p":
            self.lines[-1] += data
        if self.open and self.open[-1] == "caption":
            self.captions.append(data)


@pytest.fixture(scope="module")
def arm() -> fa.Arm:
    return random_arm(31, 3).rigid()


@pytest.fixture(scope="module")
def run(arm: fa.Arm) -> Simulation:
    return fa.simulate(arm, posture(arm, 1), np.zeros(3), 0.02)


def test_table_escapes_and_sets_numbers_to_the_right() -> None:
    table = html_table([HOSTILE, "b"], [[HOSTILE, "1.5"], ["2", "-"]], HOSTILE)
    read = Read(table)
    assert read.tables == [[[HOSTILE, "b"], [HOSTILE, "1.5"], ["2", "-"]]]
    assert set(read.tags) == {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert '<td style="text-align:right">1.5</td>' in table
    assert '<th scope="row" style="text-align:left">2</th>' in table, "the first column names the rows"
    assert '<th scope="col" style="text-align:right">b</th>' in table
    assert Read(html_lines([HOSTILE, "x"])).lines == [HOSTILE, "x"]


@pytest.mark.parametrize("more", [0, 7])
def test_long_tables_are_cut_with_a_word_on_the_rest(more: int) -> None:
    (rows,) = Read(html_table(["k", "v"], [[f"n{k}", str(k)] for k in range(MOST_ROWS + more)])).tables
    assert rows[1 : MOST_ROWS + 1] == [[f"n{k}", str(k)] for k in range(MOST_ROWS)]
    assert rows[MOST_ROWS + 1 :] == ([["and 7 more"]] if more else [])


@pytest.mark.parametrize("k", range(len(every_kind(7))))
def test_arm_shows_every_joint_and_link(k: int) -> None:
    arm = every_kind(7)[k]
    joints, links, *drives = Read(arm).tables
    assert [row[0] for row in joints[1:]] == [j.name for j in arm.tree]
    assert [row[0] for row in links[1:]] == [link.name for link in arm.links]
    assert [float(row[1]) for row in links[1:]] == pytest.approx([link.mass for link in arm.links], rel=SHOWN)
    driven = [j for j in arm.tree if j.has_drive]
    assert [row[0] for table in drives for row in table[1:]] == [j.name for j in driven]
    for joint, row in zip(driven, drives[0][1:] if drives else (), strict=True):
        assert (row[1] == "-") == (joint.motor is None)
    at = joints[0].index("from")
    for joint, row in zip(arm.tree, joints[1:], strict=True):
        kind, low, high = row[1], *row[at : at + 2]
        assert kind.startswith(joint.kind)
        assert joint.mimic is None or joint.mimic.joint in kind
        for shown, limit in zip((low, high), joint.limits, strict=True):
            if shown == "-":
                assert joint.kind == "fixed" or not np.isfinite(limit)
            else:
                value, unit = shown.split()
                assert unit == ("deg" if joint.kind == "revolute" else "m")
                assert float(value) == pytest.approx(
                    np.degrees(limit) if unit == "deg" else limit, rel=SHOWN, abs=1e-9
                )


def test_names_of_an_arm_stay_text(arm: fa.Arm) -> None:
    renamed = arm.replace(
        name=HOSTILE, tree=tuple(dataclasses.replace(j, name=HOSTILE + j.name) for j in arm.tree)
    )
    read = Read(renamed)
    assert read.lines[0].startswith(HOSTILE)
    assert [row[0] for row in read.tables[0][1:]] == [HOSTILE + j.name for j in arm.tree]
    assert read.tags == Read(arm).tags


def test_counts_name_their_operations() -> None:
    (rows,) = Read(Counts(mul=2, add=3, div=5, sqrt=7, trig=11, lookup=13)).tables
    names = ("multiplications", "additions", "divisions", "square roots", "sines and cosines", "look-ups")
    assert dict(rows[1:]) == dict(zip(names, ("2", "3", "5", "7", "11", "13"), strict=True))


def test_simulation_shows_its_end_and_computes_nothing_for_it(run: Simulation, arm: fa.Arm) -> None:
    fresh = fa.simulate(arm, run.q[0], run.qd[0], 0.02)
    before = set(fresh.__dict__)
    read = Read(fresh)
    assert set(fresh.__dict__) == before
    (state,) = read.tables
    assert [row[0] for row in state[1:]] == [j.name for j in arm.joints]
    assert [float(row[1]) for row in state[1:]] == pytest.approx(run.q[-1], rel=SHOWN)
    assert [float(row[2]) for row in state[1:]] == pytest.approx(run.qd[-1], rel=SHOWN)
    assert "END" in read.lines[1]


@pytest.mark.slow
def test_simulation_shows_how_it_failed_and_what_happened(run: Simulation, arm: fa.Arm) -> None:
    events = (Event(0.01, "stop", arm.joints[1].name), Event(0.02, "diverged", None, HOSTILE))
    q = run.q.copy()
    q[-1, 0] = np.nan
    fields = {f.name: getattr(run, f.name) for f in dataclasses.fields(Simulation)}
    failed = Simulation(
        **(fields | {"events": events, "message": HOSTILE, "q": q, "status": Status.DIVERGED})
    )
    read = Read(failed)
    state, happened = read.tables
    assert state[1][1] == "nan"
    assert happened[1:] == [["0.01", "stop", arm.joints[1].name, ""], ["0.02", "diverged", "-", HOSTILE]]
    assert HOSTILE in read.lines[0]
    assert Status.DIVERGED.value in read.lines[1]
    assert "img" not in read.tags


def test_plan_shows_peaks_and_warnings(arm: fa.Arm) -> None:
    made = fa.plan(arm, [posture(arm, 1), posture(arm, 2)], velocity=1.0, acceleration=2.0)
    read = Read(dataclasses.replace(made, notes=(HOSTILE,)))
    (rows,) = read.tables
    for i, (name, start, end, *peaks, has, unit) in enumerate(rows[1:]):
        assert name == arm.joints[i].name
        assert [float(start), float(end)] == pytest.approx([made.q[0, i], made.q[-1, i]], rel=SHOWN)
        assert [float(x) for x in peaks] == pytest.approx(
            [np.abs(x[:, i]).max() for x in (made.qd, made.qdd, made.tau)], rel=SHOWN
        )
        assert (has == "-") == (arm.joints[i].max_effort is None)
        assert unit == ("rad, N m" if arm.joints[i].kind == "revolute" else "m, N")
    assert f"{made.duration:.6g} s" in read.captions[0]
    assert HOSTILE in read.lines


@pytest.mark.slow
def test_plan_of_a_line_that_cannot_be_followed_shows_what_can() -> None:
    arm = fa.load("ascher2")
    q0 = np.array([0.3, 0.9])
    place = fa.kinematics.forward(arm, q0)[:3, 3]
    made = Plan(arm, hand_line(arm, q0, 3.0 * place, 0.5, 1.0, attitude="free"), None, 1e-2)
    assert np.isnan(made.q).any(), "the line leaves the reach of the arm"
    (rows,) = Read(made).tables
    for i, row in enumerate(rows[1:]):
        known = made.qd[np.isfinite(made.qd[:, i]), i]
        assert float(row[3]) == pytest.approx(np.abs(known).max(), rel=SHOWN)


def test_comparison_shows_its_rows(arm: fa.Arm) -> None:
    row = Row("pd", 12.0, 12e3, 0.0125, 0.03, 0.0021, 0.0043, 3.5, 0.0, 0.02, 0.0067, 0.0, message=HOSTILE)
    lost = dataclasses.replace(row, name="pid", hand_rms=np.nan, message="")
    read = Read(Comparison(arm, 2.0, 1e-3, 20.0, 0.5, (1.0, 1.0, 1.0), (), (row, lost)))
    (rows,) = read.tables
    assert rows[1] == ["pd", "12", "12", "0.013", "2.1", "4.3", "6.7", "3.5", "-"]
    assert rows[2][4] == "nan"
    assert "0.5 kg" in read.lines[1]
    assert f"pd: {HOSTILE}." in read.lines
    assert "img" not in read.tags


@pytest.mark.slow
@pytest.mark.parametrize(("arm", "function"), [("ascher2", "jacobian"), ("ur5", "forward_dynamics")])
def test_equations_are_typeset(arm: str, function: str) -> None:
    """All of them, nothing that only a whole document knows, and every environment ended."""
    source = fa.generate(fa.load(arm), function, "latex")
    shown: Any = source._repr_latex_()
    ends = re.compile(r"\\(begin|end)\{(align\*|equation\*|bmatrix)\}")
    assert ends.findall(shown) == ends.findall(source.text)
    inside = re.sub(r"\\begin\{(align\*|equation\*)\}.*?\\end\{\1\}|\$[^$]*\$", "", shown, flags=re.DOTALL)
    assert "\\" not in inside
    assert arm != "ur5" or "\nupper_arm_link, outwards:" in shown, "names in headings are plain text"
    for equation in re.findall(r"\\begin\{align\*\}.*?\\end\{align\*\}", source.text, flags=re.DOTALL):
        assert equation in shown
    assert "\\documentclass" not in shown
    assert fa.generate(fa.load("ascher2"), "gravity", "c")._repr_latex_() is None, "code is not typeset"
