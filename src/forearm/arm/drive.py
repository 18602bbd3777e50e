"""Drives as data: motor, friction, bearings, transmission and elasticity of a joint.

`Friction.side` marks friction given on the motor side; all other values are as in data sheets or drawings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from forearm.errors import InputError, ModelError, shorten
from forearm.reading.fields import AngleField, DirectionField, ListField, NumberField, PointsField
from forearm.records import choice, declared, parameter, physical, quantity, record
from forearm.values import is_number

SIDES = ("joint", "motor")
BEARINGS = ("journal", "linear", "thrust")
INTERPOLATIONS = ("linear", "spline")
DIRECTIONS = ("positive", "negative")  # of motion, in names of parameters


@record
class Motor:
    """A motor with a gear. Swartz (11)-(12), with gear ratio N: motor angle = N x joint angle.

    Unknown constants are None.
    """

    gear_ratio: float = parameter(
        "motor angle / joint angle; negative if the gear reverses",
        default=1.0,
        nonzero="write 1 for a direct drive, a negative ratio for a reversing gear",
    )
    rotor_inertia: float = parameter(
        "on the motor side; reflected to the joint as gear_ratio^2 times it",
        "kg m^2",
        default=0.0,
        minimum=0.0,
    )
    torque_constant: float | None = parameter("Kt", "N m / A, and V s / rad", default=None, above=0.0)
    resistance: float | None = parameter("of the winding", "ohm", default=None, above=0.0)
    inductance: float | None = parameter("of the winding", "H", default=None, minimum=0.0)
    max_voltage: float | None = physical("largest voltage magnitude", "V", default=None, above=0.0)
    max_current: float | None = physical("largest current magnitude", "A", default=None, above=0.0)
    amplifier_gain: float | None = parameter(
        "motor voltage / converter output; if absent, 1",
        default=None,
        nonzero="leave it out if there is no amplifier",
    )

    @property
    def reflected_inertia(self) -> float:
        """N^2 J, the rotor inertia reflected to the joint, in kg m^2 (kg for a prismatic joint)."""
        return self.gear_ratio * self.gear_ratio * self.rotor_inertia


@dataclass(frozen=True)
class TwoSidedField:
    """Dry friction: (for qd > 0, at least 0; for qd < 0, at most 0), or one number for both directions."""

    doc: str
    unit: str = "N m (N)"

    def read(self, value: Any, place: str) -> tuple[float, float]:
        """The pair."""
        if is_number(value):
            equal = quantity(value, place, minimum=0.0)
            return equal, 0.0 - equal
        if not isinstance(value, tuple | list) or len(value) != 2:
            raise InputError(
                "expected a number, or a pair [for qd > 0, for qd < 0] such as [0.3, -0.3], got "
                f"{shorten(value)}.",
                place,
            )
        forwards, backwards = quantity(value[0], place, minimum=0.0), quantity(value[1], place)
        if backwards > 0.0:
            raise ModelError(
                "the second value is the torque for qd < 0 and must be at most 0, so that it opposes the "
                f"motion; got {backwards:g}; write ({forwards:g}, {-backwards:g}).",
                place,
            )
        return forwards, backwards

    def schema(self) -> dict[str, Any]:
        """A number or a pair."""
        pair = ListField(NumberField(), 2, "[for qd > 0, for qd < 0], the second <= 0, such as [0.3, -0.3]")
        both = NumberField("for both directions", minimum=0.0)
        return {"oneOf": [both.schema(), pair.schema()], "description": f"{self.doc}, {self.unit}"}


@record
class Friction:
    """Viscous, Coulomb and Stribeck friction. On the motor side: tau_f = |N| (B |N| qd + Tc+-).

    With `bristle_stiffness`, simulations use the LuGre model, whose steady state is this curve: a bristle
    deflected by z, z' = v - sigma0 |v| z / g(v), exerts sigma0 z + sigma1 z' + B v. Without `static`,
    `viscous` and `bristle_damping` it is Dahl's model.
    """

    side: Literal["joint", "motor"] = choice(
        "the side of the gear to which all values refer, the speed included", SIDES, default="joint"
    )
    viscous: float = parameter("B", "N m s / rad (N s / m)", default=0.0, minimum=0.0)
    coulomb: tuple[float, float] = declared(
        TwoSidedField("(for qd > 0, at least 0; for qd < 0, at most 0), or one number for both"),
        default=(0.0, 0.0),
    )
    static: tuple[float, float] | None = declared(
        TwoSidedField("break-away level, in the same form as coulomb; if absent, equal to it"), default=None
    )
    stribeck_speed: float | None = parameter(
        "speed over which static decays to coulomb; required with static",
        "rad / s (m / s)",
        default=None,
        above=0.0,
    )
    bristle_stiffness: float | None = parameter(
        "LuGre's sigma0; if absent, there are no bristles and the joint sticks rigidly at rest",
        "N m / rad (N / m)",
        default=None,
        above=0.0,
    )
    bristle_damping: float = parameter(
        "LuGre's sigma1; requires bristle_stiffness", "N m s / rad (N s / m)", default=0.0, minimum=0.0
    )

    if TYPE_CHECKING:  # accepts one number, stores a pair

        def __init__(
            self,
            *,
            side: Literal["joint", "motor"] = "joint",
            viscous: float = 0.0,
            coulomb: float | tuple[float, float] = (0.0, 0.0),
            static: float | tuple[float, float] | None = None,
            stribeck_speed: float | None = None,
            bristle_stiffness: float | None = None,
            bristle_damping: float = 0.0,
        ) -> None: ...

    def scaled(self, level: float, turns: float = 1.0) -> Friction:
        """Friction of `level` times these torques, where this one turns `turns` times as fast: a motor's at
        its joint is |N| (B |N| qd + Tc). Bristles slip at the same deflection.

        Args:
            level: factor of torques.
            turns: how much faster this one turns.
        """
        dry = {"coulomb": self.coulomb, "static": self.static}
        stiffness, speed = self.bristle_stiffness, self.stribeck_speed
        return replace(
            self,
            viscous=level * self.viscous * turns,
            **{name: pair and (level * pair[0], level * pair[1]) for name, pair in dry.items()},  # type: ignore[arg-type]
            stribeck_speed=None if speed is None else speed / turns,
            bristle_stiffness=None if stiffness is None or not level else level * stiffness * turns,
            bristle_damping=level * self.bristle_damping * turns,
        )

    def __post_init__(self) -> None:
        if (self.static is None) != (self.stribeck_speed is None):
            raise ModelError("static and stribeck_speed go together; give both or neither.", "friction")
        if self.static is not None and (self.static[0] < self.coulomb[0] or self.static[1] > self.coulomb[1]):
            raise ModelError(
                f"must not be smaller than coulomb {self.coulomb}, got {self.static}.", "friction", "static"
            )
        if self.bristle_stiffness is None and self.bristle_damping:
            raise ModelError(
                "requires bristle_stiffness; give both, or viscous alone.", "friction", "bristle_damping"
            )
        if self.bristle_stiffness is not None and 0.0 in self.coulomb:
            raise ModelError(
                "bristles slip at the level of coulomb, which must not be 0 in either direction; got "
                f"{self.coulomb}.",
                "friction",
                "bristle_stiffness",
            )


@record
class Bearing:
    """A bearing whose friction depends on the reaction in it. Dhanaraj 3.3."""

    kind: Literal["journal", "linear", "thrust"] = choice(
        "journal or thrust in a revolute joint, linear in a prismatic one", BEARINGS
    )
    mu: float = parameter("coefficient of friction", minimum=0.0)
    radius: float | None = physical("of a journal or thrust bearing", "m", default=None, above=0.0)
    distance: float | None = physical(
        "between the two supports of a journal or linear bearing, or effective length of a single one",
        "m",
        default=None,
        above=0.0,
    )
    offset: float = physical(
        "of the midpoint of the supports from the joint's origin, along the joint's axis", "m", default=0.0
    )

    def __post_init__(self) -> None:
        for name, kinds in (("radius", ("journal", "thrust")), ("distance", ("journal", "linear"))):
            given = getattr(self, name) is not None
            if given != (self.kind in kinds):
                raise ModelError(
                    f"a {self.kind} bearing {'has none' if given else 'needs one'}, in m.", "bearing", name
                )


def _number(above: float = -math.inf, minimum: float = -math.inf, maximum: float = math.inf) -> NumberField:
    return NumberField(above=above, minimum=minimum, maximum=maximum, out_of_bounds=ModelError)


@record
class Transmission:
    """Gear losses: efficiency against load and a break-away torque, joint side. Dhanaraj 3.4."""

    efficiency: tuple[tuple[float, float], ...] = declared(
        PointsField(
            _number(minimum=0.0),
            _number(above=0.0, maximum=1.0),
            "[[load, efficiency], ...] with load = |output torque| / rated_torque, increasing",
        )
    )
    rated_torque: float = physical("torque (force) at load 1, joint side", "N m (N)", above=0.0)
    breakaway: float = physical(
        "torque (force) needed for motion at any load, joint side", "N m (N)", default=0.0, minimum=0.0
    )
    interpolation: Literal["linear", "spline"] = choice(
        "interpolation between the pairs of efficiency", INTERPOLATIONS, default="linear"
    )

    def __post_init__(self) -> None:
        if not self.efficiency:
            raise ModelError("expected at least one pair [load, efficiency].", "transmission", "efficiency")


@record
class Elasticity:
    """Compliance between motor and link: a spring with a damper, optionally with backlash.

    It carries f(e) + D e' with the deflection e = motor angle / N - joint angle, all on the joint side.
    """

    stiffness: float | None = parameter(
        "K in f(e) = K e; or give a curve", "N m / rad (N / m)", default=None, above=0.0
    )
    curve: tuple[tuple[float, float], ...] = declared(
        PointsField(
            _number(above=0.0),
            _number(above=0.0),
            "[[deflection, torque], ...] instead of stiffness, both positive and increasing, rad and N m (m "
            "and N); f is odd and continues with its last slope beyond the last point",
            rising=True,
        ),
        default=(),
    )
    interpolation: Literal["linear", "spline"] = choice(
        "between the points of the curve, linear as in catalogues", INTERPOLATIONS, default="linear"
    )
    damping: float = parameter("D", "N m s / rad (N s / m)", default=0.0, minimum=0.0)
    half_gap: float = declared(
        AngleField(
            "half of the backlash: free motion of the motor from the centre to either flank, rad (m)",
            minimum=0.0,
            is_parameter=True,
        ),
        default=0.0,
    )
    rotor_axis: tuple[float, float, float] | None = declared(
        DirectionField(
            "axis of the rotor in the joint's fixed frame, of any nonzero length: the rotor's spin acts on "
            "the link that carries the motor (full model); if absent, it does not (Spong's reduced model)"
        ),
        default=None,
    )

    def __post_init__(self) -> None:
        if (self.stiffness is None) != bool(self.curve):
            raise ModelError(
                "expected either stiffness or a curve, got "
                f"{'both' if self.curve else 'neither'}; leave the elasticity out if the joint is rigid.",
                "elasticity",
            )
