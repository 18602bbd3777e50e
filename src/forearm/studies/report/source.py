"""Interface of study results that the report needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from numpy.typing import NDArray

NO_BREAK = "\u00a0"  # a space that no line breaks at


@dataclass(frozen=True)
class ReportVariable:
    """A variable of the study; values of a non-numeric one are strings."""

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
        """Properties of the study, as pairs of words: arm, design, seed."""

    @property
    def rows(self) -> int:
        """Number of rows of the study, computed or not."""

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
        """The command that produced the results."""

    def column(self, name: str, /) -> NDArray[Any]:
        """Values of a variable or figure, or the "row" numbers, of all computed rows, (done,)."""


def label(name: str, unit: str) -> str:
    """A quantity with its unit, for axes; no line breaks inside the unit."""
    return f"{name}, {unit.replace(' ', NO_BREAK)}" if unit else name


def title_of(figure: ReportFigure) -> str:
    """A figure's title."""
    return figure.title or figure.name
