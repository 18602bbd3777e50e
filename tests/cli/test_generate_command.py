"""`forearm generate` as a user meets it: code on the screen, files in a folder, JSON, mistakes."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import forearm as fa
from forearm.cli.main import main
from forearm.codegen.generate import SINGLE
from forearm.control.code import controller_code
from forearm.control.laws import LAWS

Capture = pytest.CaptureFixture[str]


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    code = main(["generate", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_without_a_folder_the_code_is_printed(capsys: Capture) -> None:
    source = fa.generate(fa.load("ascher2"), "inverse_dynamics", "c")
    code, out, err = run(capsys, "ascher2")
    assert (code, err) == (0, "")
    assert source.header in out
    assert source.text in out
    assert out.index(source.header) < out.index(source.text), "what a caller must know comes first"


def test_files_are_written_into_a_folder(capsys: Capture, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "generated"
    code, out, _ = run(capsys, "ascher2", "--function", "gravity", "--lang", "c", "-o", str(folder))
    assert code == 0
    source = fa.generate(fa.load("ascher2"), "gravity", "c")
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == source.files()
    assert "ascher2_gravity: 4 mul, 2 add" in out
    assert f" {sum(text.count(chr(10)) for text in source.files().values())} lines\n" in out
    assert out.splitlines()[1:] == [f"wrote {folder / name}" for name in source.files()]


def test_json_names_what_was_written(capsys: Capture, tmp_path: Path) -> None:
    _, out, _ = run(capsys, "ascher2", "-o", str(tmp_path), "--json")
    document = json.loads(out)
    assert document["files"] == {}
    assert sorted(Path(path).name for path in document["written"]) == [
        "ascher2_inverse_dynamics.c",
        "ascher2_inverse_dynamics.h",
    ]
    assert all(Path(path).is_file() for path in document["written"])


def test_several_functions_become_one(capsys: Capture) -> None:
    _, out, _ = run(
        capsys,
        "stanford-dhanaraj3",
        "--function",
        "inertia_matrix",
        "--function",
        "bias",
        "--name",
        "both",
        "--json",
    )
    document = json.loads(out)
    arm = fa.load("stanford-dhanaraj3")
    assert document["functions"] == ["inertia_matrix", "bias"]
    assert document["files"] == fa.generate(arm, ("inertia_matrix", "bias"), name="both").files()
    alone = [fa.generate(arm, f).counts.trig for f in ("inertia_matrix", "bias")]
    assert document["counts"]["trig"] < sum(alone)


@pytest.mark.slow
def test_options_reach_the_code(capsys: Capture) -> None:
    puma = fa.load("puma560")
    for words, source in (
        (("puma560", "--rigid"), fa.generate(puma.rigid(), "inverse_dynamics")),
        (
            ("puma560", "--parameter", "link6", "--parameter", "gravity.z"),
            fa.generate(puma, "inverse_dynamics", parameters=["link6", "gravity.z"]),
        ),
        (
            ("ascher2", "--formulation", "kane"),
            fa.generate(fa.load("ascher2"), "inverse_dynamics", formulation="kane"),
        ),
        (
            ("ascher2", "--name", "My torque"),
            fa.generate(fa.load("ascher2"), "inverse_dynamics", name="My torque"),
        ),
        (
            ("ascher2", "--function", "jacobian", "--hand", "link1"),
            fa.generate(fa.load("ascher2", hand="link1"), "jacobian"),
        ),
    ):
        code, out, _ = run(capsys, *words, "--json")
        assert code == 0
        assert json.loads(out)["files"] == source.files()


def test_an_arm_file_will_do(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    fa.load("ascher2").replace(name="mine").save(path)
    code, out, _ = run(capsys, str(path), "--json")
    assert code == 0
    assert json.loads(out)["name"] == "mine_inverse_dynamics"


def test_a_folder_that_cannot_be_made_is_told(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    code, _, err = run(capsys, "ascher2", "-o", str(tmp_path / "file" / "below"))
    assert code == 2
    assert "Traceback" not in err
    assert "below" in " ".join(err.split())


def test_what_is_written_compiles(capsys: Capture, tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    for function in ("inverse_dynamics", "forward_dynamics"):
        assert run(capsys, "stanford-dhanaraj3", "--function", function, "-o", str(tmp_path))[0] == 0
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c"]
    sources = sorted(path.name for path in tmp_path.glob("*.c"))
    assert len(sources) == 2
    done = subprocess.run(
        ["gcc", *flags, *sources], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_single_precision(capsys: Capture) -> None:
    arm = fa.load("ascher2")
    for language in SINGLE:
        _, out, _ = run(capsys, "ascher2", "--lang", language, "--dtype", "float32", "--json")
        document = json.loads(out)
        source = fa.generate(arm, "inverse_dynamics", language, dtype="float32")
        assert (document["dtype"], document["files"]) == ("float32", source.files())
    assert source.files() != fa.generate(arm, "inverse_dynamics", source.language).files()


@pytest.mark.parametrize("law", LAWS)
def test_controllers(law: str, capsys: Capture) -> None:
    options = ("--bandwidth", "20", "--period", "0.002", "--open-gains", "--dtype", "float32")
    code, out, _ = run(capsys, "ascher2", "--function", law, *options, "--json")
    assert code == 0
    source = controller_code(
        fa.load("ascher2"), law, bandwidth=20.0, period=0.002, open_gains=True, dtype="float32"
    )
    assert json.loads(out)["files"] == source.files()
    _, out, _ = run(capsys, "ascher2", "--function", law, "--name", "law", "--json")
    assert json.loads(out)["files"] == controller_code(fa.load("ascher2"), law, name="law").files()


def test_a_formulation_of_an_arm_with_bearings_needs_rigid(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    bearing = fa.Bearing(kind="journal", mu=0.1, radius=0.02, distance=0.1)
    fa.load("ascher2").with_drives(bearings=[bearing]).save(path)
    code, out, err = run(capsys, str(path), "--formulation", "kane")
    assert (code, out) == (2, "")
    assert "leave the formulation out, or add --rigid." in " ".join(err.split())
