"""Drives as data: motor, friction, bearings, transmission and elasticity of a joint.

`Friction.side` marks friction given on the motor side; all other values are as in data sheets or drawings.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from forearm.arm.record import quantity, record, set_field
from forearm.errors import InputError, ModelError, shorten
from forearm.values import check_choice, is_number

SIDES = ("joint", "motor")
BEARINGS = ("journal", "linear", "thrust")
INTERPOLATIONS = ("linear", "spline")


@record
class Motor:
    """A motor with a gear. Swartz (11)-(12), with gear ratio N: motor angle = N x joint angle.

    Unknown constants are None.

    Args:
        gear_ratio: N, negative if the gear reverses.
        rotor_inertia: J on the motor side, kg m^2; reflected to the joint as N^2 J.
        torque_constant: Kt, N m / A, and V s / rad.
        resistance: of the winding, ohm.
        inductance: of the winding, H.
        max_voltage: largest voltage magnitude, V.
        max_current: largest current magnitude, A.
        amplifier_gain: motor voltage / converter output; None: 1.
    """

    gear_ratio: float = 1.0
    rotor_inertia: float = 0.0
    torque_constant: float | None = None
    resistance: float | None = None
    inductance: float | None = None
    max_voltage: float | None = None
    max_current: float | None = None
    amplifier_gain: float | None = None

    def __post_init__(self) -> None:
        ratio = quantity(self.gear_ratio, "motor, gear_ratio")
        if ratio == 0.0:
            raise ModelError(
                "motor, gear_ratio: must not be 0; write 1 for a direct drive, a negative ratio for a "
                "reversing gear."
            )
        set_field(self, "gear_ratio", ratio)
        set_field(self, "rotor_inertia", quantity(self.rotor_inertia, "motor, rotor_inertia", minimum=0.0))
        for name in ("torque_constant", "resistance", "max_voltage", "max_current"):
            _optional(self, name, "motor", above=0.0)
        _optional(self, "inductance", "motor", minimum=0.0)
        _optional(self, "amplifier_gain", "motor")
        if self.amplifier_gain == 0.0:
            raise ModelError("motor, amplifier_gain: must not be 0; leave it out if there is no amplifier.")

    @property
    def reflected_inertia(self) -> float:
        """N^2 J, the rotor inertia reflected to the joint, in kg m^2 (kg for a prismatic joint)."""
        return self.gear_ratio * self.gear_ratio * self.rotor_inertia


@record
class Friction:
    """Viscous, Coulomb and Stribeck friction. On the motor side: tau_f = |N| (B |N| qd + Tc+-).

    With `bristle_stiffness`, simulations use the LuGre model, whose steady state is this curve: a bristle
    deflected by z, z' = v - sigma0 |v| z / g(v), exerts sigma0 z + sigma1 z' + B v. Without `static`,
    `viscous` and `bristle_damping` it is Dahl's model.

    Args:
        side: "joint" or "motor": the side to which all values refer, the speed included.
        viscous: B, N m s / rad (N s / m).
        coulomb: (for qd > 0, at least 0; for qd < 0, at most 0), N m (N); one number if both are equal: 2.0
            for (2.0, -2.0).
        static: break-away level, in the same form as `coulomb`, N m (N); None: equal to `coulomb`.
        stribeck_speed: speed over which `static` decays to `coulomb`, rad/s (m/s); required with `static`.
        bristle_stiffness: sigma0, N m / rad (N / m); None: no bristles, the joint sticks rigidly at rest.
        bristle_damping: sigma1, N m s / rad (N s / m); requires `bristle_stiffness`.
    """

    side: Literal["joint", "motor"] = "joint"
    viscous: float = 0.0
    coulomb: tuple[float, float] = (0.0, 0.0)
    static: tuple[float, float] | None = None
    stribeck_speed: float | None = None
    bristle_stiffness: float | None = None
    bristle_damping: float = 0.0

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

    def __post_init__(self) -> None:
        check_choice(self.side, SIDES, "friction, side")
        set_field(self, "viscous", quantity(self.viscous, "friction, viscous", minimum=0.0))
        set_field(self, "coulomb", _two_sided(self.coulomb, "friction, coulomb"))
        if (self.static is None) != (self.stribeck_speed is None):
            raise ModelError("friction: static and stribeck_speed go together; give both or neither.")
        if self.static is not None:
            static = _two_sided(self.static, "friction, static")
            if static[0] < self.coulomb[0] or static[1] > self.coulomb[1]:
                raise ModelError(
                    f"friction, static: must not be smaller than coulomb {self.coulomb}, got {static}."
                )
            set_field(self, "static", static)
        _optional(self, "stribeck_speed", "friction", above=0.0)
        _optional(self, "bristle_stiffness", "friction", above=0.0)
        set_field(
            self, "bristle_damping", quantity(self.bristle_damping, "friction, bristle_damping", minimum=0.0)
        )
        if self.bristle_stiffness is None and self.bristle_damping:
            raise ModelError(
                "friction, bristle_damping: requires bristle_stiffness; give both, or viscous alone."
            )
        if self.bristle_stiffness is not None and 0.0 in self.coulomb:
            raise ModelError(
                "friction, bristle_stiffness: bristles slip at the level of coulomb, which must not be 0 in "
                f"either direction; got {self.coulomb}."
            )


@record
class Bearing:
    """A bearing whose friction depends on the reaction in it. Dhanaraj 3.3.

    Args:
        kind: "journal" or "thrust" in a revolute joint, "linear" in a prismatic one.
        mu: coefficient of friction.
        radius: of a journal or thrust bearing, m.
        distance: between the two supports of a journal or linear bearing, or effective length of a single
            one, m.
        offset: of the midpoint of the supports from the joint's origin, along the joint's axis, m.
    """

    kind: Literal["journal", "linear", "thrust"]
    mu: float
    radius: float | None = None
    distance: float | None = None
    offset: float = 0.0

    def __post_init__(self) -> None:
        check_choice(self.kind, BEARINGS, "bearing, kind")
        set_field(self, "mu", quantity(self.mu, "bearing, mu", minimum=0.0))
        set_field(self, "offset", quantity(self.offset, "bearing, offset"))
        for name, kinds in (("radius", ("journal", "thrust")), ("distance", ("journal", "linear"))):
            given = getattr(self, name) is not None
            if given != (self.kind in kinds):
                raise ModelError(
                    f"bearing, {name}: a {self.kind} bearing {'has none' if given else 'needs one'}, in m."
                )
            _optional(self, name, "bearing", above=0.0)


@record
class Transmission:
    """Gear losses: efficiency against load and a break-away torque, joint side. Dhanaraj 3.4.

    Args:
        efficiency: ((load, efficiency), ...) with load = |output torque| / rated_torque, increasing from 0 or
            above.
        rated_torque: torque at load 1, N m (N).
        breakaway: torque (force) needed for motion at any load, N m (N).
        interpolation: "linear" or "spline", between the pairs of `efficiency`.
    """

    efficiency: tuple[tuple[float, float], ...]
    rated_torque: float
    breakaway: float = 0.0
    interpolation: Literal["linear", "spline"] = "linear"

    def __post_init__(self) -> None:
        check_choice(self.interpolation, INTERPOLATIONS, "transmission, interpolation")
        set_field(self, "rated_torque", quantity(self.rated_torque, "transmission, rated_torque", above=0.0))
        set_field(self, "breakaway", quantity(self.breakaway, "transmission, breakaway", minimum=0.0))
        where = "transmission, efficiency"
        try:
            rows = tuple((load, eta) for load, eta in self.efficiency)
        except (TypeError, ValueError) as error:
            raise InputError(f"{where}: expected a list of [load, efficiency] pairs.") from error
        rows = tuple(
            (quantity(x, where, minimum=0.0), quantity(e, where, above=0.0, maximum=1.0)) for x, e in rows
        )
        if not rows or any(b[0] <= a[0] for a, b in pairwise(rows)):
            raise ModelError(
                f"{where}: expected at least one pair, with increasing loads, got {shorten(rows)}."
            )
        set_field(self, "efficiency", rows)


@record
class Elasticity:
    """Compliance between motor and link: a spring with a damper, optionally with backlash.

    It carries f(e) + D e' with the deflection e = motor angle / N - joint angle, all on the joint side.

    Args:
        stiffness: K in f(e) = K e, N m / rad (N / m); None: given by `curve`.
        curve: ((deflection, torque), ...), both positive and increasing; f is odd and continues with its last
            slope beyond the last point.
        interpolation: "linear", as in catalogues, or "spline", between the points of `curve`.
        damping: D, N m s / rad (N s / m).
        half_gap: half of the backlash: free motion of the motor from the centre to either flank, rad (m).
        rotor_axis: axis (3,) of the rotor in the joint's fixed frame, of any nonzero length: the rotor's spin
            acts on the link that carries the motor (full model); None: it does not (Spong's reduced model).
    """

    stiffness: float | None = None
    curve: tuple[tuple[float, float], ...] = ()
    interpolation: Literal["linear", "spline"] = "linear"
    damping: float = 0.0
    half_gap: float = 0.0
    rotor_axis: tuple[float, float, float] | None = None

    def __post_init__(self) -> None:
        check_choice(self.interpolation, INTERPOLATIONS, "elasticity, interpolation")
        _optional(self, "stiffness", "elasticity", above=0.0)
        set_field(self, "damping", quantity(self.damping, "elasticity, damping", minimum=0.0))
        set_field(self, "half_gap", quantity(self.half_gap, "elasticity, half_gap", minimum=0.0))
        where = "elasticity, curve"
        try:
            rows = tuple((deflection, torque) for deflection, torque in self.curve)
        except (TypeError, ValueError) as error:
            raise InputError(f"{where}: expected a list of [deflection, torque] pairs.") from error
        rows = tuple((quantity(x, where, above=0.0), quantity(y, where, above=0.0)) for x, y in rows)
        for k, (a, b) in enumerate(pairwise(rows)):
            if b[0] <= a[0] or b[1] <= a[1]:
                raise ModelError(
                    f"{where}: deflections and torques must both increase; point {k + 2}, {b}, does not "
                    f"increase from {a}."
                )
        set_field(self, "curve", rows)
        if (self.stiffness is None) != bool(rows):
            raise ModelError(
                "elasticity: expected either stiffness or a curve, got "
                f"{'both' if rows else 'neither'}; leave the elasticity out if the joint is rigid."
            )
        if self.rotor_axis is not None:
            set_field(self, "rotor_axis", _direction(self.rotor_axis, "elasticity, rotor_axis"))


def _direction(value: object, where: str) -> tuple[float, float, float]:
    """Three numbers as a unit vector."""
    if not isinstance(value, tuple | list | np.ndarray) or len(value) != 3:
        raise InputError(f"{where}: expected three numbers, got {shorten(value)}.")
    x, y, z = (quantity(v, where) for v in value)
    largest = max(abs(x), abs(y), abs(z))
    if largest == 0.0:
        raise ModelError(
            f"{where}: must not be 0 0 0; give the direction of the rotor's axis, such as 0 0 1."
        )
    if abs(math.sqrt(x * x + y * y + z * z) - 1.0) <= 1e-15:
        return x, y, z
    x, y, z = x / largest, y / largest, z / largest  # the squares of small numbers underflow to 0
    length = math.sqrt(x * x + y * y + z * z)
    return x / length, y / length, z / length


def _optional(
    instance: object, name: str, what: str, minimum: float = -math.inf, above: float = -math.inf
) -> None:
    value = getattr(instance, name)
    if value is not None:
        set_field(instance, name, quantity(value, f"{what}, {name}", minimum=minimum, above=above))


def _two_sided(value: object, where: str) -> tuple[float, float]:
    if is_number(value):
        equal = quantity(value, where, minimum=0.0)
        return equal, 0.0 - equal
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise InputError(
            f"{where}: expected a number, or a pair [for qd > 0, for qd < 0], got {shorten(value)}."
        )
    forwards, backwards = quantity(value[0], where, minimum=0.0), quantity(value[1], where)
    if backwards > 0.0:
        raise ModelError(
            f"{where}: the second value is the torque for qd < 0 and must be at most 0, so that it opposes "
            f"the motion; got {backwards:g}; write ({forwards:g}, {-backwards:g})."
        )
    return forwards, backwards
