"""Simulations in .npz files: all fields and the arm, round-tripped bit for bit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm, check_arm
from forearm.errors import InputError, located, shorten
from forearm.files.armfile_read import arm_from_document
from forearm.files.armfile_write import to_document
from forearm.reading.npz import read_archive, write_archive
from forearm.simulation.controlled import MEASURED, MOTOR, WANTED, Run
from forearm.simulation.result import STATES, Array, Event, Simulation
from forearm.simulation.solution import Status
from forearm.values import check_ending, check_kind

FORMAT = "forearm-simulation/1"
CONTROL = ("controller", "period", "operations")
PLAIN = ("method", "step", "message", "checkpoint")
BLOCKS = {"energy": "energy", "lost": "lost", "drives": "drive"}  # arrays by name, and their prefix


def write_simulation(simulation: Simulation, path: str | os.PathLike[str]) -> None:
    """Write the file atomically."""
    write_archive(path, _header(simulation), _arrays(simulation))


def load_simulation(path: str | os.PathLike[str], arm: Arm | None = None) -> Simulation:
    """Load a simulation from an .npz file, bit for bit.

    Args:
        path: the file.
        arm: arm that replaces the one in the file; its name and notes may differ, its parameters may not.
            None: the arm in the file.
    """
    name = Path(path).name
    check_ending(path, (".npz",), "a whole simulation (.csv and .parquet are tables for other programs)")
    header, arrays = read_archive(path)
    try:
        with located(name):
            if header["format"] != FORMAT:
                raise InputError(f"this version reads {FORMAT!r}, got {shorten(header['format'])}.")
            loaded = _simulation(header, arrays, _arm(header["arm"], arm))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise InputError(f"not a simulation, or damaged: {shorten(str(error), 200)}.", name) from error
    return loaded


def _simulation(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], arm: Arm) -> Simulation:
    for name, array in arrays.items():
        if array.dtype != np.float64:
            raise InputError(f"expected 64-bit numbers, got {array.dtype}.", shorten(name))
    kind: type[Simulation] = Simulation
    more: dict[str, Any] = {}
    if "control" in header:  # a run under a controller
        kind, more = Run, {name: header["control"][name] for name in CONTROL}
        for name, keys in (("wanted", WANTED), ("measured", MEASURED), ("measured_motor", MOTOR)):
            more[name] = tuple(arrays[key] for key in keys) if keys != MOTOR or keys[0] in arrays else None
        more |= {"asked": arrays["asked"], "saturated": arrays["saturated"] != 0.0}
    more |= {name: header[name] for name in PLAIN} | {name: arrays[name] for name in ("t", *STATES)}
    for name, prefix in BLOCKS.items():
        more[name] = {key: arrays[f"{prefix}_{key}"] for key in header.get(name, ())}
    return kind(
        arm=arm,
        voltage=arrays.get("voltage"),
        events=tuple(Event(*event) for event in header["events"]),
        status=Status[header["status"]],
        **more,
    )


def _arm(document: Any, given: Arm | None) -> Arm:
    """The arm in the file, or the given one if its parameters are the same."""
    check_kind(document, dict, "arm")
    if "parts" in document:
        raise InputError("expected its parameters here, not a file of parts.", "arm")
    kept = arm_from_document(document, "arm")
    if given is None:
        return kept
    check_arm(given, "load_simulation, arm")
    if not same_numbers(given, kept):
        raise InputError(
            f"it was computed with {kept.name!r}, {kept.n} joints, and {given.name!r}, {given.n} joints, "
            "has other parameters. Leave the arm out to get the one it was computed with."
        )
    return given


def same_numbers(a: Arm, b: Arm) -> bool:
    """Whether two arms are equal up to name, source, notes and deviations."""
    plain = b.replace(deviations={})
    return a is b or a.replace(name=b.name, source=b.source, notes=b.notes, deviations={}) == plain


def _header(simulation: Simulation) -> dict[str, Any]:
    control = {name: getattr(simulation, name) for name in CONTROL} if isinstance(simulation, Run) else None
    return ({} if control is None else {"control": control}) | {
        "format": FORMAT,
        "arm": to_document(simulation.arm),
        "method": simulation.method,
        "step": simulation.step,
        "message": simulation.message,
        "status": simulation.status.name,
        **{name: list(getattr(simulation, name)) for name in BLOCKS},
        "events": [[event.t, event.kind, event.joint, event.text] for event in simulation.events],
        "checkpoint": simulation.checkpoint,
    }


def _arrays(simulation: Simulation) -> dict[str, Array]:
    arrays = {name: getattr(simulation, name) for name in ("t", *STATES)}
    arrays |= {"voltage": simulation.voltage} if simulation.voltage is not None else {}
    arrays |= simulation.blocks() if isinstance(simulation, Run) else {}
    for name in ("energy", "drives", "lost"):
        arrays |= {f"{BLOCKS[name]}_{key}": block for key, block in getattr(simulation, name).items()}
    return arrays
