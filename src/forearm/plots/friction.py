"""Dhanaraj's case study in pictures, in the manner of his Figs. 3.4 to 3.13, on the motion that is assumed."""

from __future__ import annotations

from typing import Any

import numpy as np

from forearm.arm.drive import Transmission
from forearm.drives.transmission import efficiency, through
from forearm.plots.figure import BLACK, BLUE, GREEN, ORANGE, RED, new_figure
from forearm.reproduce.friction_study import LOADS, Study, gears, study

AT = 0.6  # s, the time of Table 3.5
LINKS = ((BLUE, "-"), (RED, "--"), (GREEN, "-."))
WIDE = 1.4


def friction_figures() -> dict[str, Any]:
    """Every picture by the name of its file."""
    found = study()
    pictures = {"fig-3.4": efficiency_figure(), "fig-3.5": quadrants_figure(gears()[1])}
    pictures |= {"fig-3.6-3.7": hand_figure(found), "fig-3.8-3.9": joints_figure(found)}
    return pictures | {f"fig-3.{11 + link}": torque_figure(found, link) for link in range(3)}


def efficiency_figure() -> Any:
    """Fig. 3.4: efficiency against load, with the points to which the curve was fitted."""
    figure = new_figure(7.0, 4.5)
    axis = figure.subplots()
    loads = np.linspace(0.0, 1.0, 1001)
    axis.plot(loads, [efficiency(gears()[0], r * gears()[0].rated_torque) for r in loads], color=BLUE, linewidth=WIDE)
    for link, (load, eta) in enumerate(LOADS, start=1):
        axis.plot(load, eta, "o", color=BLACK, markersize=5)
        axis.annotate(f"link {link}", (load, eta), textcoords="offset points", xytext=(8, -10), fontsize=8)
    axis.set_ylim(0.0, 1.0)
    _named(axis, "output torque / rated torque", "efficiency", "Fig. 3.4: a power fitted to what Table 3.5 implies (dots)")
    return figure


def quadrants_figure(gear: Transmission) -> Any:
    """Fig. 3.5: input against output torque in four quadrants, for both directions of motion."""
    figure = new_figure(7.0, 5.5)
    axis = figure.subplots()
    out = np.linspace(-40.0, 40.0, 801)
    for way, (colour, dash), name in ((1.0, LINKS[0], "I: velocity > 0"), (-1.0, LINKS[1], "II: velocity < 0")):
        given = np.array([through(gear, float(y), way) for y in out])
        axis.plot(out, given, color=colour, linestyle=dash, linewidth=WIDE, label=name)
    axis.plot(out, out, color="#999999", linewidth=0.9, linestyle=":", label="without losses")
    axis.axhline(0.0, color=BLACK, linewidth=0.7)
    axis.axvline(0.0, color=BLACK, linewidth=0.7)
    axis.legend(fontsize=8, loc="upper left")
    _named(axis, "output torque, N m", "input torque x ratio, N m", "Fig. 3.5: the harmonic drive of joint 2")
    return figure


def hand_figure(found: Study) -> Any:
    """Figs. 3.6 and 3.7: where the hand is and how fast it goes, in base axes."""
    figure = new_figure(8.0, 5.5)
    axes = figure.subplots(2, 1, sharex=True)
    t = found.line.t
    for axis, block, label in zip(axes, (found.line.p, found.line.v), ("position, m", "velocity, m/s"), strict=True):
        for k, name in ((0, "x"), (1, "y and z")):
            colour, dash = LINKS[k]
            axis.plot(t, block[:, k], color=colour, linestyle=dash, linewidth=WIDE, label=name)
        _named(axis, "", label, "")
    _legend(axes[0])
    axes[0].set_title("Figs. 3.6 and 3.7: the hand on the assumed line", fontsize=10, loc="left")
    axes[1].set_xlabel("time, s")
    return figure


def joints_figure(found: Study) -> Any:
    """Figs. 3.8 and 3.9: positions, velocities and accelerations of the joints."""
    figure = new_figure(8.0, 7.0)
    axes = figure.subplots(3, 1, sharex=True)
    motion = found.motion
    blocks = {"position, degrees": np.degrees(motion.q), "velocity, rad/s": motion.qd, "acceleration, rad/s²": motion.qdd}
    for axis, (label, block) in zip(axes, blocks.items(), strict=True):
        for link, (colour, dash) in enumerate(LINKS):
            axis.plot(motion.t, block[:, link], color=colour, linestyle=dash, linewidth=WIDE, label=f"joint {link + 1}")
        _named(axis, "", label, "")
    _legend(axes[0])
    axes[0].set_title("Figs. 3.8 and 3.9: the joints on the assumed line", fontsize=10, loc="left")
    axes[2].set_xlabel("time, s")
    figure.align_ylabels(axes)
    return figure


def torque_figure(found: Study, link: int) -> Any:
    """Figs. 3.11 to 3.13: torque of one joint without friction, with that of bearings, with all of it, and its parts."""
    figure = new_figure(8.0, 6.0)
    whole, parts = figure.subplots(2, 1, sharex=True, height_ratios=[1.6, 1.0])
    t = found.motion.t
    for label, block, colour, dash in (
        ("without friction", found.basic, BLACK, "-"),
        ("with joint friction", found.at_joint, BLUE, "--"),
        ("at the motor, all friction", found.total, RED, "-"),
    ):
        whole.plot(t, block[:, link], color=colour, linestyle=dash, linewidth=WIDE, label=label)
    for label, block, colour in (("in the joint", found.joint, BLUE), ("in the transmission", found.transmission, ORANGE)):
        parts.plot(t, block[:, link], color=colour, linewidth=WIDE, label=f"friction {label}")
    drives = found.basic[:, link] * found.motion.qd[:, link] > 0.0
    whole.fill_between(
        t, 0.0, 1.0, where=drives.tolist(), transform=whole.get_xaxis_transform(), color="#eeeeee", zorder=0, linewidth=0,
        label="velocity and torque agree",
    )  # fmt: skip
    for axis in (whole, parts):
        axis.axvline(AT, color="#777777", linewidth=0.9, linestyle=":")
        _legend(axis)
        _named(axis, "", "torque, N m", "")
    title = f"Fig. 3.{11 + link}: torques of link {link + 1} on the assumed line; dotted: the time of Table 3.5"
    whole.set_title(title, fontsize=10, loc="left")
    parts.set_xlabel("time, s")
    figure.align_ylabels([whole, parts])
    return figure


def _legend(axis: Any) -> None:
    axis.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


def _named(axis: Any, x: str, y: str, title: str) -> None:
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    if title:
        axis.set_title(title, fontsize=10, loc="left")
    axis.grid(color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.margins(x=0.01)
