"""Why planning a bang-bang motion failed: a sentence that names the joint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

import numpy as np

from forearm.errors import InputError
from forearm.spatial import Floats
from forearm.trajectories.joint import NEVER
from forearm.trajectories.limits import MotionLimits
from forearm.trajectories.plan_status import PlanStatus
from forearm.trajectories.synchronise import is_possible, joint_span


@contextmanager
def joints_named(names: Sequence[str]) -> Iterator[None]:
    """Errors about a joint of a segment give its name behind its number."""
    called = {f"joint {k}": f"joint {k} ({name})" for k, name in enumerate(names, 1)}
    try:
        yield
    except InputError as error:
        if any(part.startswith("segment ") for part in error.place):
            error.place = tuple(called.get(part, part) for part in error.place)
        raise


def refuse(
    states: tuple[Floats, Floats, Floats, Floats], limits: MotionLimits, asked: float | None, what: str
) -> NoReturn:
    """Raise the error that names the infeasible joint of one plan, and the reason."""
    x0, v0, x1, v1 = states
    a = limits.acceleration
    spans = joint_span([*states, *limits.arrays])
    status, i = _first_in_the_way(states, limits, spans, asked)
    low, high, fastest = float(limits.lower[i]), float(limits.upper[i]), float(limits.velocity[i])
    shortest, start, end = (float(span[i]) for span in spans)
    if status == PlanStatus.TOO_FAST:
        said = f"{float(v1[i])!r}, allowed {fastest!r}. Use a lower velocity."
    elif status == PlanStatus.OUT_OF_RANGE:
        said = (
            f"{float(x0[i])!r} and {float(x1[i])!r}, allowed {low!r} to {high!r}, in rad "
            "(m). Use other points."
        )
    elif status == PlanStatus.NO_ROOM:
        first, last = x0[i] + 0.5 * v0[i] * abs(v0[i]) / a[i], x1[i] - 0.5 * v1[i] * abs(v1[i]) / a[i]
        said = (
            f"it stops at {first:.6g} and returns from {last:.6g}, allowed {low!r} to {high!r}. "
            "Use lower velocities."
        )
    elif status == PlanStatus.DURATION:
        gap = (
            ""
            if end <= start
            else f" except {start:.6g} to {end:.6g} s"
            if end < NEVER
            else f" to {start:.6g} s only"
        )
        said = f"got {asked!r} s; feasible from {shortest:.6g} s{gap}."
    else:
        said = f"at most {start:.6g} s, another needs {float(spans[0].max()):.6g} s. Use lower velocities."
    raise InputError(f"{status.reason}: {said}", what, f"joint {i + 1}")


def _first_in_the_way(
    states: tuple[Floats, Floats, Floats, Floats],
    limits: MotionLimits,
    spans: tuple[Floats, Floats, Floats],
    asked: float | None,
) -> tuple[PlanStatus, int]:
    x0, _, x1, v1 = states
    for i in range(limits.n):
        if abs(v1[i]) > limits.velocity[i]:
            return PlanStatus.TOO_FAST, i
        if min(x0[i], x1[i]) < limits.lower[i] or max(x0[i], x1[i]) > limits.upper[i]:
            return PlanStatus.OUT_OF_RANGE, i
        if spans[0][i] >= NEVER:
            return PlanStatus.NO_ROOM, i
    if asked is not None:
        return PlanStatus.DURATION, int(np.argmin(is_possible(asked, *spans)))
    return PlanStatus.NOTHING_COMMON, int(np.argmin(np.where(spans[2] >= NEVER, spans[1], NEVER)))
