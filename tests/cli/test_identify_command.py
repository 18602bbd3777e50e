"""`forearm identify`: from logs to an arm file, a page, a document, and what to do next."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.lines import Capture, called, strict_json, swing

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
    code, out, err = called(capsys, *LINE, "--json", "--validate", "two.csv", "--confidence", "0.9")
    assert (code, err) == (0, "")
    said = strict_json(out)
    assert said["format"] == "forearm-identification/1"
    assert said["confidence"] == 0.9
    assert {finding["level"] for finding in said["check"]} == {"note"}
    assert said["output"] is None
    assert said["validation"]["name"] == "two.csv"
    assert all(
        x < 0.2 * y for x, y in zip(said["validation"]["rms"], said["validation"]["rms_before"], strict=True)
    )
    assert {log["name"] for log in said["logs"]} == {"one.csv", "two.csv"}


@pytest.mark.slow
def test_options_reach_the_fit(capsys: Capture) -> None:
    options = (
        "--offsets",
        "--shift",
        "0.001",
        "--payload",
        "none",
        "--payload",
        "0.5,0,0,0.1",
        "--total-mass",
        "10",
    )
    code, out, err = called(capsys, *LINE, *options, "--cutoff", "9", "--weighting", "ordinary", "--json")
    assert (code, err) == (0, "")
    said = strict_json(out)
    assert [log["shift"] for log in said["logs"]] == [0.001, 0.001]
    assert all(abs(log["cutoff"] - 9.0) < 2.0 for log in said["logs"])
    assert "joint1.offset" in {p["name"] for p in said["parameters"]}


def said_of(capsys: Capture, *words: str) -> str:
    code, out, err = called(capsys, *words)
    assert (code, out) == (2, "")
    return " ".join(err.split())


def test_the_side_of_the_torque_is_asked_for(capsys: Capture) -> None:
    text = said_of(capsys, "identify", "before.toml", "one.csv")
    assert text.startswith("forearm: --torque-side: expected 'motor' or 'link'.")
    assert "'motor': tau is motor torque times gear ratio" in text
    assert "'link': measured by a sensor behind the gear" in text


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--torque-side", "both"), "--torque-side: expected one of motor, link, got 'both'"),
        (
            ("--payload", "heavy"),
            "--payload: expected unknown, none, KG or KG,X,Y,Z with at least 0 kg, got 'heavy'",
        ),
        (("--payload", "1,2"), "--payload: expected unknown, none, KG or KG,X,Y,Z"),
        (("--payload", "-1"), "--payload: expected unknown, none, KG or KG,X,Y,Z"),
        (
            ("--payload", "1", "--payload", "2", "--payload", "none"),
            "--payload: expected one for all logs, or one",
        ),
        (("--shift", "soon"), "--shift: expected a number of seconds or auto, got 'soon'"),
        (("-o", "new.urdf"), "--output new.urdf: the name must end in .toml."),
        (("--html", "new.pdf"), "--html new.pdf: a page ends in .html or .htm."),
        (("--friction", "sticky"), "--friction: expected one of auto, none, viscous, coulomb, stribeck"),
        (("--validate", "three.csv"), "--validate three.csv: no such file. Check the path."),
    ],
)
def test_wrong_words_are_refused(words: tuple[str, ...], text: str, capsys: Capture) -> None:
    assert text in said_of(capsys, *LINE, *words)
