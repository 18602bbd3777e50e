"""`forearm demo`: what it computes holds, and its page is whole, escaped and opens without a network."""

from __future__ import annotations

import contextlib
import dataclasses
import html
import io
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cli.lines import Capture, document, refused

import forearm as fa
from forearm.charts import Chart, Curve, look
from forearm.cli.demo_report.chapters import NOISE_TAU, ROWS, VOLTAGE, Learned, learn, studied, unknown_loads
from forearm.cli.demo_report.motion import POSTURES as THROUGH
from forearm.cli.demo_report.motion import planned, torques
from forearm.cli.demo_report.page import DemoReport, report_page, write_report
from forearm.cli.demo_report.speed import micro, times
from forearm.cli.demo_report.still import HEIGHT as STILL_HEIGHT
from forearm.cli.demo_report.still import POSTURES, still_picture
from forearm.cli.demo_report.still import WIDTH as STILL_WIDTH
from forearm.cli.main import main
from forearm.codegen import generate
from forearm.svg import LEFT, RIGHT, Scale, chart_svg, round_step
from forearm.tables import html_table
from forearm.trajectories import Plan

THIN = 2  # of samples, those that a model is identified from
AGREE = 1e-12  # two ways to the same torques, of the largest: rounding alone
PIXEL = 0.051  # half a unit of the last digit in which places on the paper are written, and a little
SECTIONS = ("arm", "motion", "torques", "counts", "code", "fastest", "model", "study", "speed", "next")
VOID = {"meta", "path", "line", "polyline", "rect", "circle"}


class Page(HTMLParser):
    """Tags that were opened and not closed, attributes, text by section."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


@dataclass(frozen=True)
class Told:
    """What a demo printed, wrote and put into its report, and the plan that it followed."""

    text: str
    folder: Path
    report: DemoReport
    plan: Plan


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    folder, text = tmp_path_factory.mktemp("demo") / "out", io.StringIO()
    reports: list[DemoReport] = []

    def write(report: DemoReport, path: Path) -> None:
        reports.append(report)
        write_report(report, path)

    def thinned(known: Any, arm: fa.Arm) -> Learned:
        fields = {name: getattr(known.run, name)[::THIN] for name in ("t", "q", "tau")}
        return learn(SimpleNamespace(run=SimpleNamespace(**fields)), arm)  # type: ignore[arg-type]

    with contextlib.redirect_stdout(text), pytest.MonkeyPatch.context() as patched:
        patched.setattr("forearm.cli.demo_report.speed.REPEATS", 1)
        patched.setattr("forearm.cli.demo_report.speed.MANY", 500)
        patched.setattr("forearm.cli.demo_report.chapters.ROWS", 60)
        patched.setattr("forearm.cli.demo.learn", thinned)
        patched.setattr("forearm.cli.demo.write_report", write)
        assert main(["demo", "--output", str(folder)]) == 0
    return Told(text.getvalue(), folder, reports[0], planned(reports[0].arm))


@pytest.mark.slow
def test_the_story_ends_with_where_the_page_is(told: Told) -> None:
    last = told.text.splitlines()[-1]
    assert last.endswith((told.folder / "report.html").resolve().as_uri())
    assert "equal to the last bit: True" in told.text
    assert [int(n) for n in re.findall(r"^(\d+)\. ", told.text, flags=re.M)] == list(range(1, 14))
    files = {p.name for p in told.folder.iterdir()}
    assert files >= {
        "report.html",
        "motion.csv",
        "puma560.toml",
        "puma560_inverse_dynamics.c",
        "puma560-studio.html",
        "cortex-m4",
    }
    assert not [name for name in files if name.startswith(".")]


@pytest.mark.long
def test_the_figures_as_json(tmp_path: Path, capsys: Capture) -> None:
    figures = document(capsys, "demo", "--output", tmp_path)
    assert figures["equal"]
    assert figures["hand_poses_apart"] < 1e-12


@pytest.mark.slow
def test_the_page_is_whole_fetches_nothing_and_holds_the_code_that_was_written(told: Told) -> None:
    text = (told.folder / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert [value for tag, name, value in page.attributes if (tag, name) == ("section", "id")] == [*SECTIONS]
    fetching = ("src", "href", "data", "action", "xlink:href")
    assert all(value.startswith("#") for _, name, value in page.attributes if name in fetching)
    assert "{{" not in text
    assert "url(" not in text
    assert "default-src 'none'" in text
    player = next(value for tag, name, value in page.attributes if (tag, name) == ("iframe", "srcdoc"))
    assert player.count('<script type="application/json" id="studio-data">') == 1
    assert player.rstrip().endswith("</html>")
    code = re.search(r'aria-label="generated C"><code>(.*?)</code></pre>', text, flags=re.S)
    assert code is not None
    assert html.unescape(code[1]) == (told.folder / "puma560_inverse_dynamics.c").read_text(encoding="utf-8")


@pytest.mark.slow
def test_torques_are_those_of_the_reference_and_of_their_parts(told: Told) -> None:
    made, needed = told.plan, told.report.torques
    small = AGREE * np.abs(needed.real).max()
    for k in range(0, len(made.t), 397):
        state = (made.q[k], made.qd[k], made.qdd[k])
        for arm, block in ((made.arm, needed.real), (made.arm.rigid(), needed.rigid)):
            assert np.abs(fa.dynamics.inverse(arm, *state, "kane") - block[k]).max() <= small
    assert ((needed.real - needed.smooth) * made.qd >= -small).all(), "friction takes power"
    inertia = np.array([j.motor.gear_ratio**2 * j.motor.rotor_inertia for j in made.arm.joints if j.motor])
    assert np.abs(needed.smooth - needed.rigid - inertia * made.qdd).max() <= small
    assert (needed.peaks[:, 2] > needed.peaks[:, 0]).all()


@pytest.mark.slow
def test_a_controller_that_knows_friction_is_nearer_to_the_plan(told: Told) -> None:
    known, naive = told.report.known, told.report.naive
    assert known.run.ok
    assert naive.run.ok
    assert 0.0 < 10.0 * known.off < naive.off < 0.1
    hands = [fa.kinematics.forward(told.plan.arm, q)[:3, 3] for q in (known.run.q[-1], told.plan.q[-1])]
    assert np.linalg.norm(hands[0] - hands[1]) <= known.off


@pytest.mark.slow
def test_the_fastest_motion_stays_within_its_limits_and_passes_the_configurations(told: Told) -> None:
    arm, quickest = told.plan.arm, told.report.chapters.fastest
    rows = zip(quickest.tau[::7], quickest.qd[::7], strict=True)
    voltages = np.array([fa.drives.voltage_of(arm, tau, qd) for tau, qd in rows])
    limits = np.array([joint.max_effort for joint in arm.joints])
    assert 0.9 < np.abs(voltages).max() / VOLTAGE < 1.001  # some limit binds, and none is exceeded
    assert (np.abs(quickest.tau) <= limits * 1.001).all()
    assert quickest.duration < 0.8 * told.plan.duration
    for q in THROUGH:
        assert np.linalg.norm(quickest.q - q, axis=1).min() < 0.05  # samples lie beside the waypoints


@pytest.mark.slow
def test_the_identified_model_leaves_only_the_noise(told: Told) -> None:
    learned, run = told.report.chapters.learned, told.report.known.run
    assert learned.samples == len(run.t[::THIN])
    noise = NOISE_TAU * np.abs(run.tau).max(axis=0)
    assert (learned.after < 1.2 * noise).all()  # what is left is the noise that was put in
    assert (learned.after > 0.5 * noise).all()
    assert (learned.before > learned.after).all()


@pytest.mark.slow
def test_the_study_moves_as_the_plan_whose_torques_are_shown(told: Told) -> None:
    """The torques of its motion are those of the plan's first leg: loads add to the same peaks."""
    made = told.plan
    (by_arm,) = unknown_loads(made).motions.values()
    (motion,) = by_arm.values()
    assert np.abs(motion.q - made.q[: motion.steps + 1]).max() <= AGREE  # both every millisecond
    assert abs(1e-3 * (motion.steps + 1) - made.motion.times[1]) <= 1e-3
    peaks = np.abs(fa.compile(made.arm).inverse_dynamics(motion.q, motion.qd, motion.qdd)).max(axis=0)
    # the largest torque that step 4 shows
    assert peaks[1] == pytest.approx(told.report.torques.peaks[1, 2], rel=AGREE)


@pytest.mark.long
def test_the_study_has_plausible_quantiles() -> None:
    made = planned(fa.load("puma560"))
    found = studied(made)
    assert found.rows == ROWS
    for _, _, low, median, high, largest in found.table:
        assert low < median < high <= largest
    torque = next(values for name, _, *values in found.table if name.startswith("peak_torque"))
    limit = made.arm.joints[1].max_effort
    assert limit is not None
    nominal = torques(made).peaks[1, 2]
    assert nominal < torque[1] < 1.3 * nominal  # what the plan needs, with a load on top
    assert torque[3] < limit
    assert found.overloaded == 0.0


@pytest.mark.slow
def test_our_counts_are_fewest(told: Told) -> None:
    for found in told.report.counts:
        *theirs, ours = found.rows
        assert ours.is_ours
        assert not any(row.is_ours or row.total <= ours.total for row in theirs)
    counts = generate(told.plan.arm.rigid(), "inverse_dynamics", "c").counts
    assert ours.pair == (counts.mul, counts.add)


@pytest.mark.slow
def test_what_is_timed_computes_the_same(told: Told) -> None:
    assert len(told.report.speed) == 3
    for row in told.report.speed:
        assert row.agreement is not None
        assert row.agreement < AGREE
        assert row.peer_seconds is not None
    assert (micro(2.5e-7), micro(None)) == ("0.25", "-")
    assert (times(1234.5), times(31.42), times(None)) == ("1,234", "31.4", "-")


def test_curves_lie_where_the_values_are() -> None:
    rng = np.random.default_rng(3)
    t, wide, high = np.linspace(0.5, 3.5, 50), 460.0, 170.0
    values = [rng.normal(2.0, 3.0, 50), rng.normal(-1.0, 4.0, 50)]
    marks = [Curve(t, y, "", look(k)) for k, y in enumerate(values)]
    drawn = chart_svg(Chart("time, s", "torque, N m", marks), 'joint "<1>"', (wide, high))
    assert "&lt;1&gt;" in drawn
    # Every line of the grid has its number: what two of them say tells the scale.
    ticks = re.findall(r'<text x="[\d.]+" y="([\d.]+)" text-anchor="end">([-\d.]+)</text>', drawn)
    (y0, v0), (y1, v1) = [(float(y) - 4.0, float(v)) for y, v in (ticks[0], ticks[-1])]
    paths = re.findall(r'<path d="M([^"]+)" style="stroke: var\(--curve\d', drawn)
    for path, expected in zip(paths, values, strict=True):
        x, y = np.array([[float(v) for v in pair.strip("L").split(",")] for pair in path.split()]).T
        found = y0 + (expected - v0) * (y1 - y0) / (v1 - v0)
        assert np.abs(y - found).max() <= 10.0 * PIXEL  # two rounded ticks, some of their distance away
        assert np.abs(x - (LEFT + (t - 0.5) / 3.0 * (wide - RIGHT - LEFT))).max() <= PIXEL
        assert ((y > 0.0) & (y < high)).all()


def test_ticks_are_round_and_within() -> None:
    for span in (1e-5, 0.3, 1.0, 7.3, 99.0, 2.4e6):
        ticks = Scale(-0.4 * span, 0.6 * span, 0.0, 1.0).ticks(5)
        assert 0.0 in ticks
        assert 2 <= len(ticks) <= 6
        assert -0.4 * span <= min(ticks) < max(ticks) <= 0.6 * span
        assert f"{round_step(span):.0e}"[0] in "125"


@pytest.mark.slow
def test_the_still_shows_postures_within_the_paper(told: Told) -> None:
    drawn = still_picture(told.report.known.run)
    pairs = [pair for s in re.findall(r'points="([^"]+)"', drawn) for pair in s.split()]
    points = np.array([[float(v) for v in pair.split(",")] for pair in pairs])
    assert (points >= 0.0).all()
    assert (points <= (STILL_WIDTH, STILL_HEIGHT)).all()
    assert drawn.count('class="bone"') % POSTURES == 0


@pytest.mark.slow
def test_whatever_comes_in_is_escaped(told: Told) -> None:
    evil = '<img src=x onerror="1">&{{style}}'
    text = f"/* {evil} */</code></pre><script>1</script>"
    source = dataclasses.replace(told.report.source, text=text, name=evil)
    # names of arms are words; the page does not rely on it
    object.__setattr__(arm := told.report.arm.replace(), "name", evil)
    machine = {"cpu": "a <processor>", "python": "3", "versions": {"numpy": "2"}}
    changed = dataclasses.replace(
        told.report, source=source, findings=(evil, "odd & <b>bold</b>"), arm=arm, machine=machine
    )
    text = report_page(changed)
    assert not [tag for tag, name, _ in Page(text).attributes if tag == "img" or name == "onerror"]
    assert "<script>1" not in text
    assert html.escape(evil) in text
    assert "a &lt;processor&gt;" in text
    assert "odd &amp; &lt;b&gt;bold&lt;/b&gt;" in text
    assert "&lt;i&gt;" in html_table(["<i>"], [["<i>"]])


@pytest.mark.slow
def test_the_page_is_written_whole_or_not_at_all(told: Told, tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(fa.InputError, match="cannot be written"):
        write_report(told.report, tmp_path / "report.html")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_a_folder_that_cannot_be_made_is_said_so(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "taken").touch()
    said = refused(capsys, "demo", "--output", tmp_path / "taken" / "in")
    assert "--output" in said
    assert "Name another folder." in said
