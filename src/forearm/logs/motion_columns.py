"""Which columns of a table are a motion: its times, and whole quantities of all joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forearm.errors import InputError
from forearm.logs.columns import check_header, listed, recognised
from forearm.logs.spelling import WORDS, time_column


@dataclass(frozen=True)
class MotionColumns:
    """Where a motion stands in the rows of a table.

    Attributes:
        time: the column of times; None: there is none.
        time_unit: how many of its units are one second, as its name says.
        names: the columns of each quantity, joint by joint.
        places: where they stand: times, where there are any, then quantity after quantity.
        ignored: quantities and columns that are not read.
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
    file, and `given` says of columns by other names what they are.
    """
    check_header(header, where)
    found = recognised(header, joints, tuple(WORDS), used, where, given)
    here = [x for x in used if any(quantity == x for quantity, _ in found)]
    if not here:
        example = ", ".join(f"{x}1.." for x in used)
        raise InputError(
            f"{where}: no column is one of {example}; it has {listed(header)}. Other names can be "
            f"told: --columns THEIRS={used[0]}."
        )
    for x in here:
        missing = [f"{x}{i + 1}" for i in range(len(joints)) if (x, i) not in found]
        if missing:
            raise InputError(
                f"{where}: {x} is there for some joints only; missing: {listed(missing)}. "
                f"Give {x} for every joint, or for none."
            )
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
