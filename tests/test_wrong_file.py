"""One kind of file in place of another: the message says what it is, and what reads it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import forearm as fa
from forearm.cli.main import main
from forearm.files.builtin import builtin_file
from forearm.parts.database import read_parts
from forearm.studies.study_file import read_study
from forearm.trajectories.requestfile import read_request

STUDY = 'arm = "ascher2"\nfigures = ["peak_torque"]\n[vary]\n"link1.mass" = { uniform = [1, 2] }\n'
FILES: dict[str, tuple[str, str, str]] = {  # text, what it is, what reads it
    "arm.toml": ("", "an arm file", "fa.load('arm.toml') and 'forearm info arm.toml' read"),
    "parts.toml": (
        'schema = "forearm-parts/1"\nlink = []\n',
        "a parts file",
        "the key parts of an arm file and 'forearm parts parts.toml' read",
    ),
    "request.toml": (
        'schema = "forearm-request/1"\n[[waypoint]]\nq = [0, 0]\n',
        "a request of a motion",
        "fa.plan(arm, 'request.toml') and 'forearm plan ARM request.toml' read",
    ),
    "study.toml": (
        f'schema = "forearm-study/1"\n{STUDY}',
        "a study file",
        "fa.Study.read('study.toml') and 'forearm sweep study.toml' read",
    ),
    "bare.toml": (STUDY, "a study file", "fa.Study.read('bare.toml') and 'forearm sweep bare.toml' read"),
    "motion.json": (
        "",
        "a planned motion",
        "fa.plan(arm, 'motion.json') and 'forearm simulate ARM --plan motion.json' read",
    ),
}
READERS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "arm.toml": (fa.load, "an arm file"),
    "parts.toml": (read_parts, "a parts file"),
    "request.toml": (read_request, "a request of a motion"),
    "study.toml": (read_study, "a study file"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with each of the files."""
    for name, (text, *_) in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "arm.toml").write_bytes(builtin_file("ascher2").read_bytes())
    limits = fa.trajectories.MotionLimits([1.0, 1.0])
    fa.trajectories.bang_bang([0.0, 0.0], [0.0, 0.0], [1.0, 0.5], [0.0, 0.0], limits).save(
        tmp_path / "motion.json"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        (wanted, given)
        for wanted in READERS
        for given in FILES
        if FILES[given][1] != FILES[wanted][1] and (given.endswith(".toml") or wanted == "arm.toml")
    ],
)
def test_a_file_of_another_kind(wanted: str, given: str, folder: Path) -> None:
    read, expected = READERS[wanted]
    _, what, readers = FILES[given]
    with pytest.raises(fa.InputError) as caught:
        read(folder / given)
    assert str(caught.value) == f"{given}: expected {expected}, got {what}, which {readers}."


def test_an_arm_file_to_update_that_is_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["parts", "cmu-dd", "--update", str(folder / "parts.toml")]
    assert main(words) == 2
    assert "parts.toml: expected an arm file, got a parts file" in " ".join(capsys.readouterr().err.split())


def test_what_is_named_reads_a_motion(folder: Path) -> None:
    assert fa.plan(fa.load("ascher2"), folder / "motion.json").duration > 1.0


def test_other_json_is_no_arm_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"x": 1}', encoding="utf-8")
    with pytest.raises(fa.InputError, match=r"the file must end in \.toml \(arm file\)"):
        fa.load(tmp_path / "a.json")
