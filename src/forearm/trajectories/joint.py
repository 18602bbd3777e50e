"""One joint at constant maximum acceleration: its feasible durations, and its phases for one of them.

Every function accepts floats, or arrays of many joints. Waters III gives the method without velocity limit:
from each end two lines of extremal acceleration in the plane of x and v^2, and the switch where they meet.

Of all motions from (x0, v0) to (x1, v1) with |x''| <= a and |x'| <= v that take a time T, one accelerates
fully to a velocity c, holds it, and accelerates fully to v1. Its distance increases with c, the slope being
the time at c; so a distance can be covered in T exactly if it lies between those of the smallest and the
largest c, and then by one c.
"""

from __future__ import annotations

from forearm.symbols.scalars import Scalar, choose, hinge, maximum, minimum, root

NEVER = 1e100  # s: stands for a duration that does not exist; finite, so that differences are finite
TINY = 1e-150  # keeps 0 / 0 at 0
ROUNDING = 2.0**-50  # relative: rounding of a few operations


def direct_motion(x0: Scalar, v0: Scalar, x1: Scalar, v1: Scalar, a: Scalar) -> tuple[Scalar, Scalar]:
    """The time of the change from v0 to v1 at full acceleration, and the remaining distance beyond what it
    covers.

    A remainder within rounding is 0, unless the joint is at rest at both ends: otherwise a joint that must
    brake at its limit would have to return because of a lost bit.
    """
    time = abs(v1 - v0) / a
    way = 0.5 * (v0 + v1) * time
    left = (x1 - x0) - way
    doubt = choose(0.0, abs(v0) + abs(v1), ROUNDING * (abs(x0) + abs(x1) + abs(way)), 0.0)
    return time, choose(0.0, abs(left) - doubt, left, 0.0)


def braked(
    x0: Scalar, v0: Scalar, a: Scalar, v: Scalar, lower: Scalar, upper: Scalar
) -> tuple[Scalar, Scalar, Scalar]:
    """(position, velocity, time) when a joint that starts faster than v has braked to v; otherwise the start.
    A start outside the range is left unchanged, to be refused.
    """
    within = maximum(-v, minimum(v, v0))
    time = abs(v0 - within) / a
    room = minimum(upper - x0, x0 - lower)
    return choose(room, 0.0, x0, x0 + 0.5 * (v0 + within) * time), within, time


def later(spans: tuple[Scalar, Scalar, Scalar], braking: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Durations shifted by a preceding braking time."""
    shortest, start, end = spans
    return shortest + braking, start + braking, end + braking


def durations(
    x0: Scalar, v0: Scalar, x1: Scalar, v1: Scalar, a: Scalar, v: Scalar, lower: Scalar, upper: Scalar
) -> tuple[Scalar, Scalar, Scalar]:
    """(shortest, gap_start, gap_end): every duration from the shortest on is feasible, except those between
    gap_start and gap_end.

    There is a gap if both velocities have the same sign and the distance is short: slightly longer durations
    are feasible by braking and accelerating, much longer ones by reversing twice, nothing in between. Without
    a gap its ends are equal. A gap that ends at NEVER means that reversing would violate lower <= x <= upper;
    a shortest of NEVER means that no motion is feasible. In the direction s of the distance left beyond the
    direct motion, with r = a |left|, l and h the smaller and the larger of s v0 and s v1, t the time of the
    direct motion:
        shortest = t + 2 (min(p, v) - h) / a + max(0, r - v^2 + h^2) / (a v),   p = sqrt(h^2 + r)
        gap = t + 2 (l -+ sqrt(l^2 - r)) / a where l > 0 and l^2 > r.
    """
    time, left = direct_motion(x0, v0, x1, v1, a)
    # with nothing left, the present direction
    s = choose(0.0, -choose(0.0, abs(left), left, v0 + v1), -1.0, 1.0)
    low, high = minimum(s * v0, s * v1), maximum(s * v0, s * v1)
    r = a * abs(left)
    shortest, start, end, slack = spans(time, low, high, r, r, a, v)

    lacking_to_turn = -turning_room(x0, v0, x1, v1, a, lower, upper)
    lacking = maximum(choose(0.0, low, 0.0, lacking_to_turn), -ends_room(x0, v0, x1, v1, v, lower, upper))
    shortest = choose(0.0, lacking, NEVER, shortest)
    start = choose(0.0, slack, maximum(start, shortest), shortest)
    end = choose(0.0, slack, choose(0.0, lacking_to_turn, NEVER, maximum(end, start)), start)
    return shortest, start, end


def spans(
    time: Scalar, low: Scalar, high: Scalar, r: Scalar, most: Scalar, a: Scalar, v: Scalar
) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """(shortest, gap_start, gap_end, slack) by the formulas of `durations`, without a range: the shortest for
    a remainder r, the gap, which exists if slack is above 0, for a remainder `most`.
    """
    p = root(high * high + r)
    # p - high, without cancellation
    rise = choose(0.0, -high, p - high, r / (p + abs(high) + TINY))
    room = v - high
    shortest = time + (2.0 * minimum(rise, room) + hinge(r - room * (v + high)) / v) / a

    onward = hinge(low)
    slack = hinge(onward * onward - most)
    dip = root(slack)
    start = time + 2.0 * most / (a * (onward + dip + TINY))
    return shortest, start, time + 2.0 * (onward + dip) / a, slack


def ends_room(
    x0: Scalar, v0: Scalar, x1: Scalar, v1: Scalar, v: Scalar, lower: Scalar, upper: Scalar
) -> Scalar:
    """Negative if an end lies outside the range or is faster than v."""
    places = minimum(minimum(upper - x0, x0 - lower), minimum(upper - x1, x1 - lower))
    return minimum(places, v - maximum(abs(v0), abs(v1)))


def turning_room(
    x0: Scalar, v0: Scalar, x1: Scalar, v1: Scalar, a: Scalar, lower: Scalar, upper: Scalar
) -> Scalar:
    """Negative if the joint cannot stop after the start and before the end within its range, up to rounding.

    It first stops at x0 + v0 |v0| / 2a at the earliest, and last at x1 - v1 |v1| / 2a at the latest; a
    three-phase motion that reverses does so at these two points and nowhere else.
    """
    before, after = 0.5 * v0 * abs(v0) / a, 0.5 * v1 * abs(v1) / a
    first, last = x0 + before, x1 - after
    doubt = ROUNDING * (abs(x0) + abs(before) + abs(x1) + abs(after))
    return minimum(upper - maximum(first, last), minimum(first, last) - lower) + doubt


def phases(
    x0: Scalar, v0: Scalar, x1: Scalar, v1: Scalar, a: Scalar, v: Scalar, T: Scalar
) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """(t1, t2, t3, c): the durations of accelerating to the velocity c, of holding it, and of accelerating to
    v1, for a feasible duration T.

    With R the time beyond the direct motion's and `left` the distance beyond its distance: c = left / R if
    this lies between the two velocities; beyond the larger one, h, c = h + u with u (a R - u) = a (left - h
    R), below the smaller one likewise.
    """
    time, left = direct_motion(x0, v0, x1, v1, a)
    low, high = minimum(v0, v1), maximum(v0, v1)
    R = hinge(T - time)
    above, below = hinge(left - high * R), hinge(low * R - left)
    W, e = 0.5 * a * R, a * (above + below)
    doubt = ROUNDING * (W * W + a * (abs(left) + maximum(abs(low), abs(high)) * R))
    u = minimum(W, e / (W + root(hinge(W * W - e - doubt)) + TINY))
    between = maximum(low, minimum(high, left / (R + TINY)))
    c = maximum(-v, minimum(v, between + choose(0.0, above, u, -u)))
    t1, t3 = abs(c - v0) / a, abs(c - v1) / a
    return t1, hinge(T - t1 - t3), t3, c
