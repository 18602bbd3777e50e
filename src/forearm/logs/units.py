"""Units of logs: given by name, or asked about where numbers look like other ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from forearm.errors import InputError, NameNotFound, shorten, suggest
from forearm.spatial import Floats
from forearm.values import names_in

# Unit names: their quantity, and the factor to our unit.
UNITS: Mapping[str, tuple[str, float]] = {
    "rad": ("angles", 1.0),
    "deg": ("angles", 180.0 / math.pi),
    "s": ("times", 1.0),
    "ms": ("times", 1e3),
    "us": ("times", 1e6),
    "ns": ("times", 1e9),
}
SLOW = 0.5  # s between rows: no log of a motion is that slow, but one in milliseconds appears to be
NEAR = 2.0  # factor within which velocities and differences of positions agree


def units_of(units: str | Sequence[str], known: Mapping[str, tuple[str, float]] = UNITS) -> dict[str, float]:
    """Factors from the given units of angle, time and other known quantities to ours."""
    found: dict[str, float] = {}
    for word in names_in(units.replace(",", " ").split() if isinstance(units, str) else units, "units"):
        if word not in known:
            raise NameNotFound(f"unknown unit {shorten(word)}; {suggest(word, known)}", "units")
        of, size = known[word]
        if of in found:
            raise InputError(f"{of} have two units in {shorten(units)}; give one.", "units")
        found[of] = size
    return found


def ask_about_times(t: Floats, q: Floats | None, qd: Floats | None, name: str) -> None:
    """Refuse times (T,), at least three, that look like milliseconds or less."""
    factor, why = _time_doubt(t, q, qd)
    if why:
        unit = {1e3: "ms", 1e6: "us", 1e9: "ns"}[factor]
        raise InputError(
            f"{why}. Are times in {unit}? Set units to {unit}, or to s if the values are "
            f"right (--units {unit}).",
            name,
        )


def _time_doubt(t: Floats, q: Floats | None, qd: Floats | None) -> tuple[float, str]:
    """Factor by which times may be too large, and the reason."""
    apart = np.diff(t)
    median = float(np.median(apart))
    if q is not None and qd is not None:
        moved = np.abs(np.diff(q, axis=0)).sum(axis=0)
        told = (np.abs(qd[1:] + qd[:-1]) / 2.0 * apart[:, None]).sum(axis=0)
        k = int(np.argmax(moved))
        ratio = told[k] / moved[k] if moved[k] > 0.0 else 1.0
        for factor in (1e3, 1e6, 1e9):
            if factor / NEAR < ratio < factor * NEAR:
                return factor, f"positions change {ratio:.4g} times more slowly than the velocities"
        return 1.0, ""
    for factor in (1e9, 1e6, 1e3):
        if median >= SLOW * factor / 1e3:
            return factor, f"rows are {median:.6g} s apart"
    return 1.0, ""
