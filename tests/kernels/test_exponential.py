"""The exponential as vector code, against the C library in extended precision; its ends, and NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernels.compiling import errors_in_ulp, evaluated

from forearm.kernels.native import host
from forearm.symbols import Graph

MOST_ULP = 1.5  # units in the last place


def functions(dtype: str, x: Any, lanes: int | None = None) -> Any:
    """e^x, e^-x and |x| as kernels have them."""
    graph = Graph()
    at = graph.input("x[0]")
    return evaluated(graph, [at.exp(), (-at).exp(), abs(at)], x, host(dtype, lanes))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_within_a_unit_or_so_in_the_last_place(dtype: str) -> None:
    rng = np.random.default_rng(0)
    halves = np.arange(-115, 116) * (0.5 * np.log(2.0))  # where the reduction changes over
    spread = [rng.uniform(-s, s, 20000) for s in (1e-9, 0.4, 5.0, 80.0)]
    x = np.concatenate([*spread, halves, halves + 1e-9, [0.0]]).astype(dtype)
    y, exact = functions(dtype, x), x.astype(np.longdouble)
    assert errors_in_ulp(y[:, :2], np.exp(np.stack([exact, -exact], axis=1))).max() <= MOST_ULP
    assert np.array_equal(y[:, 2], np.abs(x))
    assert y[-1].tolist() == [1.0, 1.0, 0.0]


@pytest.mark.parametrize(("dtype", "end"), [("float64", 700.0), ("float32", 85.0)])
def test_far_away_it_stays_at_its_ends(dtype: str, end: float) -> None:
    """Stribeck's curve asks for exp(-v^2): beyond the end it is as good as 0, and nothing overflows."""
    y = functions(dtype, [-end, -end - 1.0, -1e30, end, end + 1.0, 1e30])[:, 0]
    assert (y[:3] == y[0]).all()
    assert (y[3:] == y[3]).all()
    assert 0.0 <= y[0] < (1e-300 if dtype == "float64" else 1e-36)
    assert np.isfinite(y[3])
    np.testing.assert_allclose(y[3].astype(float), np.exp(end), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_nan_and_infinity(dtype: str) -> None:
    """NaN stays; infinity is no state, which kernels see to by themselves: results of it are NaN."""
    assert np.isnan(functions(dtype, [np.nan, np.inf, -np.inf])).all()


def test_any_number_of_lanes() -> None:
    x = np.random.default_rng(1).uniform(-80.0, 80.0, 37)
    truth = functions("float64", x)
    for lanes in (1, 2, 4, 8):
        assert np.array_equal(functions("float64", x, lanes), truth)
