"""A synchronised plan of all joints, once over any scalar: the shortest common duration, the phases, and the
status.

Floats, and arrays of many plans, give the reference; expressions the machine code of `compiled_planner`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from forearm.symbols.region import Shared, State, iterate
from forearm.symbols.scalars import Scalar, choose, maximum, sign
from forearm.trajectories.joint import NEVER, ROUNDING, braked, durations, later, phases
from forearm.trajectories.plan_status import status_of

ROUNDED = 8.0 * ROUNDING  # relative: a sum of phases that is passed again as a duration
Scalars = Sequence[Scalar]  # one per joint
Three = tuple[Scalar, Scalar, Scalar]


class SynchronisedPlan(NamedTuple):
    """One plan, or many; if the status is not 0, the other fields are undefined."""

    status: Scalar  # a number of `PlanStatus`
    duration: Scalar
    held: list[Scalar]
    phases: list[Three]
    accelerations: list[Three]


def synchronised(
    states: Sequence[Scalars], limits: Sequence[Scalars], asked: Scalar | None = None
) -> SynchronisedPlan:
    """The fastest plan between states (q0, qd0, q1, qd1), or one of the requested duration, within limits
    (acceleration, velocity, lower, upper).
    """
    joints = list(zip(*states, *limits, strict=True))
    span_of, motion_of = Shared(joint_span, "span of a joint"), Shared(_motion, "motion of a joint")
    spans = [span_of(joint) for joint in joints]
    T, impossible = common_duration(spans), 0.0
    if asked is not None:
        for span in spans:
            impossible = maximum(impossible, _impossible(asked, *span))
    status = status_of(states, limits, [span[0] for span in spans], T, impossible)
    T = T if asked is None else asked
    made = [motion_of([*joint, T]) for joint in joints]
    return SynchronisedPlan(
        status, T, [m[0] for m in made], [tuple(m[1:4]) for m in made], [tuple(m[4:]) for m in made]
    )


def joint_span(joint: State) -> Three:
    """(shortest, gap_start, gap_end) of a joint with states and limits as in `synchronised`, initial braking
    included.
    """
    x0, v0, x1, v1, a, v, lower, upper = joint
    place, speed, braking = braked(x0, v0, a, v, lower, upper)
    return later(durations(place, speed, x1, v1, a, v, lower, upper), braking)


def _motion(joint: State) -> tuple[Scalar, ...]:
    """(velocity held, durations of the three phases, accelerations in them) of a joint, given T after its
    limits.
    """
    x0, v0, x1, v1, a, v, lower, upper, T = joint
    place, speed, braking = braked(x0, v0, a, v, lower, upper)
    t1, t2, t3, held = phases(place, speed, x1, v1, a, v, T - braking)
    first, last = accelerations(v0, held, v1, a)
    return held, t1 + braking, t2, t3, first, 0.0, last


def accelerations(v0: Scalar, held: Scalar, v1: Scalar, a: Scalar) -> tuple[Scalar, Scalar]:
    """Acceleration of the first phase, from v0 to the velocity held, and of the last, from there to v1."""
    return sign(held - v0) * a, sign(v1 - held) * a


def common_duration(spans: Sequence[Sequence[Scalar]]) -> Scalar:
    """The shortest duration feasible for every joint, given (shortest, gap_start, gap_end) of each.

    A duration within a gap has to increase to the gap's end. Each pass over the joints moves past at least
    one more gap, so as many passes as joints suffice.
    """
    T = spans[0][0]
    for shortest, _, _ in spans[1:]:
        T = maximum(T, shortest)

    def passed(state: State) -> State:
        T = state[1]
        for _, start, end in spans:
            T = choose(start, T, choose(T, end, end, T), T)
        return [state[1], T]

    return iterate(passed, [-1.0, T], lambda state: (state[0], state[1]), len(spans), title="gaps")[1]


def is_possible(T: Scalar, shortest: Scalar, start: Scalar, end: Scalar) -> Any:
    """Whether a joint, or which of several, can take this duration, up to rounding."""
    return _impossible(T, shortest, start, end) == 0.0


def _impossible(T: Scalar, shortest: Scalar, start: Scalar, end: Scalar) -> Scalar:
    """1 where a joint cannot take this duration, else 0."""
    more, less = T * (1.0 + ROUNDED), T * (1.0 - ROUNDED)
    in_gap = choose(start, less, choose(more, end, 1.0, 0.0), 0.0)
    return choose(more, NEVER, choose(more, shortest, 1.0, in_gap), 1.0)
