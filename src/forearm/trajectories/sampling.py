"""The times at which motions are looked at: those asked for, checked, and even ones for a table; and motions
as files.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.errors import InputError
from forearm.logs.table import ENDINGS, write_table
from forearm.values import as_floats, check_ending, check_number

Array = NDArray[np.float64]
ROWS = 10_000_000  # a table may have
ROUNDING = 1e-12  # of the duration: a time so little behind the end is the end


class SampledMotion(Protocol):
    """What a table of a motion is made from."""

    @property
    def duration(self) -> float:
        """In s."""

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """q, qd, qdd at a time, or at times."""


def times_within(t: ArrayLike, duration: float) -> tuple[bool, Array]:
    """Whether one time was asked for, and the times (m,); an error where any is outside of the motion."""
    asked = as_floats(t, "at")
    if asked.ndim > 1:
        raise InputError(f"at: expected a time or times (m,), got shape {asked.shape}.")
    times = np.atleast_1d(asked)
    times = np.where((times > duration) & (times <= duration * (1.0 + ROUNDING)), duration, times)
    outside = ~((times >= 0.0) & (times <= duration))
    if outside.any():
        raise InputError(
            f"at: {float(times[outside][0])!r} s is outside of the motion, which goes "
            f"from 0 to {duration!r} s."
        )
    return asked.ndim == 0, times


def ticks(duration: float, step: float, what: str) -> Array:
    """Times every `step` s from 0 on, and the end; `what` names the step in errors."""
    step = check_number(step, what, above=0.0)
    if duration / step > ROWS:
        raise InputError(
            f"{what}: {step!r} s gives more than {ROWS} rows of {duration:g} s; take a longer one."
        )
    even = np.arange(int(duration / step) + 1) * step
    return np.append(even[even < duration], duration).astype(np.float64)


def motion_columns(motion: SampledMotion, step: float) -> dict[str, Array]:
    """A motion as a table t, q1.., qd1.., qdd1..: every `step` seconds and at the end."""
    t = ticks(motion.duration, step, "step")
    table: dict[str, Array] = {"t": t}
    for name, block in zip(("q", "qd", "qdd"), motion.at(t), strict=True):
        table |= {f"{name}{i + 1}": block[:, i] for i in range(block.shape[1])}
    return table


def save_motion(
    motion: SampledMotion,
    path: str | os.PathLike[str],
    step: float,
    write_json: Callable[[Any, str | os.PathLike[str]], None],
) -> None:
    """Write a motion whole or not at all: what makes it again (.json), or its table (.csv, .parquet)."""
    if check_ending(path, (".json", *ENDINGS), "a motion") == ".json":
        write_json(motion, path)
    else:
        write_table(path, motion_columns(motion, step))
