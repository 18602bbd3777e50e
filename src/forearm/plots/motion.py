"""A simulated motion as curves over time: positions, velocities, torques, voltages, energies, and events
above them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from forearm.arm.text import of_joints
from forearm.charts import QUIET, Chart, Curve, CurveLook, Rule, curves, look
from forearm.plots.figure import save_figure, stacked
from forearm.simulation.controlled import Run
from forearm.simulation.result import EVENTS, Simulation
from forearm.spatial import Floats

__all__ = ["motion_picture", "save_figure"]

MARKERS = dict(zip(EVENTS, "sv^oXDP*<>", strict=False))
FEW_EVENTS = 40  # up to this many get a line through all panels


def motion_picture(simulation: Simulation) -> Any:
    """The matplotlib figure: stacked panels over a common time axis."""
    names = [joint.name for joint in simulation.arm.joints]
    charts = [
        Chart("time, s", label, curves(names, simulation.t, block), legend=None if k else "joints")
        for k, (label, block) in enumerate(_panels(simulation).items())
    ]
    if simulation.energy:
        columns = curves(
            list(simulation.energy), simulation.t, np.column_stack([*simulation.energy.values()])
        )
        charts.append(Chart("time, s", "energy, J", columns, legend="energies"))
    if simulation.events:
        few = simulation.events if len(simulation.events) <= FEW_EVENTS else ()
        lines = [Rule(event.t, look=CurveLook(QUIET, 2, 0.6)) for event in few]
        charts = [_events(simulation), *(replace(chart, marks=[*lines, *chart.marks]) for chart in charts)]
    title = f"{simulation.arm.name}, {simulation.method}: {simulation.message}"
    return stacked([replace(charts[0], title=title), *charts[1:]])


def _panels(simulation: Simulation) -> dict[str, Floats]:
    """The blocks (T, n) by axis label, with the joints' units."""
    unit = partial(of_joints, simulation.arm)
    panels = {
        f"position, {unit('rad', 'm')}": simulation.q,
        f"velocity, {unit('rad/s', 'm/s')}": simulation.qd,
        f"{unit('torque', 'force')}, {unit('N m', 'N')}": simulation.tau,
    }
    if "motor_q" in simulation.drives:
        panels |= {f"deflection, {unit('rad', 'm')}": simulation.drives["motor_q"] - simulation.q}
    if isinstance(simulation, Run):
        panels |= {f"error, {unit('rad', 'm')}": simulation.error}
    return panels | ({"voltage, V": simulation.voltage} if simulation.voltage is not None else {})


def _events(simulation: Simulation) -> Chart:
    """A strip of marks, one row per kind, in the colours of the joints."""
    kinds = [kind for kind in EVENTS if any(event.kind == kind for event in simulation.events)]
    colours = {joint.name: look(i).colour for i, joint in enumerate(simulation.arm.joints)}
    marks = []
    for event in simulation.events:
        style = CurveLook(
            colours.get(event.joint or "", QUIET), marker=MARKERS[event.kind], size=4.7, joined=False
        )
        marks.append(Curve(np.array([event.t]), np.array([kinds.index(event.kind)]), look=style))
    rows = {float(row): kind for row, kind in enumerate(kinds)}
    return Chart("time, s", "", marks, y_range=(len(kinds) - 0.3, -0.7), y_ticks=rows, height=0.35)
