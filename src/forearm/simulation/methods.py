"""Runge-Kutta methods as data: a self-checking tableau, and one step of an explicit method.

A system is q'' = f(t, q, qd); internally y stacks q and qd along a first axis of length two, so that y' =
F(t, y) = (qd, f).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.dynamics.explicit_methods import TABLEAUS, Row
from forearm.values import chosen

Floats: TypeAlias = NDArray[np.float64]
Acceleration: TypeAlias = Callable[[float, Floats, Floats], ArrayLike]
Rate: TypeAlias = Callable[[float, Floats], Floats]


@dataclass(frozen=True)
class Tableau:
    """A Runge-Kutta method: K_i = F(t + c_i h, y + h sum_j a_ij K_j), y_new = y + h sum_i b_i K_i.

    `a` is square, or the rows below the diagonal for an explicit method; `b_embedded` are the weights of the
    embedded solution of order `order_embedded` that estimates the error; row i of `dense` holds the
    coefficients of theta, theta^2, ... in b_i(theta), the weights of y(t + theta h).
    """

    name: str
    c: Row
    a: tuple[Row, ...]
    b: Row
    order: int
    b_embedded: Row | None = None
    order_embedded: int = 0
    dense: tuple[Row, ...] | None = None

    @cached_property
    def first_same_as_last(self) -> bool:
        """Whether the last stage is the rate at the end of the step and thus the first of the next step
        (FSAL).
        """
        last = tuple(self.a[-1])
        return last == self.b[: len(last)] and not any(self.b[len(last) :])

    @cached_property
    def floats(self) -> tuple[list[float], list[list[float]], list[float]]:
        """c, a and b as floats."""
        return _floats(self.c), [_floats(row) for row in self.a], _floats(self.b)

    @cached_property
    def error_weights(self) -> list[float]:
        """b - b_embedded, for a method with an error estimate."""
        assert self.b_embedded is not None
        return [float(b - other) for b, other in zip(self.b, self.b_embedded, strict=True)]

    @cached_property
    def dense_columns(self) -> list[list[float]] | None:
        """Weights of the stages for each power of theta, or None for a method without dense output."""
        return None if self.dense is None else [_floats(column) for column in zip(*self.dense, strict=True)]


def _floats(row: Row) -> list[float]:
    return [float(x) for x in row]


def weighted(weights: Sequence[float], h: float, K: Sequence[Floats] | Floats) -> Floats:
    """h sum_i w_i K_i, elementwise: a batch yields the same bits as its states one by one."""
    total = np.zeros_like(K[0])
    for weight, rate in zip(weights, K, strict=False):
        if weight != 0.0:
            total += (h * weight) * rate
    return total


def explicit_stages(
    tableau: Tableau, rate: Rate, t: float, y: Floats, h: float, first: Floats | None = None
) -> list[Floats]:
    """The rates K_i of an explicit step; `first` is K_1 if already known."""
    c, a, _ = tableau.floats
    K = [rate(t, y) if first is None else first]
    for i in range(1, len(c)):
        K.append(rate(t + c[i] * h, y + weighted(a[i], h, K)))
    return K


def rate_of(f: Acceleration) -> Rate:
    """F(t, y) = (qd, f(t, q, qd)) of stacked states."""

    def rate(t: float, y: Floats) -> Floats:
        dy = np.empty_like(y)
        dy[0] = y[1]
        dy[1] = f(t, y[0], y[1])
        return dy

    return rate


def tableau_of(name: str) -> Tableau:
    """Look up a tableau by name."""
    return chosen(METHODS, name, "integration method")


def _row(text: str) -> Row:
    return tuple(Fraction(x) for x in text.split())


def _rows(text: str) -> tuple[Row, ...]:
    return tuple(_row(line) for line in text.split(";"))


RK3, RK4, GILL = (
    Tableau(name, *TABLEAUS[name], order) for name, order in (("rk3", 3), ("rk4", 4), ("gill", 4))
)

# J. R. Dormand, P. J. Prince, A family of embedded Runge-Kutta formulae, J. Comp. Appl.
# Math. 6, 1980: RK5(4)7M; dense output of order 4 by L. F. Shampine, Some practical Runge-Kutta
# formulas, Math. Comp. 46, 1986.
DP45 = Tableau(
    "dp45",
    _row("0 1/5 3/10 4/5 8/9 1 1"),
    (
        (),
        _row("1/5"),
        _row("3/40 9/40"),
        _row("44/45 -56/15 32/9"),
        _row("19372/6561 -25360/2187 64448/6561 -212/729"),
        _row("9017/3168 -355/33 46732/5247 49/176 -5103/18656"),
        _row("35/384 0 500/1113 125/192 -2187/6784 11/84"),
    ),
    _row("35/384 0 500/1113 125/192 -2187/6784 11/84 0"),
    5,
    _row("5179/57600 0 7571/16695 393/640 -92097/339200 187/2100 1/40"),
    4,
    _rows("""
        1 -8048581381/2820520608 8663915743/2820520608 -12715105075/11282082432;
        0 0 0 0;
        0 131558114200/32700410799 -68118460800/10900136933 87487479700/32700410799;
        0 -1754552775/470086768 14199869525/1410260304 -10690763975/1880347072;
        0 127303824393/49829197408 -318862633887/49829197408 701980252875/199316789632;
        0 -282668133/205662961 2019193451/616988883 -1453857185/822651844;
        0 40617522/29380423 -110615467/29380423 69997945/29380423
    """),
)

# P. J. Prince, J. R. Dormand, High order embedded Runge-Kutta formulae, J. Comp. Appl. Math. 7, 1981:
# RK8(7)13M; the fractions are theirs, good to 17 digits.
DP87 = Tableau(
    "dp87",
    _row("0 1/18 1/12 1/8 5/16 3/8 59/400 93/200 5490023248/9719169821 13/20 1201146811/1299019798 1 1"),
    (
        (),
        *_rows("""
        1/18;
        1/48 1/16;
        1/32 0 3/32;
        5/16 0 -75/64 75/64;
        3/80 0 0 3/16 3/20;
        29443841/614563906 0 0 77736538/692538347 -28693883/1125000000 23124283/1800000000;
        16016141/946692911 0 0 61564180/158732637 22789713/633445777 545815736/2771057229 -180193667/1043307555;
        39632708/573591083 0 0 -433636366/683701615 -421739975/2616292301 100302831/723423059 790204164/839813087
        800635310/3783071287;
        246121993/1340847787 0 0 -37695042795/15268766246 -309121744/1061227803 -12992083/490766935
        6005943493/2108947869 393006217/1396673457 123872331/1001029789;
        -1028468189/846180014 0 0 8478235783/508512852 1311729495/1432422823 -10304129995/1701304382
        -48777925059/3047939560 15336726248/1032824649 -45442868181/3398467696 3065993473/597172653;
        185892177/718116043 0 0 -3185094517/667107341 -477755414/1098053517 -703635378/230739211 5731566787/1027545527
        5232866602/850066563 -4093664535/808688257 3962137247/1805957418 65686358/487910083;
        403863854/491063109 0 0 -5068492393/434740067 -411421997/543043805 652783627/914296604 11173962825/925320556
        -13158990841/6184727034 3936647629/1978049680 -160528059/685178525 248638103/1413531060 0
    """),  # noqa: E501
    ),
    _row(
        "14005451/335480064 0 0 0 0 -59238493/1068277825 181606767/758867731 561292985/797845732 "
        "-1041891430/1371343529 760417239/1151165299 118820643/751138087 -528747749/2220607170 1/4"
    ),
    8,
    _row(
        "13451932/455176623 0 0 0 0 -808719846/976000145 1757004468/5645159321 656045339/265891186 "
        "-3867574721/1518517206 465885868/322736535 53011238/667516719 2/45 0"
    ),
    7,
)

# E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 1996, IV.5 (Radau IIA) and II.7 of
# its first volume (Gauss).
_R = sqrt(6.0)
RADAU = Tableau(
    "radau",
    ((4 - _R) / 10, (4 + _R) / 10, 1.0),
    (
        ((88 - 7 * _R) / 360, (296 - 169 * _R) / 1800, (-2 + 3 * _R) / 225),
        ((296 + 169 * _R) / 1800, (88 + 7 * _R) / 360, (-2 - 3 * _R) / 225),
        ((16 - _R) / 36, (16 + _R) / 36, 1 / 9),
    ),
    ((16 - _R) / 36, (16 + _R) / 36, 1 / 9),
    5,
)

_S = sqrt(3.0) / 6
MIDPOINT = Tableau("midpoint", _row("1/2"), (_row("1/2"),), _row("1"), 2)
GAUSS4 = Tableau("gauss4", (0.5 - _S, 0.5 + _S), ((0.25, 0.25 - _S), (0.25 + _S, 0.25)), (0.5, 0.5), 4)

METHODS: dict[str, Tableau] = {m.name: m for m in (RK3, RK4, GILL, DP45, DP87, RADAU, MIDPOINT, GAUSS4)}
FIXED = ("rk3", "rk4", "gill")
ADAPTIVE = ("dp45", "dp87", "radau")
SYMPLECTIC = ("midpoint", "gauss4")
