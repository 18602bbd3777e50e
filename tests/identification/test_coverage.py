"""Intervals hold the truth as often as they say, over logs that differ by their noise alone."""

from __future__ import annotations

import numpy as np
import pytest
from identification.coverage import (
    CONFIDENCE,
    Circumstance,
    Coverage,
    circumstances,
    coverage_of,
    estimate,
    fewest_covered,
    most_covered,
    realistic,
)

import forearm as fa

RARE = 1e-3  # probability that a right interval fails a test of all parameters
# With 24 logs a share of 0.75 shows; bias of a fifth of a deviation is allowed for: filters bend a little.
BIASED = CONFIDENCE - 0.02


def check(found: Coverage, seeds: int) -> None:
    """Shares within what chance allows for every parameter, and deviations of the right size."""
    covered = np.round(found.shares * found.told)
    least = fewest_covered(seeds, BIASED, RARE / len(found.names))
    most = most_covered(seeds, 0.99, RARE / len(found.names))
    assert (found.told == seeds).all(), found.names
    assert covered.min() >= least, dict(zip(found.names, covered.tolist(), strict=True))
    assert covered.max() <= most
    # the mean over parameters tells more: they are not independent, but twenty say more than one
    assert abs(found.shares.mean() - CONFIDENCE) < (0.04 if seeds < 100 else 0.025)
    # a standard deviation of so many values is known to 1 / sqrt(2 seeds); a tenth more for what filters bend
    chance = 4.5 / np.sqrt(2.0 * seeds)
    assert found.spread.min() > 0.95 - chance
    assert found.spread.max() < 1.1 + chance


@pytest.mark.slow
def test_intervals_of_realistic_logs() -> None:
    """Unequal noise of joints, noise and steps of positions, a delay of the efforts."""
    case = realistic()
    whole, quick = fa.identify(case.nominal, case.log(0), torque_side="motor"), estimate(case, case.log(0))
    assert whole.parameters.names == quick.parameters.names
    np.testing.assert_allclose(np.asarray(whole.parameters), np.asarray(quick.parameters), rtol=1e-9)
    np.testing.assert_allclose(np.asarray(whole.std), np.asarray(quick.std), rtol=1e-9)
    check(coverage_of(case, range(24), is_quick=True), 24)


# How many logs: simulating a loop takes longer than identifying.
LONG = {
    "effort noise": 300,
    "unequal joint noise": 300,
    "q noise 1e-4 rad": 300,
    "q steps of 1e-3 rad": 300,
    "delay 4 ms": 300,
    "ordinary, unequal joint noise": 100,
    "known payload": 100,
    "Stribeck": 60,
    "closed loop that sticks": 60,
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.long
def test_intervals_of_three_hundred_logs(name: str) -> None:
    case: Circumstance = circumstances()[name]
    check(coverage_of(case, range(LONG[name]), is_quick=not case.options), LONG[name])
