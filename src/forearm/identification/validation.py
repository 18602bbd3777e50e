"""Validation of an identification on a log that was not used in the fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forearm.errors import InputError
from forearm.identification.agreement import Prediction, agreement_of, compared
from forearm.identification.drive_law import OFFSET
from forearm.identification.effort_model import EffortModel, effort_model, effort_scale
from forearm.identification.motor_fit import motor_constants
from forearm.identification.report.summary import percent
from forearm.identification.requests import LogReading
from forearm.identification.rows import row_source
from forearm.identification.signals.prepare import prepare_log
from forearm.spatial import Floats
from forearm.tables import Report, number
from forearm.values import frozen

if TYPE_CHECKING:
    from forearm.identification.result import Identification


LEAST_TRAVEL = 1e-3  # rad (m): a joint with dry friction that moves less is at rest


@frozen
class Validation:
    """Residuals of the new arm and the one before on a validation log.

    Attributes:
        name: of the log.
        joints: their names.
        units: of their efforts.
        rows: number of compared rows per joint (n,); 0: it is at rest, and the figures below are NaN.
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
        columns = np.stack([self.measured, self.rms_before, self.rms], axis=1)
        rows = [
            [joint, unit, *(number(x if count else None, 4) for x in values), percent(share)]
            for joint, unit, count, values, share in zip(
                self.joints, self.units, self.rows, columns.tolist(), self.explained.tolist(), strict=True
            )
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


def validate(found: Identification, log: Any, shift: float | None, reading: LogReading | None) -> Validation:
    """Evaluate the identified arm on another log, compared with the arm as given.

    Identified offsets and gains are attributed to the sensors; no payload is assumed beyond the arm's.
    """
    prepared = prepare_log(found.arm, log, reading=reading)
    known = prepared.signals
    later = float(np.mean([one.shift for one in found.logs])) if shift is None else shift
    scale = effort_scale(known.effort, *motor_constants(found.arm, prepared, None))
    source = row_source(prepared, scale, later)
    before = effort_model(found.before, found.torque_side, None, rotors=False)
    model = effort_model(found.arm, found.torque_side, None, rotors=False, base=before.base)
    joints = found.arm.joints
    gains = np.array([found.parameters.get(f"{j.name}.gain", 1.0) for j in joints])
    arms = Prediction(model, _with_offsets(model, found), gains), Prediction(before, before.values())
    moves = (known.q_high - known.q_low > LEAST_TRAVEL) | ~np.array(model.is_dry)
    blocks = [
        agreement_of(rows.usable & moves, rows.measured, rows.predicted)
        for rows in compared(source, model, arms)
    ]
    agreement = sum(blocks[1:], blocks[0])
    still = [j.name for j, rows in zip(joints, agreement.rows, strict=True) if not rows]
    if len(still) == len(joints):
        raise InputError("no sample can be compared with the model: no joint moves.", known.name)
    findings = known.findings
    if still:
        findings += (f"{', '.join(still)}: not compared, as friction is unknown at rest.",)
    return Validation(
        known.name,
        tuple(j.name for j in joints),
        tuple("N" if j.kind == "prismatic" else "N m" for j in joints),
        agreement.rows,
        agreement.measured,
        agreement.rms,
        agreement.rms_before,
        agreement.explained,
        findings,
    )


def _with_offsets(model: EffortModel, found: Identification) -> Floats:
    """The unknowns with the arm's values, and the identified offsets."""
    x = model.values()
    for i, joint in enumerate(model.arm.joints):
        place = model.place(i, OFFSET)
        if place is not None:
            x[place] = found.parameters.get(f"{joint.name}.{OFFSET}", 0.0)
    return x
