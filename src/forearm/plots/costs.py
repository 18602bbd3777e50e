"""Cost against the number of joints, every formulation on one pair of logarithmic axes."""

from __future__ import annotations

import os
from typing import Any

from forearm.counting.cost import curves, general
from forearm.plots.figure import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY, new_figure, save_figure

COLOURS = (BLACK, ORANGE, SKY, GREEN, BLUE, RED, PURPLE)
DASHES = ("-", "--")  # tell those of one colour apart
AT = 8  # the number of joints by which the legend is sorted
TICKS = (1, 2, 3, 6, 10, 20, 30, 60, 100)


def save_cost_picture(path: str | os.PathLike[str]) -> None:
    """Draw the cost of every inverse formulation into a .png, .svg or .pdf file."""
    save_figure(cost_picture(), path)


def cost_picture() -> Any:
    """The matplotlib figure: multiplications and additions of the generic chain against n."""
    figure = new_figure(9.0, 6.0)
    axes = figure.add_subplot()
    drawn = curves()
    by_cost = sorted(drawn, key=lambda name: -general(name).at(AT).mul - general(name).at(AT).add)
    for k, name in enumerate(by_cost):
        order = general(name).degree
        label = f"{name}: $n$" if order == 1 else f"{name}: $n^{order}$"
        colour, dash = COLOURS[k % len(COLOURS)], DASHES[k // len(COLOURS)]
        axes.plot(*drawn[name], label=label, color=colour, linestyle=dash, linewidth=1.8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(TICKS, [str(t) for t in TICKS])
    axes.minorticks_off()
    axes.set_xlabel("joints n (all turning, every parameter a symbol)")
    axes.set_ylabel("multiplications + additions of one evaluation")
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.legend(
        title="inverse dynamics, and its order", fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False
    )
    return figure
