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
from forearm.trajectories.sampling import States
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
    spans = joint_span([*states, *limits.arrays])
    status, i = _first_in_the_way(states, limits, spans, asked)
    x0, v0, x1, v1, a, fastest, low, high = (float(x[i]) for x in (*states, *limits.arrays))
    shortest, start, end = (float(span[i]) for span in spans)
    before_gap = f" except {start:.6g} to {end:.6g} s" if end < NEVER else f" to {start:.6g} s only"
    said = {
        PlanStatus.TOO_FAST: f"{v1!r}, allowed {fastest!r}. Use a lower velocity.",
        PlanStatus.OUT_OF_RANGE: (
            f"{x0!r} and {x1!r}, allowed {low!r} to {high!r}, in rad (m). Use other points."
        ),
        PlanStatus.NO_ROOM: (
            f"it stops at {x0 + 0.5 * v0 * abs(v0) / a:.6g} and returns from "
            f"{x1 - 0.5 * v1 * abs(v1) / a:.6g}, allowed {low!r} to {high!r}. Use lower velocities."
        ),
        PlanStatus.DURATION: (
            f"got {asked!r} s; feasible from {shortest:.6g} s{before_gap if end > start else ''}."
        ),
        PlanStatus.NOTHING_COMMON: (
            f"at most {start:.6g} s, another needs {float(spans[0].max()):.6g} s. Use lower velocities."
        ),
    }
    raise InputError(f"{status.reason}: {said[status]}", what, f"joint {i + 1}")


def _first_in_the_way(
    states: tuple[Floats, Floats, Floats, Floats], limits: MotionLimits, spans: States, asked: float | None
) -> tuple[PlanStatus, int]:
    x0, _, x1, v1 = states
    wrong = {
        PlanStatus.TOO_FAST: np.abs(v1) > limits.velocity,
        PlanStatus.OUT_OF_RANGE: (np.minimum(x0, x1) < limits.lower) | (np.maximum(x0, x1) > limits.upper),
        PlanStatus.NO_ROOM: spans[0] >= NEVER,
    }
    i = int(np.any(list(wrong.values()), axis=0).argmax())
    for status, joints in wrong.items():
        if joints[i]:
            return status, i
    if asked is not None:
        return PlanStatus.DURATION, int(np.argmin(is_possible(asked, *spans)))
    return PlanStatus.NOTHING_COMMON, int(np.argmin(np.where(spans[2] >= NEVER, spans[1], NEVER)))
