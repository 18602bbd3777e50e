"""Distributions of variables: quantiles for sampling, levels for grids, and the tables they are read from.

Every quantile is computed for its own u alone, so that a value does not depend on others in a block.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError, located, shorten
from forearm.reading.fields import ListField, NumberField, ObjectField, TextField
from forearm.records import declared, fields_of, number, positional_record, table_of
from forearm.spatial import Floats
from forearm.studies.sampling.normal_quantile import normal_cdf, normal_quantile
from forearm.values import MAX_TEXT, check_choice, check_whole, is_number

MAX_LEVELS = 1_000_000
MAX_VALUES = 10_000
MAX_SIGMA = 10.0  # of a logarithm; quantiles of a double stay below 9 sigma, and e^90 is still finite
MIN_PROBABILITY = 1e-300  # below it floats lose precision

Bounds = tuple[float, float]


class Distribution:
    """What every distribution has: quantiles for sampling, and levels for grids."""

    is_numeric = True
    low = -math.inf
    high = math.inf

    @property
    def bounds(self) -> Bounds | None:
        """Lowest and highest value, infinite without a bound; None for texts."""
        return self.low, self.high

    def quantile(self, u: Floats) -> NDArray[Any]:
        """Values (B,) at probabilities u in (0, 1)."""
        raise NotImplementedError

    def levels(self, count: int) -> NDArray[Any]:
        """The quantiles at (k + 1/2) / count."""
        return self.quantile((np.arange(_check_count(count)) + 0.5) / count)


@positional_record
class Uniform(Distribution):
    """Uniform distribution: every value from low to high is equally likely."""

    low: float = number("lowest value")
    high: float = number("highest value")

    def __post_init__(self) -> None:
        _check_order(self)

    def quantile(self, u: Floats) -> Floats:
        """Values (B,) at probabilities u in (0, 1)."""
        return np.clip(self.low + (self.high - self.low) * _inside(u), self.low, self.high)

    def levels(self, count: int) -> Floats:
        """So many equidistant values, both ends included; the middle for a single one."""
        if _check_count(count) == 1:
            return np.array([0.5 * self.low + 0.5 * self.high])
        return np.linspace(self.low, self.high, count)


@positional_record
class LogUniform(Distribution):
    """Log-uniform distribution: the logarithm is uniform between those of low and high."""

    low: float = number("lowest value", above=0.0)
    high: float = number("highest value", above=0.0)

    def __post_init__(self) -> None:
        _check_order(self)

    def quantile(self, u: Floats) -> Floats:
        """Values (B,) at probabilities u in (0, 1)."""
        return self._between(_inside(u))

    def levels(self, count: int) -> Floats:
        """So many values at equal ratios, both ends included; the geometric mean for a single one."""
        if _check_count(count) == 1:
            return self._between(np.array([0.5]))
        levels = self._between(np.linspace(0.0, 1.0, count))
        levels[0], levels[-1] = self.low, self.high
        return levels

    def _between(self, fraction: Floats) -> Floats:
        width = math.log(self.high) - math.log(self.low)
        return np.clip(self.low * np.exp(fraction * width), self.low, self.high)


@positional_record
class Normal(Distribution):
    """Normal distribution, truncated to bounds if given: the rest keeps its proportions."""

    mean: float = number("of the untruncated distribution")
    std: float = number("its standard deviation", above=0.0)
    low: float = number("lowest value", default=-math.inf, infinite=True)
    high: float = number("highest value", default=math.inf, infinite=True)

    def __post_init__(self) -> None:
        _check_order(self)
        if self._shares()[1] < MIN_PROBABILITY:
            raise InputError(
                f"expected bounds that contain some probability, got low {self.low:g} and "
                f"high {self.high:g} for mean {self.mean:g} and std {self.std:g}; move them "
                "towards the mean, or use uniform.",
                "normal",
            )

    def quantile(self, u: Floats) -> Floats:
        """Values (B,) at probabilities u in (0, 1)."""
        u = _inside(u)
        below, within, above = self._shares()
        lower, upper = below + within * u, above + within * (1.0 - u)
        # each from its own end: a probability near 1 has lost the digits of the tail
        z = np.where(lower <= 0.5, normal_quantile(lower), -normal_quantile(upper))
        return np.clip(self.mean + self.std * z, self.low, self.high)

    def _shares(self) -> tuple[float, float, float]:
        """Probabilities of the normal distribution below, within and above the bounds."""
        low, high = (self.low - self.mean) / self.std, (self.high - self.mean) / self.std
        below, up_to_high, above, from_low = normal_cdf(np.array([low, high, -high, -low])).tolist()
        return below, (from_low - above if low > 0.0 else up_to_high - below), above


@positional_record
class LogNormal(Distribution):
    """Lognormal distribution: the logarithm of the value is normal."""

    low = 0.0
    median: float = number("of the values", above=0.0)
    sigma: float = number("standard deviation of their logarithm", above=0.0, maximum=MAX_SIGMA)

    def quantile(self, u: Floats) -> Floats:
        """Values (B,) at probabilities u in (0, 1)."""
        return self.median * np.exp(self.sigma * normal_quantile(_inside(u)))


@positional_record
class Triangular(Distribution):
    """Triangular distribution: the density rises linearly from low to the mode and falls linearly to high."""

    low: float = number("lowest value")
    mode: float = number("most likely value")
    high: float = number("highest value")

    def __post_init__(self) -> None:
        _check_order(self)
        if not self.low <= self.mode <= self.high:
            raise InputError(
                f"expected a mode from low {self.low:g} to high {self.high:g}, got "
                f"{self.mode:g}; the order is low, mode, high.",
                "triangular",
            )

    def quantile(self, u: Floats) -> Floats:
        """Values (B,) at probabilities u in (0, 1)."""
        u = _inside(u)
        width, rise, fall = self.high - self.low, self.mode - self.low, self.high - self.mode
        rising = self.low + np.sqrt(u * width * rise)
        falling = self.high - np.sqrt((1.0 - u) * width * fall)
        return np.clip(np.where(u * width < rise, rising, falling), self.low, self.high)


@dataclass(frozen=True)
class ValuesField:
    """Numbers or texts to choose from."""

    doc: str

    def read(self, value: Any, place: str) -> tuple[float, ...] | tuple[str, ...]:
        """The values, all of one kind."""
        values = ListField(ObjectField("")).read(value, place)
        check_whole(len(values), f"{place}, number of values", 1, MAX_VALUES)
        if all(isinstance(x, str) for x in values):
            return ListField(TextField(max_length=MAX_TEXT)).read(value, place)
        if not all(is_number(x) for x in values):
            raise InputError(
                f"expected all numbers or all texts, got {shorten(values)}; put numbers in quotes.", place
            )
        return ListField(NumberField()).read(value, place)

    def schema(self) -> dict[str, Any]:
        """A list."""
        return {"type": "array", "description": self.doc}


@positional_record
class Choice(Distribution):
    """Choice among a few values."""

    values: tuple[float, ...] | tuple[str, ...] = declared(ValuesField("all numbers or all texts"))
    weights: tuple[float, ...] | None = declared(
        ListField(NumberField(minimum=0.0), None, "relative probabilities; if absent, all are equal"),
        default=None,
    )

    def __post_init__(self) -> None:
        if self.weights is not None and len(self.weights) != len(self.values):
            raise InputError(
                f"expected one per value, {len(self.values)}, got {len(self.weights)}.", "choice", "weights"
            )
        if self.weights is not None and not any(self.weights):
            raise InputError("expected at least one above 0, got zeros; omit weights.", "choice", "weights")

    @property
    def bounds(self) -> Bounds | None:
        """Lowest and highest value; None for texts."""
        return (min(self.values), max(self.values)) if self.is_numeric else None  # type: ignore[return-value]

    @property
    def is_numeric(self) -> bool:  # type: ignore[override]
        """Whether values are numbers."""
        return not isinstance(self.values[0], str)

    def quantile(self, u: Floats) -> NDArray[Any]:
        """Values (B,) at u in (0, 1), assigned in order by weight; texts as objects."""
        weights = np.array(self.weights or (1.0,) * len(self.values))
        edges = np.cumsum(weights / weights.max())
        # the first edge above u, so that a value of zero weight is never chosen
        return self.levels(1)[np.searchsorted(edges / edges[-1], _inside(u), side="right")]

    def levels(self, count: int) -> NDArray[Any]:
        """All values, whatever the count."""
        return np.array(self.values, dtype=np.float64 if self.is_numeric else object)


# Kinds in files, each a list of the fields without a default, or a table; for a choice the list of values.
KINDS: dict[str, type[Any]] = {
    **{cls.__name__.lower(): cls for cls in (Uniform, LogUniform, Normal, LogNormal, Triangular)},
    "choice": Choice,
    "values": Choice,
}


def distribution_of(given: Mapping[str, Any], where: str) -> Distribution:
    """The distribution that a table of a file describes.

    Args:
        given: exactly one of uniform = [low, high], loguniform = [low, high], normal = [mean, std] or {mean,
            std, low, high}, lognormal = [median, sigma], triangular = [low, mode, high] and choice or values
            = [...], optionally with weights = [...].
        where: name of the table in errors.
    """
    with located(where):
        for key in given:
            check_choice(key, (*KINDS, "weights"), where)
        kind, *others = [kind for kind in KINDS if kind in given] or [""]
        if others or not kind:
            got = ", ".join(filter(None, (kind, *others))) or "none"
            raise InputError(f"expected exactly one of {', '.join(KINDS)}, got {got}; keep one.")
        cls, values = KINDS[kind], given[kind]
        if "weights" in given and cls is not Choice:
            raise InputError(f"allowed only with choice or values, got {kind}; remove them.", "weights")
        if cls is Choice:
            return Choice(values, given.get("weights"))
        if isinstance(values, Mapping):
            return cls(**table_of(cls).read(dict(values), kind))  # type: ignore[no-any-return]
        names = _listed(cls)
        if not isinstance(values, list | tuple) or len(values) != len(names):
            raise InputError(f"expected {kind} = [{', '.join(names)}], got {shorten(values)}.", kind)
        return cls(*values)  # type: ignore[no-any-return]


def table_fields(distribution: Distribution) -> dict[str, Any]:
    """The table that `distribution_of` reads as this distribution."""
    kind, values = type(distribution).__name__.lower(), fields_of(distribution)
    if isinstance(distribution, Choice):
        return {key: [*x] for key, x in zip((kind, "weights"), values.values(), strict=True) if x is not None}
    if isinstance(distribution, Normal) and distribution.bounds != (-math.inf, math.inf):
        return {kind: {name: x for name, x in values.items() if math.isfinite(x)}}
    return {kind: [values[name] for name in _listed(type(distribution))]}


def _listed(cls: type) -> list[str]:
    return [field.name for field in fields(cls) if field.default is MISSING]


def _check_order(distribution: Distribution) -> None:
    low, high = distribution.low, distribution.high
    if not low < high:
        kind = type(distribution).__name__.lower()
        raise InputError(f"expected low below high, got low {low:g} and high {high:g}; swap them.", kind)


def _check_count(count: int) -> int:
    return check_whole(count, "levels", 1, MAX_LEVELS)


def _inside(u: Floats) -> Floats:
    """Checked probabilities; values outside (0, 1) would yield plausible but wrong quantiles."""
    u = np.asarray(u, dtype=np.float64)
    if not ((u > 0.0) & (u < 1.0)).all():
        raise InputError("expected every u strictly between 0 and 1; take points from a Design.", "quantile")
    return u
