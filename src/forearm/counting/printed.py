"""The documents' printed counts, typed in `printed.toml`, compared with ours from running the code."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import cache, partial
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
SIX = chain(LINKS)
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
    steps = [(step["symbol"], step) for step in printed()["step"]]
    return tuple(_judged(symbol, "Mata 4.1", step, pair_of(by[symbol, MIDDLE])) for symbol, step in steps)


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


def figure(id: str) -> dict[str, Any]:
    """One printed figure with all that is said of it."""
    return next(entry for entry in printed()["figure"] if entry["id"] == id)


def pair_of(counts: Counts | MatrixCounts | int) -> Pair:
    """Counts as the documents print them: divisions count as multiplications."""
    if isinstance(counts, Counts):
        return counts.mul + counts.div, counts.add
    return (counts,) if isinstance(counts, int) else astuple(counts)


def _compared(figure: dict[str, Any]) -> CountComparison:
    plain, by_convention = RECOMPUTED[figure["id"]]
    conventional = pair_of(by_convention()) if by_convention else None
    return _judged(figure["id"], figure["place"], figure, pair_of(plain()), conventional)


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
    return CountComparison(
        id,
        place,
        figure["what"],
        tuple(figure.get("unit", ("mul", "add"))),
        pair,
        ours,
        conventional,
        figure.get("convention", ""),
        verdict,
        figure.get({"exact": "", "consistent": "internal"}.get(verdict, "reason"), ""),
        figure.get("kind", "recomputed"),
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
    return {symbol: pair_of(c) for symbol, c in {**table, "total": total}.items()}


def _dense(name: str) -> Counts:
    return run_matrices(SIX, name).scalars()


def _per_link() -> Counts:
    by = general("gibbs-appell")
    return Counts(*(int(polynomial.coefficients[1]) for polynomial in (by.mul, by.add)))


def solving(n: int, factored: bool) -> Counts:
    """The operations of the symmetric solve; `factored`: the matrix is known offline, its factors free."""
    graph = Recorder()
    entry = graph.parameter if factored else graph.input
    M = np.array([[entry(f"M[{i}, {k}]") for k in range(n)] for i in range(n)])
    return graph.counts(solve_symmetric(M, graph.inputs("b", n)))


def _factor() -> Counts:
    return solving(LINKS, factored=False) - solving(LINKS, factored=True)


def mata_steps(n: int) -> Counts:
    """The sum of what Mata prints at the steps of 4.2, over the ranges of their loops."""
    pairs, further = n * (n - 1) // 2, (n - 1) * (n - 2) // 2
    times = {"pairs": pairs, "further pairs": further, "n - 1": n - 1, "n - 2": n - 2, "once": 1}
    steps = [(times[step["times"]], step["printed"]) for step in printed()["step42"]]
    return Counts(*(sum(k * pair[which] for k, pair in steps) for which in (0, 1)))


def _his_forward() -> Counts:
    return mata.count_42(LINKS) + mata.count_41(LINKS, accelerating=False) + solving(LINKS, factored=False)


def _without(stage: Callable[[int, bool], MatrixCounts], plain: bool) -> MatrixCounts:
    """What the terms cost that a stage leaves out."""
    return waters.final(LINKS, plain) - stage(LINKS, plain)


def _inertial(plain: bool) -> MatrixCounts:
    parts = [_without(stage, plain) for stage in (waters.without_gravity, waters.without_velocity)]
    return waters.final(LINKS, plain) - parts[0] - parts[1]


Recompute = Callable[[], Counts | MatrixCounts | int]


def _both_ways(function: Callable[..., MatrixCounts], *given: Any) -> tuple[Recompute, Recompute]:
    """Plain, as our code is, and by Waters' convention."""
    return partial(function, *given, True), partial(function, *given, False)


def _customised(name: str) -> tuple[Recompute, Recompute]:
    """Counts of the modified recursion customised to an arm: run as written, and as generated code."""
    return (
        lambda: count(load_builtin(name), "modified-newton-euler"),
        lambda: count_generated(load_builtin(name), "modified-newton-euler"),
    )


# For each figure: what our code takes as it is, and what it takes by the convention that
# the figure's entry names.
RECOMPUTED: dict[str, tuple[Recompute, Recompute | None]] = {
    "waters-naive-m": (lambda: count_matrices(SIX, "lagrange-naive").m, lambda: waters.naive_shared(LINKS).m),
    "waters-naive-a": (lambda: count_matrices(SIX, "lagrange-naive").a, lambda: waters.naive_shared(LINKS).a),
    "waters-recorded-m": (lambda: count_matrices(SIX, "lagrange-stored").m, lambda: waters.recorded(LINKS).m),
    "waters-recorded-a": (lambda: count_matrices(SIX, "lagrange-stored").a, lambda: waters.recorded(LINKS).a),
    "waters-recursive": (
        partial(count_matrices, SIX, "lagrange-recursive"),
        partial(waters.recursive, LINKS),
    ),
    "waters-recursive-d": (
        partial(count_matrices, SIX, "lagrange-recursive-d"),
        partial(waters.recursive_d, LINKS),
    ),
    "waters-final": (partial(count_matrices, SIX, "lagrange-waters"), partial(waters.final, LINKS)),
    "waters-locked": (partial(count_matrices, chain(3), "lagrange-waters"), partial(waters.final, 3)),
    "waters-gravity": _both_ways(_without, waters.without_gravity),
    "waters-velocity": _both_ways(_without, waters.without_velocity),
    "waters-inertial": _both_ways(_inertial),
    "waters-own-link": _both_ways(_without, waters.own_link_only),
    "dhanaraj-1.1-uicker": (partial(count, SIX, "lagrange-uicker"), partial(_dense, "lagrange-uicker")),
    "dhanaraj-1.1-hollerbach-4x4": (
        partial(count, SIX, "lagrange-hollerbach-4x4"),
        partial(_dense, "lagrange-hollerbach-4x4"),
    ),
    "dhanaraj-1.1-hollerbach-3x3": (partial(count, SIX, "lagrange-hollerbach"), None),
    "dhanaraj-1.1-newton-euler": (partial(count, SIX, "newton-euler"), partial(count_luh, LINKS)),
    "dhanaraj-2.10-puma3": _customised("puma560-dhanaraj3"),
    "dhanaraj-2.10-stanford3": _customised("stanford-dhanaraj3"),
    "dhanaraj-2.10-puma6": _customised("puma560-dhanaraj6"),
    "dhanaraj-2.10-stanford6": _customised("stanford-dhanaraj6"),
    "mata-1-per-link": (_per_link, None),
    "mata-1": (partial(count, SIX, "gibbs-appell"), partial(mata.count_41, LINKS)),
    "mata-2": (partial(count, SIX, "gibbs-appell", "inertia_matrix"), partial(mata.count_42, LINKS)),
    "mata-2-from-steps": (partial(mata_steps, LINKS), None),
    "mata-3-bias": (
        partial(count, SIX, "gibbs-appell", convention=Convention(no_acceleration=True)),
        partial(mata.count_41, LINKS, accelerating=False),
    ),
    "mata-3-factor": (_factor, None),
    "mata-3-solve": (partial(solving, LINKS, factored=True), None),
    "mata-4": (partial(count, SIX, "gibbs-appell", "forward"), _his_forward),
}
