"""Several functions as one: each result is that of the function alone, and what they
share is computed once.
"""

from __future__ import annotations

import pickle
from dataclasses import astuple
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from arms import posture, random_arm
from codegen.truths import GENERAL
from dynamics.cases import simple_drives

import forearm as fa
from forearm.codegen.functions import FUNCTIONS
from forearm.kernels.fused import Fused
from forearm.kernels.kernel import Kernel
from forearm.kernels.thread_pool import WORTH

DOUBLE = 1e-12  # relative to the largest entry
FORWARD = 1e-12  # times the condition number of M
ARM = simple_drives(random_arm(25, 3, "standard"))
# Of the pairs of all functions those of which one is in the first row: what kernels have methods for.
NAMES = ("inverse_dynamics", "forward_dynamics", "inertia_matrix", "gravity", "jacobian")
OTHERS = tuple(
    name
    for name in GENERAL
    if name not in (*NAMES, "inverse_dynamics_derivatives", "forward_dynamics_derivatives")
)
PAIRS = [*combinations(NAMES, 2), *zip(OTHERS, NAMES * 3, strict=False)]
CONDITIONED = ("forward_dynamics", "forward_dynamics_derivatives")


@cache
def kernel() -> Kernel:
    return fa.compile(ARM)


@cache
def fused(*names: str) -> Fused:
    return kernel().fused(names)


def states(count: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    made = {name: rng.uniform(-2.0, 2.0, (count, ARM.n)) for name in ("qd", "qdd", "tau")}
    return {"q": posture(ARM, seed, count), **made}


def called(function: Fused, given: dict[str, Any], **options: Any) -> dict[str, Any]:
    return function(*(given[name] for name in function.inputs), **options)


def own_outputs(name: str, inputs: tuple[str, ...]) -> dict[str, str]:
    """Names of a function's outputs alone and in a set with these inputs."""
    alone = FUNCTIONS[name].inputs
    return {
        f"{o}_out" if o in alone else o: f"{o}_out" if o in inputs else o for o in FUNCTIONS[name].outputs
    }


def assert_close(got: Any, want: Any, tolerance: float = DOUBLE) -> None:
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= tolerance * max(1e-3, np.abs(want).max())


@pytest.mark.slow
@pytest.mark.parametrize("names", PAIRS, ids="+".join)
@pytest.mark.sweep(first=8)
def test_every_result_is_that_of_the_function_alone(names: tuple[str, ...]) -> None:
    both, given = fused(*names), states(13)
    found = called(both, given)
    assert list(found) == list(both.outputs)
    condition = float(np.linalg.cond(fa.dynamics.inertia_matrix(ARM, given["q"])).max())
    seen = set()
    for name in names:
        alone = called(fused(name), given)
        for single, together in own_outputs(name, both.inputs).items():
            seen.add(together)
            assert found[together].shape == (13, *both.outputs[together])
            assert_close(
                found[together], alone[single], FORWARD * condition if name in CONDITIONED else DOUBLE
            )
    assert seen == set(found)


@pytest.mark.slow
def test_the_results_are_the_reference() -> None:
    given = states(9)
    q, qd, qdd, tau = given.values()
    found = called(
        fused("inverse_dynamics", "forward_dynamics", "inertia_matrix", "gravity", "jacobian"), given
    )
    condition = float(np.linalg.cond(fa.dynamics.inertia_matrix(ARM, q)).max())
    assert list(found) == ["tau_out", "qdd_out", "M", "gravity", "J"]
    assert_close(found["tau_out"], fa.dynamics.inverse(ARM, q, qd, qdd))
    assert_close(found["qdd_out"], fa.dynamics.forward(ARM, q, qd, tau), FORWARD * condition)
    assert_close(found["M"], fa.dynamics.inertia_matrix(ARM, q))
    assert_close(found["gravity"], fa.dynamics.gravity(ARM, q))
    assert_close(found["J"], fa.kinematics.jacobian(ARM, q))


@pytest.mark.slow
def test_inputs_are_in_order_and_outputs_have_shapes() -> None:
    both = fused("forward_dynamics", "inertia_matrix")
    assert both.inputs == ("q", "qd", "tau")
    assert both.outputs == {"qdd": (3,), "M": (3, 3)}
    assert fused("jacobian", "gravity").inputs == ("q",)
    assert fused("inverse_dynamics", "forward_dynamics").inputs == ("q", "qd", "qdd", "tau")
    derivatives = fused("inverse_dynamics_derivatives", "inertia_matrix")  # they share an output
    assert list(derivatives.outputs) == ["tau_q", "tau_qd", "M"]
    assert_close(called(derivatives, states(2))["M"], fa.dynamics.inertia_matrix(ARM, states(2)["q"]))


@pytest.mark.parametrize(
    "names", [("inverse_dynamics", "inertia_matrix"), ("forward_kinematics", "jacobian")], ids="+".join
)
def test_what_is_shared_is_computed_once(names: tuple[str, ...]) -> None:
    together, parts = astuple(fused(*names).counts), [astuple(kernel().counts[name]) for name in names]
    assert fused(*names).counts.trig == max(kernel().counts[name].trig for name in names)
    assert sum(together[:2]) < sum(sum(part[:2]) for part in parts)
    assert sum(together[:2]) >= max(sum(part[:2]) for part in parts)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 1003])
def test_a_state_has_the_same_bits_alone_and_anywhere(count: int) -> None:
    both, given = fused("inverse_dynamics", "inertia_matrix"), states(count, seed=count)
    whole = called(both, given)
    for k in {0, count // 2, count - 1}:
        one = called(both, {name: x[k] for name, x in given.items()})
        for name, value in one.items():
            assert value.shape == both.outputs[name]
            assert np.array_equal(value, whole[name][k])


def test_threads_change_no_bit() -> None:
    both, given = fused("inverse_dynamics", "inertia_matrix"), states(WORTH + 3)
    one = called(both, given, threads=1)
    for threads in (None, 3):
        for name, value in called(both, given, threads=threads).items():
            assert np.array_equal(value, one[name])


def test_no_state_at_all() -> None:
    found = called(fused("inverse_dynamics", "inertia_matrix"), states(0))
    assert found["tau"].shape == (0, 3)
    assert found["M"].shape == (0, 3, 3)


@pytest.mark.slow
def test_nan_spoils_everything_of_its_state() -> None:
    both, given = fused("inverse_dynamics", "inertia_matrix", "jacobian"), states(10)
    clean = called(both, given)
    given["qdd"][4, 0] = np.nan  # of which M and J know nothing
    for name, value in called(both, given).items():
        assert np.isnan(value[4]).all()
        assert np.array_equal(np.delete(value, 4, axis=0), np.delete(clean[name], 4, axis=0))


def test_out_is_filled_and_returned() -> None:
    both, given = fused("inverse_dynamics", "inertia_matrix"), states(5)
    for some in (given, {name: x[2] for name, x in given.items()}):
        want = called(both, some)
        out = {name: np.full_like(value, 7.0) for name, value in reversed(want.items())}
        found = called(both, some, out=out)
        assert list(found) == ["tau", "M"]
        for name, value in found.items():
            assert value is out[name]
            assert np.array_equal(value, want[name])


def test_what_does_not_fit_is_told() -> None:
    both, (q, qd, qdd, _) = fused("inverse_dynamics", "inertia_matrix"), states(5).values()
    with pytest.raises(fa.InputError, match=r"expected the arguments q, qd, qdd, got 2"):
        both(q, qd)
    with pytest.raises(fa.InputError, match=r"expected the arguments q, qd, qdd, got 4"):
        both(q, qd, qdd, qdd)
    for out in (
        {"tau": np.zeros((5, 3))},
        {"tau": np.zeros((5, 3)), "M": np.zeros((5, 3, 3)), "J": np.zeros(1)},
        {},
    ):
        with pytest.raises(fa.InputError, match=r"out: expected one array for each of tau, M"):
            both(q, qd, qdd, out=out)
    for wrong in (
        np.zeros((5, 3)),
        np.zeros((3, 3)),
        np.zeros((5, 3, 3), np.float32),
        np.zeros((3, 3, 5)).T,
        [0.0],
    ):
        with pytest.raises(fa.InputError, match="out: expected a writeable C-contiguous array"):
            both(q, qd, qdd, out={"tau": np.zeros((5, 3)), "M": wrong})  # type: ignore[dict-item]
    with pytest.raises(fa.InputError, match="got None"):
        both(q, qd, qdd, out={"tau": np.zeros((5, 3)), "M": None})  # type: ignore[dict-item]
    memory = np.zeros(59)
    with pytest.raises(fa.InputError, match="tau, M must be separate arrays; two of them share memory"):
        both(q, qd, qdd, out={"tau": memory[:15].reshape(5, 3), "M": memory[14:].reshape(5, 3, 3)})
    with pytest.raises(fa.InputError, match=r"qd: expected a number, \(3,\) or \(5, 3\) beside q"):
        both(q, qd[:4], qdd)
    with pytest.raises(fa.InputError, match="parameters: this kernel has no open parameters"):
        both(q, qd, qdd, parameters={})
    with pytest.raises(fa.NameNotFound, match="did you mean 'gravity'"):
        kernel().fused(["inverse_dynamics", "gravty"])
    with pytest.raises(fa.InputError, match="fused: expected the names of functions"):
        kernel().fused([])


def test_names_given_twice_or_alone() -> None:
    given = states(3)
    assert np.array_equal(called(kernel().fused("gravity"), given)["gravity"], kernel().gravity(given["q"]))
    twice = kernel().fused(["gravity", "gravity"])
    assert twice.outputs == {"gravity": (3,)}
    assert twice.counts == kernel().counts["gravity"]


def test_sets_pickle_and_tell_what_they_are() -> None:
    both, given = fused("inverse_dynamics", "inertia_matrix"), states(4)
    again = pickle.loads(pickle.dumps(both))
    assert again.inputs == both.inputs
    for name, value in called(again, given).items():
        assert np.array_equal(value, called(both, given)[name])
    assert "inverse_dynamics + inertia_matrix of <Kernel of 'random25'" in repr(both)


@pytest.mark.slow
def test_single_precision() -> None:
    single = fa.compile(ARM, "float32").fused(["inverse_dynamics", "inertia_matrix"])
    given = {name: x.astype(np.float32) for name, x in states(17).items()}
    for name, value in called(single, given).items():
        assert value.dtype == np.float32
        exact = called(
            fused("inverse_dynamics", "inertia_matrix"), {k: x.astype(float) for k, x in given.items()}
        )
        assert_close(value, exact[name], 1e-4)
