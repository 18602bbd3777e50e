"""One step of an explicit method, over any scalar, with joints that stick and break loose.

A joint with dry friction moves in a direction until its velocity passes 0, where it stands; it begins to move
again when the motor gives more than motion in one direction, or the other, would need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from forearm.dynamics.explicit_methods import ExplicitMethod
from forearm.model import Scalar
from forearm.symbols import iterate
from forearm.symbols.scalars import choose, sign

Values = list[Scalar]


@dataclass(frozen=True)
class StepState:
    """One simulation between two steps, a list of n each: `friction_sign` is the direction in which friction
    acts, `is_free` 0 where a joint stands and 1 elsewhere.

    `load_guess` are the loads of drives whose friction depends on them, and behind these how they changed in
    the last step: where the next begins to look for them.
    """

    q: Values
    qd: Values
    friction_sign: Values
    is_free: Values
    load_guess: Values


class Plant(Protocol):
    """What is simulated: functions of one state, over the scalars of the step."""

    dry: Sequence[bool]  # for each freedom whether friction can hold it

    def torques(self, u: Values, qd: Values) -> Values:
        """What motors make of the inputs."""
        ...

    def accelerations(self, q: Values, qd: Values, u: Values, state: StepState, loads: Values) -> Values:
        """Accelerations, and behind them the loads that they make, which are looked for from `loads` on."""
        ...

    def required(self, q: Values, qd: Values, qdd: Values, friction_sign: Values) -> Values:
        """What drives must give for accelerations, with friction in these directions."""
        ...

    def settled(self, q: Values, qd: Values, is_free: Values) -> Values:
        """Velocities once impulses at the joints that stand have brought these to rest."""
        ...


def step(
    plant: Plant, method: ExplicitMethod, state: StepState, u: Values, change: Values, h: Scalar
) -> StepState:
    """The state after a step of h seconds under the inputs u, which change by so much until its end."""
    state = loosened(plant, method, state, u)
    moved = _stages(plant, method, state, u, change, h)
    return stopped(plant, state, moved, h)


def loosened(plant: Plant, method: ExplicitMethod, state: StepState, u: Values) -> StepState:
    """Joints that stand and are driven harder than either direction of motion would need begin to move."""
    dry, n = [j for j, is_dry in enumerate(plant.dry) if is_dry], len(state.q)
    if not dry:
        return state

    def released(some: Values) -> Values:
        now = _with(state, dry, some)
        x = plant.accelerations(state.q, state.qd, u, now, _expected(method, state, []))[:n]
        plus, minus = demands(plant, state.q, state.qd, x, now.friction_sign, now.is_free)
        given = plant.torques(u, state.qd)
        begun = {j: breaking_loose(given[j], plus[j], minus[j]) for j in dry}
        signs = [choose(0.0, now.is_free[j], now.friction_sign[j], begun[j]) for j in dry]
        return [*signs, *(choose(0.0, now.is_free[j], 1.0, abs(begun[j])) for j in dry)]

    def standing(some: Values) -> tuple[Scalar, Scalar]:
        total: Scalar = 0.0
        for free in some[len(dry) :]:
            total = total + (1.0 - free)
        return 0.0, total

    start = [*(state.friction_sign[j] for j in dry), *(state.is_free[j] for j in dry)]
    return _with(state, dry, iterate(released, start, standing, 1, title="joints that stand"))


def demands(
    plant: Plant, q: Values, qd: Values, qdd: Values, friction_sign: Values, is_free: Values
) -> tuple[Values, Values]:
    """What drives must give for accelerations, if joints that stand began to move forwards, and backwards."""

    def signs(way: float) -> Values:
        return [
            choose(0.0, free, s, way) if is_dry else s
            for s, free, is_dry in zip(friction_sign, is_free, plant.dry, strict=True)
        ]

    plus, minus = (plant.required(q, qd, qdd, signs(way)) for way in (1.0, -1.0))
    return plus, minus


def breaking_loose(tau: Scalar, forwards: Scalar, backwards: Scalar) -> Scalar:
    """The direction in which a joint that stands begins to move, 0 if it stays: motion in either direction
    would need what is given for it.
    """
    return choose(forwards, tau, 1.0, choose(tau, backwards, -1.0, 0.0))


def _stages(
    plant: Plant, method: ExplicitMethod, state: StepState, u: Values, change: Values, h: Scalar
) -> StepState:
    """The state after the stages of the method, friction acting as it did at the start."""
    n = len(state.q)
    rates: list[Values] = []
    accelerations: list[Values] = []
    felt: list[Values] = []
    for c, row in zip(method.c, method.a, strict=True):
        q, qd = _advanced(state.q, h, row, rates), _advanced(state.qd, h, row, accelerations)
        now = [at + c * d for at, d in zip(u, change, strict=True)]
        made = plant.accelerations(q, qd, now, state, _expected(method, state, felt))
        rates.append(qd)
        accelerations.append(made[:n])
        felt.append(made[n:])
    q, qd = _advanced(state.q, h, method.b, rates), _advanced(state.qd, h, method.b, accelerations)
    return replace(state, q=q, qd=qd, load_guess=_remembered(method, felt))


def stopped(plant: Plant, before: StepState, moved: StepState, h: Scalar) -> StepState:
    """Joints whose velocity turned against their direction stand; others lose the part of the step in which
    friction reversed these.
    """
    dry, n = [j for j, is_dry in enumerate(plant.dry) if is_dry], len(moved.q)
    if not dry:
        return moved
    q, qd = list(moved.q), list(moved.qd)
    stops: Scalar = 0.0
    signs, free = dict.fromkeys(dry, 0.0), dict.fromkeys(dry, 0.0)
    for j in dry:
        q0, v0 = before.q[j], before.qd[j]
        along, signs[j], free[j] = _turned(moved.friction_sign[j], moved.is_free[j], qd[j])
        # where a velocity that goes straight from v0 to v1, beyond 0, is 0
        there = q0 + (h * v0) * ((0.5 * v0) / choose(along, 0.0, v0 - qd[j], 1.0))
        q[j] = choose(along, 0.0, there, q[j])
        stops = stops + choose(along, 0.0, 1.0, 0.0)
    first = [*qd, *(signs[j] for j in dry), *(free[j] for j in dry)]

    def at_rest(some: Values) -> Values:
        now = _with(moved, dry, some[n:-1])
        trial = plant.settled(q, some[:n], now.is_free)
        signs, free = list(now.friction_sign), list(now.is_free)
        for j in dry:
            slow = choose(0.0, free[j], trial[j], 0.0)
            along, signs[j], free[j] = _turned(signs[j], free[j], slow)
            trial[j] = choose(along, 0.0, 0.0, slow)
        return [*trial, *(signs[j] for j in dry), *(free[j] for j in dry), some[-1]]

    made = iterate(at_rest, [*first, stops], lambda some: (0.0, some[-1]), 1, title="joints that stop")
    return replace(_with(moved, dry, made[n:-1]), q=q, qd=made[:n])


def _turned(friction_sign: Scalar, is_free: Scalar, qd: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """A joint's velocity along its direction; and its direction and freedom after that: where it is below 0
    the joint stands, and one that had no direction takes that of its velocity.
    """
    along = friction_sign * qd
    taken = choose(0.0, abs(friction_sign), friction_sign, sign(qd))
    return along, choose(along, 0.0, 0.0, taken), choose(along, 0.0, 0.0, is_free)


def _expected(method: ExplicitMethod, state: StepState, felt: Sequence[Values]) -> Values:
    """The loads from which the next stage begins: those at its time, or where a straight line through what is
    known leads.
    """
    c, s, m = method.c, len(felt), len(state.load_guess) // 2
    same = [r for r in range(s) if c[r] == c[s]]
    other = [r for r in range(s) if c[r] != c[0]]
    if not s:
        return state.load_guess[:m]
    if same:
        return felt[same[-1]]
    if other:
        share = (c[s] - c[0]) / (c[other[-1]] - c[0])
        return [a + share * (b - a) for a, b in zip(felt[0], felt[other[-1]], strict=True)]
    return [a + (c[s] - c[0]) * d for a, d in zip(felt[0], state.load_guess[m:], strict=True)]


def _remembered(method: ExplicitMethod, felt: Sequence[Values]) -> Values:
    """The loads at the end of a step, and how they changed in it."""
    last = max(range(len(method.c)), key=lambda s: (method.c[s], s))
    whole = method.c[last] - method.c[0]
    changes = [(b - a) * (1.0 / whole) if last else 0.0 for a, b in zip(felt[0], felt[last], strict=True)]
    return [*felt[last], *changes]


def _advanced(start: Values, h: Scalar, weights: Sequence[float], rates: Sequence[Values]) -> Values:
    """start + h times the weighted rates of the stages."""
    made = []
    for j, x in enumerate(start):
        total: Scalar = 0.0
        for weight, rate in zip(weights, rates, strict=False):
            total = total + weight * rate[j]
        made.append(x + h * total)
    return made


def _with(state: StepState, dry: Sequence[int], some: Sequence[Scalar]) -> StepState:
    """The state with these signs, and then these flags, of the joints with dry friction."""
    signs, free = list(state.friction_sign), list(state.is_free)
    for k, j in enumerate(dry):
        signs[j], free[j] = some[k], some[len(dry) + k]
    return replace(state, friction_sign=signs, is_free=free)
