"""The parameters of an identification, one row each: before, now, and the interval."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

from forearm.arm.arm import Arm
from forearm.arm.drive import Friction, Motor
from forearm.records import declaration
from forearm.reduction.base import base_parameters

if TYPE_CHECKING:
    from forearm.identification.result import Identification

DRIVE = ("friction", "motor", "transmission", "offset", "gain")  # prefixes of drive parameter names
RECORDS = {"friction": Friction, "motor": Motor}


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
    arm, base = found.before, base_parameters(found.before)
    before = dict(arm.named_values) | dict(zip(base.names, base.values.tolist(), strict=True))
    rows = []
    for name, label in zip(found.parameters.names, found.labels, strict=True):
        owner, key = split_name(name, arm)
        value, std = found.parameters[name], found.std[name]
        # in an arm that lacks the parameter
        unknown = key.startswith(("motor.torque_constant", "motor.resistance", "friction.stribeck_speed"))
        neutral = math.nan if unknown else float(key in ("gain", "transmission.loss"))
        old, unit = before.get(name, neutral), unit_of(owner, key, arm)
        low, high = value - z * std, value + z * std
        rows.append(ParameterRow(name, label, owner, key, unit, old, value, std, low, high))
    return rows


def split_name(name: str, arm: Arm) -> tuple[str, str]:
    """The owner of a parameter (link, joint or payload), and its name there."""
    for owner in (*(j.name for j in arm.tree), *(link.name for link in arm.links)):
        key = name.removeprefix(f"{owner}.")
        is_drive = key.split(".")[0] in DRIVE or re.fullmatch(r"bearing\d+\.mu", key)
        if key != name and (is_drive or inertial_kind(key)):
            return owner, key
    owner, _, key = name.rpartition(".")  # of a payload: "payload.mx", "log2.payload.mx"
    return owner, key


def inertial_kind(key: str) -> int:
    """Order of the moment, counted from 1: mass 1, first moment 2, inertia 3; 0: none."""
    if key in ("m", "mx", "my", "mz"):
        return len(key)
    return 3 if len(key) == 3 and key.startswith("I") else 0


def unit_of(owner: str, key: str, arm: Arm) -> str:
    """The unit of a parameter; of drives as declared, "N m s / rad (N s / m)" for what turns (or slides)."""
    if kind := inertial_kind(key):
        return ("kg", "kg m", "kg m^2")[kind - 1]
    part, _, figure = ("friction.coulomb" if key == "offset" else key).partition(".")
    field = declaration(RECORDS[part]).get(figure.split(".")[0]) if part in RECORDS else None
    turning, _, sliding = getattr(field, "unit", "").replace(" / ", "/").rstrip(")").partition(" (")
    joint = next((j for j in arm.tree if j.name == owner), None)
    at_motor = part == "friction" != key and joint and joint.friction and joint.friction.side == "motor"
    slides = sliding and joint is not None and joint.kind == "prismatic" and not at_motor
    return str(sliding if slides else turning.split(",")[0])
