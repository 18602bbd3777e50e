"""Selection of a log's quantities: positions, one kind of effort, derivatives if logged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from forearm.errors import InputError
from forearm.identification.samples import EffortKind
from forearm.logs.columns import listed
from forearm.values import check_choice

READ = ("measured_q", "q", "qd", "qdd", "tau", "current", "voltage")
EFFORTS = ("tau", "current", "voltage")
DERIVATIVES = ("logged", "position")
SIMULATED = "energy_supplied"  # only tables of simulations have it; their tau is the torque of the motors


@dataclass(frozen=True)
class ChosenQuantities:
    """Quantities read from a log: positions, effort, and the order of columns in a row."""

    position: str
    effort: EffortKind
    all: tuple[str, ...]


def chosen_quantities(
    there: Sequence[str], ignored: Sequence[str], name: str, effort: str | None, derivatives: str | None
) -> ChosenQuantities:
    """Select from the quantities present; `ignored` columns are for messages."""
    if derivatives is not None:
        check_choice(derivatives, DERIVATIVES, f"{name}, derivatives")
    kind = _effort(there, ignored, name, effort)
    beside = ("current",) if kind == "voltage" and "current" in there else ()
    has_all = {"q", "qd", "qdd"} <= set(there)
    if derivatives == "logged" and not has_all:
        missing = [x for x in ("q", "qd", "qdd") if x not in there]
        raise InputError(f"'logged' needs q, qd and qdd; missing: {listed(missing)}.", name, "derivatives")
    # logged derivatives belong to q, not to the noisy sensor's measurement
    position = "measured_q" if "measured_q" in there and derivatives != "logged" else "q"
    if position not in there:
        raise InputError(
            f"no joint positions q; the log has {listed([*there, *ignored])}. Map the "
            "columns: columns={'theirs': 'q'} (--columns theirs=q).",
            name,
        )
    motion = tuple(x for x in ("qd", "qdd") if x in there and position == "q")
    return ChosenQuantities(position, kind, (position, kind, *beside, *motion))


def _effort(there: Sequence[str], ignored: Sequence[str], name: str, wanted: str | None) -> EffortKind:
    found = [x for x in EFFORTS if x in there]
    if wanted is not None:
        check_choice(wanted, EFFORTS, f"{name}, effort")
        if wanted not in found:
            raise InputError(f"no {wanted}; the log has {listed([*there, *ignored])}.", name, "effort")
        return cast(EffortKind, wanted)
    if not found:
        raise InputError(
            "no joint effort (tau, current or voltage); the log has "
            f"{listed([*there, *ignored])}. Map the columns: columns={{'theirs': 'tau'}} "
            "(--columns theirs=tau).",
            name,
        )
    if found == ["tau"] or ("tau" in found and SIMULATED in ignored):
        return "tau"
    if "tau" in found:
        raise InputError(
            f"found {' and '.join(found)}; choose which to fit: effort={' or '.join(map(repr, found))}.", name
        )
    return "voltage" if "voltage" in found else "current"
