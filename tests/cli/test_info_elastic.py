"""`forearm info` and `forearm check` on an arm with springs and bristles."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from cli.lines import Capture, called, document

import forearm as fa
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


def test_info_shows_springs_bristles_and_oscillations(path: str, capsys: Capture) -> None:
    _, out, _ = called(capsys, "info", path, "--q", Q)
    assert "elastic between motor and link: joint2, joint7\n" in out
    springs, bristles = out.split("\nSprings between")[1], out.split("\nBristles of LuGre friction")[1]
    rows = [line.split() for text in (springs, bristles) for line in text.split("\n\n")[0].splitlines()[3:]]
    assert rows == [
        ["joint2", "14000", "5", "0", "0.6", "-"],
        ["joint7", "100000", "0", "0", "0.6", "0", "0", "1"],
        ["joint2", "20", "0.01", "0.0573", "-0.08594", "deg", "motor"],
    ]
    shown = out.split("\nOscillations of the springs as drawn")[1].split("\n\n")[0].splitlines()[3:]
    found = document(capsys, "info", path, "--q", Q)
    M = inertia_matrix(fa.load("panda"), np.array(Q.split(","), dtype=float))
    for line, spring, i, K in zip(shown, found["elastic"], (1, 6), (1.4e4, 1e5), strict=True):
        m, name = M[i, i], f"joint{i + 1}"
        hertz = [math.sqrt(K * mobility) / (2.0 * math.pi) for mobility in (1 / m, 1 / m + 1 / B)]
        assert line.split()[0] == name
        assert [float(x) for x in line.split()[1:5]] == pytest.approx([m, B, *hertz], rel=1e-3)
        assert (spring["joint"], spring["freedom"], spring["stiffness"]) == (name, i, K)
        assert [spring[x] for x in ("link_inertia", "rotor_inertia")] == pytest.approx([m, B])
        assert [spring[x] for x in ("locked_motor_hz", "free_motor_hz")] == pytest.approx(hertz)
    assert found["elastic"][0]["damping_ratio"] == pytest.approx(5.0 / (2.0 * math.sqrt(1.4e4 * M[1, 1])))
    assert found["bristles"] == [
        {"joint": "joint2", "side": "motor", "stiffness": 20.0, "damping": 0.01, "slip": [0.001, -0.0015]}
    ]
    assert found["arm"]["joint"][6]["elasticity"]["rotor_axis"] == [0.0, 0.0, 1.0]


def test_a_rigid_arm_shows_none(capsys: Capture) -> None:
    _, out, _ = called(capsys, "info", "ascher2")
    assert not any(word in out for word in ("Springs", "Bristles", "Oscillations", "lastic"))
    found = document(capsys, "info", "ascher2")
    assert (found["elastic"], found["bristles"]) == ([], [])


def test_tables_fit_the_terminal(path: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    _, out, _ = called(capsys, "info", path)
    tables = out.split("\nSprings between")[1].split("\nReach at most")[0]
    tables += out.split("\nOscillations of")[1].split("\nSource")[0]
    assert max(len(line) for line in tables.splitlines() if "  " in line) <= 60


@pytest.mark.slow
def test_check_says_what_no_controller_sees(path: str, capsys: Capture) -> None:
    code, out, err = called(capsys, "check", path)
    assert (code, err) == (0, "")
    out = " ".join(out.split())
    assert "warnings: 0 Nothing implausible found. note [elastic-frequency] springs oscillate faster" in out
    assert "joint7 721.2 Hz with the other joints held" in out
    found = document(capsys, "check", path)["findings"]
    assert [(f["level"], f["code"], f["place"]) for f in found] == [
        ("note", "elastic-frequency", "joint7"),
        ("note", "gravity", "panda"),
    ]
