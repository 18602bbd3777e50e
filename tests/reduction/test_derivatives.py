"""Derivatives by their recursion: slopes of the reference, those that the graph finds itself, identities of
mechanics, and the operations that they take.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import every_kind, random_arm
from codegen.truths import assert_close, rows, slopes
from dynamics.cases import random_state
from reduction.cases import parallelogram, special_geometry

import forearm as fa
from forearm import Arm, dynamics
from forearm.codegen.functions import FUNCTIONS, column_groups, trace
from forearm.codegen.tracing import Tracing
from forearm.model import model_of
from forearm.reduction.chain import Chain
from forearm.reduction.derivatives import DerivativeChoices, derivatives
from forearm.reduction.frames import chain_of
from forearm.reduction.plan import planned
from forearm.reduction.search import best_choices
from forearm.symbols import Graph, evaluate, jacobian, most_live
from forearm.symbols.graph import MUL
from forearm.symbols.ordering import grouped_order

SLOPE = 1e-9  # seven points, steps of 2e-3
RATE = 1e-6  # a difference of two points, steps of 1e-5
SPECIAL = special_geometry() | {"parallelogram": parallelogram((0.0, 0.0, 1.0))}
ARMS = {f"kind {k}, {n}": arm.rigid() for n in (1, 4) for k, arm in enumerate(every_kind(30 + n, n))}
ARMS |= {"followers": random_arm(3, 3, mimic=True).rigid()} | {k: arm.rigid() for k, arm in SPECIAL.items()}


def chains(arm: Arm) -> list[Chain]:
    chain = chain_of(model_of(arm))
    return [chain, planned(chain)]


def found(chain: Chain, state: Any, choices: DerivativeChoices | None = None) -> list[Any]:
    """(d tau / d q, d tau / d qd, M) over the freedoms, in plain numbers."""
    q, qd, qdd = (chain.model.rates(x.tolist()) for x in state)
    return [chain.model.gathered_matrix(m) for m in derivatives(chain, q, qd, qdd, choices)]


LOADED = {
    "gears": fa.load(Path(__file__).parent.parent / "data" / "geared.toml"),
    "drives": random_arm(6, 3),
    "puma560": fa.load("puma560"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LOADED)
@pytest.mark.sweep(first=2)
def test_friction_is_in_them_whatever_it_depends_on(name: str) -> None:
    arm = LOADED[name]
    kernel, (q, qd, qdd) = fa.compile(arm), random_state(arm, 4)
    made = kernel.inverse_dynamics_derivatives(q, qd, qdd)
    expected = [
        slopes(lambda x: dynamics.inverse(arm, x, rows(qd), rows(qdd)), q),
        slopes(lambda x: dynamics.inverse(arm, rows(q), x, rows(qdd)), qd),
        slopes(lambda x: dynamics.inverse(arm, rows(q), rows(qd), x), qdd),
    ]
    for matrix, slope in zip(made, expected, strict=True):
        assert_close(matrix, slope, 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
def test_they_are_slopes_of_the_reference(name: str) -> None:
    arm, (q, qd, qdd) = ARMS[name], random_state(ARMS[name], 4)
    by_q = slopes(lambda x: dynamics.inverse(arm, x, rows(qd), rows(qdd)), q)
    by_qd = slopes(lambda x: dynamics.inverse(arm, rows(q), x, rows(qdd)), qd)
    for chain in chains(arm):
        made = found(chain, (q, qd, qdd))
        assert_close(made[0], by_q, SLOPE)
        assert_close(made[1], by_qd, SLOPE)
        assert_close(made[2], dynamics.inertia_matrix(arm, q))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["stanford", "ur5"])
def test_they_are_what_the_graph_finds_itself(name: str) -> None:
    arm = fa.load(name)  # with its drives
    t = Tracing(arm, {})
    tau = t.inverse(t.qd, t.qdd)
    own = [jacobian(t.graph, tau, x) for x in (t.q, t.qd, t.qdd)]
    made = t.inverse_derivatives(t.qdd)
    given = np.random.default_rng(5).uniform(-1.5, 1.5, (3, arm.n))
    values = {
        f"{x}[{i}]": v
        for x, row in zip(("q", "qd", "qdd"), given.tolist(), strict=True)
        for i, v in enumerate(row)
    }
    for ours, theirs in zip(evaluate(t.graph, made, values), evaluate(t.graph, own, values), strict=True):
        assert_close(ours, theirs)


def test_choices_change_no_result() -> None:
    for arm in (random_arm(7, 3, prismatic=False).rigid(), SPECIAL["parallel"]):
        chain, state = chains(arm)[1], random_state(arm, 2)
        truth = found(chain, state)
        joints = [frozenset(some) for k in (1, 3) for some in itertools.combinations(range(arm.n), k)]
        for inside, late in itertools.product(joints, joints):
            for value, wanted in zip(
                found(chain, state, DerivativeChoices(inside, late)), truth, strict=True
            ):
                assert_close(value, wanted)


@pytest.mark.slow
def test_identities_of_mechanics() -> None:
    """d tau / d qd and its transpose are 2 dM/dt together; half the rate of their difference is that of
    d tau / d q and its transpose (Helmholtz).
    """
    for name in ("kind 2, 4", "RPPR", "followers"):
        arm = ARMS[name]
        chain, (q, qd, qdd) = chains(arm)[1], random_state(arm, 3)
        step = 1e-5
        before, after = (
            found(chain, (q + h * qd + 0.5 * h * h * qdd, qd + h * qdd, qdd)) for h in (-step, step)
        )
        by_q, by_qd, _ = (np.array(m, dtype=float) for m in found(chain, (q, qd, qdd)))
        rate = [np.array(b - a, dtype=float) / (2.0 * step) for a, b in zip(before, after, strict=True)]
        assert_close(by_qd + by_qd.T, 2.0 * rate[2], RATE)
        assert_close(by_q - by_q.T, 0.5 * (rate[1] - rate[1].T), RATE)


# Multiplications and additions, drives included; before, the graph's own derivatives took in all
# 4,991 and 1,161.
COUNTS = {"panda": (1112, 1013), "stanford": (442, 328)}


@pytest.mark.slow
@pytest.mark.parametrize("name", COUNTS)
def test_operations(name: str) -> None:
    traced = trace(Tracing(fa.load(name), {}), [FUNCTIONS["inverse_dynamics_derivatives"]])
    counts = traced.graph.counts(traced.results)
    assert (counts.mul, counts.add) == COUNTS[name]


@pytest.mark.slow
def test_columns_one_after_the_other_keep_few_values() -> None:
    traced = trace(Tracing(fa.load("puma560").rigid(), {}), [FUNCTIONS["inverse_dynamics_derivatives"]])
    graph, results = traced.graph, traced.results
    made = [place for place in graph.needed(results) if graph.kinds[place] >= MUL]
    places = grouped_order(graph, column_groups(traced))
    assert sorted(places) == made
    assert (most_live(graph, made, results), most_live(graph, places, results)) == (105, 96)


def test_long_arms_are_not_searched() -> None:
    chain = chain_of(model_of(fa.load("chain13")))
    assert best_choices(chain) == DerivativeChoices(late=frozenset({12}))


def test_symbols_are_taken_for_numbers() -> None:
    arm = random_arm(7, 3, prismatic=False).rigid()
    chain = chains(arm)[1]
    mass = Graph().parameter("mass")
    other = chain.changed(1, h=np.array([mass, 0.1 * mass, 0.0], dtype=object))
    assert best_choices(other) == best_choices(chain.changed(1, h=np.array([0.7, 0.3, 0.0])))
