"""How near arrays must be."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def assert_near(found: ArrayLike, truth: ArrayLike, within: float) -> None:
    """No number is further from its truth than this."""
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(truth, float), rtol=0, atol=within)
