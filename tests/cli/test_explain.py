"""`forearm count --explain` as a user meets it: what each step towards the fewest
operations leaves and saves.
"""

from __future__ import annotations

import pytest
from cli.lines import Capture, called, document

import forearm as fa
from forearm.counting.fewest import fewest, steps_to_fewest


@pytest.mark.slow
def test_the_steps_are_a_table(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    code, out, _ = called(capsys, "count", "puma560-akb", "--explain")
    assert code == 0
    steps = steps_to_fewest(fa.load("puma560-akb"))
    rows = [line for line in out.splitlines() if line.startswith(tuple(step.title for step in steps))]
    assert len(rows) == len(steps)
    sums = [step.counts.mul + step.counts.add for step in steps]
    for row, step, total, before in zip(rows, steps, sums, [None, *sums], strict=False):
        numbers = [int(word) for word in row.removeprefix(step.title).split()]
        saved = [] if before is None else [before - total]
        assert numbers == [step.counts.mul, step.counts.add, total, *saved, step.counts.trig]


@pytest.mark.slow
@pytest.mark.parametrize("function", ["inverse", "inertia_matrix", "forward"])
def test_the_steps_as_json(function: str, capsys: Capture) -> None:
    found = document(capsys, "count", "stanford", "--explain", "--function", function)
    assert (found["arm"], found["n"]) == ("stanford", 6)
    last = found["steps"][-1]
    counts = fewest(fa.load("stanford"), function)
    assert (last["mul"], last["add"], last["trig"]) == (counts.mul, counts.add, counts.trig)
    assert all(step["title"] for step in found["steps"])


@pytest.mark.slow
def test_the_fewest_stand_beside_the_formulations(capsys: Capture) -> None:
    code, out, _ = called(capsys, "count", "stanford", "--function", "inertia_matrix")
    assert code == 0
    counts = fewest(fa.load("stanford"), "inertia_matrix")
    (row,) = [line for line in out.splitlines() if line.startswith("generated code")]
    assert f"{counts.mul} + {counts.add}" in row


def test_a_formulation_is_explained_by_quantity(capsys: Capture) -> None:
    code, out, _ = called(capsys, "count", "stanford", "--explain", "--formulation", "newton-euler")
    assert code == 0
    assert "total" in out
    assert "together" not in out
