"""docs/formulations.md: every method of the package is on it, with the counts that docs/counts.md
has and the code gives.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import forearm as fa
from forearm.counting import count, general

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "formulations.md").read_text(encoding="utf-8")
COUNTS = (DOCS / "counts.md").read_text(encoding="utf-8")
SECTIONS = {"inverse": "Inverse dynamics", "inertia_matrix": "Inertia matrix", "forward": "Forward dynamics"}
POWERS = {"n": 1, "n²": 2, "n³": 3, "n⁴": 4, "n⁵": 5}
FEW = {
    "inverse": ("lagrange-waters", "newton-euler", "modified-newton-euler", "gibbs-appell", "kane"),
    "inertia_matrix": ("composite-body", "gibbs-appell"),
    "forward": ("gibbs-appell", "articulated-body"),
}


def table(text: str, heading: str) -> dict[str, dict[str, str]]:
    """The rows of the table below a heading, by their first cell and then by column."""
    part = re.search(rf"^#+ {heading}[^\n]*\n(.*?)(?=^#|\Z)", text, flags=re.M | re.S)
    assert part is not None
    lines = [line for line in part[1].splitlines() if line.startswith("| ")]
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {row[0]: dict(zip(head, row, strict=True)) for row in rows}


@pytest.mark.parametrize("function", SECTIONS)
def test_every_method_is_there_with_the_counts_of_the_other_page(function: str) -> None:
    ours, counted = table(PAGE, SECTIONS[function]), table(COUNTS, SECTIONS[function])
    assert list(ours) == fa.dynamics.formulations()[function]
    for name, row in ours.items():
        assert row["n = 6"] == counted[name]["n = 6"]
        assert row["puma560-akb"] == counted[name]["puma560-akb"]
        assert f"**{name}**" in PAGE or function == "forward"


@pytest.mark.parametrize(("function", "name"), [(f, n) for f, names in FEW.items() for n in names])
def test_counts_and_orders_are_what_the_code_gives(function: str, name: str) -> None:
    row, known = table(PAGE, SECTIONS[function])[name], general(name, function)
    arm = count(fa.load("puma560-akb"), name, function)
    assert row["puma560-akb"] == f"{arm.mul} + {arm.add}"
    assert row["n = 6"] == f"{known.at(6).mul} + {known.at(6).add}"
    assert POWERS[row["order"]] == known.degree


@pytest.mark.parametrize("function", SECTIONS)
def test_orders_are_the_degrees_of_the_printed_polynomials(function: str) -> None:
    for name, row in table(PAGE, SECTIONS[function]).items():
        powers = re.findall(r"n\^(\d)", table(COUNTS, SECTIONS[function])[name]["general mul"])
        assert POWERS[row["order"]] == max(map(int, powers), default=1)


def test_trees_are_taken_where_the_table_says_so() -> None:
    import numpy as np
    from arms import random_arm

    tree = random_arm(3, n=4, tree=True, drives=False)
    assert not tree.is_serial
    q, qd, qdd = np.random.default_rng(1).uniform(-1, 1, (3, tree.n))
    for name, row in table(PAGE, SECTIONS["inverse"]).items():
        if row["trees"] == "yes":
            assert np.isfinite(fa.dynamics.inverse(tree, q, qd, qdd, formulation=name)).all()
        else:
            with pytest.raises(fa.ForearmError, match="serial"):
                fa.dynamics.inverse(tree, q, qd, qdd, formulation=name)


def test_where_gibbs_appell_stops_being_the_cheapest_way_forward() -> None:
    """What the page calls some ten joints."""

    def operations(name: str, n: int) -> int:
        counts = general(name, "forward").at(n)
        return counts.mul + counts.add

    cheapest = [
        min(table(PAGE, SECTIONS["forward"]), key=lambda name: operations(name, n)) for n in range(3, 20)
    ]
    turn = cheapest.index("articulated-body") + 3
    assert set(cheapest[: turn - 3]) == {"gibbs-appell"}
    assert set(cheapest[turn - 3 :]) == {"articulated-body"}
    assert 8 <= turn <= 13
