"""Kept counts are those that are counted and fitted now."""

from __future__ import annotations

import pytest

from forearm.counting.counts import METHODS
from forearm.counting.fewest import fewest
from forearm.counting.models import chain
from forearm.counting.stored import LONGEST, counted, fewest_general, stored

DEAR = "lagrange-naive"  # grows as n^5 in 4x4 products
EVERY = [(function, name) for function, names in METHODS.items() for name in names]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "name"),
    [pytest.param(*case, marks=pytest.mark.long if case[1] == DEAR else ()) for case in EVERY],
)
def test_every_method(function: str, name: str) -> None:
    assert stored(name, function) == counted(name, function)


@pytest.mark.slow
@pytest.mark.parametrize("function", METHODS)
def test_fewest_operations_of_general_chains(function: str) -> None:
    for n in (1, 2, 3, 6):
        assert fewest_general(n, function) == fewest(chain(n), function)


@pytest.mark.long
def test_fewest_operations_of_long_general_chains() -> None:
    for n in (LONGEST, LONGEST + 1):  # the second is not kept
        assert fewest_general(n, "inverse") == fewest(chain(n), "inverse")
