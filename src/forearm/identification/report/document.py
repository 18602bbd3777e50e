"""An identification as one document of plain values, texts and lists."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from forearm.files.armfile_write import to_document
from forearm.identification.report.advice import measure_next
from forearm.identification.report.rows import parameter_rows

if TYPE_CHECKING:
    from forearm.identification.result import Identification, Stage, UsedLog

FORMAT = "forearm-identification/1"


def document(found: Identification) -> dict[str, Any]:
    """Everything but the samples; non-finite values are None."""
    agreement = found.agreement
    made = {
        "format": FORMAT,
        "name": found.arm.name,
        "torque_side": found.torque_side,
        "confidence": found.confidence,
        "joints": [
            {
                "name": joint.name,
                "measured_rms": agreement.measured[i],
                "rms_before": agreement.rms_before[i],
                "rms": agreement.rms[i],
                "rms_left_out": agreement.rms_left_out[i],
                "noise": found.noise[i],
                "explained": agreement.explained[i],
                "explained_before": agreement.explained_before[i],
            }
            for i, joint in enumerate(found.arm.joints)
        ],
        "parameters": [
            {
                "name": row.name,
                "label": row.label,
                "unit": row.unit,
                "before": row.before,
                "value": row.value,
                "std": row.std,
                "low": row.low,
                "high": row.high,
            }
            for row in parameter_rows(found)
        ],
        "covariance": found.covariance.tolist(),
        "logs": [_log(log) for log in found.logs],
        "stages": [_stage(stage) for stage in found.stages],
        "tests": [vars(test) for test in found.tests],
        "findings": list(found.findings),
        "unidentifiable": list(found.unidentifiable),
        "measure_next": measure_next(found),
        "arm": to_document(found.arm),
    }
    plain: dict[str, Any] = _finite(made)
    return plain


def _log(log: UsedLog) -> dict[str, Any]:
    signals = log.signals
    plain = ("name", "rows", "used", "pieces", "duration", "period", "effort", "cutoff", "window")
    arrays = ("q_noise", "qd_error", "qdd_error", "effort_noise")
    return {
        **{key: getattr(signals, key) for key in plain},
        **{key: getattr(signals, key).tolist() for key in arrays},
        "findings": list(signals.findings),
        "shift": log.shift,
        "shift_std": log.shift_std,
        **{key: getattr(log.agreement, key).tolist() for key in ("rms", "rms_before", "rms_left_out")},
    }


def _stage(stage: Stage) -> dict[str, Any]:
    return {
        "name": stage.name,
        "message": stage.message,
        "rms": stage.rms.tolist(),
        "parameters": dict(stage.parameters),
        "std": dict(stage.std),
    }


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(x) for x in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value
