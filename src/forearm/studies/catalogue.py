"""Catalogue of motors that a study chooses from: constants, limits and mass by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from forearm.errors import InputError, located, shorten, suggest
from forearm.values import check_number

NEEDED = ("torque_constant", "resistance")
LIMITS = {"voltage": "max_voltage", "current": "max_current", "heat": "continuous_current"}  # used by margins
OPEN = (*NEEDED, "rotor_inertia")  # given to the kernel per row


@dataclass(frozen=True)
class CatalogueMotor:
    """A motor that may replace a joint's own; the gear ratio remains the joint's.

    Args:
        torque_constant: N m / A, and V s / rad.
        resistance: of the winding, ohm.
        rotor_inertia: on the motor side, kg m^2.
        max_voltage: V; None: unlimited.
        max_current: A; None: unlimited.
        continuous_current: thermally permitted continuous current, A; None: unlimited.
        mass: kg, for the figure `motor_mass`; it is not added to a link.
    """

    torque_constant: float
    resistance: float
    rotor_inertia: float = 0.0
    max_voltage: float | None = None
    max_current: float | None = None
    continuous_current: float | None = None
    mass: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            where = f"motor, {field.name}"
            if field.name in ("rotor_inertia", "mass"):
                value = check_number(value, where, minimum=0.0)
            elif value is not None or field.name in NEEDED:
                value = check_number(value, where, above=0.0)
            object.__setattr__(self, field.name, value)

    @property
    def fields(self) -> dict[str, float]:
        """The motor as a table of a study file."""
        return {f.name: x for f in fields(self) if (x := getattr(self, f.name)) is not None}


def motor_of(name: str, given: Mapping[str, Any]) -> CatalogueMotor:
    """The motor described by a table of a study file."""
    known = [f.name for f in fields(CatalogueMotor)]
    where = f"motors, {shorten(name)}"
    if not isinstance(given, Mapping):
        raise InputError(f"expected a table of {', '.join(known)}, got {shorten(given)}.", where)
    for key in given:
        if key not in known:
            raise InputError(f"unknown key {shorten(key)}; {suggest(str(key), known)}", where)
    for key in NEEDED:
        if key not in given:
            raise InputError(f"missing key {key!r}.", where)
    with located(where):
        return CatalogueMotor(**given)
