"""How far two colours stand out from each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def linear(colour: str) -> NDArray[np.float64]:
    """Linear RGB of #rrggbb or #rgb."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * d for d in colour[1:])
    c = np.array([int(digits[k : k + 2], 16) for k in (0, 2, 4)]) / 255.0
    made: NDArray[np.float64] = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return made


def contrast(a: str, b: str) -> float:
    """The contrast of WCAG 2, from 1 to 21."""
    low, high = sorted(float(np.array([0.2126, 0.7152, 0.0722]) @ linear(c)) for c in (a, b))
    return (high + 0.05) / (low + 0.05)
