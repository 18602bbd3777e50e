"""A simulation as text and tables."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError
from forearm.simulation.result import Simulation
from forearm.tables import number, text_table

MAX_ROWS = 20_000
MAX_EVENTS = 10
TOLD_APART = 1e-9  # s
# Swartz's names for our fields
COLUMNS = {"theta": "q", "omega": "qd", "alpha": "qdd", "torque": "tau", "voltage": "voltage"}


def samples_of(simulation: Simulation, start: float, finish: float, step: float) -> NDArray[np.intp]:
    """Indices of the samples nearest to start, start + step, ... up to finish; all in between if step is
    0.
    """
    t = simulation.t
    if not t[0] - TOLD_APART <= start <= finish <= t[-1] + TOLD_APART or step < 0.0:
        raise InputError(
            f"expected start, finish after it, both within {number(t[0])} to {number(t[-1])} "
            f"s, and a step of at least 0 s, got {number(start)}, {number(finish)}, "
            f"{number(step)}.",
            "print_simulation",
        )
    inside = np.flatnonzero((t >= start - TOLD_APART) & (t <= finish + TOLD_APART))
    if step > TOLD_APART and len(inside):
        # steps shorter than those of the simulation select all samples
        count = min((finish - start) / step, float(len(t)))
        if count < len(t):
            wanted = start + step * np.arange(int(count + 1e-6) + 1)
            after = np.clip(np.searchsorted(t, wanted), 1, max(len(t) - 1, 1))
            before = after - 1
            after = np.minimum(after, len(t) - 1)
            inside = np.unique(np.where(wanted - t[before] < t[after] - wanted, before, after))
    if len(inside) > MAX_ROWS:
        raise InputError(
            f"{len(inside)} rows exceed the limit of {MAX_ROWS}. Use a longer step, or "
            "write_graphic_file with a name that ends in .csv.",
            "print_simulation",
        )
    return inside


def simulation_table(simulation: Simulation, samples: NDArray[np.intp], width: int | None) -> str:
    """Time, theta, omega, alpha, torque and voltage at these samples."""
    blocks = {name: getattr(simulation, ours) for name, ours in COLUMNS.items()}
    blocks = {name: block for name, block in blocks.items() if block is not None}
    header = ["t", *(f"{name}{i + 1}" for name in blocks for i in range(simulation.arm.n))]
    rows = [
        [number(simulation.t[k]), *(number(float(x)) for b in blocks.values() for x in b[k])] for k in samples
    ]
    return text_table(header, rows, width)


def energies_at_end(simulation: Simulation) -> str:
    """One line of energies."""
    return "energy, J: " + ", ".join(
        f"{name} {number(float(column[-1]))}" for name, column in simulation.energy.items()
    )


def events_listed(simulation: Simulation) -> list[str]:
    """A line for each of the first ten events."""
    events = simulation.events
    lines = [
        f"event at {number(event.t)} s: {event.kind}{f', {event.text}' if event.text else ''}"
        for event in events[:MAX_EVENTS]
    ]
    return lines + ([f"and {len(events) - MAX_EVENTS} more events"] if len(events) > MAX_EVENTS else [])
