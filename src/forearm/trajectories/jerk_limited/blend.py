"""One joint in a given time: a convex combination of the farthest and the nearest motion, as phases of
constant jerk.

In the units of `extremal`. Both satisfy the end states and the limits, so any combination does. Motions that
take much longer than necessary would overshoot; so both are restricted to velocities as close to the mean as
is provably sufficient.
"""

from __future__ import annotations

from typing import NamedTuple

from forearm.symbols.scalars import Scalar, choose, hinge, maximum, minimum
from forearm.trajectories.jerk_limited.duration import (
    ramp_motion,
    rounding,
    state_rounding,
    velocity_durations,
)
from forearm.trajectories.jerk_limited.extremal import SIGNS, TINY, Ends, farthest

PHASES = 13
NARROWED = 3  # iterations: each squares the share of the ramps in the duration


class Blend(NamedTuple):
    """Durations and jerks of the phases; 1 if the joint cannot take the duration, else 0."""

    times: list[Scalar]
    jerks: list[Scalar]
    blocked: Scalar


def blended(ends: Ends, way: Scalar, doubt: Scalar, T: Scalar, slack: Scalar) -> Blend:
    """The motion that covers the distance in a time T; rounding may have added `doubt` to the distance,
    `slack` to T.
    """
    shortest, gap_start, gap_end = velocity_durations(ends)
    in_gap = choose(gap_start, T - slack, choose(T + slack, gap_end, 1.0, 0.0), 0.0)
    blocked = choose(T + slack, shortest, 1.0, in_gap)
    other = ends.mirrored(-1.0)
    far = farthest(ends._replace(V=top_velocity(ends, way, T)), T)
    near = farthest(other._replace(V=top_velocity(other, -way, T)), T)
    # T may be that of another joint, which a lost bit of acceleration shifts
    shifted = state_rounding(ends)[1] * (abs(ends.v0) + abs(ends.v1))
    lost = doubt + rounding(ends, T) + shifted
    short, long = far.way - way, way + near.way
    blocked = maximum(blocked, choose(minimum(short, long), -lost, 1.0, 0.0))
    share = maximum(0.0, minimum(1.0, long / (long + short + TINY)))
    times, jerks = merged(far.times, near.times, T)
    # marks at equal times are in arbitrary order: then a phase of zero length may have another's jerk
    mixed = [
        choose(0.0, t, share * x - (1.0 - share) * y, 0.0) for t, (x, y) in zip(times, jerks, strict=True)
    ]
    return Blend(times, mixed, blocked)


def top_velocity(ends: Ends, way: Scalar, T: Scalar) -> Scalar:
    """A velocity that the farthest motion need not exceed to cover the distance in T.

    With c held between both ramps it covers c T minus the loss of the ramps, which decreases with c. So the
    mean velocity plus the loss, over T, of a sufficient c is sufficient too. No motion in T exceeds the
    velocities enforced by the ends by more than T / 2.
    """
    v0, a0, v1, a1, V = ends
    enforced = maximum(v0 + 0.5 * a0 * hinge(a0), v1 - 0.5 * a1 * hinge(-a1))
    enforced = maximum(enforced, maximum(v0, v1))
    top = minimum(V, enforced + 0.5 * T)
    mean = way / (T + TINY)
    for _ in range(NARROWED):
        time0, way0 = ramp_motion(v0, a0, top)
        time1, way1 = ramp_motion(v1, -a1, top)
        loss = top * (time0 + time1) - way0 - way1
        top = minimum(top, maximum(enforced, mean + loss * (1.0 + 1e-12) / (T + TINY)))
    return top


def merged(
    one: tuple[Scalar, ...], other: tuple[Scalar, ...], T: Scalar
) -> tuple[list[Scalar], list[tuple[Scalar, Scalar]]]:
    """Times between all switches of two motions of seven phases, and the signs of both jerks in them."""
    times, jerks = [], []
    before, signs = 0.0, (SIGNS[0], SIGNS[0])
    for time, x, y in _bitonic([*reversed(_marks(one, T, 0)), *_marks(other, T, 1)]):
        times.append(time - before)
        jerks.append(signs)
        before, signs = time, (signs[0] + x, signs[1] + y)
    return [*times, hinge(T - before)], [*jerks, signs]


Mark = tuple[Scalar, Scalar, Scalar]  # a time, and the changes of the signs of both jerks


def _marks(times: tuple[Scalar, ...], T: Scalar, which: int) -> list[Mark]:
    """The switches of a motion."""
    found: list[Mark] = []
    at: Scalar = 0.0
    for i, time in enumerate(times[:-1]):
        at = minimum(T, at + hinge(time))
        change = SIGNS[i + 1] - SIGNS[i]
        found.append((at, change, 0.0) if which == 0 else (at, 0.0, change))
    return found


def _bitonic(marks: list[Mark]) -> list[Mark]:
    """Sort marks that decrease and then increase."""
    count = len(marks)
    if count == 1:
        return marks
    half = 1
    while 2 * half < count:
        half *= 2
    marks = list(marks)
    for i in range(count - half):
        marks[i], marks[i + half] = _ordered(marks[i], marks[i + half])
    return [*_bitonic(marks[:half]), *_bitonic(marks[half:])]


def _ordered(a: Mark, b: Mark) -> tuple[Mark, Mark]:
    """The earlier first."""
    (t, x, y), (u, z, w) = a, b
    first = minimum(t, u), choose(u, t, z, x), choose(u, t, w, y)
    return first, (maximum(t, u), choose(u, t, x, z), choose(u, t, y, w))
