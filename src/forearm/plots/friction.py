"""Figures of Dhanaraj's case study, in the style of his Figs. 3.4 to 3.13, for the assumed motion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from forearm.arm.drive import Transmission
from forearm.charts import QUIET, Band, Chart, Curve, CurveLook, Mark, PointLabel, Rule, curves, look, span
from forearm.drives.transmission import efficiency, through
from forearm.plots.figure import single, stacked
from forearm.reproduce.friction_study import LOADS, FrictionStudy, gears, study
from forearm.spatial import Floats

AT = 0.6  # s, the time of Table 3.5
BLUE, RED, ORANGE, BLACK = 0, 1, 3, 6  # colours of the palette


def friction_figures() -> dict[str, Any]:
    """All figures by file name."""
    found = study()
    pictures = {"fig-3.4": efficiency_figure(), "fig-3.5": quadrants_figure(gears()[1])}
    pictures |= {"fig-3.6-3.7": hand_figure(found), "fig-3.8-3.9": joints_figure(found)}
    return pictures | {f"fig-3.{11 + link}": torque_figure(found, link) for link in range(3)}


def efficiency_figure() -> Any:
    """Fig. 3.4: efficiency against load, with the points to which the curve was fitted."""
    gear = gears()[0]
    loads = np.linspace(0.0, 1.0, 1001)
    marks: list[Mark] = [Curve(loads, np.array([efficiency(gear, r * gear.rated_torque) for r in loads]))]
    for link, (load, eta) in enumerate(LOADS, start=1):
        dot = Curve(np.array([load]), np.array([eta]), look=CurveLook(BLACK, marker="o", joined=False))
        marks += [dot, PointLabel(load, eta, f"link {link}")]
    title = "Fig. 3.4: a power fitted to what Table 3.5 implies (dots)"
    axes = ("output torque / rated torque", "efficiency")
    return single(Chart(*axes, marks, title, y_range=(0.0, 1.0)), 4.5)


def quadrants_figure(gear: Transmission) -> Any:
    """Fig. 3.5: input against output torque in four quadrants, for both directions of motion."""
    out = np.linspace(-40.0, 40.0, 801)
    ways = {"I: velocity > 0": 1.0, "II: velocity < 0": -1.0}
    marks: list[Mark] = [
        Curve(out, np.array([through(gear, float(y), way) for y in out]), name, look(k))
        for k, (name, way) in enumerate(ways.items())
    ]
    marks.append(Curve(out, out, "without losses", CurveLook(QUIET, 2, 0.65)))
    marks += [Rule(0.0, along, CurveLook(BLACK, 0, 0.5)) for along in "xy"]
    title = "Fig. 3.5: the harmonic drive of joint 2"
    return single(Chart("output torque, N m", "input torque x ratio, N m", marks, title), 5.5)


def hand_figure(found: FrictionStudy) -> Any:
    """Figs. 3.6 and 3.7: position and velocity of the hand in base axes."""
    line = found.line
    blocks = {"position, m": line.p[:, :2], "velocity, m/s": line.v[:, :2]}
    title = "Figs. 3.6 and 3.7: the hand on the assumed line"
    return stacked(_over_time(blocks, line.t, ["x", "y and z"], title))


def joints_figure(found: FrictionStudy) -> Any:
    """Figs. 3.8 and 3.9: positions, velocities and accelerations of the joints."""
    motion = found.motion
    blocks = {"position, degrees": np.degrees(motion.q), "velocity, rad/s": motion.qd}
    blocks["acceleration, rad/s²"] = motion.qdd
    names = [f"joint {link + 1}" for link in range(motion.q.shape[1])]
    return stacked(_over_time(blocks, motion.t, names, "Figs. 3.8 and 3.9: the joints on the assumed line"))


def _over_time(blocks: Mapping[str, Floats], t: Floats, names: list[str], title: str) -> list[Chart]:
    return [
        Chart("time, s", label, curves(names, t, block), "" if k else title, legend=None if k else "")
        for k, (label, block) in enumerate(blocks.items())
    ]


def torque_figure(found: FrictionStudy, link: int) -> Any:
    """Figs. 3.11 to 3.13: torque of one joint without friction, with bearing friction, with all friction, and
    its parts.
    """
    t, basic = found.motion.t, found.basic[:, link]
    whole = [
        Curve(t, basic, "without friction", CurveLook(BLACK)),
        Curve(t, found.at_joint[:, link], "with joint friction", CurveLook(BLUE, 1)),
        Curve(t, found.total[:, link], "at the motor, all friction", CurveLook(RED, 3)),
    ]
    parts = [
        Curve(t, found.joint[:, link], "friction in the joint", CurveLook(BLUE, 1)),
        Curve(t, found.transmission[:, link], "friction in the transmission", CurveLook(ORANGE)),
    ]
    low, high = span(*(curve.y for curve in whole))
    driven = np.where(basic * found.motion.qd[:, link] > 0.0, 1.0, np.nan)
    area = Band(t, low * driven, high * driven, "velocity and torque have the same sign", "block")
    then = Rule(AT, look=CurveLook(QUIET, 2, 0.65))
    title = (
        f"Fig. 3.{11 + link}: torques of link {link + 1} on the assumed line; dotted: the time of Table 3.5"
    )
    charts = [
        Chart("time, s", "torque, N m", [area, *whole, then], title, y_range=(low, high), height=1.7),
        Chart("time, s", "torque, N m", [*parts, then]),
    ]
    return stacked(charts, beside=True)
