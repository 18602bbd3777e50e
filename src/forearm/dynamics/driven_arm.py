"""An arm for adaptive integration, over any scalar: linear inputs, joints that move or stick, event
functions; and the named inputs and outputs of such steps.
"""

from __future__ import annotations

from typing import Protocol

from forearm.drives.coordinates import Coordinates
from forearm.dynamics.fixed_step import Plant, StepState, Values, demands, dry_ones
from forearm.model import Scalar
from forearm.portable import total
from forearm.symbols import when
from forearm.symbols.scalars import choose, minimum
from forearm.values import frozen

# What a step updates, its limits, the drive of the arm, and its outputs, in this order.
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
    """The length of each of these."""
    m, n = coordinates.count, coordinates.n
    many = dict.fromkeys(ONE, 1) | {"atol": 2 * m, "dense": 2 * m * powers}
    many |= dict.fromkeys(("u", "slope", "low", "high"), n) | {"contact": len(coordinates.gaps)}
    return {name: many.get(name, m) for name in (*STATE, *BOUNDS, *DRIVE, *RECORD)}


class AccuratePlant(Plant, Protocol):
    """The simulated system, with accelerations to full precision."""

    def accurate(
        self, q: Values, qd: Values, u: Values, friction_sign: Values, is_free: Values, contact: Values
    ) -> Values:
        """Accelerations."""
        ...


@frozen
class DrivenArm:
    """An arm whose joints keep moving or sticking, under inputs u + (t - start) slope. The event functions
    are the limits `low` and `high` of its joints; for coordinates with dry friction the velocities of moving
    ones, above 0 and above `slow`, and the torque that sticking ones lack to break loose; and the flanks of
    gaps.
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
        """The system at a time and a state."""
        return self._accelerations(q, qd, self._inputs(t))

    def watched(self, t: Scalar, q: Values, qd: Values) -> Values:
        """Limits, friction directions and stiction margins."""
        made = [x - low for x, low in zip(q, self.low, strict=False)]
        made += [high - x for x, high in zip(q, self.high, strict=False)]
        made += self.plant.flanks(q, qd, self.contact)
        dry = dry_ones(self.plant)
        for j in dry:
            sign, slow = self.friction_sign[j], self.slow[j]
            is_moving = self.is_free[j] * abs(sign)
            made += [choose(0.0, is_moving, sign * qd[j] - least, 1.0) for least in (0.0, slow)]
        standing = total((1.0 - self.is_free[j] for j in dry), 0.0)

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
    """The torque by which sticking joints fall short of breaking loose in either direction, below 0 if tau
    moves them; and the width of the friction band between the two directions.
    """
    plus, minus = demands(plant, state, qdd)
    ways = list(zip(plus, minus, strict=True))
    least = [minimum(up - x, x - down) for x, (up, down) in zip(tau, ways, strict=True)]
    return least, [up - down for up, down in ways]
