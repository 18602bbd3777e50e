"""How many operations of each kind."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields

from forearm.tables import html_table

WORDS = ("multiplications", "additions", "divisions", "square roots", "sines and cosines")


@dataclass(frozen=True)
class Counts:
    """Multiplications, additions (subtractions too), divisions, square roots (no formulation takes
    one), sines and cosines.
    """

    mul: int = 0
    add: int = 0
    div: int = 0
    sqrt: int = 0
    trig: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.mul + other.mul,
            self.add + other.add,
            self.div + other.div,
            self.sqrt + other.sqrt,
            self.trig + other.trig,
        )

    def __sub__(self, other: Counts) -> Counts:
        return Counts(
            self.mul - other.mul,
            self.add - other.add,
            self.div - other.div,
            self.sqrt - other.sqrt,
            self.trig - other.trig,
        )

    def __str__(self) -> str:
        parts = [f"{getattr(self, f.name)} {f.name}" for f in fields(self) if getattr(self, f.name)]
        return ", ".join(parts) or "nothing"

    def _repr_html_(self) -> str:
        rows = [[words, str(count)] for words, count in zip(WORDS, astuple(self), strict=True)]
        return html_table(["operation", "how many"], rows)
