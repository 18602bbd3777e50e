"""Mata's straight line of the PUMA and the error of its simulation, and the formulas of his tables as
curves.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from forearm.charts import Chart, Curve, curves, look
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
    draw_chart,
    draw_space,
    drawn,
    new_figure,
    put_heading,
    put_title,
    stacked,
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
    points = np.array([skeleton(run.arm, run.planned.q[row]).points for row in (0, -1)])
    draw_space(axes, points, 0.3, 8, 0.95)
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


def differences_figure(run: Stepwise) -> Any:
    """Differences of the simulated from the planned motion, joint by joint, over time; Table 6 has their
    means.
    """
    planned, kernel = run.planned, compile(run.arm)
    qdd = kernel.forward_dynamics(run.q, run.qd, kernel.inverse_dynamics(planned.q, planned.qd, planned.qdd))
    panels = {
        "position, rad": run.q - planned.q,
        "velocity, rad/s": run.qd - planned.qd,
        "acceleration, rad/s²": qdd - planned.qdd,
    }
    names = [joint.name for joint in run.arm.joints]
    title = "Table 6: deviation of the simulation from the planned motion; the table has the means"
    return stacked(
        [
            Chart(
                "time, s",
                label,
                curves(names, planned.t[1:], np.maximum(np.abs(apart[1:]), SMALLEST)),
                "" if k else title,
                log="y",
                legend=None if k else "",
            )
            for k, (label, apart) in enumerate(panels.items())
        ]
    )


@drawn
def formulas_figure() -> Any:
    """The printed formulas of Tables 1 to 3, products plus sums (thin lines), and our counts, over the number
    of joints.
    """
    figure = new_figure(WIDE, 5.4)
    places = [*range(TICKS[0], TICKS[-1] + 1)]
    at, is_tick = np.array(places, dtype=float), np.isin(places, TICKS)
    ticks = {float(t): str(t) for t in TICKS}
    panels = zip(figure.subplots(1, len(PANELS)), PANELS.items(), strict=True)
    for k, (axes, (title, (function, methods))) in enumerate(panels):
        by_name = {name: general(name, function) for name in methods}
        counts = [
            Curve(at, np.array([_total(by.at(n)) for n in places]), f"{name}, ours", look(i))
            for i, (name, by) in enumerate(by_name.items())
        ]
        for i, (name, texts) in enumerate(_printed(function).items(), len(methods)):
            values = np.array([formula(texts, n) for n in places])
            dots = replace(look(i), marker="o", size=3, joined=False)
            counts.append(Curve(at, values, f"{name}, printed", replace(look(i), width=0.65)))
            counts.append(Curve(at[is_tick], values[is_tick], look=dots))
        label = "" if k else "products + sums per evaluation"
        draw_chart(axes, Chart("number of joints n", label, counts, title, log="xy", x_ticks=ticks))
        axes.set_ylim(top=12.0 * axes.get_ylim()[1])  # room for the legend
        axes.legend(loc="upper left")
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
