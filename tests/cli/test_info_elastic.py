"""`forearm info` and `forearm check` on an arm with springs and bristles."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import forearm as fa
from forearm.cli.main import main
from forearm.dynamics import inertia_matrix

Q = "0.1,-0.4,0.2,-1.5,0.3,1.2,0.5"
MOTOR = fa.Motor(gear_ratio=100.0, rotor_inertia=6e-5)
B = 100.0**2 * 6e-5


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A panda with two springs, one of them stiff on a light link, and bristles at one motor."""
    rough = fa.Friction(side="motor", coulomb=(0.02, -0.03), bristle_stiffness=20.0, bristle_damping=0.01)
    arm = fa.load("panda").with_drives(
        {
            "joint2": {
                "motor": MOTOR,
                "elasticity": fa.Elasticity(stiffness=1.4e4, damping=5.0),
                "friction": rough,
            },
            "joint7": {"motor": MOTOR, "elasticity": fa.Elasticity(stiffness=1e5, rotor_axis=(0, 0, 1))},
        }
    )
    arm.save(tmp_path / "soft.toml")
    return str(tmp_path / "soft.toml")


def called(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_info_shows_springs_bristles_and_oscillations(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = called(capsys, "info", path, "--q", Q)
    assert "elastic between motor and link: joint2, joint7\n" in out
    springs, bristles = out.split("\nSprings between")[1], out.split("\nBristles of LuGre friction")[1]
    rows = [line.split() for line in springs.split("\n\n")[0].splitlines()[3:]]
    assert rows == [
        ["joint2", "14000", "5", "0", "0.6", "-"],
        ["joint7", "100000", "0", "0", "0.6", "0", "0", "1"],
    ]
    rows = [line.split() for line in bristles.split("\n\n")[0].splitlines()[3:]]
    assert rows == [["joint2", "20", "0.01", "0.0573", "-0.08594", "deg", "motor"]]
    shown = out.split("\nOscillations of the springs as drawn")[1].split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in shown[3:]] == ["joint2", "joint7"]
    M = inertia_matrix(fa.load("panda"), np.array(Q.split(","), dtype=float))
    for line, i, K in zip(shown[3:], (1, 6), (1.4e4, 1e5), strict=True):
        link, rotor, held, free = map(float, line.split()[1:5])
        assert (link, rotor) == pytest.approx((M[i, i], B), rel=1e-3)
        hertz = [math.sqrt(K * mobility) / (2.0 * math.pi) for mobility in (1 / M[i, i], 1 / M[i, i] + 1 / B)]
        assert [held, free] == pytest.approx(hertz, rel=1e-3)


def test_json_has_them_too(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(called(capsys, "info", path, "--q", Q, "--json"))
    assert [(f["joint"], f["freedom"], f["stiffness"]) for f in document["elastic"]] == [
        ("joint2", 1, 14000.0),
        ("joint7", 6, 100000.0),
    ]
    first = document["elastic"][0]
    assert first["rotor_inertia"] == pytest.approx(B)
    K, m = first["stiffness"], first["link_inertia"]
    assert first["locked_motor_hz"] == pytest.approx(math.sqrt(K / m) / (2.0 * math.pi))
    assert first["free_motor_hz"] == pytest.approx(math.sqrt(K * (1 / m + 1 / B)) / (2.0 * math.pi))
    assert first["damping_ratio"] == pytest.approx(5.0 / (2.0 * math.sqrt(K * m)))
    assert document["bristles"] == [
        {"joint": "joint2", "side": "motor", "stiffness": 20.0, "damping": 0.01, "slip": [0.001, -0.0015]}
    ]
    assert document["arm"]["joint"][6]["elasticity"]["rotor_axis"] == [0.0, 0.0, 1.0]


def test_a_rigid_arm_shows_none(capsys: pytest.CaptureFixture[str]) -> None:
    out = called(capsys, "info", "ascher2")
    assert not any(word in out for word in ("Springs", "Bristles", "Oscillations", "lastic"))
    document = json.loads(called(capsys, "info", "ascher2", "--json"))
    assert (document["elastic"], document["bristles"]) == ([], [])


@pytest.mark.parametrize("columns", [60, 100])
def test_tables_fit_the_terminal(
    columns: int, path: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    out = called(capsys, "info", path)
    tables = out.split("\nSprings between")[1].split("\nReach at most")[0]
    tables += out.split("\nOscillations of")[1].split("\nSource")[0]
    assert max(len(line) for line in tables.splitlines() if "  " in line) <= columns


@pytest.mark.slow
def test_check_says_what_no_controller_sees(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = " ".join(called(capsys, "check", path).split())
    assert "warnings: 0 Nothing implausible found. note [elastic-frequency] springs oscillate faster" in out
    assert "joint7 721.2 Hz with the other joints held" in out
    found = json.loads(called(capsys, "check", path, "--json"))["findings"]
    assert [(f["level"], f["code"], f["place"]) for f in found] == [
        ("note", "elastic-frequency", "joint7"),
        ("note", "gravity", "panda"),
    ]


def test_check_refuses_a_file_with_a_wrong_spring(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = Path(__file__).parents[2].joinpath("docs", "arm-file.md").read_text(encoding="utf-8")
    example = text.split("## Elastic joints")[1].split("```toml\n")[1].split("```")[0]
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(example.replace("stiffness = 5200", "stiffness = -5200"), encoding="utf-8")
    assert main(["check", str(wrong)]) == 2
    err = " ".join(capsys.readouterr().err.split())
    assert "wrong.toml, joint[2], elasticity, stiffness: must be above 0, got -5200." in err
    wrong.write_text(example, encoding="utf-8")
    assert "Nothing implausible found" in called(capsys, "check", str(wrong))
