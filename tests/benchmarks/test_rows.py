"""What the rows of `forearm bench` say, without a clock: ratios, bars, agreement, operations;
and the recorded rival.
"""

from __future__ import annotations

import importlib.util
import shutil
from dataclasses import fields

import llvmlite.binding as llvm
import numpy as np
import pytest
from arms import random_arm

import forearm as fa
from forearm.benchmarks import peers
from forearm.benchmarks.kernels import AT_LEAST, STAY_UNDER
from forearm.benchmarks.peers.casadi import FUNCTIONS
from forearm.benchmarks.peers.pinocchio import with_limits
from forearm.benchmarks.roofline import CHAINS, loop_text, operations, peak_share
from forearm.benchmarks.timing import APART, BenchmarkRow, Work, beside, medians
from forearm.benchmarks.work import NEAR, KernelWork, calls
from forearm.symbols import Counts


def work(who: str, values: list[float], done: list[str] | None = None) -> Work:
    record = [] if done is None else done
    return Work(who, lambda: record.append(who), len(values), lambda: np.array(values))


def test_ratio_and_bars() -> None:
    row = BenchmarkRow("x", 2e-9, peer="other", peer_seconds=1e-8, at_least=4.5)
    assert row.ratio == pytest.approx(5.0)
    assert row.met is True
    assert BenchmarkRow("x", 2e-9, peer="other", peer_seconds=1e-8, at_least=5.5).met is False
    assert BenchmarkRow("x", 2e-9, bar=1e-9).met is False
    assert BenchmarkRow("x", 2e-9, bar=3e-9, peer="other", peer_seconds=1e-8, at_least=5.5).met is False
    assert BenchmarkRow("x", 2e-9, at_least=4.5).met is None, "without the peer nothing is met or missed"
    assert BenchmarkRow("x", 2e-9).met is None


def test_document_of_a_row_has_every_field_and_what_follows() -> None:
    row = BenchmarkRow("x", 2e-9, peer="other", peer_seconds=1e-8, at_least=6.0, agreement=1e-3, group="g")
    document = row.document()
    assert set(document) == {field.name for field in fields(row)} | {"ratio", "met", "disagrees"}
    assert (document["ratio"], document["met"], document["disagrees"]) == (pytest.approx(5.0), False, True)


def test_beside_takes_turns_and_divides_by_the_states() -> None:
    done: list[str] = []
    ours, theirs = (work(who, [1.0, -2.0], done) for who in ("forearm", "other"))
    row = beside("x", ours, theirs, repeats=3, group="g", at_least=2.0)
    assert done == ["forearm", "other"] * 4, "once each to warm up, then in turns"
    found = (row.peer, row.agreement, row.disagrees, row.group, row.at_least)
    assert found == ("other", 0.0, False, "g", 2.0)
    alone = beside("x", work("forearm", [1.0]))
    assert (alone.peer, alone.peer_seconds, alone.agreement) == (None, None, None)


def test_a_fake_peer_that_computes_something_else_is_told() -> None:
    row = beside("x", work("forearm", [1.0, -2.0]), work("fake", [1.0, -2.0 - 3.0 * APART]))
    assert row.agreement == pytest.approx(1.5e-6, rel=1e-3)
    assert row.disagrees
    assert beside("x", work("forearm", [np.nan]), work("fake", [1.0])).disagrees, (
        "no number agrees with nothing"
    )


def test_medians_do_not_follow_one_slow_run(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    slow = iter([9.0, 1.0, 2.0, 50.0, 3.0, 2.0])  # s of each run, the first to warm up
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])

    def pass_time() -> None:
        clock[0] += next(slow)

    assert medians([pass_time], repeats=5) == [2.0]


def test_calls_runs_the_statements_and_answers_with_the_last() -> None:
    seen: list[int] = []
    made = calls("x", "seen.append(1); abs(-2.5)", {"seen": seen})
    made.run()
    assert len(seen) == made.states
    assert made.answer() == 2.5
    assert len(seen) == made.states, "the answer alone does not begin anew"


def test_share_of_the_peak_leaves_sines_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forearm.benchmarks.roofline.peak", {"float64": 3e9}.__getitem__)
    assert operations(Counts(mul=5, add=7, div=2, sqrt=1, trig=40)) == 15
    assert peak_share(Counts(mul=5, add=7, trig=40), 8e-9, "float64") == pytest.approx(0.5)


@pytest.mark.parametrize(("scalar", "bits", "lanes"), [("double", 64, 8), ("float", 32, 4)])
def test_the_loop_for_the_peak_has_all_its_multiply_adds(scalar: str, bits: int, lanes: int) -> None:
    text = loop_text(scalar, bits, lanes)
    llvm.parse_assembly(text).verify()
    assert text.count(f"call <{lanes} x {scalar}> @llvm.fmuladd") == CHAINS


@pytest.mark.slow
def test_our_kernel_answers_the_same_in_every_way() -> None:
    arm = random_arm(3, 2, drives=False).rigid()
    ours = KernelWork(fa.compile(arm), np.random.default_rng(5).uniform(-1.0, 1.0, (3, NEAR, 2)))
    for function in FUNCTIONS:
        batch, level = ours.batch(function), ours.at_c_level(function)
        for each in (batch, level):
            each.run()
        np.testing.assert_array_equal(batch.answer(), level.answer())
        for out in (True, False):
            np.testing.assert_array_equal(ours.one_call(function, out).answer(), batch.answer()[0])


@pytest.mark.slow
def test_limits_for_pinocchio_change_no_dynamics() -> None:
    arm = fa.load("puma560-akb").rigid()
    limited = with_limits(arm)
    assert all(np.isfinite(joint.limits).all() for joint in limited.joints)
    q = np.linspace(-2.0, 2.0, 6)
    np.testing.assert_array_equal(fa.dynamics.bias(arm, q, q), fa.dynamics.bias(limited, q, q))


def test_a_peer_that_is_not_installed_is_said_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    peers.problem.cache_clear()
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    lines = peers.problems()
    peers.problem.cache_clear()
    assert "Pinocchio is not installed: pip install 'forearm[bench]'" in lines
    assert "CasADi's C is missing: run make bench-peers to have Pinocchio and CasADi write it" in lines
    assert len(lines) == len(peers.PACKAGES) + 1


def test_a_peer_that_does_not_import_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(name: str) -> None:
        raise AttributeError("numpy has no 'disp'")

    peers.problem.cache_clear()
    monkeypatch.setattr(peers, "find_spec", importlib.util.find_spec)
    monkeypatch.setattr(peers, "PACKAGES", {"Odd": "json"})
    monkeypatch.setattr(peers, "import_module", fails)
    said = peers.problem("Odd")
    peers.problem.cache_clear()
    assert said == "Odd is installed but does not import (AttributeError: numpy has no 'disp')"


def test_every_bar_belongs_to_something_that_is_measured() -> None:
    whats = {
        f"{short}, {ending}"
        for short in ("inverse", "forward")
        for ending in ("one call, out=", "one call, new array", "one at C level", "batch", "batch, float32")
    } | {"chain of 50, inverse, batch", "d(inverse), one call, out="}
    whos = {"pin.rnea", "pin.RNEA deriv.", "Pinocchio batch", "CasADi C, loop", "CasADi C"}
    assert {what for _, what, _ in AT_LEAST} | {what for _, what in STAY_UNDER} <= whats
    assert {who for *_, who in AT_LEAST} <= whos
