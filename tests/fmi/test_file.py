"""The file of an FMU: valid, the same each time, and safe from names in arm files."""

from __future__ import annotations

import dataclasses
import json
import re
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import fmpy
import pytest
from fmi.simulators import HERE, driven, instance, made, rigid, rubbing, runs_here
from fmpy.validation import validate_fmu
from sweeps import long

import forearm as fa
from forearm.cli.main import main
from forearm.errors import ForearmError
from forearm.fmi.description import build_description
from forearm.fmi.export import VERSIONS
from forearm.fmi.naming import identifier, identifiers, model_identifier

pytestmark = pytest.mark.slow

HOSTILE = ('"/><Float64 name="x', "joint 1", "joint_1", "*/ exit(1); /*", "7<!--&amp;\\'\u00fc\u2764")


def hostile() -> fa.Arm:
    """A chain whose names try to break out of whatever they are put into."""
    arm = fa.load("chain5")
    names = dict(zip((joint.name for joint in arm.joints), HOSTILE, strict=True))
    links = {link.name: f"{link.name}]]>\u00e9'" for link in arm.links}
    return renamed(arm, '../../"evil" <arm>', names, links)


def renamed(arm: fa.Arm, name: str, joints: dict[str, str], links: dict[str, str]) -> fa.Arm:
    tree = tuple(
        dataclasses.replace(j, name=joints.get(j.name, j.name), parent=links[j.parent], child=links[j.child])
        for j in arm.tree
    )
    made = tuple(dataclasses.replace(link, name=links[link.name]) for link in arm.links)
    hand = fa.Hand(link=links[arm.hand.link], pose=arm.hand.pose)
    return arm.replace(name=name, links=made, tree=tree, hand=hand)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("drive", ["torque", "voltage"])
@pytest.mark.sweep
def test_fmpy_finds_nothing_wrong(version: int, drive: str, tmp_path: Path) -> None:
    arm = driven()
    options: dict[str, Any] = {"version": version, "drive": drive, "payload": True}
    written = fa.fmu(arm, tmp_path / "arm.fmu", parameters=["joint2.friction"], platforms=(), **options)
    assert validate_fmu(str(written.path)) == []
    about = fmpy.read_model_description(str(written.path))
    assert about.modelExchange is not None
    assert about.coSimulation is not None
    assert about.numberOfContinuousStates == 6
    by_name = {v.name: v for v in about.modelVariables}
    turns = next(joint.name for joint in arm.joints if joint.kind == "revolute")
    tau = by_name[f"{turns}.tau" if drive == "torque" else f"{turns}.voltage"]
    assert (tau.causality, tau.unit) == ("input", "N.m" if drive == "torque" else "V")
    lower, upper = arm.joints[1].limits
    assert (float(by_name["joint2.q"].min), float(by_name["joint2.q"].max)) == (lower, upper)
    assert by_name["joint2.friction.viscous"].variability == "tunable"
    assert by_name["joint3.q0"].variability == "fixed"
    states = {v.derivative.name for v in about.modelVariables if v.derivative is not None}
    assert states == {f"joint{j}.{x}" for j in range(1, 4) for x in ("q", "qd")}


@runs_here
@pytest.mark.parametrize("version", [3, *long([2])])
def test_hostile_names_are_only_names(version: int) -> None:
    arm = hostile().with_drives(friction={"viscous": 0.3})
    options = {"version": version, "parameters": (f"{arm.links[2].name}.mass", "joint_1.friction.viscous")}
    written, _, about = made(arm, **options)
    assert validate_fmu(str(written.path)) == []
    assert re.fullmatch(r"\w+", written.identifier)
    with zipfile.ZipFile(written.path) as archive:
        assert all(re.fullmatch(r"[\w./-]+", name) and ".." not in name for name in archive.namelist())
        text = archive.read("modelDescription.xml")
    root = ElementTree.fromstring(text)
    assert root.get("modelName") == arm.name
    assert text.isascii()
    assert len(written.inputs) == len(set(written.inputs)) == len(HOSTILE)
    assert all(re.fullmatch(r"[A-Za-z_]\w*\.tau", name) for name in written.inputs)
    said = [v.description for v in about.modelVariables]
    assert all(any(text.endswith(f"of joint {name}") for text in said) for name in HOSTILE)
    assert written.inputs[1:3] == ("joint_1.tau", "joint_1_2.tau")
    assert "joint_1_2.friction.viscous" in written.parameters, "that of the joint named joint_1"
    with instance(arm, **options) as one:  # type: ignore[arg-type]
        one.begin()
        one.fmu.doStep(0.0, 0.01)


def test_names_become_identifiers() -> None:
    assert identifiers(["a b", "a_b", "a.b", "7", "", "a_b_2"], "joint") == {
        "a b": "a_b",
        "a_b": "a_b_2",
        "a.b": "a_b_3",
        "7": "_7",
        "": "joint",
        "a_b_2": "a_b_2_2",
    }
    assert identifier("\u00e4\u00f6", "joint") == "joint"
    assert len(identifier("x" * 1000, "joint")) == 64
    assert model_identifier("CON") == "CON_arm"
    assert model_identifier("con2") == "con2"


@pytest.mark.parametrize("version", [3, *long([2])])
def test_the_same_arm_gives_the_same_bytes(version: int, tmp_path: Path) -> None:
    arm = fa.load("ascher2")
    first = fa.fmu(arm, tmp_path / "a.fmu", version=version, platforms=[HERE])
    again = fa.fmu(arm, tmp_path / "b.fmu", version=version, platforms=[HERE])
    assert first.path.read_bytes() == again.path.read_bytes()
    assert first.size == len(first.path.read_bytes())
    other = fa.fmu(arm.replace(gravity=(0.0, 0.0, -9.8)), tmp_path / "c.fmu", version=version, platforms=[])
    start = fa.fmu(arm, tmp_path / "d.fmu", version=version, step=2e-3, platforms=[])
    alone = fa.fmu(arm, tmp_path / "e.fmu", version=version, platforms=[])
    assert len({first.token, other.token, start.token}) == 3
    assert alone.token == first.token
    assert alone.platforms == ()
    with zipfile.ZipFile(first.path) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert "sources/forearm_fmu.c" in archive.namelist()
        assert not any(b"/tmp" in archive.read(name) for name in archive.namelist())


def test_the_build_description_is_valid() -> None:
    from lxml import etree

    folder = Path(fmpy.__file__).parent / "schema" / "fmi3"
    schema = etree.XMLSchema(etree.parse(str(folder / "fmi3BuildDescription.xsd")))
    schema.assertValid(etree.fromstring(build_description("arm", ["a.c"]).encode("ascii")))


WOUND = fa.Motor(torque_constant=0.1, resistance=1.0, inductance=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arm": rigid().with_drives(motor=WOUND), "drive": "voltage"}, "inductance"),
        ({"version": 1}, "fmu, version: expected 2 or 3, got 1."),
        ({"version": True}, "fmu, version: expected 2 or 3, got True."),
        ({"drive": "current"}, "fmu, drive"),
        ({"drive": "voltage"}, "motor"),
        ({"step": 0.0}, "fmu, step"),
        ({"q0": [9.0, 0.0, 0.0]}, "fmu, q0: 9 is outside the limits of joint"),
        ({"q0": [[0.0] * 3]}, "fmu, q0 and qd0"),
        ({"parameters": ["elbow.mass"]}, "there is no 'elbow.mass'"),
        ({"platforms": ["macos"]}, "fmu, platforms"),
        ({"version": 2, "platforms": ["aarch64-linux"]}, "FMI 2 has no name for aarch64-linux"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ForearmError, match=re.escape(message)):
        fa.fmu(options.pop("arm", rigid()), tmp_path / "arm.fmu", **options)
    assert list(tmp_path.iterdir()) == []


def test_steps_that_a_drive_is_too_stiff_for_are_warned_of(tmp_path: Path) -> None:
    """A pendulum with so much viscous friction that RK4 is stable up to 2.785 decay times alone."""
    arm = rigid().with_drives(friction={"viscous": 100.0})
    with pytest.warns(fa.StepWarning, match="too long for joint"):
        fa.fmu(arm, tmp_path / "arm.fmu", step=0.5, platforms=[])
    fa.fmu(arm, tmp_path / "arm.fmu", step=1e-6, platforms=[])


def test_the_command_writes_and_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "arm.fmu"
    words = ["fmu", "ascher2", "-o", str(file), "--fmi", "2", "--q", "10,-20", "--degrees", "--step", "0.002"]
    assert main([*words, "--platform", HERE, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["version"] == 2
    assert told["platforms"] == [HERE]
    assert told["inputs"] == ["joint1.tau", "joint2.tau"]
    assert validate_fmu(str(file)) == []
    about = fmpy.read_model_description(str(file))
    starts = {v.name: v.start for v in about.modelVariables}
    assert float(starts["joint1.q0"]) == pytest.approx(0.17453292519943295, rel=1e-15)
    assert float(starts["solver.step"]) == 0.002
    assert main([*words, "--platform", HERE]) == 0
    assert f"wrote {file}" in capsys.readouterr().out
    assert main(["fmu", "ascher2", "-o", str(tmp_path / "arm.zip")]) == 2
    assert ".fmu" in capsys.readouterr().err


def test_an_arm_that_sticks_has_events_and_a_rigid_one_none() -> None:
    for arm, count in ((rigid(), 0), (rubbing(), 3)):
        assert made(arm, version=2)[2].numberOfEventIndicators == count
        assert len(made(arm, version=3)[2].eventIndicators) == count
