"""Options of a simulation in small records: step accuracy, termination, sampling."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np

from forearm.drives.motor import DAC
from forearm.errors import InputError, shorten, suggest
from forearm.simulation.stepping import tolerance
from forearm.simulation.track import Condition, Floats
from forearm.values import check_kind, check_number, check_whole, is_number

MOST_RECORD = 1_000_000  # steps between two samples: a run can be interrupted between samples


def check_function(value: object, what: str, arguments: str) -> None:
    """Refuse a value that is neither None nor callable."""
    if value is not None and not callable(value):
        raise InputError(f"expected a function of {arguments}, got {shorten(value)}.", what)


@dataclass(frozen=True)
class Accuracy:
    """Local error tolerance of an adaptive method for a position or velocity x: rtol |x| + atol.

    Args:
        rtol: relative tolerance.
        atol: absolute tolerance, rad or m, rad/s or m/s.
    """

    rtol: float = 1e-6
    atol: float = 1e-9

    def __post_init__(self) -> None:
        absolute = check_number(self.atol, "Accuracy, atol")
        tolerance(check_number(self.rtol, "Accuracy, rtol"), absolute, absolute, 1)


@dataclass(frozen=True)
class Ending:
    """Conditions that end a run early.

    Args:
        stops: whether the run ends when a joint passes its limit.
        until: function of (t, q, qd), s and (n,); the run ends when its value crosses zero from below or
            changes from False to True. None: disabled.
    """

    stops: bool = False
    until: Callable[[float, Floats, Floats], float | bool] | None = None

    def __post_init__(self) -> None:
        stops = bool(self.stops) if isinstance(self.stops, np.bool_) else self.stops
        check_kind(stops, bool, "Ending, stops")
        object.__setattr__(self, "stops", stops)
        check_function(self.until, "Ending, until", "(t, q, qd)")


@dataclass(frozen=True)
class Sampling:
    """Sampling of inputs and of the recorded motion.

    Args:
        dac: converter that samples the input once per period and holds it; None: not used.
        record: every `record`-th fixed step is recorded.
    """

    dac: DAC | None = None
    record: int = 1

    def __post_init__(self) -> None:
        check_kind(self.dac, (DAC, type(None)), "Sampling, dac")
        check_whole(self.record, "Sampling, record", 1, MOST_RECORD)


ACCURACY, ENDING, SAMPLING = Accuracy(), Ending(), Sampling()


class OldArguments(TypedDict, total=False):
    """Keyword arguments of simulate before the records existed."""

    dac: DAC | None
    record: int
    rtol: float
    atol: float
    stops: bool
    until: Any


def with_old(where: str, old: Mapping[str, Any], **records: Any) -> list[Any]:
    """Records with the fields given as separate keyword arguments, as in earlier versions, with a warning."""
    fields = {name: record for record, value in records.items() for name in value.__dataclass_fields__}
    for name, value in old.items():
        if name not in fields:
            near = suggest(name, [*records, *fields])
            raise TypeError(f"{where}() got an unexpected keyword argument {name!r}; {near}")
        record, kind = fields[name], type(records[fields[name]]).__name__
        warnings.warn(
            f"{where}: {name}=... is now {record}={kind}({name}=...); the old spelling will be removed in "
            "the next release.",
            FutureWarning,
            stacklevel=3,
        )
        records[record] = replace(records[record], **{name: value})
    return list(records.values())


def condition_of(until: Any) -> Condition | None:
    """The termination condition as a function with values -1 (no) and 1 (yes) for bool; the user's function
    receives copies.
    """
    if until is None:
        return None

    def checked(t: float, q: Floats, qd: Floats) -> float:
        value = until(t, q.copy(), qd.copy())
        value = value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
        if isinstance(value, bool | np.bool_):
            return 1.0 if value else -1.0
        try:
            number = float(value) if is_number(value) else math.nan
        except OverflowError:
            number = math.nan
        if math.isnan(number):
            raise InputError(
                "expected a number, not NaN, or True or False at every state, got "
                f"{shorten(value)} at t = {t:.9g} s.",
                "Ending",
                "until",
            )
        return number

    return checked
