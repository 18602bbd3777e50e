"""Paths given as functions: checked against their own derivatives, and stored as quintic pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from forearm.errors import InputError, shorten
from forearm.spatial import Floats
from forearm.trajectories.paths.joint_path import JointPath
from forearm.trajectories.paths.sampled import PRIMES, Curve, checked, quintic_pieces
from forearm.values import as_floats, check_number, check_whole

PROBES = 23  # points between two breaks at which derivatives are compared with finite differences
STEP = 1e-3  # of the interval: step of fourth-order differences
WRONG = 1e-3  # of the largest: derivatives that differ more from differences are wrong
ONE_SIDED = 1e-6  # of the interval: distance from a break at which one-sided values are taken


def from_function(
    f: Callable[[Any], Any],
    length: float,
    breaks: Sequence[float] = (),
    n: int | None = None,
    name: str = "function",
) -> JointPath:
    """The path of a function that returns q and its derivatives.

    It is stored as quintic pieces, halved until q, q' and q'' agree in the middle of each to 1e-10, 1e-8 and
    1e-6. Derivatives that contradict finite differences are refused.

    Args:
        f: function of s, from 0 to `length`, to q, q', q'' and optionally the third derivative, (n,) each; if
            it accepts an array (m,) and returns (m, n) each, or (n, m), it is called for all places at once.
        length: the last s, above 0.
        breaks: interior places at which q' or q'' jump, if any; where q' does, a motion stops.
        n: number of joints, to be checked (default: as returned by f).
        name: of the path, for messages.
    """
    if not callable(f):
        raise InputError(f"expected a function of s, got {shorten(f)}.", name)
    length = check_number(length, f"{name}, length", above=0.0)
    inside = np.unique(as_floats(list(breaks), f"{name}, breaks"))
    if inside.size and not (inside[0] > 0.0 and inside[-1] < length):
        raise InputError(f"each must lie between 0 and the length, {length:g}.", name, "breaks")
    asked = _evaluator(f, length, None if n is None else check_whole(n, f"{name}, n", 1), name)
    cuts = np.concatenate([[0.0], inside, [length]])
    made = []
    for begin, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        _compare_differences(asked, begin, end, name)
        made.append(
            quintic_pieces(_one_sided(asked, begin, end, len(cuts) > 2), np.array([begin, end]), name)
        )
    joined = np.concatenate([[0.0], *(s[1:] for s, _ in made)])
    return JointPath(joined, np.concatenate([c for _, c in made]), name)


def _evaluator(f: Callable[[Any], Any], length: float, n: int | None, name: str) -> Curve:
    """Values and derivatives (m, 3 or 4, n) at places (m,), in one call if f treats an array like single
    places.
    """

    def alone(s: Floats) -> Floats:
        return np.array([_answer(f, x, name) for x in s.tolist()])

    joints = alone(np.array([0.0])).shape[2]
    if n is not None and joints != n:
        raise InputError(f"expected {n} joints, got {joints}.", name)
    places = np.linspace(0.0, length, joints + 2)[1:]  # not as many as joints, so that shapes are unambiguous
    one_by_one = alone(places)

    def together(s: Floats) -> Floats:
        return np.stack([np.asarray(x, dtype=np.float64).reshape(len(s), joints) for x in f(s)], axis=1)

    def transposed(s: Floats) -> Floats:
        return np.stack([np.asarray(x, dtype=np.float64).reshape(joints, len(s)).T for x in f(s)], axis=1)

    for way in (together, transposed):
        try:
            if np.allclose(way(places), one_by_one, rtol=1e-9, atol=1e-12):
                return way
        except Exception:  # if f fails on an array in any way, it is called place by place
            continue
    return alone


def _answer(f: Callable[[Any], Any], s: float, name: str) -> Floats:
    """The result of f at one place: (3, n) or (4, n)."""
    given = f(s)
    if not isinstance(given, tuple | list | np.ndarray) or len(given) not in (3, 4):
        raise InputError(
            f"expected q, q', q'' and perhaps the third derivative at s = {s:.6g}, got {shorten(given)}.",
            name,
        )
    rows = [np.atleast_1d(as_floats(x, f"{name} at s = {s:.6g}")) for x in given]
    if rows[0].ndim != 1 or any(row.shape != rows[0].shape for row in rows):
        shapes = ", ".join(str(row.shape) for row in rows)
        raise InputError(f"expected (n,) for each at s = {s:.6g}, got {shapes}.", name)
    return np.array(rows)


def _one_sided(asked: Curve, begin: float, end: float, has_breaks: bool) -> Curve:
    """q, q', q'' from `begin` to `end`; at the ends, q' and q'' are the limits from within."""
    e = ONE_SIDED * (end - begin)

    def curve(s: Floats) -> Floats:
        made = asked(s)[:, :3]
        for at, inward in ((begin, e), (end, -e)):
            here = s == at
            if has_breaks and here.any():
                near = asked(at + inward * np.array([1.0, 2.0]))[:, 1:3]
                made[here, 1:] = 2.0 * near[0] - near[1]
        return made

    return curve


def _compare_differences(asked: Curve, begin: float, end: float, name: str) -> None:
    """Refuse derivatives that contradict finite differences."""
    h = STEP * (end - begin)
    s = np.linspace(begin + 2.0 * h, end - 2.0 * h, PROBES)
    middle = checked(asked, s, name)
    sides = [checked(asked, s + k * h, name)[:, :-1] for k in (-2.0, -1.0, 1.0, 2.0)]
    differences = (sides[0] - 8.0 * sides[1] + 8.0 * sides[2] - sides[3]) / (12.0 * h)
    coarse = (sides[3] - sides[0]) / (4.0 * h)
    sizes = np.abs(middle).max(axis=(0, 2))[:, None]
    # the error of second order far exceeds that of fourth order, and so bounds it
    allowed = WRONG * sizes[1:] + 1e-12 * sizes[:-1] / h + np.abs(differences - coarse)
    bad = np.argwhere(np.abs(differences - middle[:, 1:]) > allowed)
    if bad.size:
        m, k, joint = bad[0]
        said = float(middle[m, k + 1, joint])
        raise InputError(
            f"{PRIMES[k + 1]} of joint {joint + 1} at s = {s[m]:.6g} is {said:.6g}, but "
            f"finite differences of {PRIMES[k]} give {differences[m, k, joint]:.6g}; correct "
            "the function, or pass the places of kinks as breaks.",
            name,
        )
