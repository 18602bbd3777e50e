"""Feasible durations of one joint under limits of velocity, acceleration and jerk.

In the units of `extremal`. A duration T is feasible if the change of velocity is, and the distance lies
between those of the nearest and of the farthest motion. As the nearest is never beyond the farthest, an
infeasible distance is too long or too short, and cannot turn from one to the other without being feasible in
between. So the next feasible duration is the first root of f(T) = farthest distance - distance, seen from the
side on which the distance is too long.

No root is missed, because f is first concave and then convex wherever the change of velocity is feasible.
With p and q the accelerations between which that of the farthest motion falls, in a time z = p - q, the slope
f' is the Hamiltonian v + p z / 2, v being the velocity where the fall begins. With T and the change of
velocity given, derivatives by T are

    no dwell              p' = -q / 2z,  q' = -p / 2z,  f'' = (p^2 - 4 p q + q^2) / 4z
    dwell at p = 1        q' = -1 / 2z,                 f'' = (1 - 4 q) / 4z
    dwell at q = -1       p' = 1 / 2z,                  f'' = (1 + 4 p) / 4z
    dwells at both                                      f'' = 1 / 2

If p > 0 > q, f'' is positive, and stays so as p does not decrease nor q increase. The peak velocity does not
decrease either; once it is V, that is held and f' = V (before it was V - p q / 2: f is continuous, and
increases from there on). If p > q >= 0, p^2 - 4 p q + q^2 has the derivative 2 (p^2 - p q + q^2) / z > 0, and
1 - 4 q increases too; a dwell at p = 1 can only end, where 1 - 4 q <= 1 - 4 q + q^2. So f'' changes its sign
once, from - to +. 0 >= p > q is the same with time reversed. After a gap in the durations that the change of
velocity can take, p > 0 > q.

So with f(T) < 0, an increasing tangent at T reaches 0 before f does as long as f is concave; if f is positive
there, or the tangent decreases, the rest has one root, which tangents from beyond it approach from one side.
"""

from __future__ import annotations

from forearm.symbols.region import iterate
from forearm.symbols.scalars import Scalar, choose, hinge, maximum, minimum, root
from forearm.trajectories.jerk_limited.extremal import TINY, Ends, farthest, ramp
from forearm.trajectories.joint import NEVER, spans

CLOSE = 1e-11  # of a duration: the next Newton step would be below rounding
ROUNDING = 2.0**-47  # relative: rounding of a sum of seven phases
STATES = 2.0**-50  # relative: rounding of velocities and accelerations at the ends
MOST = 60  # iterations; six are typical


def velocity_durations(ends: Ends) -> tuple[Scalar, Scalar, Scalar]:
    """(shortest, gap_start, gap_end) of the change of velocity alone: the second-order problem, with
    acceleration in place of velocity.

    The last part of a fastest motion is at the edge of what is feasible: one lost bit in its states, and it
    would have to reverse. So these durations are those that states within rounding can take.
    """
    v0, a0, v1, a1, _ = ends
    time = abs(a1 - a0)
    left = v1 - v0 - 0.5 * (a0 + a1) * time
    doubt, early = state_rounding(ends)
    # with nothing left, the present direction
    s = choose(0.0, -choose(doubt, abs(left), left, a0 + a1), -1.0, 1.0)
    low, high = minimum(s * a0, s * a1), maximum(s * a0, s * a1)
    least, most = hinge(abs(left) - doubt), abs(left) + doubt
    shortest, start, end, slack = spans(time, low, high, least, most, 1.0, 1.0)
    shortest = hinge(shortest - early)
    start = choose(0.0, slack, maximum(start + early, shortest), shortest)
    return shortest, start, choose(0.0, slack, maximum(end - early, start), start)


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
    """Rounding error of a distance covered in a time T, whose ramps are short; that of the end states
    included.
    """
    fast, unsure = abs(ends.v0) + abs(ends.v1), state_rounding(ends)[0]
    summed = ROUNDING * (minimum(fast + T, ends.V) * T + fast * (minimum(fast + 2.0, T) + 0.125 * T))
    return summed + unsure * T


def state_rounding(ends: Ends) -> tuple[Scalar, Scalar]:
    """Rounding errors of the change of velocity, and of the time of the change of acceleration."""
    v0, a0, v1, a1, _ = ends
    return STATES * (abs(v0) + abs(v1) + a0 * a0 + a1 * a1), STATES * (abs(a0) + abs(a1))


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
