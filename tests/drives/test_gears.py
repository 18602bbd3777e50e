"""What a gear costs in generated code."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import forearm as fa

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
