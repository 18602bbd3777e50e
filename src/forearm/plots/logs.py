"""A log against the model as a picture: both torques of every joint, and what is left."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from forearm.control.logs_against_model import LogComparison
from forearm.errors import InputError
from forearm.plots.figure import BLACK, BLUE, RED, new_figure, save_figure

MOST = 4000  # samples of a curve
MOST_JOINTS = 24


def save_log_picture(comparison: LogComparison, path: str | os.PathLike[str]) -> None:
    """Write the picture as .png, .svg or .pdf."""
    save_figure(log_figure(comparison), path)


def log_figure(comparison: LogComparison) -> Any:
    """A panel a joint: measured, model, and their difference; a gap in the log is a gap in the curves."""
    n = len(comparison.joints)
    if n > MOST_JOINTS:
        raise InputError(f"a picture of a log shows at most {MOST_JOINTS} joints; this arm has {n}.")
    figure = new_figure(11.0, 1.2 + 1.6 * n)
    axes = figure.subplots(n, 1, sharex=True, squeeze=False)[:, 0]
    thin = slice(None, None, max(1, len(comparison.t) // MOST))
    t = comparison.t[thin]
    breaks = np.flatnonzero(np.diff(t) > 2.5 * np.median(np.diff(t))) + 1 if len(t) > 1 else np.zeros(0, dtype=int)
    t = np.insert(t, breaks, np.nan)
    for i, axis in enumerate(axes):
        curves = (
            ("measured", comparison.measured, BLACK, 0.9), ("model", comparison.model, BLUE, 1.3),
            ("left", comparison.residual, RED, 0.9),
        )  # fmt: skip
        for label, values, colour, width in curves:
            axis.plot(t, np.insert(values[thin, i], breaks, np.nan), color=colour, linewidth=width, label=label)
        name = comparison.joints[i].replace("$", r"\$")
        axis.set_ylabel(f"{name}\n{'N m' if comparison.kinds[i] == 'revolute' else 'N'}")
        axis.grid(color="#dddddd", linewidth=0.6)
        axis.set_axisbelow(True)
        axis.margins(x=0.01)
    axes[0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False)
    axes[0].set_title(f"{comparison.name}: measured torque and model"[:80], fontsize=10, loc="left", parse_math=False)
    axes[-1].set_xlabel("time, s")
    figure.align_ylabels(axes)
    return figure
