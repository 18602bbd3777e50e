"""Gears: the four quadrants of Dhanaraj's Table 3.2, the curve by other means, the
printed figures, energy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drives.making import natural_spline

from forearm import ModelError, Transmission
from forearm.drives.transmission import curve_of, efficiency, through

EXACT = 1e-13
POINTS = ((0.04, 0.31), (0.11, 0.52), (0.3, 0.66), (0.62, 0.81), (1.05, 0.79), (1.4, 0.86))
RATED = 37.0
BREAKAWAY = 1.9


def gear(
    kind: Any = "linear", points: Any = POINTS, breakaway: float = BREAKAWAY, rated: float = RATED
) -> Transmission:
    return Transmission(efficiency=points, rated_torque=rated, breakaway=breakaway, interpolation=kind)


kinds = pytest.mark.parametrize("kind", ["linear", "spline"])
LOADS = np.concatenate([np.linspace(0.0, 2.0, 401), [x for x, _ in POINTS]])


@kinds
@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_lines_or_the_natural_spline_between_the_points_and_constant_beyond(kind: str, count: int) -> None:
    """One point is a constant, two are a line by either means; it is even, over arrays and floats."""
    g, points = gear(kind, POINTS[:count]), POINTS[:count]
    x, y = np.array(points).T
    truth = np.interp(LOADS, x, y) if kind == "linear" or count < 3 else natural_spline(points, LOADS)
    for way in (1.0, -1.0):
        np.testing.assert_allclose(efficiency(g, way * LOADS * RATED), truth, rtol=1e-12)
        found = [efficiency(g, way * load * RATED) for load in LOADS.tolist()]
        np.testing.assert_allclose(found, truth, rtol=1e-12)
    # the part of a piece is a difference of loads, with their rounding
    for far in (x[-1], 9.0, 1e6):
        assert efficiency(g, far * RATED) == pytest.approx(y[-1], rel=EXACT + 3e-16 * far)


@kinds
def test_four_quadrants(kind: str) -> None:
    """Table 3.2, case by case."""
    g, y = gear(kind), np.array([0.7, 3.3, 12.0, 30.0, 80.0])
    eta, none = efficiency(g, y), 0.0 * y
    for load, way, truth in (
        (y, 1.0, y / eta + BREAKAWAY),
        (-y, -1.0, -y / eta - BREAKAWAY),
        (y, -1.0, y * eta - BREAKAWAY),
        (-y, 1.0, -y * eta + BREAKAWAY),
        (y, 0.0, y),
        (-y, 0.0, -y),
        *((none, way, none + way * BREAKAWAY) for way in (1.0, 0.0, -1.0)),
    ):
        np.testing.assert_allclose(through(g, load, none + way), truth, rtol=EXACT)
        np.testing.assert_allclose([through(g, float(x), way) for x in load], truth, rtol=EXACT)


@kinds
def test_more_load_needs_more_torque(kind: str) -> None:
    """So the map can be turned round: forward dynamics needs it."""
    y = np.linspace(-2.0 * RATED, 2.0 * RATED, 4001)
    for direction in (1.0, -1.0):
        assert (np.diff(through(gear(kind), y, np.full_like(y, direction))) > 0.0).all()


REFUSED: dict[str, tuple[Any, Any, str]] = {
    "rises too steeply": ("linear", ((0.1, 0.1), (0.12, 0.9)), "the input torque would decrease with load"),
    "falls too steeply": ("linear", ((0.1, 0.9), (1.0, 0.05)), "the input torque would decrease with load"),
    "steep and far from the end": (
        "linear",
        ((0.01, 0.1), (0.0101, 0.2), (300.0, 0.9)),
        "the input torque would decrease with load",
    ),
    "overshoots 1": (
        "spline",
        ((0.1, 0.5), (0.5, 0.99), (0.9, 1.0), (2.0, 1.0)),
        "leaves 0 to 1 between the points",
    ),
    "undershoots 0": (
        "spline",
        ((0.1, 0.9), (0.5, 0.02), (0.9, 0.02), (1.0, 0.9)),
        "leaves 0 to 1 between the points",
    ),
}


@pytest.mark.parametrize(("kind", "points", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_curves_of_no_gear_are_refused(kind: str, points: Any, words: str) -> None:
    with pytest.raises(ModelError, match=f"transmission, efficiency: .*{words}.*; give "):
        curve_of(gear(kind, points))


# Dhanaraj Tables 3.4 and 3.5, p. 57-59: rated and break-away torque; torque of the rigid arm, joint friction,
# their sum, what the transmission adds, what the motor gives, N m, and the sign of the velocity that they
# imply. Efficiencies are what the rows imply (../shared/errata.md), three points of the curve of Fig. 3.4.
TABLE = (
    (97.6, 6.3, 0.4543, 1.2140, 1.7803, 2.9943, 9.8968, 12.8911, 1.0),
    (186.4, 5.5, 0.5619, -15.6364, -0.3281, -15.9646, -17.9472, -33.9117, -1.0),
    (89.4, 2.6, 0.3458, -0.8042, 0.1241, -0.6801, 3.0449, 2.3648, 1.0),
)
RATIOS = (0.0076, 0.0307, 0.0856)
LAST_DIGIT = 1.01e-4  # sums of rounded values
ETA_DIGIT = 0.5e-4


def test_printed_rows_add_up_and_lie_on_one_curve() -> None:
    """Case 1, 2 and 4 of Table 3.2: joint friction adds with the sign of the velocity, what the transmission
    adds is the difference across it; eta is known to half a unit of its fourth digit, which moves y / eta by
    y / eta^2. Sorted by load the three efficiencies rise, about 0.916 r^0.2, and `through` on that curve
    gives the printed torques.
    """
    etas = sorted(row[2] for row in TABLE)
    curve = tuple(zip(RATIOS, etas, strict=True))
    np.testing.assert_allclose([0.916 * r**0.2 for r in RATIOS], etas, rtol=0.01)
    for rated, breakaway, eta, rigid, joint, y, lost, motor, direction in TABLE:
        assert rigid + joint == pytest.approx(y, abs=LAST_DIGIT)
        assert y + lost == pytest.approx(motor, abs=LAST_DIGIT)
        assert min(joint * direction, lost * direction) > 0.0
        assert abs(y) / rated == pytest.approx(RATIOS[etas.index(eta)], abs=0.5e-4)
        slack = ETA_DIGIT * abs(y) * (eta**-2 if y * direction > 0.0 else 1.0) + LAST_DIGIT
        # ratios have three digits, and eta follows them
        for points, off in ((((abs(y) / rated, eta),), slack), (curve, 5e-4 * abs(motor))):
            g = gear("linear", points, breakaway, rated)
            assert through(g, y, direction) == pytest.approx(motor, abs=off)
