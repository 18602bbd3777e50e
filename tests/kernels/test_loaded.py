"""Kernels of arms whose friction depends on the load: the reference's torques,
accelerations that need just these torques.
"""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import OFFSETS, SEVEN_POINTS, Array
from drives.making import loaded_arm, with_efficiency
from kernels.compiling import compiled
from kernels.truths import DOUBLE, FUNCTIONS, REFERENCE, SINGLE

import forearm as fa
from forearm.codegen.functions import FUNCTIONS as FORMULAS
from forearm.codegen.functions import trace
from forearm.codegen.tracing import Tracing
from forearm.kernels.ir import function_text
from forearm.kernels.native import host

SOLVED = 1e-10  # of the largest torque
SINGLE_SOLVED = 1e-2
SLOPE = 1e-6  # of differences by seven points, where Stribeck's curve is steep
ARMS: dict[str, fa.Arm] = {
    "one": loaded_arm("turning", 3, 1),
    "chain": loaded_arm("chain", 6, 2),
    "bad gears": with_efficiency(loaded_arm("chain", 5, 2), 2),
    "tree": loaded_arm("tree", 4, 2),
    "followers": loaded_arm("followers", 7, 2),
}
EVERY = pytest.mark.parametrize("name", ARMS)


@cache
def kernel(name: str, dtype: str = "float64") -> Any:
    return fa.compile(ARMS[name], dtype=dtype)


def states(name: str, count: int, seed: int = 0) -> list[Array]:
    """Nothing near rest, where the sign of a rate would turn by rounding."""
    rng = np.random.default_rng([seed, 77])
    shape = (3, count, ARMS[name].n)
    return list(rng.uniform(0.2, 1.8, shape) * rng.choice([-1.0, 1.0], shape))


def largest(found: Any, truth: Any) -> float:
    """The largest difference, relative to the largest entry."""
    return float(np.abs(found - truth).max() / np.abs(truth).max())


@pytest.mark.slow
@EVERY
def test_torques_are_the_reference(name: str) -> None:
    q, qd, qdd = states(name, 11)
    for function in ("inverse_dynamics", "bias", "gravity", "inertia_matrix"):
        for rates in (qd, 0.0 * qd):
            given = (q, rates, qdd)[: FUNCTIONS[function]]
            found, truth = getattr(kernel(name), function)(*given), REFERENCE[function](ARMS[name], *given)
            assert largest(found, truth) <= DOUBLE


@pytest.mark.slow
@EVERY
@pytest.mark.parametrize("size", [0.0, 1.0, 300.0])
@pytest.mark.sweep(first=2)
def test_accelerations_need_just_these_torques(name: str, size: float) -> None:
    """Torques that no motion was made for; at rest, where no friction has a direction, too."""
    arm, (q, qd, x) = ARMS[name], states(name, 40, 1)
    qd[::7] = 0.0
    tau = size * x
    qdd = kernel(name).forward_dynamics(q, qd, tau)
    back = fa.dynamics.inverse(arm, q, qd, qdd)
    scale = np.maximum(
        np.abs(tau).max(axis=1), np.abs(fa.dynamics.inverse(arm.rigid(), q, qd, qdd)).max(axis=1)
    )
    assert (np.abs(back - tau).max(axis=1) <= SOLVED * np.maximum(scale, 1.0)).all()
    truth = fa.dynamics.forward(arm, q, qd, tau)
    assert np.abs(qdd - truth).max() <= 1e-8 * np.abs(truth).max()


@pytest.mark.slow
@EVERY
@pytest.mark.sweep(first=2)
def test_the_same_bits_alone_in_a_batch_and_anywhere_in_it(name: str) -> None:
    """NaN stays in its row."""
    q, qd, tau = states(name, 37, 2)
    tau *= 10.0 ** np.linspace(-2, 3, 37)[:, None]  # some need more steps than their neighbours

    def solved(at: Any = slice(None), **options: Any) -> Any:
        return kernel(name).forward_dynamics(q[at], qd[at], tau[at], **options)

    together, order = solved(), np.random.default_rng(0).permutation(37)
    torques = kernel(name).inverse_dynamics(q, qd, together)
    for at in (*range(0, 37, 5), order, *(slice(5, 5 + size) for size in (1, 2, 3, 8, 9))):
        assert np.array_equal(solved(at), together[at])
    assert np.array_equal(solved(threads=2), together)
    assert np.array_equal(kernel(name).inverse_dynamics(q[3], qd[3], together[3]), torques[3])
    q[2, 0], qd[5, -1], tau[7, 0], tau[9, -1] = np.nan, np.nan, np.nan, np.inf
    spoilt = [2, 5, 7, 9]
    for found, clean in ((solved(), together), (kernel(name).inverse_dynamics(q, qd, tau), torques)):
        assert np.isnan(found[spoilt]).all()
        assert np.isfinite(np.delete(found, spoilt, axis=0)).all()
        if clean is together:
            assert np.array_equal(np.delete(found, spoilt, axis=0), np.delete(clean, spoilt, axis=0))
    assert np.isnan(solved(2)).all()


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 4, 2, 8])
@pytest.mark.sweep(first=2)
def test_any_number_of_lanes(lanes: int) -> None:
    traced = trace(Tracing(ARMS["one"], {}), [FORMULAS["forward_dynamics"]])
    target = host("float64", lanes)
    call = compiled(function_text("solve", traced, target), "solve", 4, target)
    given = [np.ascontiguousarray(x) for x in states("one", 19, 3)]
    out = np.full_like(given[0], 7.0)
    call(*(x.ctypes.data for x in (*given, out)), len(out))
    assert np.array_equal(out, kernel("one").forward_dynamics(given[0], given[1], given[2]))


@pytest.mark.slow
@pytest.mark.parametrize("function", ["forward_dynamics", "accelerations"])
@pytest.mark.sweep(first=1)
def test_large_batches_take_no_more_of_the_stack(function: str) -> None:
    """In a thread with little of it, and in a process of its own, which would crash."""
    code = f"""
import threading
import numpy as np, forearm as fa
from drives.making import loaded_arm
from forearm.kernels.rollout import PlantOptions, Simulator
arm = loaded_arm("turning", 3, 1)
q, qd, tau = np.random.default_rng(0).uniform(0.2, 1.8, (3, 40000, arm.n))
def work():
    if {function!r} == "forward_dynamics":
        fa.compile(arm).forward_dynamics(q, qd, tau, threads=1)
    else:
        made = Simulator(arm, PlantOptions(False), (0.0,), ((),), (1.0,))
        made.accelerations_of(q, qd, tau, np.sign(qd), np.ones_like(q))
    print("done")
threading.stack_size(1 << 19)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one", "followers"])
@pytest.mark.sweep(first=1)
def test_single_precision(name: str) -> None:
    arm, (q, qd, qdd), single = ARMS[name], states(name, 11), kernel(name, "float32")
    tau = fa.dynamics.inverse(arm, q, qd, qdd)
    found = single.inverse_dynamics(q, qd, qdd)
    assert found.dtype == np.float32
    assert largest(found, tau) <= SINGLE
    back = fa.dynamics.inverse(arm, q, qd, single.forward_dynamics(q, qd, tau).astype(float))
    assert largest(back, tau) <= SINGLE_SOLVED


def check_slopes(found: Any, function: Any, given: Any, close: float) -> None:
    """d function_i / d x_j of every row, by seven points; away from corners, and from Stribeck's curve."""
    h = 1e-2  # of the seven points' own step
    for k, slopes in enumerate(found):  # the last is not the inertia matrix: friction follows the load
        columns = [
            sum(
                w * function(*(x + h * o * e if i == k else x for i, x in enumerate(given)))
                for w, o in zip(SEVEN_POINTS, OFFSETS, strict=True)
            )
            / h
            for e in np.eye(given[k].shape[1])
        ]
        assert largest(slopes, np.stack(columns, axis=-1)) <= close


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one", "chain", "bad gears", "tree"])
@pytest.mark.sweep(first=1)
def test_slopes_of_torques(name: str) -> None:
    given = states(name, 9, 5)
    found = kernel(name).inverse_dynamics_derivatives(*given)
    check_slopes(found, lambda *x: fa.dynamics.inverse(ARMS[name], *x), given, SLOPE)


@pytest.mark.long
def test_slopes_of_accelerations() -> None:
    given = states("chain", 9, 5)
    found = kernel("chain").forward_dynamics_derivatives(*given)
    check_slopes(found, lambda *x: fa.dynamics.forward(ARMS["chain"], *x), given, 1e-5)
