"""`forearm excite`: files that others read, one document, and errors in words of the prompt."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli.lines import Capture, called, strict_json

import forearm as fa

QUICK = ("excite", "ascher2", "--duration", "2", "--harmonics", "2", "--starts", "1", "--step", "0.01")
LIMITS = ("--velocity", "2", "--acceleration", "9", "--noise", "0.5", "--margin", "0.1")


@pytest.mark.slow
def test_motions_that_complement_each_other(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = (*QUICK, *LIMITS, "--count", "2", "-o", "motion.csv")
    code, out, err = called(capsys, *words, "--json")
    assert (code, err) == (0, "")
    first, second = strict_json(out)["motions"]
    assert [first["output"], second["output"]] == ["motion-1.csv", "motion-2.csv"]
    assert [m["excitation"]["earlier"] for m in (first, second)] == [0, 1]
    assert second["excitation"]["log_det"] > first["excitation"]["log_det"]
    arm = fa.load("ascher2")
    for document in (first, second):
        again = fa.plan(arm, tmp_path / document["output"], step=0.01)
        assert again.q == pytest.approx(np.array(document["q"]), abs=1e-9)
    assert called(capsys, "simulate", "ascher2", "--plan", "motion-1.csv", "--duration", "0.1")[0] == 0
    code, out, err = called(capsys, *QUICK, *LIMITS, "--after", "motion-1.csv", "-o", "third.json")
    assert code == 0
    assert "including 1 earlier motion" in out
    assert out.endswith("wrote third.json\n")
    assert "no range of joint1, joint2: positions stay between -3.142 and 3.142 rad." in err
    assert called(capsys, "plan", "ascher2", "third.json")[0] == 0


@pytest.mark.slow
def test_a_posture_in_degrees_a_box_and_pictures(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    start = ("--q", "20,-40", "--degrees", "--velocity", "90")
    box = ("--box", "-3,-3,-3,3,3,3", "--floor", "-2.5")
    code, out, _ = called(capsys, *QUICK, *start, *box, "--plot", "a.png", "--html", "a.html", "--json")
    assert code == 0
    document = strict_json(out)
    assert np.rad2deg(document["q"][0]) == pytest.approx([20.0, -40.0])
    assert np.abs(document["qd"]).max() <= np.pi / 2
    assert (tmp_path / "a.png").stat().st_size > 1000
    assert (tmp_path / "a.html").stat().st_size > 1000


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--criterion", "e"), "--criterion: "),
        (("--q", "9,9"), "--q: joint1 is at 9 rad (m) at rest"),
        (("--noise", "-1"), "--noise: expected a number above 0, or one per joint"),
        (("--voltage", "24"), "--voltage: the motor of joint1 is unknown"),
        (("--box", "1,1,1,0,0,0"), "--box: expected two corners"),
        (("--box", "0,0,0,1,1,1", "--floor", "2"), "--floor: 2 m is not below the top of --box, 1 m."),
        (("--after", "no.csv"), "no.csv"),
        (("-o", "motion.txt"), "--output motion.txt: the name must end in"),
    ],
)
def test_errors_in_words_of_the_prompt(more: tuple[str, ...], said: str, capsys: Capture) -> None:
    code, out, err = called(capsys, *QUICK, *more)
    assert (code, out) == (2, "")
    assert said in " ".join(err.split())
