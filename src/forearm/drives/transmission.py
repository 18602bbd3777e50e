"""Gear losses: from the output torque to the input torque, in four quadrants. Dhanaraj 3.4 and Table 3.2.

If load and direction agree, the motor drives: tau = y / eta + B; if they oppose, the load drives: tau = y eta
+ B, with B in the direction of motion. eta depends on |y| / rated torque, by linear or natural cubic spline
interpolation between the given points, and is constant beyond them.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np

from forearm.arm.drive import Transmission
from forearm.errors import ModelError, shorten
from forearm.symbols.scalars import Scalar, choose, look_up
from forearm.symbols.table import LookupTable, spline, straight
from forearm.values import frozen

LOOKED_AT = 200  # samples between two points, to detect impossible gears
ROUNDING = 1e-12


@lru_cache(maxsize=256)
def curve_of(transmission: Transmission) -> LookupTable:
    """Efficiency against load ratio; ModelError if the input torque would decrease with load, or a spline
    leaves 0 to 1.
    """
    x, y = zip(*transmission.efficiency, strict=True)
    curve = (straight if transmission.interpolation == "linear" else spline)(x, y)
    loads = np.concatenate(
        [np.linspace(a, b, LOOKED_AT, endpoint=False) for a, b in pairwise([0.0, *x]) if b > a] + [x[-1:]]
    )
    found = curve.at(loads)
    if not (found > 0.0).all() or (found > 1.0 + ROUNDING).any():
        raise ModelError(
            f"the spline through {shorten(transmission.efficiency)} leaves 0 to 1 between the "
            f"points, reaching {found.min():.3g} and {found.max():.3g}; give more points, or "
            "use linear interpolation.",
            "transmission",
            "efficiency",
        )
    if not all((np.diff(torques) > 0.0).all() for torques in (loads / found, loads * found)):
        raise ModelError(
            f"between the points {shorten(transmission.efficiency)} the input torque would "
            "decrease with load; give points with a smaller slope, or more points.",
            "transmission",
            "efficiency",
        )
    return curve


@frozen
class TransmissionLaw:
    """`Transmission` over any scalar: its losses are scaled by `loss`, which may be symbolic."""

    transmission: Transmission
    loss: Scalar

    @property
    def breakaway(self) -> float:
        """The efficiency curve of the transmission."""
        return self.transmission.breakaway


def through(transmission: Transmission | TransmissionLaw, load: Scalar, direction: Scalar) -> Scalar:
    """The input torque (times the gear ratio) needed for an output torque; at rest, equal to it."""
    eta = efficiency(transmission, load)
    agrees = load * direction  # positive if the motor drives, negative if the load does
    # no load in motion has the slope of the motor's quadrant; at rest `agrees` is 0, or NaN, which stays
    passed = choose(agrees, 0.0, load * eta, choose(0.0, abs(direction), load * (1.0 / eta), load + agrees))
    return passed + direction * transmission.breakaway


def efficiency(transmission: Transmission | TransmissionLaw, load: Scalar) -> Scalar:
    """eta at an output torque; constant for a single point."""
    if isinstance(transmission, TransmissionLaw):
        return 1.0 - transmission.loss * (1.0 - efficiency(transmission.transmission, load))
    if len(transmission.efficiency) == 1:
        return transmission.efficiency[0][1]
    return look_up(curve_of(transmission), abs(load) * (1.0 / transmission.rated_torque))
