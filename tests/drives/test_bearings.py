"""Friction in bearings against statics: two supports, what each carries by equilibrium,
and that each rubs by itself.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from arms import Array
from drives.making import resistance

from forearm import Bearing
from forearm.drives.bearings import bearing_friction, bearing_level
from forearm.spatial import rotation_z

EXACT = 1e-13  # relative; equilibrium is solved by elimination
JOURNAL = Bearing(kind="journal", mu=0.07, radius=0.043, distance=0.18, offset=0.051)
LINEAR = Bearing(kind="linear", mu=0.06, distance=0.23, offset=-0.087)
THRUST = Bearing(kind="thrust", mu=0.05, radius=0.037)
BEARINGS = (JOURNAL, LINEAR, THRUST)
EVERY = pytest.mark.parametrize("bearing", BEARINGS, ids=lambda b: b.kind)


def reactions(count: int, seed: int = 0) -> list[tuple[Array, Array]]:
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=3) * 40.0, rng.normal(size=3) * 9.0) for _ in range(count)]


@EVERY
def test_what_a_bearing_resists_is_what_its_supports_rub(bearing: Bearing) -> None:
    for offset in (0.0, bearing.offset, 0.31, -0.002):
        moved = bearing if bearing.kind == "thrust" else dataclasses.replace(bearing, offset=offset)
        for f, n in reactions(40):
            truth = resistance(moved, f, n)
            assert bearing_level(moved, f, n) == pytest.approx(truth, rel=EXACT)
            for direction in (1.0, -1.0, 0.0):
                assert bearing_friction(moved, f, n, direction) == pytest.approx(direction * truth, rel=EXACT)


@EVERY
def test_over_arrays_it_is_the_same(bearing: Bearing) -> None:
    given = reactions(7)
    f, n = (np.array([r[k] for r in given]).T for k in (0, 1))
    one_by_one = [bearing_level(bearing, *r) for r in given]
    np.testing.assert_allclose(bearing_level(bearing, f, n), one_by_one, rtol=EXACT)


def test_a_pure_moment_loads_both_supports_alike() -> None:
    """n / d each: 2 mu r n / d in a journal; as printed (-, -) and (+, +) the pairs of a
    combined load would differ.
    """
    n = np.array([3.0, 4.0, 9.0])
    centred = dataclasses.replace(JOURNAL, offset=0.0)
    assert bearing_level(centred, np.zeros(3), n) == pytest.approx(2.0 * 0.07 * 0.043 * 5.0 / 0.18, rel=EXACT)


def test_the_printed_signs_are_not_those_of_mechanics() -> None:
    """Dhanaraj 3.3 as printed, (-ny, -nx) and (+ny, +nx), depends on where x points;
    what is computed does not.
    """

    def printed(f: Array, n: Array) -> float:
        x, y = 0.5 * 0.18 * f[0], 0.5 * 0.18 * f[1]
        return float(0.07 * 0.043 / 0.18 * (np.hypot(x - n[1], y - n[0]) + np.hypot(x + n[1], y + n[0])))

    f, n = np.array([12.0, 5.0, 3.0]), np.array([1.0, -2.0, 0.4])
    eighth = rotation_z(0.25 * np.pi)
    assert abs(printed(eighth @ f, eighth @ n) - printed(f, n)) > 1e-3
    centred = dataclasses.replace(JOURNAL, offset=0.0)
    for angle in (0.5 * np.pi, 0.25 * np.pi, 4.1):
        R = rotation_z(angle)
        assert bearing_level(centred, R @ f, R @ n) == pytest.approx(bearing_level(centred, f, n), rel=EXACT)
