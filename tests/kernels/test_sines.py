"""Sine and cosine as vector code, against the C library in extended precision and everywhere they change their form."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from forearm.codegen.functions import Traced
from forearm.codegen.program import Argument
from forearm.kernels.ir import function_text, module_text
from forearm.kernels.native import host, loaded, object_code
from forearm.symbols import Graph

ULP = {"float64": 2.0, "float32": 2.0}  # units in the last place of the result, at least of 1e-3 of 1 near zeros


def sine_and_cosine(dtype: str, x: Any, lanes: int | None = None) -> Any:
    graph = Graph()
    angle = graph.input("x[0]")
    results = {"y": np.array([angle.sin(), angle.cos()], dtype=object)}
    traced = Traced(graph, results, (Argument("x", (1,), ""),), (Argument("y", (2,), ""),))
    target = host(dtype, lanes)
    memory = loaded(object_code(module_text([function_text("both", traced, target)], target)), ["both"])
    both = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(memory.addresses["both"])
    x = np.ascontiguousarray(x, dtype=dtype)
    y = np.empty((len(x), 2), dtype=dtype)
    both(x.ctypes.data, y.ctypes.data, len(x))
    return y


def error_in_ulp(dtype: str, x: Any) -> Any:
    y = sine_and_cosine(dtype, x)
    long = np.asarray(x, dtype=dtype).astype(np.longdouble)
    truth = np.stack([np.sin(long), np.cos(long)], axis=1)
    spacing = np.spacing(np.maximum(np.abs(truth), 1e-3).astype(dtype)).astype(np.longdouble)
    return np.abs(y - truth) / spacing


@pytest.mark.parametrize(("dtype", "largest"), [("float64", 1e5), ("float32", 1e3)])
def test_within_two_units_in_the_last_place(dtype: str, largest: float) -> None:
    rng = np.random.default_rng(0)
    quarters = np.arange(-2000, 2000) * (np.pi / 4.0)
    near = np.concatenate([quarters + d for d in (0.0, 1e-9, -1e-9, 1e-4)])
    spread = [rng.uniform(-s, s, 20000) for s in (1e-6, 0.8, 4.0, 100.0, largest)]
    x = np.concatenate([*spread, near[np.abs(near) < largest], [0.0, largest, -largest]])
    assert error_in_ulp(dtype, x).max() <= ULP[dtype]


@pytest.mark.parametrize(("dtype", "size", "wrong"), [("float64", 1e9, 1e-12), ("float64", 1e12, 1e-9), ("float32", 1e5, 1e-6)])
def test_far_away_digits_are_lost_slowly(dtype: str, size: float, wrong: float) -> None:
    x = np.random.default_rng(1).uniform(-size, size, 5000).astype(dtype)
    exact = x.astype(np.longdouble)
    assert np.abs(sine_and_cosine(dtype, x) - np.stack([np.sin(exact), np.cos(exact)], axis=1)).max() < wrong


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_however_far_it_is_a_point_of_the_circle(dtype: str) -> None:
    sizes = 10.0 ** np.random.default_rng(1).uniform(3, 300 if dtype == "float64" else 38, 3000)
    y = sine_and_cosine(dtype, np.concatenate([sizes, -sizes])).astype(float)
    assert np.abs((y**2).sum(axis=1) - 1.0).max() < 1e-2


def test_small_and_special() -> None:
    y = sine_and_cosine("float64", [0.0, 1e-300, 5e-324, -1e-20, np.nan, np.inf, -np.inf, 1.0])
    assert y[:4, 0].tolist() == [0.0, 1e-300, 5e-324, -1e-20]
    assert y[:4, 1].tolist() == [1.0] * 4
    assert np.isnan(y[4:7]).all()
    assert abs(y[7, 0] - np.sin(1.0)) < 2e-16


def test_every_width_has_the_same_bits() -> None:
    x = np.random.default_rng(2).uniform(-50.0, 50.0, 1001)
    one = sine_and_cosine("float64", x, 1)
    for lanes in (2, 4, 8, 16):
        assert np.array_equal(sine_and_cosine("float64", x, lanes), one)
