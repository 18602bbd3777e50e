"""The spring between motor and link, over any scalar: its torque, energy and deflection.

With e = motor angle / N - joint angle and its rate ed, the spring carries f(e) + D ed. With backlash it does
so only at a flank: on the side `contact`, 1 if the motor pushes forwards, -1 backwards, 0 between them,
contact = 1 while p = e - half_gap > 0 and f(p) + D ed > 0: a flank pushes and never pulls.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from forearm.arm.drive import Elasticity
from forearm.errors import ModelError, shorten
from forearm.symbols import iterate
from forearm.symbols.scalars import Scalar, choose, look_up, minimum
from forearm.symbols.table import LookupTable, natural_spline

LOOKED_AT = 200  # samples between two points, to detect a spring that is not monotonic
CLOSE = 1e-14  # of the deflection: tolerance of the search
MOST = 40  # iterations of that search


@lru_cache(maxsize=256)
def curve_of(elasticity: Elasticity) -> LookupTable:
    """Torque against deflection for both signs; ModelError if a spline is not monotonic."""
    x, y = ((0.0, *side) for side in zip(*elasticity.curve, strict=True))
    if elasticity.interpolation == "linear":
        slopes = [(b - a) / (q - p) for (p, q), (a, b) in zip(pairwise(x), pairwise(y), strict=True)]
        pieces = [
            *((a, k, 0.0, 0.0) for a, k in zip(y[:-1], slopes, strict=True)),
            (y[-1], slopes[-1], 0.0, 0.0),
        ]
        return _both_ways(x, pieces)
    mirrored_x, mirrored_y = ((*(-v for v in side[:0:-1]), *side) for side in (x, y))
    bent = natural_spline(mirrored_x, mirrored_y)[len(x) - 1 :]
    _, b, c, d = bent[-1]
    h = x[-1] - x[-2]
    table = _both_ways(x, [*bent, (y[-1], b + h * (2.0 * c + h * 3.0 * d), 0.0, 0.0)])
    seen = np.linspace(0.0, x[-1], LOOKED_AT * len(x))
    if not (table.slope().at(seen) > 0.0).all():
        raise ModelError(
            f"the spline through {shorten(elasticity.curve)} decreases between the points; "
            "give more points, or use linear interpolation.",
            "elasticity",
            "curve",
        )
    return table


def _both_ways(x: tuple[float, ...], pieces: Sequence[tuple[float, ...]]) -> LookupTable:
    """An odd function from its pieces for x >= 0, the last extended beyond all points."""
    backwards = []
    # the piece from x[k] to x[k + 1], mirrored, begins at -x[k + 1]: odd powers there keep their sign
    for (begin, end), (a, b, c, d) in zip(pairwise(x), pieces[:-1], strict=True):
        h = end - begin
        value, slope, bend = a + h * (b + h * (c + h * d)), b + h * (2.0 * c + h * 3.0 * d), c + h * 3.0 * d
        backwards.append((-value, slope, -bend, d))
    backwards.reverse()
    (a, b, *_), breaks = pieces[-1], tuple(-v for v in x[:0:-1])
    return LookupTable((*breaks, *x), ((-a, b, 0.0, 0.0), *backwards, *pieces))


def spring_torque(elasticity: Elasticity, p: Scalar) -> Scalar:
    """f(p), without the gap."""
    return elasticity.stiffness * p if elasticity.stiffness is not None else look_up(curve_of(elasticity), p)


def spring_stiffness(elasticity: Elasticity, p: Scalar) -> Scalar:
    """df / dp."""
    return (
        elasticity.stiffness if elasticity.stiffness is not None else look_up(curve_of(elasticity).slope(), p)
    )


def spring_bend(elasticity: Elasticity, p: Scalar) -> Scalar:
    """d2f / dp2."""
    if elasticity.stiffness is not None:
        return 0.0
    return look_up(curve_of(elasticity).slope().slope(), p)


def coupling_torque(elasticity: Elasticity, e: Scalar, ed: Scalar, contact: Scalar) -> Scalar:
    """Torque on the link: f + D ed, at the flank `contact` (-1, 0, 1) if there is backlash."""
    if not elasticity.half_gap:
        return _damped(elasticity, e, ed)
    return abs(contact) * _damped(elasticity, e - contact * elasticity.half_gap, ed)


def contact_of(elasticity: Elasticity, e: Scalar, ed: Scalar) -> Scalar:
    """The flank in contact: 1, -1, or 0 between them; without backlash it is irrelevant, and 1."""
    if not elasticity.half_gap:
        return 1.0
    forwards, backwards = (flank(elasticity, e, ed, side) for side in (1.0, -1.0))
    return choose(0.0, forwards, 1.0, choose(0.0, backwards, -1.0, 0.0))


def flank(elasticity: Elasticity, e: Scalar, ed: Scalar, side: float) -> Scalar:
    """Positive while the flank of a side, 1 or -1, is in contact: the smaller of its compression and the
    compression its torque corresponds to.
    """
    p = side * e - elasticity.half_gap
    if not elasticity.damping:
        return p
    return minimum(p, _damped(elasticity, p, side * ed) * (1.0 / spring_stiffness(elasticity, 0.0)))


def _damped(elasticity: Elasticity, p: Scalar, ed: Scalar) -> Scalar:
    f = spring_torque(elasticity, p)
    return f + elasticity.damping * ed if elasticity.damping else f


def pressed(elasticity: Elasticity, e: Scalar) -> Scalar:
    """The deflection of the spring itself: e beyond the gap."""
    g = elasticity.half_gap
    return choose(g, e, e - g, choose(e, -g, e + g, 0.0)) if g else e


def spring_energy(elasticity: Elasticity, e: Scalar) -> Scalar:
    """The energy stored in the spring at a deflection, J."""
    p = pressed(elasticity, e)
    if elasticity.stiffness is not None:
        return (0.5 * elasticity.stiffness) * (p * p)
    return look_up(_energy_of(elasticity), p)


@lru_cache(maxsize=256)
def _energy_of(elasticity: Elasticity) -> LookupTable:
    """The integral of the curve from 0."""
    curve = curve_of(elasticity)
    starts = (curve.breaks[0], *curve.breaks)
    made: list[tuple[float, ...]] = []
    total = 0.0
    for k, piece in enumerate(curve.pieces):
        if k > 1:  # value of the preceding piece at this break
            h = starts[k] - starts[k - 1]
            total = sum(c * h**power for power, c in enumerate(made[-1]))
        made.append((total, *(c / (power + 1) for power, c in enumerate(piece))))
    middle = curve.breaks.index(0.0) + 1
    least = made[middle][0]
    return LookupTable(curve.breaks, tuple((piece[0] - least, *piece[1:]) for piece in made))


def deflection_of(elasticity: Elasticity, torque: Scalar) -> Scalar:
    """The deflection e that carries a torque at rest: the inverse of f, beyond the gap. Exact for linear
    interpolation; for a spline by Newton's method, which converges as the curve increases and the piece is
    looked up in every iteration.
    """
    if elasticity.stiffness is not None:
        p = torque * (1.0 / elasticity.stiffness)
    elif elasticity.interpolation == "linear":
        p = look_up(_inverse_of(elasticity), torque)
    else:
        p = _searched(elasticity, torque)
    g = elasticity.half_gap
    return p + choose(0.0, torque, g, choose(torque, 0.0, -g, 0.0)) if g else p


@lru_cache(maxsize=256)
def _inverse_of(elasticity: Elasticity) -> LookupTable:
    """Deflection against torque by linear interpolation between the points of the curve."""
    x, y = ((0.0, *side) for side in zip(*elasticity.curve, strict=True))
    slopes = [(q - p) / (b - a) for (p, q), (a, b) in zip(pairwise(x), pairwise(y), strict=True)]
    pieces = [*((p, k, 0.0, 0.0) for p, k in zip(x[:-1], slopes, strict=True)), (x[-1], slopes[-1], 0.0, 0.0)]
    return _both_ways(y, pieces)


def _searched(elasticity: Elasticity, torque: Scalar) -> Scalar:
    """Refine the linear interpolation, which is close to the spline."""

    def closer(state: list[Scalar]) -> list[Scalar]:
        p, _ = state
        step = (spring_torque(elasticity, p) - torque) / spring_stiffness(elasticity, p)
        return [p - step, abs(step) - CLOSE * abs(p)]

    start = look_up(_inverse_of(elasticity), torque)
    return iterate(closer, [start, 1.0], lambda state: (0.0, state[1]), MOST, title="deflection")[0]
