"""Numbers on the command line: read strictly, within bounds, and refused with what is allowed."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

from forearm.errors import shorten
from forearm.values import LARGEST, number_in


@dataclass(frozen=True)
class Real:
    """A type for argparse: a finite number, at least, above, at most or below a bound."""

    least: float = -LARGEST
    above: float = -math.inf
    most: float = LARGEST
    below: float = math.inf

    def __call__(self, text: str) -> float:
        """The number that a text is."""
        value = plain_float(text)
        if value is None or not (self.least <= value <= self.most and self.above < value < self.below):
            raise argparse.ArgumentTypeError(f"expected a number{self._bounds()}, got {shorten(text)}")
        return value

    def _bounds(self) -> str:
        said = [f"above {self.above:g}"] if self.above > -math.inf else []
        said += (
            [f"from {self.least:g}" if self.most < LARGEST else f"of at least {self.least:g}"]
            if self._has_least
            else []
        )
        said += (
            [f"to {self.most:g}" if self._has_least else f"of at most {self.most:g}"]
            if self.most < LARGEST
            else []
        )
        said += [f"and below {self.below:g}"] if self.below < math.inf else []
        return "".join(f" {words}" for words in said)

    @property
    def _has_least(self) -> bool:
        return self.least > -LARGEST


@dataclass(frozen=True)
class Whole:
    """A type for argparse: a whole number within bounds."""

    least: int = 0
    most: int | None = None

    def __call__(self, text: str) -> int:
        """The number that a text is."""
        word = text.strip()
        is_whole = word.isascii() and word.removeprefix("-").isdigit() and len(word) <= 18
        value = int(word) if is_whole else None
        if value is None or value < self.least or (self.most is not None and value > self.most):
            raise argparse.ArgumentTypeError(f"expected {self._allowed()}, got {shorten(text)}")
        return value

    def _allowed(self) -> str:
        if self.most is None:
            return f"a whole number of at least {self.least}"
        return (
            f"{self.least} or {self.most}"
            if self.most == self.least + 1
            else f"a whole number from {self.least} to {self.most}"
        )


ANY = Real()
POSITIVE = Real(above=0.0)
NOT_NEGATIVE = Real(least=0.0)


def plain_float(text: str) -> float | None:
    """A text as a finite number, None if it is not one."""
    value = number_in(text)
    return value if value is not None and math.isfinite(value) else None
