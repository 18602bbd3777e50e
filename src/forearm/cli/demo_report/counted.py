"""Operation counts compared with the literature: any six revolute joints,
and the PUMA with numeric parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

from forearm.arm.arm import Arm
from forearm.counting.fewest import fewest, table_210
from forearm.counting.models import chain
from forearm.counting.printed import compare, printed
from forearm.symbols.counts import Counts
from forearm.tables import Report

# The best-known of the printed counts: id, and author.
KNOWN = {
    "dhanaraj-1.1-uicker": "Lagrange, Uicker and Kahn",
    "dhanaraj-1.1-hollerbach-4x4": "Lagrange, Hollerbach, 4x4 matrices",
    "dhanaraj-1.1-hollerbach-3x3": "Lagrange, Hollerbach, 3x3 matrices",
    "dhanaraj-1.1-newton-euler": "Newton-Euler, Luh et al.",
    "mata-1": "Gibbs-Appell, Mata et al.",
}
ROBOT = "PUMA, 6 joints"


@dataclass(frozen=True)
class CountRow:
    """One method: where its count is printed, and (mul, add) in all;
    `is_ours` where the count is of code made here.
    """

    method: str
    source: str
    pair: tuple[int, int]
    is_ours: bool = False

    @property
    def total(self) -> int:
        """Multiplications and additions together."""
        return self.pair[0] + self.pair[1]


@dataclass(frozen=True)
class CountTable:
    """Counts of one function that may be compared; the last row is the generated code's."""

    title: str
    rows: tuple[CountRow, ...]
    note: str = ""

    @property
    def report(self) -> Report:
        """Every count, and its size relative to the generated code's."""
        ours = self.rows[-1].total
        rows = [
            [r.method, *(str(x) for x in r.pair), str(r.total), f"{r.total / ours:.2f}", r.source]
            for r in self.rows
        ]
        header = ["method", "mul", "add", "total", "relative to generated", "source"]
        return Report(header, rows, self.title, after=[self.note])


def count_tables(arm: Arm) -> tuple[CountTable, ...]:
    """Inverse dynamics of any six revolute joints, of Dhanaraj's PUMA, and of the arm of the demo."""
    return _general(), _customised(), _own(arm)


def _general() -> CountTable:
    found = {c.id: c for c in compare() if c.id in KNOWN}
    rows = [
        CountRow(method, found[name].place, (found[name].printed[0], found[name].printed[1]))
        for name, method in KNOWN.items()
    ]
    return CountTable(
        "Any arm of six revolute joints, symbolic parameters",
        (*rows, _generated(fewest(chain(6)), "forearm count chain6")),
    )


def _customised() -> CountTable:
    methods, robots = table_210()
    (ours, *theirs) = next(pairs for robot, pairs in robots if robot == ROBOT)
    rows = [
        CountRow(method, "Dhanaraj Table 2.10", (pair[0], pair[1]))
        for method, pair in zip(methods[1:], theirs, strict=True)
        if pair
    ]
    last = CountRow("generated code", "forearm count puma560-dhanaraj6", (ours[0], ours[1]), is_ours=True)
    return CountTable(f"{ROBOT}, with Dhanaraj's parameters", (*rows, last), printed()["table_210"]["note"])


def _own(arm: Arm) -> CountTable:
    return CountTable(
        f"{arm.name}, rigid, with its own parameters", (_generated(fewest(arm), f"forearm count {arm.name}"),)
    )


def _generated(counts: Counts, source: str) -> CountRow:
    return CountRow("generated code", source, (counts.mul, counts.add), is_ours=True)
