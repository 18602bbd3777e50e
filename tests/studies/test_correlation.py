"""Correlated columns: rank correlations in closed form, margins that stay, bits that stay, refusals."""

from __future__ import annotations

import math
import re
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forearm.errors import InputError
from forearm.spatial import Floats
from forearm.studies.sampling.correlation import Correlation
from forearm.studies.sampling.designs import Design
from forearm.studies.sampling.distributions import Normal

stats: Any = import_module("scipy.stats")

NAMES = ("mass", "length", "friction", "payload", "ratio")
PAIRS = {("mass", "friction"): 0.8, ("payload", "mass"): -0.35, ("friction", "payload"): -0.5}
ROWS = 16384


def drawn(kind: str = "sobol", rows: int = ROWS) -> Floats:
    return Design(kind, rows, len(NAMES), 4).points(0, rows)


def test_rank_correlations_are_those_of_the_closed_form() -> None:
    ranks = stats.spearmanr(Correlation(NAMES, PAIRS).correlated(drawn())).statistic
    expected = np.eye(5)
    for (a, b), rho in PAIRS.items():
        i, j = NAMES.index(a), NAMES.index(b)
        expected[i, j] = expected[j, i] = 6.0 / math.pi * math.asin(rho / 2.0)
    # 0.01: what 16384 shifted Sobol' points leave
    np.testing.assert_allclose(ranks, expected, rtol=0.0, atol=0.01)


def test_normals_have_the_given_correlation_and_their_own_moments() -> None:
    u = Correlation(NAMES, PAIRS).correlated(drawn())
    columns = [0, 2, 3]
    values = np.stack([Normal(k + 1.3, 0.4 + k).quantile(u[:, k]) for k in columns])
    np.testing.assert_allclose(values.mean(axis=1), [k + 1.3 for k in columns], atol=0.01)
    np.testing.assert_allclose(values.std(axis=1), [0.4 + k for k in columns], rtol=0.01)
    expected = [[1.0, 0.8, -0.35], [0.8, 1.0, -0.5], [-0.35, -0.5, 1.0]]
    np.testing.assert_allclose(np.corrcoef(values), expected, atol=0.01)


@pytest.mark.parametrize("kind", ["random", "sobol"])
def test_each_column_keeps_its_distribution(kind: str) -> None:
    u = Correlation(NAMES, PAIRS).correlated(drawn(kind))
    for column in u.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-4
    ends = [2.0**-53, 1.0 - 2.0**-53]
    made = Correlation(("a", "b"), {("a", "b"): 0.7}).correlated(
        np.array([[a, b] for a in ends for b in ends])
    )
    assert ((made > 0.0) & (made < 1.0)).all(), "points stay inside the cube"
    made = Correlation(("a", "b"), {("a", "b"): 0.999999}).correlated(drawn(kind, 1000)[:, :2])
    assert np.abs(made[:, 0] - made[:, 1]).max() < 0.01


def test_columns_without_a_pair_keep_their_bits() -> None:
    u = drawn(rows=500)
    kept = u.copy()
    made = Correlation(NAMES, PAIRS).correlated(u)
    assert u.tobytes() == kept.tobytes()
    for column, name in enumerate(NAMES):
        same = made[:, column].tobytes() == u[:, column].tobytes()
        assert same == (name in ("mass", "length", "ratio")), name  # mass is the first of its group
    assert Correlation(NAMES, {}).correlated(u).tobytes() == u.tobytes()
    assert Correlation(NAMES, {("mass", "ratio"): 0.0}).correlated(u).tobytes() == u.tobytes()


@settings(max_examples=30)
@given(cut=st.integers(0, 200))
def test_rows_do_not_depend_on_the_block(cut: int) -> None:
    u = drawn(rows=200)
    correlation = Correlation(NAMES, PAIRS)
    parts = np.concatenate([correlation.correlated(u[:cut]), correlation.correlated(u[cut:])])
    assert parts.tobytes() == correlation.correlated(u).tobytes()


REPEATED = {("mass", "ratio"): 0.5, ("ratio", "mass"): 0.5}
BAD: list[tuple[Any, Any, str]] = [
    (NAMES, {("mass", "frictoin"): 0.5}, "correlation: expected one of mass, .*; did you mean 'friction'"),
    (NAMES, {("mass", "mass"): 0.5}, "correlation: expected a pair of two different names, got ('mass', 'm"),
    (NAMES, REPEATED, "correlation of ratio and mass: given twice; remove one"),
    (
        NAMES,
        {("mass", "ratio"): 1.0},
        "correlation of mass and ratio: expected .* ends excluded, got 1; for ",
    ),
    (NAMES, {("mass", "ratio"): math.nan}, "correlation of mass and ratio: the number must be finite, got "),
]


@pytest.mark.parametrize(("names", "pairs", "text"), BAD, ids=lambda x: str(x) if isinstance(x, dict) else "")
def test_refused(names: Any, pairs: Any, text: str) -> None:
    with pytest.raises(InputError, match="^" + re.escape(text).replace(r"\.\*", ".*")):
        Correlation(names, pairs)


def test_what_is_not_positive_definite_is_refused_with_the_likely_pair() -> None:
    """By hand: with 0.9, 0.9 and -0.9 the eigenvalues are 1.9, 1.9 and -0.8."""
    pairs = {("a", "b"): 0.9, ("b", "c"): -0.9, ("a", "c"): 0.9}
    text = "correlation: expected a positive definite matrix, got the eigenvalue -0.8: such corr"
    with pytest.raises(InputError, match=text) as refused:
        Correlation(("x", "a", "b", "c"), pairs)
    assert "multiply every correlation by less than 0.556." in str(refused.value)
    almost = {pair: rho * 0.55 for pair, rho in pairs.items()}
    Correlation(("x", "a", "b", "c"), almost)
    with pytest.raises(InputError, match=r"Check p and q \(-0\.95\) first"):
        Correlation(("o", "p", "q"), {("o", "p"): 0.6, ("o", "q"): 0.6, ("p", "q"): -0.95})
