"""Validation of an identification on a log that was not used in the fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from forearm.errors import InputError
from forearm.identification.drive_law import OFFSET
from forearm.identification.effort_model import EffortModel, effort_model, effort_scale
from forearm.identification.motor_fit import motor_constants
from forearm.identification.rows import row_source
from forearm.identification.signals.prepare import prepare_log
from forearm.spatial import Floats
from forearm.tables import Report, number

if TYPE_CHECKING:
    from forearm.identification.result import Identification


@dataclass(frozen=True, eq=False)
class Validation:
    """Residuals of the new arm and the one before on a validation log.

    Attributes:
        name: of the log.
        joints: their names.
        units: of their efforts.
        rows: number of compared rows per joint (n,).
        measured: rms of its efforts (n,).
        rms: rms residual of the new arm (n,).
        rms_before: rms residual of the arm as given (n,).
        explained: fraction of their variance that the new arm explains (n,).
        findings: sentences on the log.
    """

    name: str
    joints: tuple[str, ...]
    units: tuple[str, ...]
    rows: Floats
    measured: Floats
    rms: Floats
    rms_before: Floats
    explained: Floats
    findings: tuple[str, ...]

    def report(self) -> Report:
        """One row per joint."""
        columns = (self.measured, self.rms_before, self.rms)
        rows = [
            [joint, unit, *(number(float(c[i]), 4) for c in columns), f"{100.0 * self.explained[i]:.2f} %"]
            for i, (joint, unit) in enumerate(zip(self.joints, self.units, strict=True))
        ]
        header = ["joint", "unit", "measured rms", "residual before", "residual", "explained"]
        title = f"Validation: {self.name}, not used in the fit"
        return Report(header, rows, title, after=[f"- {text}" for text in self.findings], under="  ")

    def to_json(self) -> dict[str, Any]:
        """The validation as plain lists and values."""
        arrays = ("rows", "measured", "rms", "rms_before", "explained")
        made: dict[str, Any] = {"name": self.name, "joints": list(self.joints)}
        for key in arrays:
            values = getattr(self, key).tolist()
            made[key] = [x if np.isfinite(x) else None for x in values]
        return made | {"findings": list(self.findings)}


def validate(
    found: Identification,
    log: Any,
    *,
    shift: float | None = None,
    cutoff: float | None = None,
    derivatives: str | None = None,
    effort: str | None = None,
    columns: Mapping[str, str] | None = None,
    units: str | Sequence[str] = (),
    period: float | None = None,
) -> Validation:
    """Evaluate the identified arm on another log, compared with the arm as given.

    Identified offsets and gains are attributed to the sensors; no payload is assumed beyond the arm's.

    Args:
        found: the identification.
        log: as in `identify`.
        shift: delay of efforts after positions, s; None: as in the logs of the fit.
        cutoff, derivatives, effort, columns, units, period: as in `identify`.
    """
    prepared = prepare_log(
        found.arm,
        log,
        columns=columns,
        units=units,
        period=period,
        cutoff=cutoff,
        derivatives=derivatives,
        effort=effort,
    )
    known = prepared.signals
    later = float(np.mean([one.shift for one in found.logs])) if shift is None else shift
    scale = effort_scale(known.effort, *motor_constants(found.arm, prepared, None))
    source = row_source(prepared, scale, later, known.fastest)
    model, before = (
        effort_model(arm, found.torque_side, None, rotors=False) for arm in (found.arm, found.before)
    )
    x = _with_offsets(model, found)
    gains = np.array([found.parameters.get(f"{j.name}.gain", 1.0) for j in found.arm.joints])
    sums = np.zeros((5, found.arm.n))  # of 1, y, y^2, left^2, left before^2
    mean_left = np.zeros(found.arm.n)
    for rows in source.rows(model, x, before=before):
        assert rows.before is not None
        made = rows.effort - rows.y + model.times(rows.columns, x)  # y: right side
        left = rows.effort - gains * made
        old = rows.effort - rows.before
        terms = (np.ones_like(left), rows.effort, rows.effort**2, left**2, old**2)
        sums += np.array([np.where(rows.usable, term, 0.0).sum(axis=0) for term in terms])
        mean_left += np.where(rows.usable, left, 0.0).sum(axis=0)
    if not sums[0].all():
        joint = found.arm.joints[int(np.flatnonzero(sums[0] == 0.0)[0])].name
        raise InputError(
            f"{known.name}: no sample of {joint} can be compared with the model: it does not move."
        )
    means = sums / sums[0]
    spread = means[2] - means[1] ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        explained = np.where(spread > 0.0, 1.0 - (means[3] - (mean_left / sums[0]) ** 2) / spread, np.nan)
    return Validation(
        known.name,
        tuple(j.name for j in found.arm.joints),
        tuple("N" if j.kind == "prismatic" else "N m" for j in found.arm.joints),
        sums[0],
        np.sqrt(means[2]),
        np.sqrt(means[3]),
        np.sqrt(means[4]),
        explained,
        known.findings,
    )


def _with_offsets(model: EffortModel, found: Identification) -> Floats:
    """The unknowns with the arm's values, and the identified offsets."""
    x = model.values()
    for i, joint in enumerate(model.arm.joints):
        place = model.place(i, OFFSET)
        if place is not None:
            x[place] = found.parameters.get(f"{joint.name}.{OFFSET}", 0.0)
    return x
