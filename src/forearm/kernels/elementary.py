"""Sine, cosine, exponential and angle as branch-free vector code:
argument reduction to an eighth of a turn, then polynomials.

x = k pi/2 + r with k the nearest integer, found by adding a number so large that only k remains in the last
bits. With fused multiply-add, x - k p with p = fl(pi/2) is exact: both are multiples of the last place of p,
and the difference fits. Two more steps with the remainder of pi/2 give r correct to its last place. Without
it, pi/2 is split into parts short enough that k times a part is exact (Cody and Waite) up to |x| of about
1e6; from there on r is off by at most the distance of x from its neighbours. Single precision is then reduced
in double precision, where this is far enough. The polynomials are fdlibm's in double precision, Cephes' in
single.

If k has more than 48 binary digits (20 in single precision), |x| > 4.4e14 (1.6e6), r is NaN: numbers of that
size are 1/16 (1/8) apart, and beyond it r exceeds the range of the polynomials.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial


@dataclass(frozen=True)
class Exponent:
    """Constants of e^x: ln 2 in two parts, and in two parts of which the first is short enough that k times
    it is exact; the position of the exponent's lowest bit, the Taylor series from the highest power, and
    bounds of x.

    Outside the bounds e^x is clamped, to about 1e-304 and 1e304 (1e-37 and 1e37 in single precision).
    """

    parts: tuple[float, float]
    short_parts: tuple[float, float]  # for machines without fused multiply-add
    place: int
    series: tuple[float, ...]
    lowest: float
    highest: float


@dataclass(frozen=True)
class Angle:
    """Constants of the angle of (x, y): pi/4 in two parts, and coefficients of atan r = r - r z P(z), z =
    r^2, from the highest power.
    """

    parts: tuple[float, float]
    series: tuple[float, ...]


# fdlibm's in double precision, accurate to |r| = 7/16; Cephes' in single.
# The largest argument in use is tan(pi/8).
ANGLE = Angle(
    (0.7853981633974483, 3.061616997868383e-17),
    (
        1.62858201153657823623e-02, -3.65315727442169155270e-02, 4.97687799461593236017e-02,
        -5.83357013379057348645e-02, 6.66107313738753120669e-02, -7.69187620504482999495e-02,
        9.09088713343650656196e-02, -1.11111104054623557880e-01, 1.42857142725034663711e-01,
        -1.99999999998764832476e-01, 3.33333333333329318027e-01,
    ),
)  # fmt: skip
SHORT_ANGLE = Angle(
    (0.7853981852531433, -2.1855694143368964e-08),
    (-8.05374449538e-2, 1.38776856032e-1, -1.99777106478e-1, 3.33329491539e-1),
)
TAN_EIGHTH = 0.41421356237309503  # of half a turn


def _taylor(terms: int) -> tuple[float, ...]:
    return tuple(1.0 / factorial(k) for k in range(terms, -1, -1))


EXPONENT = Exponent(
    (0.6931471805599453, 2.3190468138462996e-17),
    (0.6931471803691238, 1.9082149292705877e-10),
    52,
    _taylor(13),
    -700.0,
    700.0,
)
SHORT_EXPONENT = Exponent(
    (0.6931471824645996, -1.904654323148236e-09),
    (0.693359375, -2.121944400546905e-04),
    23,
    _taylor(7),
    -85.0,
    85.0,
)


@dataclass(frozen=True)
class Series:
    """Parts of pi/2, the number that shifts k into the last bits,
    and coefficients in r^2, from the highest power down.

    Also the constants of the exponential and of the angle of a point in the same precision.
    """

    parts: tuple[float, ...]
    short_parts: tuple[float, ...]  # for machines without fused multiply-add
    shift: float
    digits: int  # binary digits of k up to which there is a sine
    sine: tuple[float, ...]  # sin r = r + r^3 P(r^2)
    cosine: tuple[float, ...]  # cos r = 1 - r^2 / 2 + r^4 Q(r^2)
    exponent: Exponent
    angle: Angle


DOUBLE = Series(
    parts=(1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
    short_parts=(1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21),
    shift=1.5 * float(1 << 52), digits=48,
    sine=(
        1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
        -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01,
    ),
    cosine=(
        -1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
        2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02,
    ),
    exponent=EXPONENT, angle=ANGLE,
)  # fmt: skip
SINGLE = Series(
    parts=(1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
    short_parts=(),  # reduced in double precision
    shift=1.5 * float(1 << 23),
    digits=20,
    sine=(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1),
    cosine=(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2),
    exponent=SHORT_EXPONENT,
    angle=SHORT_ANGLE,
)
