"""Splines through points and what a path can be asked: against dense systems, differences and samples."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.polynomial import polynomial
from numpy.typing import NDArray

from forearm.errors import InputError
from forearm.trajectories.paths import JointPath, load_path, spline
from forearm.trajectories.roots import roots_within

Array = NDArray[np.float64]
ROUNDING = 1e-12  # of numbers of some ten
STEP = 1e-5
DIFFERENCE = (
    1e-8  # central differences over STEP: truncation 1e-10 times a derivative of some ten, rounding 1e-11
)


def points(count: int = 9, n: int = 4, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(count, n))


def jumps(path: JointPath) -> list[float]:
    """How much q, q', q'', q''' differ on the two sides of breaks."""
    k = np.arange(len(path.breaks) - 2)
    inside = path.breaks[1:-1]
    before = [*path.at(inside, k), path.third(inside, k)]
    after = [*path.at(inside, k + 1), path.third(inside, k + 1)]
    return [float(np.abs(a - b).max()) for a, b in zip(before, after, strict=True)]


def natural_cubic(s: Array, p: Array) -> Array:
    """q'' at the points by the textbook's system for second derivatives, dense."""
    h, count = np.diff(s), len(s)
    A, b = np.eye(count), np.zeros_like(p)
    for i in range(1, count - 1):
        A[i, i - 1 : i + 2] = h[i - 1], 2.0 * (h[i - 1] + h[i]), h[i]
        b[i] = 6.0 * ((p[i + 1] - p[i]) / h[i] - (p[i] - p[i - 1]) / h[i - 1])
    return np.asarray(np.linalg.solve(A, b), dtype=np.float64)


def quintic_by_conditions(s: Array, p: Array) -> Array:
    """Coefficients (k, 6) of one joint's C4 quintic spline by all its conditions, dense."""
    k = len(s) - 1
    A, b = np.zeros((6 * k, 6 * k)), np.zeros(6 * k)

    def row(i: int, piece: int, x: float, order: int, sign: float = 1.0) -> None:
        for j in range(order, 6):
            factor = np.prod(np.arange(j, j - order, -1)) if order else 1.0
            A[i, 6 * piece + j] += sign * factor * x ** (j - order)

    i = 0
    for piece in range(k):
        for x, value in ((0.0, p[piece]), (s[piece + 1] - s[piece], p[piece + 1])):
            row(i, piece, x, 0)
            b[i] = value
            i += 1
    for piece in range(k - 1):
        for order in (1, 2, 3, 4):
            row(i, piece, s[piece + 1] - s[piece], order)
            row(i, piece + 1, 0.0, order, -1.0)
            i += 1
    for order in (2, 4):
        row(i, 0, 0.0, order)
        row(i + 1, k - 1, s[-1] - s[-2], order)
        i += 2
    return np.asarray(np.linalg.solve(A, b), dtype=np.float64).reshape(k, 6)


@pytest.mark.parametrize(
    ("continuity", "smooth", "parameter"),
    [(0, 1, "chord"), (1, 2, "uniform"), (2, 3, "centripetal"), (2, 3, "chord"), (4, 4, "uniform")],
)
def test_it_passes_the_points_and_is_as_smooth_as_asked(continuity: int, smooth: int, parameter: str) -> None:
    p = points()
    path = spline(p, continuity, parameter)
    assert path.length == pytest.approx(np.linalg.norm(np.diff(p, axis=0), axis=1).sum())
    assert path.at(path.breaks)[0] == pytest.approx(p, abs=ROUNDING)
    assert path.marks == pytest.approx(path.breaks)
    there = jumps(path)
    assert max(there[:smooth]) < 100.0 * ROUNDING
    assert smooth == 4 or there[smooth] > 1e-3
    assert path.corners == (tuple(path.breaks[1:-1]) if continuity == 0 else ())
    s = np.linspace(0.0, path.length, 203)[1:-1]
    s = s[np.abs(s[:, None] - path.breaks).min(axis=1) > 2.0 * STEP]
    before, after, here = path.at(s - STEP), path.at(s + STEP), [*path.at(s), path.third(s)]
    for k in range(3):
        largest = max(float(np.abs(here[k + 1]).max()), 10.0)
        assert here[k + 1] == pytest.approx((after[k] - before[k]) / (2.0 * STEP), abs=DIFFERENCE * largest)


def test_cubic_by_the_dense_system_of_second_derivatives() -> None:
    p = points(12)
    path = spline(p, 2)
    assert path.at(path.breaks)[2] == pytest.approx(natural_cubic(path.breaks, p), abs=ROUNDING)


def test_quintic_by_all_its_conditions() -> None:
    p = points(7, 2)
    path = spline(p, 4, "centripetal")
    for joint in range(2):
        wanted = quintic_by_conditions(path.breaks, p[:, joint])
        assert path.coefficients[:, :, joint] == pytest.approx(wanted, abs=1e-10 * np.abs(wanted).max())


def test_it_bends_less_than_any_other_curve_through_the_points() -> None:
    """The integral of |q''|^2, by Simpson's rule, which is exact for squares of straight lines."""

    def bending(path: JointPath) -> float:
        ends = (path.breaks[:-1], 0.5 * (path.breaks[:-1] + path.breaks[1:]), path.breaks[1:])
        pieces = np.arange(len(path.breaks) - 1)
        a, b, c = ((path.at(s, pieces)[2] ** 2).sum(axis=1) for s in ends)
        return float((np.diff(path.breaks) * (a + 4.0 * b + c) / 6.0).sum())

    p = points()
    assert bending(spline(p, 2)) < 0.9 * bending(spline(p, 1))


def test_without_overshoot_every_joint_stays_between_its_points() -> None:
    p = points(20, 3, seed=4)
    path = spline(p, 1)
    for k in range(len(p) - 1):
        q = path.at(np.linspace(path.breaks[k], path.breaks[k + 1], 50), np.full(50, k))[0]
        assert (q >= np.minimum(p[k], p[k + 1]) - ROUNDING).all()
        assert (q <= np.maximum(p[k], p[k + 1]) + ROUNDING).all()
    rising = np.diff(path.at(np.linspace(0.0, path.breaks[1], 50))[0], axis=0) * np.sign(p[1] - p[0])
    assert (rising >= -ROUNDING).all()
    least, most = path.extremes()
    assert least == pytest.approx(p.min(axis=0), abs=ROUNDING)
    assert most == pytest.approx(p.max(axis=0), abs=ROUNDING)
    over = spline(p, 2).extremes()[1]
    assert (over > most + 1e-3).any(), "the C2 spline overshoots here, or this test says nothing"


def test_two_points_are_a_line_and_repeated_ones_are_dropped() -> None:
    a, b = points(2)
    for continuity in (0, 1, 2, 4):
        path = spline([a, a, b, b, b], continuity)
        assert len(path.coefficients) == 1
        x = np.array([0.0, 0.3, 1.0])
        assert path.at(x * path.length)[0] == pytest.approx(a + x[:, None] * (b - a), abs=ROUNDING)
        assert path.marks == pytest.approx([0.0, 0.0, path.length, path.length, path.length])
        assert path.polygon is not None and len(path.polygon) == 5  # noqa: PT018


def test_roots_against_those_of_matrices() -> None:
    rng = np.random.default_rng(1)
    for degree in (1, 2, 3, 6, 9):
        c = rng.normal(size=(200, degree + 1)) * np.r_[0.3, np.ones(degree)]
        found = roots_within(c)
        for row, roots in zip(c, found, strict=True):
            z = np.roots(row[::-1])
            real = np.sort(z[(np.abs(z.imag) < 1e-9) & (z.real >= 0.0) & (z.real <= 1.0)].real)
            assert roots[~np.isnan(roots)] == pytest.approx(real, abs=1e-9)
    touching = np.asarray(polynomial.polyfromroots([0.3, 0.3, 0.7]), dtype=np.float64)
    assert roots_within(touching[None])[0] == pytest.approx([0.3, 0.7, np.nan], abs=1e-7, nan_ok=True)
    assert np.isnan(roots_within(np.zeros((1, 4)))).all()


@pytest.mark.parametrize("continuity", [0, 1, 2, 4])
def test_reversals_are_the_sign_changes_of_a_fine_sample(continuity: int) -> None:
    p = points(14, 3, seed=2)
    p[:, 1] = 0.7  # a joint that never moves
    p[5:8, 2] = p[5, 2]  # and one that stands for a while
    path = spline(p, continuity)
    places = path.reversals()
    s = np.linspace(0.0, path.length, 20_001)[1:-1]
    slopes = path.at(s)[1]
    signs = np.sign(np.where(np.abs(slopes) < 1e-11, 0.0, slopes))
    changes = s[:-1][(signs[1:] != signs[:-1]).any(axis=1)]
    assert len(places) == len(changes)
    assert np.abs(places - changes).max() <= 1.01 * (s[1] - s[0])
    smooth = places[np.abs(places[:, None] - path.breaks).min(axis=1) > 1e-6]
    assert continuity < 2 or len(smooth) > 10
    rates, bends = path.at(smooth)[1:]
    moved = np.abs(rates / np.where(np.abs(bends) > 0.0, bends, np.inf))[:, [0, 2]].min(axis=1, initial=1.0)
    assert (moved < 1e-12 * path.length).all(), "Newton's step from a root would be as short"
    q = path.at(s)[0]
    least, most = path.extremes()
    assert (least <= q.min(axis=0)).all() and (most >= q.max(axis=0)).all()  # noqa: PT018
    assert least == pytest.approx(path.at(np.r_[s, path.breaks])[0].min(axis=0), abs=1e-4)


def test_a_place_at_a_break_has_two_sides() -> None:
    path = spline(points(), 0)
    at = path.breaks[[1, 3]]
    assert path.piece_of(at).tolist() == [1, 3]
    assert path.piece_of([path.length, 0.0]).tolist() == [len(path.breaks) - 2, 0]
    shuffled = np.random.default_rng(0).permutation(np.linspace(0.0, path.length, 100))
    assert (path.piece_of(np.sort(shuffled)) == np.sort(path.piece_of(shuffled))).all()
    assert path.at(at, [0, 2])[1] == pytest.approx(path.coefficients[[0, 2], 1])
    assert path.at(at)[1] == pytest.approx(path.coefficients[[1, 3], 1])
    single = path.at(0.3)
    assert [x.shape for x in single] == [(4,)] * 3
    assert single[0] == pytest.approx(path.at([0.3])[0][0])


def test_it_is_kept_to_the_bit(tmp_path: Path) -> None:
    path = spline(points(), 4, name="kept")
    path.save(tmp_path / "path.json")
    again = load_path(tmp_path / "path.json")
    for name in ("breaks", "coefficients", "polygon", "marks"):
        assert (getattr(again, name) == getattr(path, name)).all()
    assert again.name == "kept"
    (tmp_path / "bad.json").write_text('{"format": "forearm-path/1", "name": "x", "breaks": [0, 1]}')
    with pytest.raises(InputError, match=r"bad.json.*coefficients"):
        load_path(tmp_path / "bad.json")
    with pytest.raises(InputError, match=r"ends in \.json"):
        path.save(tmp_path / "path.csv")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: spline([[1.0, 2.0], [1.0, 2.0]]),
            "points: all are equal; a path needs two different points",
        ),
        (lambda: spline([[1.0, 2.0]]), "points: expected 2 to 100000 points, got 1"),
        (lambda: spline([[1.0, 2.0], [1.0, np.nan]]), "points: row 1 has nan for joint 2"),
        (lambda: spline([1.0, 2.0]), r"points: expected points \(m, n\)"),
        (lambda: spline(points(), 3), "continuity: expected 0, 1, 2 or 4, got 3"),
        (lambda: spline(points(), 2, "cord"), "parameter"),
        (lambda: spline(points()).at([0.0, -0.1]), r"s: -0.1 is outside 'spline', which runs from 0 to"),
        (lambda: spline(points()).at(np.nan), "s: nan is outside"),
        (lambda: spline(points()).at([0.1], [8]), "piece: expected whole numbers from 0 to 7"),
        (lambda: JointPath(np.array([0.0, 1.0, 1.0]), np.zeros((2, 2, 1))), "numbers, increasing from 0"),
        (
            lambda: JointPath(np.array([0.0, 1.0]), np.zeros((2, 2, 1))),
            r"coefficients: expected shape \(1, d\+1, n\)",
        ),
        (lambda: JointPath(np.array([0.0, 1.0]), np.full((1, 2, 1), np.inf)), "all numbers must be finite"),
    ],
)
def test_what_is_no_path_is_refused(call: Callable[[], object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        call()
