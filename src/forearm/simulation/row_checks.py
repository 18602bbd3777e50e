"""Check parameters of many arms at once: refuse rows that are not physically consistent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.arm.drive import DIRECTIONS, Friction, Motor
from forearm.arm.link import ROUNDING, SEMIDEFINITE_SLACK, SMALLEST
from forearm.errors import InputError
from forearm.reading.fields import Field, NumberField
from forearm.records import declaration
from forearm.spatial import TENSOR
from forearm.values import as_floats

Floats = NDArray[np.float64]
AT_ONCE = 1 << 15  # rows per batch of principal moments
# Of arm parameters, by the end of their names; others may be any number.
FIELDS: dict[str, Field] = {
    ".mass": NumberField(minimum=0.0),
    **{f".friction.{key}": field for key, field in declaration(Friction).items()},
    **{f".motor.{key}": field for key, field in declaration(Motor).items()},
    ".positive": NumberField(minimum=0.0),  # of coulomb and static friction
    ".negative": NumberField(maximum=0.0),  # so that it brakes
}


def check_rows(arm: Arm, values: Mapping[str, Floats]) -> None:
    """Refuse parameters, (B,) or one for all, that no physical arm has.

    Args:
        arm: the arm whose parameters they override.
        values: values by name.
    """
    for name, x in values.items():
        field = next((field for end, field in FIELDS.items() if name.endswith(end)), NumberField())
        for k in {int(np.argmin(x)), int(np.argmax(x)), int(np.argmin(np.abs(x)))} if x.size else ():
            field.read(float(x.flat[k]), ", ".join(_place(name, k if x.ndim else None)))
    own = arm.named_values
    for joint in arm.tree:
        for way, sign in zip(DIRECTIONS, (1.0, -1.0), strict=True):
            static, coulomb = (f"{joint.name}.friction.{kind}.{way}" for kind in ("static", "coulomb"))
            if static in own and (static in values or coulomb in values):
                x, least = (np.asarray(values.get(name, own[name])) for name in (static, coulomb))
                below = sign * x < sign * least
                if below.any():
                    k = int(np.argmax(below))
                    _say(static, k if below.ndim else None, f"must not be smaller than {coulomb}.")


def check_tensors(
    body: str, values: Mapping[str, Floats], own: Mapping[str, float], needs_mass: bool = False
) -> None:
    """Refuse inertias of a body that are not positive semidefinite, as `Link` does.

    Args:
        body: prefix of its parameter names.
        values: values by name, (B,) or one for all.
        own: its values where none are given; 0 if unknown.
        needs_mass: whether an inertia requires a mass.
    """
    names = [f"{body}.inertia.{key}" for key in TENSOR]
    given = [name for name in names if name in values]
    if not given:
        return
    known = [np.asarray(values.get(name, own.get(name, 0.0))) for name in (*names, f"{body}.mass")]
    *entries, mass = np.broadcast_arrays(*known)
    rows = [np.atleast_1d(x) for x in entries]
    masses = np.atleast_1d(mass)
    for first in range(0, len(masses), AT_ONCE):
        some = slice(first, first + AT_ONCE)
        m = masses[some]
        tensor = np.empty((len(m), 3, 3))
        for x, (i, k) in zip(rows, TENSOR.values(), strict=True):
            tensor[:, i, k] = tensor[:, k, i] = x[some]
        scale = np.maximum(np.trace(tensor, axis1=1, axis2=2), np.abs(tensor).max(axis=(1, 2)))
        slack = np.maximum(np.maximum(SEMIDEFINITE_SLACK * scale, m * SMALLEST**2), ROUNDING)
        moments = np.linalg.eigvalsh(tensor)
        if (wrong := moments[:, 0] < -slack).any():
            k = int(np.argmax(wrong))
            listed = ", ".join(f"{x:.6g}" for x in moments[k])
            _say(
                f"{body}.inertia",
                first + k if mass.ndim else None,
                f"must be positive semidefinite, got principal moments {listed} kg m^2.",
            )
        if needs_mass and (wrong := (m == 0.0) & (scale > 0.0)).any():
            k = first + int(np.argmax(wrong))
            _say(
                f"{body}.inertia", k if mass.ndim else None, f"an inertia without {body}.mass; give 0 there."
            )


def _say(name: str, row: int | None, why: str) -> NoReturn:
    raise InputError(why, *_place(name, row))


def _place(name: str, row: int | None) -> tuple[str, ...]:
    return ("parameters", name) if row is None else ("parameters", name, f"row {row}")


def as_array(given: ArrayLike, what: str) -> Floats:
    """Convert to an array, without a copy where possible: it may be large."""
    is_plain = isinstance(given, np.ndarray) and given.dtype == np.float64
    return np.asarray(given) if is_plain else as_floats(given, what)
