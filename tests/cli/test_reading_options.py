"""The options of `convert`, `info` and `check` that say how a URDF is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.lines import Capture, called, refused

import forearm as fa

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


def test_convert_repairs_and_weighs_and_info_and_check_take_the_options_too(
    urdf: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    out = urdf.with_name("small.toml")
    assert "With strict=False (forearm convert --lenient)" in refused(capsys, "convert", urdf, out)
    code, _, err = called(capsys, "convert", urdf, out, *options(urdf))
    assert (code, "small.urdf: repaired: link 'c', line 4" in err) == (0, True)
    assert fa.load(out).link("b").mass == pytest.approx(3.0)
    assert "4 kg" in called(capsys, "info", urdf, *options(urdf))[1]
    _, said, _ = called(capsys, "check", urdf, *options(urdf))
    assert "warning [repaired] small.urdf: repaired: link 'c', line 4" in said
    for text in ("cube", "=here", "cube="):
        said = f"--package: expected NAME=FOLDER, such as robot=../robot, got '{text}'."
        assert said in refused(capsys, "info", urdf, "--package", text)
