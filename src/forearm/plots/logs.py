"""A log compared with the model: both torques of every joint, and the residual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from forearm.charts import Chart, Curve, CurveLook
from forearm.errors import InputError
from forearm.identification.logs_against_model import LogComparison
from forearm.identification.report.thinning import running_time
from forearm.identification.result import Identification
from forearm.plots.figure import save_figure, stacked
from forearm.spatial import Floats

__all__ = ["identified_figure", "log_figure", "save_figure"]

MOST_JOINTS = 60
LOOKS = (CurveLook(6, 0, 0.65), CurveLook(0, 1), CurveLook(1, 2, 0.8))  # black, blue, red


def log_figure(comparison: LogComparison) -> Any:
    """One panel per joint: measured, model, and residual; gaps in the log are gaps in the curves."""
    curves = {"measured": comparison.measured, "model": comparison.model, "residual": comparison.residual}
    heading = f"{comparison.name}: measured torque and model"
    return effort_figure(heading, comparison.joints, comparison.kinds, comparison.t, curves)


def identified_figure(found: Identification) -> Any:
    """One panel per joint, logs in sequence: measured, predicted by the identified arm, and residual."""
    curves = {"measured": found.measured, "predicted": found.predicted, "residual": found.residual}
    joints = found.arm.joints
    t = running_time(found.t, found.log_of)
    heading = f"{found.arm.name}: measured torque and identified model"
    return effort_figure(heading, [j.name for j in joints], [j.kind for j in joints], t, curves)


def effort_figure(
    heading: str, joints: Sequence[str], kinds: Sequence[str], t: Floats, blocks: Mapping[str, Floats]
) -> Any:
    """One panel per joint with up to three curves (T, n) over times (T,)."""
    if len(joints) > MOST_JOINTS:
        raise InputError(
            f"a picture of a log shows at most {MOST_JOINTS} joints; this arm has {len(joints)}."
        )
    steps = np.diff(t)
    breaks = np.flatnonzero(steps > 2.5 * np.median(steps)) + 1 if len(t) > 1 else np.zeros(0, dtype=int)
    t = np.insert(t, breaks, np.nan)
    charts = []
    for i, (joint, kind) in enumerate(zip(joints, kinds, strict=True)):
        lines = [
            Curve(t, np.insert(block[:, i], breaks, np.nan), label, style)
            for (label, block), style in zip(blocks.items(), LOOKS, strict=False)
        ]
        effort = "torque, N m" if kind == "revolute" else "force, N"
        charts.append(Chart("time, s", effort, lines, joint, legend=None if i else "", height=0.85))
    return stacked(charts, heading)
