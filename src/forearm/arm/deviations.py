"""Uncertainty of an arm's parameters: standard deviations by name, as an immutable mapping."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from forearm.errors import InputError, NameNotFound, shorten, suggest
from forearm.values import check_number


class Deviations(Mapping[str, float]):
    """Standard deviations of an arm's parameters by name, each in its parameter's unit; hashable.

    Args:
        given: the deviations, in the order in which they are stored.
    """

    __slots__ = ("_values",)

    def __init__(self, given: Mapping[str, float] | None = None) -> None:
        self._values = dict(given or {})

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Deviations, (dict(self._values),)

    def __repr__(self) -> str:
        return f"Deviations({self._values})"


NONE = Deviations()


def checked(given: object, known: Callable[[], Mapping[str, float]]) -> Deviations:
    """Deviations in the order of the arm's parameters; an error names an invalid one."""
    if not isinstance(given, Mapping):
        raise InputError(
            f"expected standard deviations by name, such as {{'link2.mass': 0.02}}, got {shorten(given)}.",
            "deviations",
        )
    if not given:
        return NONE
    values, numbers = {}, known()
    for name, value in given.items():
        where = f"deviations, {shorten(name)}"
        if isinstance(value, Mapping):
            raise InputError(
                "expected a number, got a table; in a file, quote the whole name, such as "
                '"link2.mass" = 0.02.',
                where,
            )
        if name not in numbers:
            raise NameNotFound(f"the arm has no parameter of this name; {suggest(str(name), numbers)}", where)
        values[name] = check_number(value, where, minimum=0.0)
    return Deviations({name: values[name] for name in numbers if name in values})


def kept(
    deviations: Mapping[str, float], before: Mapping[str, float], after: Mapping[str, float]
) -> Deviations:
    """The deviations of parameters that both arms share with equal values: a changed value has no known
    deviation.
    """
    return Deviations({k: std for k, std in deviations.items() if k in after and after[k] == before[k]})
