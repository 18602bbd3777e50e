"""Durations and phases of a joint as machine code, cached or compiled on demand: lanes are joints, of one
plan or many.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from forearm.kernels.traced_function import TracedFunction, compile_function
from forearm.trajectories.jerk_limited.joint import PHASES, extremes, first_possible, phases

if TYPE_CHECKING:
    from forearm.codegen.functions import Traced

STATES = ("q0", "qd0", "qdd0", "q1", "qd1", "qdd1")
JOINT = (*STATES, "velocity", "acceleration", "jerk")


@cache
def duration_function() -> TracedFunction:
    """`first_possible`: (1,) each to (duration, again), for many joints (m, 1) each to (m, 2)."""

    def formula(*given: list[Any]) -> dict[str, Any]:
        return {"found": first_possible(*(x for (x,) in given))}

    return _compiled(formula, "jerk_duration", dict.fromkeys((*JOINT, "after"), 1))


@cache
def phases_function() -> TracedFunction:
    """`phases`: (1,) each to times, jerks (15,) and blocked (1,)."""

    def formula(*given: list[Any]) -> dict[str, Any]:
        times, jerks, blocked = phases(*(x for (x,) in given))
        return {"phases": times, "jerks": jerks, "blocked": [blocked]}

    return _compiled(formula, "jerk_phases", dict.fromkeys((*JOINT, "duration"), 1))


@cache
def extremes_function() -> TracedFunction:
    """`extremes`: position, velocity and acceleration (1,), times and jerks (15,) to (least, most)."""

    def formula(x: list[Any], v: list[Any], a: list[Any], *given: list[Any]) -> dict[str, Any]:
        return {"places": extremes(x[0], v[0], a[0], *given)}

    sizes = {"q0": 1, "qd0": 1, "qdd0": 1, "phases": PHASES, "jerks": PHASES}
    return _compiled(formula, "jerk_extremes", sizes)


def _compiled(formula: Any, name: str, sizes: dict[str, int]) -> TracedFunction:
    def traced() -> Traced:
        from forearm.codegen.functions import traced_formula

        return traced_formula(formula, sizes)

    return compile_function(traced, name, key=(name,))
