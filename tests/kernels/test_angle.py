"""The angle of a point as vector code, against the C library in extended precision;
axes, corners, zeros with signs, NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernels.compiling import errors_in_ulp, evaluated

from forearm.kernels.native import host
from forearm.symbols import Graph

# units in the last place: just above pi/8 the result is a difference
MOST_ULP = 2.5


def angles(dtype: str, points: Any, lanes: int | None = None) -> Any:
    """The angles of (x, y) and of (-x, -y) as kernels have them, (B, 2)."""
    graph = Graph()
    x, y = (graph.input(f"x[{k}]") for k in range(2))
    return evaluated(graph, [y.arctangent(x), (-y).arctangent(-x)], points, host(dtype, lanes))


def sample(dtype: str) -> Any:
    """Points all around, near the axes, the diagonals and the eighths where the code
    changes over, of all sizes.
    """
    rng = np.random.default_rng(0)
    edges = np.repeat(np.arange(-8, 9) * np.pi / 8, 200)
    around = np.concatenate([rng.uniform(-np.pi, np.pi, 20000), edges + rng.normal(size=edges.size) * 1e-6])
    size = 10.0 ** rng.uniform(-12, 12, around.size)
    return (size[:, None] * np.column_stack([np.cos(around), np.sin(around)])).astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_within_two_units_or_so_in_the_last_place(dtype: str) -> None:
    points = sample(dtype)
    x, y = points.astype(np.longdouble).T
    truth = np.stack([np.arctan2(y, x), np.arctan2(-y, -x)], axis=1)
    assert errors_in_ulp(angles(dtype, points), truth).max() <= MOST_ULP


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_axes_and_the_origin_are_as_in_the_c_library(dtype: str) -> None:
    points = [(x, y) for x in (-2.0, -0.0, 0.0, 3.0) for y in (-1.5, -0.0, 0.0, 1.5)]
    found = angles(dtype, points)[:, 0]
    truth = np.arctan2([p[1] for p in points], [p[0] for p in points]).astype(dtype)
    np.testing.assert_array_almost_equal_nulp(found, truth, 2)


def test_nan_stays() -> None:
    assert np.isnan(angles("float64", [[np.nan, 1.0], [1.0, np.nan], [np.nan, np.nan]])).all()


def test_any_number_of_lanes() -> None:
    points = sample("float64")[:37]
    truth = angles("float64", points)
    for lanes in (1, 2, 4, 8):
        assert np.array_equal(angles("float64", points, lanes), truth)
