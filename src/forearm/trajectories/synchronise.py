"""The shortest duration that all joints of a plan can take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.symbols.scalars import Scalar
from forearm.trajectories.joint import NEVER, ROUNDING

Array = NDArray[np.float64]
ROUNDED = 8.0 * ROUNDING  # relative: a sum of phases that is asked for again as a duration
Span = tuple[float, float, float]  # shortest, gap_start, gap_end of a joint


def common_duration(spans: Sequence[Span]) -> float:
    """The smallest duration possible for every joint, given (shortest, gap_start, gap_end) of each.

    A duration within a gap has to grow to the gap's end. Each pass over the joints moves past one more gap at
    least, so as many passes as joints are enough.
    """
    T = spans[0][0]
    for shortest, _, _ in spans[1:]:
        T = max(T, shortest)
    for _ in spans:
        before = T
        for _, start, end in spans:
            T = end if start < T < end else T
        if before == T:
            break
    return T


def common_durations(shortest: Array, start: Array, end: Array) -> Array:
    """The same of many plans, (n, B) each -> (B,): passes only over the plans that lie in a gap."""
    T: Array = shortest.max(axis=0)
    blocked = np.flatnonzero(((start < T) & (end > T)).any(axis=0))
    while blocked.size:
        t, ends = T[blocked], end[:, blocked]
        inside = (start[:, blocked] < t) & (t < ends)
        T[blocked] = np.maximum(t, np.where(inside, ends, 0.0).max(axis=0))
        blocked = blocked[inside.any(axis=0)]
    return T


def is_possible(T: Scalar, shortest: Scalar, start: Scalar, end: Scalar) -> Any:
    """Whether a joint, or which of several, can take this duration, but for rounding."""
    more, less = T * (1.0 + ROUNDED), T * (1.0 - ROUNDED)
    return (shortest <= more) & ((start >= less) | (end <= more)) & (more < NEVER)
