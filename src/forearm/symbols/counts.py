"""Operation counts by kind."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields

from forearm.tables import Report

WORDS = ("multiplications", "additions", "divisions", "square roots", "sines and cosines", "look-ups")


@dataclass(frozen=True)
class Counts:
    """Operations by kind.

    Args:
        mul: multiplications.
        add: additions and subtractions; choices too, which compare.
        div: divisions.
        sqrt: square roots (no formulation needs one).
        trig: sines and cosines.
        lookup: table look-ups: searches of a piece, whose polynomials are in mul and add.
    """

    mul: int = 0
    add: int = 0
    div: int = 0
    sqrt: int = 0
    trig: int = 0
    lookup: int = 0

    @property
    def operations(self) -> int:
        """Multiplications plus additions."""
        return self.mul + self.add

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: Counts) -> Counts:
        return Counts(*(a - b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __str__(self) -> str:
        parts = [f"{getattr(self, f.name)} {f.name}" for f in fields(self) if getattr(self, f.name)]
        return ", ".join(parts) or "nothing"

    def _repr_html_(self) -> str:
        rows = [[words, str(count)] for words, count in zip(WORDS, astuple(self), strict=True)]
        return Report(["operation", "how many"], rows).html()
