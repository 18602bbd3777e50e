"""Points of designs: the same bits in any block, SciPy's Sobol' sequence, one row per stratum, refusals."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forearm.errors import InputError
from forearm.spatial import Floats
from forearm.studies.sampling.designs import DESIGNS, MAX_ROWS, MAX_SEED, SOBOL_DIMENSIONS, Design

qmc: Any = import_module("scipy.stats.qmc")
stats: Any = import_module("scipy.stats")

SEEDED = [kind for kind in DESIGNS if kind != "grid"]


def design_of(kind: str, rows: int, dimensions: int, seed: int | None = 5) -> Design:
    """A design of about so many rows."""
    if kind == "grid":
        return Design(
            kind, rows * 3 * 2 ** (dimensions - 1), dimensions, seed, (3 * rows, *[2] * (dimensions - 1))
        )
    return Design(kind, rows * (dimensions + 2), dimensions, seed)


def whole(design: Design) -> Floats:
    return design.points(0, design.rows)


@settings(max_examples=60)
@given(
    kind=st.sampled_from(DESIGNS),
    rows=st.integers(1, 60),
    dimensions=st.integers(1, 6),
    seed=st.integers(0, MAX_SEED),
    data=st.data(),
)
def test_rows_do_not_depend_on_the_block(
    kind: str, rows: int, dimensions: int, seed: int, data: st.DataObject
) -> None:
    design = design_of(kind, rows, dimensions, seed)
    cuts = data.draw(st.lists(st.integers(0, design.rows), max_size=6))
    edges = [0, *sorted(cuts), design.rows]
    points = whole(design)
    assert points.shape == (design.rows, dimensions)
    assert ((points > 0.0) & (points < 1.0)).all()
    parts = [design.points(a, b) for a, b in pairwise(edges)]
    assert np.concatenate(parts).tobytes() == points.tobytes()


@pytest.mark.parametrize("kind", SEEDED)
def test_rows_far_out_and_seeds(kind: str) -> None:
    """Rows far out cost no more than their block; other seeds and neighbours give other points."""
    rows = MAX_ROWS - MAX_ROWS % 5
    design = Design(kind, rows, 3, 11)
    last = design.points(rows - 7, rows)
    assert last[3:].tobytes() == design.points(rows - 4, rows).tobytes()
    assert ((last > 0.0) & (last < 1.0)).all()
    assert design.points(5, 5).shape == (0, 3)
    seeds = (0, 1, 2**32, 2**32 + 1, 2**33, MAX_SEED)
    firsts = [design_of(kind, 4, 3, seed).points(0, 1).tobytes() for seed in seeds]
    assert len(set(firsts)) == len(seeds)
    points = whole(design_of(kind, 4, 3, 0))
    assert len(np.unique(points, axis=0)) == len(points)


def test_random_rows_continue_whatever_their_number() -> None:
    """More rows of a random or Sobol' design keep those that were there."""
    for kind in ("random", "sobol"):
        few, many = Design(kind, 10, 5, 3), Design(kind, 1000, 5, 3)
        assert whole(few).tobytes() == many.points(0, 10).tobytes()


def test_random_words_are_those_of_philox() -> None:
    """NumPy's generator with the same key, run from its start without any counter."""
    key = np.random.SeedSequence([0, 7]).generate_state(2, np.uint64)
    for dimensions in (1, 4, 5):
        words = np.random.Philox(key=key).random_raw(50 * -(-dimensions // 4) * 4).reshape(50, -1)
        expected = (words[:, :dimensions] >> np.uint64(12)).astype(np.float64) * 2.0**-52
        points = Design("random", 50, dimensions, 7).points(17, 50)
        np.testing.assert_allclose(points, expected[17:], rtol=0.0, atol=2.0**-52)


@pytest.mark.parametrize("kind", ["random", "latin-hypercube", "sobol"])
def test_points_are_uniform_and_uncorrelated(kind: str) -> None:
    points = whole(Design(kind, 4096, 6, 2))
    for column in points.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-4
    correlations = np.corrcoef(points.T) - np.eye(6)
    assert np.abs(correlations).max() < 5.0 / np.sqrt(4096)
    neighbours = [np.corrcoef(column[:-1], column[1:])[0, 1] for column in points.T]
    if kind != "sobol":
        assert np.abs(neighbours).max() < 5.0 / np.sqrt(4096)


@pytest.mark.parametrize("dimensions", [1, 9, SOBOL_DIMENSIONS])
def test_the_plain_sobol_sequence_is_that_of_scipy(dimensions: int) -> None:
    expected = qmc.Sobol(dimensions, scramble=False, bits=40).random(1024)[:1000]
    points = whole(Design("sobol", 1000, dimensions, None))
    # half of the last of 52 bits is added
    np.testing.assert_allclose(points, expected, rtol=0.0, atol=2.0**-52)
    engine = qmc.Sobol(dimensions, scramble=False).fast_forward(123_456)
    points = Design("sobol", 200_000, dimensions, None).points(123_456, 123_476)
    np.testing.assert_allclose(points, engine.random(20), rtol=0.0, atol=2.0**-52)


def test_a_shifted_sobol_sequence_keeps_its_balance() -> None:
    """Each of 2^k equal intervals of a dimension has the same number of 2^m points, whatever the shift."""
    points = whole(Design("sobol", 256, 64, 9))
    for column in points.T:
        assert (np.bincount((column * 256).astype(int), minlength=256) == 1).all()


@pytest.mark.parametrize("rows", [1, 2, 3, 1000, 4097])
def test_a_latin_hypercube_has_one_row_per_stratum(rows: int) -> None:
    strata = np.floor(whole(Design("latin-hypercube", rows, 5, 8)) * rows)
    assert (np.sort(strata, axis=0) == np.arange(rows)[:, None]).all()
    if rows == 1000:
        assert len(np.unique(strata, axis=1).T) == 5, "every dimension has an order of its own"


def test_a_latin_hypercube_draws_all_permutations_alike() -> None:
    strata = np.floor(whole(Design("latin-hypercube", 3, 3000, 1)) * 3).astype(int)
    counts = Counter(map(tuple, strata.T.tolist()))
    assert len(counts) == 6
    assert stats.chisquare(list(counts.values())).pvalue > 1e-4


def test_points_of_a_latin_hypercube_lie_anywhere_in_their_stratum() -> None:
    place = whole(Design("latin-hypercube", 2000, 2, 6)) * 2000 % 1.0
    assert stats.kstest(place.ravel(), "uniform").pvalue > 1e-4


def test_rows_of_sobol_indices() -> None:
    d, n = 4, 16
    points = whole(Design("sobol-indices", n * (d + 2), d, 3)).reshape(n, d + 2, d)
    both = whole(Design("sobol", n, 2 * d, 3))
    A, B = both[:, :d], both[:, d:]
    assert points[:, 0].tobytes() == A.tobytes()
    assert points[:, 1].tobytes() == B.tobytes()
    for i in range(d):
        expected = A.copy()
        expected[:, i] = B[:, i]
        assert points[:, 2 + i].tobytes() == expected.tobytes()


def test_a_grid_counts_like_nested_loops() -> None:
    levels = (3, 1, 4, 2)
    design = Design("grid", 24, 4, None, levels)
    expected = list(product(*map(range, levels)))
    assert design.level_indices(0, 24).tolist() == [list(row) for row in expected]
    assert design.level_indices(7, 11).tolist() == [list(row) for row in expected[7:11]]
    np.testing.assert_allclose(whole(design), (np.array(expected) + 0.5) / levels, rtol=1e-15)


BAD: list[tuple[tuple[Any, ...], str]] = [
    (("sobol", 5, 257, 3), "design, dimensions: sobol expects at most 256, got 257; use random or lat"),
    (("sobol-indices", 131, 129, 3), "design, dimensions: sobol-indices expects at most 128, got 129; "),
    (("sobol-indices", 23, 4, 3), "design, rows: sobol-indices .* a multiple of 6, got 23; use 18 or 24"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "text"), BAD, ids=lambda x: str(x) if isinstance(x, tuple) else "")
def test_refused_designs(arguments: tuple[Any, ...], text: str) -> None:
    with pytest.raises(InputError, match=f"^{text}"):
        Design(*arguments)


def test_refused_rows() -> None:
    design = Design("random", 10, 2, 3)
    for first, last, said in (
        (-1, 3, "first row: expected a whole number from 0 to 10, got -1"),
        (4, 3, "last row: expected a whole number from 4 to 10, got 3"),
        (4, 11, "last row: expected a whole number from 4 to 10, got 11"),
    ):
        with pytest.raises(InputError, match=f"design, {said}"):
            design.points(first, last)
