"""Functions that recompute the documents' values, each returning {label: value}.

An item in `printed` names its function as module.function, such as `mata.table_5`; there is one module per
document or theme.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from forearm.spatial import Floats
from forearm.symbols.counts import Counts

Figures = dict[str, Any]  # numbers of any type by label


def apart(a: Floats, b: Floats) -> float:
    """The largest difference of two arrays relative to their largest absolute value."""
    return float(np.abs(a - b).max() / max(np.abs(a).max(), np.abs(b).max()))


def by_words(made: Mapping[str, Counts], words: Sequence[str]) -> Figures:
    """Multiplications and additions under the words that a document has for them."""
    return {
        f"{label}, {word}": value
        for label, c in made.items()
        for word, value in zip(words, (c.mul, c.add), strict=True)
    }


def divisions_too(counts: Counts) -> Counts:
    """The same with divisions counted as multiplications."""
    return replace(counts, mul=counts.mul + counts.div)


def function(name: str) -> Callable[[], Figures]:
    """The function named by an item; imports its module."""
    module, _, inner = name.partition(".")
    found: Callable[[], Figures] = getattr(import_module(f"{__name__}.{module}"), inner)
    return found
