"""docs/counts.md: every figure of its tables is what the code gives."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest
from sweeps import long

import forearm as fa
from forearm.cli.count import MOST
from forearm.counting import Counts, count, general
from forearm.counting.counts import METHODS, WATERS
from forearm.counting.fewest import fewest, steps_to_fewest, table_210
from forearm.counting.matrices import count_matrices
from forearm.counting.models import GenericChain, chain
from forearm.counting.printed import COLUMNS, compare, compare_table29
from forearm.counting.stored import stored

PAGE = (Path(__file__).parents[2] / "docs" / "counts.md").read_text(encoding="utf-8")
TITLES = {
    "inverse": "### Inverse dynamics",
    "inertia_matrix": "### Inertia matrix",
    "forward": "### Forward dynamics",
}
EVERY = [(function, name) for function, names in METHODS.items() for name in names]
NUMBERS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)


def table_after(title: str) -> list[dict[str, str]]:
    """The rows of the first table behind a title, by the names of its columns."""
    text = PAGE[PAGE.index(f"{title}\n") :]
    lines = re.search(r"(?:^\|.*\n)+", text, flags=re.M)
    assert lines is not None
    cells = [
        [cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in lines[0].splitlines()
    ]
    return [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]


def pair(counts: Counts) -> str:
    return f"{counts.mul} + {counts.add}"


@pytest.mark.parametrize("function", METHODS)
def test_tables_have_every_method(function: str) -> None:
    assert [row["method"] for row in table_after(TITLES[function])] == list(METHODS[function])


@pytest.mark.slow
@pytest.mark.parametrize(("function", "name"), [*EVERY[1:], *long(EVERY[:1])])
def test_row_of_a_method(function: str, name: str) -> None:
    (row,) = (row for row in table_after(TITLES[function]) if row["method"] == name)
    by = general(name, function)
    expected = {
        "method": name,
        "general mul": str(by.mul),
        "general add": str(by.add),
        "n = 6": pair(by.at(6)),
        "puma560-akb": pair(count(fa.load("puma560-akb"), name, function)),
        "panda (7)": pair(count(fa.load("panda"), name, function)),
        "stanford": pair(count(fa.load("stanford"), name, function)),
    }
    if function == "forward":
        expected["div"] = str(by.div)
    if function == "inverse":
        expected["4x4, n = 6"] = str(count_matrices(chain(6), name)) if name in WATERS else ""
    assert row == expected
    assert by.start <= 3, "the page says from which n on"


def test_how_far_the_naive_form_is_run() -> None:
    (said,) = re.findall(r"the naive form is run up to (\w+) joints", PAGE)
    kept = stored("lagrange-naive", "inverse").operations  # counted again by make test-long
    totals = [kept.at(n) for n in range(1, len(NUMBERS) + 3)]
    assert sum(c.mul + c.add <= MOST for c in totals) == NUMBERS.index(said)


def figure(numbers: tuple[int, ...] | None, unit: tuple[str, ...]) -> str:
    if numbers is None:
        return ""
    if unit == ("mul", "add"):
        return " / ".join(map(str, numbers))
    return "+".join(f"{k}{u}" for k, u in zip(numbers, unit, strict=True))


def test_printed_figures() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fa.ModelWarning)
        expected = [
            {
                "figure": f"{c.place}: {c.what}",
                "printed": figure(c.printed, c.unit),
                "the code as it is": figure(c.ours, c.unit),
                "by convention": figure(c.by_convention, c.unit),
                "verdict": c.sentence,
            }
            for c in compare()
        ]
    assert table_after("## Comparison with the printed counts") == expected


def test_table_29() -> None:
    shown = {c.id: c for c in compare_table29()}
    for row in table_after("### Dhanaraj Table 2.9"):
        symbol, *cells = row.values()
        for column, cell in zip(COLUMNS, cells, strict=True):
            c = shown[f"{symbol} {column}"]
            other = "" if c.verdict == "exact" else f" (printed {c.printed[0]}, {c.printed[1]})"
            assert cell == f"{c.ours[0]}, {c.ours[1]}{other}"


@pytest.mark.slow
def test_generated_code() -> None:
    general = {"any six turning joints": False, "the same with gravity along the first axis": True}
    for row in table_after("## Generated code: the fewest operations reached here"):
        named = re.search(r"`(.*)`", row["arm"])
        arm = (
            GenericChain("RRRRRR", aligned=general[row["arm"]]) if named is None else quietly_loaded(named[1])
        )
        inverse, M, forward = (fewest(arm, function) for function in METHODS)
        assert (row["inverse"], row["inertia matrix"], row["forward"]) == (
            pair(inverse),
            pair(M),
            pair(forward),
        )
        assert (row["div"], row["trig"]) == (str(forward.div), str(inverse.trig))


@pytest.mark.parametrize("name", ["puma560-akb", "panda", "stanford"])
def test_steps_to_generated_code(name: str) -> None:
    shown = {row["step"]: row[name] for row in table_after("### What each step leaves") if row[name]}
    assert shown == {step.title: pair(step.counts) for step in steps_to_fewest(quietly_loaded(name))}


def test_table_210() -> None:
    methods, rows = table_210()
    expected = [
        {"robot": robot, **{m: " + ".join(map(str, p)) for m, p in zip(methods, pairs, strict=True)}}
        for robot, pairs in rows
    ]
    assert table_after("### Dhanaraj Table 2.10, with our column") == expected


def quietly_loaded(name: str) -> fa.Arm:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fa.ModelWarning)
        return fa.load(name)
