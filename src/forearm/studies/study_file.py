"""Study files in TOML: the format, and its reader."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forearm.control.controllers.formulas import CONTROL_LAWS
from forearm.errors import InputError, located, shorten
from forearm.reading.fields import (
    AngleField,
    ChoiceField,
    Field,
    FlagField,
    ListField,
    MapField,
    NumberField,
    OneOrMany,
    TableField,
    TableListField,
    TextField,
    WholeField,
    published,
)
from forearm.reading.formats import refuse_other_format
from forearm.reading.textfile import beside, read_toml
from forearm.simulation.many import FIXED
from forearm.studies.catalogue import CatalogueMotor
from forearm.studies.sampling.designs import DESIGNS, MAX_ROWS, MAX_SEED
from forearm.studies.study import DEFAULT_DESIGN, Study

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
class OneOrNamed:
    """One value, or a table of several by user-defined names."""

    item: Field
    doc: str

    def read(self, value: Any, place: str) -> Any:
        """The value, or a table of them."""
        return (MapField(self.item) if isinstance(value, dict) else self.item).read(value, place)

    def schema(self) -> dict[str, Any]:
        """The schema of either."""
        return {"oneOf": [self.item.schema(), MapField(self.item).schema()], "description": self.doc}


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


DESIGN = TableField(
    {
        "kind": ChoiceField(DESIGNS, "kind of design (default: latin-hypercube)"),
        "rows": WholeField("number of rows; for a grid the product of its levels", 1, MAX_ROWS),
        "seed": WholeField("random seed (default: 0)", 0, MAX_SEED),
        "levels": OneOrNamed(WholeField("", 1, MAX_ROWS), "for a grid: one count, or counts by variable"),
        "rows_per_part": WholeField("rows that are computed and stored together", 1, MAX_ROWS),
    },
    doc="the design of the rows",
)
RUN = TableField(
    {
        "law": ChoiceField(tuple(CONTROL_LAWS), "control law that tracks the motion"),
        "bandwidth": NumberField("of its gains, rad/s", above=0.0),
        "period": WholeField("sampling period of the law, steps", 1, 1_000_000),
        "friction": FlagField("whether the law's model includes friction (default: true)"),
        "torque": OneOrMany(NumberField(), "constant torque, N m (N), instead of a motion"),
        "voltage": OneOrMany(NumberField(), "constant voltage, V, instead of a motion"),
        "acceleration": OneOrMany(NumberField(above=0.0), "limits for planning the motion, rad/s^2 (m/s^2)"),
        "velocity": OneOrMany(NumberField(above=0.0), "limits for planning the motion, rad/s (m/s)"),
        "start": OneOrMany(AngleField(), "initial joint coordinates, rad (m), without a motion"),
        "duration": NumberField("of a run without a motion, s", above=0.0),
        "settle": NumberField("time for which the end of the motion is held, s", minimum=0.0),
        "step": NumberField("integration step, s (default: 0.001)", above=0.0),
        "method": ChoiceField(FIXED, "integration method (default: rk4)"),
        "effort_limits": FlagField("whether motor torques saturate at max_effort"),
        "payload": MapField(NumberField(), "load in the hand: mass, com.x, inertia.xx ..."),
        "dtype": ChoiceField(("float64", "float32"), "of the kernel"),
        "device": ChoiceField(("cpu", "cuda"), "of the kernel"),
    },
    doc="simulation settings",
)
MOTOR = TableField(
    {key: NumberField(minimum=0.0) for key in CatalogueMotor.__dataclass_fields__},
    ("torque_constant", "resistance"),
    "constants of a motor: N m / A, ohm, kg m^2, V, A, kg",
)
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
            design=design.pop("kind", DEFAULT_DESIGN),
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
