"""An identification as one document of plain values, texts and lists."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from forearm.files.armfile_write import to_document
from forearm.identification.report.advice import measure_next
from forearm.identification.report.rows import parameter_rows

if TYPE_CHECKING:
    from forearm.identification.result import Identification

FORMAT = "forearm-identification/1"
ROW = ("name", "label", "unit", "before", "value", "std", "low", "high")
LOG = (
    *("name", "rows", "used", "pieces", "duration", "period", "effort", "cutoff", "window"),
    *("q_noise", "qd_error", "qdd_error", "effort_noise", "findings"),
)


def document(found: Identification) -> dict[str, Any]:
    """Everything but the samples; non-finite values are None."""
    agreement = found.agreement
    columns = {
        "measured_rms": agreement.measured,
        **_fields(agreement, "rms_before", "rms", "rms_left_out"),
        "noise": found.noise,
        **_fields(agreement, "explained", "explained_before"),
    }
    made: dict[str, Any] = {
        "format": FORMAT,
        "name": found.arm.name,
        "torque_side": found.torque_side,
        "confidence": found.confidence,
        "joints": [
            {"name": joint.name} | {key: column[i] for key, column in columns.items()}
            for i, joint in enumerate(found.arm.joints)
        ],
        "parameters": [_fields(row, *ROW) for row in parameter_rows(found)],
        "covariance": found.covariance,
        "logs": [
            _fields(log.signals, *LOG)
            | _fields(log, "shift", "shift_std")
            | _fields(log.agreement, "rms", "rms_before", "rms_left_out")
            for log in found.logs
        ],
        "stages": [_fields(x, "name", "message", "rms", "parameters", "std") for x in found.stages],
        "tests": [vars(test) for test in found.tests],
        "findings": found.findings,
        "unidentifiable": found.unidentifiable,
        "measure_next": measure_next(found),
        "arm": to_document(found.arm),
    }
    plain: dict[str, Any] = _plain(made)
    return plain


def _fields(value: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(x) for key, x in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(x) for x in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value
