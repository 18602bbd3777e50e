"""Studies: what they are made of, as files and as plain data, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from studies.campaign import ARM, MOTION, STEP, VARY, small_study

import forearm as fa
from forearm.reading.textfile import read_toml
from forearm.studies import Choice, LogNormal, Normal, Uniform, Variable
from forearm.studies.description import manifest_of, study_of
from forearm.studies.rows.row_numbers import row_numbers
from forearm.studies.storage.manifest import digest_of
from forearm.studies.study_file import study_schema

STUDY = """
schema = "forearm-study/1"
name = "load and friction"
arm = "arm.toml"
figures = ["peak_torque.joint1", "energy", "tracking_error"]
motion = [[0.1, "-10 deg", 0.1], [0.2, 0.0, 0.2]]

[design]
kind = "sobol"
rows = 12
seed = 3

[run]
law = "computed_torque"
step = 0.002
settle = 0.02
payload = { mass = 0.5 }

[vary]
"payload.mass" = { uniform = [0.2, 0.8] }
friction = { normal = { mean = 1.0, std = 0.2, low = 0.3 }, of = "*.friction.*", factor = true }
"joint1.motor" = { choice = ["a", "b"], weights = [1, 3] }

[[correlation]]
between = ["payload.mass", "friction"]
rho = 0.5

[motors.a]
torque_constant = 0.1
resistance = 1.2

[motors.b]
torque_constant = 0.3
resistance = 0.7
rotor_inertia = 1e-4
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ARM.save(tmp_path / "arm.toml")
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    return tmp_path


def test_a_file_says_the_same_as_python(folder: Path) -> None:
    read = fa.Study.read(folder / "study.toml")
    made = fa.Study(
        "load and friction",
        fa.load(folder / "arm.toml"),
        {
            "payload.mass": Uniform(0.2, 0.8),
            "friction": Variable("friction", Normal(1.0, 0.2, low=0.3), ("*.friction.*",), factor=True),
            "joint1.motor": Choice(("a", "b"), (1.0, 3.0)),
        },
        ["peak_torque.joint1", "energy", "tracking_error"],
        design="sobol",
        rows=12,
        seed=3,
        correlation={("payload.mass", "friction"): 0.5},
        motion=[[0.1, np.radians(-10.0), 0.1], [0.2, 0.0, 0.2]],
        motors={
            "a": {"torque_constant": 0.1, "resistance": 1.2},
            "b": {"torque_constant": 0.3, "resistance": 0.7, "rotor_inertia": 1e-4},
        },
        law="computed_torque",
        step=0.002,
        settle=0.02,
        payload={"mass": 0.5},
    )
    assert manifest_of(read) == manifest_of(made)
    motion = next(iter(read.motions["motion"].values()))
    assert np.array_equal(motion.q[-11:], np.repeat(motion.q[-1:], 11, axis=0))
    assert not motion.qd[-10:].any()


def test_the_schema_takes_the_file(folder: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(study_schema())
    jsonschema.validate(read_toml(folder / "study.toml"), study_schema())
    wrong = read_toml(folder / "study.toml") | {"figure": []}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, study_schema())


def test_the_published_schema_is_up_to_date() -> None:
    published = Path(fa.__file__).parent / "schemas" / "study.schema.json"
    assert json.loads(published.read_text(encoding="utf-8")) == json.loads(json.dumps(study_schema()))


def test_plain_data_and_back() -> None:
    study = small_study()
    manifest = json.loads(json.dumps(manifest_of(study), allow_nan=False))
    again = study_of(manifest)
    assert json.loads(json.dumps(manifest_of(again))) == manifest
    here, there = study.values(3, 9), again.values(3, 9)
    assert all(np.array_equal(here[name], there[name]) for name in VARY)
    assert all(a == b for a, b in zip(study.arms.values(), again.arms.values(), strict=True))


def test_a_row_depends_on_seed_and_number_alone() -> None:
    for design in ("random", "latin-hypercube", "sobol"):
        study = small_study(40, design=design)
        whole = study.values()
        for number in (0, 17, 39):
            alone = study.row(number)
            assert alone == {
                n: x[number] if isinstance(x[number], str) else float(x[number]) for n, x in whole.items()
            }
        other = small_study(40, design=design, seed=6).values()
        assert not np.array_equal(other["payload.mass"], whole["payload.mass"])


def test_a_grid_has_its_levels() -> None:
    vary = {
        "payload.mass": Uniform(0.0, 2.0),
        "payload.com.z": [0.1, 0.3],
        "joint1.friction.viscous": LogNormal(0.2, 0.1),
    }
    study = fa.Study(
        "grid",
        ARM,
        vary,
        "peak_torque",
        design="grid",
        levels={"payload.mass": 3},
        motion=MOTION,
        law="pd",
        step=STEP,
    )
    assert study.rows == 3 * 2 * 5
    assert sorted(set(study.values()["payload.mass"])) == [0.0, 1.0, 2.0]
    assert len(set(zip(*(x.tolist() for x in study.values().values()), strict=True))) == 30


def made(**given: Any) -> fa.Study:
    usual: dict[str, Any] = {
        "name": "s",
        "arm": ARM,
        "vary": VARY,
        "figures": ["energy"],
        "motion": MOTION,
        "law": "pd",
        "step": STEP,
    }
    return fa.Study(**(usual | given))


# What is wrong in one setting alone, such as a name or a bound.
CHOICES = {"law": "lqr", "design": "halton", "dtype": "float16", "device": "gpu7", "effort_limits": "no"}
SETTINGS: dict[str, Any] = CHOICES | {"rows": 0, "step": 0.0, "payload": {"weight": 1.0}}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_out_of_its_bounds_is_said_with_its_name(name: str) -> None:
    with pytest.raises(fa.ForearmError, match=f"study, {name}"):
        made(**{name: SETTINGS[name]})


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"vary": {}}, "expected at least one variable"),
    ({"vary": {"payload.mas": Uniform(0, 1)}}, r"vary, payload.mas: .*payload.mass"),
    ({"vary": {"joint1.friction": Uniform(0, 1)}}, "is . parameters, which one value cannot replace"),
    ({"vary": {"law": ["pid", "lqr"]}}, "vary, law: expected one of .*'lqr'"),
    ({"vary": {"start.joint7": Uniform(0, 1)}}, "start of a joint: expected one of"),
    ({"vary": {"row": Uniform(0, 1)}}, "reserved for the row number"),
    ({"vary": {"a": Variable("b", Uniform(0, 1), "payload.mass")}}, "expected a Variable of this name"),
    (
        {"vary": {"energy": Variable("energy", Uniform(0, 1), "payload.mass")}},
        "the study has a figure of this name",
    ),
    (
        {"vary": {"arm1.motor": ["a"]}},
        "such as joint1.motor; got 'arm1.motor'. Its joints are joint1, joint2",
    ),
    ({"figures": ["peak_torqe"]}, "unknown figure 'peak_torqe'.*peak_torque"),
    ({"figures": ["peak_torque.joint9"]}, "its joints are joint1, joint2, joint3"),
    ({"figures": ["energy.joint1"]}, "energy has no joints"),
    ({"figures": ["motor_mass"]}, "requires a catalogue of motors"),
    ({"law": None, "vary": {"payload.mass": Uniform(0, 1)}}, "requires a simulation"),
    ({"motion": None}, "without a motion expected a duration above 0, and neither law nor settle"),
    (
        {
            "motion": None,
            "law": None,
            "duration": 1.0,
            "vary": {"payload.mass": Uniform(0, 1)},
            "figures": ["tracking_error"],
        },
        "requires a law and a motion",
    ),
    ({"torque": [0.0, 0.0, 0.0]}, "expected one of motion, torque and voltage"),
    ({"levels": 3}, "only a grid has levels"),
    ({"design": "grid", "rows": 7, "levels": 2}, "the levels of this grid yield"),
    ({"design": "sobol-indices", "correlation": {("friction", "payload.mass"): 0.5}}, "are independent"),
    ({"bandwith": 3.0}, "no parameter 'bandwith': did you mean 'bandwidth'"),
    ({"duration": 1.0}, "follows from the motion"),
    ({"settle": 0.1}, "does not end at rest, so its end cannot be held"),
    ({"rows": 10_000_000, "rows_per_part": 1}, "expected at most 1000000 parts"),
    (
        {"vary": {"m": Variable("m", Uniform(1, 2), "payload.mass"), "payload.mass": [1.0]}},
        "vary, payload.mass: payload.mass is already set by m",
    ),
    ({"vary": {"a": Variable("a", Choice(("pd",)), "law"), "law": ["pid"]}}, "law is already set by a"),
    ({"vary": {"b": Variable("b", Uniform(1, 2), "controller.bandwidth", factor=True)}}, "are factors"),
    ({"vary": {"s": Variable("s", Uniform(1, 2), "start.joint1", factor=True)}}, "has no nominal value"),
    ({"vary": {"p": Variable("p", Uniform(1, 2), "payload.mass", factor=True)}}, "give payload = ... too"),
    ({"vary": {"controller.bandwidth": Uniform(0.0, 9.0)}}, "expected values above 0, got down to 0"),
    ({"vary": {"controller.kd": Normal(1.0, 0.1)}}, "expected values of at least 0, got down to -inf"),
    ({"arm": ARM.rigid(), "vary": {"payload.mass": [1.0]}}, "has no motor with torque_constant"),
    ({"figures": ["heat_margin"]}, "heat_margin: no joint of .* has such a limit"),
    ({"design": "grid", "levels": {"law": 3}}, "law is a choice, which has its own values"),
    ({"arm": {"a": ARM, "b": fa.load("ascher2")}}, "expected the joints of the first arm"),
]


@pytest.mark.parametrize(("given", "text"), WRONG, ids=[f"{k}-{t[:18]}" for k, (_, t) in enumerate(WRONG)])
def test_what_is_wrong_is_said(given: dict[str, Any], text: str) -> None:
    with pytest.raises(fa.ForearmError, match=text):
        made(**given)


def test_what_is_missing_in_a_file(folder: Path) -> None:
    for line, name in (('arm = "arm.toml"', "arm"), ("rho = 0.5", "rho")):
        (folder / "study.toml").write_text(STUDY.replace(line, ""), encoding="utf-8")
        with pytest.raises(fa.InputError, match=f"missing key '{name}'"):
            fa.Study.read(folder / "study.toml")
    (folder / "study.toml").write_text(STUDY.replace("rows = 12", ""), encoding="utf-8")
    assert fa.Study.read(folder / "study.toml").rows == 1000


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("[design]", "[desing]", "study.toml: unknown key 'desing'; did you mean 'design'"),
        ("seed = 3", "seed = -3", "study.toml, design, seed: expected"),
        ('"computed_torque"', '"computed-torque"', "study.toml, run, law: .*'computed-torque'"),
        ("{ uniform = [0.2, 0.8] }", "0.3", r"study.toml, vary, 'payload.mass': expected a table"),
        ("uniform = [0.2, 0.8]", "uniform = [0.8, 0.2]", "low below high"),
        ("[0.2, 0.0, 0.2]]", "[0.2, 0.0]]", "motion 'motion'"),
        ('"arm.toml"', '"other.toml"', "other.toml: no such file"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_place(
    folder: Path, before: str, after: str, text: str
) -> None:
    assert before in STUDY
    (folder / "study.toml").write_text(STUDY.replace(before, after), encoding="utf-8")
    with pytest.raises(fa.ForearmError, match=text):
        fa.Study.read(folder / "study.toml")


def damaged(change: Callable[[Any], object]) -> Any:
    manifest = json.loads(json.dumps(manifest_of(small_study())))
    change(manifest["study"])
    return manifest


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda about: about["design"].pop("kind"), "expected the description of a study"),
        (lambda about: about["motions"][0].update(q_qd_qdd="AAAA"), "expected 121 samples of 3 joints"),
        (lambda about: about["motions"][0].update(samples=363, joints=1), r"expected shape \(363, 3\)"),
        (lambda about: about["run"].update(friction="no"), "study, friction"),
    ],
)
def test_a_damaged_description_is_refused(change: Callable[[Any], object], text: str) -> None:
    with pytest.raises(fa.InputError, match=text):
        study_of(damaged(change))
    with pytest.raises(fa.InputError, match="expected results of format"):
        study_of(damaged(lambda about: None) | {"format": "other"})


def test_a_motion_is_followed_to_its_end() -> None:
    """Also where its duration is no whole number of steps."""
    motion = fa.control.smooth([0.1, -0.1, 0.1], [0.2, 0.0, 0.2], 0.0317)
    study = made(motion=motion, settle=0.01)
    (found,) = study.motions["motion"].values()
    assert found.steps == 16 + 5
    assert np.array_equal(found.q[16:], np.tile([0.2, 0.0, 0.2], (6, 1)))
    assert not found.qd[16:].any()


def test_the_order_of_variables_is_part_of_a_study() -> None:
    swapped = dict(reversed(VARY.items()))
    one, other = manifest_of(made()), manifest_of(made(vary=swapped))
    assert digest_of(one) != digest_of(other)


def test_files_of_a_study_lie_in_its_folder(folder: Path) -> None:
    for outside in ("../arm.toml", str(folder / "arm.toml")):
        (folder / "study.toml").write_text(STUDY.replace("arm.toml", outside), encoding="utf-8")
        with pytest.raises(fa.InputError, match="must be a relative path below the folder"):
            fa.Study.read(folder / "study.toml")


def test_factors_multiply_what_is_there() -> None:
    """Numbers of the arm, of the payload of all rows, and those that another variable replaces."""
    link = f"{ARM.links[2].name}.mass"
    vary = {
        "scale": Variable("scale", Choice((2.0,)), (link, "payload.mass"), factor=True),
        "masses": Variable("masses", Choice((3.0,)), "*.mass", factor=True),
        "payload.com.x": [0.1],
        link: [1.5],
    }
    study = made(vary=vary, payload={"mass": 0.25}, design="grid")
    numbers = row_numbers(study, ARM, study.values(0, 1)).parameters
    assert numbers[link] == 1.5 * 2.0 * 3.0
    assert numbers["payload.mass"] == 0.25 * 2.0, "patterns mean numbers of the arm"
    other = f"{ARM.links[3].name}.mass"
    assert numbers[other] == 3.0 * ARM.named_values[other]


UNITS = {
    "payload.mass": "kg",
    "payload.com.z": "m",
    "counterweight.link2.inertia.xy": "kg m^2",
    "gravity.z": "m/s^2",
    "joint1.motor.resistance": "ohm",
    "joint1.motor.gear_ratio": "",
    "joint1.friction.viscous": "N m s/rad",
    "joint3.friction.viscous": "N s/m",
    "joint2.a": "m",
    "joint2.alpha": "rad",
    "controller.bandwidth": "rad/s",
    "start.joint1": "rad",
    "start.joint3": "m",
    "controller.kp": "",
}


def test_units_of_variables() -> None:
    arm = fa.load("stanford").with_drives(friction=fa.Friction(viscous=0.1))
    assert [joint.kind for joint in arm.joints][:3] == ["revolute", "revolute", "prismatic"]
    some = Uniform(0.0, 1.0)
    assert {name: Variable(name, some).unit(arm) for name in UNITS} == UNITS
    assert {Variable("x", some, (name,), factor=True).unit(arm) for name in UNITS} == {""}
