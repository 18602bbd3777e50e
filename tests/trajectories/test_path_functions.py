"""Paths given as functions: kept to their accuracy, and wrong derivatives refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from forearm.errors import InputError
from forearm.trajectories.paths import from_function

Array = NDArray[np.float64]


def columns(s: Any) -> tuple[Array, Array, Array]:
    """(n,) for one place; (n, m) for many."""
    q = np.array([np.sin(3.0 * s), np.exp(-s), s * s])
    return (
        q,
        np.array([3.0 * np.cos(3.0 * s), -np.exp(-s), 2.0 * s]),
        np.array([-9.0 * q[0], q[1], 2.0 + 0.0 * s]),
    )


def rows(s: Any) -> tuple[Array, ...]:
    """(n,) for one place, (m, n) for many."""
    return tuple(x.T for x in columns(s))


def alone(s: float) -> tuple[list[float], ...]:
    """One place at a time, with the third derivative."""
    return (
        [math.sin(3.0 * s), math.exp(-s), s * s],
        [3.0 * math.cos(3.0 * s), -math.exp(-s), 2.0 * s],
        [-9.0 * math.sin(3.0 * s), math.exp(-s), 2.0],
        [-27.0 * math.cos(3.0 * s), -math.exp(-s), 0.0],
    )


@pytest.mark.parametrize("f", [columns, rows, alone])
def test_it_agrees_with_the_function_between_knots(f: Any) -> None:
    path = from_function(f, 2.5, n=3)
    s = np.linspace(0.0, 2.5, 701)
    wanted = np.array([alone(x) for x in s.tolist()])
    for order, near in enumerate((1e-9, 1e-7, 1e-5)):
        assert path.at(s)[order] == pytest.approx(wanted[:, order], abs=near * 9.0)
    assert path.third(s) == pytest.approx(wanted[:, 3], abs=0.03)
    assert path.corners == ()
    assert path.polygon is None


def test_one_joint_may_be_numbers() -> None:
    path = from_function(lambda s: (np.sin(s), np.cos(s), -np.sin(s)), 3.0)
    assert path.n == 1
    assert path.at(1.0)[0] == pytest.approx([math.sin(1.0)], abs=1e-9)
    assert path.reversals() == pytest.approx([0.5 * math.pi], abs=1e-8)


def test_breaks_are_where_derivatives_jump() -> None:
    def kink(s: float) -> tuple[list[float], ...]:
        """|s - 1|, and something whose second derivative jumps at 2."""
        x = max(s - 2.0, 0.0)
        return (
            [abs(s - 1.0), 0.5 * x * x + s],
            [1.0 if s >= 1.0 else -1.0, x + 1.0],
            [0.0, 1.0 if s >= 2.0 else 0.0],
        )

    path = from_function(kink, 3.0, breaks=[2.0, 1.0])
    assert path.corners == (1.0,)
    assert path.reversals() == pytest.approx([1.0])
    k = path.piece_of([2.0])
    assert path.at([2.0], k - 1)[2] == pytest.approx(np.array([[0.0, 0.0]]), abs=1e-7)
    assert path.at([2.0], k)[2] == pytest.approx(np.array([[0.0, 1.0]]), abs=1e-7)
    with pytest.raises(InputError, match=r"function: q'+ of joint \d .*kinks as breaks"):
        from_function(kink, 3.1)


def test_wrong_derivatives_are_refused_with_joint_and_place() -> None:
    def wrong(order: int) -> Any:
        def f(s: float) -> list[list[float]]:
            made = [list(x) for x in alone(s)]
            made[order][1] *= 1.1
            return made

        return f

    with pytest.raises(
        InputError, match=r"function: q' of joint 2 at s = 0\.\d+ is -1\.09\d+, but finite differences of q "
    ):
        from_function(wrong(1), 2.5)
    with pytest.raises(InputError, match=r"function: q'' of joint 2 at s = .* differences of q' give"):
        from_function(wrong(2), 2.5)
    with pytest.raises(InputError, match=r"function: q''' of joint 2 at s = .* differences of q'' give"):
        from_function(wrong(3), 2.5)


def rough(s: float) -> tuple[list[float], ...]:
    """Right on the whole, but no smooth curve: too fast to be seen by a few differences."""
    return [s + 1e-7 * math.sin(1e6 * s)], [1.0 + 0.1 * math.cos(1e6 * s)], [-1e5 * math.sin(1e6 * s)]


@pytest.mark.parametrize(
    ("f", "length", "given", "said"),
    [
        (lambda _: 3.0, 1.0, {}, "expected q, q', q'' and perhaps the third derivative at s = 0, got 3"),
        (
            lambda _: ([1.0, 2.0], [1.0], [1.0]),
            1.0,
            {},
            r"expected \(n,\) for each at s = 0, got \(2,\), \(1,\), \(1,\)",
        ),
        (alone, 1.0, {"n": 7}, "function: expected 7 joints, got 3"),
        (alone, 0.0, {}, "function, length: must be above 0, got 0"),
        (alone, 1.0, {"breaks": [1.0]}, "function, breaks: each must lie between 0 and the length, 1"),
        ("path", 1.0, {}, "function: expected a function of s, got 'path'"),
        (lambda s: ([s], [1.0], [math.nan]), 1.0, {}, r"function: q'' of joint 1 at s = .* is nan"),
        (rough, 1.0, {}, r"does not agree with a smooth curve, even in \d+ pieces|differences of"),
    ],
)
def test_what_is_no_such_function_is_refused(f: Any, length: float, given: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        from_function(f, length, **given)
