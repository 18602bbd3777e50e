"""The cases that stay in `make test` show every value of every argument."""

from __future__ import annotations

from itertools import product

import pytest
from sweeps import Values, representative


def crossed(*sizes: int) -> list[Values]:
    return [
        tuple((f"argument{a}", value) for a, value in enumerate(case)) for case in product(*map(range, sizes))
    ]


@pytest.mark.parametrize("times", [1, 2, 5])
@pytest.mark.parametrize("sizes", [(1,), (7,), (3, 5), (12, 4), (2, 3, 4)])
def test_every_value_is_met_and_little_else(sizes: tuple[int, ...], times: int) -> None:
    cases = crossed(*sizes)
    kept = representative(cases, times)
    for value in {value for case in cases for value in case}:
        whole = sum(value in case for case in cases)
        assert sum(value in cases[k] for k in kept) >= min(times, whole)
    assert len(kept) <= min(len(cases), times * sum(sizes))


@pytest.mark.slow
def test_of_two_arguments_no_more_are_kept_than_the_longer_has_values() -> None:
    kept = representative(crossed(6, 76), 1)
    assert len(kept) == 76
    each = [sum(("argument0", a) in crossed(6, 76)[k] for k in kept) for a in range(6)]
    assert max(each) - min(each) <= 1, "all are met about as often"
