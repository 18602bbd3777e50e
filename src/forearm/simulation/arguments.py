"""What a caller gives besides what drives the arm: numbers, functions and tolerances,
checked before anything is done.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from forearm.errors import InputError, shorten
from forearm.simulation.stepping import tolerance
from forearm.simulation.track import Condition, Floats
from forearm.values import check_number, is_number


def check_tolerances(rtol: object, atol: object) -> None:
    """Refuse tolerances that no method could follow, also where a method follows none."""
    absolute = check_number(atol, "simulate, atol")
    tolerance(check_number(rtol, "simulate, rtol"), absolute, absolute, 1)


def check_function(value: object, what: str, arguments: str) -> None:
    """Refuse what is there and cannot be called."""
    if value is not None and not callable(value):
        raise InputError(f"simulate, {what}: expected a function of {arguments}, got {shorten(value)}.")


def condition_of(until: Any) -> Condition | None:
    """The condition that ends a run as a number, -1 for no and 1 for yes;
    the user's function is given copies.
    """
    check_function(until, "until", "(t, q, qd)")
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
                "simulate, until: expected a number other than NaN, or True or False, at every state, got "
                f"{shorten(value)} at t = {t:.9g} s."
            )
        return number

    return checked
