"""What the report asks of the results of a study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from numpy.typing import NDArray

NO_BREAK = "\u00a0"  # a space that no line breaks at


@dataclass(frozen=True)
class ReportVariable:
    """An input that the study varied; values of a non-numeric one are strings."""

    name: str
    unit: str = ""
    is_numeric: bool = True


@dataclass(frozen=True)
class ReportFigure:
    """A figure of merit: whether `less` or `more` of it is better."""

    name: str
    unit: str = ""
    title: str = ""
    better: Literal["less", "more"] = "less"


class ReportSource(Protocol):
    """Results of a study, read one column at a time."""

    @property
    def name(self) -> str:
        """Name of the study."""

    @property
    def facts(self) -> Sequence[tuple[str, str]]:
        """What the study was made with, as pairs of words: arm, design, seed."""

    @property
    def rows(self) -> int:
        """How many rows the study has, whether computed yet or not."""

    @property
    def variables(self) -> Sequence[ReportVariable]:
        """The inputs."""

    @property
    def figures(self) -> Sequence[ReportFigure]:
        """The outputs."""

    @property
    def design(self) -> str:
        """Grid, random, latin-hypercube, sobol or sobol-indices."""

    @property
    def command(self) -> str:
        """The command that made the results."""

    def column(self, name: str, /) -> NDArray[Any]:
        """Values of a variable or figure, or the "row" numbers, of all rows that are done, (done,)."""


def label(name: str, unit: str) -> str:
    """A quantity with its unit, as axes have it; no line breaks inside the unit."""
    return f"{name}, {unit.replace(' ', NO_BREAK)}" if unit else name


def title_of(figure: ReportFigure) -> str:
    """What a figure is called in words."""
    return figure.title or figure.name
