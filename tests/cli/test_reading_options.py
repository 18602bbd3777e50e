"""The options of `convert`, `info` and `check` that say how a URDF is read."""

from __future__ import annotations

from pathlib import Path

import pytest

import forearm as fa
from forearm.cli.main import main

URDF = """<robot name="small">
<link name="a"/>
<link name="b"><collision><geometry><mesh filename="package://cube/cube.obj"/></geometry></collision></link>
<link name="c"><inertial><mass value="1"/><inertia ixx="-1" iyy="1" izz="1"/></inertial></link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>
<joint name="k" type="continuous"><parent link="b"/><child link="c"/></joint>
</robot>
"""
CUBE = (
    "".join(f"v {x} {y} {z}\n" for x in (0, 1) for y in (0, 1) for z in (0, 1))
    + "f 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n"
)


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "cube.obj").write_text(CUBE, encoding="utf-8")
    (tmp_path / "small.urdf").write_text(URDF, encoding="utf-8")
    return tmp_path / "small.urdf"


def options(urdf: Path) -> list[str]:
    return ["--lenient", "--density", "3", "--package", f"cube={urdf.parent / 'meshes'}"]


def test_convert_repairs_and_weighs(urdf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = urdf.with_name("small.toml")
    assert main(["convert", str(urdf), str(out)]) == 2
    assert "With strict=False (forearm convert --lenient)" in " ".join(capsys.readouterr().err.split())
    assert main(["convert", str(urdf), str(out), *options(urdf)]) == 0
    assert "small.urdf: repaired: link 'c', line 4" in " ".join(capsys.readouterr().err.split())
    assert fa.load(out).link("b").mass == pytest.approx(3.0)


def test_info_and_check_take_them_too(urdf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(urdf), *options(urdf)]) == 0
    assert "4 kg" in capsys.readouterr().out
    assert main(["check", str(urdf), *options(urdf)]) == 0
    assert "warning [repaired] small.urdf: repaired: link 'c', line 4" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["cube", "=here", "cube="])
def test_package_that_is_none(urdf: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(urdf), "--package", text]) == 2
    said = f"--package: expected NAME=FOLDER, such as robot=../robot, got '{text}'."
    assert said in " ".join(capsys.readouterr().err.split())
