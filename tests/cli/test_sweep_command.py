"""`forearm sweep`: the rows that Python gives, shares, watching, single rows, scripts; what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli.lines import Capture, called, document, refused, strict_json
from studies.test_study import STUDY, folder  # noqa: F401

import forearm as fa
from forearm.studies.results import StudyResults

pytestmark = pytest.mark.slow


@pytest.fixture
def study(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:  # noqa: F811
    text = STUDY.replace("seed = 3", "seed = 3\nrows_per_part = 5").replace('design = "sobol"', "")
    (folder / "study.toml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


def test_rows_are_those_of_python(study: Path, capsys: Capture) -> None:
    more = ("--csv", "rows.csv", "--report", "report.html", "--worst", "0")
    code, out, err = called(capsys, "sweep", "study.toml", "--json", *more)
    assert (code, err) == (0, "")
    summary = strict_json(out)
    truth = fa.sweep(study / "study.toml")
    assert summary["rows"] == summary["done"] == 12
    assert summary["folder"] == "study-results"
    assert summary["figures"]["energy"]["mean"] == pytest.approx(float(np.mean(truth["energy"])), rel=1e-12)
    found = StudyResults.read("study-results")
    for name, column in truth.table().items():
        assert np.array_equal(found[name], column), name
    assert len((study / "rows.csv").read_text(encoding="utf-8").splitlines()) == 13
    assert "load and friction" in (study / "report.html").read_text(encoding="utf-8")


def test_shares_make_the_whole_and_a_folder_goes_on_by_itself(study: Path, capsys: Capture) -> None:
    code, out, _ = called(capsys, "sweep", "study.toml", "-o", "out", "--part", "2/2")
    assert (code, "5 of 12 rows" in out) == (0, True)
    (study / "study.toml").unlink()
    assert document(capsys, "sweep", "out")["done"] == 12
    code, out, err = called(capsys, "sweep", "out", "--watch")
    assert code == 0
    assert "12 of 12 rows" in err
    assert "tracking_error" in out


def test_one_row(study: Path, capsys: Capture) -> None:
    code, out, _ = called(capsys, "sweep", "study.toml", "--row", "7", "--json", "--html", "row.html")
    assert code == 0
    found, truth = strict_json(out), fa.sweep(study / "study.toml").row(7)
    assert found["variables"] | found["figures"] == truth
    assert "<canvas" in (study / "row.html").read_text(encoding="utf-8")
    assert not (study / "study-results").exists(), "one row needs no folder"


def test_a_study_is_checked_without_computing(study: Path, capsys: Capture) -> None:
    code, out, _ = called(capsys, "sweep", "study.toml", "--check")
    assert code == 0
    assert "12 rows in 3 parts, design sobol" in out
    assert "*.friction.*" in out
    code, out, _ = called(capsys, "sweep", "study.toml", "--check", "--json")
    assert strict_json(out)["figures"] == ["peak_torque.joint1", "energy", "tracking_error"]
    assert not (study / "study-results").exists()


def test_a_script_for_a_cluster(study: Path, capsys: Capture) -> None:
    code, out, _ = called(
        capsys, "sweep", "study.toml", "-o", "my results", "--emit", "slurm", "--jobs", "4", "--cpus", "2",
        "--time", "01:00:00", "--setup", "module load python",
    )  # fmt: skip
    assert code == 0
    assert "#SBATCH --array=1-4\n" in out
    assert "#SBATCH --job-name=load-and-friction\n" in out
    assert "forearm sweep study.toml -o 'my results' --workers 2 --part" in out
    assert "\nmodule load python\n" in out


def test_a_changed_study_is_refused_with_the_difference(study: Path, capsys: Capture) -> None:
    called(capsys, "sweep", "study.toml", "-o", "out")
    path = study / "study.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("[0.2, 0.8]", "[0.2, 0.9]"), encoding="utf-8")
    assert "study.vary.payload.mass.uniform[1]: 0.8 in the folder, 0.9 given" in refused(
        capsys, "sweep", "study.toml", "-o", "out"
    )


@pytest.mark.long
@pytest.mark.parametrize("engine", ["dask", "mpi", "processes"])
def test_engines_by_name(study: Path, engine: str) -> None:
    if engine != "processes":
        pytest.importorskip({"dask": "distributed", "mpi": "mpi4py"}[engine])
    words = [sys.executable, "-m"]
    if engine == "mpi":
        mpiexec = Path(sys.executable).with_name("mpiexec")
        if not mpiexec.exists():
            pytest.skip("no mpiexec beside Python: pip install mpich")
        words = [str(mpiexec), "-n", "3", sys.executable, "-m", "mpi4py.futures", "-m"]
    words += ["forearm", "sweep", "study.toml", "-o", "out", "--engine", engine]
    words += [] if engine == "mpi" else ["--workers", "2"]
    ran = subprocess.run(words, cwd=study, capture_output=True, text=True, check=False, timeout=120.0)
    assert ran.returncode == 0, ran.stderr
    found, truth = StudyResults.read(study / "out"), fa.sweep(study / "study.toml")
    for name, column in truth.table().items():
        assert np.array_equal(found[name], column), name


def test_an_engine_that_is_not_installed_is_named(
    study: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert "distributed is not installed: pip install 'forearm[dask]'" in refused(
        capsys, "sweep", "study.toml", "--engine", "dask"
    )
