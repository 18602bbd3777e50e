"""One joint between arbitrary states under limits of velocity, acceleration and jerk: its feasible durations,
and its phases for one of them, in the units of the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from forearm.symbols.scalars import Scalar, choose, hinge, maximum, minimum, root
from forearm.trajectories.jerk_limited.blend import blended
from forearm.trajectories.jerk_limited.braking import Braking, braked
from forearm.trajectories.jerk_limited.duration import first_duration
from forearm.trajectories.jerk_limited.extremal import Ends
from forearm.trajectories.joint import NEVER
from forearm.trajectories.plan_status import BEYOND

PHASES = 15  # per joint: two of braking and thirteen
ROUNDING = 2.0**-50  # relative: rounding of a difference of positions
SUMMED = 2.0**-46  # relative: rounding of a sum of phases
ALLOWED = 1.0 + 1e-12  # times a limit: tolerance of rounding


class JointProblem(NamedTuple):
    """A joint in the units of `extremal` after its braking: end states, distance, rounding error of the
    distance, the unit of time in s, the braking, and 1 if the end state is reachable within the limits, else
    0.
    """

    ends: Ends
    way: Scalar
    doubt: Scalar
    unit: Scalar
    braking: Braking
    allowed: Scalar


def scaled(joint: Sequence[Scalar]) -> JointProblem:
    """The problem from (x0, v0, a0) to (x1, v1, a1) within velocity v, acceleration a and jerk j."""
    x0, v0, a0, x1, v1, a1, v, a, j = joint
    unit, by_a = a / j, 1.0 / a
    by_time = j * by_a
    by_speed = by_a * by_time
    by_length = by_speed * by_time
    V, last, end = v * by_speed, v1 * by_speed, a1 * by_a
    braking = braked(v0 * by_speed, a0 * by_a, V)
    way = (x1 - x0) * by_length - braking.way
    late = (braking.first + braking.second) * (V + abs(braking.v))
    doubt = ROUNDING * ((abs(x0) + abs(x1)) * by_length + abs(braking.way) + 16.0 * late)
    excess = maximum(abs(end) - ALLOWED, maximum(abs(last), abs(last - 0.5 * end * abs(end))) - V * ALLOWED)
    kept = maximum(-1.0, minimum(1.0, end))
    ends = Ends(braking.v, braking.a, last, kept, V)
    allowed = choose(0.0, excess, 0.0, 1.0)
    for x in (x0, v0, a0, x1, v1, a1):
        allowed = choose(abs(x), BEYOND, allowed, 0.0)  # NaN compares as false
    return JointProblem(ends, way, doubt, unit, braking, allowed)


def first_possible(*joint: Scalar) -> tuple[Scalar, Scalar]:
    """`first_duration` of a joint, braking included: arguments of `scaled`, and the start, s.

    NEVER if the end state is beyond the limits, or a number is NaN or too large.
    """
    problem = scaled(joint[:-1])
    braking = problem.braking.first + problem.braking.second
    start = hinge(joint[-1] / problem.unit - braking)
    T, again = first_duration(problem.ends, problem.way, problem.doubt, start)
    return choose(0.0, problem.allowed, (T + braking) * problem.unit, NEVER), again


def phases(*joint: Scalar) -> tuple[list[Scalar], list[Scalar], Scalar]:
    """Durations of the phases, jerks in them, and 1 if the duration is infeasible, else 0: arguments of
    `scaled`, and the duration, s.
    """
    problem = scaled(joint[:-1])
    braking, unit, j = problem.braking, problem.unit, joint[8]
    T = joint[-1] / unit - (braking.first + braking.second)
    slack = SUMMED * joint[-1] / unit
    blend = blended(problem.ends, problem.way, problem.doubt, hinge(T), slack)
    times = [braking.first, braking.second, *blend.times]
    jerks = [braking.jerk, 0.0, *blend.jerks]
    blocked = choose(T, -slack, 1.0, choose(0.0, problem.allowed, blend.blocked, 1.0))
    return [t * unit for t in times], [x * j for x in jerks], blocked


def extremes(
    x: Scalar, v: Scalar, a: Scalar, times: list[Scalar], jerks: list[Scalar]
) -> tuple[Scalar, Scalar]:
    """Minimum and maximum position over phases of constant jerk: at their ends, and where velocity is 0
    between them.
    """
    least = most = x
    for t, j in zip(times, jerks, strict=True):
        # v + a s + j s^2 / 2 = 0, both roots without cancellation
        far = -(a + choose(a, 0.0, -1.0, 1.0) * root(hinge(a * a - 2.0 * j * v)))
        for above, below in ((far, j), (2.0 * v, far)):
            s = above / choose(0.0, abs(below), below, 1.0)
            s = choose(0.0, abs(below), maximum(0.0, minimum(t, s)), 0.0)
            place = x + s * (v + s * (0.5 * a + s * j / 6.0))
            least, most = minimum(least, place), maximum(most, place)
        x, v, a = x + t * (v + t * (0.5 * a + t * j / 6.0)), v + t * (a + 0.5 * j * t), a + j * t
        least, most = minimum(least, x), maximum(most, x)
    return least, most
