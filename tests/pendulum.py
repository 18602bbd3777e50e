"""The pendulum q'' = -sin q let go at rest, in closed form:
a truth for integrators that comes from no integrator.
"""

from __future__ import annotations

from math import asin, cos, sin, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def acceleration(t: float, q: Floats, qd: Floats) -> Floats:
    return -np.sin(q)


def swing(start: float, t: float) -> tuple[float, float]:
    """q and qd at time t: sin(q / 2) = k cn / dn of Jacobi's functions of modulus k = sin(start / 2)."""
    k = sin(start / 2)
    sn, cn, dn = jacobi(t, k)
    # d/dt (cn / dn) = -(1 - k^2) sn / dn^2, and q' = 2 k (cn / dn)' / cos(q / 2).
    q = 2 * asin(k * cn / dn)
    return q, -2 * k * (1 - k * k) * sn / dn**2 / cos(q / 2)


def jacobi(u: float, k: float) -> tuple[float, float, float]:
    """sn, cn, dn by the arithmetic-geometric mean (Abramowitz and Stegun 16.4)."""
    a, b, c = [1.0], sqrt(1 - k * k), [k]
    while c[-1] > 1e-9:  # the next would be c^2 / 4a
        mean, b, half = (a[-1] + b) / 2, sqrt(a[-1] * b), (a[-1] - b) / 2
        a.append(mean)
        c.append(half)
    phi = 2 ** (len(a) - 1) * a[-1] * u
    for n in range(len(a) - 1, 0, -1):
        phi = (phi + asin(c[n] / a[n] * sin(phi))) / 2
    return sin(phi), cos(phi), sqrt(1 - (k * sin(phi)) ** 2)
