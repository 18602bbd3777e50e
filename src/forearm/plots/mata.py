"""Mata's straight line of the PUMA and the error of its simulation, and the formulas of his tables as
curves.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from forearm.counting.cost import general
from forearm.counting.printed import printed
from forearm.kernels import compile
from forearm.kinematics.skeleton import skeleton
from forearm.plots.figure import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    RED,
    WIDE,
    WIDTH,
    drawn,
    legend_of_figure,
    look,
    new_figure,
    put_heading,
    put_title,
)
from forearm.plots.precision import precision_figure
from forearm.reproduce.recompute.mata import sweep
from forearm.reproduce.recompute.mata_counts import TABLE_3, formula
from forearm.reproduce.recompute.puma_line import END, START, Stepwise, stepwise

TICKS = (2, 3, 6, 10, 20, 30)
SMALLEST = 1e-12  # rad, rad/s, rad/s^2: lower bound of plotted differences
# For each panel its function and the methods in it; the document's first.
PANELS = {
    "inverse dynamics (Table 1)": ("inverse", ("gibbs-appell", "newton-euler", "kane")),
    "inertia matrix (Table 2)": (
        "inertia_matrix",
        ("gibbs-appell", "composite-body", "orthogonal-complement"),
    ),
    "forward dynamics (Tables 3, 4)": (
        "forward",
        ("gibbs-appell", "composite-body", "articulated-body", "orthogonal-complement"),
    ),
}


def mata_figures() -> dict[str, Any]:
    """The figures of Mata's document by file name."""
    arm, study = sweep()
    return {
        "fig-2": precision_figure(arm, study, swept=1, shown=1),
        "fig-3": line_figure(stepwise()),
        "tables-1-4": formulas_figure(),
        "table-6": differences_figure(stepwise()),
    }


@drawn
def line_figure(run: Stepwise) -> Any:
    """The arm at both ends of the line, the line, and the simulated hand every tenth of a second."""
    figure = new_figure(WIDTH, 5.6)
    axes = figure.add_subplot(projection="3d")
    for row, colour, name in ((0, BLUE, "start"), (-1, RED, "end")):
        bones = skeleton(run.arm, run.planned.q[row])
        for k, stroke in enumerate(bones.strokes):
            style = {"linewidth": 4.0 if row == 0 else 2.5, "solid_capstyle": "round", "alpha": 0.85}
            axes.plot(*stroke.T, color=colour, label=f"the arm at the {name}" if k == 0 else None, **style)
        axes.plot(*np.array([point for _, point, _ in bones.joints]).T, "o", color=colour, markersize=4)
    axes.plot(*np.array([START, END]).T, color=GREEN, linewidth=2.5, label="the line")
    hand = compile(run.arm).forward_kinematics(run.q)[:, :3, 3]
    axes.plot(*hand.T, ".", color=BLACK, markersize=3, label="the simulated hand, every 0.1 s")
    axes.plot([0.0], [0.0], [0.0], "s", color=GREY, markersize=8)
    _even(axes, np.array([p for row in (0, -1) for p in skeleton(run.arm, run.planned.q[row]).points]))
    axes.view_init(elev=20, azim=-62)
    figure.legend(loc="outside lower center", ncols=2)
    put_title(
        axes,
        (
            f"Fig. 3: {run.arm.name} on a straight line of {math.dist(START, END):.3g} m in "
            f"{run.planned.t[-1]:g} s"
        ),
    )
    return figure


def _even(axes: Any, points: Any) -> None:
    """A box with equal scales around points (m, 3)."""
    from matplotlib.ticker import MultipleLocator

    low, high = points.min(axis=0), points.max(axis=0)
    sides = np.maximum(high - low, 0.3 * (high - low).max())
    for name, middle, side in zip("xyz", 0.5 * (low + high), sides, strict=True):
        getattr(axes, f"set_{name}lim")(middle - 0.55 * side, middle + 0.55 * side)
        getattr(axes, f"set_{name}label")(f"{name}, m")
        getattr(axes, f"{name}axis").set_major_locator(MultipleLocator(0.1))
    axes.set_box_aspect(sides, zoom=0.95)


@drawn
def differences_figure(run: Stepwise) -> Any:
    """Differences of the simulated from the planned motion, joint by joint, over time; Table 6 has their
    means.
    """
    planned, kernel = run.planned, compile(run.arm)
    qdd = kernel.forward_dynamics(run.q, run.qd, kernel.inverse_dynamics(planned.q, planned.qd, planned.qdd))
    panels = {
        "position\nrad": run.q - planned.q,
        "velocity\nrad/s": run.qd - planned.qd,
        "acceleration\nrad/s²": qdd - planned.qdd,
    }
    height = 6.4
    figure = new_figure(WIDTH, height)
    axes = list(figure.subplots(len(panels), 1, sharex=True))
    for axis, (label, apart) in zip(axes, panels.items(), strict=True):
        for i, joint in enumerate(run.arm.joints):
            axis.semilogy(
                planned.t[1:], np.maximum(np.abs(apart[1:, i]), SMALLEST), label=joint.name, **look(i)
            )
        axis.set_ylabel(label)
    axes[-1].set_xlabel("time, s")
    put_title(
        axes[0], "Table 6: deviation of the simulation from the planned motion; the table has the means"
    )
    legend_of_figure(figure, height, [("", axes[0])])
    figure.align_ylabels(axes)
    return figure


@drawn
def formulas_figure() -> Any:
    """The printed formulas of Tables 1 to 3, products plus sums (thin lines), and our counts, over the number
    of joints.
    """
    figure = new_figure(WIDE, 5.4)
    places = list(range(TICKS[0], TICKS[-1] + 1))
    marked = [places.index(n) for n in TICKS]
    for axes, (title, (function, methods)) in zip(
        figure.subplots(1, len(PANELS)), PANELS.items(), strict=True
    ):
        for k, name in enumerate(methods):
            by = general(name, function)
            axes.plot(places, [_total(by.at(n)) for n in places], label=f"{name}, ours", **look(k))
        for k, (name, texts) in enumerate(_printed(function).items()):
            style = look(len(methods) + k) | {"linewidth": 0.9}
            axes.plot(
                places,
                [formula(texts, n) for n in places],
                label=f"{name}, printed",
                marker="o",
                markersize=3,
                markevery=marked,
                **style,
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(TICKS, [str(t) for t in TICKS])
        axes.minorticks_off()
        axes.set_xlabel("number of joints n")
        put_title(axes, title)
        axes.set_ylim(top=12.0 * axes.get_ylim()[1])  # room for the legend
        axes.legend(loc="upper left")
    figure.axes[0].set_ylabel("products + sums per evaluation")
    put_heading(figure, "Mata's formulas and our counts, all joints revolute, every parameter symbolic")
    return figure


def _total(counts: Any) -> int:
    return int(counts.mul + counts.add + counts.div)


def _printed(function: str) -> dict[str, tuple[str, str]]:
    """The formulas that the document prints for a function, by author."""
    if function == "forward":
        return {"this work": TABLE_3["total"]}
    table, own = {"inverse": ("Mata Table 1", "mata-1"), "inertia_matrix": ("Mata Table 2", "mata-2")}[
        function
    ]
    (rows,) = (cited["rows"] for cited in printed()["cited"] if cited["place"] == table)
    (this,) = (figure["formula"] for figure in printed()["figure"] if figure["id"] == own)
    return {"this work": tuple(this)} | {
        name.split(",")[0]: (products, sums) for name, products, sums in rows
    }
