"""`forearm identify`: from logs to an arm file, a page, a document, and what to do next."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.lines import Capture, called, document, swing

from forearm import load

LINE = ("identify", "before.toml", "one.csv", "two.csv", "--torque-side", "motor")


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An arm whose second link is thought to be too heavy, and a log of the true one in two halves."""
    monkeypatch.chdir(tmp_path)
    arm = load("ascher2")
    link = arm.link("link2")
    heavy = type(link)(name="link2", mass=1.3 * link.mass, com=link.com, inertia=1.3 * link.inertia)
    arm.with_link(heavy).save("before.toml")
    header, *rows = swing("ascher2").splitlines()
    for name, part in (("one.csv", rows[:150]), ("two.csv", rows[150:])):
        Path(name).write_text("\n".join([header, *part]) + "\n", encoding="utf-8")


@pytest.mark.slow
def test_the_new_arm_its_page_and_what_is_next(capsys: Capture) -> None:
    code, out, err = called(
        capsys, *LINE, "-o", "new.toml", "--html", "new.html", "--validate", "two.csv", "--friction", "none"
    )
    assert (code, err) == (0, "")
    new = load("new.toml")
    moment = new.base_parameters()
    truth = load("ascher2").base_parameters()
    k = truth.names.index("link2.mx")
    assert moment.values[k] == pytest.approx(truth.values[k], rel=0.02)
    assert new.deviations["link2.mass"] > 0.0
    for expected in (
        "Parameters from the data alone",
        "Validation: two.csv, not used in the fit",
        "forearm check of the result: no warnings",
        "next: forearm simulate new.toml --duration 1",
        "forearm control run new.toml MOTION --controller 'computed torque'",
    ):
        assert expected in out
    assert out.splitlines()[-2:] == ["wrote new.toml", "wrote new.html"]
    assert "<svg" in Path("new.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_json_is_one_document_with_checks_and_validation(capsys: Capture) -> None:
    said = document(capsys, *LINE, "--validate", "two.csv", "--confidence", "0.9")
    assert said["format"] == "forearm-identification/1"
    assert said["confidence"] == 0.9
    assert {finding["level"] for finding in said["check"]} == {"note"}
    assert said["output"] is None
    assert said["validation"]["name"] == "two.csv"
    rms = zip(said["validation"]["rms"], said["validation"]["rms_before"], strict=True)
    assert all(after < 0.2 * before for after, before in rms)
    assert {log["name"] for log in said["logs"]} == {"one.csv", "two.csv"}


@pytest.mark.slow
def test_options_reach_the_fit(capsys: Capture) -> None:
    load = ("--payload", "none", "--payload", "0.5,0,0,0.1", "--total-mass", "10")
    how = ("--offsets", "--shift", "0.001", "--cutoff", "9", "--weighting", "ordinary")
    said = document(capsys, *LINE, *load, *how)
    assert [log["shift"] for log in said["logs"]] == [0.001, 0.001]
    assert all(abs(log["cutoff"] - 9.0) < 2.0 for log in said["logs"])
    assert "joint1.offset" in {p["name"] for p in said["parameters"]}
