"""Samples of a log for a fit: motion and efforts, block by block, re-readable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from forearm.spatial import Floats
from forearm.values import frozen

EffortKind = Literal["tau", "current", "voltage"]
T = TypeVar("T")


@frozen
class Samples:
    """Consecutive samples of one piece of a log, without gaps.

    Attributes:
        t: times of the efforts (T,), s.
        q, qd, qdd: the corresponding motion (T, n), earlier by the shift; zero-phase filtered, rad (m), per s
            and s^2.
        effort: torques, currents or voltages (T, n), as measured.
        usable: (T, n), False if the effort of a joint is clipped or NaN.
        current: currents (T, n), A, if the log has both currents and voltages; else None.
        starts: True: a new piece starts here; False: it continues the previous block.
    """

    t: Floats
    q: Floats
    qd: Floats
    qdd: Floats
    effort: Floats
    usable: NDArray[np.bool_]
    current: Floats | None
    starts: bool

    def part(self, which: slice | NDArray[np.bool_]) -> Samples:
        """Some of the samples."""
        return replace(self, **{name: a[which] for name, a in arrays_of(self).items()})


@frozen
class LogSignals:
    """Properties of a log after the first read.

    Attributes:
        name: of the log.
        rows: number of rows in the file.
        used: number of samples in the blocks.
        pieces: number of pieces between gaps.
        duration: total of all pieces, s.
        period: sampling period, s.
        effort: measured effort: "tau", "current" or "voltage".
        cutoff: half-power frequency of the position filter, Hz; NaN: motion as logged.
        window: of the filter, s.
        q_noise: standard deviation of positions as logged (n,).
        qd_error, qdd_error: standard deviations of the derivatives, noise and filter bias (n,).
        effort_noise: standard deviation of sample-to-sample effort noise (n,).
        fastest: largest speeds of the joints (n,).
        q_low, q_high: ranges of the joints (n,).
        has_current: whether both currents and voltages were measured.
        effort_columns, q_columns: names of the columns, joint by joint.
        findings: sentences on faults and exclusions; each names its column.
        jumps: joints whose acceleration jumps when they reverse or stop (n,); None: not tested.
    """

    name: str
    rows: int
    used: int
    pieces: int
    duration: float
    period: float
    effort: EffortKind
    cutoff: float
    window: float
    q_noise: Floats
    qd_error: Floats
    qdd_error: Floats
    effort_noise: Floats
    fastest: Floats
    q_low: Floats
    q_high: Floats
    has_current: bool
    effort_columns: tuple[str, ...]
    q_columns: tuple[str, ...]
    findings: tuple[str, ...]
    jumps: NDArray[np.bool_] | None = None


class PreparedLog(Protocol):
    """A log that was read once and yields its samples repeatedly, in bounded memory."""

    @property
    def signals(self) -> LogSignals:
        """Its properties."""
        ...

    def blocks(self, shift: float = 0.0) -> Iterator[Samples]:
        """Its samples; efforts are taken `shift` s later than the corresponding motion."""
        ...


def arrays_of(block: Any) -> dict[str, Any]:
    """The arrays of a block of samples or rows, by name."""
    return {name: value for name, value in vars(block).items() if isinstance(value, np.ndarray)}


def joined(parts: Sequence[T]) -> T:
    """Blocks of samples or rows, one after the other, as one."""
    names = set.intersection(*(set(arrays_of(part)) for part in parts))
    whole = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return replace(parts[0], **whole)  # type: ignore[type-var]
