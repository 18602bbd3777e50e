"""Four derivatives of a motion, as the torques of arms with elastic joints need."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from forearm.errors import InputError, shorten
from forearm.trajectories.continuous_snap.motion import ORDERS, Derivatives
from forearm.trajectories.jerk_limited.motion import JerkMotion
from forearm.trajectories.lines import HandLine
from forearm.trajectories.planning import Plan
from forearm.trajectories.recorded import RecordedMotion
from forearm.trajectories.shortest_time.path_motion import PathMotion
from forearm.trajectories.switching import Switching
from forearm.values import as_floats

NAMES = ("q", "qd", "qdd", "qddd", "qdddd")
REASONS: dict[type, str] = {
    Switching: "its accelerations jump",
    JerkMotion: "its jerks jump",
    PathMotion: "its accelerations or jerks jump",
    HandLine: "its jerks jump",
    RecordedMotion: "they are undefined between samples",
}
REMEDY = (
    "plan through its points with a continuous snap: fa.plan(arm, points, snap=True), forearm plan --snap "
    "inf, or smooth(points, limits); save it as .json, as tables keep samples only."
)


@runtime_checkable
class HasDerivatives(Protocol):
    """A motion that is smooth enough and provides its derivatives."""

    def derivatives(self, t: ArrayLike) -> Derivatives:
        """q, qd, qdd, qddd, qdddd at a time, (n,) each, or at times (m,), (m, n) each."""
        ...


def derivatives_of(motion: Any, times: ArrayLike) -> Derivatives:
    """q, qd, qdd, qddd and qdddd of a motion at times (T,), (T, n) each, or at a time, (n,) each; exact.

    Motions of continuous snap provide them, Fourier series, periodic quintic splines, and anything else with
    `derivatives(t)`. Others are refused.

    Args:
        motion: a motion, or a plan of one.
        times: in s, from 0 to its duration.
    """
    t = as_floats(times, "derivatives_of, times")
    given = motion.motion if isinstance(motion, Plan) else motion
    if not isinstance(given, HasDerivatives):
        why = next((said for kind, said in REASONS.items() if isinstance(given, kind)), None)
        if why is None:
            raise InputError(
                f"expected a motion with derivatives(t) that returns {', '.join(NAMES)}, got "
                f"{shorten(motion)}; {REMEDY}",
                "derivatives_of",
            )
        raise InputError(
            f"a {type(given).__name__} has no continuous jerk and snap, {why}; {REMEDY}", "derivatives_of"
        )
    found = given.derivatives(t)
    if len(found) != ORDERS:
        raise InputError(
            f"expected {', '.join(NAMES)} of derivatives(t), got {len(found)}.", "derivatives_of"
        )
    q, qd, qdd, qddd, qdddd = (np.asarray(x, dtype=np.float64) for x in found)
    return q, qd, qdd, qddd, qdddd
