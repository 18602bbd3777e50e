"""A simulated motion as curves over time: positions, velocities, torques, voltages, energies, and events
above them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from forearm.plots.figure import (
    GREY,
    THIN,
    WIDTH,
    drawn,
    legend_of_figure,
    look,
    new_figure,
    of_joints,
    put_title,
    save_figure,
    shown,
)
from forearm.simulation.controlled import Run
from forearm.simulation.result import EVENTS, Simulation
from forearm.spatial import Floats

__all__ = ["motion_picture", "save_figure"]

MARKERS = dict(zip(EVENTS, "sv^oXDP*<>", strict=False))
MANY = 20_000  # samples above which a curve is thinned to the minimum and maximum of each piece
FEW_EVENTS = 40  # up to this many get a line through all panels


@drawn
def motion_picture(simulation: Simulation) -> Any:
    """The matplotlib figure: stacked panels over a common time axis."""
    panels = _panels(simulation)
    height = 1.7 * (len(panels) + bool(simulation.energy)) + (1.3 if simulation.events else 0.7)
    figure = new_figure(WIDTH, height)
    ratios = [0.35] * bool(simulation.events) + [1.0] * (len(panels) + bool(simulation.energy))
    axes = list(figure.subplots(len(ratios), 1, sharex=True, squeeze=False, height_ratios=ratios)[:, 0])
    put_title(axes[0], f"{simulation.arm.name}, {simulation.method}: {simulation.message}")
    if simulation.events:
        _draw_events(axes, simulation)
        axes = axes[1:]
    for axis, (label, block) in zip(axes, panels.items(), strict=False):
        _draw_joints(axis, simulation, block)
        axis.set_ylabel(label)
    groups = [("joints", axes[0])]
    if simulation.energy:
        _draw_energies(axes[-1], simulation)
        groups.append(("energies", axes[-1]))
    for axis in axes:
        axis.margins(x=0.01)
    axes[-1].set_xlabel("time, s")
    legend_of_figure(figure, height, groups)
    figure.align_ylabels(axes)
    return figure


def _panels(simulation: Simulation) -> dict[str, Floats]:
    """The blocks (T, n) by axis label, with the joints' units."""
    unit = partial(of_joints, simulation.arm)
    panels = {
        f"position\n{unit('rad', 'm')}": simulation.q,
        f"velocity\n{unit('rad/s', 'm/s')}": simulation.qd,
        f"{unit('torque', 'force')}\n{unit('N m', 'N')}": simulation.tau,
    }
    if "motor_q" in simulation.drives:
        panels |= {f"deflection\n{unit('rad', 'm')}": simulation.drives["motor_q"] - simulation.q}
    if isinstance(simulation, Run):
        panels |= {f"error\n{unit('rad', 'm')}": simulation.error}
    return panels | ({"voltage\nV": simulation.voltage} if simulation.voltage is not None else {})


def _draw_joints(axis: Any, simulation: Simulation, block: Floats) -> None:
    for i, joint in enumerate(simulation.arm.joints):
        axis.plot(*_thinned(simulation.t, block[:, i]), label=shown(joint.name), **look(i))


def _draw_energies(axis: Any, simulation: Simulation) -> None:
    for k, (name, column) in enumerate(simulation.energy.items()):
        axis.plot(*_thinned(simulation.t, column), label=shown(name), **look(k))
    axis.set_ylabel("energy\nJ")


def _draw_events(axes: list[Any], simulation: Simulation) -> None:
    """A strip of marks above the panels, one row per kind, and lines through the panels if there are few."""
    strip, *panels = axes
    kinds = [kind for kind in EVENTS if any(event.kind == kind for event in simulation.events)]
    number = {joint.name: i for i, joint in enumerate(simulation.arm.joints)}
    for row, kind in enumerate(kinds):
        events = [event for event in simulation.events if event.kind == kind]
        colours = [look(number[e.joint])["color"] if e.joint in number else GREY for e in events]
        strip.scatter(
            [e.t for e in events], [row] * len(events), c=colours, marker=MARKERS[kind], s=22, linewidths=0
        )
    strip.set_yticks(range(len(kinds)), kinds)
    strip.set_ylim(-0.7, len(kinds) - 0.3)
    strip.invert_yaxis()
    strip.margins(x=0.01)
    strip.tick_params(left=False, bottom=False)
    strip.grid(visible=False)
    strip.spines["left"].set_visible(False)
    if len(simulation.events) <= FEW_EVENTS:
        for panel in panels:
            for event in simulation.events:
                panel.axvline(event.t, color=GREY, linewidth=THIN, linestyle=(0, (1.5, 1.5)), zorder=1.5)


def _thinned(t: Floats, x: Floats) -> tuple[Floats, Floats]:
    """The curve, or for a long one the minimum and maximum of each piece, so that no peak is lost."""
    if len(t) <= MANY:
        return t, x
    size = -(-len(t) // (MANY // 2))
    whole = len(t) // size * size
    pieces = np.nan_to_num(x[:whole], nan=0.0).reshape(-1, size)
    first = np.arange(0, whole, size)
    kept = np.union1d(first + pieces.argmin(axis=1), first + pieces.argmax(axis=1))
    kept = np.union1d(kept, np.r_[0, np.arange(whole, len(t)), len(t) - 1])
    return t[kept], x[kept]
