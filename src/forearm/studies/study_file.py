"""Study files in TOML: the format, and its reader."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

from forearm.errors import InputError, located, shorten
from forearm.reading.fields import (
    AngleField,
    ChoiceField,
    ListField,
    MapField,
    NumberField,
    TableField,
    TableListField,
    TextField,
    published,
)
from forearm.reading.formats import refuse_other_format
from forearm.reading.textfile import beside, read_toml
from forearm.records import declaration, table_of
from forearm.studies.catalogue import CatalogueMotor
from forearm.studies.run_settings import RunSettings
from forearm.studies.study import OneOrNamed, Study, StudyOptions

SCHEMA = "forearm-study/1"
MAX_PATH = 4096


@dataclass(frozen=True)
class AnyTable:
    """A table with its own reader: a distribution."""

    doc: str

    def read(self, value: Any, place: str) -> dict[str, Any]:
        """The table as it is."""
        if not isinstance(value, dict):
            raise InputError(f"expected a table, got {shorten(value)}. Wanted: {self.doc}.", place)
        return value

    def schema(self) -> dict[str, Any]:
        """Any table."""
        return {"type": "object", "description": self.doc}


@dataclass(frozen=True)
class FileOrPoints:
    """A motion or request file, or configurations to pass through."""

    doc: str

    def read(self, value: Any, place: str) -> Any:
        """A text, or rows of numbers."""
        if isinstance(value, list):
            return ListField(ListField(AngleField())).read(value, place)
        return TextField(max_length=MAX_PATH).read(value, place)

    def schema(self) -> dict[str, Any]:
        """The schema of either."""
        points = ListField(ListField(AngleField())).schema()
        return {"oneOf": [TextField(max_length=MAX_PATH).schema(), points], "description": self.doc}


OF_DESIGN = declaration(StudyOptions)
DESIGN = TableField(
    {
        "kind": OF_DESIGN["design"],
        **{name: OF_DESIGN[name] for name in ("rows", "seed", "levels", "rows_per_part")},
    },
    doc="the design of the rows",
)
DURATION = NumberField("of a run without a motion, s", above=0.0)
RUN = table_of(RunSettings, "simulation settings", duration=DURATION)
# the published schema allows 0, where the record has a sharper bound
OF_MOTOR = {name: replace(f, minimum=0.0, above=-inf) for name, f in declaration(CatalogueMotor).items()}  # type: ignore[type-var]
MOTOR = TableField(OF_MOTOR, table_of(CatalogueMotor).required, "constants of a motor")
PAIR = TableField(
    {
        "between": ListField(TextField(), 2, "two variables"),
        "rho": NumberField("correlation of the underlying normals", -1.0, 1.0),
    },
    ("between", "rho"),
)
STUDY = TableField(
    {
        "schema": ChoiceField((SCHEMA,), "version of the file format"),
        "name": TextField("name of the study (default: the file's)"),
        "arm": OneOrNamed(TextField(max_length=MAX_PATH), "a built-in name or a file, or several by name"),
        "figures": ListField(TextField(), None, "figures of merit, such as peak_torque or energy"),
        "motion": OneOrNamed(
            FileOrPoints("a request or a planned motion, or configurations from rest to rest"),
            "the motion to track: a file, configurations, or several by name",
        ),
        "design": DESIGN,
        "run": RUN,
        "vary": MapField(
            AnyTable("{ uniform = [0, 1] } or another distribution, optionally with of and factor")
        ),
        "correlation": TableListField(PAIR, "correlation", "correlated pairs of variables"),
        "motors": MapField(MOTOR, "catalogue of motors for JOINT.motor"),
    },
    ("arm", "figures", "vary"),
    "a study: arms, variables, simulation settings and figures of merit",
)


def study_schema() -> dict[str, Any]:
    """The JSON Schema of study files."""
    return published("forearm study file", STUDY)


def read_study(path: str | os.PathLike[str]) -> Study:
    """The study of a TOML file; files named in it are relative to its folder and must lie in it."""
    where = Path(path)
    document = read_toml(where)
    refuse_other_format({"schema": SCHEMA} | document, where.name, SCHEMA)
    given = STUDY.read(document, where.name)
    design, run = given.get("design", {}), given.get("run", {})
    pairs = {tuple(pair["between"]): pair["rho"] for pair in given.get("correlation", [])}
    with located(where.name):
        return Study(
            given.get("name", where.stem),
            _each(given["arm"], lambda one: beside(where, one) if Path(one).suffix else one),
            given["vary"],
            given["figures"],
            design=design.pop("kind", "latin-hypercube"),
            correlation=pairs,
            motion=_each(given.get("motion"), lambda one: _motion(one, where)),
            motors=given.get("motors"),
            **design,
            **run,
        )


def _each(given: Any, of: Callable[[Any], Any]) -> Any:
    """Apply to one value, or to each of several named ones; None stays None."""
    if given is None:
        return None
    return {name: of(one) for name, one in given.items()} if isinstance(given, dict) else of(given)


def _motion(given: Any, study: Path) -> Any:
    return beside(study, given) if isinstance(given, str) else [list(point) for point in given]
