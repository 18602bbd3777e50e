"""`forearm demo`: what it computes holds, and its page is whole, escaped and opens without a network."""

from __future__ import annotations

import contextlib
import dataclasses
import html
import io
import json
import re
import warnings
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import forearm as fa
from forearm.benchmarks.timing import BenchmarkRow
from forearm.cli.demo_report.chapters import (
    NOISE_TAU,
    ROWS,
    VOLTAGE,
    Chapters,
    Learned,
    Studied,
    fastest,
    learn,
    on_board,
    studied,
    unknown_loads,
)
from forearm.cli.demo_report.counted import KNOWN, count_tables
from forearm.cli.demo_report.curves import HEIGHT, LEFT, RIGHT, WIDTH, torque_curves
from forearm.cli.demo_report.motion import POSTURES as THROUGH
from forearm.cli.demo_report.motion import Followed, Torques, follow, planned, torques
from forearm.cli.demo_report.page import DemoReport, report_page, table, write_report
from forearm.cli.demo_report.speed import micro, speed_rows, times
from forearm.cli.demo_report.still import POSTURES, still_picture
from forearm.cli.main import main
from forearm.codegen import generate
from forearm.svg import Scale, round_step
from forearm.trajectories import Plan

AGREE = 1e-12  # two ways to the same torques, of the largest: rounding alone
PIXEL = 0.051  # half a unit of the last digit in which places on the paper are written, and a little
SECTIONS = ("arm", "motion", "torques", "counts", "code", "fastest", "model", "study", "speed", "next")
VOID = {"meta", "path", "line", "polyline"}


class Page(HTMLParser):
    """Tags that were opened and not closed, attributes, text by section."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def made() -> Plan:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return planned(fa.load("puma560"))


@pytest.fixture(scope="module")
def needed(made: Plan) -> Torques:
    return torques(made)


@pytest.fixture(scope="module")
def known(made: Plan) -> Followed:
    return follow(made, made.arm)


@pytest.fixture(scope="module")
def report(made: Plan, needed: Torques, known: Followed) -> DemoReport:
    rows = (BenchmarkRow("one state", 2e-7, peer="NumPy", peer_seconds=3e-4, agreement=1e-16),)
    machine = {"cpu": "a <processor>", "python": "3", "versions": {"numpy": "2"}}
    source = generate(made.arm, "inverse_dynamics", "c")
    learned = Learned(np.full(made.arm.n, 2.0), np.full(made.arm.n, 0.5), 1000)
    study = Studied(200, (("<energy>", "J", 1.0, 2.0, 3.0, 4.0),), 0.25)
    chapters = Chapters(made, on_board(made.arm), learned, study)
    counts, findings = count_tables(made.arm), ("odd & <b>bold</b>",)
    return DemoReport(made.arm, findings, needed, known, known, counts, source, chapters, rows, machine)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("demo") / "out"
    text = io.StringIO()
    with contextlib.redirect_stdout(text), pytest.MonkeyPatch.context() as patched:
        patched.setattr("forearm.cli.demo_report.speed.REPEATS", 1)
        patched.setattr("forearm.cli.demo_report.chapters.ROWS", 60)
        assert main(["demo", "--output", str(folder)]) == 0
    return text.getvalue(), folder


@pytest.mark.slow
def test_the_story_ends_with_where_the_page_is(told: tuple[str, Path]) -> None:
    text, folder = told
    last = text.splitlines()[-1]
    assert last.endswith((folder / "report.html").resolve().as_uri())
    assert "equal to the last bit: True" in text
    assert [int(n) for n in re.findall(r"^(\d+)\. ", text, flags=re.M)] == list(range(1, 14))
    assert {p.name for p in folder.iterdir()} >= {
        "report.html",
        "motion.csv",
        "puma560.toml",
        "puma560_inverse_dynamics.c",
        "puma560-studio.html",
        "cortex-m4",
    }
    assert not [p for p in folder.iterdir() if p.name.startswith(".")]


@pytest.mark.long
def test_the_figures_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--output", str(tmp_path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["equal"]
    assert document["hand_poses_apart"] < 1e-12


@pytest.mark.slow
def test_the_page_is_whole_and_fetches_nothing(told: tuple[str, Path]) -> None:
    text = (told[1] / "report.html").read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert page.open == []
    assert [value for tag, name, value in page.attributes if (tag, name) == ("section", "id")] == list(
        SECTIONS
    )
    fetching = [
        v for _, name, v in page.attributes if name in ("src", "href", "data", "action", "xlink:href")
    ]
    assert all(value.startswith("#") for value in fetching)
    assert "{{" not in text
    assert "url(" not in text
    assert "default-src 'none'" in text
    player = next(value for tag, name, value in page.attributes if (tag, name) == ("iframe", "srcdoc"))
    assert player.count('<script type="application/json" id="studio-data">') == 1
    assert player.rstrip().endswith("</html>")


@pytest.mark.slow
def test_the_page_holds_the_code_that_was_written(told: tuple[str, Path]) -> None:
    text = (told[1] / "report.html").read_text(encoding="utf-8")
    code = re.search(r'aria-label="generated C"><code>(.*?)</code></pre>', text, flags=re.S)
    assert code is not None
    assert html.unescape(code[1]) == (told[1] / "puma560_inverse_dynamics.c").read_text(encoding="utf-8")


def test_torques_are_those_of_the_reference(made: Plan, needed: Torques) -> None:
    for k in range(0, len(made.t), 397):
        state = (made.q[k], made.qd[k], made.qdd[k])
        for arm, block in ((made.arm, needed.real), (made.arm.rigid(), needed.rigid)):
            assert (
                np.abs(fa.dynamics.inverse(arm, *state, "kane") - block[k]).max()
                <= AGREE * np.abs(needed.real).max()
            )


def test_friction_takes_power_and_rotors_resist_acceleration(made: Plan, needed: Torques) -> None:
    small = AGREE * np.abs(needed.real).max()
    assert ((needed.real - needed.smooth) * made.qd >= -small).all()
    inertia = np.array([j.motor.gear_ratio**2 * j.motor.rotor_inertia for j in made.arm.joints if j.motor])
    assert np.abs(needed.smooth - needed.rigid - inertia * made.qdd).max() <= small
    assert (needed.peaks[:, 2] > needed.peaks[:, 0]).all()


@pytest.mark.slow
def test_a_controller_that_knows_friction_is_nearer_to_the_plan(made: Plan, known: Followed) -> None:
    naive = follow(made, made.arm.rigid())
    assert known.run.ok
    assert naive.run.ok
    assert 0.0 < 10.0 * known.off < naive.off < 0.1
    hands = [fa.kinematics.forward(made.arm, q)[:3, 3] for q in (known.run.q[-1], made.q[-1])]
    assert np.linalg.norm(hands[0] - hands[1]) <= known.off


@pytest.mark.slow
def test_the_fastest_motion_stays_within_its_limits_and_passes_the_configurations(made: Plan) -> None:
    quickest = fastest(made.arm)
    voltages = np.array(
        [
            fa.drives.voltage_of(made.arm, tau, qd)
            for tau, qd in zip(quickest.tau[::7], quickest.qd[::7], strict=True)
        ]
    )
    limits = np.array([joint.max_effort for joint in made.arm.joints])
    assert 0.9 < np.abs(voltages).max() / VOLTAGE < 1.001  # some limit binds, and none is exceeded
    assert (np.abs(quickest.tau) <= limits * 1.001).all()
    assert quickest.duration < 0.8 * made.duration
    for q in THROUGH:
        assert np.linalg.norm(quickest.q - q, axis=1).min() < 0.05  # samples lie beside the waypoints


@pytest.mark.slow
def test_the_identified_model_leaves_only_the_noise(made: Plan, known: Followed) -> None:
    learned = learn(known, made.arm)
    assert learned.samples == len(known.run.t)
    noise = NOISE_TAU * np.abs(known.run.tau).max(axis=0)
    assert (learned.after < 1.2 * noise).all()  # what is left is the noise that was put in
    assert (learned.after > 0.5 * noise).all()
    assert (learned.before > learned.after).all()


@pytest.mark.slow
def test_the_study_moves_as_the_plan_whose_torques_are_shown(made: Plan, needed: Torques) -> None:
    """The torques of its motion are those of the plan's first leg: loads add to the same peaks."""
    (by_arm,) = unknown_loads(made).motions.values()
    (motion,) = by_arm.values()
    assert np.abs(motion.q - made.q[: motion.steps + 1]).max() <= AGREE  # both every millisecond
    assert abs(1e-3 * (motion.steps + 1) - made.motion.times[1]) <= 1e-3
    peaks = np.abs(fa.compile(made.arm).inverse_dynamics(motion.q, motion.qd, motion.qdd)).max(axis=0)
    assert peaks[1] == pytest.approx(needed.peaks[1, 2], rel=AGREE)  # the largest torque that step 4 shows


@pytest.mark.long
def test_the_study_has_plausible_quantiles(made: Plan) -> None:
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
def test_counts_are_as_printed_and_ours_are_fewest(made: Plan) -> None:
    general, customised, own = count_tables(made.arm)
    assert [row.pair for row in general.rows] == [
        (66271, 51548), (4388, 3586), (2195, 1719), (852, 738), (475, 404), (378, 314),
    ]  # fmt: skip
    assert customised.rows[0].pair == (208, 152)
    assert len(general.rows) == len(KNOWN) + 1
    for found in (general, customised, own):
        *theirs, ours = found.rows
        assert ours.is_ours
        assert not any(row.is_ours or row.total <= ours.total for row in theirs)
    counts = generate(made.arm.rigid(), "inverse_dynamics", "c").counts
    assert own.rows[-1].pair == (counts.mul, counts.add)


@pytest.mark.slow
def test_what_is_timed_computes_the_same(made: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forearm.cli.demo_report.speed.REPEATS", 1)
    rows = speed_rows(made.arm)
    assert len(rows) == 3
    for row in rows:
        assert row.agreement is not None
        assert row.agreement < AGREE
        assert row.peer_seconds is not None
    assert (micro(2.5e-7), micro(None), times(1234.5), times(31.42), times(None)) == (
        "0.25",
        "-",
        "1,234",
        "31.4",
        "-",
    )


def test_curves_lie_where_the_values_are() -> None:
    rng = np.random.default_rng(3)
    t, a, b = np.linspace(0.5, 3.5, 50), rng.normal(2.0, 3.0, 50), rng.normal(-1.0, 4.0, 50)
    drawn = torque_curves(t, a, b, 'joint "<1>"')
    assert "&lt;1&gt;" in drawn
    # Every line of the grid has its number: what two of them say tells the scale.
    ticks = re.findall(r'<text x="[\d.]+" y="([\d.]+)" text-anchor="end">([-\d.]+)</text>', drawn)
    (y0, v0), (y1, v1) = [(float(y) - 4.0, float(v)) for y, v in (ticks[0], ticks[-1])]
    for name, values in (("without", a), ("with", b)):
        path = re.search(rf'class="{name}" d="M([^"]+)"', drawn)
        assert path is not None
        x, y = np.array([[float(v) for v in pair.split(",")] for pair in path[1].split()]).T
        found = y0 + (values - v0) * (y1 - y0) / (v1 - v0)
        assert np.abs(y - found).max() <= 10.0 * PIXEL  # two rounded ticks, some of their distance away
        assert np.abs(x - (LEFT + (t - 0.5) / 3.0 * (WIDTH - RIGHT - LEFT))).max() <= PIXEL
        assert ((y > 0.0) & (y < HEIGHT)).all()


@pytest.mark.parametrize("span", [1e-5, 0.3, 1.0, 7.3, 99.0, 2.4e6])
def test_ticks_are_round_and_within(span: float) -> None:
    ticks = Scale(-0.4 * span, 0.6 * span, 0.0, 1.0).ticks(5)
    assert 0.0 in ticks
    assert 2 <= len(ticks) <= 6
    assert min(ticks) >= -0.4 * span
    assert max(ticks) <= 0.6 * span
    assert f"{round_step(span):.0e}"[0] in "125"


@pytest.mark.slow
def test_the_still_shows_postures_within_the_paper(known: Followed) -> None:
    drawn = still_picture(known.run)
    points = np.array(
        [
            [float(v) for v in pair.split(",")]
            for s in re.findall(r'points="([^"]+)"', drawn)
            for pair in s.split()
        ]
    )
    assert (points >= 0.0).all()
    assert (points <= (WIDTH, 330.0)).all()
    assert drawn.count('class="bone"') % POSTURES == 0


@pytest.mark.slow
def test_whatever_comes_in_is_escaped(report: DemoReport) -> None:
    evil = '<img src=x onerror="1">&{{style}}'
    source = dataclasses.replace(
        report.source, text=f"/* {evil} */</code></pre><script>1</script>", name=evil
    )
    text = report_page(
        dataclasses.replace(report, source=source, findings=(evil,), arm=_renamed(report, evil))
    )
    page = Page()
    page.feed(text)
    assert page.open == []
    assert not [tag for tag, name, _ in page.attributes if tag == "img" or name == "onerror"]
    assert "<script>1" not in text
    assert html.escape(evil) in text
    assert "a &lt;processor&gt;" in text
    assert "odd &amp; &lt;b&gt;bold&lt;/b&gt;" in report_page(report)
    assert "&lt;i&gt;" in table(["<i>"], [["<i>"]])


def _renamed(report: DemoReport, name: str) -> fa.Arm:
    try:
        return report.arm.replace(name=name)
    except fa.ForearmError:  # names of arms are words; the page does not rely on it
        object.__setattr__(arm := report.arm.replace(), "name", name)
        return arm


@pytest.mark.slow
def test_the_page_is_written_whole_or_not_at_all(report: DemoReport, tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(fa.InputError, match="cannot be written"):
        write_report(report, tmp_path / "report.html")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_a_folder_that_cannot_be_made_is_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken").touch()
    assert main(["demo", "--output", str(tmp_path / "taken" / "in")]) == 2
    err = capsys.readouterr().err
    assert "--output" in err
    assert "Name another folder." in " ".join(err.split())
