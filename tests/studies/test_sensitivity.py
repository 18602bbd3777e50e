"""Sensitivity indices against closed forms, ranks against SciPy, and outputs that fail or do not vary."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from forearm.errors import InputError
from forearm.spatial import Floats
from forearm.studies import sensitivity
from forearm.studies.sampling.designs import Design
from forearm.studies.sensitivity import SobolIndices, rank_correlations, sobol_indices

stats: Any = import_module("scipy.stats")

A, B = 7.0, 0.1  # of Ishigami's function
WEIGHTS = np.array([3.0, -1.0, 0.5, 2.0])


def rows_of(samples: int, d: int, seed: int = 1) -> Floats:
    design = Design("sobol-indices", samples * (d + 2), d, seed)
    return design.points(0, design.rows)


def ishigami(u: Floats) -> Floats:
    x, y, z = (math.pi * (2.0 * u - 1.0)).T
    values: Floats = np.sin(x) + A * np.sin(y) ** 2 + B * z**4 * np.sin(x)
    return values


def ishigami_indices() -> tuple[Floats, Floats]:
    """First-order and total indices in closed form: T. Ishigami and T. Homma, 1990."""
    of_x = 0.5 * (1.0 + B * math.pi**4 / 5.0) ** 2
    of_y = A**2 / 8.0
    of_xz = B**2 * math.pi**8 * 8.0 / 225.0
    variance = of_x + of_y + of_xz
    return np.array([of_x, of_y, 0.0]) / variance, np.array([of_x + of_xz, of_y, of_xz]) / variance


def assert_inside(truth: Floats, interval: Floats, slack: float = 0.0) -> None:
    assert (interval[:, 0] <= truth + slack).all()
    assert (truth - slack <= interval[:, 1]).all()


def same(a: SobolIndices, b: SobolIndices) -> bool:
    fields = ("first", "total", "first_interval", "total_interval")
    return all(np.array_equal(getattr(a, name), getattr(b, name), equal_nan=True) for name in fields)


def test_indices_of_ishigamis_function() -> None:
    first, total = ishigami_indices()
    np.testing.assert_allclose([*first, *total], [0.3139, 0.4424, 0.0, 0.5576, 0.4424, 0.2437], atol=5e-5)
    found = sobol_indices(ishigami(rows_of(4096, 3)), 3)
    # 0.02: some three deviations of 4096 random base samples; those of Sobol' lie nearer
    np.testing.assert_allclose(found.first, first, atol=0.02)
    np.testing.assert_allclose(found.total, total, atol=0.02)
    assert_inside(first, found.first_interval)
    assert_inside(total, found.total_interval)
    assert (found.samples, found.dropped) == (4096, 0)


def test_a_parameter_without_effect_has_exactly_no_share() -> None:
    u = rows_of(64, 3)
    found = sobol_indices(u[:, 0] * u[:, 2], 3)
    assert found.first[1] == 0.0
    assert found.total[1] == 0.0
    assert found.total_interval[1].tolist() == [0.0, 0.0]
    assert found.total[0] > found.first[0]


def test_intervals_cover_as_often_as_they_say() -> None:
    """Of random base samples, 60 studies: 0.9 +- 3 deviations of such a count."""
    truth = WEIGHTS**2 / (WEIGHTS**2).sum()
    generator = np.random.default_rng(3)
    hits = np.zeros((2, 4))
    for _ in range(60):
        both = generator.random((200, 2, 4))
        u = np.repeat(both[:, :1], 6, axis=1)
        u[:, 1] = both[:, 1]
        for i in range(4):
            u[:, 2 + i, i] = both[:, 1, i]
        found = sobol_indices((u @ WEIGHTS).ravel(), 4, level=0.9, resamples=100)
        for k, interval in enumerate((found.first_interval, found.total_interval)):
            hits[k] += (interval[:, 0] <= truth) & (truth <= interval[:, 1])
    assert (hits >= 60 * 0.9 - 3.0 * math.sqrt(60 * 0.9 * 0.1)).all()


def test_scale_and_offset_change_no_index() -> None:
    values = ishigami(rows_of(256, 3))
    plain = sobol_indices(values, 3)
    for scale, offset in ((1e-200, 0.0), (-3.7, 12.0), (1e300, 0.0)):
        found = sobol_indices(values * scale + offset, 3)
        np.testing.assert_allclose(found.first, plain.first, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(found.total_interval, plain.total_interval, rtol=1e-9, atol=1e-11)


def test_base_samples_with_a_failed_row_are_dropped_whole() -> None:
    values = ishigami(rows_of(512, 3))
    failed = values.copy()
    failed[[3, 4, 57, 1003]] = [math.nan, math.inf, -math.inf, math.nan]
    found = sobol_indices(failed, 3)
    assert (found.samples, found.dropped) == (509, 3)
    kept = np.delete(values.reshape(-1, 5), [0, 11, 200], axis=0).ravel()
    assert same(found, sobol_indices(kept, 3))


@pytest.mark.parametrize("value", [0.1, math.nan])
def test_an_output_that_does_not_vary_has_no_indices(value: float) -> None:
    found = sobol_indices(np.full(50, value), 3)
    assert np.isnan([*found.first, *found.total, *found.first_interval.ravel()]).all()
    assert np.isnan(found.total_interval).all()
    assert found.samples + found.dropped == 10


def test_rounding_is_no_variation() -> None:
    rounded = 0.3 + np.random.default_rng(1).choice([0.0, 5.6e-17, 1.2e-16], 50)
    assert np.ptp(rounded) > 0.0
    assert np.isnan(sobol_indices(rounded, 3).total).all()
    assert np.isfinite(sobol_indices(0.3 + 1e-9 * np.random.default_rng(1).random(50), 3).total).all()


def test_resamples_repeat_by_seed_and_not_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    values = ishigami(rows_of(128, 3))
    narrow, wide = (sobol_indices(values, 3, level=level) for level in (0.5, 0.99))
    assert (wide.first_interval[:, 0] < narrow.first_interval[:, 0]).all()
    assert (wide.first_interval[:, 1] > narrow.first_interval[:, 1]).all()
    one = sobol_indices([1.0, 2.0, 1.5], 1)
    assert one.samples == 1
    assert np.isfinite([*one.total, *one.total_interval[0]]).all()
    found = sobol_indices(values, 3, seed=4)
    assert same(found, sobol_indices(values, 3, seed=4))
    assert not same(found, sobol_indices(values, 3, seed=5))
    monkeypatch.setattr(sensitivity, "BLOCK", 128 * 7)
    in_blocks = sobol_indices(values, 3, seed=4)
    np.testing.assert_allclose(in_blocks.first_interval, found.first_interval, rtol=1e-10, atol=1e-12)


def test_rank_correlations_are_those_of_scipy() -> None:
    generator = np.random.default_rng(2)
    inputs = generator.normal(size=(300, 4))
    inputs[:, 3] = np.round(inputs[:, 3])  # ties
    values = np.round(np.exp(inputs[:, 0]) - 0.7 * inputs[:, 3] + 0.3 * generator.normal(size=300), 1)
    expected = [stats.spearmanr(column, values).statistic for column in inputs.T]
    np.testing.assert_allclose(rank_correlations(inputs, values), expected, atol=1e-13)
    failed, part = inputs.copy(), values.copy()
    failed[5, 1], part[9] = math.nan, math.inf
    kept = np.delete(np.arange(300), [5, 9])
    expected = [stats.spearmanr(column, values[kept]).statistic for column in inputs[kept].T]
    np.testing.assert_allclose(rank_correlations(failed, part), expected, atol=1e-13)


def test_rank_correlations_of_what_only_rises_or_falls() -> None:
    x = np.linspace(0.1, 5.0, 40)
    found = rank_correlations(np.stack([x, -x, np.ones(40)], axis=1), np.exp(x))
    np.testing.assert_allclose(found[:2], [1.0, -1.0], atol=1e-14)
    assert math.isnan(found[2])
    assert np.isnan(rank_correlations(np.stack([x, x], axis=1), np.ones(40))).all()
    assert np.isnan(rank_correlations(np.full((3, 2), math.nan), np.ones(3))).all()


def test_refused() -> None:
    of_five = r"sobol_indices, values: expected one per row of .* a multiple of 5, got shape "
    for values, d, options, said in (
        (np.ones(11), 3, {}, of_five + r"\(11,\); give all rows"),
        (np.ones(0), 3, {}, of_five + r"\(0,\)"),
        (np.ones(10), 0, {}, "sobol_indices, d: expected a whole number of at least 1, got 0"),
        (np.ones(10), 3, {"resamples": 1}, "resamples: expected a whole number of at least 2"),
        (np.ones(10), 3, {"level": 95}, "level: must be above 0 and at most 1, got 95"),
    ):
        with pytest.raises(InputError, match=said):
            sobol_indices(values, d, **options)
