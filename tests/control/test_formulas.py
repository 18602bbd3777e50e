"""Control laws written once: over numbers with the reference dynamics, and over symbols as machine code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from arms import random_arm
from control.hand_models import ReferenceHand
from numpy.typing import NDArray

import forearm as fa
from forearm import Arm
from forearm.control.controllers.forces import law_of_model
from forearm.control.controllers.formulas import CONTROL_LAWS, LawInputs, clamped, moving, state_next
from forearm.symbols import Graph, evaluate

Floats = NDArray[np.float64]
AGREE = 1e-12  # relative: two formulations in float64


ARMS: dict[str, Callable[[], Arm]] = {
    "puma560": lambda: fa.load("puma560"),
    "bearings and gears": lambda: random_arm(3, 3),
    "followers on a tree": lambda: random_arm(4, 4, tree=True, mimic=True),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("law", CONTROL_LAWS)
@pytest.mark.sweep
def test_a_law_over_symbols_is_the_law_over_numbers(law: str, name: str) -> None:
    arm, formula = ARMS[name](), CONTROL_LAWS[law]
    compiled = law_of_model(arm, law)
    assert tuple(compiled.inputs) == formula.inputs
    rng = np.random.default_rng(5)
    for _ in range(30):
        given = {name: rng.uniform(-1.0, 1.0, arm.n) for name in formula.inputs}
        for name, low in (("qd", 0.3), ("qd_wanted", 0.6), ("qd_ahead", 0.8)):
            if name in given:
                given[name][rng.uniform(size=arm.n) < low / 2.0] = 0.0  # some stand
        x = LawInputs(**given)
        made = compiled(*given.values())
        if "state" in formula.inputs:
            assert np.allclose(made[1], state_next(x), rtol=1e-15, atol=1e-15)
            made = made[0]
        truth = formula.torques(x, ReferenceHand(arm))
        assert np.abs(made - truth).max() <= AGREE * np.abs(truth).max()


def test_a_joint_that_stands_or_goes_astray_moves_as_wanted() -> None:
    values = (-2.0, -1e-300, 0.0, -0.0, 1e-300, 0.5)
    graph = Graph()
    symbols = moving(graph.input("qd"), graph.input("ahead"))
    for qd in values:
        for ahead in values:
            truth = ahead if qd == 0.0 or np.sign(qd) * np.sign(ahead) < 0.0 else qd
            over_arrays = moving(np.array([qd]), np.array([ahead]))
            over_symbols = evaluate(graph, list(symbols), {"qd": qd, "ahead": ahead})
            for velocity, direction in (moving(qd, ahead), over_arrays, over_symbols):
                assert velocity == truth
                assert direction == np.sign(truth)
    assert np.isnan(moving(np.array([np.nan]), np.array([1.0]))[0]).all()


def test_what_is_wanted_alone_needs_no_choice() -> None:
    x = Graph().input("x[0]")
    velocity, direction = moving(x, x)
    assert velocity is x
    assert (direction.node, direction.negative) == (x.sign().node, False)


def test_clamps_are_exact_over_any_scalar() -> None:
    values = np.array([-3.0, -0.7, -0.2, 0.0, 0.699, 0.7, 5.0])
    truth = np.clip(values, -0.7, 0.7)
    graph = Graph()
    x = graph.input("x")
    assert np.array_equal(clamped(values, 0.7), truth)
    assert np.array_equal(evaluate(graph, clamped(x, 0.7), {"x": values}), truth)
    assert np.array_equal(evaluate(graph, clamped(-x, 0.7), {"x": values}), -truth)
    assert [clamped(v, 0.7) for v in values.tolist()] == truth.tolist()
    assert clamped(x, np.inf) is x
    assert graph.counts(clamped(x, 0.7)).operations == 2
