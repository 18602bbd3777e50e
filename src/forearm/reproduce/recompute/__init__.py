"""Functions that recompute the documents' values, each returning {label: value}.

An item in `printed` names its function as module.function, such as `mata.table_5`; there is one module per
document or theme.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np

from forearm.spatial import Floats

Figures = dict[str, float]


def apart(a: Floats, b: Floats) -> float:
    """The largest difference of two arrays relative to their largest absolute value."""
    return float(np.abs(a - b).max() / max(np.abs(a).max(), np.abs(b).max()))


def function(name: str) -> Callable[[], Figures]:
    """The function named by an item; imports its module."""
    module, _, inner = name.partition(".")
    found: Callable[[], Figures] = getattr(import_module(f"{__name__}.{module}"), inner)
    return found
