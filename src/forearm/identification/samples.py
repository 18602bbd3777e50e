"""What a log gives to a fit: motion and efforts at its samples, block by block, as often as asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from forearm.spatial import Floats

EffortKind = Literal["tau", "current", "voltage"]


@dataclass(frozen=True, eq=False)
class Samples:
    """Consecutive samples of one piece of a log: nothing is missing between them.

    Attributes:
        t: times of the efforts (T,), s.
        q, qd, qdd: the motion (T, n) that they belong to, a shift before; filtered without delay, rad (m),
            per s and s^2.
        effort: torques, currents or voltages (T, n), as measured.
        usable: (T, n), False where the effort of a joint says nothing: clipped, or not a number.
        current: currents (T, n), A, where a log has them beside voltages; else None.
        starts: whether a new piece begins here; False: it goes on where the block before ended.
    """

    t: Floats
    q: Floats
    qd: Floats
    qdd: Floats
    effort: Floats
    usable: NDArray[np.bool_]
    current: Floats | None
    starts: bool


@dataclass(frozen=True, eq=False)
class LogSignals:
    """What is known of a log once it was read through.

    Attributes:
        name: of the log.
        rows: of the file.
        used: samples that blocks give.
        pieces: between gaps.
        duration: of all pieces, s.
        period: between samples, s.
        effort: what was measured: "tau", "current" or "voltage".
        cutoff: of the filter of positions, Hz, where it passes half the power; NaN: motion as it was logged.
        window: of the filter, s.
        q_noise: standard deviation of positions as logged (n,).
        qd_error, qdd_error: standard deviations of the derivatives: noise that passes, and what the filter
            bends away (n,).
        effort_noise: standard deviation of efforts from sample to sample (n,).
        fastest: largest speeds of the joints (n,).
        q_low, q_high: where they were (n,).
        has_current: whether currents were measured beside voltages.
        effort_columns, q_columns: names of the columns, joint by joint.
        findings: sentences on what is wrong with the log, or was left out of it; each names its column.
        jumps: joints whose acceleration jumps where they reverse or stop (n,); None: not looked for.
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
    """A log that was read through once and gives its samples again and again, in bounded memory."""

    @property
    def signals(self) -> LogSignals:
        """What is known of it."""
        ...

    def blocks(self, shift: float = 0.0) -> Iterator[Samples]:
        """Its samples; efforts are taken `shift` s later than the motion that they belong to."""
        ...
