"""`fa.sweep` and its results: the same rows whatever computes them, columns, single rows, tables, reports."""

from __future__ import annotations

import csv
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from studies.campaign import ARM, MOTION, STEP, VARY, small_study

import forearm as fa
from forearm.logs import arrow
from forearm.studies import Normal, Uniform
from forearm.studies.results import StudyResults
from forearm.studies.rows.evaluation import RowEvaluation

ROWS = 40


@pytest.fixture(scope="module")
def results() -> StudyResults:
    return fa.sweep(small_study(ROWS))


@pytest.mark.slow
def test_rows_are_those_of_the_evaluation(results: StudyResults) -> None:
    expected = RowEvaluation(small_study(ROWS)).rows(0, ROWS)
    table = results.table()
    assert list(table) == ["row", *VARY, *(c.name for c in results.study.columns)]
    assert np.array_equal(table["row"], np.arange(ROWS))
    for name, column in expected.items():
        assert np.array_equal(table[name], column), name
    assert (len(results), results.rows, results.done) == (ROWS, ROWS, ROWS)


@pytest.mark.slow
def test_whatever_computes_them(results: StudyResults, tmp_path: Path) -> None:
    """Shares of the parts, as of jobs of a cluster, the last first: on a process, on an executor, here."""
    study = small_study(ROWS)
    with ThreadPoolExecutor(3) as pool:
        fa.sweep(study, folder=tmp_path / "out", parts=range(2, 6, 3), engine="processes", workers=1)
        fa.sweep(study, pool, folder=tmp_path / "out", parts=range(0, 6, 3))
        other = fa.sweep(study, folder=tmp_path / "out", parts=range(1, 6, 3))
    assert other.done == ROWS
    for name, column in results.table().items():
        assert np.array_equal(other[name], column), name


@pytest.mark.slow
def test_a_changed_study_is_refused_with_the_difference(tmp_path: Path) -> None:
    study = small_study(9)
    fa.sweep(study, folder=tmp_path / "out", parts=[0])
    changed = small_study(9, step=2.5e-3)
    with pytest.raises(fa.InputError, match=r"study.run.step: 0.002 in the folder, 0.0025 given"):
        fa.sweep(changed, folder=tmp_path / "out")
    with pytest.raises(fa.InputError, match=r"got another one:\n.*seed: 5 in the folder, 6 given"):
        fa.sweep(small_study(9, seed=6), folder=tmp_path / "out")
    again = StudyResults.read(tmp_path / "out")
    assert again.done == 7
    assert fa.sweep(study, folder=tmp_path / "out").done == 9


def test_one_row(results: StudyResults) -> None:
    row = results.row(11)
    assert row["law"] == results["law"][11]
    assert row["energy"] == results["energy"][11]
    assert results.arm(11).n == 3
    run = results.simulation(11)
    peaks = np.abs(run.tau[:-1]).max(axis=0)
    assert np.allclose([row[f"peak_torque.joint{j}"] for j in (1, 2, 3)], peaks, rtol=1e-9)
    with pytest.raises(fa.InputError, match="row: expected"):
        results.row(ROWS)


def test_a_table_for_other_programs(results: StudyResults, tmp_path: Path) -> None:
    results.to_csv(tmp_path / "all.csv")
    with (tmp_path / "all.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == ROWS
    assert [float(row["energy"]) for row in rows] == results["energy"].tolist()
    assert [row["law"] for row in rows] == results["law"].tolist()


@pytest.mark.slow
def test_the_report_has_simulations_of_the_worst_rows(results: StudyResults, tmp_path: Path) -> None:
    text = results.report(tmp_path / "report.html", worst=1, simulations=2)
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == text
    first, second = (name for name in ("peak_torque.joint1", "peak_torque.joint2"))
    for worst in {int(np.argmax(results[name])) for name in (first, second)}:
        assert f'data-simulation="{worst}"' in text
        assert f'id="simulation-{worst}"' in text
    assert re.search(r"forearm sweep FOLDER --row \d+", text)
    headings = [re.findall(r"<th.*?>(.*?)</th>", head) for head in re.findall(r"<thead>(.*?)</thead>", text)]
    assert all(len(set(names)) == len(names) for names in headings), "each column once"


def test_what_a_result_says(results: StudyResults) -> None:
    text = results.describe().text(200)
    assert "small: 40 of 40 rows computed" in text
    mean = float(np.mean(results["energy"]))
    assert f"{mean:.4g}" in text
    assert results.summary()["energy"]["max"] == results["energy"].max()
    assert "energy" in results._repr_html_()


def test_arms_that_cannot_exist_are_found_before_anything_is_computed(tmp_path: Path) -> None:
    vary = dict(VARY) | {"joint1.friction.viscous": Normal(0.05, 0.1)}
    wrong = fa.Study("wrong", ARM, vary, ["energy"], motion=MOTION, law="pd", step=STEP, rows=200)
    text = r"study, row (\d+), parameters, joint1\.friction\.viscous: must be at least 0"
    with pytest.raises(fa.ForearmError, match=text) as caught:
        fa.sweep(wrong, folder=tmp_path / "out")
    found = re.search(text, str(caught.value))
    assert found is not None
    assert wrong.row(int(found[1]))["joint1.friction.viscous"] < 0.0
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"study": 3}, "sweep, study: expected Study or str"),
        ({"engine": "gpu"}, "engine: expected one of"),
        ({"workers": 0}, "workers"),
        ({"parts": [99]}, "part"),
    ],
)
def test_what_is_wrong_is_said(given: dict[str, Any], text: str) -> None:
    with pytest.raises(fa.ForearmError, match=text):
        fa.sweep(**({"study": small_study(9)} | given))


@pytest.mark.slow
def test_steps_that_are_too_long_are_said_once_with_their_row() -> None:
    stiff = ARM.with_values({"joint1.friction.viscous": 3e5})
    vary = {"joint1.friction.viscous": Uniform(2e5, 3e5), "payload.mass": Uniform(0.0, 1.0)}
    study = fa.Study(
        "stiff", stiff, vary, ["peak_speed"], torque=1.0, duration=0.01, rows=20, rows_per_part=3
    )
    with pytest.warns(fa.StepWarning, match=r"study, row \d+: steps of 0.001 s are too long") as said:
        fa.sweep(study)
    assert len(said) == 1


def test_arms_whose_drives_have_states_have_required_figures_alone() -> None:
    arm, mass = ARM.with_drives(elasticity=fa.Elasticity(stiffness=1e4)), {"payload.mass": [1.0]}
    with pytest.raises(fa.InputError, match="elastic drives, bristle friction and inductance add states"):
        fa.Study("springs", arm, mass, ["peak_speed"], torque=0.0, duration=0.1)
    found = fa.sweep(
        fa.Study("springs", arm, mass, ["required_energy"], design="grid", motion=MOTION, step=STEP)
    )
    with pytest.raises(fa.InputError, match="no simulation, only figures required by the motion"):
        found.simulation(0)
    assert 'data-simulation="' not in found.report()


@pytest.mark.slow
def test_a_folder_of_another_processor_is_gone_on_with(tmp_path: Path) -> None:
    """Motions are planned by machine code, whose last bits differ between processors."""
    study = small_study(14)
    fa.sweep(study, folder=tmp_path / "out", parts=[0])
    noise = tuple(x * (1.0 + 3e-15) for x in MOTION)
    assert not np.array_equal(noise[0], MOTION[0])
    other = fa.sweep(small_study(14, motion=noise), folder=tmp_path / "out")
    truth = fa.sweep(study)
    for name, column in truth.table().items():
        assert np.array_equal(other[name], column), name
    with pytest.raises(fa.InputError, match=r"study.motions.motion.q_qd_qdd"):
        fa.sweep(small_study(14, motion=tuple(1.0001 * x for x in MOTION)), folder=tmp_path / "out")


@pytest.mark.slow
def test_laws_do_not_shake_light_joints() -> None:
    """Of the Panda's last joints gains of the plain inertias are unstable at 1 kHz."""
    ends = [[0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7], [0.2, -0.4, 0.1, -1.9, 0.1, 1.6, 0.5]]
    study = fa.Study(
        "pd", "panda", {"law": ["pd_gravity", "pid"]}, ["tracking_error"], design="grid", motion=ends
    )
    found = fa.sweep(study)["tracking_error"]
    assert (found < 0.1).all()


@pytest.mark.slow
def test_rows_that_diverge_are_said() -> None:
    study = fa.Study(
        "wild", ARM, {"controller.kp": [1.0, 1e5]}, ["tracking_error"], design="grid", motion=MOTION,
        law="pd_gravity", step=STEP,
    )  # fmt: skip
    results = fa.sweep(study)
    assert np.isnan(results["tracking_error"]).tolist() == [False, True]
    assert "1 rows have a NaN or infinite figure, first row 1" in results.describe().text()
    assert results.summary()["tracking_error"]["failed"] == 1
    assert "forearm sweep FOLDER --row 1" in results.report(simulations=0), "this folder is not kept"


@pytest.mark.slow
def test_without_a_folder_nothing_needs_pyarrow(
    results: StudyResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow, "arrow", lambda: None)
    other = fa.sweep(small_study(ROWS, rows_per_part=11), parts=[0, 2])
    assert (other.done, other.path) == (22, None)
    kept = np.r_[0:11, 22:33]
    for name, column in results.table().items():
        assert np.array_equal(other[name], column[kept]), name
        assert other.table(first=5, last=25)[name].tolist() == column[np.r_[5:11, 22:25]].tolist(), name
    assert other.row(30) == results.row(30)
    assert "22 of 40 rows computed, in memory" in other.describe().text()
    with pytest.raises(fa.InputError, match="row 15: not computed yet; run the study first"):
        other.row(15)
    with pytest.raises(fa.InputError, match=r"study in memory, column: expected one of row, .* got 'speed'"):
        other.column("speed")


def test_with_a_folder_pyarrow_is_missed_before_anything_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow, "arrow", lambda: None)
    monkeypatch.setattr(RowEvaluation, "check", lambda *_: pytest.fail("rows were checked first"))
    with pytest.raises(fa.InputError, match=r"out: a results folder: .* pip install 'forearm\[parquet\]'"):
        fa.sweep("a study that is not there.toml", folder=tmp_path / "out")
    assert not (tmp_path / "out").exists()
