"""One step of an embedded pair for q'' = f(t, q, qd), over any scalar: stages, error, acceptance, and the
next step size.

A step within which an event may change f, or values overflow, is not taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

from forearm.dynamics.step_control import FIRST_ERROR, GROW, MEMORY, next_factor, step_size
from forearm.model import Scalar
from forearm.portable import total
from forearm.symbols import iterate
from forearm.symbols.scalars import Values, choose, maximum
from forearm.values import frozen

LARGEST = 1e300  # values beyond it are about to overflow

# Coefficients of theta^3 to theta^8 in the Hermite polynomial through q, qd and qdd at the start, middle
# and end: weights of the value, slope and curvature in the middle, and then at the end, less the
# terms of lower power.
HERMITE = (
    (256.0, -32.0, 8.0, -58.0, 10.0, -0.5),
    (-1536.0, 160.0, -56.0, 453.0, -79.0, 4.0),
    (3840.0, -288.0, 152.0, -1374.0, 243.0, -12.5),
    (-4864.0, 224.0, -200.0, 2012.0, -362.0, 19.0),
    (3072.0, -64.0, 128.0, -1416.0, 260.0, -14.0),
    (-768.0, 0.0, -32.0, 384.0, -72.0, 4.0),
)


@dataclass(frozen=True)
class EmbeddedPair:
    """An explicit Runge-Kutta method with error weights; for each power of theta in its dense output the
    weights of the stages, empty if the Hermite polynomial is used; `exponent` is 1 / (order of the error
    estimate + 1), `sections` are the fractions of a step at which events are checked.
    """

    c: tuple[float, ...]
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    error: tuple[float, ...]
    dense: tuple[tuple[float, ...], ...]
    exponent: float
    sections: tuple[float, ...]

    @property
    def powers(self) -> int:
        """The number of powers of theta in the dense output."""
        return len(self.dense) or 2 + len(HERMITE)

    @property
    def first_same_as_last(self) -> bool:
        """Whether the last stage is at the end of the step (FSAL)."""
        return self.a[-1] == self.b[:-1] and self.b[-1] == 0.0


class SecondOrderSystem(Protocol):
    """The system to integrate: functions of time and state, over the scalars of the step."""

    def accelerations(self, t: Scalar, q: Values, qd: Values) -> Values:
        """q''."""
        ...

    def watched(self, t: Scalar, q: Values, qd: Values) -> Values:
        """Event functions, which must stay above 0 within a step."""
        ...


@dataclass(frozen=True)
class AdaptiveState:
    """An integration between two steps: `h` is the next step size to try, `qdd` the current accelerations,
    `error_before` the error of the last step, `is_retry` 1 if this step was rejected before.
    """

    t: Scalar
    h: Scalar
    q: Values
    qd: Values
    qdd: Values
    error_before: Scalar
    is_retry: Scalar


@frozen
class StepBounds:
    """The limits on a step: it ends at `end` at the latest, is no shorter than `shortest`, and its error in
    each of q and then qd is within atol + rtol |x|. Events are checked if `is_watched` is above 0.
    """

    end: Scalar
    shortest: Scalar
    rtol: Scalar
    atol: Values
    is_watched: Scalar


@frozen
class Attempt:
    """The outcome of a step of length `width`: the state after it, or before it if it was not taken; its
    dense output, for each power of theta q and then qd; whether it was refused only because of an event
    within it; and whether no further step is possible.
    """

    state: AdaptiveState
    width: Scalar
    dense: Values
    is_taken: Scalar
    is_crossed: Scalar
    is_over: Scalar


def attempt(
    pair: EmbeddedPair, system: SecondOrderSystem, state: AdaptiveState, bounds: StepBounds
) -> Attempt:
    """Try one step. It is accepted; or rejected for its error, and retried shorter in the next call; or
    integration ends: an event lies within it, values overflow, or the step would be too short.
    """
    left = bounds.end - state.t
    h = step_size(state.h, left)
    y = [*state.q, *state.qd]
    K = _stages(pair, system, state, h)
    change = _weighted(h, pair.b, K)
    after = _sum(y, change)
    errors = _errors(_weighted(h, pair.error, K), y, after, bounds)
    error = reduce(maximum, errors)
    is_known = _is_known([*after, *K[-1], *errors])
    is_landing = choose(h, left, 0.0, 1.0)
    is_possible = is_known * maximum(is_landing, choose(h, bounds.shortest, 0.0, 1.0))
    is_accepted = is_possible * choose(1.0, error, 0.0, 1.0)
    end = choose(0.0, is_landing, bounds.end, state.t + h)
    qdd, dense = _finished(pair, system, state, h, K, change, is_accepted)
    crossed = _crossed(pair, system, state, h, (end, after), dense, is_accepted * bounds.is_watched)
    is_known_after = _is_known(qdd)
    is_taken = is_accepted * is_known_after * (1.0 - crossed)
    is_rejected = is_possible - is_accepted

    is_first = is_taken * (1.0 - state.is_retry)
    proposed = h * next_factor(pair.exponent, MEMORY, error, state.error_before, _if(is_first, GROW, 1.0))
    # A step shortened by the end of the interval does not reduce the step size.
    uncut = choose(h, state.h, maximum(proposed, state.h), proposed)
    n = len(state.q)
    following = AdaptiveState(
        _if(is_taken, end, state.t),
        _if(is_taken + is_rejected, _if(is_first, uncut, proposed), state.h),
        _each_if(is_taken, after[:n], state.q),
        _each_if(is_taken, after[n:], state.qd),
        _each_if(is_taken, qdd, state.qdd),
        _if(is_taken, maximum(error, FIRST_ERROR), state.error_before),
        _if(is_taken, 0.0, _if(is_rejected, 1.0, state.is_retry)),
    )
    is_over = _if(is_taken + is_rejected, is_taken * is_landing, 1.0)
    return Attempt(following, h, dense, is_taken, crossed * is_known_after, is_over)


def _stages(pair: EmbeddedPair, system: SecondOrderSystem, state: AdaptiveState, h: Scalar) -> list[Values]:
    """Derivatives of q and then qd at each stage."""
    n, y = len(state.q), [*state.q, *state.qd]
    K = [[*state.qd, *state.qdd]]
    for c, row in zip(pair.c[1:], pair.a[1:], strict=True):
        now = _sum(y, _weighted(h, row, K))
        K.append([*now[n:], *system.accelerations(state.t + c * h, now[:n], now[n:])])
    return K


def _weighted(h: Scalar, weights: Sequence[float], K: Sequence[Values]) -> Values:
    """h sum_i w_i K_i."""
    return [
        h * total((weight * rate for weight, rate in zip(weights, rates, strict=False) if weight), 0.0)
        for rates in zip(*K, strict=True)
    ]


def _errors(errors: Values, before: Values, after: Values, bounds: StepBounds) -> Values:
    """The error norm, relative to the tolerance."""
    return [
        abs(e) / (atol + bounds.rtol * maximum(abs(x), abs(y)))
        for e, x, y, atol in zip(errors, before, after, bounds.atol, strict=True)
    ]


def _finished(
    pair: EmbeddedPair,
    system: SecondOrderSystem,
    state: AdaptiveState,
    h: Scalar,
    K: list[Values],
    change: Values,
    is_accepted: Scalar,
) -> tuple[Values, Values]:
    """Accelerations at the end of an accepted step, and its dense output."""
    n = len(state.q)
    if pair.dense and pair.first_same_as_last:
        return K[-1][n:], [x for column in pair.dense for x in _weighted(h, column, K)]

    def made(_: Values) -> Values:
        y = [*state.q, *state.qd]
        end = _sum(y, change)
        half = _weighted(0.5 * h, pair.b, _stages(pair, system, state, 0.5 * h))
        middle = _sum(y, half)
        qdd_middle = system.accelerations(state.t + 0.5 * h, middle[:n], middle[n:])
        qdd = system.accelerations(state.t + h, end[:n], end[n:])
        return [0.0, *qdd, *_hermite(state, h, (half, qdd_middle), (change, qdd))]

    empty = [0.0] * (n + 2 * n * pair.powers)
    found = iterate(made, [is_accepted, *empty], lambda some: (0.0, some[0]), 1, title="dense output")
    return found[1 : n + 1], found[n + 1 :]


def _hermite(
    state: AdaptiveState, h: Scalar, middle: tuple[Values, Values], end: tuple[Values, Values]
) -> Values:
    """For each power of theta the coefficients of q and then qd, from the increments of y and the
    accelerations in the middle and at the end.
    """
    n = len(state.q)
    q = []  # the coefficients for each joint
    for j in range(n):
        first, second = h * state.qd[j], (0.5 * h) * (h * state.qdd[j])
        beyond = []
        for theta, (change, qdd) in ((0.5, middle), (1.0, end)):
            beyond += [
                change[j] - theta * first - (theta * theta) * second,
                h * change[n + j] - (2.0 * theta) * second,
                h * (h * (qdd[j] - state.qdd[j])),
            ]
        q.append([first, second, *(_dot(row, beyond) for row in HERMITE)])
    qd = [[(k + 1.0) * D[k] / h for k in range(1, len(D))] + [0.0] for D in q]
    return [D[k] for k in range(len(q[0])) for part in (q, qd) for D in part]


def _dot(weights: Sequence[float], values: Values) -> Scalar:
    return total((weight * value for weight, value in zip(weights, values, strict=True)), 0.0)


def _crossed(
    pair: EmbeddedPair,
    system: SecondOrderSystem,
    state: AdaptiveState,
    h: Scalar,
    end: tuple[Scalar, Values],
    dense: Values,
    is_watched: Scalar,
) -> Scalar:
    """1 if an event function reaches 0 at one of the sections of a step, else 0."""
    n, y = len(state.q), [*state.q, *state.qd]

    def looked(_: Values) -> Values:
        before = system.watched(state.t, state.q, state.qd)
        events = 0.0
        for theta in (*pair.sections, 1.0):
            now = end[1] if theta == 1.0 else _along(y, dense, theta)
            t = end[0] if theta == 1.0 else state.t + theta * h
            after = system.watched(t, now[:n], now[n:])
            for a, b in zip(before, after, strict=True):
                events = events + choose(a, 0.0, 0.0, choose(0.0, b, 0.0, 1.0))
            before = after
        return [0.0, choose(0.0, events, 1.0, 0.0)]

    return iterate(looked, [is_watched, 0.0], lambda some: (0.0, some[0]), 1, title="events")[1]


def _along(y: Values, dense: Values, theta: float) -> Values:
    """The state at a fraction of the step."""
    change = [0.0] * len(y)
    for k in range(len(dense) - len(y), -1, -len(y)):
        change = [(x + d) * theta for x, d in zip(change, dense[k : k + len(y)], strict=True)]
    return _sum(y, change)


def _sum(xs: Values, ys: Values) -> Values:
    return [x + y for x, y in zip(xs, ys, strict=True)]


def _is_known(values: Values) -> Scalar:
    """1 if all values are finite, else 0."""
    return choose(total(map(abs, values), 0.0), LARGEST, 1.0, 0.0)


def _if(flag: Scalar, x: Scalar, y: Scalar) -> Scalar:
    return choose(0.0, flag, x, y)


def _each_if(flag: Scalar, xs: Values, ys: Values) -> Values:
    return [_if(flag, x, y) for x, y in zip(xs, ys, strict=True)]
