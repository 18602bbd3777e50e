"""Collect what is worth reporting about a file: content that was ignored, and repairs."""

from __future__ import annotations

import warnings

from forearm.errors import IgnoredWarning, RepairWarning
from forearm.reading.xml import Element

MAX_REPORTED = 20


class FileReport:
    """Kinds of ignored content, each with its count and first element, and repairs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kinds: dict[str, tuple[int, Element | None]] = {}
        self.repairs: list[str] = []

    def line(self, element: Element) -> str:
        """Where an element is: `line 12`, with its file if that is another one, which the file includes."""
        return f"line {element.line}" if element.file == self.name else element.place

    def ignored(self, what: str, element: Element | None = None) -> None:
        """Count one more of a kind; a compiled model has no elements."""
        times, first = self.kinds.get(what, (0, element))
        if first is not None and element is not None and element.line < first.line:
            first = element
        self.kinds[what] = (times + 1, first)

    def repaired(self, what: str) -> None:
        """Record a value that was read differently from how it is written."""
        self.repairs.append(what)

    def warn(self, stacklevel: int) -> None:
        """Issue one warning for all repairs and one for all ignored content, in file order."""
        in_file_order = sorted(self.kinds.items(), key=lambda kind: kind[1][1].line if kind[1][1] else 0)
        kinds = [
            f"{what}{'' if times == 1 else f', {times} times'}"
            f"{'' if first is None else f' (first in {self.line(first)})'}"
            for what, (times, first) in in_file_order
        ]
        self._warn(f"repaired: {_bounded(self.repairs, 'more')}", RepairWarning, self.repairs, stacklevel)
        self._warn(f"ignored {_bounded(kinds, 'more kinds')}", IgnoredWarning, kinds, stacklevel)

    def _warn(self, text: str, kind: type[Warning], told: list[str], stacklevel: int) -> None:
        if told:
            warnings.warn(f"{self.name}: {text}.", kind, stacklevel=stacklevel + 1)


def _bounded(told: list[str], others: str) -> str:
    more = [f"and {len(told) - MAX_REPORTED} {others}"] if len(told) > MAX_REPORTED else []
    return "; ".join([*told[:MAX_REPORTED], *more])
