"""Several functions as one: each result is that of the function alone, and what they
share is computed once.
"""

from __future__ import annotations

import pickle
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from codegen.truths import GENERAL
from dynamics.cases import simple_drives
from kernels import truths

import forearm as fa
from forearm.codegen.functions import FUNCTIONS
from forearm.kernels.fused import Fused
from forearm.kernels.kernel import Kernel
from forearm.kernels.thread_pool import WORTH

ARM = simple_drives(random_arm(25, 2, "standard"))
N = ARM.n
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
    given = truths.states(ARM, count, seed)
    return dict(zip(("q", "qd", "qdd", "tau"), [*given, 0.3 + given[1]], strict=True))


def called(function: Fused, given: dict[str, Any], **options: Any) -> dict[str, Any]:
    return function(*(given[name] for name in function.inputs), **options)


def own_outputs(name: str, inputs: tuple[str, ...]) -> dict[str, str]:
    """Names of a function's outputs alone and in a set with these inputs."""
    alone = FUNCTIONS[name].inputs
    return {
        f"{o}_out" if o in alone else o: f"{o}_out" if o in inputs else o for o in FUNCTIONS[name].outputs
    }


@pytest.mark.slow
@pytest.mark.parametrize("names", PAIRS, ids="+".join)
@pytest.mark.sweep(first=6)
def test_every_result_is_that_of_the_function_alone(names: tuple[str, ...]) -> None:
    """In the order of the names, of which one may come twice."""
    both, given = fused(*names, names[0]), states(13)
    found = called(both, given)
    assert list(found) == list(both.outputs)
    seen = set()
    for name in names:
        alone = called(fused(name), given)
        close = truths.allowed(ARM, "forward_dynamics" if name in CONDITIONED else name, given["q"])
        for single, together in own_outputs(name, both.inputs).items():
            seen.add(together)
            assert found[together].shape == (13, *both.outputs[together])
            scale = max(1e-3, np.abs(alone[single]).max())
            assert np.abs(found[together] - alone[single]).max() <= close * scale
    assert seen == set(found)


@pytest.mark.slow
def test_the_results_are_the_reference_with_inputs_in_order() -> None:
    every, given = fused(*NAMES), states(9)
    assert every.inputs == ("q", "qd", "qdd", "tau")
    assert every.outputs == {"tau_out": (N,), "qdd_out": (N,), "M": (N, N), "gravity": (N,), "J": (6, N)}
    for name, found in zip(NAMES, called(every, given).values(), strict=True):
        truth = truths.REFERENCE[name](ARM, *(given[x] for x in FUNCTIONS[name].inputs))
        truths.assert_close(found, truth, truths.allowed(ARM, name, given["q"]))
    assert fused("jacobian", "gravity").inputs == ("q",)
    both = fused("inverse_dynamics_derivatives", "inertia_matrix")  # they share an output
    assert list(both.outputs) == ["tau_q", "tau_qd", "M"]
    truths.assert_close(called(both, given)["M"], fa.dynamics.inertia_matrix(ARM, given["q"]))


@pytest.mark.parametrize(
    "names", [("inverse_dynamics", "inertia_matrix"), ("forward_kinematics", "jacobian")], ids="+".join
)
def test_what_is_shared_is_computed_once(names: tuple[str, ...]) -> None:
    together, parts = fused(*names).counts, [kernel().counts[name] for name in names]
    assert together.trig == max(part.trig for part in parts)
    operations = [part.mul + part.add for part in parts]
    assert max(operations) <= together.mul + together.add < sum(operations)


@pytest.mark.parametrize("count", [0, 1, 7, 8, WORTH + 3])
def test_neither_places_nor_threads_nor_arrays_for_results_change_a_bit(count: int) -> None:
    both, given = fused("inverse_dynamics", "inertia_matrix"), states(count, seed=count)
    whole = called(both, given, threads=1)
    assert [x.shape for x in whole.values()] == [(count, N), (count, N, N)]
    for threads in (None, 3):
        assert truths.same(called(both, given, threads=threads).values(), whole.values())
    for k in {0, count // 2, count - 1} if count else ():
        one, want = {name: x[k] for name, x in given.items()}, [x[k] for x in whole.values()]
        assert truths.same(called(both, one).values(), want)
    out = {name: np.full_like(value, 7.0) for name, value in reversed(whole.items())}
    found = called(both, given, out=out)
    assert list(found) == ["tau", "M"]
    assert all(value is out[name] for name, value in found.items())
    assert truths.same(found.values(), whole.values())


@pytest.mark.slow
def test_nan_spoils_everything_of_its_state() -> None:
    both, given = fused("inverse_dynamics", "inertia_matrix"), states(10)
    clean = called(both, given)
    given["qdd"][4, 0] = np.nan  # of which M knows nothing
    for name, value in called(both, given).items():
        assert np.isnan(value[4]).all()
        assert np.array_equal(np.delete(value, 4, axis=0), np.delete(clean[name], 4, axis=0))


def test_what_does_not_fit_is_told() -> None:
    both, (q, qd, qdd, _) = fused("inverse_dynamics", "inertia_matrix"), states(5).values()
    tau, M, memory = np.zeros((5, N)), np.zeros((5, N, N)), np.zeros(40)
    other = np.zeros((5, N))
    writeable, names = (
        "out: expected a writeable C-contiguous array",
        "out: expected one array for each of tau, M",
    )
    cases: list[tuple[Any, Any, str]] = [
        ((q, qd), {}, "expected the arguments q, qd, qdd, got 2"),
        ((q, qd, qdd, qdd), {}, "expected the arguments q, qd, qdd, got 4"),
        ((q, qd[:4], qdd), {}, r"qd: expected a number, \(2,\) or \(5, 2\) beside q"),
        ((q, qd, qdd), {"parameters": {}}, "parameters: this kernel has no open parameters"),
        *(((q, qd, qdd), {"out": out}, names) for out in ({"tau": tau}, {"tau": tau, "M": M, "J": tau}, {})),
        *(
            ((q, qd, qdd), {"out": {"tau": tau, "M": wrong}}, writeable)
            for wrong in (other, M[0], M.astype(np.float32), np.zeros((N, N, 5)).T, [0.0])
        ),
        ((q, qd, qdd), {"out": {"tau": tau, "M": None}}, "got None"),
        (
            (q, qd, qdd),
            {"out": {"tau": memory[:10].reshape(5, N), "M": memory[9:29].reshape(5, N, N)}},
            "tau, M must be separate arrays; two of them share memory",
        ),
    ]
    for given, options, message in cases:
        with pytest.raises(fa.InputError, match=message):
            both(*given, **options)
    with pytest.raises(fa.NameNotFound, match="did you mean 'gravity'"):
        kernel().fused(["inverse_dynamics", "gravty"])
    with pytest.raises(fa.InputError, match="fused: expected the names of functions"):
        kernel().fused([])


def test_sets_pickle_and_tell_what_they_are() -> None:
    both, given = fused("inverse_dynamics", "inertia_matrix"), states(4)
    again = pickle.loads(pickle.dumps(both))
    assert again.inputs == both.inputs
    assert truths.same(called(again, given).values(), called(both, given).values())
    assert "inverse_dynamics + inertia_matrix of <Kernel of 'random25'" in repr(both)


@pytest.mark.slow
def test_single_precision() -> None:
    single = fa.compile(ARM, "float32").fused(["inverse_dynamics", "inertia_matrix"])
    given = {name: x.astype(np.float32) for name, x in states(17).items()}
    exact = called(
        fused("inverse_dynamics", "inertia_matrix"), {k: x.astype(float) for k, x in given.items()}
    )
    for name, value in called(single, given).items():
        assert value.dtype == np.float32
        truths.assert_close(value, exact[name], truths.SINGLE)
