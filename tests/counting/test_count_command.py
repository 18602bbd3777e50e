"""`forearm count` as a user meets it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

import forearm as fa
from forearm.cli.main import main
from forearm.counting.counts import METHODS

Capture = pytest.CaptureFixture[str]


def test_one_formulation_as_table_and_json(capsys: Capture) -> None:
    assert main(["count", "puma560-akb", "--formulation", "newton-euler"]) == 0
    out = capsys.readouterr().out
    assert "566 + 425" in out
    assert "280 + 199" in out
    assert "mul  117n - 136" in out
    assert main(["count", "puma560-akb", "--formulation", "lagrange-waters", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (row,) = document["methods"]
    assert (document["arm"], document["n"]) == ("puma560-akb", 6)
    assert row["general"]["mul"] == "304n - 371"
    assert row["matrices"]["m"] == 44
    assert row["per_joint"]["revolute"]["mul"] == 304


def test_an_arm_is_counted_with_its_own_gravity(capsys: Capture) -> None:
    """As its generated code, header and table; the equations say what else differs."""
    arm = fa.load("ascher2")
    source = fa.generate(arm, "inverse_dynamics")
    assert main(["count", "ascher2", "--function", "inverse", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["gravity"] == [0.0, -9.81, 0.0]
    assert document["fewest"]["inverse"]["customised"] == asdict(source.counts)
    assert main(["count", "ascher2", "--function", "inverse"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "its own gravity (0, -9.81, 0) m/s^2, where fa.counting.count has gravity along z0" in told
    assert f"{source.counts.mul} + {source.counts.add}" in told
    assert f"{source.counts.mul} multiplications, {source.counts.add} additions" in source.header
    equations = " ".join(fa.generate(arm, "inverse_dynamics", language="latex").text.split())
    assert "code in other languages chooses units, origins and free moments and may take fewer" in equations
    assert "may take fewer" not in source.header
    explain = ["count", "ascher2", "--explain", "--json"]
    assert main(explain) == 0
    last = json.loads(capsys.readouterr().out)["steps"][-1]
    assert (last["mul"], last["add"]) == (source.counts.mul, source.counts.add)


def test_function_chooses_among_those_that_have_the_name(capsys: Capture) -> None:
    explain = ["count", "stanford", "--formulation", "gibbs-appell", "--explain", "--json"]
    assert main(explain) == 0
    inverse = json.loads(capsys.readouterr().out)["explain"]
    assert (inverse["function"], inverse["name"]) == ("inverse", "gibbs-appell")
    assert sum(row["mul"] for row in inverse["quantities"]) == inverse["total"]["mul"]
    assert main([*explain, "--function", "inertia_matrix"]) == 0
    explained = json.loads(capsys.readouterr().out)["explain"]
    assert (explained["function"], explained["total"]["mul"], explained["total"]["add"]) == (
        "inertia_matrix",
        64,
        54,
    )
    assert main(["count", "stanford", "--function", "inertia_matrix", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["methods"]
    assert [row["name"] for row in rows] == list(METHODS["inertia_matrix"])


@pytest.mark.slow
def test_printed_figures_need_no_arm(capsys: Capture) -> None:
    assert main(["count", "--printed"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    text = " ".join(out.split())
    assert "printed 45m+77a, ours 44m+69a, by convention 45m+77a: exact" in text
    assert "Angeles and Ma, NOC: n^3 + 17n^2 - 21n + 8 (710) mul" in text
    assert main(["count", "--printed", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["printed"]) > 70


@pytest.mark.long
def test_plot_writes_a_picture(tmp_path: Path, capsys: Capture) -> None:
    assert main(["count", "--plot", str(tmp_path / "cost.png")]) == 0
    assert (tmp_path / "cost.png").read_bytes().startswith(b"\x89PNG")
    assert f"wrote {tmp_path / 'cost.png'}" in capsys.readouterr().out


def test_mistakes_are_told(capsys: Capture) -> None:
    by_forward = "--explain --formulation gibbs-appell --function forward"
    for options, said in {
        "": "expected an ARM",
        "--explain --printed": "need an ARM",
        "ascher2 --formulation newton-eular": "did you mean 'newton-euler'",
        "ascher2 --explain --formulation articulated-body": "not for forward dynamics by articulated-body;",
        f"ascher2 {by_forward}": "not for forward dynamics by gibbs-appell;",
        "ascher2 --formulation kane --function forward": "--formulation of forward: expected one of articul",
    }.items():
        assert main(["count", *options.split()]) == 2
        assert said in " ".join(capsys.readouterr().err.split())
