"""Initial braking of a joint that starts, or would get, beyond its limits of velocity or acceleration.

In the units of `extremal`. As in Ruckig: full jerk against the violation, down to acceleration -1 if
necessary, until velocity is back at V, or earlier if braking must end to stay above -V.
"""

from __future__ import annotations

from typing import NamedTuple

from forearm.symbols.scalars import Scalar, choose, hinge, maximum, minimum, root

ALLOWED = (
    1.0 + 2.0**-46
)  # times a limit: a joint that is about to reach V does not brake because of a lost bit


class Braking(NamedTuple):
    """Durations of two phases, the first with jerk `jerk`, the second with zero jerk; the state afterwards,
    and the distance.
    """

    first: Scalar
    second: Scalar
    jerk: Scalar
    v: Scalar
    a: Scalar
    way: Scalar


def braked(v: Scalar, a: Scalar, V: Scalar) -> Braking:
    """The braking from (v, a); of zero duration if the limits can be kept."""
    up, down = _excess(v, a, ALLOWED * V), _excess(-v, -a, ALLOWED * V)
    # an acceleration violation takes precedence over one of velocity
    s = choose(a, -1.0, -1.0, choose(1.0, a, 1.0, choose(0.0, up, 1.0, -1.0)))
    w, b = s * v, s * a
    excess = choose(s, 0.0, down, up)
    first, second = _too_fast(w, b, V)
    slow_first, slow_second = _too_hard(w, b, V)
    # the velocity when acceleration reaches 0
    is_fast = choose(1.0, b, choose(V, w + 0.5 * b * b, 1.0, 0.0), 1.0)
    first = choose(0.0, excess, choose(0.0, is_fast, first, slow_first), 0.0)
    second = choose(0.0, excess, choose(0.0, is_fast, second, slow_second), 0.0)
    way, w, b = first * (w + first * (0.5 * b - first / 6.0)), w + first * (b - 0.5 * first), b - first
    way, w = way + second * (w + 0.5 * b * second), w + b * second
    # tolerance of rounding
    b = maximum(-1.0, minimum(1.0, b))
    return Braking(first, second, -s, s * w, s * b, s * way)


def _excess(w: Scalar, b: Scalar, V: Scalar) -> Scalar:
    """1 if acceleration b is above 1, or velocity w above V, now or when b is brought to 0; else 0."""
    now = choose(V, w, choose(-V, w - 0.5 * b * b, 1.0, 0.0), 0.0)
    soon = choose(0.0, b, choose(V, w + 0.5 * b * b, 1.0, 0.0), 0.0)
    return choose(1.0, b, 1.0, choose(b, -1.0, 0.0, maximum(now, soon)))


def _too_fast(w: Scalar, b: Scalar, V: Scalar) -> tuple[Scalar, Scalar]:
    """Jerk -1 until velocity is V; at acceleration -1 zero jerk."""
    to_limit = b + root(hinge(b * b + 2.0 * (w - V)))
    to_turn = b + root(hinge(0.5 * b * b + w + V))
    time = minimum(to_limit, to_turn)
    least = b + 1.0
    at_least = w + 0.5 * (b * b - 1.0)
    rest = hinge(minimum(at_least - V, at_least + V - 0.5))
    return maximum(0.0, minimum(time, least)), choose(least, time, rest, 0.0)


def _too_hard(w: Scalar, b: Scalar, V: Scalar) -> tuple[Scalar, Scalar]:
    """Jerk -1 to acceleration 1; continued if velocity is still below -V."""
    at_most = w + 0.5 * (b * b - 1.0)
    return hinge(b - 1.0), hinge(minimum(-V - at_most, V - 0.5 - at_most))
