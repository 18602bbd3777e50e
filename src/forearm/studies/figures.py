"""Figures of merit of a study: names, units and columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from forearm.arm.arm import Arm
from forearm.errors import InputError, NameNotFound, shorten, suggest
from forearm.simulation.summaries import QUANTITIES

REQUIRED = "required_"


@dataclass(frozen=True)
class Figure:
    """A figure of merit.

    Args:
        name: its identifier.
        title: description.
        unit: for revolute joints; for prismatic ones after a slash if different.
        better: "less" or "more".
        by_joint: whether there is one per joint.
        needs: quantities of `forearm.simulation` that it is computed from.
    """

    name: str
    title: str
    unit: str = ""
    better: str = "less"
    by_joint: bool = False
    needs: tuple[str, ...] = ()

    @property
    def is_required(self) -> bool:
        """Whether it is required by a motion, without simulation."""
        return self.name.startswith(REQUIRED)

    @property
    def is_simulated(self) -> bool:
        """Whether it belongs to a simulated run."""
        return bool(self.needs) and not self.is_required

    def unit_of(self, arm: Arm, joint: int | None) -> str:
        """The unit at a joint.

        Args:
            arm: the arm.
            joint: its index, from 0; None: all joints together.
        """
        turning, _, sliding = self.unit.partition("/ ")
        is_sliding = joint is not None and arm.joints[joint].kind == "prismatic"
        return sliding if is_sliding and sliding else turning.strip()


def _made_of(name: str, title: str, unit: str = "", better: str = "less", by_joint: bool = False) -> Figure:
    return Figure(name, title, unit, better, by_joint, (name,))


OF_MOTION = (  # available both from a simulation and from the motion alone
    _made_of("peak_torque", "peak torque", "N m/ N", by_joint=True),
    _made_of("rms_torque", "RMS torque", "N m/ N", by_joint=True),
    _made_of("peak_speed", "peak speed", "rad/s/ m/s", by_joint=True),
    _made_of("peak_voltage", "peak voltage", "V", by_joint=True),
    _made_of("rms_voltage", "RMS voltage", "V", by_joint=True),
    _made_of("peak_current", "peak current", "A", by_joint=True),
    _made_of("rms_current", "RMS current", "A", by_joint=True),
    _made_of("work", "mechanical work", "J"),
    _made_of("copper_loss", "winding losses", "J"),
    _made_of("energy", "electrical energy drawn", "J"),
    Figure("torque_margin", "torque margin to max_effort", "", "more", needs=("peak_torque",)),
    Figure("speed_margin", "speed margin to the limits", "", "more", needs=("peak_speed",)),
    Figure("voltage_margin", "voltage margin to the limits", "", "more", needs=("peak_voltage",)),
    Figure("current_margin", "current margin to the limits", "", "more", needs=("peak_current",)),
    Figure("heat_margin", "RMS current margin to the continuous current", "", "more", needs=("rms_current",)),
)
OF_RUN = (
    *OF_MOTION,
    _made_of("peak_error", "peak joint error", "rad/ m", by_joint=True),
    _made_of("rms_error", "RMS joint error", "rad/ m", by_joint=True),
    Figure("tracking_error", "RMS error of all joints", "rad", needs=("rms_error",)),
    _made_of("hand_error", "peak hand position error", "m"),
    _made_of("limit_margin", "smallest distance of a joint from its limits", "rad", "more"),
    _made_of("limit_time", "time at which a joint exceeds a limit", "s", "more"),
)
OF_DESIGN = (
    Figure("manipulability", "smallest manipulability along the motion", "", "more"),
    Figure("time_optimal_duration", "minimum time along the path of the motion", "s"),
    Figure("motor_mass", "total mass of the chosen motors", "kg"),
)
FIGURES: dict[str, Figure] = {
    **{figure.name: figure for figure in OF_RUN},
    **{REQUIRED + f.name: replace(f, name=REQUIRED + f.name, title=f"required {f.title}") for f in OF_MOTION},
    **{figure.name: figure for figure in OF_DESIGN},
}
assert {need for figure in FIGURES.values() for need in figure.needs} <= set(QUANTITIES)


@dataclass(frozen=True)
class Column:
    """A results column: a figure, and its joint."""

    figure: Figure
    joint: int | None
    name: str
    unit: str
    title: str


def columns_of(arm: Arm, asked: Iterable[str]) -> tuple[Column, ...]:
    """The columns of the requested figures: "peak_torque" has one per joint, such as "peak_torque.joint2"."""
    names = [joint.name for joint in arm.joints]
    found: dict[str, Column] = {}
    for text in asked:
        name, _, joint = text.partition(".")
        if name not in FIGURES:
            raise NameNotFound(f"unknown figure {shorten(text)}; {suggest(name, FIGURES)}", "figures")
        figure = FIGURES[name]
        if joint and (not figure.by_joint or joint not in names):
            known = f"its joints are {', '.join(names)}" if figure.by_joint else f"{name} has no joints"
            raise NameNotFound(f"unknown figure {shorten(text)}; {known}.", "figures")
        if not figure.by_joint:
            found[name] = Column(figure, None, name, figure.unit_of(arm, None), figure.title)
        for k, own in enumerate(names) if figure.by_joint else ():
            if joint in ("", own):
                key, title = f"{name}.{own}", f"{figure.title}, {own}"
                found[key] = Column(figure, k, key, figure.unit_of(arm, k), title)
    if not found:
        raise InputError("expected at least one, such as peak_torque or energy.", "figures")
    return tuple(found.values())
