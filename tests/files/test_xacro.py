"""xacro expanded by xacrodoc where that is installed, and names of robot_descriptions: both imported only
when they are used.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import forearm as fa

XACRO = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:include filename="$(find parts)/arm.xacro"/>
<xacro:property name="m" value="2"/>
<link name="a"/><xacro:body name="b" mass="${3 * m}"/>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>
</robot>
"""
PART = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:macro name="body" params="name mass">
<link name="${name}"><inertial><mass value="${mass}"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
</xacro:macro></robot>
"""


@pytest.fixture
def xacro(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "arm.xacro").write_text(PART, encoding="utf-8")
    path = tmp_path / "here" / "arm.urdf.xacro"
    path.write_text(XACRO, encoding="utf-8")
    return path


class Expander:
    """What is used of xacrodoc, with the folders it was told of."""

    def __init__(self) -> None:
        self.folders: dict[str, Path] = {}

    def from_file(self, path: Path, resolve_packages: bool) -> Any:
        assert not resolve_packages
        part = (self.folders["parts"] / "arm.xacro").read_text(encoding="utf-8")
        assert "macro" in part
        body = part.splitlines()[1].replace("${name}", "b").replace("${mass}", "6")
        text = path.read_text(encoding="utf-8").splitlines()
        plain = "\n".join(['<robot name="r">', body, '<link name="a"/>', *text[4:]])
        return SimpleNamespace(to_urdf_string=lambda pretty: plain)


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """A xacrodoc that knows just this file, so that the test needs none."""
    expander = Expander()
    made = ModuleType("xacrodoc")
    made.XacroDoc = expander  # type: ignore[attr-defined]
    made.packages = SimpleNamespace(update_package_cache=expander.folders.update)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "xacrodoc", made)


def test_packages_are_given_or_found(xacro: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    arm = fa.load(xacro, packages={"parts": xacro.parent.parent / "elsewhere"})
    assert (arm.name, arm.link("b").mass) == ("r", 6.0)
    install(monkeypatch)
    with pytest.raises(fa.InputError) as caught:
        fa.load(xacro)
    assert str(caught.value) == (
        "arm.urdf.xacro: xacro cannot expand it: \"'parts'\". Give the packages of $(find ...) with "
        "packages={name: folder} (--package NAME=FOLDER)."
    )
    (xacro.parent.parent / "elsewhere").rename(xacro.parent.parent / "parts")
    install(monkeypatch)
    assert fa.load(xacro) == arm


def test_the_real_one_agrees(xacro: Path) -> None:
    pytest.importorskip("xacrodoc")
    arm = fa.load(xacro, packages={"parts": xacro.parent.parent / "elsewhere"})
    assert (arm.name, arm.link("b").mass, arm.n) == ("r", 6.0, 1)


def test_errors_name_the_expanded_text(xacro: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    xacro.write_text(XACRO.replace("continuous", "ball"), encoding="utf-8")
    said = r"^arm\.urdf\.xacro \(expanded\), line 4, joint 'j', type: expected one of revolute"
    with pytest.raises(fa.InputError, match=said):
        fa.load(xacro, packages={"parts": xacro.parent.parent / "elsewhere"})


def describe(folder: Path, name: str, text: str) -> None:
    package = folder / "robot_descriptions"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").touch()
    (package / f"{name}.py").write_text(text, encoding="utf-8")


@pytest.fixture
def descriptions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.startswith("robot_descriptions")]:
        monkeypatch.delitem(sys.modules, name)
    return tmp_path


def test_name_of_robot_descriptions(descriptions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fa.load("ur5").to_urdf(descriptions / "some.urdf")
    describe(descriptions, "some_description", f"URDF_PATH = {str(descriptions / 'some.urdf')!r}\n")
    assert fa.load("some_description", hand="ee_link").tree == fa.load("ur5").tree
    describe(descriptions, "far_description", "raise OSError('no network')\n")
    with pytest.raises(fa.InputError) as caught:
        fa.load("far_description")
    assert str(caught.value) == (
        "load: robot_descriptions could not provide 'far_description': 'no network'. Descriptions are "
        "downloaded on first use: try again with a network connection, or give the path of a file."
    )
    describe(descriptions, "bare_description", "XACRO_PATH = 'x.xacro'\n")
    with pytest.raises(
        fa.InputError, match=r"^load: robot_descriptions has 'bare_description' as xacro only"
    ):
        fa.load("bare_description")
    for name in [name for name in sys.modules if name.startswith("robot_descriptions")]:
        monkeypatch.delitem(sys.modules, name)


def test_name_that_robot_descriptions_does_not_have(descriptions: Path) -> None:
    describe(descriptions, "some_description", "raise AssertionError('imported')\n")
    neither = r"'\w+' is neither a built-in arm nor a \.toml, \.urdf or \.xml file;"
    with pytest.raises(
        fa.NameNotFound,
        match=f"{neither} robot_descriptions has no such name; did you mean 'some_description'",
    ):
        fa.load("somer_description")
    with pytest.raises(fa.NameNotFound, match=f"{neither} 'ur5' is built in"):
        fa.load("ur5_description")


def test_name_of_robot_descriptions_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forearm.files.described.find_spec", lambda name: None)
    with pytest.raises(fa.NameNotFound, match="need that package: pip install robot_descriptions"):
        fa.load("other_description")


def test_neither_is_imported_unless_used(tmp_path: Path) -> None:
    code = (
        "import sys, forearm as fa\nfa.load('ur5').to_urdf('a.urdf')\nfa.load('a.urdf')\n"
        "print([n for n in ('xacrodoc', 'robot_descriptions', 'forearm.files.xacro') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
