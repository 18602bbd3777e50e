"""Sample times of motions, validated or evenly spaced for a table; and motion files."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from forearm.errors import InputError
from forearm.logs.table import ENDINGS, write_table
from forearm.records import set_field
from forearm.spatial import Floats, Indices
from forearm.values import as_floats, check_ending, check_number

T = TypeVar("T")
ROWS = 10_000_000  # limit of a table
ROUNDING = 1e-12  # of the duration: a time this little after the end counts as the end


States = tuple[Floats, Floats, Floats]  # q, qd, qdd, or another quantity with two derivatives


class SampledMotion(Protocol):
    """A motion that can be tabulated."""

    @property
    def duration(self) -> float:
        """Duration, s."""

    def at(self, t: ArrayLike) -> States:
        """q, qd, qdd at a time, or at times."""


def within(s: ArrayLike, end: float, what: str, whose: str) -> tuple[bool, Floats]:
    """Whether a single time or place was given, and all of them (m,); an error for those beyond the end."""
    asked = s if isinstance(s, np.ndarray) and s.dtype == np.float64 else as_floats(s, what)
    if asked.ndim > 1:
        raise InputError(f"expected one or several, (m,), got shape {asked.shape}.", what)
    found = np.atleast_1d(asked)
    if len(found) and not (found.min() >= 0.0 and found.max() <= end):
        found = np.where((found > end) & (found <= end * (1.0 + ROUNDING)), end, found)
        outside = ~((found >= 0.0) & (found <= end))
        if outside.any():
            raise InputError(
                f"{float(found[outside][0])!r} is outside {whose}, which runs from 0 to {end!r}.", what
            )
    return asked.ndim == 0, found


def times_within(t: ArrayLike, duration: float) -> tuple[bool, Floats]:
    """Whether a single time was given, and the times (m,) within a motion."""
    return within(t, duration, "at", "the motion")


def from_zero(lengths: ArrayLike) -> Floats:
    """Sums of lengths (k,) from 0 on, (k + 1,)."""
    given = np.asarray(lengths, dtype=np.float64)
    ends = np.zeros(len(given) + 1)
    np.add.accumulate(given, out=ends[1:])
    return ends


def chord_lengths(points: Floats) -> Floats:
    """Distances between neighbours of points (m, n), (m - 1,)."""
    return np.asarray(np.linalg.norm(np.diff(points, axis=0), axis=1))


def piece_at(breaks: Floats, s: Floats) -> Indices:
    """The piece between breaks (k + 1,) in which each place s (m,) lies: that to the right of a break."""
    return np.minimum(np.searchsorted(breaks, s, side="right") - 1, len(breaks) - 2)


def ticks(duration: float, step: float, what: str) -> Floats:
    """Times every `step` s from 0, and the end; `what` names the step in errors."""
    step = check_number(step, what, above=0.0)
    if duration / step > ROWS:
        raise InputError(
            f"{step!r} s gives more than {ROWS} rows for {duration:g} s; use a longer one.", what
        )
    even = np.arange(int(duration / step) + 1) * step
    return np.append(even[even < duration], duration).astype(np.float64)


def motion_columns(motion: SampledMotion, step: float) -> dict[str, Floats]:
    """A motion as a table t, q1.., qd1.., qdd1..: every `step` seconds and at the end."""
    t = ticks(motion.duration, step, "step")
    table: dict[str, Floats] = {"t": t}
    for name, block in zip(("q", "qd", "qdd"), motion.at(t), strict=True):
        table |= {f"{name}{i + 1}": block[:, i] for i in range(block.shape[1])}
    return table


def save_motion(motion: Any, path: str | os.PathLike[str], step: float) -> None:
    """Write a motion atomically: its parameters (.json), or its table (.csv, .parquet)."""
    from forearm.trajectories.motion_files import write_motion

    if check_ending(path, (".json", *ENDINGS), "a motion") == ".json":
        write_motion(motion, path)
    else:
        write_table(path, motion_columns(motion, step))


def sampled(motion: SampledMotion, t: ArrayLike, states: Callable[[Floats], T]) -> T:
    """What `states` gives at times (m,), at a time or at times within a motion."""
    single, times = times_within(t, motion.duration)
    found: Any = states(times)
    return cast(T, tuple(x[0] for x in found) if single else tuple(found))


def freeze(motion: object) -> None:
    """Replace the arrays of a motion under construction by read-only views."""
    for name, array in vars(motion).copy().items():
        if isinstance(array, np.ndarray) and array.flags.writeable:
            view = array.view()
            view.setflags(write=False)
            set_field(motion, name, view)
