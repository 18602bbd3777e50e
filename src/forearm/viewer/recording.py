"""A simulation for the page to play: every curve sampled at equally spaced times."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from forearm.simulation.result import Simulation
from forearm.spatial import Floats

Json = dict[str, Any]
MAX_FRAMES = 2000
MAX_EVENTS = 500  # listed events; the page states the total
RATE = 60.0  # least number of frames per second


def recording_of(simulation: Simulation) -> Json:
    """What the page plays: every curve at equally spaced times, and the events."""
    times = frame_times(simulation)
    return {
        "start": float(times[0]),
        "end": float(times[-1]),
        "frames": len(times),
        "panels": _panels(simulation, times),
        "happened": len(simulation.events),
        "events": [
            {"t": event.t, "kind": event.kind, "joint": event.joint, "text": event.text}
            for event in simulation.events[:MAX_EVENTS]
        ],
    }


def summary_of(simulation: Simulation) -> str:
    """Method, span and outcome of the simulation."""
    span = f"{simulation.t[0]:g} to {simulation.t[-1]:g} s, {len(simulation.t)} samples"
    return f"{simulation.method}, {span}. {simulation.message}"


def frame_times(simulation: Simulation) -> Floats:
    """Equally spaced times from first to last: as many as there are samples, more if these are far apart, at
    most MAX_FRAMES.
    """
    t = simulation.t
    wanted = max(len(t), math.ceil(min(float(t[-1] - t[0]) * RATE, MAX_FRAMES)) + 1)
    times = np.linspace(t[0], t[-1], min(wanted, MAX_FRAMES) if t[-1] > t[0] else 1)
    return np.clip(times, t[0], t[-1])


def _panels(simulation: Simulation, times: Floats) -> list[Json]:
    """The curves by panel, positions first; quantities without derivatives are interpolated linearly."""
    kinds = {joint.kind for joint in simulation.arm.joints}
    names = [joint.name for joint in simulation.arm.joints]

    def words(turning: str, sliding: str) -> str:
        return " or ".join(
            word for kind, word in (("revolute", turning), ("prismatic", sliding)) if kind in kinds
        )

    def straight(block: Floats) -> Floats:
        columns = [np.interp(times, simulation.t, column) for column in block.T]
        return np.column_stack(columns) if columns else np.empty((len(times), 0))

    q, qd = simulation.at(times)
    blocks = [(f"position, {words('rad', 'm')}", q), (f"velocity, {words('rad/s', 'm/s')}", qd)]
    blocks.append((f"{words('torque', 'force')}, {words('N m', 'N')}", straight(simulation.tau)))
    error = getattr(simulation, "error", None)  # of a controlled run
    if error is not None:
        blocks.append((f"error, {words('rad', 'm')}", straight(error)))
    if simulation.voltage is not None:
        blocks.append(("voltage, V", straight(simulation.voltage)))
    panels = [
        {"title": title, "joints": True, "names": names, "data": _encoded(block)} for title, block in blocks
    ]
    if simulation.energy:
        energies = straight(np.column_stack(list(simulation.energy.values())))
        panels.append(
            {
                "title": "energy, J",
                "joints": False,
                "names": list(simulation.energy),
                "data": _encoded(energies),
            }
        )
    return panels


def _encoded(block: Floats) -> str:
    """Numbers (T, m) as little-endian float32 in base64, one column after the other."""
    with np.errstate(over="ignore"):
        return base64.b64encode(block.T.astype("<f4").tobytes()).decode()
