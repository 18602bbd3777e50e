"""What a gear costs in generated code, and that its table is the curve of the arm file."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import forearm as fa
from forearm.drives.transmission import curve_of, efficiency, through

EACH = 10  # operations, without those of the look-up
POLYNOMIAL = {"linear": 3, "spline": 9}  # value * (x - start) + coefficient, once or three times


def gear(points: int, interpolation: Any) -> fa.Transmission:
    x = np.linspace(0.1, 1.0, points)
    curve = tuple((float(a), 0.6 + 0.3 * math.sin(1.2 * a)) for a in x)
    return fa.Transmission(efficiency=curve, rated_torque=10.0, breakaway=0.2, interpolation=interpolation)


@pytest.mark.parametrize("points", [2, 3, 10, 24, 300])
@pytest.mark.parametrize("interpolation", ["linear", "spline"])
@pytest.mark.sweep
def test_operations_do_not_grow_with_the_curve(points: int, interpolation: str) -> None:
    rigid = fa.load("chain3").rigid()
    arm = rigid
    for joint in rigid.joints:
        arm = arm.with_joint(joint.name, transmission=gear(points, interpolation))
    more = fa.generate(arm, "inverse_dynamics").counts - fa.generate(rigid, "inverse_dynamics").counts
    each = EACH + POLYNOMIAL[interpolation if points > 2 else "linear"]
    assert (more.mul + more.add + more.div, more.lookup, more.sqrt, more.trig) == (each * 3, 3, 0, 0)


@pytest.mark.parametrize("interpolation", ["linear", "spline"])
def test_quadrants_and_ends_of_the_curve(interpolation: str) -> None:
    """Driving divides, braking multiplies, at rest nothing is lost; beyond the points eta stays."""
    made = gear(10, interpolation)
    first, last = made.efficiency[0][1], made.efficiency[-1][1]
    for load, eta in ((0.5, first), (-0.5, first), (50.0, last), (-50.0, last)):
        assert efficiency(made, load) == eta
        for direction in (-1.0, 0.0, 1.0):
            lossy = load / eta if load * direction > 0.0 else load * eta if direction else load
            assert through(made, load, direction) == lossy + 0.2 * direction
    for ratio, eta in made.efficiency:
        assert curve_of(made).at(ratio) == pytest.approx(eta, abs=1e-15)


def test_one_point_is_a_constant() -> None:
    made = fa.Transmission(efficiency=((0.3, 0.75),), rated_torque=10.0, breakaway=0.0)
    assert [through(made, load, 1.0) for load in (6.0, -6.0)] == [8.0, -4.5]
