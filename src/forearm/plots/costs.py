"""Cost against the number of joints for every formulation, on logarithmic axes."""

from __future__ import annotations

import os
from typing import Any

from forearm.counting.cost import General, curves
from forearm.counting.stored import stored
from forearm.plots.figure import WIDTH, drawn, legend_beside, look, new_figure, save_figure

AT = 8  # number of joints by which the legend is sorted
TICKS = (1, 2, 3, 6, 10, 20, 30, 60, 100)


def save_cost_picture(path: str | os.PathLike[str]) -> None:
    """Draw the cost of every inverse formulation into a .png, .svg or .pdf file."""
    save_figure(cost_picture(), path)


@drawn
def cost_picture() -> Any:
    """The matplotlib figure: multiplications and additions of the generic chain against n."""
    figure = new_figure(WIDTH, 5.2)
    axes = figure.add_subplot()
    found = curves(_kept)
    by_cost = sorted(found, key=lambda name: -_kept(name).at(AT).mul - _kept(name).at(AT).add)
    for k, name in enumerate(by_cost):
        order = _kept(name).degree
        label = f"{name}: $n$" if order == 1 else f"{name}: $n^{order}$"
        axes.plot(*found[name], label=label, **look(k))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(TICKS, [str(t) for t in TICKS])
    axes.minorticks_off()
    axes.set_xlabel("number of joints n (all revolute, every parameter symbolic)")
    axes.set_ylabel("multiplications + additions per evaluation")
    legend_beside(
        axes, title="inverse dynamics and its order,\nby descending cost at 8 joints", alignment="left"
    )
    return figure


def _kept(name: str) -> General:
    return stored(name, "inverse").operations
