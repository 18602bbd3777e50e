"""The parameters of an identification, one row each: before, now, and the interval."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

from forearm.arm.arm import Arm
from forearm.arm.joint import Joint
from forearm.reduction.base import base_parameters

if TYPE_CHECKING:
    from forearm.identification.result import Identification

DRIVE = ("friction", "motor", "transmission", "offset", "gain")  # prefixes of drive parameter names
UNITS = {
    "friction.viscous": ("N m s/rad", "N s/m"),
    "friction.coulomb": ("N m", "N"),
    "friction.static": ("N m", "N"),
    "friction.stribeck_speed": ("rad/s", "m/s"),
    "motor.rotor_inertia": ("kg m^2", "kg m^2"),
    "motor.torque_constant": ("N m/A", "N m/A"),
    "motor.resistance": ("ohm", "ohm"),
    "offset": ("N m", "N"),
}


@dataclass(frozen=True)
class ParameterRow:
    """One parameter.

    Attributes:
        name: as in `Identification.parameters`.
        label: description; for a base parameter the combination.
        owner: name of its link, joint or payload ("payload", "log2.payload").
        key: its name within the owner: "Izz", "friction.viscous".
        unit: of its values.
        before: in the arm as given; NaN: unknown there.
        value, std: from the data; std is infinite without information.
        low, high: ends of the interval.
    """

    name: str
    label: str
    owner: str
    key: str
    unit: str
    before: float
    value: float
    std: float
    low: float
    high: float

    @property
    def is_known(self) -> bool:
        """Whether the data determine it at all."""
        return math.isfinite(self.std)

    @property
    def is_inertial(self) -> bool:
        """Whether it is a mass, a first moment or an inertia."""
        return inertial_kind(self.key) > 0


def parameter_rows(found: Identification) -> list[ParameterRow]:
    """Every parameter, in the order of the fit."""
    z = NormalDist().inv_cdf(0.5 + 0.5 * found.confidence)
    before = _values_before(found.before)
    rows = []
    for name, label in zip(found.parameters.names, found.labels, strict=True):
        owner, key = split_name(name, found.before)
        value, std = found.parameters[name], found.std[name]
        reach = z * std
        old = before.get(name, _neutral(key))
        unit = unit_of(owner, key, found.before)
        rows.append(
            ParameterRow(name, label, owner, key, unit, old, value, std, value - reach, value + reach)
        )
    return rows


def split_name(name: str, arm: Arm) -> tuple[str, str]:
    """The owner of a parameter (link, joint or payload), and its name there."""
    for owner in (*(j.name for j in arm.tree), *(link.name for link in arm.links)):
        if name.startswith(f"{owner}.") and _is_key(name[len(owner) + 1 :]):
            return owner, name[len(owner) + 1 :]
    owner, _, key = name.rpartition(".")  # of a payload: "payload.mx", "log2.payload.mx"
    return owner, key


def inertial_kind(key: str) -> int:
    """Order of the moment, counted from 1: mass 1, first moment 2, inertia 3; 0: none."""
    if key == "m":
        return 1
    if key in ("mx", "my", "mz"):
        return 2
    return 3 if len(key) == 3 and key.startswith("I") else 0


def unit_of(owner: str, key: str, arm: Arm) -> str:
    """The unit of a parameter."""
    if inertial_kind(key):
        return ("kg", "kg m", "kg m^2")[inertial_kind(key) - 1]
    joint = next((j for j in arm.tree if j.name == owner), None)
    slides = joint is not None and joint.kind == "prismatic" and not _at_motor(joint, key)
    pair = next((units for start, units in UNITS.items() if key.startswith(start)), ("", ""))
    return pair[slides]


def _at_motor(joint: Joint, key: str) -> bool:
    return key.startswith("friction") and joint.friction is not None and joint.friction.side == "motor"


def _is_key(key: str) -> bool:
    return (
        bool(inertial_kind(key)) or key.split(".")[0] in DRIVE or bool(re.fullmatch(r"bearing\d+\.mu", key))
    )


def _neutral(key: str) -> float:
    """The value of a parameter in an arm that lacks it."""
    if key.startswith(("motor.torque_constant", "motor.resistance", "friction.stribeck_speed")):
        return math.nan
    return 1.0 if key in ("gain", "transmission.loss") else 0.0


def _values_before(arm: Arm) -> dict[str, float]:
    base = base_parameters(arm)
    return dict(arm.named_values) | {
        name: float(value) for name, value in zip(base.names, base.values, strict=True)
    }
