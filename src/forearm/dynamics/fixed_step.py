"""One step of an explicit method, over any scalar, for an arm with stick-slip friction and backlash.

A coordinate with dry friction moves in one direction until its velocity crosses 0, where it sticks; it breaks
loose when driven by more than the friction of motion in either direction. A drive with backlash pushes at one
flank, at the other, or at none. These instants are located and the step continues from there, which preserves
the order of the method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Protocol

from forearm.drives.bristles import relaxed
from forearm.dynamics.explicit_methods import ExplicitMethod
from forearm.model import Scalar
from forearm.portable import total
from forearm.symbols import iterate, when
from forearm.symbols.scalars import Values as Values
from forearm.symbols.scalars import choose, sign
from forearm.values import frozen

FINE = 0.3  # a h: states that relax more slowly use the method's own stages


@frozen
class StepState:
    """A simulation between two steps, with m coordinates per list: `friction_sign` is the direction in which
    friction acts, `is_free` 0 for a coordinate that sticks and 1 otherwise.

    `load_guess` are the loads of drives with load-dependent friction, followed by their change in the last
    step: the initial guess of the next. `contact` is the flank of each gap, -1, 0 or 1.
    """

    q: Values
    qd: Values
    friction_sign: Values
    is_free: Values
    load_guess: Values
    contact: Values = field(default_factory=list)


class Plant(Protocol):
    """The simulated system: functions of one state, over the scalars of the step."""

    dry: Sequence[bool]  # for each coordinate whether friction can make it stick
    relaxing: Sequence[int]  # the coordinates whose velocity relaxes to a target
    single: bool  # whether arithmetic is in single precision

    def given(self, q: Values, qd: Values, u: Values, contact: Values) -> Values:
        """The torque on each coordinate: of motors, from the inputs, and of springs."""
        ...

    def accelerations(
        self, q: Values, qd: Values, u: Values, state: StepState, loads: Values, h: Scalar = 0.0
    ) -> Values:
        """Accelerations, followed by the resulting loads, iterated from the guess `loads`. For steps of h,
        friction that brakes faster than the step resolves is slowed down.
        """
        ...

    def required(
        self, q: Values, qd: Values, qdd: Values, friction_signs: tuple[Values, Values], contact: Values
    ) -> tuple[Values, Values]:
        """Required drive torques for accelerations, with friction in these directions and in those."""
        ...

    def settled(self, q: Values, qd: Values, is_free: Values) -> Values:
        """Velocities after impulses that bring the sticking joints to rest."""
        ...

    def flanks(self, q: Values, qd: Values, contact: Values) -> Values:
        """For each gap a function that stays above 0 while it remains at its flank, or between both."""
        ...

    def next_contact(self, q: Values, contact: Values) -> Values:
        """For each gap the next flank."""
        ...

    def relaxation(self, place: int, qd: Values, u: Values) -> tuple[Scalar, Scalar]:
        """The relaxation rate of a coordinate, 1/s, and its target."""
        ...

    def bounded(self, place: int, value: Scalar) -> Scalar:
        """A relaxing state within its limits."""
        ...


def begun(
    plant: Plant, method: ExplicitMethod, state: StepState, u: Values, h: Scalar = 0.0
) -> tuple[StepState, Values]:
    """Let joints that stick break loose if driven by more than the friction of either direction; return the
    accelerations too, for a step of h.
    """
    dry, n, guess = dry_ones(plant), len(state.q), _expected(method, state, [])
    x = plant.accelerations(state.q, state.qd, u, state, guess, h)
    if not dry:
        return state, x

    def released(some: Values) -> Values:
        now = with_flags(state, dry, some)
        plus, minus = demands(plant, now, x[:n])
        given = plant.given(state.q, state.qd, u, state.contact)
        begun = {j: breaking_loose(given[j], plus[j], minus[j]) for j in dry}
        signs = [choose(0.0, now.is_free[j], now.friction_sign[j], begun[j]) for j in dry]
        return [*signs, *(choose(0.0, now.is_free[j], 1.0, abs(begun[j])) for j in dry)]

    flags = flags_of(state, dry)
    made = iterate(
        released,
        flags,
        lambda some: (0.0, total((1.0 - free for free in some[len(dry) :]), 0.0)),
        1,
        title="joints that stand",
    )
    now = with_flags(state, dry, made)
    changes = total((a - b for a, b in zip(made[len(dry) :], flags[len(dry) :], strict=True)), 0.0)

    def again(some: Values) -> Values:
        return plant.accelerations(state.q, state.qd, u, with_flags(state, dry, some), guess, h)

    return now, when(changes, again, made, x, title="joints that begin to move")


def loosened(plant: Plant, method: ExplicitMethod, state: StepState, u: Values) -> StepState:
    """The state after joints that are driven hard enough have broken loose."""
    return begun(plant, method, state, u)[0] if dry_ones(plant) else state


def demands(plant: Plant, state: StepState, qdd: Values) -> tuple[Values, Values]:
    """Required drive torques for accelerations, if sticking joints began to move forwards, and backwards."""

    def signs(way: float) -> Values:
        return [
            choose(0.0, free, s, way) if is_dry else s
            for s, free, is_dry in zip(state.friction_sign, state.is_free, plant.dry, strict=True)
        ]

    return plant.required(state.q, state.qd, qdd, (signs(1.0), signs(-1.0)), state.contact)


def breaking_loose(tau: Scalar, forwards: Scalar, backwards: Scalar) -> Scalar:
    """The direction in which a sticking joint breaks loose, 0 if it stays: the given torque exceeds that
    needed for motion in one direction.
    """
    return choose(forwards, tau, 1.0, choose(tau, backwards, -1.0, 0.0))


def stages(
    plant: Plant,
    method: ExplicitMethod,
    state: StepState,
    u: Values,
    change: Values,
    h: Scalar,
    first: Values | None = None,
) -> tuple[StepState, Values]:
    """The state after the stages of the method, with friction and flanks as at the start, and the
    accelerations of the last stage, close to those at the end; `first` are those at the start, with their
    loads, if known.
    """
    n = len(state.q)
    rates: list[Values] = []
    accelerations: list[Values] = []
    felt: list[Values] = []
    begin = now = _relaxations(plant, state.qd, u)
    for c, row in zip(method.c, method.a, strict=True):
        inputs = [at + c * d for at, d in zip(u, change, strict=True)]
        q, qd = _advanced(state.q, h, row, rates), _advanced(state.qd, h, row, accelerations)
        if rates:
            now = _relaxations(plant, qd, inputs)
            q, qd = _relaxed(plant, state, q, qd, (begin, now), c * h)
        if first is not None and not rates:
            made = first
        else:
            made = plant.accelerations(q, qd, inputs, state, _expected(method, state, felt), h)
        rates.append(qd)
        accelerations.append(made[:n])
        felt.append(made[n:])
    q, qd = _advanced(state.q, h, method.b, rates), _advanced(state.qd, h, method.b, accelerations)
    q, qd = _relaxed(plant, state, q, qd, (begin, now), h)  # the last stage is at the end
    return replace(state, q=q, qd=qd, load_guess=_remembered(method, felt)), accelerations[-1]


def _relaxations(plant: Plant, qd: Values, u: Values) -> list[tuple[Scalar, Scalar]]:
    """The relaxation rates of states, and their targets."""
    return [plant.relaxation(place, qd, u) for place in plant.relaxing]


def _relaxed(
    plant: Plant,
    start: StepState,
    q: Values,
    qd: Values,
    both: tuple[list[tuple[Scalar, Scalar]], list[tuple[Scalar, Scalar]]],
    h: Scalar,
) -> tuple[Values, Values]:
    """Fast relaxing states follow their targets; their integrals are not stored."""
    q, made = list(q), list(qd)
    for place, before, after in zip(plant.relaxing, *both, strict=True):
        followed = relaxed(start.qd[place], (before[0], after[0]), (before[1], after[1]), h)
        share = (0.5 * h) * (before[0] + after[0])
        q[place] = start.q[place]
        made[place] = plant.bounded(place, choose(share, FINE, qd[place], followed))
    return q, made


def stopped(plant: Plant, before: StepState, moved: StepState, h: Scalar) -> StepState:
    """Stick joints whose velocity reversed; others lose the part of the step in which friction reversed it.
    Accurate to first order in h: `forearm.dynamics.located_step` locates the instant.
    """
    dry, n = dry_ones(plant), len(moved.q)
    if not dry:
        return moved
    q, qd = list(moved.q), list(moved.qd)
    stops = 0.0
    signs, free = dict.fromkeys(dry, 0.0), dict.fromkeys(dry, 0.0)
    for j in dry:
        q0, v0 = before.q[j], before.qd[j]
        along, signs[j], free[j] = _turned(moved.friction_sign[j], moved.is_free[j], qd[j])
        # where a velocity that changes linearly from v0 to v1, beyond 0, crosses 0
        there = q0 + (h * v0) * ((0.5 * v0) / choose(along, 0.0, v0 - qd[j], 1.0))
        q[j] = choose(along, 0.0, there, q[j])
        stops = stops + choose(along, 0.0, 1.0, 0.0)
    first = [*qd, *(signs[j] for j in dry), *(free[j] for j in dry)]

    def at_rest(some: Values) -> Values:
        now = with_flags(moved, dry, some[n:-1])
        trial = plant.settled(q, some[:n], now.is_free)
        signs, free = list(now.friction_sign), list(now.is_free)
        for j in dry:
            slow = choose(0.0, free[j], trial[j], 0.0)
            along, signs[j], free[j] = _turned(signs[j], free[j], slow)
            trial[j] = choose(along, 0.0, 0.0, slow)
        return [*trial, *(signs[j] for j in dry), *(free[j] for j in dry), some[-1]]

    made = iterate(at_rest, [*first, stops], lambda some: (0.0, some[-1]), 1, title="joints that stop")
    return replace(with_flags(moved, dry, made[n:-1]), q=q, qd=made[:n])


def _turned(friction_sign: Scalar, is_free: Scalar, qd: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """A joint's velocity along its direction, and its new direction and free flag: below 0 the joint sticks,
    and one without a direction takes that of its velocity.
    """
    along = friction_sign * qd
    taken = choose(0.0, abs(friction_sign), friction_sign, sign(qd))
    return along, choose(along, 0.0, 0.0, taken), choose(along, 0.0, 0.0, is_free)


def _expected(method: ExplicitMethod, state: StepState, felt: Sequence[Values]) -> Values:
    """The initial loads of the next stage: those at its time, or linearly extrapolated."""
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
    """The loads at the end of a step, and their change in it."""
    last = max(range(len(method.c)), key=lambda s: (method.c[s], s))
    whole = method.c[last] - method.c[0]
    changes = [(b - a) * (1.0 / whole) if last else 0.0 for a, b in zip(felt[0], felt[last], strict=True)]
    return [*felt[last], *changes]


def _advanced(start: Values, h: Scalar, weights: Sequence[float], rates: Sequence[Values]) -> Values:
    """start + h times the weighted derivatives of the stages."""
    return [
        x + h * total((weight * rate[j] for weight, rate in zip(weights, rates, strict=False)), 0.0)
        for j, x in enumerate(start)
    ]


def dry_ones(plant: Plant) -> list[int]:
    """The coordinates that friction can make stick."""
    return [j for j, is_dry in enumerate(plant.dry) if is_dry]


def flags_of(state: StepState, dry: Sequence[int]) -> Values:
    """Signs, followed by flags, of the coordinates with dry friction."""
    return [*(state.friction_sign[j] for j in dry), *(state.is_free[j] for j in dry)]


def with_flags(state: StepState, dry: Sequence[int], some: Sequence[Scalar]) -> StepState:
    """The state with these signs, followed by these flags, of the coordinates with dry friction."""
    signs, free = list(state.friction_sign), list(state.is_free)
    for k, j in enumerate(dry):
        signs[j], free[j] = some[k], some[len(dry) + k]
    return replace(state, friction_sign=signs, is_free=free)
