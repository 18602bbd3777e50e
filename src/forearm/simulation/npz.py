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
from forearm.simulation.controlled import MOTOR, Run
from forearm.simulation.result import STATES, Array, Event, Simulation
from forearm.simulation.solution import Status
from forearm.values import check_ending, check_kind

FORMAT = "forearm-simulation/1"
CONTROL = ("controller", "period", "operations")


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
    events = tuple(Event(*event) for event in header["events"])
    for name, array in arrays.items():
        if array.dtype != np.float64:
            raise InputError(f"expected 64-bit numbers, got {array.dtype}.", shorten(name))
    is_controlled = "control" in header
    kind: type[Simulation] = Run if is_controlled else Simulation
    more: dict[str, Any] = _control(header["control"], arrays) if is_controlled else {}
    more |= {name: arrays[name] for name in STATES}
    return kind(
        arm=arm,
        method=header["method"],
        step=header["step"],
        message=header["message"],
        t=arrays["t"],
        voltage=arrays.get("voltage"),
        energy={name: arrays[f"energy_{name}"] for name in header["energy"]},
        lost={name: arrays[f"lost_{name}"] for name in header["lost"]},
        events=events,
        checkpoint=header["checkpoint"],
        status=Status[header["status"]],
        drives={name: arrays[f"drive_{name}"] for name in header.get("drives", ())},
        **more,
    )


def _control(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Additional fields of a run under a controller."""
    return {
        **{name: header[name] for name in CONTROL},
        "wanted": tuple(arrays[f"wanted_{name}"] for name in ("q", "qd", "qdd")),
        "measured": tuple(arrays[f"measured_{name}"] for name in ("q", "qd")),
        "measured_motor": tuple(arrays[name] for name in MOTOR) if MOTOR[0] in arrays else None,
        "asked": arrays["asked"],
        "saturated": arrays["saturated"] != 0.0,
    }


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
        "energy": list(simulation.energy),
        "lost": list(simulation.lost),
        "drives": list(simulation.drives),
        "events": [[event.t, event.kind, event.joint, event.text] for event in simulation.events],
        "checkpoint": simulation.checkpoint,
    }


def _arrays(simulation: Simulation) -> dict[str, Array]:
    arrays = {"t": simulation.t} | {name: getattr(simulation, name) for name in STATES}
    arrays |= {"voltage": simulation.voltage} if simulation.voltage is not None else {}
    arrays |= simulation.blocks() if isinstance(simulation, Run) else {}
    arrays |= {f"energy_{name}": column for name, column in simulation.energy.items()}
    arrays |= {f"drive_{name}": block for name, block in simulation.drives.items()}
    return arrays | {f"lost_{name}": block for name, block in simulation.lost.items()}
