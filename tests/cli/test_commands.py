"""The commands as a user meets them: tables, JSON, pictures, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli.lines import Capture, called, document

import forearm as fa
from forearm.cli.main import COMMANDS
from forearm.dynamics.precision import precision_study

BROKEN = 'schema = "forearm-arm/1"\nname = "x"\njoint = []\n[[link]]\nname = "a"\nmass = -1\n'
HALF = """schema = "forearm-arm/1"
name = "half"
[[joint]]
kind = "revolute"
frame = {}
limits = [-1.0, inf]
[[link]]
name = "link1"
mass = 1
"""


def test_help_lists_every_command_and_the_version_is_said(capsys: Capture) -> None:
    code, out, _ = called(capsys)
    assert code == 0
    assert all(f"\n  {command} " in out for command in COMMANDS)
    version = f"forearm {fa.__version__}\n"
    assert called(capsys, "--version")[1] == version
    words = [sys.executable, "-m", "forearm", "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, version), "the package is the command"


@pytest.mark.slow
def test_arms_lists_all_built_in_names(capsys: Capture) -> None:
    assert [a["name"] for a in document(capsys, "arms")["arms"]] == [*fa.arms(), "chainN"]
    _, table, _ = called(capsys, "arms")
    assert all(f"\n{name}" in table for name in fa.arms())


def test_info_shows_tables_and_a_drawing(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    code, out, err = called(capsys, "info", "puma560")
    assert (code, err) == (0, "")
    for piece in ("standard Denavit-Hartenberg", "0.4318", "17.4", "-62.6111", "from the side", "# base"):
        assert piece in out
    assert "\nData\nThe principal moments violate the triangle inequality" in out
    arm = fa.load("stanford").with_joint("joint1", max_speed=0.5, max_effort=87.5)
    arm.with_joint("joint3", max_speed=0.25, max_effort=30.0).save(tmp_path / "arm.toml")
    _, out, _ = called(capsys, "info", tmp_path / "arm.toml")
    for cell in ("max speed", "max effort", "28.65 deg/s", "87.5 N m", "0.25 m/s", " 30 N"):
        assert cell in out
    assert "max speed" not in called(capsys, "info", "chain3")[1]


@pytest.mark.parametrize(("arm", "columns"), [("puma560", 60), ("ur5", 80), ("panda", 60), ("panda", 160)])
def test_tables_fit_the_terminal(
    arm: str, columns: int, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    _, out, _ = called(capsys, "info", arm)
    tables = out.split("\nReach at most")[0].split("\n\n", 1)[1]
    assert max(len(line) for line in tables.splitlines() if "  " in line) <= columns


def test_info_json_holds_the_whole_arm(capsys: Capture, tmp_path: Path) -> None:
    found = document(capsys, "info", "stanford", "--q", "10,20,0.5,30,40,50", "--degrees")
    assert np.allclose(found["q"], [*np.radians([10, 20]), 0.5, *np.radians([30, 40, 50])])
    assert np.allclose(found["hand"], fa.kinematics.forward(fa.load("stanford"), found["q"]))
    assert found["arm"]["link"][2]["mass"] == 5.01
    (tmp_path / "half.toml").write_text(HALF, encoding="utf-8")
    found = document(capsys, "info", tmp_path / "half.toml")
    assert found["arm"]["joint"][0]["limits"] == [-1.0, None], "JSON has no infinity"


@pytest.mark.slow
def test_info_draws_a_picture(capsys: Capture, tmp_path: Path) -> None:
    pictures = []
    for _ in range(2):
        assert called(capsys, "info", "panda", "--plot", tmp_path / "arm.png")[0] == 0
        pictures.append((tmp_path / "arm.png").read_bytes())
    assert pictures[0].startswith(b"\x89PNG")
    assert pictures[0] == pictures[1]


@pytest.mark.slow
def test_check_keeps_errors_and_warnings_apart(capsys: Capture, tmp_path: Path) -> None:
    findings = document(capsys, "check", "puma560")["findings"]
    warnings = {f["code"] for f in findings if f["level"] == "warning"}
    assert warnings == {"triangle-inequality", "inertia-without-mass"}
    path = tmp_path / "broken.toml"
    path.write_text(BROKEN, encoding="utf-8")
    code, out, err = called(capsys, "check", path, "--json")
    assert (code, json.loads(out)["findings"][0]["level"]) == (2, "error")
    assert "mass: must be at least 0, got -1" in " ".join(err.split())
    assert called(capsys, "check", path)[:2] == (2, "")
    path = tmp_path / "a.urdf"
    path.write_text('<robot name="a"><link name="l"><visual/><spring/></link></robot>', encoding="utf-8")
    code, out, _ = called(capsys, "check", path)
    assert code == 0
    assert "warning [ignored] a.urdf: ignored <spring> in <link> (first in line 1)." in out
    _, out, _ = called(capsys, "check", "stanford")
    assert "Largest gravity torques" in out
    assert "no fixed counterweight helps" in out


def test_convert_there_and_back(capsys: Capture, tmp_path: Path) -> None:
    toml, urdf, back = (str(tmp_path / name) for name in ("p.toml", "p.urdf", "back.toml"))
    full = fa.load("panda")
    assert called(capsys, "convert", "panda", toml)[0] == 0
    assert fa.load(toml) == full
    code, out, err = called(capsys, "convert", toml, urdf, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {"name": "panda", "n": 7, "written": urdf}
    assert called(capsys, "convert", urdf, back, "--lock", "joint3=0.4", "--lock", "joint5=-0.2")[0] == 0
    q = np.array([0.1, 0.2, 0.4, -1.0, -0.2, 1.5, 0.3])
    locked = fa.kinematics.forward(fa.load(back), np.delete(q, [2, 4]))
    assert np.allclose(fa.kinematics.forward(full, q), locked, atol=1e-12)
    for name in ("p.xml", "p.mjcf"):
        mjcf = tmp_path / name
        assert called(capsys, "convert", "panda", mjcf)[0] == 0
        assert called(capsys, "convert", mjcf, back, "--root", "link1")[0] == 0
        assert [j.name for j in fa.load(back).joints] == [j.name for j in full.joints][1:]
        assert document(capsys, "info", mjcf, "--root", "link1")["n"] == 6


@pytest.mark.slow
def test_parts_reports_sections_parts_and_steps(capsys: Capture) -> None:
    code, out, _ = called(capsys, "parts", "cmu-dd", "--link", "link6", "--steps")
    assert code == 0
    assert "moved by" in out
    assert "turned and placed in part" in out
    arm = fa.load("cmu-dd")
    for link in document(capsys, "parts", "cmu-dd")["links"]:
        assert np.isclose(link["placed"]["mass"], arm.link(link["name"]).mass)
        assert np.isclose(sum(p["own"]["mass"] for p in link["holds"]), link["own"]["mass"])
        moved = np.sum([p["moved_inertia"] for p in link["holds"]], axis=0)
        assert np.allclose(moved, link["own"]["inertia"], atol=1e-12)


@pytest.mark.parametrize(
    "words", [("--q", "-0.1,0.2,0,0,0,0"), ("--q=-0.1,0.2,0,0,0,0",), ("--q", "-.1 .2 0 0 0 0")]
)
def test_a_state_may_start_with_a_minus(words: tuple[str, ...], capsys: Capture) -> None:
    found = document(capsys, "inverse", "puma560", *words, "--hand-force", "-1,0,0")
    assert found["q"] == [-0.1, 0.2, 0.0, 0.0, 0.0, 0.0]


def test_inverse_and_forward_are_each_others_inverse(capsys: Capture) -> None:
    state = ("stanford", "--q", "0.1,0.5,0.4,0.2,0.3,0.6", "--qd", "1,-1,0.2,1,1,1")
    found = document(capsys, "inverse", *state, "--qdd", "1,2,3,4,5,6", "--formulation", "kane")
    tau = ",".join(map(repr, found["tau"]))
    assert np.allclose(
        document(capsys, "forward", *state, "--tau", tau)["qdd"], [1, 2, 3, 4, 5, 6], atol=1e-9
    )


def test_trace_is_shown_and_given(capsys: Capture) -> None:
    words = ("inverse", "panda", "--qd", "1,1,1,1,1,1,1", "--trace")
    assert "lambda" in called(capsys, *words, "--formulation", "modified-newton-euler")[1]
    assert document(capsys, *words)["trace"]["link1"]["w"] == [0.0, 0.0, 1.0]


@pytest.mark.long
def test_precision_command(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forearm.cli.precision.POSTURES", 30)
    target = tmp_path / "p.png"
    code, out, _ = called(capsys, "precision", "ascher2", "--plot", target)
    assert code == 0
    assert "composite-body" in out
    assert target.read_bytes().startswith(b"\x89PNG")
    found = document(capsys, "precision", "ascher2")
    study = precision_study(fa.load("ascher2").rigid(), found["q"])
    assert found["condition"] == study.condition.tolist()
    for method, apart in found["differences"].items():
        assert (apart["max"], apart["mean"]) == study.difference(method, 1)
