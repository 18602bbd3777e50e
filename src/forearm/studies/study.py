"""A study: arms, variables, simulation settings and figures of merit."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm, check_arm
from forearm.errors import InputError, shorten
from forearm.files.load import load
from forearm.reading.fields import Field, MapField, WholeField
from forearm.records import anything, choice, declared, flat, record, whole
from forearm.studies.catalogue import CatalogueMotor, motor_of
from forearm.studies.figure_checks import check_figures
from forearm.studies.figures import Column, columns_of
from forearm.studies.reference_motion import ReferenceMotion, motion_for
from forearm.studies.run_settings import RUN, RunSettings, settings_of
from forearm.studies.sampling.correlation import Correlation
from forearm.studies.sampling.designs import DESIGNS, MAX_ROWS, MAX_SEED, Design
from forearm.studies.sampling.distributions import Choice, Distribution
from forearm.studies.targets import check_targets
from forearm.studies.variable import Variable, variable_of
from forearm.values import check_choice, check_kind, check_name, check_whole, names_in

FEWEST, MOST, SHARES = 16, 4096, 64  # rows per part: a fraction of all, within bounds
MOST_PARTS = 1_000_000
DEFAULT_LEVELS = 5
MOST_NUMBERS = 1_500_000  # of all motions: coordinates of samples, all of which study.json holds


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


@record
class StudyOptions:
    """The rows of a study: design, correlation, motion and motors."""

    design: str = choice("kind of design", DESIGNS, default="latin-hypercube")
    rows: int | None = whole(
        "number of rows; for a grid the product of its levels", 1, MAX_ROWS, default=None
    )
    seed: int = whole("random seed", 0, MAX_SEED, default=0)
    levels: int | Mapping[str, int] | None = declared(
        OneOrNamed(WholeField("", 1, MAX_ROWS), "for a grid: one count, or counts by variable"), default=None
    )
    correlation: Mapping[tuple[str, str], float] | None = anything(
        "correlation of the underlying normals of two variables, by their names", Mapping, default=None
    )
    motion: Any = anything(
        "a request for `fa.plan`, a motion, or samples (q, qd, qdd) at every step; or a mapping of names "
        'to several, which the variable "motion" chooses from',
        default=None,
    )
    motors: Mapping[str, CatalogueMotor | Mapping[str, Any]] | None = anything(
        'a catalogue by name, which variables "JOINT.motor" choose from', Mapping, default=None
    )
    rows_per_part: int | None = whole("rows that are computed and stored together", 1, MAX_ROWS, default=None)


OPTIONS = StudyOptions()


class Study:
    """A study, made by `Study(name, arm, vary, figures, ...)` or read from a file."""

    @flat(options=StudyOptions, run=RunSettings)
    def __init__(
        self,
        name: str,
        arm: Arm | str | os.PathLike[str] | Mapping[str, Any],
        vary: Mapping[str, Any],
        figures: Sequence[str] | str,
        *,
        options: StudyOptions = OPTIONS,
        run: RunSettings = RUN,
    ) -> None:
        """A study: many runs with varied parameters, and figures of merit of each; rows are points of a
        design, each computed from the seed and its number alone.

        Args:
            name: its name.
            arm: an arm, its name or file, or a mapping of names to several, which the variable "arm" chooses
                from.
            vary: the variables by name: a distribution of `forearm.studies`, numbers or texts to choose from,
                or a `Variable`.
            figures: figures of merit, from `forearm.studies.FIGURES`.
            options: the design and what rows choose from, as a record.
            run: the simulation of each row, as a record.
        """
        check_name(name, "study, name")
        self.name, self.arms = name, _arms(arm)
        self.motors = {key: motor_of(key, motor) for key, motor in (options.motors or {}).items()}
        self.variables = _variables(vary)
        self.run = settings_of(run, self.arm, options.motion is not None)
        self.motions = self._sampled(options.motion)
        self.figures = tuple(names_in(figures, "study, figures"))
        self.columns: tuple[Column, ...] = columns_of(self.arm, self.figures)
        names = [v.name for v in self.variables]
        for both in {*names} & {column.name for column in self.columns}:
            raise InputError("the study has a figure of this name; rename the variable.", "vary", both)
        self.correlation = Correlation(names, dict(options.correlation or {}))
        self.design = _design(options, self.variables)
        if self.correlation.pairs and options.design in ("grid", "sobol-indices"):
            raise InputError(
                f"the variables of a {options.design} design are independent; use random, "
                "latin-hypercube or sobol, or omit the correlation.",
                "study",
                "correlation",
            )
        self.rows_per_part = _part_size(options.rows_per_part, self.design.rows)
        check_targets(self)
        check_figures(self)

    __doc__ = __init__.__doc__

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Study:
        """The study of a TOML file."""
        from forearm.studies.study_file import read_study

        return read_study(path)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.design.rows

    @cached_property
    def arm(self) -> Arm:
        """The first arm, whose joints all others share."""
        return next(iter(self.arms.values()))

    def values(self, first: int = 0, last: int | None = None) -> dict[str, NDArray[Any]]:
        """Values of the variables in rows first to last - 1, by name: float64, or texts as objects.

        Args:
            first: the first row.
            last: one past the last row; None: up to the end.
        """
        last = self.rows if last is None else last
        if self.design.kind == "grid":
            places = self.design.level_indices(first, last)
            counts = zip(self.variables, self.design.levels, places.T, strict=True)
            return {v.name: v.distribution.levels(count)[k] for v, count, k in counts}
        u = self.correlation.correlated(self.design.points(first, last))
        return {v.name: v.distribution.quantile(u[:, k]) for k, v in enumerate(self.variables)}

    def row(self, number: int) -> dict[str, Any]:
        """Values of the variables in one row."""
        check_whole(number, "row", 0, self.rows - 1)
        made = {name: x[0] for name, x in self.values(number, number + 1).items()}
        return {name: x if isinstance(x, str) else float(x) for name, x in made.items()}

    @property
    def has_law(self) -> bool:
        """Whether a controller drives the arms, at least in some rows."""
        return self.run.law is not None or any("law" in variable.of for variable in self.variables)

    def _sampled(self, given: Any) -> dict[str, dict[str, ReferenceMotion]]:
        """Motions by name and arm, each planned for its arm."""
        if given is None:
            return {}
        named = dict(given) if isinstance(given, Mapping) else {"motion": given}
        limits = {key: x for key in ("acceleration", "velocity") if (x := getattr(self.run, key)) is not None}
        made: dict[str, dict[str, ReferenceMotion]] = {}
        for name, one in named.items():
            made[name] = {}
            for key, arm in self.arms.items():
                if isinstance(one, Mapping):  # already sampled, as from a results folder
                    made[name][key] = one[key].checked(arm, name)
                else:
                    motion = motion_for(arm, one, self.run.step, name, limits)
                    made[name][key] = motion.then_still(round(self.run.settle / self.run.step))
        total = sum(motion.q.size for by_arm in made.values() for motion in by_arm.values())
        if total > MOST_NUMBERS:
            raise InputError(
                f"expected at most {MOST_NUMBERS} coordinates in all samples, got {total}; "
                "use a longer step, or fewer motions.",
                "study",
                "motion",
            )
        return made


def _arms(given: Any) -> dict[str, Arm]:
    named = dict(given) if isinstance(given, Mapping) else {"": given}
    made: dict[str, Arm] = {}
    for name, one in named.items():
        arm = one if isinstance(one, Arm) else load(one)
        check_arm(arm, "study, arm", moves=True)
        made[name or arm.name] = arm
    if not made:
        raise InputError("expected at least one arm, got none.", "study", "arm")
    joints = [joint.name for joint in next(iter(made.values())).joints]
    for name, arm in made.items():
        if [joint.name for joint in arm.joints] != joints:
            raise InputError(
                f"expected the joints of the first arm, {', '.join(joints)}, got "
                f"{', '.join(joint.name for joint in arm.joints)}; use a separate study for "
                "each.",
                "arms",
                name,
            )
    return made


def _variables(vary: Mapping[str, Any]) -> tuple[Variable, ...]:
    check_kind(vary, Mapping, "study, vary")
    made = []
    for name, given in vary.items():
        if isinstance(given, Variable):
            if given.name != name:
                raise InputError(
                    f"expected a Variable of this name, got {shorten(given.name)}.", "vary", shorten(name)
                )
            made.append(given)
        elif isinstance(given, Mapping):
            made.append(variable_of(name, given))
        elif isinstance(given, Distribution):
            made.append(Variable(name, given))
        elif isinstance(given, list | tuple) or (isinstance(given, np.ndarray) and given.ndim):
            made.append(Variable(name, Choice(tuple(given))))
        else:
            raise InputError(
                "expected a distribution such as Uniform(0, 1), values to choose from or a "
                f"Variable, got {shorten(given)}.",
                "vary",
                shorten(name),
            )
    if not made:
        raise InputError("expected at least one variable, got none.", "study", "vary")
    if len({v.name for v in made}) < len(made):
        raise InputError("expected each name once.", "study", "vary")
    return tuple(made)


def _part_size(given: int | None, rows: int) -> int:
    """Rows per part: as given, or a fraction of all within bounds."""
    if given is None:
        return max(min(MOST, max(FEWEST, -(-rows // SHARES))), -(-rows // MOST_PARTS))
    if -(-rows // given) > MOST_PARTS:
        raise InputError(
            f"expected at most {MOST_PARTS} parts, got {-(-rows // given)}; put more rows into each.",
            "study",
            "rows_per_part",
        )
    return given


def _design(options: StudyOptions, variables: Sequence[Variable]) -> Design:
    kind, rows, levels, d = options.design, options.rows, options.levels, len(variables)
    if kind != "grid":
        if levels is not None:
            raise InputError(f"only a grid has levels, this is {kind}; omit them.", "study", "levels")
        usual = 1024 * (d + 2) if kind == "sobol-indices" else 1000
        return Design(kind, usual if rows is None else rows, d, options.seed)
    by_name = levels if isinstance(levels, Mapping) else {}
    for key in by_name:
        check_choice(key, [v.name for v in variables], "study, levels")
    counts = []
    for v in variables:
        count = by_name.get(v.name, levels if isinstance(levels, int) else DEFAULT_LEVELS)
        if isinstance(v.distribution, Choice):
            count = len(v.distribution.values)
            if v.name in by_name:
                raise InputError(
                    f"{v.name} is a choice, which has its own values; remove it.", "study", "levels"
                )
        counts.append(count)
    if rows not in (None, total := prod(counts)):
        raise InputError(f"the levels of this grid yield {total}, got {rows}; omit rows.", "study", "rows")
    return Design(kind, total, d, options.seed, tuple(counts))
