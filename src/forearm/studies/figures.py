"""Figures of merit of a study: what they are called, their units, and which columns they have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from forearm.arm.arm import Arm
from forearm.errors import InputError, NameNotFound, shorten, suggest
from forearm.simulation.summaries import QUANTITIES

REQUIRED = "required_"


@dataclass(frozen=True)
class Figure:
    """A figure of merit.

    Args:
        name: by which it is asked for.
        title: in words.
        unit: of a turning joint; that of a sliding one behind a slash where it is another.
        better: "less" or "more".
        by_joint: whether each joint has one.
        needs: figures of `forearm.simulation` that it is made of.
    """

    name: str
    title: str
    unit: str = ""
    better: str = "less"
    by_joint: bool = False
    needs: tuple[str, ...] = ()

    @property
    def is_required(self) -> bool:
        """Whether it is one of what a motion needs."""
        return self.name.startswith(REQUIRED)

    @property
    def is_simulated(self) -> bool:
        """Whether it is one of a run."""
        return bool(self.needs) and not self.is_required

    def unit_of(self, arm: Arm, joint: int | None) -> str:
        """The unit at a joint.

        Args:
            arm: the arm.
            joint: its number, from 0; None: of all joints together.
        """
        turning, _, sliding = self.unit.partition("/ ")
        is_sliding = joint is not None and arm.joints[joint].kind == "prismatic"
        return sliding if is_sliding and sliding else turning.strip()


def _made_of(name: str, title: str, unit: str = "", better: str = "less", by_joint: bool = False) -> Figure:
    return Figure(name, title, unit, better, by_joint, (name,))


OF_MOTION = (  # those that a simulation has, and also what a motion requires by itself
    _made_of("peak_torque", "peak torque", "N m/ N", by_joint=True),
    _made_of("rms_torque", "RMS torque", "N m/ N", by_joint=True),
    _made_of("peak_speed", "peak speed", "rad/s/ m/s", by_joint=True),
    _made_of("peak_voltage", "peak voltage", "V", by_joint=True),
    _made_of("rms_voltage", "RMS voltage", "V", by_joint=True),
    _made_of("peak_current", "peak current", "A", by_joint=True),
    _made_of("rms_current", "RMS current", "A", by_joint=True),
    _made_of("work", "mechanical work", "J"),
    _made_of("copper_loss", "loss in windings", "J"),
    _made_of("energy", "energy drawn", "J"),
    Figure("torque_margin", "margin of torque to max_effort", "", "more", needs=("peak_torque",)),
    Figure("speed_margin", "margin of speed to its limits", "", "more", needs=("peak_speed",)),
    Figure("voltage_margin", "margin of voltage to its limits", "", "more", needs=("peak_voltage",)),
    Figure("current_margin", "margin of current to its limits", "", "more", needs=("peak_current",)),
    Figure("heat_margin", "margin of RMS current to the continuous one", "", "more", needs=("rms_current",)),
)
OF_RUN = (
    *OF_MOTION,
    _made_of("peak_error", "peak error of a joint", "rad/ m", by_joint=True),
    _made_of("rms_error", "RMS error of a joint", "rad/ m", by_joint=True),
    Figure("tracking_error", "RMS error of all joints", "rad", needs=("rms_error",)),
    _made_of("hand_error", "largest error of the hand", "m"),
    _made_of("limit_margin", "least distance of a joint to its limits", "rad", "more"),
    _made_of("limit_time", "time at which a joint passes a limit", "s", "more"),
)
OF_DESIGN = (
    Figure("manipulability", "least manipulability along the motion", "", "more"),
    Figure("time_optimal_duration", "shortest time along the motion's path", "s"),
    Figure("motor_mass", "mass of the motors chosen", "kg"),
)
FIGURES: dict[str, Figure] = {
    **{figure.name: figure for figure in OF_RUN},
    **{
        REQUIRED + figure.name: Figure(
            REQUIRED + figure.name,
            f"required {figure.title}",
            figure.unit,
            figure.better,
            figure.by_joint,
            figure.needs,
        )
        for figure in OF_MOTION
    },
    **{figure.name: figure for figure in OF_DESIGN},
}
assert {need for figure in FIGURES.values() for need in figure.needs} <= set(QUANTITIES)


@dataclass(frozen=True)
class Column:
    """A column of results: a figure, and the joint that it is of."""

    figure: Figure
    joint: int | None
    name: str
    unit: str
    title: str


def columns_of(arm: Arm, asked: Iterable[str]) -> tuple[Column, ...]:
    """The columns of figures that are asked for: "peak_torque" has one per joint, of which
    "peak_torque.joint2" is one.
    """
    names = [joint.name for joint in arm.joints]
    made: dict[str, Column] = {}
    for text in asked:
        if not isinstance(text, str):
            raise InputError(f"figures: expected names, got {shorten(text)}.")
        name, _, joint = text.partition(".")
        if name not in FIGURES:
            raise NameNotFound(f"figures: there is no {shorten(text)}; {suggest(name, FIGURES)}")
        figure = FIGURES[name]
        if joint and (not figure.by_joint or joint not in names):
            known = f"its joints are {', '.join(names)}" if figure.by_joint else f"{name} has no joints"
            raise NameNotFound(f"figures: there is no {shorten(text)}; {known}.")
        for column in _columns(arm, figure, names, joint):
            made[column.name] = column
    if not made:
        raise InputError("figures: expected at least one, such as peak_torque or energy.")
    return tuple(made.values())


def _columns(arm: Arm, figure: Figure, names: Sequence[str], joint: str) -> list[Column]:
    if not figure.by_joint:
        return [Column(figure, None, figure.name, figure.unit_of(arm, None), figure.title)]
    chosen = [joint] if joint else names
    return [
        Column(
            figure,
            (k := names.index(name)),
            f"{figure.name}.{name}",
            figure.unit_of(arm, k),
            f"{figure.title}, {name}",
        )
        for name in chosen
    ]
