"""A log against the model as a picture: both torques of every joint, and what is left."""

from __future__ import annotations

from typing import Any

import numpy as np

from forearm.errors import InputError
from forearm.identification.logs_against_model import LogComparison
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

__all__ = ["log_figure", "save_figure"]

MOST = 4000  # samples of a curve
ROWS = 10  # panels under each other
MOST_JOINTS = 60
PANEL = 4.2  # inches: the width of a column of panels, where there are several
CURVES = (  # label, attribute, colour, dashes, points
    ("measured", "measured", BLACK, dash(0), THIN),
    ("model", "model", BLUE, dash(1), 1.4),
    ("what is left", "residual", RED, dash(2), 1.1),
)


@drawn
def log_figure(comparison: LogComparison) -> Any:
    """A panel a joint: measured, model, and their difference; a gap in the log is a gap in the curves."""
    n = len(comparison.joints)
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
    thin = slice(None, None, max(1, len(comparison.t) // MOST))
    t = comparison.t[thin]
    breaks = (
        np.flatnonzero(np.diff(t) > 2.5 * np.median(np.diff(t))) + 1 if len(t) > 1 else np.zeros(0, dtype=int)
    )
    t = np.insert(t, breaks, np.nan)
    for i, axis in enumerate(axes):
        for label, name, colour, dashes, width in CURVES:
            values = np.insert(getattr(comparison, name)[thin, i], breaks, np.nan)
            axis.plot(t, values, color=colour, linestyle=dashes, linewidth=width, label=label)
        axis.set_ylabel("torque\nN m" if comparison.kinds[i] == "revolute" else "force\nN")
        axis.set_title(shown(comparison.joints[i]), fontsize=SMALL, pad=2.0)
        axis.margins(x=0.01)
    put_heading(figure, f"{comparison.name}: measured torque and model")
    for k in range(columns):
        last = axes[min((k + 1) * rows, n) - 1]
        last.set_xlabel("time, s")
        last.tick_params(labelbottom=True)
    legend_of_figure(figure, height, [("", axes[0])])
    figure.align_ylabels(axes)
    return figure
