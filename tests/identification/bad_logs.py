"""Logs with one thing wrong, and what a reader of messages should find in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm import Arm

Floats = NDArray[np.float64]
Log = dict[str, Floats]


@dataclass(frozen=True)
class BadLog:
    """What is wrong with a log, and words, lower case, that a message on it has to have; of a tuple any."""

    name: str
    change: Callable[[Log, Arm], Log]
    words: tuple[str | tuple[str, ...], ...]
    options: Mapping[str, Any] = field(default_factory=dict)


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
        "NaN in an effort",
        lambda log, arm: _with(log, "tau", slice(300, 340), 1, np.nan),
        ("tau2", ("nan", "not a number", "missing")),
    ),
    BadLog(
        "NaN in a position",
        lambda log, arm: _with(log, "q", slice(300, 303), 0, np.nan),
        ("q1", ("nan", "not a number", "missing")),
    ),
    BadLog(
        "an effort that is all NaN", lambda log, arm: _with(log, "tau", slice(None), 1, np.nan), ("tau2",)
    ),
    BadLog("infinite effort", lambda log, arm: _with(log, "tau", 77, 1, np.inf), ("tau2",)),
    BadLog("a jump of a position", lambda log, arm: _changed(log, "q", 1, _reset), ("q2", "jump")),
    BadLog(
        "single wrong positions",
        lambda log, arm: _changed(log, "q", 1, _spikes),
        ("q2", ("jump", "outlier", "spike")),
    ),
    BadLog(
        "repeated times",
        lambda log, arm: _times(log, _repeated),
        (("t ", "time"), ("repeat", "twice", "same")),
    ),
    BadLog(
        "unsorted times",
        lambda log, arm: _times(log, _unsorted),
        (("t ", "time"), ("sort", "back", "order", "rise", "increas")),
    ),
    BadLog(
        "times that begin anew",
        lambda log, arm: _times(log, _restarted),
        (("t ", "time"), ("sort", "back", "order", "rise", "increas", "restart")),
    ),
    BadLog(
        "times in milliseconds",
        lambda log, arm: _times(log, lambda t: 1e3 * t),
        (("t ", "time"), ("ms", "millisecond")),
    ),
    BadLog("degrees", lambda log, arm: {**log, "q": np.degrees(log["q"])}, ("q", "deg")),
    BadLog("degrees of one joint", lambda log, arm: _changed(log, "q", 1, np.degrees), ("q2", "deg")),
    BadLog("motor turns", _motor_turns, ("q", ("turn", "motor"))),
    BadLog(
        "motor angle of one joint",
        lambda log, arm: _changed(log, "q", 1, lambda q: q * _ratio(arm, 1)),
        ("q2", ("gear", "motor")),
    ),
    BadLog(
        "swapped efforts", lambda log, arm: _swapped(log, "tau", 0, 1), ("tau1", "tau2", ("swap", "exchang"))
    ),
    BadLog("swapped positions", lambda log, arm: _swapped(log, "q", 0, 1), ("q1", "q2", ("swap", "exchang"))),
    BadLog(
        "wrong sign of an effort", lambda log, arm: _changed(log, "tau", 1, np.negative), ("tau2", "sign")
    ),
    BadLog("wrong sign of a position", lambda log, arm: _changed(log, "q", 1, np.negative), ("q2", "sign")),
    BadLog("clipped efforts", lambda log, arm: _changed(log, "tau", 1, _clipped), ("tau2", "clip")),
    BadLog(
        "an effort that never changes",
        lambda log, arm: _changed(log, "tau", 1, _stuck),
        ("tau2", ("constant", "never changes", "same")),
    ),
    BadLog(
        "a position that never changes",
        lambda log, arm: _changed(log, "q", 1, _stuck),
        ("q2", ("constant", "never", "stand", "same", "not move")),
    ),
    BadLog(
        "millinewton metres",
        lambda log, arm: {**log, "tau": 1e3 * log["tau"]},
        ("tau", ("unit", "1000", "gain", "factor")),
    ),
    BadLog(
        "motor torque, not times the ratio",
        lambda log, arm: _changed(log, "tau", 1, lambda x: x / _ratio(arm, 1)),
        ("tau2", ("gear", "ratio")),
    ),
)
