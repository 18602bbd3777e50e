"""Optimality criteria of excitation: functions of the information matrix, with gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from forearm.spatial import Floats

LEAST = 1e-10  # of one sample's scaled information: regularisation for undetermined directions
SHARPNESS = 6.0  # exponent of the power means that approximate the largest and smallest eigenvalue
Criterion = Callable[[Floats], tuple[float, Floats]]


def d_optimal(G: Floats) -> tuple[float, Floats]:
    """-log det G, and its derivative -G^-1 with respect to G."""
    values, directions = np.linalg.eigh(G)
    values = np.maximum(values, 0.0) + LEAST
    return -float(np.log(values).sum()), -(directions / values) @ directions.T


def condition(G: Floats) -> tuple[float, Floats]:
    """p times the logarithm of the condition number of the columns behind G, smoothed where eigenvalues meet,
    and its derivative with respect to G.

    The largest eigenvalue is approximated by (sum of s-th powers)^(1/s), the least likewise.
    """
    values, directions = np.linalg.eigh(G)
    values = np.maximum(values, 0.0) + LEAST
    top, bottom = (values / values[-1]) ** SHARPNESS, (values[0] / values) ** SHARPNESS
    p = len(values)
    value = np.log(values[-1] / values[0]) + (np.log(top.sum()) + np.log(bottom.sum())) / SHARPNESS
    weights = (top / top.sum() - bottom / bottom.sum()) / values
    return 0.5 * p * float(value), 0.5 * p * (directions * weights) @ directions.T


CRITERIA: dict[str, Criterion] = {"d": d_optimal, "condition": condition}
