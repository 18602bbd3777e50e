"""Columns of a table that form a motion: its times, and quantities of all joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forearm.logs.columns import Question, present
from forearm.logs.spelling import WORDS, time_column


@dataclass(frozen=True)
class MotionColumns:
    """Columns of a motion in a table.

    Attributes:
        time: the time column; None: absent.
        time_unit: its units per second, by its name.
        names: the columns of each quantity, joint by joint.
        places: their indices: times, if any, then quantity by quantity.
        ignored: quantities and columns that are ignored.
    """

    time: str | None
    time_unit: float
    names: Mapping[str, tuple[str, ...]]
    places: tuple[int, ...]
    ignored: tuple[str, ...]


def motion_columns(
    header: Sequence[str],
    joints: Sequence[str],
    used: Sequence[str],
    where: str,
    given: Mapping[str, str] | None = None,
) -> MotionColumns:
    """The columns of a header that are one of the quantities `used`, each for every joint; `where` is the
    file, and `given` maps other column names.
    """
    found, here = present(header, Question(tuple(joints), tuple(used), ""), tuple(WORDS), where, given)
    times = time_column(header, given)
    columns = {x: tuple(found[x, i] for i in range(len(joints))) for x in here}
    places = [*([times[0]] if times else []), *(c.place for group in columns.values() for c in group)]
    known = {column.name: x for (x, _), column in found.items()}
    ignored = [known.get(name, name) for k, name in enumerate(header) if k not in set(places)]
    return MotionColumns(
        header[times[0]] if times else None,
        times[1] if times else 1.0,
        {x: tuple(column.name for column in group) for x, group in columns.items()},
        tuple(places),
        tuple(dict.fromkeys(ignored)),
    )
