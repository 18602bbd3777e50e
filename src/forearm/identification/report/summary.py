"""An identification in words and tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from forearm.identification.report.advice import measure_next
from forearm.identification.report.rows import ParameterRow, parameter_rows
from forearm.spatial import Floats
from forearm.tables import Report, number

if TYPE_CHECKING:
    from forearm.identification.result import Identification

EFFORTS = {"tau": "torques", "current": "currents", "voltage": "voltages"}
SIDES = {"motor": "the motor's side of the gear", "link": "the link's side of the gear"}
LIST = "  "  # indent of lists


def report(found: Identification) -> Report:
    """Headline, joints, parameters, logs, stages, and doubts."""
    parts = [joints_table(found), parameters_table(found), logs_table(found)]
    stages = [  # as sentences, which a table would truncate
        f"{stage.name}, {len(stage.parameters)} parameters, residual rms {_several(stage.rms)}: "
        f"{stage.message}"
        for stage in found.stages
    ]
    parts += [
        Report(title=title, after=[f"- {text}" for text in texts], under=LIST)
        for title, texts in (("Stages", stages), *sentences(found))
        if texts
    ]
    return Report(before=headline(found), parts=parts)


def headline(found: Identification) -> list[str]:
    """What was fitted to which data, and how well."""
    logs, samples = len(found.logs), sum(log.signals.used for log in found.logs)
    known = sum(map(math.isfinite, found.std.values()))
    kinds = " and ".join(EFFORTS[k] for k in dict.fromkeys(log.signals.effort for log in found.logs))
    unknown = len(found.std) - known
    rest = f"; {unknown} not determined by the data" if unknown else ""
    return [
        f"{found.arm.name}: {known} parameters from {samples} samples of {logs} log{'s' * (logs != 1)}{rest}",
        f"{kinds}, on {SIDES[found.torque_side]}; explained variance of efforts "
        f"{percent(float(np.nanmin(found.agreement.explained, initial=1.0)))} or more "
        f"({percent(float(np.nanmin(found.agreement.explained_before, initial=1.0)))} before)",
    ]


def joints_table(found: Identification) -> Report:
    """Residuals of each joint's efforts."""
    agreement = found.agreement
    figures = (agreement.measured, agreement.rms_before, agreement.rms, agreement.rms_left_out)
    rows = [
        [
            joint.name,
            effort_unit(found, i),
            *(number(float(c[i]), 4) for c in (*figures, found.noise)),
            percent(float(agreement.explained[i])),
        ]
        for i, joint in enumerate(found.arm.joints)
    ]
    header = [
        "joint",
        "unit",
        "measured rms",
        "residual before",
        "residual",
        "held out",
        "noise",
        "explained",
    ]
    title = "Joints (residual: rms of measured minus model; held out: of data not used in the fit)"
    return Report(header, rows, title)


def effort_unit(found: Identification, i: int) -> str:
    """The unit of the i-th joint's efforts, which are always torques or forces."""
    return "N" if found.arm.joints[i].kind == "prismatic" else "N m"


def parameters_table(found: Identification) -> Report:
    """Every parameter before and now, with its interval."""
    rows = [[row.name, *parameter_cells(row), row.unit or "-"] for row in parameter_rows(found)]
    sure = f"{100.0 * found.confidence:g} %"
    header = ["parameter", "before", "now", "+-", f"{sure} from", "to", "unit"]
    title = "Parameters from the data alone (+-: standard deviation; `labels` has the combinations)"
    return Report(header, rows, title)


def parameter_cells(row: ParameterRow) -> list[str]:
    """Before, now, standard deviation and interval, with significant digits."""
    old = number(row.before, 4) if math.isfinite(row.before) else "-"
    if not row.is_known:
        return [old, "-", "not known", "-", "-"]
    digits = significant(row.value, row.std)
    return [
        old,
        number(row.value, digits),
        number(row.std, 2),
        *(number(x, significant(x, row.std)) for x in (row.low, row.high)),
    ]


def significant(value: float, std: float) -> int:
    """Digits of a value down to the second digit of its standard deviation, 2 to 8."""
    if not (std > 0.0 and value and math.isfinite(value)):
        return 4
    return max(2, min(8, math.floor(math.log10(abs(value))) - math.floor(math.log10(std)) + 2))


def logs_table(found: Identification) -> Report:
    """Every log: size, filter and time shift."""
    rows = []
    for log in found.logs:
        signals = log.signals
        cutoff = f"{number(signals.cutoff, 3)} Hz" if math.isfinite(signals.cutoff) else "as logged"
        spread = f" +- {number(1e3 * log.shift_std, 2)}" if log.shift_std else ""
        rows.append(
            [
                signals.name,
                f"{signals.used} of {signals.rows}",
                f"{number(signals.duration, 4)} s",
                f"{number(1e3 * signals.period, 4)} ms",
                str(signals.pieces),
                cutoff,
                f"{number(1e3 * log.shift, 3)}{spread} ms",
            ]
        )
    header = ["log", "samples", "duration", "period", "pieces", "cut-off", "effort delay"]
    return Report(header, rows, "Logs")


def stages_table(found: Identification) -> Report:
    """The estimation, stage by stage."""
    rows = [
        [stage.name, str(len(stage.parameters)), _several(stage.rms), stage.message] for stage in found.stages
    ]
    return Report(["stage", "parameters", "residual rms by joint", "result"], rows, "Stages")


def _several(values: Floats) -> str:
    return " ".join(number(float(x), 3) for x in values)


def sentences(found: Identification) -> list[tuple[str, list[str]]]:
    """Doubts by title; only titles with content."""
    of_logs = [f"{log.signals.name}: {text}" for log in found.logs for text in log.signals.findings]
    titled = [
        ("Findings", [*found.findings, *of_logs]),
        ("Not determined by the data", list(found.unidentifiable)),
        ("Structure found in the residuals", [test.message for test in found.tests if test.message]),
        ("What to measure next", measure_next(found)),
    ]
    return [(title, texts) for title, texts in titled if texts]


def percent(share: float) -> str:
    """A fraction as a percentage; '-' for NaN."""
    return f"{100.0 * share:.2f} %" if math.isfinite(share) else "-"
