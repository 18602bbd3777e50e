"""One joint under constant maximal acceleration: the durations it can take, and its phases for one of them.

Every function takes floats, or arrays of many joints at once. Waters III gives the method without
velocity limit: from each end two lines of extremal acceleration in the plane of x and v^2, and the
switch where they meet.

Of all motions from (x0, v0) to (x1, v1) with |x''| <= a and |x'| <= v that take a time T, one goes by full
acceleration to a velocity c, holds it, and goes by full acceleration to v1. The way it covers grows with c,
as its slope is the time at c; so a distance can be covered in T exactly if it lies between the ways of the
smallest and the largest c, and then by one c.
"""

from __future__ import annotations

from forearm.symbols.scalars import Scalar, choose, hinge, maximum, minimum, root

NEVER = 1e100  # s: stands for a duration that does not exist; finite, so that differences are numbers
TINY = 1e-150  # keeps 0 / 0 at 0
ROUNDING = 2.0**-50  # relative: what a few operations may lose


def direct_motion(x0: Scalar, v0: Scalar, x1: Scalar, v1: Scalar, a: Scalar) -> tuple[Scalar, Scalar]:
    """The time of the change from v0 to v1 at full acceleration, and the way that is left
    beyond what it covers.

    What is left within rounding is 0, unless the joint stands at both ends: otherwise one that has to brake
    as hard as it can would, for a lost bit, have to come back.
    """
    time = abs(v1 - v0) / a
    way = 0.5 * (v0 + v1) * time
    left = (x1 - x0) - way
    doubt = choose(0.0, abs(v0) + abs(v1), ROUNDING * (abs(x0) + abs(x1) + abs(way)), 0.0)
    return time, choose(0.0, abs(left) - doubt, left, 0.0)


def braked(
    x0: Scalar, v0: Scalar, a: Scalar, v: Scalar, lower: Scalar, upper: Scalar
) -> tuple[Scalar, Scalar, Scalar]:
    """(place, velocity, time) when a joint that starts faster than v has braked to v; the start where it does
    not. A start outside of the range stays where it is, to be refused.
    """
    within = maximum(-v, minimum(v, v0))
    time = abs(v0 - within) / a
    room = minimum(upper - x0, x0 - lower)
    return choose(room, 0.0, x0, x0 + 0.5 * (v0 + within) * time), within, time


def later(spans: tuple[Scalar, Scalar, Scalar], braking: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Durations that begin after so much braking."""
    shortest, start, end = spans
    return shortest + braking, start + braking, end + braking


def durations(
    x0: Scalar, v0: Scalar, x1: Scalar, v1: Scalar, a: Scalar, v: Scalar, lower: Scalar, upper: Scalar
) -> tuple[Scalar, Scalar, Scalar]:
    """(shortest, gap_start, gap_end): every duration from the shortest on is possible but those between
    gap_start and gap_end.

    A gap is there where both velocities point the same way and the way is short: a bit slower is possible by
    braking and speeding up, much slower by turning round twice, nothing between. Without a gap its ends are
    equal. A gap that ends at NEVER says that turning round would leave lower <= x <= upper; a shortest that
    is NEVER, that no motion is possible. In the direction s of the way left beyond the direct motion, with
    r = a |left|, l and h the smaller and the larger of s v0 and s v1, t the time of the direct motion:
        shortest = t + 2 (min(p, v) - h) / a + max(0, r - v^2 + h^2) / (a v),   p = sqrt(h^2 + r)
        gap = t + 2 (l -+ sqrt(l^2 - r)) / a where l > 0 and l^2 > r.
    """
    time, left = direct_motion(x0, v0, x1, v1, a)
    # where nothing is left, the way that it moves already
    s = choose(0.0, -choose(0.0, abs(left), left, v0 + v1), -1.0, 1.0)
    low, high = minimum(s * v0, s * v1), maximum(s * v0, s * v1)
    r = a * abs(left)
    p = root(high * high + r)
    # p - high, without a difference of near numbers
    rise = choose(0.0, -high, p - high, r / (p + abs(high) + TINY))
    room = v - high
    shortest = time + (2.0 * minimum(rise, room) + hinge(r - room * (v + high)) / v) / a

    onward = hinge(low)
    slack = hinge(onward * onward - r)
    dip = root(slack)
    start = time + 2.0 * r / (a * (onward + dip + TINY))
    end = time + 2.0 * (onward + dip) / a

    lacking_to_turn = -turning_room(x0, v0, x1, v1, a, lower, upper)
    lacking = maximum(choose(0.0, onward, 0.0, lacking_to_turn), -ends_room(x0, v0, x1, v1, v, lower, upper))
    shortest = choose(0.0, lacking, NEVER, shortest)
    start = choose(0.0, slack, maximum(start, shortest), shortest)
    end = choose(0.0, slack, choose(0.0, lacking_to_turn, NEVER, maximum(end, start)), start)
    return shortest, start, end


def ends_room(
    x0: Scalar, v0: Scalar, x1: Scalar, v1: Scalar, v: Scalar, lower: Scalar, upper: Scalar
) -> Scalar:
    """Negative where an end lies outside of the range or is faster than v."""
    places = minimum(minimum(upper - x0, x0 - lower), minimum(upper - x1, x1 - lower))
    return minimum(places, v - maximum(abs(v0), abs(v1)))


def turning_room(
    x0: Scalar, v0: Scalar, x1: Scalar, v1: Scalar, a: Scalar, lower: Scalar, upper: Scalar
) -> Scalar:
    """Negative where the joint cannot stop after the start and before the end within its
    range, but for rounding.

    It stops first at x0 + v0 |v0| / 2a at the earliest, and last at x1 - v1 |v1| / 2a at the latest; a motion
    of three phases that turns round does so in these two points and nowhere else.
    """
    before, after = 0.5 * v0 * abs(v0) / a, 0.5 * v1 * abs(v1) / a
    first, last = x0 + before, x1 - after
    doubt = ROUNDING * (abs(x0) + abs(before) + abs(x1) + abs(after))
    return minimum(upper - maximum(first, last), minimum(first, last) - lower) + doubt


def phases(
    x0: Scalar, v0: Scalar, x1: Scalar, v1: Scalar, a: Scalar, v: Scalar, T: Scalar
) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """(t1, t2, t3, c): the times of going to the velocity c, of holding it, and of going to v1,
    for a possible duration T.

    With R the time beyond the direct motion's and `left` the way beyond its way: c = left / R where this lies
    between the two velocities; beyond the larger one, h, c = h + u with u (a R - u) = a (left - h R), below
    the smaller one likewise.
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
