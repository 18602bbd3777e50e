"""Ranges of a function's inputs: joint limits and max_speed for q and qd, the caller's values for the
others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.codegen.program import Argument
from forearm.control.fixed_point_ranges import Range
from forearm.errors import InputError, shorten
from forearm.values import check_choice, check_number

POSITIONS = ("q", "q_wanted")
RATES = ("qd", "qd_wanted")
LARGEST = 1e6  # above any angle, speed or sum of errors of an arm


def input_ranges(arm: Arm, inputs: Sequence[Argument], given: Mapping[str, Any]) -> dict[str, Range]:
    """(lower, upper) of every entry by its name, such as "q[2]"; InputError names inputs without ranges."""
    if not isinstance(given, Mapping):
        raise InputError(
            f"expected a mapping such as {{'qd': 2.0}}, got {shorten(given)}.", "fixed_point", "ranges"
        )
    names = [a.name for a in inputs]
    for name in given:
        check_choice(name, names, "fixed_point, ranges")
    made: dict[str, Range] = {}
    for argument in inputs:
        for i, entry in enumerate(_entries(arm, argument, given)):
            made[f"{argument.name}[{i}]"] = entry
    return made


def _entries(arm: Arm, argument: Argument, given: Mapping[str, Any]) -> list[Range]:
    name, size = argument.name, argument.size
    if name not in given:
        if name in RATES and all(j.max_speed is not None for j in arm.joints):
            return [(-speed, speed) for j in arm.joints if (speed := j.max_speed) is not None]
        if name not in POSITIONS:
            raise InputError(
                f"the range of {name} is unknown; pass it in ranges, such as ranges={{'{name}"
                "': 2.0} or a pair (lower, upper) for each joint.",
                "fixed_point",
            )
        open_ = [
            j.name
            for j in arm.joints
            if not (math.isfinite(j.limits.lower) and math.isfinite(j.limits.upper))
        ]
        if open_:
            raise InputError(
                f"{', '.join(open_)} of {arm.name!r} {'has' if len(open_) == 1 else 'have'} "
                f"no limits; set them in the arm file, or pass ranges={{'{name}': 3.2}}, in rad "
                "or m.",
                "fixed_point",
            )
        return [(j.limits.lower, j.limits.upper) for j in arm.joints]
    value = given[name]
    if isinstance(value, int | float | np.floating | np.integer):
        return [_range(value, f"fixed_point, ranges, {name}")] * size
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str) or len(value) != size:
        raise InputError(
            f"expected a number, or for each of the {size} entries a number or a pair (lower, "
            f"upper), got {shorten(value)}.",
            "fixed_point",
            "ranges",
            name,
        )
    return [_range(v, f"fixed_point, ranges, {name}[{i}]") for i, v in enumerate(value)]


def _range(value: Any, where: str) -> Range:
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) and len(value) == 2:
        low, high = (check_number(v, where, minimum=-LARGEST, maximum=LARGEST) for v in value)
        if low > high:
            raise InputError(f"the lower end {low:g} lies above the upper end {high:g}.", where)
        return low, high
    bound = check_number(value, where, minimum=0.0, maximum=LARGEST)
    return -bound, bound
