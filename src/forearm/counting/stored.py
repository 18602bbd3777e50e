"""Stored counts of general chains: polynomials of every method, which take seconds to count and fit.

`python tests/record_counts.py` writes `general.json`; tests recount and refit it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cache
from importlib import resources
from typing import Any

from forearm.counting.cost import General, general, general_matrices, per_joint
from forearm.counting.counts import METHODS, WATERS
from forearm.counting.fewest import fewest
from forearm.counting.models import chain
from forearm.counting.polynomial import Polynomial
from forearm.symbols.counts import Counts

FILE = "general.json"
LONGEST = 9  # joints of the longest chain whose fewest operations are stored


@dataclass(frozen=True)
class GeneralMethod:
    """The counts of a method for every n: operations, cost of one more joint, Waters' matrix operations."""

    operations: General
    per_joint: dict[str, Counts]
    matrices: tuple[Polynomial, Polynomial] | None


def counted(name: str, function: str) -> GeneralMethod:
    """Count and fit a method."""
    matrices = general_matrices(name) if function == "inverse" and name in WATERS else None
    return GeneralMethod(general(name, function), per_joint(name, function), matrices)


@cache
def stored(name: str, function: str) -> GeneralMethod:
    """The counts of a method from the file."""
    made = _document()["methods"][function][name]
    by, matrices = made["operations"], made["matrices"]
    below = {int(n): Counts(**counts) for n, counts in by["counted"].items()}
    mul, add, div = (_polynomial(by[kind]) for kind in ("mul", "add", "div"))
    operations = General(mul, add, div, by["start"], below)
    each = {kind: Counts(**counts) for kind, counts in made["per_joint"].items()}
    pair = None if matrices is None else (_polynomial(matrices[0]), _polynomial(matrices[1]))
    return GeneralMethod(operations, each, pair)


def fewest_general(n: int, function: str) -> Counts:
    """The fewest operations of the general chain of n revolute joints, from the file if it has them."""
    known = _document()["fewest"][function].get(str(n))
    return fewest(chain(n), function) if known is None else Counts(**known)


def document() -> dict[str, Any]:
    """The contents of the file, recounted."""
    methods = {
        function: {name: _written(counted(name, function)) for name in names}
        for function, names in METHODS.items()
    }
    few = {
        function: {str(n): asdict(fewest(chain(n), function)) for n in range(1, LONGEST + 1)}
        for function in METHODS
    }
    return {"methods": methods, "fewest": few}


def _written(method: GeneralMethod) -> dict[str, Any]:
    by = method.operations
    operations: dict[str, Any] = {kind: _text(getattr(by, kind)) for kind in ("mul", "add", "div")}
    operations |= {"start": by.start, "counted": {str(n): asdict(c) for n, c in by.counted.items()}}
    return {
        "operations": operations,
        "per_joint": {kind: asdict(counts) for kind, counts in method.per_joint.items()},
        "matrices": None if method.matrices is None else [_text(p) for p in method.matrices],
    }


def _text(polynomial: Polynomial) -> dict[str, Any]:
    return {"coefficients": [str(c) for c in polynomial.coefficients], "start": polynomial.start}


def _polynomial(given: dict[str, Any]) -> Polynomial:
    return Polynomial(tuple(map(Fraction, given["coefficients"])), given["start"])


@cache
def _document() -> dict[str, Any]:
    text = resources.files("forearm.counting").joinpath(FILE).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
