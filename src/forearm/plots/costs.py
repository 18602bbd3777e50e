"""Cost against the number of joints for every formulation, on logarithmic axes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from forearm.charts import Chart, Curve, look
from forearm.counting.cost import General
from forearm.counting.cost import curves as cost_curves
from forearm.counting.stored import stored
from forearm.plots.figure import save_figure, single

AT = 8  # number of joints by which the legend is sorted
TICKS = (1, 2, 3, 6, 10, 20, 30, 60, 100)
POWERS = str.maketrans("23456789", "²³⁴⁵⁶⁷⁸⁹", "1")


def save_cost_picture(path: str | os.PathLike[str]) -> None:
    """Draw the cost of every inverse formulation into a .png, .svg or .pdf file."""
    save_figure(cost_picture(), path)


def cost_picture() -> Any:
    """The matplotlib figure: multiplications and additions of the generic chain against n."""
    found = cost_curves(_kept)
    by_cost = sorted(found, key=lambda name: -_kept(name).at(AT).mul - _kept(name).at(AT).add)
    marks = [
        Curve(
            np.array(found[name][0]),
            np.array(found[name][1]),
            f"{name}: n{str(_kept(name).degree).translate(POWERS)}",
            look(k),
        )
        for k, name in enumerate(by_cost)
    ]
    chart = Chart(
        "number of joints n (all revolute, every parameter symbolic)",
        "multiplications + additions per evaluation",
        marks,
        log="xy",
        x_ticks={float(t): str(t) for t in TICKS},
    )
    title = "inverse dynamics and its order,\nby descending cost at 8 joints"
    return single(chart, 5.2, title=title, alignment="left")


def _kept(name: str) -> General:
    return stored(name, "inverse").operations
