"""A log compared with the model: both torques of every joint, and the residual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from forearm.errors import InputError
from forearm.identification.logs_against_model import LogComparison
from forearm.identification.report.thinning import running_time
from forearm.identification.result import Identification
from forearm.plots.figure import (
    BLACK,
    BLUE,
    RED,
    SMALL,
    THIN,
    WIDTH,
    dash,
    drawn,
    legend_of_figure,
    new_figure,
    put_heading,
    save_figure,
    shown,
)
from forearm.spatial import Floats

__all__ = ["identified_figure", "log_figure", "save_figure"]

MOST = 4000  # samples per curve
ROWS = 10  # stacked panels
MOST_JOINTS = 60
PANEL = 4.2  # inches: width of a column of panels, if there are several
LOOKS = ((BLACK, dash(0), THIN), (BLUE, dash(1), 1.4), (RED, dash(2), 1.1))  # colour, dashes, points


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


@drawn
def effort_figure(
    heading: str, joints: Sequence[str], kinds: Sequence[str], t: Floats, curves: Mapping[str, Floats]
) -> Any:
    """One panel per joint with up to three curves (T, n) over times (T,)."""
    n = len(joints)
    if n > MOST_JOINTS:
        raise InputError(f"a picture of a log shows at most {MOST_JOINTS} joints; this arm has {n}.")
    columns = -(-n // ROWS)
    rows = -(-n // columns)
    height = 1.0 + 1.45 * rows
    figure = new_figure(max(WIDTH, PANEL * columns + 1.0), height)
    panels = figure.subplots(rows, columns, sharex=True, squeeze=False).T.ravel()
    for empty in panels[n:]:
        empty.set_visible(False)
    axes = panels[:n]
    thin = slice(None, None, max(1, len(t) // MOST))
    t = t[thin]
    breaks = (
        np.flatnonzero(np.diff(t) > 2.5 * np.median(np.diff(t))) + 1 if len(t) > 1 else np.zeros(0, dtype=int)
    )
    t = np.insert(t, breaks, np.nan)
    for i, axis in enumerate(axes):
        for (label, curve), (colour, dashes, width) in zip(curves.items(), LOOKS, strict=False):
            values = np.insert(curve[thin, i], breaks, np.nan)
            axis.plot(t, values, color=colour, linestyle=dashes, linewidth=width, label=label)
        axis.set_ylabel("torque\nN m" if kinds[i] == "revolute" else "force\nN")
        axis.set_title(shown(joints[i]), fontsize=SMALL, pad=2.0)
        axis.margins(x=0.01)
    put_heading(figure, heading)
    for k in range(columns):
        last = axes[min((k + 1) * rows, n) - 1]
        last.set_xlabel("time, s")
        last.tick_params(labelbottom=True)
    legend_of_figure(figure, height, [("", axes[0])])
    figure.align_ylabels(axes)
    return figure
