"""Springs of drives: what they carry and store, how far they give, and flanks that push and never pull."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from drives.making import natural_spline
from hypothesis import given, settings
from hypothesis import strategies as st

from forearm import Elasticity, ModelError
from forearm.drives.elasticity import (
    contact_of,
    coupling_torque,
    curve_of,
    deflection_of,
    flank,
    pressed,
    spring_bend,
    spring_energy,
    spring_stiffness,
    spring_torque,
)

POINTS = ((0.011, 2.1), (0.019, 4.8), (0.034, 11.3), (0.05, 25.0))
X, Y = np.array([(0.0, 0.0), *POINTS]).T
GAP = 0.007
SPRINGS: dict[str, dict[str, Any]] = {
    "linear": {"stiffness": 233.0},
    "lines": {"curve": POINTS},
    "spline": {"curve": POINTS, "interpolation": "spline"},
    "one point": {"curve": ((0.02, 3.0),)},
}
each_spring = pytest.mark.parametrize("name", SPRINGS)
deflections = st.floats(-0.2, 0.2)
rates = st.floats(-5.0, 5.0)


def of(name: str, **more: Any) -> Elasticity:
    return Elasticity(**SPRINGS[name], **more)


def test_straight_lines_through_the_points_and_on() -> None:
    e = np.linspace(-0.09, 0.09, 181)
    beyond = (Y[-1] - Y[-2]) / (X[-1] - X[-2]) * np.maximum(np.abs(e) - X[-1], 0.0)
    truth = np.sign(e) * (np.interp(np.abs(e), X, Y) + beyond)
    assert spring_torque(of("lines"), e) == pytest.approx(truth, rel=1e-13, abs=1e-14)
    assert spring_torque(of("one point"), e) == pytest.approx(150.0 * e, rel=1e-13)


def test_a_spline_is_the_natural_one_through_all_points_of_both_signs() -> None:
    soft = of("spline")
    x, y = np.concatenate([-X[:0:-1], X]), np.concatenate([-Y[:0:-1], Y])
    e = np.linspace(x[0], x[-1], 301)
    truth = natural_spline(list(zip(20.0 * x, y, strict=True)), 20.0 * e)
    assert spring_torque(soft, e) == pytest.approx(truth, rel=1e-9, abs=1e-9)
    beyond, slope = np.array([0.051, 0.08, 0.3]), spring_stiffness(soft, X[-1] - 1e-9)
    assert spring_torque(soft, beyond) == pytest.approx(Y[-1] + slope * (beyond - X[-1]), rel=1e-6), (
        "straight"
    )


@each_spring
@pytest.mark.parametrize("gap", [0.0, GAP])
def test_springs_are_odd_and_give_as_far_as_their_torque_asks(name: str, gap: float) -> None:
    """What carries nothing stands in the middle of the gap."""
    soft, e = of(name, half_gap=gap), np.linspace(-0.2, 0.2, 401)
    torque = np.asarray(spring_torque(soft, pressed(soft, e)))
    assert (torque * e >= 0.0).all()
    assert spring_torque(soft, pressed(soft, -e)) == pytest.approx(-torque, rel=1e-12, abs=1e-15)
    assert spring_energy(soft, -e) == pytest.approx(spring_energy(soft, e), rel=1e-12, abs=1e-15)
    found = np.array([deflection_of(soft, float(x)) for x in torque])
    assert found == pytest.approx(np.where(np.abs(e) > gap, e, 0.0), rel=1e-12, abs=1e-14)


@each_spring
@pytest.mark.parametrize("gap", [0.0, GAP])
def test_slopes_are_those_of_what_is_stored(name: str, gap: float) -> None:
    """Differences over intervals without a corner: f = dU/de, its slope and the slope's."""
    soft = of(name, half_gap=gap)
    e, h = np.linspace(-0.08, 0.08, 43) + 1.3e-4, 1e-5
    p = np.asarray(pressed(soft, e))
    stored = [np.asarray(spring_energy(soft, e + way * h)) for way in (-1.0, 1.0)]
    carried = np.asarray(spring_torque(soft, p))
    assert (stored[1] - stored[0]) / (2.0 * h) == pytest.approx(carried, abs=2e-6)
    if not gap:
        torque = [np.asarray(spring_torque(soft, e + way * h)) for way in (-1.0, 1.0)]
        slope = [np.asarray(spring_stiffness(soft, e + way * h)) + 0.0 * e for way in (-1.0, 1.0)]
        assert (torque[1] - torque[0]) / (2.0 * h) == pytest.approx(0.5 * (slope[0] + slope[1]), rel=1e-3)
        assert (slope[1] - slope[0]) / (2.0 * h) == pytest.approx(
            np.asarray(spring_bend(soft, e)) + 0.0 * e, abs=1e-3 * np.abs(slope).max() / h
        )


@each_spring
@given(e=deflections, ed=rates, damping=st.floats(0.0, 30.0))
@settings(max_examples=40)
def test_a_flank_pushes_and_never_pulls(name: str, e: float, ed: float, damping: float) -> None:
    soft = of(name, damping=damping, half_gap=GAP)
    side = contact_of(soft, e, ed)
    torque = coupling_torque(soft, e, ed, side)
    assert side in (-1.0, 0.0, 1.0)
    assert side * torque >= 0.0
    assert contact_of(soft, -e, -ed) == -side, "in the mirror everything is the other way round"
    if side:
        assert side * e > GAP
        # what the damper takes it never gives: torque less that of the spring goes with the rate
        rest = torque - spring_torque(soft, pressed(soft, e))
        assert rest * ed >= -1e-12 * (1.0 + abs(torque * ed))
    else:
        assert torque == 0.0
        assert max(flank(soft, e, ed, 1.0), flank(soft, e, ed, -1.0)) <= 0.0


def test_a_flank_is_left_when_its_damper_pulls_as_hard_as_its_spring_pushes() -> None:
    K, D = 233.0, 4.0
    soft = Elasticity(stiffness=K, damping=D, half_gap=GAP)
    p = 0.003
    for share, side in ((0.999, 1.0), (1.001, 0.0)):
        assert contact_of(soft, GAP + p, -share * K * p / D) == side
        assert contact_of(soft, -GAP - p, share * K * p / D) == -side
    bare = Elasticity(stiffness=K, half_gap=GAP)
    assert contact_of(bare, GAP + p, -1e9) == 1.0, "without a damper by the deflection alone"
    assert coupling_torque(soft, GAP + p, 0.5, 1.0) == pytest.approx(K * p + D * 0.5)
    assert coupling_torque(soft, GAP + p, 0.5, 0.0) == 0.0
    none = Elasticity(stiffness=K, damping=D)
    assert contact_of(none, 0.0, 0.0) == 1.0
    assert coupling_torque(none, 0.01, -3.0, 1.0) == pytest.approx(K * 0.01 - D * 3.0), "no gap: it pulls"


def test_within_the_gap_nothing_is_stored() -> None:
    soft = of("lines", half_gap=GAP)
    e = np.array([-GAP, -0.003, 0.0, 0.004, GAP])
    assert not np.any(spring_energy(soft, e))
    assert not np.any(pressed(soft, e))
    assert spring_energy(soft, GAP + 0.011) == pytest.approx(0.5 * 0.011 * 2.1)


def test_a_spline_that_falls_is_refused() -> None:
    steep = Elasticity(curve=((1.0, 1.0), (2.0, 1.01), (2.1, 20.0)), interpolation="spline")
    with pytest.raises(ModelError, match=r"elasticity, curve: the spline .* decreases between the points"):
        curve_of(steep)
    assert math.isfinite(spring_torque(Elasticity(curve=steep.curve), 1.5)), "straight lines do not"
