"""The unknowns of a load: all ten parameters, or fewer if its shape, mass or centre is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from forearm.dynamics.regressor import PARAMETERS
from forearm.errors import InputError
from forearm.identification.payload.regressor import entries_of
from forearm.identification.requests import LoadModel
from forearm.values import frozen

Floats = NDArray[np.float64]
# kg, kg m, kg m^2: scales, for a load of 1 kg and 0.1 m
UNITS = np.array([1.0, *[0.1] * 3, *[0.01] * 6])
SHOWN = 0.02  # of the largest: smaller parts of a combination are omitted


@frozen
class Unknowns:
    """Unknowns theta (p,): pi = value(theta) (10,), d pi / d theta = jacobian(theta) (10, p), units (p,).

    `kept` are the indices in pi of nonlinear unknowns: their fit starts from that of the same load as a body.
    """

    shape: str
    units: Floats
    value: Callable[[Floats], Floats]
    jacobian: Callable[[Floats], Floats]
    kept: tuple[int, ...] = ()
    body: Unknowns | None = None


def unknowns_of(load: LoadModel) -> Unknowns:
    """The remaining unknowns if mass or centre is known."""
    c = None if load.com is None else np.array(load.com)
    if load.shape == "body":
        return _body(load.mass, c)
    if load.mass is not None and c is not None:
        raise InputError("a point with known mass and com has no unknowns; omit one.", "payload")
    return _point(load.mass, c)


def _body(m: float | None, c: Floats | None) -> Unknowns:
    """Linear: pi = A theta + b."""
    columns = np.eye(10)
    A, b = columns, np.zeros(10)
    if c is not None:  # first moments follow the mass
        A = np.column_stack([columns[:, 0] + columns[:, 1:4] @ c, columns[:, 4:]])
    if m is not None:
        A, b = A[:, 1:], m * A[:, 0]
    units = np.array([UNITS[int(np.flatnonzero(column)[0])] for column in A.T])
    return Unknowns("body", units, lambda theta: A @ theta + b, lambda _: A)


def _point(m: float | None, c: Floats | None) -> Unknowns:
    """Mass and first moments; the inertia about the origin is that of a point, (h.h - h h^T) / m."""
    if c is not None:
        line = np.array([1.0, *c, *entries_of(c @ c * np.eye(3) - np.outer(c, c))])
        return Unknowns("point", UNITS[:1], lambda theta: line * theta[0], lambda _: line[:, None])
    first = 0 if m is None else 1

    def whole(theta: Floats) -> Floats:
        return theta if m is None else np.array([m, *theta])

    def value(theta: Floats) -> Floats:
        mass, h = whole(theta)[0], whole(theta)[1:]
        # without mass the centre is undefined
        return np.array([mass, *h, *(_spread(h, h) / mass if mass > 0.0 else np.zeros(6))])

    def jacobian(theta: Floats) -> Floats:
        mass, h = whole(theta)[0], whole(theta)[1:]
        J = np.zeros((10, 4))
        J[:4] = np.eye(4)
        if mass > 0.0:
            J[4:, 0] = -_spread(h, h) / mass**2
            J[4:, 1:] = np.array([2.0 * _spread(h, unit) / mass for unit in np.eye(3)]).T
        return J[:, first:]

    return Unknowns("point", UNITS[first:4], value, jacobian, tuple(range(first, 4)), _body(m, None))


def _spread(g: Floats, h: Floats) -> Floats:
    """g.h - (g h^T + h g^T) / 2 as six entries."""
    return np.array(entries_of(g @ h * np.eye(3) - 0.5 * (np.outer(g, h) + np.outer(h, g))))


def combinations(hidden: Floats) -> tuple[str, ...]:
    """Directions (k, 10) as combinations of parameters, each direction with a parameter of its own."""
    rows = np.array(hidden / UNITS)
    for k in range(len(rows)):
        place = int(np.argmax(np.abs(rows[k])))
        if rows[k, place] == 0.0:
            continue
        rows[k] /= rows[k, place]
        for other in range(len(rows)):
            if other != k:
                rows[other] -= rows[other, place] * rows[k]
    return tuple(sorted(text for row in rows * UNITS if (text := _combination(row))))


def _combination(row: Floats) -> str:
    parts = np.abs(row / UNITS)
    if not parts.max() > 0.0:
        return ""
    kept = np.flatnonzero(parts > SHOWN * parts.max())
    first = row[kept[0]]
    terms: list[str] = []
    for i in kept:
        factor = row[i] / first
        size = "" if abs(abs(factor) - 1.0) < 1e-9 else f"{abs(factor):.3g} "
        terms.append(f"{'- ' if factor < 0.0 else '+ ' if terms else ''}{size}{PARAMETERS[i]}")
    return " ".join(terms)
