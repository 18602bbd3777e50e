"""Single against double precision as a figure in the manner of Mata's Fig. 2."""

from __future__ import annotations

from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.dynamics.precision import METHODS, PrecisionStudy
from forearm.plots.figure import BLACK, BLUE, GREEN, RED, new_figure


def precision_figure(arm: Arm, study: PrecisionStudy, swept: int, shown: int) -> Any:
    """Acceleration of one joint against the position of another, each method in single precision over double, and cond(M)."""
    figure = new_figure(9.0, 7.5)
    axes = figure.subplots(len(METHODS) + 2, 1, sharex=True)
    turning = arm.joints[swept].kind == "revolute"
    x = np.degrees(study.q[:, swept]) if turning else study.q[:, swept]
    unit = "rad/s²" if arm.joints[shown].kind == "revolute" else "m/s²"
    for axis, method, colour in zip(axes, METHODS, (BLUE, RED, GREEN), strict=False):
        axis.plot(x, study.single[method][:, shown], color=colour, linewidth=1.4, label=f"{method}, single")
        axis.plot(x, study.double[:, shown], color=BLACK, linewidth=0.8, linestyle="--", label="double")
        axis.set_ylabel(unit)
        axis.legend(loc="upper right", fontsize=8)
    for method, colour in zip(METHODS, (BLUE, RED, GREEN), strict=True):
        apart = np.abs(study.single[method][:, shown] - study.double[:, shown])
        axes[-2].semilogy(x, np.maximum(apart, 1e-18), color=colour, linewidth=1.0, label=method)
    axes[-2].set_ylabel(f"difference\n{unit}")
    axes[-2].legend(loc="upper right", fontsize=8)
    axes[-1].semilogy(x, study.condition, color=BLACK)
    axes[-1].set_ylabel("cond(M)")
    axes[-1].set_xlabel(f"{arm.joints[swept].name}, {'degrees' if turning else 'm'}")
    axes[0].set_title(f"{arm.name}: acceleration of {arm.joints[shown].name}, at rest and undriven", fontsize=10)
    for axis in axes:
        axis.grid(alpha=0.3)
    return figure
