"""What identification is asked for: how a log is read, what is fitted, and how sure intervals are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from forearm.errors import InputError, located, shorten
from forearm.identification.payload.physical import parameters_of_body
from forearm.identification.prior import Prior
from forearm.identification.samples import EffortKind
from forearm.logs.spelling import words_for
from forearm.logs.units import units_of
from forearm.reading.fields import WholeField
from forearm.records import choice, declared, flag, number, record
from forearm.trajectories.series.basis import BASES
from forearm.values import (
    LARGEST,
    as_finite,
    as_floats,
    as_pose,
    check_kind,
    check_number,
    frozen_array,
    is_number,
)

TORQUE_SIDES = ("motor", "link")
UNKNOWN = "unknown"
Derivatives = Literal["position", "logged"]
FrictionChoice = Literal["auto", "none", "viscous", "coulomb", "stribeck"]
Weighting = Literal["joint", "ordinary", "robust"]
MOST_HARMONICS, MOST_STARTS, MOST_SEED = 50, 100, 2**63 - 1


@dataclass(frozen=True)
class CheckedField:
    """A value of a kind that files do not hold: `check` takes it and its place, and returns it as stored."""

    doc: str
    check: Callable[[Any, str], Any]
    unit: str = ""

    def read(self, value: Any, place: str) -> Any:
        """The value, checked."""
        return self.check(value, place)

    def schema(self) -> dict[str, Any]:
        """What it is."""
        return {"description": self.doc}


def _columns(value: Any, place: str) -> Any:
    with located(place):
        words_for((), value)
    return value


def _units(value: Any, place: str) -> Any:
    with located(place):
        units_of(value)
    return value


@record
class LogFormat:
    """How the columns of a log are to be understood."""

    columns: Mapping[str, str] | None = declared(
        CheckedField("column names, theirs to ours: {'angle': 'q', 'load': 'tau'}", _columns), default=None
    )
    units: str | Sequence[str] = declared(
        CheckedField("units of the file, rad or deg, and s, ms, us or ns (default: rad,s)", _units),
        default=(),
    )
    period: float | None = number("time between rows, if a log has no times", "s", default=None, above=0.0)


@record
class LogReading(LogFormat):
    """How a log is read: its columns, and where velocities, accelerations and efforts come from."""

    cutoff: float | None = number(
        "cut-off frequency of the position filter; if absent, from the data", "Hz", default=None, above=0.0
    )
    derivatives: Derivatives | None = choice(
        "source of velocities and accelerations; if absent, logged where all are present",
        get_args(Derivatives),
        default=None,
    )
    effort: EffortKind | None = choice(
        "what is fitted, where logs have several", get_args(EffortKind), default=None
    )


def load_of(value: Any, place: str) -> Any:
    """A payload: None, "unknown", or its ten parameters (10,) about the hand's origin."""
    if value is None or (isinstance(value, str) and value == UNKNOWN):
        return value
    if not isinstance(value, Mapping) or set(value) - {"mass", "com", "inertia"} or "mass" not in value:
        raise InputError(
            "expected None, 'unknown', or a mapping with mass (kg), com (3,) in the hand "
            f"frame, and inertia (3, 3) about it, got {shorten(value)}.",
            place,
        )
    mass = check_number(value["mass"], f"{place}, mass", minimum=0.0)
    com = as_finite(value.get("com", np.zeros(3)), (3,), f"{place}, com")
    inertia = as_finite(value.get("inertia", np.zeros((3, 3))), (3, 3), f"{place}, inertia")
    return parameters_of_body(mass, com, inertia)


def _payload(value: Any, place: str) -> Any:
    loads = value if isinstance(value, list | tuple) else [value]
    for k, load in enumerate(loads):
        load_of(load, place if loads is not value else f"{place} of log {k + 1}")
    return value


def _total_mass(value: Any, place: str) -> tuple[float, float]:
    pair = value if isinstance(value, tuple | list) else (value, 0.0)
    if len(pair) != 2:
        raise InputError(f"expected a mass, or (mass, standard deviation), got {shorten(value)}.", place)
    return check_number(pair[0], place, above=0.0), check_number(pair[1], place, minimum=0.0)


def _prior(value: Any, place: str) -> float | Prior:
    if not isinstance(value, Prior):
        return check_number(value, place, above=0.0)
    if not (np.isfinite(value.mean).all() and (value.std > 0.0).all()):
        raise InputError("expected finite means, and deviations above 0, inf for no prior.", place)
    return value


@record
class FitModel:
    """What is fitted to logs, and what is known before."""

    friction: FrictionChoice = choice(
        "friction of every joint (coulomb includes viscous, stribeck both; auto is coulomb, plus what the "
        "arm file has)",
        get_args(FrictionChoice),
        default="auto",
    )
    load: bool = flag(
        "whether gears have losses proportional to load; these, and Stribeck friction, are kept only where "
        "data held out of the fit are predicted no worse",
        default=False,
    )
    offsets: bool = flag(
        "whether torques have offsets; Coulomb friction is then the same in both directions", default=False
    )
    gains: bool = flag(
        "whether measured efforts have an unknown scale factor per joint; without a known payload in one of "
        "the logs that of the last joint stays 1",
        default=False,
    )
    payload: Any = declared(
        CheckedField(
            "load in the hand: None, 'unknown', or a mapping with mass, com and inertia; a list has one per "
            "log",
            _payload,
        ),
        default=None,
    )
    total_mass: tuple[float, float] | None = declared(
        CheckedField("total moving mass, or (mass, deviation)", _total_mass, "kg"), default=None
    )
    prior: float | Prior = declared(
        CheckedField(
            "relative standard deviation of the arm's inertial parameters, used where data carry no "
            "information; or a Prior",
            _prior,
        ),
        default=0.3,
    )


@record
class Confidence:
    """How sure intervals are."""

    confidence: float = number(
        "confidence level of the intervals", default=0.95, above=0.0, maximum=1.0 - 1e-12
    )


@record
class FitStatistics(Confidence):
    """How rows are weighted and checked, and how sure intervals are."""

    weighting: Weighting = choice(
        "weighting of rows (joint: by the noise of each joint with its autocorrelation; robust: outliers "
        "count less)",
        get_args(Weighting),
        default="joint",
    )
    check: bool = flag("whether to refuse efforts of other joints or of the wrong sign", default=True)


def _point(value: Any, place: str) -> Any:
    return frozen_array(value, (3,), place)


@record
class LoadModel(Confidence):
    """What is known of a load before it is estimated."""

    shape: Literal["body", "point"] = choice(
        "shape of the load: body has ten unknowns, point mass and centre", ("body", "point"), default="body"
    )
    mass: float | None = number("known mass; if absent, estimated", "kg", default=None, above=0.0)
    com: ArrayLike | None = declared(
        CheckedField("known centre of mass (3,) in the hand frame; if absent, estimated", _point, "m"),
        default=None,
    )


@dataclass(frozen=True)
class PerJointField:
    """One number for all joints, or one per joint; `per_joint` gives an array."""

    doc: str
    unit: str = ""
    smallest: float = 5e-324
    largest: float = np.inf

    def read(self, value: Any, place: str) -> Any:
        """The number, or a read-only array."""
        values = as_floats(value, place)
        if values.ndim > 1 or not ((values >= self.smallest) & (values <= self.largest)).all():
            shown = shorten(values.tolist())
            raise InputError(f"expected a number above 0, or one per joint, got {shown}.", place)
        values.flags.writeable = False
        return values if values.ndim else float(values)

    def schema(self) -> dict[str, Any]:
        """What it is."""
        return {"description": self.doc}


def _box(value: Any, place: str) -> Any:
    box = as_floats(value, place)
    if box.shape != (2, 3) or np.isnan(box).any() or not (box[0] < box[1]).all():
        raise InputError(
            "expected two corners ((xmin, ymin, zmin), (xmax, ymax, zmax)) in m, the first "
            f"below the second, infinite on open sides, got {shorten(box.tolist())}.",
            place,
        )
    return box


@record
class MotionBounds:
    """Limits of an exciting motion; where absent, those of the arm."""

    velocity: ArrayLike | None = declared(
        PerJointField("largest velocities; if absent, the arm's", "rad/s (m/s)"), default=None
    )
    acceleration: ArrayLike | None = declared(
        PerJointField("largest accelerations; if absent, what torques allow", "rad/s^2 (m/s^2)"), default=None
    )
    torque: ArrayLike | None = declared(
        PerJointField("largest torques, motor torque times gear ratio; if absent, max_effort", "N m (N)"),
        default=None,
    )
    voltage: ArrayLike | None = declared(
        PerJointField("largest motor voltages; if absent, the motors'", "V"), default=None
    )
    margin: float = number(
        "fraction of each joint's range kept free at both ends", default=0.02, minimum=0.0, maximum=0.45
    )
    box: Sequence[Sequence[float]] | None = declared(
        CheckedField(
            "corners ((xmin, ymin, zmin), (xmax, ymax, zmax)) that bound the hand's origin, base frame; "
            "infinite on open sides",
            _box,
            "m",
        ),
        default=None,
    )


@record
class ExcitationSearch:
    """Which motions are searched, and for what."""

    basis: Literal["fourier", "spline"] = choice(
        "functions of the motion (sines and cosines, or quintic B-splines)", BASES, default="fourier"
    )
    harmonics: int = declared(
        WholeField("of the Fourier series, or as many coefficients of splines", 2, MOST_HARMONICS), default=5
    )
    criterion: Literal["d", "condition"] = choice(
        "what is optimised (d: the determinant of the information, all deviations together)",
        ("d", "condition"),
        default="d",
    )
    seed: int = declared(WholeField("seed of the random initial motions", 0, MOST_SEED), default=0)
    starts: int = declared(WholeField("number of random initial motions", 1, MOST_STARTS), default=6)


@record
class TorqueSensing:
    """How torques will be measured."""

    noise: ArrayLike | None = declared(
        PerJointField(
            "standard deviation of a torque sample; if absent, 1 % of max_effort",
            "N m (N)",
            1.0 / LARGEST,
            LARGEST,
        ),
        default=None,
    )
    torque_side: Literal["motor", "link"] = choice(
        "side of the gear where torques will be measured (rotors and all friction show at the motor)",
        TORQUE_SIDES,
        default="motor",
    )
    step: float = number("sampling period", "s", default=1e-3, above=0.0)


def _unknowns(value: Any, place: str) -> Any:
    check_kind(value, (str, list, tuple), place)
    return value


def _base(value: Any, place: str) -> Any:
    return value if isinstance(value, bool) else as_pose(value, place)


def _noise(value: Any, place: str) -> tuple[float, ...]:
    values = [value] if is_number(value) else list(as_floats(value, place).ravel())
    if len(values) not in (1, 2):
        raise InputError(f"expected one value (m) or two (m, rad), got {shorten(value)}.", place)
    return tuple(check_number(v, place, above=0.0) for v in values)


def _deviations(value: Any, place: str) -> Any:
    if isinstance(value, Mapping):
        for name, deviation in value.items():
            if "." not in str(name):
                raise InputError(f"expected names such as 'joint2.a', got {shorten(name)}.", place)
            check_number(deviation, f"{place}, {name}", above=0.0)
        return value
    values = as_floats(value, place)
    if values.shape != (2,):
        raise InputError(
            f"expected (m, rad) or standard deviations by name, got {shorten(values.tolist())}.", place
        )
    return tuple(check_number(v, place, above=0.0) for v in values)


@record
class GeometryModel:
    """Which geometry a calibration estimates, and what is known."""

    hand_point: ArrayLike | None = declared(
        CheckedField("the measured point (3,) in the hand frame; if absent, estimated", _point, "m"),
        default=None,
    )
    unknowns: str | Sequence[str] | None = declared(
        CheckedField(
            "names such as joint2.a, joints, hand, or groups: offsets (zeros of the joints), dh, frames, all "
            "(default: all)",
            _unknowns,
        ),
        default=None,
    )
    base: bool | ArrayLike = declared(
        CheckedField(
            "True: the pose of the device is unknown; False: it measures in the base frame; or the known "
            "base frame (4, 4) in the device's frame",
            _base,
        ),
        default=True,
    )


@record
class GeometryNoise(Confidence):
    """What is known of errors before a calibration, and how sure intervals are."""

    prior: Sequence[float] | Mapping[str, float] | None = declared(
        CheckedField("prior standard deviations of the file's values, (m, rad) or by name", _deviations),
        default=None,
    )
    noise: float | Sequence[float] | None = declared(
        CheckedField(
            "standard deviation of a measured coordinate, m, and of a rotation, rad; if absent, from the "
            "residuals",
            _noise,
        ),
        default=None,
    )
