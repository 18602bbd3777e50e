"""Quantiles against SciPy and the standard library, levels of grids, tables there and back, and refusals."""

from __future__ import annotations

import math
from importlib import import_module
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from forearm.errors import InputError
from forearm.studies.sampling.distributions import (
    Choice,
    Distribution,
    LogNormal,
    LogUniform,
    Normal,
    Triangular,
    Uniform,
    distribution_of,
    table_fields,
)
from forearm.studies.sampling.normal_quantile import normal_cdf, normal_quantile

special: Any = import_module("scipy.special")
stats: Any = import_module("scipy.stats")

# Probabilities over the middle and far into both tails, as near to 1 as floats allow.
U = np.concatenate(
    [np.linspace(0.001, 0.999, 499), 10.0 ** np.arange(-15.0, -3.0), 1.0 - 10.0 ** np.arange(-15.0, -3.0)]
)
TRUTHS: list[tuple[Distribution, Any]] = [
    (Uniform(-1.7, 3.2), stats.uniform(-1.7, 4.9)),
    (LogUniform(0.02, 31.0), stats.loguniform(0.02, 31.0)),
    (Normal(1.3, 0.4), stats.norm(1.3, 0.4)),
    (Normal(1.3, 0.4, 0.9, 2.6), stats.truncnorm(-1.0, 3.25, 1.3, 0.4)),
    (Normal(1.3, 0.4, low=1.1), stats.truncnorm(-0.5, math.inf, 1.3, 0.4)),
    (Normal(1.3, 0.4, high=0.7), stats.truncnorm(-math.inf, -1.5, 1.3, 0.4)),
    (Normal(1.3, 0.4, 4.9, 6.1), stats.truncnorm(9.0, 12.0, 1.3, 0.4)),
    (Normal(1.3, 0.4, -6.7), stats.truncnorm(-20.0, math.inf, 1.3, 0.4)),
    (LogNormal(2.5, 0.35), stats.lognorm(0.35, scale=2.5)),
    (Triangular(-0.4, 0.3, 2.1), stats.triang(0.7 / 2.5, -0.4, 2.5)),
    (Triangular(0.5, 0.5, 2.1), stats.triang(0.0, 0.5, 1.6)),
    (Triangular(0.5, 2.1, 2.1), stats.triang(1.0, 0.5, 1.6)),
]
CHOICES = [Choice((3.0, 1.0, 2.5)), Choice((4.0, 7.0), (0.2, 0.6)), Choice(("rk3", "dp45"), (1.0, 0.0))]
EVERY = [distribution for distribution, _ in TRUTHS] + CHOICES


@pytest.mark.parametrize(
    ("distribution", "truth"), TRUTHS, ids=lambda x: str(x) if hasattr(x, "bounds") else ""
)
def test_quantiles_are_those_of_scipy(distribution: Distribution, truth: Any) -> None:
    # SciPy's truncated normal loses digits in its upper tail, which has a test of its own.
    truncated = isinstance(distribution, Normal) and distribution != Normal(
        distribution.mean, distribution.std
    )
    u = U[U < 0.9995] if truncated else U
    np.testing.assert_allclose(distribution.quantile(u), truth.ppf(u), rtol=1e-11, atol=1e-13)
    values = distribution.quantile(np.sort(U))
    assert distribution.bounds is not None
    low, high = distribution.bounds
    assert (np.diff(values) >= -1e-14).all()  # some units of the last digit
    assert low <= values[0]
    assert values[-1] <= high
    np.testing.assert_allclose([low, high], truth.support(), rtol=1e-14)


@pytest.mark.parametrize(("low", "high"), [(-0.5, math.inf), (-1.0, 3.25), (9.0, 12.0), (-20.0, math.inf)])
def test_the_upper_tail_of_a_truncated_normal_has_its_probability(low: float, high: float) -> None:
    u = U[U > 0.9]
    z = (Normal(1.3, 0.4, 1.3 + 0.4 * low, 1.3 + 0.4 * high).quantile(u) - 1.3) / 0.4
    beyond = special.ndtr(-z) - special.ndtr(-high)
    whole = special.ndtr(-low) - special.ndtr(-high)
    # 1e-12 of the whole: the difference of two probabilities next to a finite bound
    np.testing.assert_allclose(beyond / whole, 1.0 - u, rtol=1e-11, atol=0.0 if high == math.inf else 1e-12)


@pytest.mark.parametrize("distribution", EVERY, ids=str)
def test_blocks_tables_and_what_is_no_probability(distribution: Distribution) -> None:
    """Quantiles do not depend on the block; a distribution comes back from its table."""
    u = np.random.default_rng(4).uniform(1e-9, 1.0 - 1e-9, 301)
    parts = [distribution.quantile(u[a:b]) for a, b in ((0, 1), (1, 8), (8, 131), (131, 301))]
    assert distribution.quantile(u).tolist() == np.concatenate(parts).tolist()
    back = distribution_of(table_fields(distribution), "mass")
    assert back == distribution
    assert (table_fields(back), hash(back)) == (table_fields(distribution), hash(distribution))
    for bad in (0.0, 1.0, 1.5, math.nan):
        with pytest.raises(InputError, match="quantile: expected every u strictly between 0 and 1"):
            distribution.quantile(np.array([0.5, bad]))
    if not isinstance(distribution, Choice):
        with pytest.raises(InputError, match="levels: expected a whole number from 1 to 1000000, got 0"):
            distribution.levels(0)


def test_normal_quantile_to_the_last_digits() -> None:
    u = np.concatenate([U, 10.0 ** np.arange(-300.0, -15.0)])
    z = normal_quantile(u)
    assert np.abs(z - special.ndtri(u)).max() < 1e-13
    standard = NormalDist()
    np.testing.assert_allclose(z, [standard.inv_cdf(x) for x in u.tolist()], rtol=2e-15, atol=1e-16)
    assert np.isnan(normal_quantile(np.array([0.0, 1.0, -0.1, 1.1, math.nan]))).all()


def test_normal_cdf_and_its_inverse() -> None:
    x = np.linspace(-35.0, 8.0, 431)
    np.testing.assert_allclose(normal_cdf(x), special.ndtr(x), rtol=1e-12)
    inside = x[(x > -30.0) & (x < 5.0)]
    np.testing.assert_allclose(normal_quantile(normal_cdf(inside)), inside, rtol=1e-9, atol=1e-13)


def test_a_choice_takes_its_values_by_weight() -> None:
    u = (np.arange(1000) + 0.5) / 1000
    drawn = Choice((5.0, 6.0, 7.0, 8.0), (1.0, 0.0, 3.0, 0.0)).quantile(u)
    assert {float(v): int((drawn == v).sum()) for v in np.unique(drawn)} == {5.0: 250, 7.0: 750}
    words = Choice(("a", "b")).quantile(np.array([0.1, 0.49, 0.51, 0.9999]))
    assert words.tolist() == ["a", "a", "b", "b"]
    ends = Choice((1.0, 2.0, 3.0), (0.1, 0.2, 0.0)).quantile(np.array([1e-300, np.nextafter(1.0, 0.0)]))
    assert ends.tolist() == [1.0, 2.0]


def test_levels() -> None:
    np.testing.assert_allclose(Uniform(-1.0, 2.0).levels(4), [-1.0, 0.0, 1.0, 2.0], atol=1e-15)
    assert Uniform(-1.0, 2.0).levels(1).tolist() == [0.5]
    levels = LogUniform(0.01, 10.0).levels(4)
    np.testing.assert_allclose(levels, [0.01, 0.1, 1.0, 10.0], rtol=1e-14)
    assert (levels[0], levels[-1]) == (0.01, 10.0)
    np.testing.assert_allclose(LogUniform(0.01, 1.0).levels(1), [0.1], rtol=1e-14)
    for distribution, truth in TRUTHS[2:]:
        np.testing.assert_allclose(
            distribution.levels(5), truth.ppf([0.1, 0.3, 0.5, 0.7, 0.9]), rtol=1e-11, atol=1e-13
        )
    assert Choice((3.0, 1.0)).levels(17).tolist() == [3.0, 1.0]
    assert Choice(("b", "a")).levels(1).tolist() == ["b", "a"]


def test_bounds_and_kinds_of_values() -> None:
    assert Normal(1.0, 2.0).bounds == (-math.inf, math.inf)
    assert LogNormal(1.0, 2.0).bounds == (0.0, math.inf)
    assert Choice((3.0, 1.0, 2.0)).bounds == (1.0, 3.0)
    assert Choice(("a",)).bounds is None
    assert [d.is_numeric for d in CHOICES] == [True, True, False]
    assert all(d.is_numeric for d, _ in TRUTHS)
    assert Choice((1, 2)).values == (1.0, 2.0)
    assert isinstance(Uniform(1, 2).low, float)


def test_tables_as_files_have_them() -> None:
    assert distribution_of({"uniform": [1, 2]}, "x") == Uniform(1.0, 2.0)
    assert distribution_of({"normal": [1, 2]}, "x") == Normal(1.0, 2.0)
    assert distribution_of({"normal": {"mean": 1, "std": 2, "high": 3}}, "x") == Normal(1.0, 2.0, high=3.0)
    assert distribution_of({"normal": {"mean": 1, "std": 2, "low": -math.inf}}, "x") == Normal(1.0, 2.0)
    assert distribution_of({"values": [1, 2]}, "x") == Choice((1.0, 2.0))
    assert distribution_of({"choice": ["a", "b"], "weights": [1, 3]}, "x") == Choice(("a", "b"), (1.0, 3.0))


BAD_TABLES: list[tuple[dict[str, object], str]] = [
    ({}, "p: expected exactly one of uniform, loguniform, .*, choice, values, got none; keep one"),
    ({"uniform": [1, 2], "normal": [1, 2]}, "p: expected exactly one of .*, got uniform, normal; keep one."),
    ({"unifrom": [1, 2]}, "p: expected one of .*, got 'unifrom'; did you mean 'uniform'"),
    ({"uniform": [1, 2], "weights": [1, 2]}, "p, weights: allowed only with choice or values, got uniform"),
    ({"uniform": [1, 2, 3]}, r"p, uniform: expected uniform = \[low, high\], got \[1, 2, 3\]"),
    ({"uniform": [2, 1]}, "p, uniform: expected low below high, got low 2 and high 1; swap them."),
    ({"uniform": [1, math.inf]}, "p, uniform, high: the number must be finite, got inf"),
    ({"loguniform": [0, 1]}, "p, LogUniform, low: must be above 0, got 0"),
    ({"normal": {"mean": 0}}, "p, normal: missing key 'std'"),
    ({"normal": {"mean": 0, "std": 1, "hihg": 3}}, "p, normal: unknown key 'hihg'; did you mean 'high'"),
    ({"normal": {"mean": 0, "std": 1, "low": 50}}, "p, normal: expected bounds that contain some prob"),
    ({"lognormal": [1, 11]}, "p, LogNormal, sigma: must be above 0 and at most 10, got 11"),
    ({"triangular": [1, 3, 2]}, "p, triangular: expected a mode from low 1 to high 2, got 3; the order is"),
    ({"choice": []}, "p, choice, values, number of values: expected a whole number from 1 to 10000, got 0"),
    (
        {"choice": [1, "a"]},
        r"p, choice, values: expected all numbers or all texts, got \(1, 'a'\); put numbers in quotes",
    ),
    ({"choice": [1, 2], "weights": [1]}, "p, choice, weights: expected one per value, 2, got 1"),
    ({"choice": [1, 2], "weights": [0, 0]}, "p, choice, weights: expected at least one above 0, got zeros"),
]


@pytest.mark.parametrize(
    ("fields", "text"), BAD_TABLES, ids=lambda x: str(x)[:40] if isinstance(x, dict) else ""
)
def test_refused_tables(fields: dict[str, object], text: str) -> None:
    with pytest.raises(InputError, match=f"^{text}"):
        distribution_of(fields, "p")
