"""The commands as a user meets them: help, tables, JSON, misspelt names, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import forearm as fa
from forearm.cli.main import COMMANDS, main
from forearm.dynamics.precision import precision_study

Capture = pytest.CaptureFixture[str]
BROKEN = 'schema = "forearm-arm/1"\nname = "x"\njoint = []\n[[link]]\nname = "a"\nmass = -1\n'


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def test_help_lists_every_command(capsys: Capture) -> None:
    code, out, _ = run(capsys)
    assert code == 0
    assert all(f"\n  {command} " in out for command in COMMANDS)


@pytest.mark.slow
def test_arms_lists_all_built_in_names(capsys: Capture) -> None:
    code, out, _ = run(capsys, "arms", "--json")
    assert code == 0
    assert [a["name"] for a in json.loads(out)["arms"]] == [*fa.arms(), "chainN"]
    _, table, _ = run(capsys, "arms")
    assert all(f"\n{name}" in table for name in fa.arms())


def test_info_shows_tables_and_a_drawing(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    code, out, err = run(capsys, "info", "puma560")
    assert code == 0
    for piece in ("standard Denavit-Hartenberg", "0.4318", "17.4", "-62.6111", "from the side", "# base"):
        assert piece in out
    assert err == ""
    assert "\nData\nThe principal moments violate the triangle inequality" in out


@pytest.mark.parametrize("columns", [60, 80, 100, 160])
@pytest.mark.parametrize("arm", ["puma560", "ur5", "panda"])
def test_tables_fit_the_terminal(
    arm: str, columns: int, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    _, out, _ = run(capsys, "info", arm)
    tables = out.split("\nReach at most")[0].split("\n\n", 1)[1]
    rows = [line for line in tables.splitlines() if "  " in line]
    assert max(len(line) for line in rows) <= columns


def test_info_json_holds_the_whole_arm(capsys: Capture) -> None:
    code, out, _ = run(capsys, "info", "stanford", "--json", "--q", "10,20,0.5,30,40,50", "--degrees")
    document = json.loads(out)
    assert code == 0
    assert np.allclose(document["q"], [*np.radians([10, 20]), 0.5, *np.radians([30, 40, 50])])
    assert np.allclose(document["hand"], fa.kinematics.forward(fa.load("stanford"), document["q"]))
    assert document["arm"]["link"][2]["mass"] == 5.01


def test_unlimited_joints_are_null_in_json(capsys: Capture, tmp_path: Path) -> None:
    text = (
        'schema = "forearm-arm/1"\nname = "half"\n[[joint]]\nkind = "revolute"\nframe = {}\n'
        "limits = [-1.0, inf]\n"
        '[[link]]\nname = "link1"\nmass = 1\n'
    )
    path = tmp_path / "half.toml"
    path.write_text(text, encoding="utf-8")
    _, out, _ = run(capsys, "info", str(path), "--json")
    assert json.loads(out)["arm"]["joint"][0]["limits"] == [-1.0, None]


@pytest.mark.slow
def test_info_draws_a_picture(capsys: Capture, tmp_path: Path) -> None:
    target = tmp_path / "arm.png"
    assert run(capsys, "info", "panda", "--plot", str(target))[0] == 0
    assert target.read_bytes().startswith(b"\x89PNG")
    first = target.read_bytes()
    run(capsys, "info", "panda", "--plot", str(target))
    assert target.read_bytes() == first
    code, _, err = run(capsys, "info", "panda", "--plot", str(tmp_path / "arm.gif"))
    assert code == 2
    assert ".png" in err


@pytest.mark.slow
def test_check_keeps_errors_and_warnings_apart(capsys: Capture, tmp_path: Path) -> None:
    code, out, _ = run(capsys, "check", "puma560", "--json")
    findings = json.loads(out)["findings"]
    assert code == 0
    assert {f["code"] for f in findings if f["level"] == "warning"} == {
        "triangle-inequality",
        "inertia-without-mass",
    }
    path = tmp_path / "broken.toml"
    path.write_text(BROKEN, encoding="utf-8")
    code, out, err = run(capsys, "check", str(path), "--json")
    assert code == 2
    assert json.loads(out)["findings"][0]["level"] == "error"
    assert "mass: must be at least 0, got -1" in err
    code, out, err = run(capsys, "check", str(path))
    assert (code, out) == (2, "")


def test_check_reports_ignored_tags_of_a_urdf(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "a.urdf"
    path.write_text('<robot name="a"><link name="l"><visual/><spring/></link></robot>', encoding="utf-8")
    code, out, _ = run(capsys, "check", str(path))
    assert code == 0
    assert "warning [ignored] a.urdf: ignored <spring> in <link> (first in line 1)." in out


@pytest.mark.slow
def test_check_shows_gravity_and_counterweights(capsys: Capture) -> None:
    _, out, _ = run(capsys, "check", "stanford")
    assert "Largest gravity torques" in out
    assert "no fixed counterweight helps" in out
    assert run(capsys, "check", "stanford", "--counterweights", "-1")[0] == 2


def test_convert_there_and_back(capsys: Capture, tmp_path: Path) -> None:
    toml, urdf, back = (str(tmp_path / name) for name in ("p.toml", "p.urdf", "back.toml"))
    assert run(capsys, "convert", "panda", toml)[0] == 0
    assert fa.load(toml) == fa.load("panda")
    code, out, err = run(capsys, "convert", toml, urdf, "--json")
    assert code == 0
    assert json.loads(out) == {"name": "panda", "n": 7, "written": urdf}
    assert err == ""
    assert run(capsys, "convert", urdf, back, "--lock", "joint3=0.4", "--lock", "joint5=-0.2")[0] == 0
    q = np.array([0.1, 0.2, 0.4, -1.0, -0.2, 1.5, 0.3])
    shorter = np.delete(q, [2, 4])
    full, locked = fa.load("panda"), fa.load(back)
    assert np.allclose(fa.kinematics.forward(full, q), fa.kinematics.forward(locked, shorter), atol=1e-12)


@pytest.mark.parametrize("name", ["p.xml", "p.mjcf"])
def test_convert_to_mjcf_and_back(capsys: Capture, tmp_path: Path, name: str) -> None:
    mjcf, back = str(tmp_path / name), str(tmp_path / "back.toml")
    assert run(capsys, "convert", "panda", mjcf)[0] == 0
    assert run(capsys, "convert", mjcf, back, "--root", "link1")[0] == 0
    full, shorter = fa.load("panda"), fa.load(back)
    assert [j.name for j in shorter.joints] == [j.name for j in full.joints][1:]
    code, out, _ = run(capsys, "info", mjcf, "--root", "link1", "--json")
    assert (code, json.loads(out)["n"]) == (0, 6)


@pytest.mark.slow
def test_parts_reports_sections_parts_and_steps(capsys: Capture) -> None:
    code, out, _ = run(capsys, "parts", "cmu-dd", "--link", "link6", "--steps")
    assert code == 0
    assert "moved by" in out
    assert "turned and placed in part" in out
    _, text, _ = run(capsys, "parts", "cmu-dd", "--json")
    links = json.loads(text)["links"]
    arm = fa.load("cmu-dd")
    for link in links:
        assert np.isclose(link["placed"]["mass"], arm.link(link["name"]).mass)
        assert np.isclose(sum(p["own"]["mass"] for p in link["holds"]), link["own"]["mass"])
        moved = np.sum([p["moved_inertia"] for p in link["holds"]], axis=0)
        assert np.allclose(moved, link["own"]["inertia"], atol=1e-12)


@pytest.mark.slow
def test_a_closed_pipe_is_no_error() -> None:
    program = f"{sys.executable} -m forearm.cli.main info puma560 2>/dev/null | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout.startswith("puma560")
    assert done.stderr == ""


def test_version(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"forearm {fa.__version__}\n"


def test_the_package_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "forearm", "--version"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"forearm {fa.__version__}\n")


def test_info_shows_limits_of_speed_and_effort(capsys: Capture, tmp_path: Path) -> None:
    arm = fa.load("stanford").with_joint("joint1", max_speed=0.5, max_effort=87.5)
    arm.with_joint("joint3", max_speed=0.25, max_effort=30.0).save(tmp_path / "arm.toml")
    _, out, _ = run(capsys, "info", str(tmp_path / "arm.toml"))
    for cell in ("max speed", "max effort", "28.65 deg/s", "87.5 N m", "0.25 m/s", " 30 N"):
        assert cell in out
    _, out, _ = run(capsys, "info", "chain3")
    assert "max speed" not in out


@pytest.mark.parametrize(
    "words", [("--q", "-0.1,0.2,0,0,0,0"), ("--q=-0.1,0.2,0,0,0,0",), ("--q", "-.1 .2 0 0 0 0")]
)
def test_a_state_may_start_with_a_minus(words: tuple[str, ...], capsys: Capture) -> None:
    code, out, _ = run(capsys, "inverse", "puma560", *words, "--hand-force", "-1,0,0", "--json")
    assert code == 0
    assert json.loads(out)["q"] == [-0.1, 0.2, 0.0, 0.0, 0.0, 0.0]


def test_inverse_and_forward_are_each_others_inverse(capsys: Capture) -> None:
    state = ("--q", "0.1,0.5,0.4,0.2,0.3,0.6", "--qd", "1,-1,0.2,1,1,1")
    _, out, _ = run(
        capsys, "inverse", "stanford", *state, "--qdd", "1,2,3,4,5,6", "--formulation", "kane", "--json"
    )
    tau = ",".join(repr(v) for v in json.loads(out)["tau"])
    _, out, _ = run(capsys, "forward", "stanford", *state, "--tau", tau, "--json")
    assert np.allclose(json.loads(out)["qdd"], [1, 2, 3, 4, 5, 6], atol=1e-9)


def test_trace_is_shown_and_given(capsys: Capture) -> None:
    _, out, _ = run(
        capsys,
        "inverse",
        "panda",
        "--qd",
        "1,1,1,1,1,1,1",
        "--formulation",
        "modified-newton-euler",
        "--trace",
    )
    assert "lambda" in out
    _, out, _ = run(capsys, "inverse", "panda", "--qd", "1,1,1,1,1,1,1", "--trace", "--json")
    assert json.loads(out)["trace"]["link1"]["w"] == [0.0, 0.0, 1.0]


@pytest.mark.long
def test_precision_command(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forearm.cli.precision.POSTURES", 30)
    target = tmp_path / "p.png"
    code, out, _ = run(capsys, "precision", "ascher2", "--plot", str(target))
    assert code == 0
    assert "composite-body" in out
    assert target.read_bytes().startswith(b"\x89PNG")
    assert run(capsys, "precision", "ascher2", "--sweep", "joint9")[0] == 2
    found = json.loads(run(capsys, "precision", "ascher2", "--json")[1])
    study = precision_study(fa.load("ascher2").rigid(), found["q"])
    assert found["condition"] == study.condition.tolist()
    for method, apart in found["differences"].items():
        assert (apart["max"], apart["mean"]) == study.difference(method, 1)
