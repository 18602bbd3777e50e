"""What the data cannot determine, in terms of links and joints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forearm.identification.drive_law import OFFSET, ROTOR
from forearm.identification.effort_model import EffortModel
from forearm.identification.least_squares import FitSolution
from forearm.identification.parameter_set import ParameterSet
from forearm.reduction.base import BaseParameters
from forearm.tables import number

SHOWN = 1e-9  # of the largest factor: smaller ones are rounding errors
MOST_NAMED = 6  # largest number of partners listed per parameter
POOR = 0.3  # of a value: a larger standard deviation makes a value poor


def unidentifiable(
    model: EffortModel, solution: FitSolution, values: ParameterSet, std: ParameterSet
) -> tuple[str, ...]:
    """Sentences on what no log could determine, what these logs cannot, and what they determine poorly."""
    poor: dict[str, list[str]] = {}
    for name, value in values.items():
        if np.isfinite(std[name]) and std[name] > POOR * abs(value):
            owner, _, rest = name.partition(".")
            poor.setdefault(owner, []).append(rest)
    said = [
        f"{owner}: {_listed(rest)} {_are(rest)} poorly determined, with standard deviations above "
        f"{POOR:.0%} of the value."
        for owner, rest in poor.items()
    ]
    return (*_of_no_log(model.base), *_of_side(model), *_of_these(solution), *said)


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _of_no_log(base: BaseParameters) -> list[str]:
    """Parameters that no torque shows, and those observable only in combinations, link by link."""
    unseen: dict[str, list[str]] = {}
    within: dict[str, list[str]] = {}
    partners: dict[str, list[str]] = {}
    for k, name in enumerate(base.standard_names):
        if name in base.names:
            continue
        link, _, parameter = name.rpartition(".")
        rows = np.flatnonzero(np.abs(base.matrix[:, k]) > SHOWN)
        (within if rows.size else unseen).setdefault(link, []).append(parameter)
        known = partners.setdefault(link, [])
        known += [base.names[j] for j in rows if base.names[j] not in known]
    made = [f"{link}: no joint effort depends on {_listed(names)}." for link, names in unseen.items()]
    return made + [
        f"{link}: {_listed(names)} {_are(names)} observable only in combinations with "
        f"{_listed(partners[link])}."
        for link, names in within.items()
    ]


def _of_side(model: EffortModel) -> list[str]:
    if model.torque_side == "motor":
        return []
    names = [j.name for j in model.arm.joints if j.motor is not None]
    made = [f"Rotors of {_listed(names)}: torque behind the gears does not depend on them."] if names else []
    hidden = [j.name for j in model.arm.joints if j.friction is not None and j.friction.side == "motor"]
    if hidden:
        made.append(
            f"Friction of the motors of {_listed(hidden)}: torque behind the gears does not depend on it."
        )
    return made


def _of_these(solution: FitSolution) -> list[str]:
    """FitUnknowns that depend on others in these data."""
    names, made = solution.unknowns.names, []
    shifts = tuple(name for name in names if name.startswith("log") and name.endswith(".shift"))
    for k, factors in solution.combinations.items():
        if names[k] in shifts:
            continue
        at = number(float(solution.z[k]), 4)
        size = float(np.abs(factors).max(initial=0.0))
        if size == 0.0:
            made.append(f"{names[k]}: these data do not depend on it; it stays at {at}.")
            continue
        order = [j for j in np.argsort(-np.abs(factors), kind="stable") if abs(factors[j]) > 1e-6 * size]
        partners = _listed([names[j] for j in order])
        why = ""
        if names[k].endswith(f".{ROTOR}"):
            why = " (the rotor turns with the link)"
        elif names[k].endswith(f".{OFFSET}"):
            why = " (an offset acts like direction-dependent friction, or like weight)"
        made.append(
            f"{names[k]}: these data determine it only in combination with {partners}{why}; it stays at {at}."
        )
    return made


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:MOST_NAMED])
    if len(names) > MOST_NAMED:
        shown.append(f"{len(names) - MOST_NAMED} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
