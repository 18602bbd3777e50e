"""The studio as users get it, in a browser: its numbers are those of Python, to the digits of its CSV."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from viewer.browser import Open, without_webgl

import forearm as fa
from forearm.cli.main import main
from forearm.simulation.result import Simulation

pytestmark = pytest.mark.slow
SAME = 1e-9  # of the largest number: what sines of another library make of some hundred steps
STANDING = [0.1, 0.8, -1.6, 0.2, 0.5, 0.0]
COLUMNS = (
    "() => { const { t, q, qd } = forearmStudio.run(); return [t, ...q, ...qd].map((c) => Array.from(c)); }"
)
EVIL = "</script><img src=x onerror=document.title='taken'>{{data}}<b>&amp;"


def text_of(arm: Any, folder: Path, **more: Any) -> str:
    """A page as `fa.studio` writes it."""
    return fa.studio(arm, folder / "studio.html", **more).path.read_text(encoding="utf-8")


def close(found: Any, expected: Any) -> None:
    a, b = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    assert a.shape == b.shape
    assert np.abs(a - b).max() <= SAME * max(1.0, np.abs(b).max())


def taken(shown: Any, title: str) -> str:
    """A text of the Export panel."""
    shown.evaluate("forearmStudio.tab('take')")
    shown.wait_for_timeout(200)
    found = shown.get_by_label(title, exact=True).first.text_content()
    assert isinstance(found, str)
    return found


def test_a_fall_of_the_page_is_the_line_of_python_that_it_shows(opened: Open, tmp_path: Path) -> None:
    shown = opened([], without_webgl(), text_of("puma560", tmp_path, q=STANDING))
    shown.evaluate("forearmStudio.setWorld({ payload: 1.5, friction: 0.5, gravity: [1, 0, -9] })")
    shown.evaluate("forearmStudio.letGo(); forearmStudio.pause(); forearmStudio.finish(0.4)")
    t, *columns = (np.array(c) for c in shown.evaluate(COLUMNS))
    names: dict[str, Any] = {}
    exec(compile(taken(shown, "Python"), "lines", "exec"), names)
    run: Simulation = names["run"]
    every = round((t[1] - t[0]) / (run.t[1] - run.t[0]))
    close(t[: len(run.t[::every])], run.t[::every])
    close(np.transpose(columns)[: len(run.t[::every])], np.hstack([run.q, run.qd])[::every])
    assert np.abs(run.q[-1] - STANDING).max() > 0.05
    rows = list(csv.reader(io.StringIO(shown.evaluate("forearmStudio.csv()"))))
    assert rows[0][:3] == ["t", "q_joint1", "q_joint2"]
    np.testing.assert_array_equal(np.array(rows[1:], dtype=float)[:, 1:7], np.transpose(columns[:6]))


def test_names_of_an_arm_are_text_everywhere(opened: Open, tmp_path: Path) -> None:
    arm = random_arm(3, 3)
    joints = {j.name: f"{EVIL} {k}" for k, j in enumerate(arm.joints)}
    text = text_of(arm.replace(name=EVIL), tmp_path)
    for old, new in joints.items():
        inside = json.dumps(new).replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
        text = text.replace(json.dumps(old), inside)
    shown = opened([], without_webgl(), text)
    assert shown.title() == EVIL
    assert shown.evaluate("document.images.length") == 0
    shown.evaluate("forearmStudio.letGo(); forearmStudio.finish(0.1)")
    assert EVIL in shown.evaluate("document.body.innerText")
    for title in ("Python", "Command", "Arm file"):
        assert taken(shown, title)
    assert shown.title() == EVIL


def test_it_works_in_a_cell_of_a_notebook(opened: Open, tmp_path: Path) -> None:
    page = fa.studio("ascher2", tmp_path / "cell.html")
    cell = page._repr_html_()
    assert html.unescape(cell).count("</html>") == 1
    outer = f"<!DOCTYPE html><script>window.forearmStudio = {{ ready: true }}</script><body>{cell}</body>"
    shown = opened([], without_webgl(), outer)
    frame = shown.frames[1]
    frame.evaluate("forearmStudio.ready")
    frame.evaluate("forearmStudio.letGo(); forearmStudio.finish(0.2)")
    assert abs(frame.evaluate("forearmStudio.getJoints()")[0]) > 0.01


def test_an_arm_that_cannot_move_by_itself_is_shown_and_posed(opened: Open, tmp_path: Path) -> None:
    arm = fa.from_dh("light", [(0.4, 0, 0, 0), (0.3, 0, 0, 0)], convention="standard")
    shown = opened([], without_webgl(), text_of(arm, tmp_path))
    assert shown.evaluate("forearmStudio.setJoints([0.5, -0.2])") == [0.5, -0.2]
    hand = np.reshape(shown.evaluate("forearmStudio.getHand()"), (4, 4))
    close(hand, fa.kinematics.forward(arm, [0.5, -0.2]))
    assert shown.get_by_role("button", name="Let go").count() == 0 or not shown.locator("#go").is_visible()


def test_meshes_that_are_missing_are_said(opened: Open, tmp_path: Path) -> None:
    mesh = '<visual><geometry><mesh filename="{}"/></geometry></visual>'
    inertial = (
        '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    tip = f'<link name="tip">{inertial}{mesh.format("gone.stl")}</link>'
    joint = '<joint name="j" type="continuous"><parent link="foot"/><child link="tip"/><axis xyz="0 1 0"/></joint>'
    urdf = f'<robot name="r"><link name="foot"/>{tip}{joint}</robot>'
    (tmp_path / "r.urdf").write_text(urdf, encoding="utf-8")
    page = fa.studio(tmp_path / "r.urdf", tmp_path / "r.html", meshes=True)
    assert len(page.missing) == 1
    assert "gone.stl" in page.missing[0]
    assert "1 meshes missing" in repr(page)
    shown = opened([], without_webgl(), page.path.read_text(encoding="utf-8"))
    assert re.search("gone", shown.locator("#notes").text_content())
    shown.evaluate("forearmStudio.letGo(); forearmStudio.finish(0.05)")


def test_a_recorded_run_plays_with_every_panel_open(opened: Open, tmp_path: Path) -> None:
    run = fa.simulate(fa.load("ascher2"), [0.3, 0.2], [0.0, 0.0], 0.2, method="rk4")
    run.to_html(tmp_path / "run.html")
    shown = opened([], without_webgl(), (tmp_path / "run.html").read_text(encoding="utf-8"))
    for tab in ("world", "move", "see", "take"):
        shown.evaluate(f"forearmStudio.tab('{tab}')")
        shown.evaluate("forearmStudio.seek(0.1)")
        shown.wait_for_timeout(60)
    assert "ascher2" in taken(shown, "Arm file")
    assert shown.evaluate("forearmStudio.csv()").startswith("t,q_joint1,q_joint2,qd_joint1")
    np.testing.assert_allclose(shown.evaluate("forearmStudio.getJoints()"), run.at(0.1)[0], atol=1e-5)


def test_what_changes_during_a_run_is_said_to_be_left_out(opened: Open, tmp_path: Path) -> None:
    shown = opened([], without_webgl(), text_of("puma560", tmp_path, q=STANDING))
    shown.evaluate("forearmStudio.letGo(); forearmStudio.pause(); forearmStudio.finish(0.1)")
    assert "during the run" not in taken(shown, "Python")
    shown.evaluate("forearmStudio.setWorld({ payload: 5 }); forearmStudio.finish(0.2)")
    for title in ("Python", "Command"):
        assert "Payload, friction or gravity changed during the run" in taken(shown, title)


def test_a_typed_pose_is_found_from_other_postures(opened: Open, tmp_path: Path) -> None:
    shown = opened([], without_webgl(), text_of("panda", tmp_path))
    home = shown.evaluate("forearmStudio.getJoints()")
    assert home[3] == pytest.approx(-1.571), "in the middle of a range that does not hold 0"
    T = shown.evaluate("forearmStudio.getHand()")
    T[11] = 0.8
    assert shown.evaluate(f"forearmStudio.reach({T})")
    close(
        fa.kinematics.forward(fa.load("panda"), shown.evaluate("forearmStudio.getJoints()")),
        np.reshape(T, (4, 4)),
    )


def test_a_posture_beyond_limits_and_an_arm_without_joints_are_refused(tmp_path: Path) -> None:
    said = "studio, q: joint1: expected -2.8973 to 2.8973 rad, its limits, got 4."
    with pytest.raises(fa.InputError, match=re.escape(said)):
        fa.studio("panda", tmp_path / "a.html", q=[4, 0, 0, -1, 0, 1, 0])
    still = fa.load("ascher2").lock({"joint1": 0.0, "joint2": 0.0})
    with pytest.raises(fa.InputError, match="has no movable joint"):
        fa.studio(still, tmp_path / "a.html")


def test_what_a_command_cannot_say_is_in_the_file_that_the_page_saves(tmp_path: Path) -> None:
    box = "<collision><geometry><box size='0.1 0.1 0.4'/></geometry></collision>"
    joint = "<joint name='j' type='continuous'><parent link='foot'/><child link='tip'/><axis xyz='0 1 0'/></joint>"
    (tmp_path / "r.urdf").write_text(
        f"<robot name='r'><link name='foot'/><link name='tip'>{box}</link>{joint}</robot>", encoding="utf-8"
    )
    for more, python in (
        ([], f"fa.load({str(tmp_path / 'r.urdf')!r})"),
        (["--density", "2700"], "fa.load('r.toml')"),
    ):
        assert main(["studio", str(tmp_path / "r.urdf"), "-o", str(tmp_path / "r.html"), *more]) == 0
        text = (tmp_path / "r.html").read_text(encoding="utf-8")
        found = re.search(r'id="studio-data">(.*?)</script>', text, re.S)
        assert found is not None
        assert json.loads(found[1])["arms"][0]["python"] == python


def test_every_arm_beside_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["studio", *["ascher2", "--beside"] * 2, "ascher2", "-o", str(tmp_path / "three.html"), "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["arms"] == ["ascher2"] * 3


def test_a_missing_package_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    visuals = "".join(
        f"<visual><geometry><mesh filename='package://gone/{k}.dae'/></geometry></visual>" for k in range(10)
    )
    joint = "<joint name='j' type='continuous'><parent link='foot'/><child link='tip'/><axis xyz='0 1 0'/></joint>"
    urdf = f"<robot name='r'><link name='foot'/><link name='tip'>{visuals}</link>{joint}</robot>"
    (tmp_path / "r.urdf").write_text(urdf, encoding="utf-8")
    with pytest.warns(fa.ModelWarning, match="no moving link has mass"):
        page = fa.studio(tmp_path / "r.urdf", tmp_path / "r.html", meshes=True)
    assert len(page.missing) == 10
    words = ["studio", str(tmp_path / "r.urdf"), "--meshes", "-o", str(tmp_path / "r.html")]
    assert main(words) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert said.count("package") == 6, "three files, and what to do, once"
    assert (
        "warning: not shown: package://gone/0.dae, package://gone/1.dae, package://gone/2.dae and 7 more: the package "
        "'gone' was not found. Give its folder with packages={'gone': FOLDER} (--package gone=FOLDER)."
    ) in said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("puma560", "a.txt"), "a page for a browser ends in .html or .htm"),
        ((["puma560"] * 5, "a.html"), "studio: expected 1 to 4 arms, got 5."),
        ((5, "a.html"), "expected an Arm, a name or a file, got 5"),
    ],
)
def test_mistakes_are_told(given: tuple[Any, str], said: str, tmp_path: Path) -> None:
    with pytest.raises(fa.ForearmError, match=re.escape(said)):
        fa.studio(given[0], tmp_path / given[1])
    with pytest.raises(fa.InputError, match="an Arm contains no meshes"):
        fa.studio(fa.load("ascher2"), tmp_path / "a.html", meshes=True)
