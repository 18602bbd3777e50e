"""The numbers behind scalars that count."""

from __future__ import annotations

from typing import Any

import numpy as np


def values(results: Any) -> Any:
    """The numbers of a result, as floats in an array of its shape."""
    return np.array(np.vectorize(float, otypes=[float])(np.array(results, dtype=object)), dtype=float)
