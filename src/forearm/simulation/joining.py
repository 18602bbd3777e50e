"""Join a simulation and its continuation."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from forearm.errors import InputError
from forearm.simulation.npz import same_numbers
from forearm.simulation.result import STATES, Array, Simulation

COUNTED_ON = ("supplied", "lost")  # cumulative energies


def joined(before: Simulation, after: Simulation) -> Simulation:
    """Join both into one simulation; the sample at which they meet is taken from the later one, with its
    input.

    Args:
        before: the first simulation.
        after: its continuation, simulated with `continued=before`.
    """
    does_meet = before.t[-1] == after.t[0] and np.array_equal(before.q[-1], after.q[0])
    if not does_meet or not same_numbers(before.arm, after.arm):
        raise InputError(
            f"{after!r} does not continue {before!r}; simulate it with continued= the first.", "joined"
        )

    def both(a: Array, b: Array, counts: bool = False) -> Array:
        return np.concatenate([a[:-1], b + a[-1] if counts else b])

    values: dict[str, Any] = {f.name: getattr(after, f.name) for f in fields(Simulation)}
    values |= {name: both(getattr(before, name), values[name]) for name in ("t", *STATES)}
    for name, counted in (("energy", COUNTED_ON), ("lost", after.lost), ("drives", ())):
        old = getattr(before, name)
        values[name] = {
            key: both(old[key], block, key in counted) for key, block in values[name].items() if key in old
        }
    has_voltages = before.voltage is not None and after.voltage is not None
    values["voltage"] = both(before.voltage, after.voltage) if has_voltages else None  # type: ignore[arg-type]
    return Simulation(**values | {"events": (*before.events, *after.events)})
