"""A study: arms, what differs from row to row, what is done with each, and which figures are wanted of it."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm, check_arm
from forearm.arm.joint import Limits
from forearm.control.controllers.formulas import CONTROL_LAWS
from forearm.control.gains import BANDWIDTH
from forearm.drives.coordinates import coordinates_of
from forearm.errors import InputError, NameNotFound, shorten, suggest
from forearm.files.load import load
from forearm.simulation.many import FIXED
from forearm.simulation.row_parameters import PAYLOAD
from forearm.simulation.windings import has_inductance
from forearm.spatial import Floats
from forearm.studies.catalogue import CatalogueMotor, motor_of
from forearm.studies.figures import Column, columns_of
from forearm.studies.reference_motion import ReferenceMotion, motion_for
from forearm.studies.sampling.correlation import Correlation
from forearm.studies.sampling.designs import DESIGNS, MAX_ROWS, Design
from forearm.studies.sampling.distributions import Choice, Distribution
from forearm.studies.variable import Variable, variable_of
from forearm.values import as_finite, check_choice, check_kind, check_name, check_number, check_whole

PER_JOINT = ("torque", "voltage", "start", "acceleration", "velocity")
LEVELS = ("arm", "motion", "law")  # variables that choose by name
DRIVING = ("motion", "torque", "voltage")
FEWEST, MOST, SHARES = 16, 4096, 64  # rows of a part: a share of all, within bounds
MOST_STEPS = 100_000_000  # of a run without a motion
DEFAULT_LEVELS = 5
DEFAULT_DESIGN = "latin-hypercube"
MOST_NUMBERS = 1_500_000  # of all motions: coordinates of samples, which study.json must hold


@dataclass(frozen=True)
class RunSettings:
    """How each row is run.

    Args:
        law: the control law of a motion; None: the figures that a motion requires are computed, nothing is
            simulated.
        bandwidth: of its gains, rad/s.
        period: steps between two samples of the law.
        friction: whether the law's model has friction.
        torque, voltage: held throughout in the place of a motion.
        acceleration, velocity: limits of a motion that is planned from configurations or a request; None:
            what the drives can.
        duration: of a run that has no motion, s.
        settle: time after the motion in which it stands still, s.
        step: of the simulation, s.
        method: "rk3", "rk4" or "gill".
        effort_limits: whether motors give no more than max_effort.
        start: joint coordinates at the start of a run that has no motion.
        payload: what every hand carries, by name: "mass", "com.x", "inertia.xx".
        dtype, device: of the kernel, as in `fa.compile`.
    """

    law: str | None = None
    bandwidth: float = BANDWIDTH
    period: int = 1
    friction: bool = True
    torque: tuple[float, ...] | None = None
    voltage: tuple[float, ...] | None = None
    acceleration: tuple[float, ...] | None = None
    velocity: tuple[float, ...] | None = None
    duration: float = 0.0
    settle: float = 0.0
    step: float = 1e-3
    method: str = "rk4"
    effort_limits: bool = False
    start: tuple[float, ...] = ()
    payload: Mapping[str, float] = field(default_factory=dict)
    dtype: str = "float64"
    device: str = "cpu"

    @property
    def steps(self) -> int:
        """Of a run that has no motion."""
        return round(self.duration / self.step)


class Study:
    """Many runs of arms that differ, and the figures of each: rows are points of a design, and each is
    computed from the seed and its number alone.

    Args:
        name: what it is called.
        arm: an arm, its name or file, or several by names of your own, which "arm" then chooses from.
        vary: what differs, by name: a distribution of `forearm.studies`, numbers or texts to choose from, or
            a `Variable`.
        figures: figures of merit, those of `forearm.studies.FIGURES`.
        design: "grid", "random", "latin-hypercube", "sobol" or "sobol-indices".
        rows: how many; a grid has as many as its levels make.
        seed: of what is drawn.
        levels: of a grid, one count for all variables or by name.
        correlation: of the normals behind two variables, by their names.
        motion: what `fa.plan` takes, a motion, or samples (q, qd, qdd) at every step; or several by names of
            your own, which "motion" then chooses from.
        motors: a catalogue by name, which "JOINT.motor" chooses from.
        rows_per_part: rows that are computed and kept together.
        **run: fields of `RunSettings`: law, bandwidth, torque, voltage, duration, step and others.
    """

    def __init__(
        self,
        name: str,
        arm: Arm | str | os.PathLike[str] | Mapping[str, Any],
        vary: Mapping[str, Any],
        figures: Sequence[str] | str,
        *,
        design: str = DEFAULT_DESIGN,
        rows: int | None = None,
        seed: int = 0,
        levels: int | Mapping[str, int] | None = None,
        correlation: Mapping[tuple[str, str], float] | None = None,
        motion: Any = None,
        motors: Mapping[str, CatalogueMotor | Mapping[str, Any]] | None = None,
        rows_per_part: int | None = None,
        **run: Any,
    ) -> None:
        check_name(name, "study, name")
        self.name = name
        self.arms = _arms(arm)
        self.motors = {
            key: m if isinstance(m, CatalogueMotor) else motor_of(key, m) for key, m in (motors or {}).items()
        }
        self.variables = _variables(vary)
        self.run = _settings(run, next(iter(self.arms.values())), motion)
        self.motions = self._sampled(motion)
        self.figures = (figures,) if isinstance(figures, str) else tuple(figures)
        self.columns: tuple[Column, ...] = columns_of(next(iter(self.arms.values())), self.figures)
        self.correlation = Correlation([v.name for v in self.variables], dict(correlation or {}))
        self.design = _design(design, rows, seed, levels, self.variables)
        if self.correlation.pairs and design in ("grid", "sobol-indices"):
            raise InputError(
                f"study, correlation: the variables of a {design} design are independent; take random, "
                "latin-hypercube or sobol, or leave the correlation out."
            )
        most = check_whole(rows_per_part, "rows_per_part", 1, MAX_ROWS) if rows_per_part is not None else None
        self.rows_per_part = most or min(MOST, max(FEWEST, -(-self.design.rows // SHARES)))
        self._check()

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Study:
        """The study of a TOML file."""
        from forearm.studies.study_file import read_study

        return read_study(path)

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.design.rows

    @cached_property
    def arm(self) -> Arm:
        """The first of its arms, whose joints all others have."""
        return next(iter(self.arms.values()))

    def values(self, first: int = 0, last: int | None = None) -> dict[str, NDArray[Any]]:
        """What variables are at rows first to last - 1, by name: float64, or texts as objects.

        Args:
            first: the first row.
            last: the row behind the last one; None: up to the end.
        """
        last = self.rows if last is None else last
        if self.design.kind == "grid":
            places = self.design.level_indices(first, last)
            every = [
                v.distribution.levels(count)
                for v, count in zip(self.variables, self.design.levels, strict=True)
            ]
            return {v.name: x[k] for v, x, k in zip(self.variables, every, places.T, strict=True)}
        u = self.correlation.correlated(self.design.points(first, last))
        return {v.name: v.distribution.quantile(u[:, k]) for k, v in enumerate(self.variables)}

    def row(self, number: int) -> dict[str, Any]:
        """What variables are at one row."""
        check_whole(number, "row", 0, self.rows - 1)
        made = {name: x[0] for name, x in self.values(number, number + 1).items()}
        return {name: x if isinstance(x, str) else float(x) for name, x in made.items()}

    def _sampled(self, given: Any) -> dict[str, dict[str, ReferenceMotion]]:
        """Motions by name and arm, each planned for its arm."""
        if given is None:
            return {}
        named = dict(given) if isinstance(given, Mapping) else {"motion": given}
        still = round(self.run.settle / self.run.step)
        limits = {key: x for key in ("acceleration", "velocity") if (x := getattr(self.run, key)) is not None}
        made: dict[str, dict[str, ReferenceMotion]] = {}
        for name, one in named.items():
            made[name] = {}
            for key, arm in self.arms.items():
                if isinstance(one, Mapping):  # sampled already, as a folder of results has them
                    made[name][key] = one[key]
                else:
                    made[name][key] = motion_for(arm, one, self.run.step, name, limits).then_still(still)
        total = sum(motion.q.size for by_arm in made.values() for motion in by_arm.values())
        if total > MOST_NUMBERS:
            raise InputError(
                f"study, motion: expected at most {MOST_NUMBERS} coordinates in all samples, got {total}; "
                "take longer steps, or fewer motions."
            )
        return made

    def _check(self) -> None:
        """Refuse variables that say nothing of these arms, and figures that nothing gives."""
        from forearm.studies.rows.row_numbers import check_targets

        check_targets(self)
        is_run = self.run.law is not None or not self.motions
        for column in self.columns:
            _check_column(self, column, is_run)
        if any(column.figure.is_simulated for column in self.columns):
            for arm in self.arms.values():
                _check_drives(arm, self.run.voltage is not None)


def _check_column(study: Study, column: Column, is_run: bool) -> None:
    name = column.figure.name
    if (
        column.figure.is_required or name in ("manipulability", "time_optimal_duration")
    ) and not study.motions:
        raise InputError(f"figures, {name}: it is one of a motion; give motion = ... too.")
    if name in ("peak_error", "rms_error", "tracking_error", "hand_error") and not (study.motions and is_run):
        raise InputError(f"figures, {name}: errors are those of a law along a motion; give both.")
    if column.figure.is_simulated and not is_run:
        raise InputError(
            f"figures, {name}: nothing is simulated along a motion without a law; give law = "
            f"'computed_torque', or take required_{name}."
        )
    if name in ("limit_margin", "limit_time") and not any(_has_limit(j.limits) for j in study.arm.joints):
        raise InputError(f"figures, {name}: no joint of {study.arm.name!r} has limits; leave it out.")
    if name == "motor_mass" and not study.motors:
        raise InputError("figures, motor_mass: there is no catalogue of motors; give motors = ... too.")


def _check_drives(arm: Arm, by_voltage: bool) -> None:
    if coordinates_of(arm, by_voltage and has_inductance(arm)).count > arm.n:
        raise InputError(
            f"study, arm {arm.name!r}: motors, bristles or currents have states of their own, which rows of "
            "a study do not; take the arm without elasticity, bristles and inductance, or figures that begin "
            "with required_."
        )


def _has_limit(limits: Limits) -> bool:
    return math.isfinite(limits.lower) or math.isfinite(limits.upper)


def _arms(given: Any) -> dict[str, Arm]:
    named = dict(given) if isinstance(given, Mapping) else {"": given}
    made: dict[str, Arm] = {}
    for name, one in named.items():
        arm = one if isinstance(one, Arm) else load(one)
        check_arm(arm, "study, arm", moves=True)
        made[name or arm.name] = arm
    if not made:
        raise InputError("study, arm: expected at least one arm, got none.")
    joints = [joint.name for joint in next(iter(made.values())).joints]
    for name, arm in made.items():
        if [joint.name for joint in arm.joints] != joints:
            raise InputError(
                f"arms, {name}: expected the joints of the first arm, {', '.join(joints)}, got "
                f"{', '.join(joint.name for joint in arm.joints)}; make a study of each."
            )
    return made


def _variables(vary: Mapping[str, Any]) -> tuple[Variable, ...]:
    check_kind(vary, Mapping, "study, vary")
    made = []
    for name, given in vary.items():
        if isinstance(given, Variable):
            made.append(given)
        elif isinstance(given, Mapping):
            made.append(variable_of(name, given))
        elif isinstance(given, Distribution):
            made.append(Variable(name, given))
        elif isinstance(given, list | tuple | np.ndarray):
            made.append(Variable(name, Choice(tuple(given))))
        else:
            raise InputError(
                f"vary, {shorten(name)}: expected a distribution such as Uniform(0, 1), values to choose "
                f"from or a Variable, got {shorten(given)}."
            )
    if not made:
        raise InputError("study, vary: expected at least one variable, got none.")
    if len({v.name for v in made}) < len(made):
        raise InputError("study, vary: expected each name once.")
    return tuple(made)


def _settings(given: Mapping[str, Any], arm: Arm, motion: Any) -> RunSettings:
    known = RunSettings.__dataclass_fields__
    for key in given:
        if key not in known:
            raise NameNotFound(f"study: there is no {shorten(key)}; {suggest(str(key), known)}")
    values = {key: value for key, value in given.items() if value is not None}
    for key in PER_JOINT:
        if key in values:
            values[key] = tuple(_per_joint(values[key], arm, f"study, {key}").tolist())
    values["start"] = values.get("start") or (0.0,) * arm.n
    run = RunSettings(**values)
    for key in ("bandwidth", "step"):
        check_number(getattr(run, key), f"study, {key}", above=0.0)
    for key in ("settle", "duration"):
        check_number(getattr(run, key), f"study, {key}", minimum=0.0)
    check_whole(run.period, "study, period", 1)
    steps = (run.duration + run.settle) / run.step
    if not steps <= MOST_STEPS:
        raise InputError(f"study, duration and settle: expected at most {MOST_STEPS} steps, got {steps:.6g}.")
    check_choice(run.method, FIXED, "study, method")
    if run.law is not None:
        check_choice(run.law, CONTROL_LAWS, "study, law")
    if sum(x is not None for x in (motion, run.torque, run.voltage)) > 1:
        raise InputError("study: expected one of motion, torque and voltage, got several.")
    if motion is None and (run.duration <= 0.0 or run.law is not None):
        raise InputError(
            "study: without a motion expected a duration above 0 and no law; give motion = ... for a law, or "
            "duration = 1.0."
        )
    check_kind(run.payload, Mapping, "study, payload")
    for key, value in run.payload.items():
        check_choice(f"payload.{key}", PAYLOAD, "study, payload")
        check_number(value, f"study, payload, {key}")
    return run


def _per_joint(given: ArrayLike, arm: Arm, what: str) -> Floats:
    return as_finite(
        np.broadcast_to(np.asarray(given), (arm.n,)) if np.ndim(given) == 0 else given, (arm.n,), what
    )


def _design(
    kind: str,
    rows: int | None,
    seed: int,
    levels: int | Mapping[str, int] | None,
    variables: Sequence[Variable],
) -> Design:
    check_choice(kind, DESIGNS, "study, design")
    d = len(variables)
    if kind != "grid":
        if levels is not None:
            raise InputError(f"study, levels: only a grid has them, this is {kind}; leave them out.")
        count = check_whole(1000 if rows is None else rows, "study, rows", 1, MAX_ROWS)
        if kind == "sobol-indices" and rows is None:
            count = 1024 * (d + 2)
        return Design(kind, count, d, seed)
    names = [v.name for v in variables]
    by_name = levels if isinstance(levels, Mapping) else {}
    for key in by_name:
        check_choice(key, names, "study, levels")
    usual = levels if isinstance(levels, int) else DEFAULT_LEVELS
    counts = tuple(
        len(v.distribution.values) if isinstance(v.distribution, Choice) else by_name.get(v.name, usual)
        for v in variables
    )
    total = 1
    for count in counts:
        total *= check_whole(count, "study, levels", 1, MAX_ROWS)
    if rows is not None and rows != total:
        raise InputError(f"study, rows: the levels of this grid make {total}, got {rows}; leave rows out.")
    return Design(kind, total, d, seed, counts)


def level_names(study: Study, what: str) -> list[str]:
    """What "arm", "motion" or "law" may be in a study."""
    if what == "arm":
        return [*study.arms]
    return [*study.motions] if what == "motion" else [*CONTROL_LAWS]
