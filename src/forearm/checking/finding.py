"""A finding of a check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Finding:
    """A finding.

    Attributes:
        level: "error", "warning" or "note".
        code: what it is, such as "density".
        place: names of the links or joints that it is about, or of the arm.
        text: a sentence with the numbers and the remedy.
    """

    level: Level
    code: str
    place: str
    text: str


def warning(name: str, code: str, text: str) -> Finding:
    """A warning about one link or joint, which its sentence begins with."""
    return Finding("warning", code, name, f"{name}: {text}")
