"""Unknowns of a stage: which are free, which are tied to others, which are fixed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from forearm.dynamics.regressor import PARAMETERS
from forearm.errors import InputError, ModelError
from forearm.identification.drive_law import COULOMB, OFFSET
from forearm.identification.effort_model import EffortModel
from forearm.identification.least_squares import FitUnknowns
from forearm.identification.payload.regressor import moved
from forearm.identification.requests import load_of
from forearm.model import model_of
from forearm.spatial import Floats


@dataclass(frozen=True)
class FitRequest:
    """Unknowns requested beyond inertia and friction.

    Attributes:
        offsets: whether torques have offsets; Coulomb friction is then the same in both directions.
        gains: whether torques have gains.
        shifts: for each log whether its shift is estimated.
        loads: for each log the payload: None, "unknown", or its ten parameters.
    """

    offsets: bool
    gains: bool
    shifts: tuple[bool, ...]
    loads: tuple[Any, ...]


def loads_of(payload: Any, logs: int) -> tuple[Any, ...]:
    """For each log its payload: None, "unknown", or the ten parameters (10,) about the hand's origin."""
    several = list(payload) if isinstance(payload, list | tuple) else [payload] * logs
    if len(several) != logs:
        raise InputError(f"expected one entry per log, {logs}, got {len(several)}.", "identify", "payload")
    return tuple(load_of(one, "payload") for one in several)


def unknowns_of(
    model: EffortModel, asked: FitRequest, x: Floats, shifted: Sequence[float], held: Collection[int] = ()
) -> FitUnknowns:
    """The unknowns of a stage.

    Args:
        model: of efforts.
        asked: the request.
        x: values of fixed unknowns, and of nonlinear ones.
        shifted: current shifts of the logs, s.
        held: indices of unknowns of the model that are held fixed.
    """
    p = len(model.base)
    per_load = _per_load(model) if any(load is not None for load in asked.loads) else None
    loads = tuple(per_load if isinstance(load, str) else None for load in asked.loads)
    known = tuple(
        per_load @ load if per_load is not None and isinstance(load, np.ndarray) else np.zeros(p)
        for load in asked.loads
    )
    given = np.where(np.isin(np.arange(len(x)), model.nonlinear), x, model.values())
    names, guess, fixed = list(model.base.names), list(given[:p]), x.copy()
    fixed[:p] = 0.0
    rows: list[Floats] = list(np.eye(p, len(model.names)))
    for k, (_, figure) in enumerate(model.figures, start=p):
        is_tied = figure == COULOMB[1] if asked.offsets else figure == OFFSET
        if is_tied or k in held:
            continue
        row = np.zeros(len(model.names))
        row[k] = 1.0
        if asked.offsets and figure == COULOMB[0]:  # the same both ways
            row[k + 1] = -1.0
        names.append(model.names[k])
        guess.append(float(given[k]))
        rows.append(row)
        fixed[row != 0.0] = 0.0
    size = len(model.names)
    for log, load in enumerate(loads):
        if load is not None:
            where = "payload" if len(asked.loads) == 1 else f"log{log + 1}.payload"
            names += [f"{where}.{parameter}" for parameter in PARAMETERS]
            guess += [0.0] * 10
            size += 10
    for log, is_asked in enumerate(asked.shifts):
        if is_asked:
            names.append(f"log{log + 1}.shift")
            guess.append(0.0)
            size += 1
    gains = len(model.laws) if asked.gains else 0
    if asked.gains:
        names += [f"{joint.name}.gain" for joint in model.arm.joints]
        guess += [1.0] * gains
        size += gains
    whole = np.zeros((size, len(names)))
    whole[: len(model.names), : len(rows)] = np.array(rows).T
    further = size - len(model.names)
    whole[len(model.names) :, len(rows) :] = np.eye(further)
    return FitUnknowns(
        model,
        loads,
        known,
        asked.shifts,
        tuple(names),
        whole,
        np.concatenate([fixed, np.zeros(further)]),
        np.array(guess),
        np.ones(len(model.laws)),
        asked.gains,
        tuple(shifted),
    )


def _per_load(model: EffortModel) -> Floats:
    """Base parameters by the ten parameters of a payload about the hand's origin: Jacobian (p, 10)."""
    whole = model_of(model.arm)
    if whole.hand < 0:
        raise ModelError(
            f"the hand of {model.arm.name!r} is fixed to the base; no joint moves a payload.",
            "identify",
            "payload",
        )
    first = 10 * whole.hand
    return model.base.matrix[:, first : first + 10] @ moved(whole.R_hand, whole.p_hand)
