"""`forearm generate` as a user meets it: code on the screen, files in a folder, JSON."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from cli.lines import Capture, called, document, refused

import forearm as fa
from forearm.control.code import controller_code

ARM = fa.load("ascher2")


def test_without_a_folder_the_code_is_printed(capsys: Capture) -> None:
    source = fa.generate(ARM, "inverse_dynamics", "c")
    code, out, err = called(capsys, "generate", "ascher2")
    assert (code, err) == (0, "")
    assert source.header in out
    assert source.text in out
    assert out.index(source.header) < out.index(source.text), "what a caller must know comes first"


def test_files_are_written_into_a_folder(capsys: Capture, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "generated"
    words = ("generate", "ascher2", "--function", "gravity", "--lang", "c", "-o", folder)
    code, out, _ = called(capsys, *words)
    assert code == 0
    source = fa.generate(ARM, "gravity", "c")
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == source.files()
    assert "ascher2_gravity: 4 mul, 2 add" in out
    assert f" {sum(text.count(chr(10)) for text in source.files().values())} lines\n" in out
    written = [str(folder / name) for name in source.files()]
    assert out.splitlines()[1:] == [f"wrote {path}" for path in written]
    found = document(capsys, *words)
    assert (found["files"], found["written"]) == ({}, written)
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    assert "below" in refused(capsys, "generate", "ascher2", "-o", tmp_path / "file" / "below")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "function", "given"),
    [
        (("--function", "inertia_matrix", "--function", "bias"), ("inertia_matrix", "bias"), {}),
        (
            ("--lang", "rust", "--dtype", "float32"),
            "inverse_dynamics",
            {"language": "rust", "dtype": "float32"},
        ),
        (
            ("--parameter", "link2", "--parameter", "gravity.z"),
            "inverse_dynamics",
            {"parameters": ["link2", "gravity.z"]},
        ),
        (("--formulation", "kane"), "inverse_dynamics", {"formulation": "kane"}),
        (("--name", "My torque"), "inverse_dynamics", {"name": "My torque"}),
    ],
)
def test_options_reach_the_code(
    words: tuple[str, ...], function: Any, given: dict[str, Any], capsys: Capture
) -> None:
    found, source = document(capsys, "generate", "ascher2", *words), fa.generate(ARM, function, **given)
    assert found["files"] == source.files()
    assert found["counts"] == asdict(source.counts)
    assert (found["arm"], found["n"], found["name"]) == ("ascher2", 2, source.name)
    assert (found["language"], found["written"]) == (source.language, [])
    assert found["functions"] == ([function] if isinstance(function, str) else [*function])


@pytest.mark.slow
def test_the_arm_is_rigid_ends_at_another_hand_or_is_in_a_file(capsys: Capture, tmp_path: Path) -> None:
    ARM.replace(name="mine").save(tmp_path / "mine.toml")
    for words, arm, function in (
        (("puma560", "--rigid"), fa.load("puma560").rigid(), "gravity"),
        (("ascher2", "--hand", "link1"), fa.load("ascher2", hand="link1"), "jacobian"),
        ((tmp_path / "mine.toml",), ARM.replace(name="mine"), "bias"),
    ):
        found = document(capsys, "generate", *words, "--function", function)
        assert found["files"] == fa.generate(arm, function).files()


@pytest.mark.parametrize("law", ["computed_torque", "pid_gravity"])
def test_controllers(law: str, capsys: Capture) -> None:
    options = ("--bandwidth", "20", "--period", "0.002", "--open-gains", "--dtype", "float32")
    found = document(capsys, "generate", "ascher2", "--function", law, *options)
    source = controller_code(ARM, law, bandwidth=20.0, period=0.002, open_gains=True, dtype="float32")
    assert found["files"] == source.files()
    found = document(capsys, "generate", "ascher2", "--function", law, "--name", "law")
    assert found["files"] == controller_code(ARM, law, name="law").files()


def test_a_formulation_of_an_arm_with_bearings_needs_rigid(capsys: Capture, tmp_path: Path) -> None:
    bearing = fa.Bearing(kind="journal", mu=0.1, radius=0.02, distance=0.1)
    ARM.with_drives(bearings=[bearing]).save(tmp_path / "mine.toml")
    said = refused(capsys, "generate", tmp_path / "mine.toml", "--formulation", "kane")
    assert "leave the formulation out, or add --rigid." in said
