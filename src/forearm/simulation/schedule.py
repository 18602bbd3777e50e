"""Voltages or torques over time: a table from a file or from arrays, held or linearly interpolated."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm, check_arm
from forearm.errors import IgnoredWarning, InputError, located, shorten, suggest
from forearm.logs.block import TextRows
from forearm.logs.columns import Columns, Question, listed, recognised
from forearm.logs.motion import MotionLog
from forearm.logs.spelling import time_column
from forearm.logs.stream import Log, reading
from forearm.logs.table import write_table
from forearm.records import set_field
from forearm.values import as_floats, check_choice, check_name, check_number, frozen_array, number_in

Array: TypeAlias = NDArray[np.float64]
How = Literal["hold", "linear"]
Quantity = Literal["voltage", "torque"]

MAX_NUMBERS = 50_000_000  # in a file or a sampled table: 400 MB
TIMES = ("t", "time")
# Column spellings by joint number; u stands for either quantity.
LETTERS: Mapping[str, Quantity | None] = {
    "voltage": "voltage",
    "v": "voltage",
    "torque": "torque",
    "tau": "torque",
    "u": None,
}
# quantities of a log that can be an input
TABLE: Mapping[str, Quantity] = {"tau": "torque", "voltage": "voltage"}
UNSAFE = ',;\t"'  # characters with a meaning in a header
# of a period: a time this little after a sample counts as reached, since 3 * 0.1 exceeds 0.3
REACHED = 1e-6


@dataclass(frozen=True, eq=False)
class Schedule:
    """Values over time, each held until the next or linearly interpolated. The last value holds after the
    last time; before the first time the schedule is undefined.

    Args:
        times: times (K,), increasing, s.
        values: values (K, n) from these times on, N m (N) or V.
        how: "hold" or "linear".
        joints: names of the n joints; empty: unknown.
        quantity: "voltage" or "torque"; None: unknown.
    """

    times: Array
    values: Array
    how: How = "hold"
    joints: tuple[str, ...] = ()
    quantity: Quantity | None = None

    def __post_init__(self) -> None:
        check_choice(self.how, get_args(How), "schedule, how")
        if self.quantity is not None:
            check_choice(self.quantity, get_args(Quantity), "schedule, quantity")
        times, values = (as_floats(getattr(self, key), f"schedule, {key}") for key in ("times", "values"))
        if times.ndim != 1 or not times.size or values.ndim != 2 or len(values) != len(times):
            raise InputError(
                f"expected at least one time, (K,), and values (K, n), got {times.shape} and {values.shape}.",
                "schedule",
            )
        late = np.flatnonzero(np.diff(times) <= 0.0)
        if late.size:
            before, after = times[late[0] : late[0] + 2].tolist()
            raise InputError(
                f"expected increasing times, got {after!r} s (number {late[0] + 2}) after {before!r} s.",
                "schedule",
                "times",
            )
        for name in self.joints:
            check_name(name, "joint")
        if self.joints and len(self.joints) != values.shape[1]:
            raise InputError(
                f"{values.shape[1]} columns of values, but {len(self.joints)} names of joints.", "schedule"
            )
        set_field(self, "times", frozen_array(times, times.shape, "schedule, times"))
        set_field(self, "values", frozen_array(values, values.shape, "schedule, values"))
        set_field(self, "joints", tuple(self.joints))

    @classmethod
    def constant(cls, values: ArrayLike, start: float = 0.0) -> Schedule:
        """Constant values from a time on.

        Args:
            values: values (n,).
            start: the time, s.
        """
        row = as_floats(values, "schedule, values")
        if row.ndim != 1:
            raise InputError(
                f"expected one value per joint, (n,), got shape {row.shape}.", "schedule", "values"
            )
        return cls(times=np.array([start]), values=row[None])

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        arm: Arm,
        how: How = "hold",
        quantity: Quantity | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> Schedule:
        """Read a schedule from a CSV or Parquet file with a column of times and one per joint, in any order.

        The times are `t` or `time`; the column of a joint is its name, or voltage, v, torque, tau or u
        followed by its number from 1. Every joint needs its column. From the table of a motion, such as a
        plan or a log, one quantity is read; a warning lists the ignored columns.

        Args:
            path: the file.
            arm: the arm whose joints it is for.
            how: "hold" or "linear".
            quantity: "torque" or "voltage", if the file has both (default: the one it has).
            columns: names of the file's columns mapped to ours, such as {"load": "tau"}.
        """
        check_arm(arm, "schedule, arm")
        check_choice(how, get_args(How), "schedule, how")
        names = tuple(joint.name for joint in arm.joints)
        with reading(os.fspath(path)) as log:
            time, places, quantity = _places_in(log.header, names, log.name, quantity, columns)
            blocks = list(_rows(log, (time, *places)))
        rows = np.concatenate(blocks) if blocks else np.empty((0, 1 + arm.n))
        if not len(rows):
            raise InputError(
                "no row of numbers after the header; at least one time with its values is needed.", log.name
            )
        with located(log.name):
            return cls(times=rows[:, 0], values=rows[:, 1:], how=how, joints=names, quantity=quantity)

    @classmethod
    def of_log(cls, log: MotionLog, quantity: Quantity) -> Schedule:
        """The torques or voltages of a motion, linearly interpolated.

        Args:
            log: the motion.
            quantity: "torque" or "voltage".
        """
        values = log.tau if quantity == "torque" else log.voltage
        if values is None:
            raise InputError(
                f"no {quantity} of the joints; it has {', '.join(log.blocks) or 'nothing'}.", log.name
            )
        return cls(times=log.t, values=values, how="linear", joints=log.joints, quantity=quantity)

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.values.shape[1])

    def check_for(self, arm: Arm, quantity: Quantity) -> None:
        """Refuse to drive an arm with other joints, or with the wrong quantity (torques in place of voltages
        or vice versa).

        Args:
            arm: the arm to drive.
            quantity: the required input, "voltage" or "torque".
        """
        names = tuple(joint.name for joint in arm.joints)
        if self.n != arm.n or (self.joints and self.joints != names):
            found = ", ".join(self.joints[:12]) or f"{self.n} without names"
            raise InputError(
                f"{arm.name!r} has {arm.n} joints ({', '.join(names[:12])}), the schedule is "
                f"for {found}. Read it for this arm.",
                "schedule",
            )
        if self.quantity not in (None, quantity):
            raise InputError(
                f"expected a {quantity} in its columns, got a {self.quantity} in each; rename "
                "or convert them.",
                "schedule",
            )

    def value(self, t: float) -> Array:
        """The values (n,) at one time."""
        if not (isinstance(t, int | float) and self.times[0] <= t < np.inf):
            return np.asarray(self.values_at([t])[0])  # which says what is wrong
        before = int(self.times.searchsorted(t, side="right")) - 1
        low, after = self.values[before], before + 1
        if self.how == "hold" or after == len(self.times):
            return np.array(low)
        # as `values_at`, without its arrays
        part = (t - self.times[before]) / (self.times[after] - self.times[before])
        return np.asarray(low + part * (self.values[after] - low))

    def values_at(self, ts: ArrayLike) -> Array:
        """The values (m, n) at times (m,), in any order."""
        at = as_floats(ts, "schedule, times asked for")
        outside = ~(at >= self.times[0]) | np.isinf(at)
        if outside.any():
            raise InputError(
                f"it begins at {float(self.times[0])!r} s, so it has no value at "
                f"{float(at[outside][0])!r} s. Give it a row for the time at which the "
                "simulation starts.",
                "schedule",
            )
        before = np.searchsorted(self.times, at, side="right") - 1
        low = self.values[before]
        if self.how == "hold" or len(self.times) == 1:
            return np.ascontiguousarray(low)
        # after the last time both are the last, and its value holds
        after = np.minimum(before + 1, len(self.times) - 1)
        span = np.where(after > before, self.times[after] - self.times[before], np.inf)
        return low + ((at - self.times[before]) / span)[:, None] * (self.values[after] - low)

    def held_at(self, ts: NDArray[np.floating], period: float) -> Array:
        """Values (m, n) that a converter samples at these times.

        Args:
            ts: times (m,), s; a time of the table that lies after one of them by rounding alone counts as
                reached.
            period: period of the converter, s.
        """
        next_ = self.times[np.minimum(np.searchsorted(self.times, ts, side="right"), len(self.times) - 1)]
        is_reached = (next_ > ts) & (next_ - ts <= REACHED * period)
        return self.values_at(np.where(is_reached, next_, ts))

    def sampled(self, period: float, duration: float, start: float = 0.0) -> Array:
        """Output of a converter (K, n): the value at the start of each period within the duration.

        Args:
            period: period of the converter, s.
            duration: sampled time, s.
            start: time of the first sample, s.
        """
        period = check_number(period, "schedule, period", above=0.0)
        duration = check_number(duration, "schedule, duration", minimum=0.0)
        start = check_number(start, "schedule, start")
        periods = duration / period
        if periods * max(self.n, 1) > MAX_NUMBERS:
            raise InputError(
                f"{duration:g} s in periods of {period:g} s are {periods:.4g} samples of "
                f"{self.n} joints; at most {MAX_NUMBERS} numbers are supported. Use a longer "
                "period, or sample in parts.",
                "schedule",
            )
        return self.held_at(start + period * np.arange(max(math.ceil(periods - REACHED), 0)), period)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `read` accepts, .csv or .parquet, atomically; the numbers round-trip bit for
        bit.
        """
        names = self._columns()
        write_table(path, {"t": self.times} | {name: self.values[:, i] for i, name in enumerate(names)})

    def _columns(self) -> list[str]:
        """The joints' names if they read back unambiguously, otherwise a letter and their numbers."""
        joints = self.joints or ("",) * self.n
        meanings = _meanings(joints)
        by_number = [
            [f"{letter}{i + 1}" for i in range(self.n)] for letter, q in LETTERS.items() if q == self.quantity
        ]
        is_plain = (
            self.joints
            and not self.quantity
            and not any(set(n) & set(UNSAFE) or number_in(n) is not None for n in joints)
        )
        for names in ([list(joints)] if is_plain else []) + by_number:
            if all({joint for joint, _ in meanings.get(name, ())} == {i} for i, name in enumerate(names)):
                return names
        raise InputError(
            f"joints called {shorten(joints)} cannot be told apart in a file by name or by "
            "number; rename them.",
            "schedule",
        )

    def __repr__(self) -> str:
        first, last = self.times[0], self.times[-1]
        span = f"{first:g} to {last:g} s" if len(self.times) > 1 else f"from {first:g} s on"
        return (
            f"<Schedule of {self.quantity or 'values'} for {self.n} joints: {len(self.times)} "
            f"rows, {span}, {self.how}>"
        )


def _meanings(joints: Sequence[str]) -> dict[str, set[tuple[int, Quantity | None]]]:
    """Possible meanings of each column name: (joint, quantity), and (-1, None) for the time, which takes
    precedence over a joint's name.
    """
    meanings: dict[str, set[tuple[int, Quantity | None]]] = {name: {(-1, None)} for name in TIMES}
    for i, name in enumerate(joints):
        if name == name.strip() and name not in TIMES:  # names in a header are stripped
            meanings.setdefault(name, set()).add((i, None))
        for letter, quantity in LETTERS.items():
            meanings.setdefault(f"{letter}{i + 1}", set()).add((i, quantity))
    return meanings


def _places_in(
    header: Sequence[str],
    joints: Sequence[str],
    where: str,
    quantity: Quantity | None,
    columns: Mapping[str, str] | None,
) -> tuple[int, list[int], Quantity | None]:
    """Columns of the time and of each joint, in a schedule or for one quantity of a motion."""
    try:
        return _places(header, joints, where)
    except InputError:
        found = recognised(header, Question(tuple(joints), (), ""), tuple(TABLE), where, columns)
        whole = [x for x in TABLE if all((x, i) in found for i in range(len(joints)))]
        asked = [x for x in whole if quantity in (None, TABLE[x])]
        time = time_column(header, columns)
        if not asked or time is None or time[1] != 1.0:
            raise
    if len(asked) > 1:
        raise InputError(
            "the file has torques and voltages; choose which of them drive the arm: quantity "
            "'torque' or 'voltage' (--torque-file or --voltage-file).",
            where,
        )
    places = [found[asked[0], i].place for i in range(len(joints))]
    ignored = [name for k, name in enumerate(header) if k not in {time[0], *places}]
    warnings.warn(f"{where}: not read: {listed(ignored)}.", IgnoredWarning, stacklevel=3)
    return time[0], places, TABLE[asked[0]]


def _places(
    header: Sequence[str], joints: Sequence[str], where: str
) -> tuple[int, list[int], Quantity | None]:
    """Columns of the time and of each joint, and the quantity that the column names state."""
    meanings = _meanings(joints)
    found: dict[int, int] = {}
    quantities: dict[Quantity, str] = {}
    for place, name in enumerate(header):
        meant: dict[int, Quantity | None] = {}
        for joint, quantity in meanings.get(name, ()):
            # a joint's own name states no quantity
            meant[joint] = None if (joint, None) in meanings[name] else quantity
        if not meant:
            known = suggest(name, dict.fromkeys([*joints, *meanings]))
            raise InputError(f"no such joint; {known} {_allowed(joints)}", where, f"column {shorten(name)}")
        if len(meant) > 1:
            raise InputError(
                "ambiguous: it may mean one joint by name and another by number. Name all "
                f"columns by number, such as {_spelled('u', joints)}, or rename the joint.",
                where,
                f"column {shorten(name)}",
            )
        joint, quantity = meant.popitem()
        if joint in found:
            raise InputError(f"{header[found[joint]]!r} and {name!r} are the same column; remove one.", where)
        found[joint] = place
        if quantity:
            quantities[quantity] = name
    if len(quantities) > 1:
        raise InputError(
            f"{' and '.join(map(repr, quantities.values()))}: a schedule holds voltages or "
            "torques, not both.",
            where,
        )
    missing = [name for i, name in enumerate(joints) if i not in found]
    if -1 not in found:
        raise InputError(f"no time column; name it t, in s. {_allowed(joints)}", where)
    if missing:
        more = f" and {len(missing) - 12} more" if len(missing) > 12 else ""
        raise InputError(
            f"every joint needs a column; missing: {', '.join(map(shorten, missing[:12]))}"
            f"{more}. A joint without drive has zeros. {_allowed(joints)}",
            where,
        )
    return found[-1], [found[i] for i in range(len(joints))], next(iter(quantities), None)


def _rows(log: Log, places: tuple[int, ...]) -> Iterator[Array]:
    """Blocks of rows (B, 1 + n), time first; checks that times increase."""
    columns = Columns({"row": places}, (), ("",) * len(places))
    last, count = -math.inf, 0
    for block in log.blocks(columns, whole=False):
        rows = block.states["row"]
        late = np.flatnonzero(np.diff(rows[:, 0], prepend=last) <= 0.0)
        if late.size:
            k = int(late[0])
            before = last if k == 0 else float(rows[k - 1, 0])
            is_text = isinstance(block.came, TextRows)
            raise InputError(
                f"times must increase, got {float(rows[k, 0])!r} after {before!r}. Sort the "
                "rows and remove duplicates.",
                log.name,
                f"line {block.came.first + k}" if is_text else f"row {count + k + 1}",
                f"column {log.header[places[0]]!r}",
            )
        last = float(rows[-1, 0])
        count += len(rows)
        if count * len(places) > MAX_NUMBERS:
            raise InputError(
                f"more than the {MAX_NUMBERS} numbers allowed in a schedule; split the file.", log.name
            )
        yield rows


def _allowed(joints: Sequence[str]) -> str:
    return (
        f"Columns are t and, in any order, the joints' names or {_spelled('voltage', joints)} or "
        f"{_spelled('torque', joints)}."
    )


def _spelled(letter: str, joints: Sequence[str]) -> str:
    return f"{letter}1" if len(joints) == 1 else f"{letter}1..{letter}{len(joints)}"
