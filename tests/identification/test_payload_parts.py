"""What an estimate of a load is made of: Student's distribution, the slopes of the unknowns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from forearm.identification.payload.estimate import student
from forearm.identification.payload.unknowns import unknowns_of
from forearm.identification.requests import LoadModel


@pytest.mark.parametrize(
    ("freedom", "confidence", "printed"),
    [(1, 0.95, 12.706), (2, 0.95, 4.303), (10, 0.9, 1.812), (30, 0.99, 2.750)],
)
def test_students_distribution_as_tables_have_it(freedom: int, confidence: float, printed: float) -> None:
    assert student(confidence, freedom) == pytest.approx(printed, abs=5e-4)


@pytest.mark.parametrize(
    ("mass", "com"), [(None, None), (1.3, None), (None, (0.1, 0.2, 0.3)), (1.3, (0.1, 0.2, 0.3))]
)
@pytest.mark.parametrize("shape", ["body", "point"])
def test_slopes_of_the_unknowns(shape: Any, mass: float | None, com: Any) -> None:
    if shape == "point" and mass and com:
        return
    unknowns = unknowns_of(LoadModel(shape=shape, mass=mass, com=com))
    theta = np.random.default_rng(1).uniform(0.3, 1.0, len(unknowns.units))
    step = 1e-6
    for j, column in enumerate(unknowns.jacobian(theta).T):
        push = step * np.eye(len(theta))[j]
        slope = (unknowns.value(theta + push) - unknowns.value(theta - push)) / (2.0 * step)
        assert np.abs(slope - column).max() < 1e-8
