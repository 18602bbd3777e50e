"""What makes one motion better than another: functions of the information in its torques, with gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from forearm.spatial import Floats

LEAST = 1e-10  # of the scaled information of one sample: added, so that what is not seen yet has a gradient
SHARPNESS = 6.0  # of the means of eigenvalues that stand for the largest and the least
Criterion = Callable[[Floats], tuple[float, Floats]]


def d_optimal(G: Floats) -> tuple[float, Floats]:
    """-log det G, and its derivative -G^-1 by G."""
    values, directions = np.linalg.eigh(G)
    values = np.maximum(values, 0.0) + LEAST
    return -float(np.log(values).sum()), -(directions / values) @ directions.T


def condition(G: Floats) -> tuple[float, Floats]:
    """p times the logarithm of the condition number of the columns behind G, smooth where eigenvalues meet,
    and its derivative by G.

    The largest eigenvalue is taken as (sum of s-th powers)^(1/s), the least likewise.
    """
    values, directions = np.linalg.eigh(G)
    values = np.maximum(values, 0.0) + LEAST
    top, bottom = (values / values[-1]) ** SHARPNESS, (values[0] / values) ** SHARPNESS
    p = len(values)
    value = np.log(values[-1] / values[0]) + (np.log(top.sum()) + np.log(bottom.sum())) / SHARPNESS
    weights = (top / top.sum() - bottom / bottom.sum()) / values
    return 0.5 * p * float(value), 0.5 * p * (directions * weights) @ directions.T


CRITERIA: dict[str, Criterion] = {"d": d_optimal, "condition": condition}
