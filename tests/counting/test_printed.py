"""The printed counts beside ours: every figure has a verdict, and the verdict is what
running the code says.
"""

from __future__ import annotations

import pytest

import forearm as fa
from forearm.counting.counts import count, count_generated, run
from forearm.counting.models import chain
from forearm.counting.printed import RECOMPUTED, compare, compare_steps, compare_table29, printed, solving
from forearm.counting.quantities import per_quantity
from forearm.reproduce.catalogue import counted
from forearm.symbols.counts import Counts

EXACT = {
    "waters-naive-m",
    "waters-recorded-a",
    "waters-recursive",
    "waters-recursive-d",
    "waters-final",
    "waters-gravity",
    "waters-inertial",
    "dhanaraj-1.1-newton-euler",
    "mata-1-per-link",
    "mata-1",
    "mata-2",
    "mata-3-bias",
    "mata-3-solve",
}


def test_every_figure_is_recomputed_and_reasons_stand_only_where_it_differs() -> None:
    figures = {figure["id"]: figure for figure in printed()["figure"]}
    assert set(figures) == set(RECOMPUTED)
    compared = compare()
    assert {c.id for c in compared if c.verdict == "exact"} == EXACT
    assert [c.id for c in compared if c.verdict == "consistent"] == ["mata-2-from-steps"]
    for c in compared:
        assert ("reason" in figures[c.id]) == (c.verdict == "differs"), c.id
        assert bool(c.reason) == (c.verdict != "exact"), c.id


def test_sentences() -> None:
    by = {c.id: c.sentence for c in compare()}
    assert by["waters-inertial"] == "exact"
    assert by["waters-recursive-d"] == "exact by the convention: V_n counted though nothing needs it, W_n not"
    assert by["mata-2-from-steps"].startswith("consistent: his own step counts")
    assert by["mata-4"] == (
        "differs because 905 holds 56 sums for the Cholesky decomposition, which takes 35"
    )


def test_what_is_only_consistent_is_no_reproduced_figure() -> None:
    labels = [result.label for result in counted("mata")]
    assert "this work, each further link, mul" in labels
    assert not [label for label in labels if "from the counts that he prints" in label]


def test_each_step_of_mata_is_what_he_prints() -> None:
    assert [c.verdict for c in compare_steps()] == ["exact"] * 8
    assert sum(c.ours[0] for c in compare_steps()) == 96
    assert sum(c.ours[1] for c in compare_steps()) == 84


def test_what_is_said_of_mata() -> None:
    by = run(chain(6), "gibbs-appell", "inertia_matrix").by_quantity()
    assert by["psi", 2] == Counts(25, 37)  # he prints 31, 40
    assert by["s", 1] == Counts(4, 2)  # 8, 4
    assert by["dwd", 1] == Counts(2)  # 0, 0
    assert by["D", 1] == Counts(7, 6)  # as printed
    forward = next(c for c in compare() if c.id == "mata-4")
    assert forward.by_convention == (1042, 905 - 56 + 35)
    aligned = [count(chain(n, aligned=True), "gibbs-appell") for n in (4, 6)]
    assert [(c.mul, c.add) for c in aligned] == [(96 * n - 110, 84 * n - 106) for n in (4, 6)]


@pytest.mark.filterwarnings("ignore::forearm.ModelWarning")
@pytest.mark.parametrize("arm", [row["arm"] for row in printed()["table_210"]["row"]])
def test_table_210_is_compared_with_generated_code(arm: str) -> None:
    code = fa.generate(fa.load(arm), "inverse_dynamics", formulation="modified-newton-euler").counts
    assert count_generated(fa.load(arm), "modified-newton-euler") == code
    (compared,) = (
        c
        for c in compare()
        if c.id == f"dhanaraj-2.10-{arm.replace('560-dhanaraj', '').replace('-dhanaraj', '')}"
    )
    assert compared.by_convention == (code.mul, code.add)


def test_table_29_revolute_columns_agree_but_for_n() -> None:
    cells = {c.id: c for c in compare_table29()}
    assert len(cells) == 44
    revolute = [c for c in cells.values() if "revolute" in c.id]
    assert {c.id for c in revolute if c.verdict != "exact"} == {
        "n revolute_I",
        "n revolute_II",
        "total revolute_I",
        "total revolute_II",
    }
    assert cells["total revolute_I"].ours == (92, 82)
    assert cells["total revolute_II"].ours == (135, 110)
    assert all(c.verdict == "exact" or c.reason for c in cells.values())


def test_per_quantity_counts() -> None:
    table = per_quantity("revolute")
    # alpha: R^T alpha 9/6, qdd 0/1, the Coriolis term 2/2; N with a diagonal tensor 6/3.
    assert (table["alpha"], table["N"]) == (Counts(11, 9), Counts(6, 3))
    table = per_quantity("prismatic")  # R only renames axes: w, alpha and lambda (2.29) cost nothing
    assert table["w"] == table["alpha"] == table["lambda"] == Counts()
    assert (table["N"], table["f_in"]) == (Counts(6, 3), Counts(9, 6))


def test_symmetric_solve() -> None:
    # Forward and back substitution n(n - 1)/2 products and sums each, n products by 1 / D; factors (n^3 -
    # n)/6 products and sums, n(n - 1)/2 products by 1 / D, and these n divisions.
    assert solving(6, factored=True) == Counts(mul=30 + 6, add=30)
    assert solving(6, factored=False) - solving(6, factored=True) == Counts(mul=35 + 15, add=35, div=6)
