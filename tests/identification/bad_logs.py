"""Logs with one thing wrong, and what a reader of messages should find in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm import Arm

Floats = NDArray[np.float64]
Log = dict[str, Floats]


class BadLog:
    """What is wrong with a log, and what a message on it has to say; {q1}, {t} are names of columns."""

    def __init__(
        self,
        name: str,
        change: Callable[[Log, Arm], Log],
        *words: str,
        is_refused: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.name, self.change, self.words = name, change, words
        self.is_refused, self.options = is_refused, dict(options or {})

    def expected(self, names: Mapping[str, str]) -> list[str]:
        """The words, with columns by their names."""
        return [text.format(**{key: repr(name) for key, name in names.items()}) for text in self.words]


def _changed(log: Log, key: str, joint: int, change: Callable[[Floats], Floats]) -> Log:
    values = log[key].copy()
    values[:, joint] = change(values[:, joint])
    return {**log, key: values}


def _with(log: Log, key: str, rows: Any, joint: int, value: float) -> Log:
    values = log[key].copy()
    values[rows, joint] = value
    return {**log, key: values}


def _swapped(log: Log, key: str, a: int, b: int) -> Log:
    order = list(range(log[key].shape[1]))
    order[a], order[b] = b, a
    return {**log, key: log[key][:, order]}


def _ratio(arm: Arm, k: int) -> float:
    motor = arm.joints[k].motor
    return motor.gear_ratio if motor is not None else 1.0


# Columns are counted from 1: joint 1 is the second one, tau2.
BAD_LOGS = (
    BadLog(
        "a position that is missing",
        lambda log, arm: _with(log, "q", slice(300, 303), 0, np.nan),
        "3 rows dropped for missing values: {q1} (3).",
    ),
    BadLog(
        "degrees of one joint",
        lambda log, arm: _changed(log, "q", 1, np.degrees),
        "column {q2}: reaches",
        "Are these degrees?",
        is_refused=True,
    ),
    BadLog(
        "the motor's angle of one joint",
        lambda log, arm: _changed(log, "q", 1, lambda q: q * _ratio(arm, 1)),
        "column {q2}: reaches",
        "rad of the motor, with gear ratio",
        is_refused=True,
    ),
    BadLog(
        "exchanged efforts",
        lambda log, arm: _swapped(log, "tau", 0, 1),
        "columns {tau1} and {tau2} are swapped.",
        is_refused=True,
    ),
    BadLog(
        "exchanged positions",
        lambda log, arm: _swapped(log, "q", 0, 1),
        "columns {q1} and {q2} are swapped.",
        is_refused=True,
    ),
    BadLog(
        "wrong sign of an effort",
        lambda log, arm: _changed(log, "tau", 1, np.negative),
        "column {tau2} has the wrong sign",
        is_refused=True,
    ),
    BadLog(
        "wrong sign of a position",
        lambda log, arm: _changed(log, "q", 1, np.negative),
        "column {q2} has the wrong sign",
        is_refused=True,
    ),
    BadLog(
        "a joint that turns the other way",
        lambda log, arm: _changed(_changed(log, "q", 1, np.negative), "tau", 1, np.negative),
        "columns {q2} and {tau2} both have the wrong sign: the joint turns opposite to the arm file",
        is_refused=True,
    ),
    BadLog(
        "another zero",
        lambda log, arm: _changed(log, "q", 1, lambda q: q - 0.5 * np.pi),
        "column {q2} has a different zero from the arm file: add 90 deg.",
        is_refused=True,
        options={"units": "rad"},
    ),
    BadLog(
        "torque of the motor, not times the ratio",
        lambda log, arm: _changed(log, "tau", 1, lambda x: x / _ratio(arm, 1)),
        "column {tau2} is motor torque; multiply it by the gear ratio",
        is_refused=True,
    ),
)
