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


def _reset(q: Floats) -> Floats:
    """An encoder that loses half a radian in the middle."""
    return np.where(np.arange(len(q)) > len(q) // 2, q + 0.5, q)


def _spikes(q: Floats) -> Floats:
    made = q.copy()
    made[100::700] += 0.3
    return made


def _swapped(log: Log, key: str, a: int, b: int) -> Log:
    order = list(range(log[key].shape[1]))
    order[a], order[b] = b, a
    return {**log, key: log[key][:, order]}


def _times(log: Log, change: Callable[[Floats], Floats]) -> Log:
    return {**log, "t": change(log["t"].copy())}


def _repeated(t: Floats) -> Floats:
    t[500:503] = t[499]
    return t


def _unsorted(t: Floats) -> Floats:
    t[500:510] = t[500:510][::-1]
    return t


def _restarted(t: Floats) -> Floats:
    """A clock that begins anew in the middle."""
    half = len(t) // 2
    t[half:] -= t[half]
    return t


def _ratio(arm: Arm, k: int) -> float:
    motor = arm.joints[k].motor
    return motor.gear_ratio if motor is not None else 1.0


def _motor_turns(log: Log, arm: Arm) -> Log:
    N = np.array([_ratio(arm, k) for k in range(arm.n)])
    return {**log, "q": log["q"] * N / (2.0 * np.pi)}


def _stuck(x: Floats) -> Floats:
    return np.full_like(x, x[0])


def _clipped(x: Floats) -> Floats:
    most = 0.6 * float(np.abs(x).max())
    return np.clip(x, -most, most)


# Columns are counted from 1: joint 1 is the second one, tau2.
BAD_LOGS = (
    BadLog(
        "an effort that is missing for a while",
        lambda log, arm: _with(log, "tau", slice(300, 340), 1, np.nan),
        "Values are missing in {tau2} (40): these samples are not used for the joint.",
    ),
    BadLog(
        "a position that is missing",
        lambda log, arm: _with(log, "q", slice(300, 303), 0, np.nan),
        "3 rows dropped for missing values: {q1} (3).",
    ),
    BadLog(
        "an effort without a number",
        lambda log, arm: _with(log, "tau", slice(None), 1, np.nan),
        "{tau2} has no number",
    ),
    BadLog(
        "an infinite effort",
        lambda log, arm: _with(log, "tau", 77, 1, np.inf),
        "Values are missing in {tau2} (1)",
    ),
    BadLog(
        "an encoder that was set to a new zero",
        lambda log, arm: _changed(log, "q", 1, _reset),
        "{q2} jumps 1 time",
        "the log is split there. Was the sensor re-zeroed?",
    ),
    BadLog(
        "single wrong positions",
        lambda log, arm: _changed(log, "q", 1, _spikes),
        "{q2}: 2 rows left out, where it jumps away and back",
    ),
    BadLog("repeated times", lambda log, arm: _times(log, _repeated), "{t}: 3 rows dropped"),
    BadLog(
        "unsorted times", lambda log, arm: _times(log, _unsorted), "{t}: 9 rows came late", "sorted by time"
    ),
    BadLog(
        "a clock that begins anew",
        lambda log, arm: _times(log, _restarted),
        "{t}: the clock goes back 1 time",
    ),
    BadLog(
        "times in milliseconds",
        lambda log, arm: _times(log, lambda t: 1e3 * t),
        "column {t}: rows are",
        "Are times in ms?",
        is_refused=True,
    ),
    BadLog(
        "degrees",
        lambda log, arm: {**log, "q": np.degrees(log["q"])},
        "column {q1}: reaches",
        "Are these degrees? Set units to deg",
        is_refused=True,
    ),
    BadLog(
        "degrees of one joint",
        lambda log, arm: _changed(log, "q", 1, np.degrees),
        "column {q2}: reaches",
        "Are these degrees?",
        is_refused=True,
    ),
    BadLog(
        "motor turns", _motor_turns, "column {q1}: reaches", "motor turns, with gear ratio", is_refused=True
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
    BadLog("clipped efforts", lambda log, arm: _changed(log, "tau", 1, _clipped), "{tau2} is clipped at"),
    BadLog(
        "an effort that never changes",
        lambda log, arm: _changed(log, "tau", 1, _stuck),
        "{tau2}",
        "in every row; is the sensor off?",
    ),
    BadLog(
        "a position that never changes",
        lambda log, arm: _changed(log, "q", 1, _stuck),
        "{q2}",
        "in every row, while others move",
    ),
    BadLog(
        "thousandths",
        lambda log, arm: {**log, "tau": 1e3 * log["tau"]},
        "beyond the largest efforts of the joints; {tau1} reaches",
        "Are they in mN m? Check the unit.",
    ),
)
