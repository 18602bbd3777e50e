"""A gear's losses: from the torque behind it to the torque before it, in four quadrants.
Dhanaraj 3.4 and Table 3.2.

Where load and direction agree the motor drives, tau = y / eta + B; where they oppose the load drives, tau = y
eta + B, B with the sign of the direction. eta depends on |y| / rated torque, by straight lines or a natural
cubic spline between the given points, and is constant beyond them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from forearm.arm.drive import Transmission
from forearm.errors import ModelError, shorten
from forearm.symbols.scalars import Scalar, choose, look_up
from forearm.symbols.table import LookupTable, spline, straight

LOOKED_AT = 200  # loads between two points, for what no gear does
ROUNDING = 1e-12


@lru_cache(maxsize=256)
def curve_of(transmission: Transmission) -> LookupTable:
    """Efficiency against load ratio; ModelError where more load would need less torque, or a spline
    goes beyond 0 or 1.
    """
    x, y = zip(*transmission.efficiency, strict=True)
    curve = (straight if transmission.interpolation == "linear" else spline)(x, y)
    loads = np.concatenate(
        [np.linspace(a, b, LOOKED_AT, endpoint=False) for a, b in pairwise([0.0, *x]) if b > a] + [x[-1:]]
    )
    found = curve.at(loads)
    if not (found > 0.0).all() or (found > 1.0 + ROUNDING).any():
        raise ModelError(
            f"transmission, efficiency: the spline through {shorten(transmission.efficiency)} leaves 0 to 1 "
            f"between the points, reaching {found.min():.3g} and {found.max():.3g}; give more "
            "points, or straight lines."
        )
    if not all((np.diff(torques) > 0.0).all() for torques in (loads / found, loads * found)):
        raise ModelError(
            f"transmission, efficiency: between the points {shorten(transmission.efficiency)} more load "
            "would need less torque; give points that rise and fall less steeply, or more of them."
        )
    return curve


@dataclass(frozen=True, eq=False)
class TransmissionLaw:
    """`Transmission` over any scalar: what it loses times `loss`, which may be a symbol."""

    transmission: Transmission
    loss: Scalar

    @property
    def breakaway(self) -> float:
        """Of the transmission."""
        return self.transmission.breakaway


def through(transmission: Transmission | TransmissionLaw, load: Scalar, direction: Scalar) -> Scalar:
    """The torque before the gear (times its ratio) that the torque behind it needs;
    at rest, where none moves, the same.
    """
    eta = efficiency(transmission, load)
    agrees = load * direction  # positive where the motor drives, negative where the load does
    # no load in motion has the slope of the motor's quadrant; at rest `agrees` is 0, or NaN, which stays
    passed = choose(agrees, 0.0, load * eta, choose(0.0, abs(direction), load * (1.0 / eta), load + agrees))
    return passed + direction * transmission.breakaway


def efficiency(transmission: Transmission | TransmissionLaw, load: Scalar) -> Scalar:
    """eta at a torque behind the gear; constant if there is one point."""
    if isinstance(transmission, TransmissionLaw):
        return 1.0 - transmission.loss * (1.0 - efficiency(transmission.transmission, load))
    if len(transmission.efficiency) == 1:
        return transmission.efficiency[0][1]
    return look_up(curve_of(transmission), abs(load) * (1.0 / transmission.rated_torque))
