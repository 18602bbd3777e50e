"""Collect content that an arm cannot represent and that would change its motion: one warning per file."""

from __future__ import annotations

import warnings

from forearm.errors import IgnoredWarning
from forearm.reading.xml import Element

MAX_KINDS_REPORTED = 50


class Ignored:
    """Kinds of ignored content, each with its count and first location."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kinds: dict[str, tuple[int, str]] = {}

    def add(self, what: str, element: Element | None = None) -> None:
        """Count one more of a kind; a compiled model has no elements."""
        count, first = self.kinds.get(what, (0, ""))
        if element is not None and count == 0:
            of = "" if element.file == self.name else f" of {element.file}"
            first = f" (first in line {element.line}{of})"
        self.kinds[what] = (count + 1, first)

    def warn(self, stacklevel: int) -> None:
        """Issue one warning for all ignored content."""
        said = [
            f"{what}{'' if count == 1 else f', {count} times'}{first}"
            for what, (count, first) in self.kinds.items()
        ]
        if len(said) > MAX_KINDS_REPORTED:
            said = [*said[:MAX_KINDS_REPORTED], f"{len(said) - MAX_KINDS_REPORTED} more kinds"]
        if said:
            warnings.warn(
                f"{self.name}: ignored {'; '.join(said)}", IgnoredWarning, stacklevel=stacklevel + 1
            )
