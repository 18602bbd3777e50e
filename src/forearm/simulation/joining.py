"""Join a simulation and its continuation."""

from __future__ import annotations

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
    if (
        not same_numbers(before.arm, after.arm)
        or before.t[-1] != after.t[0]
        or (before.q[-1] != after.q[0]).any()
    ):
        raise InputError(
            f"{after!r} does not continue {before!r}; simulate it with continued= the first.", "joined"
        )

    def put_together(a: Array, b: Array) -> Array:
        return np.concatenate([a[:-1], b])

    has_voltage = before.voltage is not None and after.voltage is not None
    return Simulation(
        arm=after.arm,
        method=after.method,
        step=after.step,
        t=put_together(before.t, after.t),
        **{name: put_together(getattr(before, name), getattr(after, name)) for name in STATES},
        voltage=put_together(before.voltage, after.voltage) if has_voltage else None,  # type: ignore[arg-type]
        energy={
            name: put_together(
                before.energy[name], column + (before.energy[name][-1] if name in COUNTED_ON else 0.0)
            )
            for name, column in after.energy.items()
            if name in before.energy
        },
        lost={
            name: put_together(before.lost[name], block + before.lost[name][-1])
            for name, block in after.lost.items()
            if name in before.lost
        },
        events=(*before.events, *after.events),
        message=after.message,
        checkpoint=after.checkpoint,
        status=after.status,
        drives={
            name: put_together(before.drives[name], block)
            for name, block in after.drives.items()
            if name in before.drives
        },
    )
