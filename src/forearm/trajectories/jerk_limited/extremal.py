"""One joint in a given time: the motion that goes farthest, and its distance.

Units are scaled so that jerk and acceleration are bounded by 1 (time A / J, velocity A^2 / J, length A^3 /
J^2). Every function accepts floats, arrays or symbols.

All motions from (v0, a0) to (v1, a1) in a time T with |jerk| <= 1, |a| <= 1, |v| <= V form a convex set. So
the distances that can be covered in T form an interval, and only the two motions at its ends are needed. The
farthest accelerates first and brakes last: jerk +1 up to an acceleration p, -1 down to q, +1 up to a1, with
dwells at p = 1 and at q = -1 if T leaves time for them, and at velocity V if it is reached. The nearest is
the farthest of the mirrored problem.
"""

from __future__ import annotations

from typing import NamedTuple

from forearm.symbols.scalars import Scalar, choose, hinge, maximum, minimum, root

TINY = 1e-150  # keeps 0 / 0 at 0
SIGNS = (1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0)  # of jerk in the seven phases of the farthest motion


class Ends(NamedTuple):
    """Velocities and accelerations at both ends, and the velocity limit."""

    v0: Scalar
    a0: Scalar
    v1: Scalar
    a1: Scalar
    V: Scalar

    def mirrored(self, s: Scalar) -> Ends:
        """With s = -1 those of the motion seen from the other side."""
        return Ends(s * self.v0, s * self.a0, s * self.v1, s * self.a1, self.V)


class Farthest(NamedTuple):
    """The farthest motion: durations of its seven phases, its distance, and the derivative of the distance by
    time.

    The derivative is that of the costate: with switches at s and s + z, where z is the time of decreasing
    acceleration, it is v(s) + p z / 2; or V if that is held.
    """

    times: tuple[Scalar, ...]
    way: Scalar
    slope: Scalar


def ramp(v: Scalar, a: Scalar, c: Scalar) -> tuple[Scalar, Scalar]:
    """Peak acceleration and dwell at it in the fastest change from (v, a) up to velocity c, a = 0.

    Jerk +1 to p and -1 to 0 add p^2 - a^2 / 2 to the velocity, a dwell at p = 1 its duration. c must not be
    below the velocity reached by bringing a to 0.
    """
    gain = hinge(c - v + 0.5 * a * a)
    return minimum(1.0, root(gain)), hinge(gain - 1.0)


def farthest(ends: Ends, T: Scalar) -> Farthest:
    """The farthest motion in a time T for which the change of velocity is feasible.

    Without dwells the three times follow from T, a1 - a0 and v1 - v0, the last being linear in the first
    time. With a dwell at p = 1 (or q = -1) the other extreme is the root of a quadratic, with both dwells
    their difference is linear.
    """
    v0, a0, v1, a1, V = ends
    u, turn = v1 - v0, 0.5 * (T + a1 - a0)
    fall = T - turn
    first = (u - a0 * T + fall * (0.5 * fall + turn) - 0.5 * turn * turn) / (2.0 * fall + TINY)
    p = a0 + maximum(0.0, minimum(turn, first))
    q = p - fall
    # at the minimum acceleration
    low0, low1 = 1.0 + a0, 1.0 + a1
    floor_p = root(hinge(T + u + 0.5 * (low0 * low0 - low1 * low1))) - 1.0
    p, q = choose(q, -1.0, floor_p, p), maximum(q, -1.0)
    # at the maximum acceleration
    high0, high1 = 1.0 - a0, 1.0 - a1
    cap_q = maximum(1.0 - root(hinge(T - u + 0.5 * (high1 * high1 - high0 * high0))), -1.0)
    q, p = choose(1.0, p, cap_q, q), minimum(p, 1.0)
    p, q = maximum(p, a0), minimum(q, a1)
    rest = hinge(T - (p - a0) - (p - q) - (a1 - q))
    shared = maximum(0.0, minimum(rest, 0.5 * (rest + u - 0.5 * (a1 * a1 - a0 * a0))))
    rest_p = choose(p, 1.0, 0.0, choose(-1.0, q, rest, shared))
    rest_q = rest - rest_p
    # at the maximum velocity
    peak = v0 + p * p - 0.5 * a0 * a0 + rest_p
    excess = minimum(peak - V, minimum(p, -q))
    up, rest_up = ramp(v0, a0, V)
    down, rest_down = ramp(v1, -a1, V)
    # rounding may put a0 beyond the peak
    p, q = choose(0.0, excess, maximum(up, a0), p), choose(0.0, excess, minimum(-down, a1), q)
    rest_p, rest_q = choose(0.0, excess, rest_up, rest_p), choose(0.0, excess, rest_down, rest_q)
    between = choose(0.0, excess, 0.0, q)
    rise, sink, last = p - a0, p - between, a1 - q
    hold = choose(0.0, excess, hinge(T - rise - rest_p - p + q - rest_q - last), 0.0)
    times = (rise, rest_p, sink, hold, between - q, rest_q, last)

    way, v = rise * (v0 + rise * (2.0 * a0 + p) / 6.0), v0 + 0.5 * rise * (a0 + p)
    way, v = way + rest_p * (v + 0.5 * p * rest_p), v + p * rest_p
    slope = choose(0.0, excess, V, v + 0.5 * p * (p - q))
    way, v = way + sink * (v + sink * (2.0 * p + between) / 6.0), v + 0.5 * sink * (p + between)
    way = way + hold * V
    # backwards from the end
    w = v1 - 0.5 * last * (q + a1)
    way = way + last * (v1 - last * (q + 2.0 * a1) / 6.0) + rest_q * (w - 0.5 * q * rest_q)
    w, fallen = w - q * rest_q, between - q
    return Farthest(times, way + fallen * (w - fallen * (between + 2.0 * q) / 6.0), slope)
