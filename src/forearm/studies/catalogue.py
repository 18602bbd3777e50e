"""Catalogue of motors that a study chooses from: constants, limits and mass by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forearm.arm.drive import Motor
from forearm.errors import located, shorten
from forearm.records import declaration, declared, fields_of, number, positional_record, table_of

LIMITS = {"voltage": "max_voltage", "current": "max_current", "heat": "continuous_current"}  # used by margins
OPEN = ("torque_constant", "resistance", "rotor_inertia")  # given to the kernel per row
OF_MOTOR = declaration(Motor)


@positional_record
class CatalogueMotor:
    """A motor that may replace a joint's own; the gear ratio remains the joint's."""

    torque_constant: float = declared(OF_MOTOR["torque_constant"])
    resistance: float = declared(OF_MOTOR["resistance"])
    rotor_inertia: float = declared(OF_MOTOR["rotor_inertia"], default=0.0)
    max_voltage: float | None = declared(OF_MOTOR["max_voltage"], default=None)
    max_current: float | None = declared(OF_MOTOR["max_current"], default=None)
    continuous_current: float | None = number(
        "thermally permitted continuous current; if absent, unlimited", "A", default=None, above=0.0
    )
    mass: float = number(
        "for the figure `motor_mass`; it is not added to a link", "kg", default=0.0, minimum=0.0
    )

    @property
    def fields(self) -> dict[str, float]:
        """The motor as a table of a study file."""
        return {name: x for name, x in fields_of(self).items() if x is not None}


def motor_of(name: str, given: Mapping[str, Any] | CatalogueMotor) -> CatalogueMotor:
    """A motor, or the one described by a table of a study file."""
    if isinstance(given, CatalogueMotor):
        return given
    where = f"motors, {shorten(name)}"
    read = table_of(CatalogueMotor).read(dict(given) if isinstance(given, Mapping) else given, where)
    with located(where):
        return CatalogueMotor(**read)
