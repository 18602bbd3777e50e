"""Feasible durations of one joint under limits of velocity, acceleration and jerk.

In the units of `extremal`. A duration T is feasible if the change of velocity is, and the distance lies
between those of the nearest and of the farthest motion. Seen from the side on which the distance is too long,
f(T) = farthest distance - distance must rise to 0. Where the change of velocity is feasible for all durations
of an interval, the slope of f first decreases and then increases, until velocity V is reached and it stays at
V (found on random ends and not proven; test_jerk_limited samples it, and durations are compared with
Ruckig's). So with f(T) < 0, an increasing tangent at T reaches 0 before f does as long as f is concave; if f
is positive there, or the tangent decreases, the rest is convex and has one root, which tangents from beyond
it approach from one side.
"""

from __future__ import annotations

from forearm.symbols.region import iterate
from forearm.symbols.scalars import Scalar, choose, hinge, maximum, minimum, root
from forearm.trajectories.jerk_limited.extremal import TINY, Ends, farthest, ramp
from forearm.trajectories.joint import NEVER, durations

CLOSE = 1e-11  # of a duration: the next Newton step would be below rounding
ROUNDING = 2.0**-47  # relative: rounding of a sum of seven phases
MOST = 60  # iterations; six are typical


def velocity_durations(ends: Ends) -> tuple[Scalar, Scalar, Scalar]:
    """(shortest, gap_start, gap_end) of the change of velocity alone: the second-order problem, with
    acceleration in place of velocity.
    """
    far = 1e100
    return durations(ends.v0, ends.a0, ends.v1, ends.a1, 1.0, 1.0, -far, far)


def first_duration(ends: Ends, way: Scalar, doubt: Scalar, start: Scalar) -> tuple[Scalar, Scalar]:
    """The first feasible duration from `start` on, and 0; or a later start from which to search again, and 1.

    `doubt` is the rounding error of the distance on entry. The latter is returned if the change of velocity
    is infeasible for the durations that would be next.
    """
    shortest, gap_start, gap_end = velocity_durations(ends)
    start = maximum(start, shortest)
    start = choose(gap_start, start, maximum(start, gap_end), start)
    there, back = farthest(ends, start), farthest(ends.mirrored(-1.0), start)
    lost = doubt + rounding(ends, start)
    above, below = way - there.way, -back.way - way
    s = choose(below, above, 1.0, -1.0)
    one, way = ends.mirrored(s), s * way
    f, slope = -maximum(above, below), choose(below, above, there.slope, back.slope)

    top = upper_duration(one, way, start)
    before_gap = choose(gap_start, gap_end, choose(gap_start, start, 0.0, 1.0), 0.0)
    top = maximum(start, choose(0.0, before_gap, minimum(top, gap_start), top))
    at_top = farthest(one, top)
    f_top = at_top.way - way
    # 0 if f stays below 0 up to the gap, apart from a hump before it
    rises = choose(f_top, -lost, 1.0 - before_gap, 1.0)
    from_top = choose(0.0, rises, minimum(top, maximum(start, tangent(top, f_top, at_top.slope))), start)
    from_start = choose(0.0, slope, tangent(start, f, slope), NEVER)
    # fraction of the bracket at which to continue if a tangent leaves it: the middle, or the end that is the
    # root
    share = choose(abs(f_top), doubt + rounding(ends, top), 1.0, 0.5)
    too_far = choose(f, -lost, 1.0, 0.0)
    _, T, _, step, f = iterate(
        lambda state: _step(one, way, rises, share, state),
        [start, choose(from_start, top, from_start, from_top), top, too_far * NEVER, f],
        lambda state: (CLOSE * state[1], abs(state[3])),
        MOST,
        title="duration",
    )
    # a step of 0 with f below 0: no tangent led on
    stuck = choose(f, -lost, choose(0.0, abs(step), 0.0, 1.0), 0.0)
    again = too_far * (1.0 - rises) * stuck
    return choose(0.0, too_far, choose(0.0, again, gap_end, T), start), again


def rounding(ends: Ends, T: Scalar) -> Scalar:
    """Rounding error of a distance covered in a time T, whose ramps are short."""
    fast = abs(ends.v0) + abs(ends.v1)
    return ROUNDING * (minimum(fast + T, ends.V) * T + fast * (minimum(fast + 2.0, T) + 0.125 * T))


def tangent(T: Scalar, f: Scalar, slope: Scalar) -> Scalar:
    """Root of the tangent."""
    return T - f / (slope + choose(0.0, abs(slope), 0.0, TINY))


def _step(ends: Ends, way: Scalar, rises: Scalar, share: Scalar, state: list[Scalar]) -> list[Scalar]:
    """One step from a duration within the bracket: along the tangent if that stays inside, else to a share of
    the bracket, or none if f does not rise to 0. The last entry of the state is the previous f.
    """
    low, T, high, _, _ = state
    found = farthest(ends, T)
    f = found.way - way
    low, high = choose(f, 0.0, T, low), choose(f, 0.0, high, T)
    new = tangent(T, f, found.slope)
    outside = choose(minimum(new - low, high - new), 0.0, choose(CLOSE * T, abs(new - T), 1.0, 0.0), 0.0)
    new = maximum(low, minimum(high, new))
    new = choose(0.0, outside, choose(0.0, rises, low + share * (high - low), T), new)
    return [low, new, high, new - T, f]


def upper_duration(ends: Ends, way: Scalar, start: Scalar) -> Scalar:
    """A duration in which the farthest motion covers the distance; the exact one if it reaches velocity V.

    By way of a velocity c: both ramps lead to b, the largest velocity that the ends enforce, or 0; from there
    a change to b + e and back covers at least e max(2 sqrt(e), e), so that e = sqrt(D), or D^(21/32) if that
    is smaller, covers the remainder, D. What a lower c leaves is covered by holding it.
    """
    v0, a0, v1, a1, V = ends
    enforced0, enforced1 = v0 + 0.5 * a0 * hinge(a0), v1 + 0.5 * a1 * -hinge(-a1)
    b = minimum(V, maximum(0.0, maximum(enforced0, enforced1)))
    _, way0 = ramp_motion(v0, a0, b)
    _, way1 = ramp_motion(v1, -a1, b)
    left = hinge(way - way0 - way1)
    half = root(left)
    eighth = root(root(half))
    e = choose(left, 1.0, half * eighth * root(root(eighth)), half)
    c = minimum(V, b + e)
    time0, way0 = ramp_motion(v0, a0, c)
    time1, way1 = ramp_motion(v1, -a1, c)
    return maximum(start, time0 + time1 + hinge(way - way0 - way1) / (c + TINY))


def ramp_motion(v: Scalar, a: Scalar, c: Scalar) -> tuple[Scalar, Scalar]:
    """Time and distance of the fastest change from (v, a) up to velocity c at a = 0."""
    p, rest = ramp(v, a, c)
    rise = p - a
    way = rise * (v + rise * (2.0 * a + p) / 6.0) + rest * (v + 0.5 * rise * (a + p) + 0.5 * p * rest)
    return rise + rest + p, way + p * (c - p * p / 6.0)
