"""A gear's losses: from the torque behind it to the torque before it, in four quadrants.
Dhanaraj 3.4 and Table 3.2.

Where load and direction agree the motor drives, tau = y / eta + B; where they oppose the load drives, tau = y
eta + B, B with the sign of the direction. eta depends on |y| / rated torque, by straight lines or a natural
cubic spline between the given points, and is constant beyond them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from forearm.arm.drive import Transmission
from forearm.errors import ModelError, shorten
from forearm.spatial import Floats
from forearm.symbols.scalars import Scalar, hinge, sign

LOOKED_AT = 200  # loads between two points, for what no gear does
ROUNDING = 1e-12


@dataclass(frozen=True)
class Curve:
    """Efficiency against load: from `start` on pieces of a width, each a polynomial in
    how far it was entered.
    """

    start: float
    first: float
    pieces: tuple[tuple[float, tuple[float, ...]], ...]  # (width, coefficients of u, u^2, u^3)

    def efficiency(self, ratio: Scalar) -> Scalar:
        """eta at a load ratio, as what each piece adds: whole behind it, part of it
        inside, nothing before.
        """
        eta: Scalar = self.first
        beyond = hinge(ratio - self.start) if self.pieces else 0.0
        end = self.start
        for width, coefficients in self.pieces:
            end += width
            further = hinge(ratio - end)
            eta = eta + _polynomial(coefficients, beyond - further)
            beyond = further
        return eta


def _polynomial(coefficients: tuple[float, ...], u: Scalar) -> Scalar:
    value: Scalar = coefficients[-1]
    for c in coefficients[-2::-1]:
        value = value * u + c
    return value * u


@lru_cache(maxsize=256)
def curve_of(transmission: Transmission) -> Curve:
    """The curve of a transmission; ModelError where more load would need less torque,
    or a spline goes beyond 0 or 1.
    """
    x, y = np.array(transmission.efficiency).T
    widths = np.diff(x)
    straight = transmission.interpolation == "linear" or len(x) < 3
    parts: list[tuple[float, ...]] = (
        [(slope,) for slope in np.diff(y) / widths] if straight else _spline(x, y)
    )
    curve = Curve(
        float(x[0]),
        float(y[0]),
        tuple((float(w), tuple(map(float, p))) for w, p in zip(widths, parts, strict=True)),
    )
    loads = np.concatenate(
        [np.linspace(a, b, LOOKED_AT, endpoint=False) for a, b in pairwise([0.0, *x]) if b > a] + [x[-1:]]
    )
    found = np.asarray(curve.efficiency(loads)) + np.zeros_like(loads)
    if not (found > 0.0).all() or (found > 1.0 + ROUNDING).any():
        raise ModelError(
            f"transmission, efficiency: the spline through {shorten(transmission.efficiency)} leaves 0 to 1 "
            f"between the points, reaching {found.min():.3g} and {found.max():.3g}; give more "
            "points, or straight lines."
        )
    if not all((np.diff(torques) > 0.0).all() for torques in (loads / found, loads * found)):
        raise ModelError(
            f"transmission, efficiency: between the points {shorten(transmission.efficiency)} more load "
            "would need less torque; give points that rise and fall less steeply, or more of them."
        )
    return curve


def _spline(x: Floats, y: Floats) -> list[tuple[float, ...]]:
    """Coefficients of the natural cubic spline, piece by piece."""
    h, slopes, n = np.diff(x), np.diff(y) / np.diff(x), len(x)
    A, b = np.eye(n), np.zeros(n)
    for i in range(1, n - 1):
        A[i, i - 1 : i + 2] = h[i - 1], 2.0 * (h[i - 1] + h[i]), h[i]
        b[i] = 6.0 * (slopes[i] - slopes[i - 1])
    m = np.linalg.solve(A, b)  # second derivatives
    return [
        (slopes[i] - h[i] * (2.0 * m[i] + m[i + 1]) / 6.0, m[i] / 2.0, (m[i + 1] - m[i]) / (6.0 * h[i]))
        for i in range(n - 1)
    ]


def through(transmission: Transmission, load: Scalar, direction: Scalar) -> Scalar:
    """The torque before the gear (times its ratio) that the torque behind it needs;
    at rest, where none moves, the same.
    """
    eta = efficiency(transmission, load)
    agrees = sign(load) * direction  # 1 where the motor drives, -1 where the load does
    if isinstance(agrees, float | int):
        passed = load / eta if agrees > 0.0 else load * eta if agrees < 0.0 else load
    else:
        square = agrees * agrees
        up, down = 0.5 * (square + agrees), 0.5 * (square - agrees)
        passed = load * (1.0 + up * (1.0 / eta - 1.0) + down * (eta - 1.0))
    return passed + direction * transmission.breakaway


def efficiency(transmission: Transmission, load: Scalar) -> Scalar:
    """eta at a torque behind the gear."""
    return curve_of(transmission).efficiency(abs(load) * (1.0 / transmission.rated_torque))
