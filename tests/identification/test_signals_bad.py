"""Bad logs, each recognised by a sentence that names the column: refused, or said and gone on with."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from numpy.typing import NDArray

from forearm import Arm, Limits, Motor
from forearm.errors import InputError
from forearm.identification.samples import PreparedLog
from forearm.identification.signals import table as tables
from forearm.identification.signals.prepare import prepare_log
from forearm.logs import arrow
from forearm.logs.table import write_table

Floats = NDArray[np.float64]
Log = dict[str, Floats]
RATIOS = (80.0, -101.0, 120.0)
N = 3


def geared() -> Arm:
    """An arm whose joints have round figures for messages: limits, speeds, efforts and gears."""
    arm = random_arm(3, n=3, prismatic=False, fixed=False)
    joints = [
        replace(j, limits=Limits(-2.5, 2.5), max_speed=20.0, max_effort=40.0, motor=Motor(gear_ratio=ratio))
        for j, ratio in zip(arm.joints, RATIOS, strict=True)
    ]
    return arm.replace(tree=joints)


ARM = geared()
T: Floats = 2e-3 * np.arange(2000, dtype=np.float64)
PHASE = T[:, None] * np.array([3.0, 4.1, 5.3]) + np.array([0.3, 1.2, 2.0])
Q, QD, QDD = (
    np.sin(PHASE),
    np.array([3.0, 4.1, 5.3]) * np.cos(PHASE),
    -(np.array([3.0, 4.1, 5.3]) ** 2) * np.sin(PHASE),
)
RNG = np.random.default_rng(4)
GOOD: Log = {
    "t": T,
    "q": Q + 1e-5 * RNG.normal(size=Q.shape),
    "tau": 20.0 * np.cos(PHASE) + 0.1 * RNG.normal(size=Q.shape),
}


def changed(**arrays: Any) -> Log:
    return {**GOOD, **{x: np.asarray(array, dtype=np.float64) for x, array in arrays.items()}}


def at(array: Floats, place: Any, value: Any) -> Floats:
    array = array.copy()
    array[place] = value
    return array


def rows(order: Any) -> Log:
    return {x: array[order] for x, array in GOOD.items()}


def as_columns(log: Log) -> Log:
    named = {f"{x}{i + 1}": log[x][:, i] for x in log if x != "t" for i in range(N)}
    return {"t": log["t"], **named}


def said(prepared: PreparedLog) -> str:
    return "\n".join(prepared.signals.findings)


def used(prepared: PreparedLog, joint: int) -> tuple[Floats, Floats]:
    """Times and whether the effort of a joint is used at them."""
    blocks = list(prepared.blocks())
    return np.concatenate([b.t for b in blocks]), np.concatenate([b.usable[:, joint] for b in blocks])


def test_nothing_is_said_of_a_good_log() -> None:
    findings = prepare_log(ARM, as_columns(GOOD)).signals.findings
    assert len(findings) == 1
    assert re.fullmatch(
        r"Positions are zero-phase filtered, cut-off [\d.]+ Hz, chosen from their noise: polynomials of "
        r"degree 4 over \d+ samples, [\d.]+ ms\.",
        findings[0],
    )


SWAPPED = np.arange(2000)
SWAPPED[[55, 56]] = 56, 55
REFUSED: dict[str, tuple[Log, str]] = {
    "degrees": (
        changed(q=np.degrees(GOOD["q"])),
        r"log, column 'q1': reaches -?57\.\d+, beyond the limits of joint1, -2.5 to 2.5. Are these "
        r"degrees\? Set units to deg \(--units deg\).* If the values are right, set units to rad\.",
    ),
    "motor rad": (
        changed(q=GOOD["q"] * RATIOS),
        r"column 'q1': reaches -?80\.\d+, .* or rad of the motor, with gear ratio 80\? Divide them by 80",
    ),
    "motor turns": (
        changed(q=GOOD["q"] * RATIOS / (2.0 * np.pi)),
        r"column 'q1': reaches -?12.7\d+, .* motor turns, with gear ratio 80\? Multiply them by "
        "2 pi / 80",
    ),
    "ms": (changed(t=T * 1e3), r"log, column 't': rows are 2 s apart. Are times in ms\? Set units to ms"),
    "us": (changed(t=T * 1e6), r"column 't': rows are 2000 s apart. Are times in us\?"),
    "ns": (changed(t=T * 1e9), r"column 't': rows are 2e\+06 s apart. Are times in ns\?"),
    "ms by velocities": (
        changed(t=T * 1e3, qd=QD),
        r"column 't': positions change 100\d times more slowly than the velocities. Are times in ms\?",
    ),
    "velocities in degrees": (
        changed(qd=np.degrees(QD), qdd=QDD),
        r"column 'qd1', 'qd2', 'qd3': 57.3 times how fast 'q1', 'q2', 'q3' change: velocities in degrees "
        r"per s\? Bring positions .* Or compute derivatives from the positions: derivatives='position'\.",
    ),
    "velocity of the motor": (
        changed(qd=QD * [1.0, 101.0, 1.0], qdd=QDD),
        r"column 'qd2': 101 times how fast 'q2' changes: velocities of the motor, gear ratio 101\? Div",
    ),
    "sign of a velocity": (
        changed(qd=QD * [1.0, 1.0, -1.0], qdd=QDD),
        r"column 'qd3' has the opposite sign of the change of 'q3'\.",
    ),
    "velocities swapped": (
        changed(qd=QD[:, [1, 0, 2]], qdd=QDD),
        r"column 'qd1' is the velocity of 'q2', not of 'q1'. Are columns swapped\?",
    ),
    "times in disorder": (
        changed(t=np.random.default_rng(1).permutation(T)),
        r"column 't': time goes back \d+ times, first at row \d+. Sort the rows by time",
    ),
    "times that stand": (changed(t=np.zeros(2000)), r"column 't': times never increase"),
    "efforts that are constant": (
        changed(tau=np.ones((2000, 3))),
        r"log: all effort columns are constant \(tau1, tau2, tau3\); there is nothing to fit",
    ),
    "no number": (
        changed(q=np.full((2000, 3), np.nan)),
        r"no row has values in every motion column. 2000 rows dropped",
    ),
    "few rows": (rows(slice(0, 7)), r"the longest of 1 pieces between gaps has 7 rows; expected at least 9"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_logs_that_are_refused(name: str) -> None:
    log, sentence = REFUSED[name]
    with pytest.raises(InputError, match=sentence):
        prepare_log(ARM, as_columns(log))


SAID: dict[str, tuple[Log, str]] = {
    "velocities in degrees, not used": (
        changed(qd=np.degrees(QD)),
        r"'qd1', 'qd2', 'qd3': 57.3 times .* Velocities are computed from the positions instead\.",
    ),
    "zero": (
        changed(q=GOOD["q"] + [0.0, 2.2, 0.0]),
        r"'q2' reaches 3.2, beyond the limits of joint2, -2.5 to 2.5. Does its zero differ",
    ),
    "outlier": (
        changed(q=at(GOOD["q"], (500, 2), GOOD["q"][500, 2] + 0.3)),
        r"'q3': 1 row dropped as outliers; first row 500 \(t = 1 s\), by 0\.3\d* rad\.",
    ),
    "step": (
        changed(q=GOOD["q"] + np.outer(T > 2.0, [0.0, 0.4, 0.0])),
        r"'q2' jumps 1 time, first at row 1001 \(t = 2.002 s\) by 0.39\d* rad; the log is split there",
    ),
    "turns": (
        changed(q=(GOOD["q"] + np.outer(T, [0.0, 1.0, 0.0]) + np.pi) % (2.0 * np.pi) - np.pi),
        r"'q2' jumps by whole turns \d times?, as angles wrapped to one turn do; unwrapped",
    ),
    "constant position": (
        changed(q=at(GOOD["q"], (slice(None), 1), 0.3)),
        r"'q2' is constant, 0.3 in every row, while others move; was the joint held, or is the sensor off",
    ),
    "an effort without a number": (
        changed(tau=at(GOOD["tau"], (slice(None), 1), np.nan)),
        r"'tau2' has no values\. It is not used\.",
    ),
    "constant effort": (
        changed(tau=at(GOOD["tau"], (slice(None), 1), 0.0)),
        r"'tau2' is constant, 0 in every row; is the sensor off\? It is not used\.",
    ),
    "clipped": (
        changed(tau=np.clip(GOOD["tau"], [-99.0, -15.0, -99.0], [99.0, 12.0, 99.0])),
        r"'tau2' is clipped at -15 and 12 N m: 49\.1 % of the moving samples, which are not used\.",
    ),
    "steps": (
        changed(tau=np.round(GOOD["tau"] / 0.8) * 0.8),
        r"'tau1' is quantised in steps of 0.8 N m, equivalent to noise of 0.231 N m",
    ),
    "sign": (
        changed(tau=np.maximum(GOOD["tau"], 0.0)),
        r"'tau1' never changes sign: 52\.4 % of the moving samples, which are not used. Was its sign lost\?",
    ),
    "held": (
        changed(q=GOOD["q"][np.arange(2000) // 2 * 2]),
        r"'q1' to 'q3' repeat the previous row in 49\.9 % of the rows while the arm moves.",
    ),
    "velocities alone": (
        changed(qd=QD),
        r"Velocities are logged \('qd1', \.\.\.\), accelerations are not: both are computed",
    ),
    "mN m": (
        changed(tau=1e3 * GOOD["tau"]),
        r"'tau1', 'tau2', 'tau3': beyond the largest efforts of the joints; .* Are they in mN m\?",
    ),
    "motor torque": (
        changed(tau=GOOD["tau"] / RATIOS),
        r"'tau1', 'tau2', 'tau3': below max_effort divided by the gear ratio. Are these mot",
    ),
    "missing positions": (
        changed(q=at(GOOD["q"], (slice(700, 710), 2), np.nan)),
        r"10 rows dropped for missing values: 'q3' \(10\)\.\n't': 1 gap splits the log "
        r"\(rows are 0.002 s apart\); the longest, 0.022 s, begins at 1.398 s",
    ),
    "missing efforts": (
        changed(tau=at(GOOD["tau"], (slice(700, 710), 2), np.inf)),
        r"Values are missing in 'tau3' \(10\): these samples are not used for the joint",
    ),
    "gap": (
        rows(np.delete(np.arange(2000), slice(600, 800))),
        r"'t': 1 gap splits the log \(rows are 0.002 s apart\); the longest, 0.402 s, begins at 1.198 s",
    ),
    "repeated": (
        rows(np.insert(np.arange(2000), 77, 76)),
        r"'t': 1 row dropped that repeats the time of the previous row, first row 77",
    ),
    "coarse times": (
        changed(t=np.round(T, 2)),
        r"'t': 1\d\d\d rows dropped that repeat .* The time resolution is too coarse",
    ),
    "late": (rows(SWAPPED), r"'t': 1 row came late, first row 56; sorted by time"),
    "reset": (
        changed(t=np.where(T > 2.0, T - 2.0, T)),
        r"'t': the clock goes back 1 time, first at row 1001 from 2 s to 0.002 s; the log is split there",
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_logs_that_are_used_with_a_sentence(name: str) -> None:
    log, sentence = SAID[name]
    prepared = prepare_log(ARM, as_columns(log))
    assert re.search(sentence, said(prepared)), said(prepared)
    samples = [block.t for block in prepared.blocks()]
    assert sum(map(len, samples)) == prepared.signals.used > 0
    assert [block.starts for block in prepared.blocks()].count(True) == prepared.signals.pieces
    assert len(prepared.signals.findings) <= 4


@pytest.mark.parametrize("name", ["outlier", "turns", "repeated", "late"])
def test_what_was_put_right_moves_as_a_good_log_does(name: str) -> None:
    """Accelerations beside those of the motion in closed form."""
    prepared = prepare_log(ARM, as_columns(SAID[name][0]), cutoff=8.0)
    clean = prepare_log(ARM, as_columns(GOOD), cutoff=8.0)
    for one in (prepared, clean):
        qdd = np.concatenate([block.qdd for block in one.blocks()])
        t = np.concatenate([block.t for block in one.blocks()])
        truth = np.array([np.interp(t, T, x) for x in QDD.T]).T
        assert np.abs(qdd - truth).max() < 0.15


def test_efforts_that_say_nothing_are_not_used() -> None:
    _, is_used = used(prepare_log(ARM, SAID["constant effort"][0]), 1)
    assert not is_used.any()
    t, is_used = used(prepare_log(ARM, SAID["missing efforts"][0]), 2)
    np.testing.assert_array_equal(is_used, (t < T[700]) | (t > T[709]))
    log = SAID["clipped"][0]
    t, is_used = used(prepare_log(ARM, log), 1)
    here = log["tau"][np.searchsorted(T, t), 1]
    np.testing.assert_array_equal(is_used, (here > -15.0) & (here < 12.0))


def test_efforts_at_rest_are_not_taken_for_clipped() -> None:
    still = np.minimum(T, 1.5)[:, None] * np.array([3.0, 4.1, 5.3])
    prepared = prepare_log(ARM, {"t": T, "q": np.sin(still), "tau": 20.0 * np.sin(still) + still})
    assert "clipped" not in said(prepared)


def test_units_that_were_told_are_not_asked_about() -> None:
    in_degrees = changed(q=np.degrees(GOOD["q"]), t=T * 1e3)
    prepared = prepare_log(ARM, in_degrees, units="deg ms")
    assert prepared.signals.period == pytest.approx(2e-3)
    expected = next(iter(prepare_log(ARM, GOOD).blocks()))
    np.testing.assert_allclose(next(iter(prepared.blocks())).qdd, expected.qdd, atol=1e-6)
    named = {"t_ms" if x == "t" else x: array for x, array in as_columns(in_degrees).items()}
    assert prepare_log(ARM, named, units="deg").signals.period == pytest.approx(2e-3)
    assert prepare_log(ARM, named, units="deg ms").signals.period == pytest.approx(2e-3)


@pytest.mark.parametrize("with_arrow", [True, False])
def test_a_file_says_the_line_and_its_own_names(
    with_arrow: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not with_arrow:
        monkeypatch.setattr(arrow, "arrow", lambda: None)
    log = changed(q=at(GOOD["q"], (500, 2), GOOD["q"][500, 2] + 0.3))
    joints = [joint.name for joint in ARM.joints]
    table = {"time": log["t"]}
    for x, word in (("q", "position"), ("tau", "effort")):
        table |= {f"{word}_{joint}": log[x][:, i] for i, joint in enumerate(joints)}
    path = tmp_path / "run.csv"
    write_table(path, table)
    lines = path.read_text(encoding="utf-8").split("\n")
    for k, field in ((801, "" if with_arrow else "NA"), (802, "nan"), (803, "null")):
        lines[k] = ",".join([*lines[k].split(",")[:-1], field])
    path.write_text("\n".join(lines), encoding="utf-8")
    findings = said(prepare_log(ARM, path))
    assert f"Values are missing in 'effort_{joints[2]}' (3)" in findings
    assert f"'position_{joints[2]}': 1 row dropped as outliers; first line 502 (t = 1 s)" in findings
    lines[900] = lines[900].replace(lines[900].split(",")[2], "many")
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(
        InputError, match=rf"run.csv, line 901, column 'position_{joints[1]}': expected a finite number"
    ):
        prepare_log(ARM, path)


@pytest.mark.parametrize("order", ["late", "reset"])
def test_a_stream_is_not_sorted(order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "KEPT", 100 * (1 + 2 * N))
    monkeypatch.setattr("forearm.logs.csvfile.BLOCK", 10_000)
    moved = np.arange(2000)
    moved[[1500, 1501]] = 1501, 1500
    log = rows(moved) if order == "late" else SAID["reset"][0]
    path = tmp_path / "run.csv"
    write_table(path, as_columns(log))
    if order == "late":
        with pytest.raises(
            InputError,
            match=r"run.csv, line 1503, column 't': time goes back from 3.002 s to 3 s. .* sort its rows",
        ):
            prepare_log(ARM, path)
    else:
        assert "the clock goes back 1 time, first at line 1003" in said(prepare_log(ARM, path))


def test_cutoffs_that_no_window_has() -> None:
    for cutoff, sentence in (
        (
            200.0,
            r"cutoff: 200 Hz; rows 0.002 s apart allow at most 10\d(\.\d+)? Hz, with a window of 9 samples",
        ),
        (
            0.1,
            r"cutoff: 0.1 Hz; the longest piece of 2000 rows, 0.002 s apart, allows no less than 0.4\d+ Hz",
        ),
        (-1.0, r"log, cutoff: "),
    ):
        with pytest.raises(InputError, match=sentence):
            prepare_log(ARM, GOOD, cutoff=cutoff)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (lambda: {**GOOD, "q": GOOD["q"][:, :2]}, r"log, q: expected shape \(T, 3\), got \(2000, 2\)"),
        (
            lambda: {**GOOD, "tau": GOOD["tau"][:5]},
            r"the same number of rows for every quantity, got t 2000, q 2000, tau 5",
        ),
        (lambda: {}, r"log: empty; expected arrays t \(T,\), q \(T, 3\) and tau"),
        (lambda: {"t": T, "x": T}, r"log: no column with measured_q or q"),
    ],
)
def test_arrays_of_other_shapes(bad: Callable[[], Log], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        prepare_log(ARM, bad())
