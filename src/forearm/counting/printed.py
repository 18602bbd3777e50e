"""The documents' printed counts, typed in `printed.toml`, compared with ours from running the code."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from forearm.counting import mata, waters
from forearm.counting.cost import general
from forearm.counting.counts import Convention, count, count_generated, run
from forearm.counting.luh import count_luh
from forearm.counting.matrices import MatrixCounts, count_matrices, run_matrices
from forearm.counting.models import chain
from forearm.counting.quantities import MIDDLE, per_quantity
from forearm.files.builtin import load_builtin
from forearm.symbols.counts import Counts
from forearm.symbols.linear import solve_symmetric
from forearm.symbols.recorder import Recorder

Pair = tuple[int, ...]
Verdict = Literal["exact", "differs", "consistent"]
Kind = Literal["recomputed", "decoded"]
LINKS = 6
BIAS = Convention(no_acceleration=True)
COLUMNS = ("revolute_I", "revolute_II", "prismatic_I", "prismatic_II")


@dataclass(frozen=True)
class CountComparison:
    """One printed count, the count of our code, the count under the named convention, and the verdict.

    "consistent" marks a count that follows from others of the same document; it is no count of ours. `reason`
    is empty if the verdict is "exact". `kind` is "decoded" if the convention was chosen because it yields the
    printed count. `repeats` names the item of `reproduce` that counts the same figure; empty: none.
    """

    id: str
    place: str
    what: str
    unit: tuple[str, ...]
    printed: Pair
    ours: Pair
    by_convention: Pair | None
    convention: str
    verdict: Verdict
    reason: str
    kind: Kind
    repeats: str = ""

    @property
    def sentence(self) -> str:
        """Verdict and reason in words, or the convention if only it makes the count exact."""
        if self.verdict == "exact":
            return "exact" if self.ours == self.printed else f"exact by the convention: {self.convention}"
        return f"{self.verdict}{':' if self.verdict == 'consistent' else ' because'} {self.reason}"


@cache
def compare() -> tuple[CountComparison, ...]:
    """Every printed count that can be recomputed, in the order of the documents."""
    return tuple(_compared(figure) for figure in printed()["figure"])


@cache
def compare_steps() -> tuple[CountComparison, ...]:
    """Mata's count at each step of 4.1 compared with our recursion at an interior link."""
    by = run(chain(5), "gibbs-appell").by_quantity()
    made = []
    for step in printed()["step"]:
        c = by[step["symbol"], MIDDLE]
        made.append(_judged(step["symbol"], "Mata 4.1", step, (c.mul, c.add)))
    return tuple(made)


@cache
def compare_table29() -> tuple[CountComparison, ...]:
    """Dhanaraj's Table 2.9, cell by cell.

    Rotations are dense. The modified recursion has a diagonal tensor; the plain one a full tensor and, at
    revolute joints, full cross products and R w multiplied out again for alpha.
    """
    cells = []
    ours = {column: _column(column) for column in COLUMNS}
    for symbol, row in printed()["table29"].items():
        for column in COLUMNS:
            name, what = f"{symbol} {column}", f"{symbol}, {column.replace('_', ', Method ')}"
            reason = printed()["reasons29"].get(name, "")
            cell = {"what": what, "printed": row[column], "reason": reason}
            cell["kind"] = printed()["kinds29"].get(name, "recomputed")
            cells.append(_judged(name, "Dhanaraj Table 2.9", cell, ours[column][symbol]))
    return tuple(cells)


@cache
def printed() -> dict[str, Any]:
    """The printed counts of the documents."""
    return tomllib.loads((files("forearm.counting") / "printed.toml").read_text(encoding="utf-8"))


def _compared(figure: dict[str, Any]) -> CountComparison:
    plain, by_convention = RECOMPUTED[figure["id"]]
    return _judged(figure["id"], figure["place"], figure, plain(), by_convention() if by_convention else None)


def _judged(
    id: str, place: str, figure: dict[str, Any], ours: Pair, conventional: Pair | None = None
) -> CountComparison:
    """Compare: exact if ours is the printed count."""
    pair = tuple(figure["printed"])
    verdict: Verdict = "exact"
    if (ours if conventional is None else conventional) != pair:
        verdict = "differs"
    elif "internal" in figure:
        verdict = "consistent"
    reason = {"exact": "", "consistent": figure.get("internal", "")}.get(verdict, figure.get("reason", ""))
    unit = tuple(figure.get("unit", ("mul", "add")))
    convention = figure.get("convention", "")
    kind = figure.get("kind", "recomputed")
    return CountComparison(
        id,
        place,
        figure["what"],
        unit,
        pair,
        ours,
        conventional,
        convention,
        verdict,
        reason,
        kind,
        figure.get("repeats", ""),
    )


def _column(column: str) -> dict[str, Pair]:
    """One column of Table 2.9 by our code, with its total."""
    kind, method = column.split("_")
    if method == "I":
        table = per_quantity(kind, "modified-newton-euler")
    else:
        table = per_quantity(kind, "newton-euler", "full", full_cross=kind == "revolute")
        if kind == "revolute":
            table["alpha"] += table["w"] - Counts(add=1)  # R w once more, without adding the joint rate
        table["f"], table["f_in"] = table["f"] + table["f_in"], Counts()
    total = sum(table.values(), Counts())
    return {symbol: (c.mul, c.add) for symbol, c in {**table, "total": total}.items()}


def _general(
    name: str, function: str = "inverse", convention: Convention | None = None, **conventions: Any
) -> Pair:
    counts = count(chain(LINKS, **conventions), name, function, convention)
    return counts.mul + counts.div, counts.add


def _dense(name: str) -> Pair:
    scalars = run_matrices(chain(LINKS), name).scalars()
    return scalars.mul, scalars.add


def _per_link() -> Pair:
    by = general("gibbs-appell")
    return int(by.mul.coefficients[1]), int(by.add.coefficients[1])


def solving(n: int, factored: bool) -> Counts:
    """The operations of the symmetric solve; `factored`: the matrix is known offline, its factors free."""
    graph = Recorder()
    entry = graph.parameter if factored else graph.input
    M = np.array([[entry(f"M[{i}, {k}]") for k in range(n)] for i in range(n)])
    return graph.counts(solve_symmetric(M, graph.inputs("b", n)))


def _solve() -> Pair:
    counts = solving(LINKS, factored=True)
    return counts.mul + counts.div, counts.add


def _factor() -> Pair:
    counts = solving(LINKS, factored=False) - solving(LINKS, factored=True)
    return counts.mul + counts.div, counts.add


def _mata_steps(n: int) -> Pair:
    """The sum of what Mata prints at the steps of 4.2, over the ranges of their loops."""
    pairs, further = n * (n - 1) // 2, (n - 1) * (n - 2) // 2
    times = {"pairs": pairs, "further pairs": further, "n - 1": n - 1, "n - 2": n - 2, "once": 1}
    steps = [(times[step["times"]], step["printed"]) for step in printed()["step42"]]
    return sum(k * pair[0] for k, pair in steps), sum(k * pair[1] for k, pair in steps)


def _luh() -> Pair:
    counts = count_luh(LINKS)
    return counts.mul, counts.add


def _his_forward() -> Pair:
    parts = [_his_matrix(), _his_inverse(accelerating=False), _factor(), _solve()]
    return tuple(sum(part[k] for part in parts) for k in range(2))


def _his_inverse(accelerating: bool = True) -> Pair:
    counts = mata.count_41(LINKS, accelerating)
    return counts.mul, counts.add


def _his_matrix() -> Pair:
    counts = mata.count_42(LINKS)
    return counts.mul, counts.add


def _both(counts: MatrixCounts) -> Pair:
    return astuple(counts)


def _stage(name: str) -> MatrixCounts:
    return count_matrices(chain(LINKS), name)


def _gravity(plain: bool) -> MatrixCounts:
    return waters.final(LINKS, plain) - waters.without_gravity(LINKS, plain)


def _velocity(plain: bool) -> MatrixCounts:
    return waters.final(LINKS, plain) - waters.without_velocity(LINKS, plain)


def _inertial(plain: bool) -> MatrixCounts:
    return waters.final(LINKS, plain) - _gravity(plain) - _velocity(plain)


def _own_link(plain: bool) -> MatrixCounts:
    return waters.final(LINKS, plain) - waters.own_link_only(LINKS, plain)


Recompute = Callable[[], Pair]


def _customised(name: str) -> tuple[Recompute, Recompute]:
    """Counts of the modified recursion customised to an arm: run as written, and as generated code."""

    def by(counting: Callable[..., Counts]) -> Recompute:
        def pair() -> Pair:
            counts = counting(load_builtin(name), "modified-newton-euler")
            return counts.mul, counts.add

        return pair

    return by(count), by(count_generated)


# For each figure: what our code takes as it is, and what it takes by the convention that
# the figure's entry names.
RECOMPUTED: dict[str, tuple[Recompute, Recompute | None]] = {
    "waters-naive-m": (lambda: (_stage("lagrange-naive").m,), lambda: (waters.naive_shared(LINKS).m,)),
    "waters-naive-a": (lambda: (_stage("lagrange-naive").a,), lambda: (waters.naive_shared(LINKS).a,)),
    "waters-recorded-m": (lambda: (_stage("lagrange-stored").m,), lambda: (waters.recorded(LINKS).m,)),
    "waters-recorded-a": (lambda: (_stage("lagrange-stored").a,), lambda: (waters.recorded(LINKS).a,)),
    "waters-recursive": (lambda: _both(_stage("lagrange-recursive")), lambda: _both(waters.recursive(LINKS))),
    "waters-recursive-d": (
        lambda: _both(_stage("lagrange-recursive-d")),
        lambda: _both(waters.recursive_d(LINKS)),
    ),
    "waters-final": (lambda: _both(_stage("lagrange-waters")), lambda: _both(waters.final(LINKS))),
    "waters-locked": (
        lambda: _both(count_matrices(chain(3), "lagrange-waters")),
        lambda: _both(waters.final(3)),
    ),
    "waters-gravity": (lambda: _both(_gravity(True)), lambda: _both(_gravity(False))),
    "waters-velocity": (lambda: _both(_velocity(True)), lambda: _both(_velocity(False))),
    "waters-inertial": (lambda: _both(_inertial(True)), lambda: _both(_inertial(False))),
    "waters-own-link": (lambda: _both(_own_link(True)), lambda: _both(_own_link(False))),
    "dhanaraj-1.1-uicker": (lambda: _general("lagrange-uicker"), lambda: _dense("lagrange-uicker")),
    "dhanaraj-1.1-hollerbach-4x4": (
        lambda: _general("lagrange-hollerbach-4x4"),
        lambda: _dense("lagrange-hollerbach-4x4"),
    ),
    "dhanaraj-1.1-hollerbach-3x3": (lambda: _general("lagrange-hollerbach"), None),
    "dhanaraj-1.1-newton-euler": (lambda: _general("newton-euler"), _luh),
    "dhanaraj-2.10-puma3": _customised("puma560-dhanaraj3"),
    "dhanaraj-2.10-stanford3": _customised("stanford-dhanaraj3"),
    "dhanaraj-2.10-puma6": _customised("puma560-dhanaraj6"),
    "dhanaraj-2.10-stanford6": _customised("stanford-dhanaraj6"),
    "mata-1-per-link": (_per_link, None),
    "mata-1": (lambda: _general("gibbs-appell"), _his_inverse),
    "mata-2": (lambda: _general("gibbs-appell", "inertia_matrix"), _his_matrix),
    "mata-2-from-steps": (lambda: _mata_steps(LINKS), None),
    "mata-3-bias": (
        lambda: _general("gibbs-appell", convention=BIAS),
        lambda: _his_inverse(accelerating=False),
    ),
    "mata-3-factor": (_factor, None),
    "mata-3-solve": (_solve, None),
    "mata-4": (lambda: _general("gibbs-appell", "forward"), _his_forward),
}
