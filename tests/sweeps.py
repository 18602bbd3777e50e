"""What of a parametrised test `make test` runs, and what only `make test-long` does."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

Values = tuple[tuple[str, Any], ...]  # the arguments of a case by name


def long(cases: Iterable[Any]) -> list[Any]:
    """These cases, a tuple for several arguments, marked as parts of a long sweep."""
    return [pytest.param(*(c if isinstance(c, tuple) else (c,)), marks=pytest.mark.long) for c in cases]


def mark_sweeps(items: Iterable[pytest.Item]) -> None:
    """Of a test marked `sweep(times)` the cases that `representative` leaves out are long,
    and of one marked `sweep(first=count)` all but the first.
    """
    sweeps: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sweep") is not None:
            sweeps[item.nodeid.split("[")[0]].append(item)
    for cases in sweeps.values():
        marker = cases[0].get_closest_marker("sweep")
        assert marker is not None
        kept = (
            set(range(marker.kwargs["first"]))
            if marker.kwargs
            else representative([_values(item) for item in cases], *(marker.args or (1,)))
        )
        for k in set(range(len(cases))) - kept:
            cases[k].add_marker(pytest.mark.long)


def representative(cases: Sequence[Values], times: int) -> set[int]:
    """Cases that have every value of every argument at least so many times, where there are as many,
    with few repetitions.
    """
    having: dict[tuple[str, Any], list[int]] = defaultdict(list)
    for k, case in enumerate(cases):
        for value in case:
            having[value].append(k)
    met: Counter[tuple[str, Any]] = Counter()
    kept: set[int] = set()
    for value, among in having.items():
        while met[value] < min(times, len(among)):
            best = min((k for k in among if k not in kept), key=lambda k: sum(met[v] for v in cases[k]))
            kept.add(best)
            met.update(cases[best])
    return kept


def _values(item: pytest.Item) -> Values:
    given: dict[str, Any] = item.callspec.params  # type: ignore[attr-defined]
    return tuple((name, value if _is_hashable(value) else repr(value)) for name, value in given.items())


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
