"""Waters IV on bits, points, tables and shares: figures by other ways than those that the catalogue takes."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from reproduced import reproduced

import forearm as fa
from forearm.counting import waters
from forearm.dynamics import lagrange
from forearm.model import model_of
from forearm.reproduce.recompute import waters_control

OURS = (
    "waters-times-by-counts",
    "waters-shares",
    "waters-repetitions",
    "waters-bits",
    "waters-extrapolation",
    "waters-tables",
)
DIFFER = {
    "gravity",
    "inertia",
    "U_66",
    "points that determine the slopes",
    "matrices to invert",
    "orders to break even",
}


@pytest.mark.slow
def test_verdicts() -> None:
    results = [r for r in reproduced("waters") if r.item.id in OURS]
    assert {r.item.id for r in results} == set(OURS)
    assert {r.label for r in results if r.verdict == "differs"} == DIFFER
    assert not [r.label for r in results if r.unexplained or r.verdict == "not reproducible"]


def test_shares_from_runs_that_count() -> None:
    """His percentages from counted runs, by which the misprinted 28m is 20m."""

    def weight(counts: object) -> int:
        return 4 * counts.m + counts.a  # type: ignore[attr-defined, no-any-return]

    total = weight(waters.final(6))
    gravity, velocities = (total - weight(f(6)) for f in (waters.without_gravity, waters.without_velocity))
    found = waters_control.shares()
    assert found["gravity"] == pytest.approx(100.0 * gravity / total)
    assert found["velocities"] == pytest.approx(100.0 * velocities / total)
    assert found["gravity"] + found["velocities"] + found["inertia"] == pytest.approx(100.0)


def test_the_naive_formulation_repeats_itself_as_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """lagrange-naive watched while it multiplies out: its last product is U_66,
    of the gravity term of F_6.
    """
    made: list[NDArray[np.float64]] = []
    noted: list[tuple[str, int]] = []

    def watched(*given: Any) -> Any:
        product = reduce(*given)
        if isinstance(given[1], list) and len(given[1]) == 6:
            made.append(product)
        return product

    monkeypatch.setattr(lagrange, "reduce", watched)
    q, qd, qdd = (np.linspace(x, x + 0.5, 6) for x in (0.3, 0.2, 0.1))
    model = model_of(fa.load("chain6").rigid())
    c = lagrange.matrices_of(model, q.tolist(), qd.tolist(), qdd.tolist())
    lagrange.naive(c, lambda symbol, j, _: noted.append((symbol, j)))
    found = waters_control.repetitions()
    assert sum(np.array_equal(x, made[-1]) for x in made) == found["U_66"]
    assert noted.count(("L", 5)) == found["L_6"]


def test_tables_in_logarithms() -> None:
    found = waters_control.tables()
    assert math.log(found["points, forces"], 5) == pytest.approx(18.0)
    assert math.log(found["points, D and E"], 5) == pytest.approx(12.0)
    assert found["derivatives a point, D and E"] == found["numbers a point, D and E"] * 12


def test_seven_points_leave_twelve_slopes_open() -> None:
    """The null space of what seven points tell of eighteen slopes, by singular values."""
    points = np.random.default_rng(8).standard_normal((7, 18))
    singular = np.linalg.svd(np.diff(points, axis=0), compute_uv=False)
    assert int((singular > 1e-9).sum()) == 6
    assert waters_control.extrapolation()["points that determine the slopes"] == 18 + 1
