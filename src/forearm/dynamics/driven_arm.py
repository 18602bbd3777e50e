"""An arm as adaptive steps see it, over any scalar: driven by inputs that go straight, its joints moving or
standing, and what must be noticed within a step; and what such steps take and leave, by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from forearm.dynamics.fixed_step import Plant, Values, demands
from forearm.model import Scalar
from forearm.symbols import iterate
from forearm.symbols.scalars import choose, minimum

# What a step changes; what it keeps to; what drives the arm; and what it leaves of the motion, in this order.
STATE = ("t", "h", "q", "qd", "qdd", "error_before", "is_retry")
BOUNDS = ("end", "shortest", "rtol", "atol", "is_watched")
DRIVE = ("friction_sign", "is_free", "u", "slope", "start", "low", "high", "slow")
RECORD = ("t", "width", "is_crossed", "q", "qd", "dense")
ONE = (
    *("t", "h", "error_before", "is_retry"),
    *("end", "shortest", "rtol", "is_watched", "start"),
    *("width", "is_crossed"),
)


def sizes_of(n: int, powers: int) -> dict[str, int]:
    """How many numbers each of these has."""
    many = dict.fromkeys(ONE, 1) | {"atol": 2 * n, "dense": 2 * n * powers}
    return {name: many.get(name, n) for name in (*STATE, *BOUNDS, *DRIVE, *RECORD)}


class AccuratePlant(Plant, Protocol):
    """What is simulated, with accelerations to all digits."""

    def accurate(self, q: Values, qd: Values, u: Values, friction_sign: Values, is_free: Values) -> Values:
        """Accelerations."""
        ...


@dataclass(frozen=True)
class DrivenArm:
    """An arm whose joints move or stand as they do, under inputs u + (t - start) slope. Watched are limits
    `low` and `high` of its joints; and of those with dry friction the velocities of those that move, above 0
    and above `slow`, and what the others lack to move.
    """

    plant: AccuratePlant
    friction_sign: Values
    is_free: Values
    u: Values
    slope: Values
    start: Scalar
    low: Values
    high: Values
    slow: Values

    def accelerations(self, t: Scalar, q: Values, qd: Values) -> Values:
        """Of a state at a time."""
        return self._accelerations(q, qd, self._inputs(t))

    def watched(self, t: Scalar, q: Values, qd: Values) -> Values:
        """Limits, directions and what holds joints."""
        made = [x - low for x, low in zip(q, self.low, strict=True)]
        made += [high - x for x, high in zip(q, self.high, strict=True)]
        dry = [j for j, is_dry in enumerate(self.plant.dry) if is_dry]
        for j in dry:
            sign, slow = self.friction_sign[j], self.slow[j]
            is_moving = self.is_free[j] * abs(sign)
            made += [choose(0.0, is_moving, sign * qd[j] - least, 1.0) for least in (0.0, slow)]
        standing: Scalar = 0.0
        for j in dry:
            standing = standing + (1.0 - self.is_free[j])

        def looked(_: Values) -> Values:
            u = self._inputs(t)
            qdd, tau = self._accelerations(q, qd, u), self.plant.torques(u, qd)
            least = lacking(self.plant, q, qd, qdd, tau, self.friction_sign, self.is_free)[0]
            return [0.0, *(choose(0.0, self.is_free[j], 1.0, least[j]) for j in dry)]

        if dry:
            first = [standing, *([1.0] * len(dry))]
            made += iterate(looked, first, lambda some: (0.0, some[0]), 1, title="joints that stand")[1:]
        return made

    def _inputs(self, t: Scalar) -> Values:
        return [u + (t - self.start) * slope for u, slope in zip(self.u, self.slope, strict=True)]

    def _accelerations(self, q: Values, qd: Values, u: Values) -> Values:
        return self.plant.accurate(q, qd, u, self.friction_sign, self.is_free)


def lacking(
    plant: Plant, q: Values, qd: Values, qdd: Values, tau: Values, friction_sign: Values, is_free: Values
) -> tuple[Values, Values]:
    """The torque missing for joints at rest to break loose in either direction, below 0 where tau moves them;
    and the width of the friction band between the two directions.
    """
    plus, minus = demands(plant, q, qd, qdd, friction_sign, is_free)
    ways = list(zip(plus, minus, strict=True))
    least = [minimum(up - x, x - down) for x, (up, down) in zip(tau, ways, strict=True)]
    return least, [up - down for up, down in ways]
