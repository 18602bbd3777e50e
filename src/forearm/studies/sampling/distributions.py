"""Distributions of variables: quantiles for sampling, levels for grids, and the tables they are read from.

Every quantile is computed for its own u alone, so that a value does not depend on others in a block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError, located, shorten, suggest
from forearm.spatial import Floats
from forearm.studies.sampling.normal_quantile import normal_cdf, normal_quantile
from forearm.values import check_number, check_text, check_whole, is_number

MAX_LEVELS = 1_000_000
MAX_VALUES = 10_000
MAX_SIGMA = 10.0  # of a logarithm; quantiles of a double stay below 9 sigma, and e^90 is still finite
MIN_PROBABILITY = 1e-300  # below it floats lose precision

Bounds = tuple[float, float]


@dataclass(frozen=True)
class Uniform:
    """Uniform distribution: every value from low to high is equally likely.

    Args:
        low: lowest value.
        high: highest value.
    """

    is_numeric: ClassVar[bool] = True
    low: float
    high: float

    def __post_init__(self) -> None:
        _keep_numbers(self, "uniform", "low", "high")
        _check_order("uniform", self.low, self.high)

    @property
    def bounds(self) -> Bounds:
        """Lowest and highest value."""
        return self.low, self.high

    def quantile(self, u: Floats) -> Floats:
        """Values (B,) at probabilities u in (0, 1)."""
        return np.clip(self.low + (self.high - self.low) * _inside(u), self.low, self.high)

    def levels(self, count: int) -> Floats:
        """So many equidistant values, both ends included; the middle for a single one."""
        count = _check_count(count)
        if count == 1:
            return np.array([0.5 * self.low + 0.5 * self.high])
        return np.linspace(self.low, self.high, count)


@dataclass(frozen=True)
class LogUniform:
    """Log-uniform distribution: the logarithm is uniform between those of low and high.

    Args:
        low: lowest value, above 0.
        high: highest value.
    """

    is_numeric: ClassVar[bool] = True
    low: float
    high: float

    def __post_init__(self) -> None:
        _keep_numbers(self, "loguniform", "low", "high", above=0.0)
        _check_order("loguniform", self.low, self.high)

    @property
    def bounds(self) -> Bounds:
        """Lowest and highest value."""
        return self.low, self.high

    def quantile(self, u: Floats) -> Floats:
        """Values (B,) at probabilities u in (0, 1)."""
        return self._between(_inside(u))

    def levels(self, count: int) -> Floats:
        """So many values at equal ratios, both ends included; the geometric mean for a single one."""
        count = _check_count(count)
        if count == 1:
            return self._between(np.array([0.5]))
        levels = self._between(np.linspace(0.0, 1.0, count))
        levels[0], levels[-1] = self.low, self.high
        return levels

    def _between(self, fraction: Floats) -> Floats:
        width = math.log(self.high) - math.log(self.low)
        return np.clip(self.low * np.exp(fraction * width), self.low, self.high)


@dataclass(frozen=True)
class Normal:
    """Normal distribution, truncated to bounds if given: the rest keeps its proportions.

    Args:
        mean: of the untruncated distribution.
        std: its standard deviation.
        low: lowest value.
        high: highest value.
    """

    is_numeric: ClassVar[bool] = True
    mean: float
    std: float
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        _keep_numbers(self, "normal", "mean")
        _keep_numbers(self, "normal", "std", above=0.0)
        if self.low != -math.inf:
            _keep_numbers(self, "normal", "low")
        if self.high != math.inf:
            _keep_numbers(self, "normal", "high")
        _check_order("normal", self.low, self.high)
        if self._shares()[1] < MIN_PROBABILITY:
            raise InputError(
                f"expected bounds that contain some probability, got low {self.low:g} and "
                f"high {self.high:g} for mean {self.mean:g} and std {self.std:g}; move them "
                "towards the mean, or use uniform.",
                "normal",
            )

    @property
    def bounds(self) -> Bounds:
        """Lowest and highest value, infinite without a bound."""
        return self.low, self.high

    def quantile(self, u: Floats) -> Floats:
        """Values (B,) at probabilities u in (0, 1)."""
        u = _inside(u)
        below, within, above = self._shares()
        lower, upper = below + within * u, above + within * (1.0 - u)
        # each from its own end: a probability near 1 has lost the digits of the tail
        z = np.where(lower <= 0.5, normal_quantile(lower), -normal_quantile(upper))
        return np.clip(self.mean + self.std * z, self.low, self.high)

    def levels(self, count: int) -> Floats:
        """The quantiles at (k + 1/2) / count."""
        return self.quantile(_middles(count))

    def _shares(self) -> tuple[float, float, float]:
        """Probabilities of the normal distribution below, within and above the bounds."""
        low, high = (self.low - self.mean) / self.std, (self.high - self.mean) / self.std
        below, up_to_high, above, from_low = normal_cdf(np.array([low, high, -high, -low])).tolist()
        return below, (from_low - above if low > 0.0 else up_to_high - below), above


@dataclass(frozen=True)
class LogNormal:
    """Lognormal distribution: the logarithm of the value is normal.

    Args:
        median: of the values.
        sigma: standard deviation of their logarithm.
    """

    is_numeric: ClassVar[bool] = True
    median: float
    sigma: float

    def __post_init__(self) -> None:
        _keep_numbers(self, "lognormal", "median", above=0.0)
        _keep_numbers(self, "lognormal", "sigma", above=0.0, maximum=MAX_SIGMA)

    @property
    def bounds(self) -> Bounds:
        """0 and infinity."""
        return 0.0, math.inf

    def quantile(self, u: Floats) -> Floats:
        """Values (B,) at probabilities u in (0, 1)."""
        return self.median * np.exp(self.sigma * normal_quantile(_inside(u)))

    def levels(self, count: int) -> Floats:
        """The quantiles at (k + 1/2) / count."""
        return self.quantile(_middles(count))


@dataclass(frozen=True)
class Triangular:
    """Triangular distribution: the density rises linearly from low to the mode and falls linearly to high.

    Args:
        low: lowest value.
        mode: most likely value.
        high: highest value.
    """

    is_numeric: ClassVar[bool] = True
    low: float
    mode: float
    high: float

    def __post_init__(self) -> None:
        _keep_numbers(self, "triangular", "low", "mode", "high")
        _check_order("triangular", self.low, self.high)
        if not self.low <= self.mode <= self.high:
            raise InputError(
                f"expected a mode from low {self.low:g} to high {self.high:g}, got "
                f"{self.mode:g}; the order is low, mode, high.",
                "triangular",
            )

    @property
    def bounds(self) -> Bounds:
        """Lowest and highest value."""
        return self.low, self.high

    def quantile(self, u: Floats) -> Floats:
        """Values (B,) at probabilities u in (0, 1)."""
        u = _inside(u)
        width, rise, fall = self.high - self.low, self.mode - self.low, self.high - self.mode
        rising = self.low + np.sqrt(u * width * rise)
        falling = self.high - np.sqrt((1.0 - u) * width * fall)
        return np.clip(np.where(u * width < rise, rising, falling), self.low, self.high)

    def levels(self, count: int) -> Floats:
        """The quantiles at (k + 1/2) / count."""
        return self.quantile(_middles(count))


@dataclass(frozen=True)
class Choice:
    """Choice among a few values.

    Args:
        values: all numbers or all texts.
        weights: relative probabilities; None: all equal.
    """

    values: tuple[float, ...] | tuple[str, ...]
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _checked_values(self.values))
        if self.weights is not None:
            object.__setattr__(self, "weights", _checked_weights(self.weights, len(self.values)))

    @property
    def bounds(self) -> Bounds | None:
        """Lowest and highest value; None for texts."""
        numbers = [value for value in self.values if not isinstance(value, str)]
        return (min(numbers), max(numbers)) if numbers else None

    @property
    def is_numeric(self) -> bool:
        """Whether values are numbers."""
        return not isinstance(self.values[0], str)

    def quantile(self, u: Floats) -> NDArray[Any]:
        """Values (B,) at u in (0, 1), assigned in order by weight; texts as objects."""
        weights = np.ones(len(self.values)) if self.weights is None else np.array(self.weights)
        edges = np.cumsum(weights / weights.max())
        # the first edge above u, so that a value of zero weight is never chosen
        return self._all()[np.searchsorted(edges / edges[-1], _inside(u), side="right")]

    def levels(self, count: int) -> NDArray[Any]:
        """All values, whatever the count."""
        return self._all()

    def _all(self) -> NDArray[Any]:
        return np.array(self.values, dtype=np.float64 if self.is_numeric else object)


Distribution = Uniform | LogUniform | Normal | LogNormal | Triangular | Choice

# Field order of each kind given as a list; for a choice the list holds the values.
LISTED: dict[str, tuple[Callable[..., Distribution], tuple[str, ...]]] = {
    "uniform": (Uniform, ("low", "high")),
    "loguniform": (LogUniform, ("low", "high")),
    "normal": (Normal, ("mean", "std")),
    "lognormal": (LogNormal, ("median", "sigma")),
    "triangular": (Triangular, ("low", "mode", "high")),
}
CHOICES = ("choice", "values")
KINDS = (*LISTED, *CHOICES)
NORMAL_KEYS = ("mean", "std", "low", "high")


def distribution_of(fields: Mapping[str, object], where: str) -> Distribution:
    """The distribution that a table of a file describes.

    Args:
        fields: exactly one of uniform = [low, high], loguniform = [low, high], normal = [mean, std] or {mean,
            std, low, high}, lognormal = [median, sigma], triangular = [low, mode, high] and choice or values
            = [...], optionally with weights = [...].
        where: name of the table in errors.
    """
    with located(where):
        kind = _kind_of(fields)
        given = fields[kind]
        if kind in CHOICES:
            weights = _as_tuple(fields["weights"], "weights") if "weights" in fields else None
            return Choice(_as_tuple(given, kind), weights)
        if kind == "normal" and isinstance(given, Mapping):
            return _normal_of(given)
        make, names = LISTED[kind]
        return make(*_as_tuple(given, kind, names))


def fields_of(distribution: Distribution) -> dict[str, object]:
    """The table that `distribution_of` reads as this distribution."""
    if isinstance(distribution, Choice):
        fields: dict[str, object] = {"choice": list(distribution.values)}
        return fields if distribution.weights is None else {**fields, "weights": list(distribution.weights)}
    if isinstance(distribution, Normal) and distribution.bounds != (-math.inf, math.inf):
        entries = {name: getattr(distribution, name) for name in NORMAL_KEYS}
        return {"normal": {name: entry for name, entry in entries.items() if math.isfinite(entry)}}
    kind, names = next((kind, names) for kind, (make, names) in LISTED.items() if make is type(distribution))
    return {kind: [getattr(distribution, name) for name in names]}


def _kind_of(fields: Mapping[str, object]) -> str:
    _check_keys(fields, (*KINDS, "weights"))
    kinds = [kind for kind in KINDS if kind in fields]
    if len(kinds) != 1:
        got = ", ".join(kinds) or "none"
        raise InputError(f"expected exactly one of {', '.join(KINDS)}, got {got}; keep one.")
    if "weights" in fields and kinds[0] not in CHOICES:
        raise InputError(f"allowed only with choice or values, got {kinds[0]}; remove them.", "weights")
    return kinds[0]


def _check_keys(fields: Mapping[str, object], known: Sequence[str]) -> None:
    for key in fields:
        if key not in known:
            raise InputError(f"unknown key {shorten(key)}; {suggest(str(key), known)}")


def _normal_of(given: Mapping[str, object]) -> Normal:
    with located("normal"):
        _check_keys(given, NORMAL_KEYS)
        missing = [name for name in ("mean", "std") if name not in given]
        if missing:
            raise InputError(f"expected mean and std, {missing[0]} is missing; add {missing[0]} = NUMBER.")
    return Normal(**given)  # type: ignore[arg-type]


def _as_tuple(given: object, kind: str, names: Sequence[str] = ()) -> tuple[Any, ...]:
    wanted = ", ".join(names) or "VALUE, VALUE, ..."
    if not isinstance(given, list | tuple) or (names and len(given) != len(names)):
        raise InputError(f"expected {kind} = [{wanted}], got {shorten(given)}.", kind)
    return tuple(given)


def _keep_numbers(
    distribution: Distribution, kind: str, *names: str, above: float = -math.inf, maximum: float = math.inf
) -> None:
    """Fields as checked floats, from any numeric type."""
    for name in names:
        number = check_number(getattr(distribution, name), f"{kind}, {name}", above=above, maximum=maximum)
        object.__setattr__(distribution, name, number)


def _check_order(kind: str, low: float, high: float) -> None:
    if not low < high:
        raise InputError(f"expected low below high, got low {low:g} and high {high:g}; swap them.", kind)


def _checked_values(given: object) -> tuple[float, ...] | tuple[str, ...]:
    values = _as_tuple(given, "choice")
    check_whole(len(values), "choice, number of values", 1, MAX_VALUES)
    if all(isinstance(value, str) for value in values):
        for value in values:
            check_text(value, "choice")
        return tuple(str(value) for value in values)
    if not all(is_number(value) for value in values):
        raise InputError(
            f"expected all numbers or all texts, got {shorten(values)}; put numbers in quotes.", "choice"
        )
    return tuple(check_number(value, "choice") for value in values)


def _checked_weights(given: object, count: int) -> tuple[float, ...]:
    weights = _as_tuple(given, "weights")
    checked = tuple(check_number(weight, "choice, weights", minimum=0.0) for weight in weights)
    if len(checked) != count:
        raise InputError(f"expected one per value, {count}, got {len(checked)}.", "choice", "weights")
    if not any(checked):
        raise InputError("expected at least one above 0, got zeros; omit weights.", "choice", "weights")
    return checked


def _check_count(count: int) -> int:
    return check_whole(count, "levels", 1, MAX_LEVELS)


def _middles(count: int) -> Floats:
    return (np.arange(_check_count(count)) + 0.5) / count


def _inside(u: Floats) -> Floats:
    """Checked probabilities; values outside (0, 1) would yield plausible but wrong quantiles."""
    u = np.asarray(u, dtype=np.float64)
    if not ((u > 0.0) & (u < 1.0)).all():
        raise InputError("expected every u strictly between 0 and 1; take points from a Design.", "quantile")
    return u
