"""Check parameters of many arms at once: refuse rows that are not physically consistent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.arm.drive import DIRECTIONS
from forearm.arm.link import ROUNDING, SEMIDEFINITE_SLACK, SMALLEST
from forearm.arm.named_values import declared_number
from forearm.errors import InputError
from forearm.spatial import TENSOR
from forearm.values import LARGEST

Floats = NDArray[np.float64]
AT_ONCE = 1 << 15  # rows per batch of principal moments


def check_rows(arm: Arm, values: Mapping[str, Floats]) -> None:
    """Refuse parameters, (B,) or one for all, that no physical arm has.

    Args:
        arm: the arm whose parameters they override.
        values: values by name.
    """
    for name, x in values.items():
        _refuse(name, x, ~(np.abs(x) <= LARGEST), f"must be finite and at most {LARGEST:g}")
        if (field := declared_number(name)) is not None:
            _refuse(name, x, x < field.minimum, f"must be at least {field.minimum:g}")
            _refuse(name, x, x <= field.above, f"must be above {field.above:g}")
            _refuse(name, x, (x == 0.0) & bool(field.nonzero), f"must not be 0; {field.nonzero}")
        for way, sign in zip(DIRECTIONS, (1.0, -1.0), strict=True):
            if name.endswith((f".friction.coulomb.{way}", f".friction.static.{way}")):
                bound = "at least 0" if sign > 0.0 else "at most 0, so that it brakes"
                _refuse(name, x, sign * x < 0.0, f"must be {bound}")
    own = arm.named_values
    for joint in arm.tree:
        for way, sign in zip(DIRECTIONS, (1.0, -1.0), strict=True):
            static, coulomb = (f"{joint.name}.friction.{kind}.{way}" for kind in ("static", "coulomb"))
            if static in own and (static in values or coulomb in values):
                x, least = (np.asarray(values.get(name, own[name])) for name in (static, coulomb))
                below = sign * x < sign * least
                _refuse(static, np.broadcast_to(x, below.shape), below, f"must not be smaller than {coulomb}")


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


def _refuse(name: str, x: Any, wrong: Any, why: str) -> None:
    if np.any(wrong):
        k = int(np.argmax(wrong)) if np.ndim(wrong) else None
        value = float(x if k is None else x[k])
        _say(name, k, f"{why}, got {value:g}.")


def _say(name: str, row: int | None, why: str) -> NoReturn:
    where = "" if row is None else f", row {row}"
    raise InputError(f"{why}", "parameters", f"{name}{where}")
