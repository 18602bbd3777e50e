"""An arm as adaptive steps see it, over any scalar: driven by inputs that go straight, its joints moving or
standing, and what must be noticed within a step; and what such steps take and leave, by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from forearm.drives.coordinates import Coordinates
from forearm.dynamics.fixed_step import Plant, StepState, Values, demands
from forearm.model import Scalar
from forearm.symbols import when
from forearm.symbols.scalars import choose, minimum

# What a step changes; what it keeps to; what drives the arm; and what it leaves of the motion, in this order.
STATE = ("t", "h", "q", "qd", "qdd", "error_before", "is_retry")
BOUNDS = ("end", "shortest", "rtol", "atol", "is_watched")
DRIVE = ("friction_sign", "is_free", "contact", "u", "slope", "start", "low", "high", "slow")
RECORD = ("t", "width", "is_crossed", "q", "qd", "dense")
ONE = (
    *("t", "h", "error_before", "is_retry"),
    *("end", "shortest", "rtol", "is_watched", "start"),
    *("width", "is_crossed"),
)


def sizes_of(coordinates: Coordinates, powers: int) -> dict[str, int]:
    """How many numbers each of these has."""
    m, n = coordinates.count, coordinates.n
    many = dict.fromkeys(ONE, 1) | {"atol": 2 * m, "dense": 2 * m * powers}
    many |= dict.fromkeys(("u", "slope", "low", "high"), n) | {"contact": len(coordinates.gaps)}
    return {name: many.get(name, m) for name in (*STATE, *BOUNDS, *DRIVE, *RECORD)}


class AccuratePlant(Plant, Protocol):
    """What is simulated, with accelerations to all digits."""

    def accurate(
        self, q: Values, qd: Values, u: Values, friction_sign: Values, is_free: Values, contact: Values
    ) -> Values:
        """Accelerations."""
        ...


@dataclass(frozen=True)
class DrivenArm:
    """An arm whose joints move or stand as they do, under inputs u + (t - start) slope. Watched are limits
    `low` and `high` of its joints; of coordinates with dry friction the velocities of those that move, above
    0 and above `slow`, and what the others lack to move; and the flanks of gaps.
    """

    plant: AccuratePlant
    friction_sign: Values
    is_free: Values
    contact: Values
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
        made = [x - low for x, low in zip(q, self.low, strict=False)]
        made += [high - x for x, high in zip(q, self.high, strict=False)]
        made += self.plant.flanks(q, qd, self.contact)
        dry = [j for j, is_dry in enumerate(self.plant.dry) if is_dry]
        for j in dry:
            sign, slow = self.friction_sign[j], self.slow[j]
            is_moving = self.is_free[j] * abs(sign)
            made += [choose(0.0, is_moving, sign * qd[j] - least, 1.0) for least in (0.0, slow)]
        standing: Scalar = 0.0
        for j in dry:
            standing = standing + (1.0 - self.is_free[j])

        def looked(some: Values) -> Values:
            q, qd, u = some[: len(some) // 2], some[len(some) // 2 :], self._inputs(t)
            qdd, tau = self._accelerations(q, qd, u), self.plant.given(q, qd, u, self.contact)
            state = StepState(q, qd, self.friction_sign, self.is_free, [], self.contact)
            least = lacking(self.plant, state, qdd, tau)[0]
            return [choose(0.0, self.is_free[j], 1.0, least[j]) for j in dry]

        if dry:
            made += when(standing, looked, [*q, *qd], [1.0] * len(dry), title="joints that stand")
        return made

    def _inputs(self, t: Scalar) -> Values:
        return [u + (t - self.start) * slope for u, slope in zip(self.u, self.slope, strict=True)]

    def _accelerations(self, q: Values, qd: Values, u: Values) -> Values:
        return self.plant.accurate(q, qd, u, self.friction_sign, self.is_free, self.contact)


def lacking(plant: Plant, state: StepState, qdd: Values, tau: Values) -> tuple[Values, Values]:
    """The torque missing for joints at rest to break loose in either direction, below 0 where tau moves them;
    and the width of the friction band between the two directions.
    """
    plus, minus = demands(plant, state, qdd)
    ways = list(zip(plus, minus, strict=True))
    least = [minimum(up - x, x - down) for x, (up, down) in zip(tau, ways, strict=True)]
    return least, [up - down for up, down in ways]
