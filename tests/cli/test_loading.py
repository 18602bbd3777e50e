"""What a command says of the file that its arm is in."""

from __future__ import annotations

from pathlib import Path

import pytest

from forearm.cli.main import main

URDF = """<robot name="small">
  <material name="grey"/>
  <link name="a" kind="x"><visual/></link>
  <link name="b" kind="x"><visual/><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.3"/></inertial></link>
  <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>
  <gazebo/><spring/>
</robot>
"""  # noqa: E501


def test_what_was_read_over_is_one_paragraph_and_other_warnings_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    path = tmp_path / "small.urdf"
    path.write_text(URDF, encoding="utf-8")
    assert main(["inverse", str(path), "--q", "0.1"]) == 0
    first, *rest = sorted(capsys.readouterr().err.splitlines())
    assert first == (
        "warning: small.urdf: ignored attribute 'kind' of <link>, 2 times (first in line 3); <spring> in "
        "<robot> (first in line 6)."
    )
    assert len(rest) == 1
    assert "triangle inequality" in rest[0]


def test_an_arm_with_nothing_to_say_about_it_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inverse", "ur5"]) == 0
    assert capsys.readouterr().err == ""
