"""What holds for every declared field of every record, and for functions that take records field by field."""

from __future__ import annotations

import dataclasses
import inspect
import math
from importlib import import_module
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from forearm.arm.drive import Bearing, Elasticity, Friction, Transmission
from forearm.arm.joint import Frame
from forearm.arm.link import Link
from forearm.errors import ForearmError, InputError, Keyword, Sentence, located, spelled
from forearm.reading.fields import ChoiceField, MapField, NumberField, ObjectField, TextField
from forearm.records import called, choice, declaration, flat, number, record, table_of
from forearm.studies.sampling.distributions import Uniform

SOURCE = Path(__file__).parent.parent / "src" / "forearm"
# Fields that a record cannot be made without, or that go together.
EXAMPLES: dict[str, dict[str, Any]] = {
    "Arm": {"name": "one", "links": (Link(name="base"),), "tree": ()},
    "Counterweight": {"joint": "j", "link": "a", "mass": 1.0, "position": (0.1, 0.2, 0.3), "moment": 0.4},
    "DH": {"convention": "modified"},
    "Hand": {"link": "a"},
    "Joint": {"name": "j", "kind": "revolute", "parent": "a", "child": "b", "placement": Frame()},
    "Link": {"name": "a"},
    "Mimic": {"joint": "j"},
    "Bearing": {"kind": "journal", "mu": 0.1, "radius": 0.02, "distance": 0.1},
    "Transmission": {"efficiency": ((0.0, 0.4), (1.0, 0.8)), "rated_torque": 20.0},
    "Elasticity": {"stiffness": 9e3},
    "Encoder": {"bits": 8},
    "Tachometer": {"bits": 8, "span": 2.0},
    "CatalogueMotor": {"torque_constant": 0.1, "resistance": 1.0},
    "Choice": {"values": (1.0, 2.0)},
    "DocumentFigure": {"document": "swartz", "place": "1"},
    "Event": {"t": 0.1, "kind": "stop"},
    "Item": {"document": "swartz", "id": "a", "place": "1", "kind": "recomputed"},
    "LogNormal": {"median": 1.0, "sigma": 0.1},
    "LogUniform": {"low": 1.0, "high": 2.0},
    "Normal": {"mean": 0.0, "std": 1.0},
    "PrintedValue": {"label": "a", "printed": "1", "kind": "recomputed"},
    "RolloutPlan": {"steps": 3, "step": 1e-3},
    "Triangular": {"low": 0.0, "mode": 0.5, "high": 1.0},
    "Uniform": {"low": 0.0, "high": 1.0},
    "Variable": {"name": "mass", "distribution": Uniform(0.0, 1.0)},
    "Request": {"waypoints": ((0.0, 0.0), (1.0, 0.5))},
}
TOGETHER: dict[tuple[str, str], dict[str, Any]] = {
    ("Friction", "static"): {"coulomb": (1.0, -1.0), "stribeck_speed": 0.1},
    ("Friction", "stribeck_speed"): {"coulomb": (1.0, -1.0), "static": (2.0, -2.0)},
    ("Friction", "bristle_stiffness"): {"coulomb": (1.0, -1.0)},
    ("Request", "duration"): {"snap": True},
    ("Friction", "bristle_damping"): {"coulomb": (1.0, -1.0), "bristle_stiffness": 1e4},
}


def declared_fields(cls: type) -> list[str]:
    return list(declaration(cls)) if dataclasses.is_dataclass(cls) else []


def every_record() -> list[type]:
    """All classes of the package with declared fields."""
    found: dict[str, type] = {}
    for path in SOURCE.rglob("*.py"):
        if "record\nclass " not in path.read_text(encoding="utf-8"):
            continue
        module = ".".join(("forearm", *path.relative_to(SOURCE).with_suffix("").parts))
        for thing in vars(import_module(module)).values():
            if inspect.isclass(thing) and thing.__module__ == module and declared_fields(thing):
                found[thing.__qualname__] = thing
    return [found[name] for name in sorted(found)]


RECORDS = every_record()
FIELDS = [
    (cls, name)
    for cls in RECORDS
    for name, field in declaration(cls).items()
    if not isinstance(field, ObjectField) or field.kinds
]


def with_field(cls: type, name: str, value: Any) -> Any:
    """A record with this value, and what it cannot be without."""
    needed = EXAMPLES.get(cls.__name__, {}) | TOGETHER.get((cls.__name__, name), {})
    return cls(**(needed | {name: value}))


def test_drives_are_among_the_records() -> None:
    assert {Bearing, Elasticity, Friction, Transmission} <= set(RECORDS)


@pytest.mark.parametrize(("cls", "name"), FIELDS, ids=lambda part: getattr(part, "__name__", part))
def test_a_field_refuses_what_it_cannot_be(cls: type, name: str) -> None:
    field = declaration(cls)[name]
    if isinstance(field, ObjectField) and not field.kinds:
        return  # it is checked where it is used
    takes_tables = isinstance(field, ObjectField | MapField) or field.schema().get("oneOf")
    wrong: list[Any] = [object()] if takes_tables else [object(), {"a": 1}]
    if isinstance(field, NumberField):
        wrong += ["1", True, math.nan, 1e31, [1.0]]
        wrong += [field.minimum - 1.0] if field.minimum > -math.inf else []
        wrong += [field.above] if field.above > -math.inf else []
        wrong += [field.maximum + 1.0] if field.maximum < math.inf else []
        wrong += [0.0] if field.nonzero else []
    if isinstance(field, ChoiceField):
        wrong += ["", field.words[0] + "x", 3]
    if isinstance(field, TextField):
        wrong += [3, "x" * (field.max_length + 1)]
    for value in wrong:
        with pytest.raises(ForearmError) as error:
            with_field(cls, name, value)
        assert error.value.place[0].split()[0] == called(cls.__name__), str(error.value)
        assert error.value.place[1].startswith(name), str(error.value)


@pytest.mark.parametrize("cls", RECORDS, ids=lambda cls: cls.__name__)
def test_a_record_is_described_and_its_file_reads_what_it_accepts(cls: type) -> None:
    table, doc = table_of(cls), inspect.getdoc(cls) or ""
    jsonschema.Draft202012Validator.check_schema(table.schema())
    for name, field in declaration(cls).items():
        assert f"    {name}: " in doc
        assert getattr(field, "doc", "") or getattr(field, "unit", "")
        assert "  " not in doc.split(f"{name}: ")[1].split("\n")[0]
    needed = EXAMPLES.get(cls.__name__, {})
    made = cls(**needed)
    needed = {name: getattr(made, name) for name in needed}
    assert made == cls(**needed | {name: getattr(made, name) for name in declaration(cls)})
    with pytest.raises(TypeError, match="unexpected keyword"):
        cls(**EXAMPLES.get(cls.__name__, {}), **{"no_such_field": 1})


@record
class Step:
    """Length and method of a step."""

    step: float = number("length of a step", "s", default=1e-3, above=0.0)
    method: str = choice("method", ("rk3", "rk4"), default="rk4")


@flat(options=Step)
def run(arm: str, *, options: Step | None = None, count: int = 1) -> tuple[str, Step, int]:
    """Run.

    Args:
        arm: the arm.
        count: how often.
    """
    return arm, options or Step(), count


def test_a_flat_function_takes_fields_records_or_both() -> None:
    assert run("a", step=2.0, count=3) == ("a", Step(step=2.0), 3)
    assert run("a", options=Step(method="rk3"), step=2.0) == ("a", Step(step=2.0, method="rk3"), 1)
    assert run("a") == ("a", Step(), 1)
    assert list(inspect.signature(run).parameters) == ["arm", "count", "step", "method", "options"]
    assert "    step: length of a step, s." in (run.__doc__ or "")


def test_a_flat_function_names_itself_and_the_nearest_keyword() -> None:
    with pytest.raises(InputError, match=r"^run, step: must be above 0, got -1\.$") as error:
        run("a", step=-1.0)
    assert error.value.place == ("run", "step")
    with pytest.raises(InputError, match="there is no parameter 'stpe': did you mean 'step'"):
        run("a", stpe=1.0)
    with pytest.raises(InputError, match="run, options: expected Step"):
        run("a", options=3)


def test_places_join_at_their_seam() -> None:
    for where, inner, text in (
        (("arm.toml", "joint 'a'"), ("joint 'a'", "axis"), "arm.toml, joint 'a', axis: no."),
        (("arm.toml",), ("arm.toml", "line 2"), "arm.toml, line 2: no."),
        (("arm.toml", "link"), ("arm.toml", "mass"), "arm.toml, link, mass: no."),
        (("arm.toml",), (), "arm.toml: no."),
    ):
        with pytest.raises(InputError) as error, located(*where):
            raise InputError("no.", *inner)
        assert str(error.value) == text


def test_a_sentence_spells_its_keywords_for_each_door() -> None:
    said = Sentence("try ", Keyword("friction", "stribeck"), ", or leave ", Keyword("load"), " out.")
    assert said == "try friction='stribeck', or leave load out."
    assert spelled(said, lambda keyword: f"--{keyword.name}") == "try --friction, or leave --load out."
    assert spelled("plain.", str) == "plain."


def test_a_number_of_numpy_is_a_number() -> None:
    assert Step(step=np.float64(0.5)) == Step(step=0.5)
