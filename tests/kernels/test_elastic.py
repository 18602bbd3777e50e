"""Compiled dynamics of elastic joints: one state and many, against the reference."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from codegen.test_elastic_functions import ARMS, FORWARD, INVERSE, given_for, truth_of
from dynamics.cases import assert_agree, simple_drives
from kernels.truths import same

import forearm as fa
from forearm import Arm, InputError, ModelError
from forearm.codegen.functions import FUNCTIONS
from forearm.dynamics import inertia_matrix
from forearm.kernels.dispatch import Call, run
from forearm.kernels.function_names import ELASTIC

CASES = [("every drive", FORWARD), ("damped", INVERSE), ("gaps", FORWARD), ("tree", INVERSE)]


def rows_for(arm: Arm, function: str, count: int) -> list[Any]:
    """The inputs of a function, (count, n) each."""
    made = [given_for(arm, k) for k in range(count)]
    return [np.array([g[name] for g in made]) for name in FUNCTIONS[function].inputs]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "function"), CASES)
def test_one_state_and_many(name: str, function: str) -> None:
    arm = ARMS[name]
    call = getattr(fa.compile(arm), function)
    given = rows_for(arm, function, 11)
    many = call(*given)
    outs = tuple(np.empty((11, arm.n)) for _ in many)
    assert call(*given, out=outs) is not None
    for k in (0, 5, 10):
        growth = max(1.0, float(np.linalg.cond(inertia_matrix(arm, given[0][k]))) / 10.0)
        truth = truth_of(arm, function, given_for(arm, k)).values()
        for _ in range(2):  # the second time by the code itself
            one = call(*(x[k] for x in given))
            for a, b, c, d in zip(one, many, outs, truth, strict=True):
                assert_agree(a, d, 1e-12 * (growth if function == FORWARD else 1.0))
                assert_agree(b[k], a, 1e-11)
                assert (b[k] == c[k]).all()


@pytest.mark.slow
@pytest.mark.parametrize("function", ELASTIC)
def test_threads_numbers_and_what_is_not_known(function: str) -> None:
    """And single precision, pickles, and a deflection that may be left out without damping."""
    arm = ARMS["bare springs"]
    kernel, given = fa.compile(arm), rows_for(arm, function, 300)
    call = getattr(kernel, function)
    whole = call(*given)
    assert same(call(*given, threads=2), whole)
    assert same(getattr(pickle.loads(pickle.dumps(kernel)), function)(*given), whole)
    if function == INVERSE:
        assert same(call(*given[:5]), whole)
    for a, b in zip(getattr(fa.compile(arm, "float32"), function)(*given), whole, strict=True):
        assert a.dtype == np.float32
        assert_agree(a, b, 1e-3)
    given[-1][7, 2] = np.nan
    for a, b in zip(call(*given), whole, strict=True):
        assert np.isnan(a[7]).all()
        assert np.array_equal(np.delete(a, 7, axis=0), np.delete(b, 7, axis=0))
    rest = len(given) - 1
    assert same(call(given[0], *[0.0] * rest), call(given[0], *[np.zeros((300, 4))] * rest))


def test_open_parameters() -> None:
    arm = simple_drives(ARMS["bare springs"])
    kernel, given = fa.compile(arm, parameters="drives"), rows_for(arm, FORWARD, 4)
    opened, plain = getattr(kernel, FORWARD), getattr(fa.compile(arm), FORWARD)
    for a, b in zip(opened(*given), plain(*given), strict=True):
        assert_agree(a, b, 1e-11)
    heavier = {"joint2.motor.rotor_inertia": 1.1 * kernel.parameters["joint2.motor.rotor_inertia"]}
    _, thetadd = opened(*given, parameters=heavier)
    assert_agree(1.1 * thetadd[:, 1], opened(*given)[1][:, 1], 1e-11)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "function"), CASES[:3])
def test_derivatives_as_frameworks_take_them(name: str, function: str) -> None:
    """Along rates of all inputs, through curves, gears, and what is solved for."""
    arm = ARMS[name]
    kernel, h = fa.compile(arm), 1e-6
    given = [given_for(arm, 7)[key] for key in FUNCTIONS[function].inputs]
    rng = np.random.default_rng(3)
    rates = [rng.normal(size=arm.n) for _ in given]
    found = run(kernel.compiled(function, derived=("forward",)), (*given, *rates), Call({}))
    ahead, back = (
        getattr(kernel, function)(*(x + k * h * v for x, v in zip(given, rates, strict=True)))
        for k in (1, -1)
    )
    for a, b, rate in zip(ahead, back, found, strict=True):
        assert_agree(rate, (a - b) / (2.0 * h), 1e-5)


def test_arms_are_asked_for_what_they_have() -> None:
    rigid, spinning, plain = fa.load("ur5"), ARMS["spinning"], ARMS["bare springs"]
    offered = [
        [name for name in fa.compile(arm).counts if name in ELASTIC] for arm in (rigid, spinning, plain)
    ]
    assert offered == [[], [FORWARD], list(ELASTIC)]
    for arm, function, options, message in (
        (rigid, FORWARD, {}, "elastic_forward_dynamics: 'ur5' has no elastic joint"),
        (spinning, INVERSE, {}, "Omit rotor_axis"),
        (plain, FORWARD, {"out": np.zeros(4)}, "out: expected a tuple of two arrays"),
        (ARMS["damped"], INVERSE, {}, "the springs of joint1, joint2, joint3 have damping.*pass deflection"),
    ):
        with pytest.raises((InputError, ModelError), match=message):
            getattr(fa.compile(arm), function)(*np.zeros((5, arm.n)), **options)
