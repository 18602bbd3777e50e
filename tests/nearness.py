"""How near arrays must be."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def assert_near(found: ArrayLike, truth: ArrayLike, within: float) -> None:
    """No number is further from its truth than this."""
    np.testing.assert_allclose(found, truth, rtol=0, atol=within)
