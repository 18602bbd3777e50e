"""The functions that compute the documents' figures anew, each giving {label: value}.

An item in `printed` names its function as module.function: `mata.table_5`.
There is one module per document or theme.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np

from forearm.spatial import Floats

Figures = dict[str, float]


def apart(a: Floats, b: Floats) -> float:
    """The largest difference of two arrays over the largest value in them."""
    return float(np.abs(a - b).max() / max(np.abs(a).max(), np.abs(b).max()))


def function(name: str) -> Callable[[], Figures]:
    """The function that an item names, its module imported now."""
    module, _, inner = name.partition(".")
    found: Callable[[], Figures] = getattr(import_module(f"{__name__}.{module}"), inner)
    return found
