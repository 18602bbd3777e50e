"""Single against double precision in the style of Mata's Fig. 2."""

from __future__ import annotations

from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.dynamics.precision import METHODS, PrecisionStudy
from forearm.plots.figure import BLACK, WIDTH, dash, drawn, legend_beside, look, new_figure, put_title
from forearm.plots.figure import shown as shown_name


@drawn
def precision_figure(arm: Arm, study: PrecisionStudy, swept: int, shown: int) -> Any:
    """Acceleration of one joint against the position of another, each method in single precision compared
    with double, and cond(M).
    """
    figure = new_figure(WIDTH, 7.2)
    axes = figure.subplots(len(METHODS) + 2, 1, sharex=True)
    turning = arm.joints[swept].kind == "revolute"
    x = np.degrees(study.q[:, swept]) if turning else study.q[:, swept]
    unit = "rad/s²" if arm.joints[shown].kind == "revolute" else "m/s²"
    for k, (axis, method) in enumerate(zip(axes, METHODS, strict=False)):
        axis.plot(x, study.single[method][:, shown], color=look(k)["color"], label=f"{method}, single")
        axis.plot(x, study.double[:, shown], color=BLACK, linestyle=dash(1), label="double")
        axis.set_ylabel(f"acceleration\n{unit}")
    for k, method in enumerate(METHODS):
        apart = np.abs(study.single[method][:, shown] - study.double[:, shown])
        axes[-2].semilogy(x, np.maximum(apart, 1e-18), label=method, **look(k))
    axes[-2].set_ylabel(f"difference\n{unit}")
    axes[-1].semilogy(x, study.condition, color=BLACK, label="condition number of M")
    axes[-1].set_ylabel("cond(M)")
    axes[-1].set_xlabel(f"{shown_name(arm.joints[swept].name)}, {'degrees' if turning else 'm'}")
    put_title(axes[0], f"{arm.name}: acceleration of {arm.joints[shown].name}, at rest and undriven")
    for axis in axes:
        legend_beside(axis)
        axis.margins(x=0.01)
    figure.align_ylabels(axes)
    return figure
