"""Figures of Dhanaraj's case study, in the style of his Figs. 3.4 to 3.13, for the assumed motion."""

from __future__ import annotations

from typing import Any

import numpy as np

from forearm.arm.drive import Transmission
from forearm.drives.transmission import efficiency, through
from forearm.plots.figure import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    RED,
    THIN,
    WIDTH,
    dash,
    drawn,
    legend_beside,
    look,
    new_figure,
    put_title,
)
from forearm.reproduce.friction_study import LOADS, FrictionStudy, gears, study

AT = 0.6  # s, the time of Table 3.5


def friction_figures() -> dict[str, Any]:
    """All figures by file name."""
    found = study()
    pictures = {"fig-3.4": efficiency_figure(), "fig-3.5": quadrants_figure(gears()[1])}
    pictures |= {"fig-3.6-3.7": hand_figure(found), "fig-3.8-3.9": joints_figure(found)}
    return pictures | {f"fig-3.{11 + link}": torque_figure(found, link) for link in range(3)}


@drawn
def efficiency_figure() -> Any:
    """Fig. 3.4: efficiency against load, with the points to which the curve was fitted."""
    figure = new_figure(WIDTH, 4.5)
    axis = figure.subplots()
    loads = np.linspace(0.0, 1.0, 1001)
    axis.plot(loads, [efficiency(gears()[0], r * gears()[0].rated_torque) for r in loads], color=BLUE)
    for link, (load, eta) in enumerate(LOADS, start=1):
        axis.plot(load, eta, "o", color=BLACK, markersize=5)
        axis.annotate(f"link {link}", (load, eta), textcoords="offset points", xytext=(8, -10))
    axis.set_ylim(0.0, 1.0)
    _named(
        axis,
        "output torque / rated torque",
        "efficiency",
        "Fig. 3.4: a power fitted to what Table 3.5 implies (dots)",
    )
    return figure


@drawn
def quadrants_figure(gear: Transmission) -> Any:
    """Fig. 3.5: input against output torque in four quadrants, for both directions of motion."""
    figure = new_figure(WIDTH, 5.5)
    axis = figure.subplots()
    out = np.linspace(-40.0, 40.0, 801)
    for k, (way, name) in enumerate(((1.0, "I: velocity > 0"), (-1.0, "II: velocity < 0"))):
        axis.plot(out, [through(gear, float(y), way) for y in out], label=name, **look(k))
    axis.plot(out, out, color=GREY, linewidth=THIN, linestyle=dash(2), label="without losses")
    axis.axhline(0.0, color=BLACK, linewidth=0.7)
    axis.axvline(0.0, color=BLACK, linewidth=0.7)
    legend_beside(axis)
    _named(axis, "output torque, N m", "input torque x ratio, N m", "Fig. 3.5: the harmonic drive of joint 2")
    return figure


@drawn
def hand_figure(found: FrictionStudy) -> Any:
    """Figs. 3.6 and 3.7: position and velocity of the hand in base axes."""
    figure = new_figure(WIDTH, 5.5)
    axes = figure.subplots(2, 1, sharex=True)
    t = found.line.t
    for axis, block, label in zip(
        axes, (found.line.p, found.line.v), ("position, m", "velocity, m/s"), strict=True
    ):
        for k, name in ((0, "x"), (1, "y and z")):
            axis.plot(t, block[:, k], label=name, **look(k))
        _named(axis, "", label, "")
    legend_beside(axes[0])
    put_title(axes[0], "Figs. 3.6 and 3.7: the hand on the assumed line")
    axes[1].set_xlabel("time, s")
    return figure


@drawn
def joints_figure(found: FrictionStudy) -> Any:
    """Figs. 3.8 and 3.9: positions, velocities and accelerations of the joints."""
    figure = new_figure(WIDTH, 7.0)
    axes = figure.subplots(3, 1, sharex=True)
    motion = found.motion
    blocks = {
        "position, degrees": np.degrees(motion.q),
        "velocity, rad/s": motion.qd,
        "acceleration, rad/s²": motion.qdd,
    }
    for axis, (label, block) in zip(axes, blocks.items(), strict=True):
        for link in range(block.shape[1]):
            axis.plot(motion.t, block[:, link], label=f"joint {link + 1}", **look(link))
        _named(axis, "", label, "")
    legend_beside(axes[0])
    put_title(axes[0], "Figs. 3.8 and 3.9: the joints on the assumed line")
    axes[2].set_xlabel("time, s")
    figure.align_ylabels(axes)
    return figure


@drawn
def torque_figure(found: FrictionStudy, link: int) -> Any:
    """Figs. 3.11 to 3.13: torque of one joint without friction, with bearing friction, with all friction, and
    its parts.
    """
    figure = new_figure(WIDTH, 6.0)
    whole, parts = figure.subplots(2, 1, sharex=True, height_ratios=[1.6, 1.0])
    t = found.motion.t
    for label, block, colour, dashes in (
        ("without friction", found.basic, BLACK, dash(0)),
        ("with joint friction", found.at_joint, BLUE, dash(1)),
        ("at the motor, all friction", found.total, RED, dash(3)),
    ):
        whole.plot(t, block[:, link], color=colour, linestyle=dashes, label=label)
    for label, block, colour, dashes in (
        ("in the joint", found.joint, BLUE, dash(1)),
        ("in the transmission", found.transmission, ORANGE, dash(0)),
    ):
        parts.plot(t, block[:, link], color=colour, linestyle=dashes, label=f"friction {label}")
    drives = found.basic[:, link] * found.motion.qd[:, link] > 0.0
    whole.fill_between(
        t,
        0.0,
        1.0,
        where=drives.tolist(),
        transform=whole.get_xaxis_transform(),
        color="#eeeeee",
        zorder=0,
        linewidth=0,
        label="velocity and torque have the same sign",
    )
    for axis in (whole, parts):
        axis.axvline(AT, color=GREY, linewidth=THIN, linestyle=dash(2))
        legend_beside(axis)
        _named(axis, "", "torque, N m", "")
    title = (
        f"Fig. 3.{11 + link}: torques of link {link + 1} on the assumed line; dotted: the time of Table 3.5"
    )
    put_title(whole, title)
    parts.set_xlabel("time, s")
    figure.align_ylabels([whole, parts])
    return figure


def _named(axis: Any, x: str, y: str, title: str) -> None:
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    if title:
        put_title(axis, title)
    axis.margins(x=0.01)
