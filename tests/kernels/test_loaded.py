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

import forearm as fa
from forearm.codegen.functions import FUNCTIONS, trace
from forearm.codegen.tracing import Tracing
from forearm.kernels.ir import function_text
from forearm.kernels.kernel import Kernel
from forearm.kernels.native import host

DOUBLE = 1e-12  # of the largest entry
SOLVED = 1e-10  # of the largest torque
SINGLE, SINGLE_SOLVED = 1e-4, 1e-2
SLOPE = 1e-6  # of differences by seven points, where Stribeck's curve is steep
ARMS: dict[str, fa.Arm] = {
    "one": loaded_arm("turning", 3, 1),
    "chain": loaded_arm("chain", 6, 2),
    "bad gears": with_efficiency(loaded_arm("chain", 5, 3), 2),
    "tree": loaded_arm("tree", 4, 3),
    "followers": loaded_arm("followers", 7, 2),
}
EVERY = pytest.mark.parametrize("name", ARMS)


@cache
def kernel(name: str, dtype: str = "float64") -> Kernel:
    return fa.compile(ARMS[name], dtype=dtype)


def states(name: str, count: int, seed: int = 0) -> list[Array]:
    """Nothing near rest, where the sign of a rate would turn by rounding."""
    rng = np.random.default_rng([seed, 77])
    shape = (3, count, ARMS[name].n)
    return list(rng.uniform(0.2, 1.8, shape) * rng.choice([-1.0, 1.0], shape))


@pytest.mark.slow
@EVERY
def test_torques_are_the_reference(name: str) -> None:
    arm, (q, qd, qdd) = ARMS[name], states(name, 11)
    made = {
        "inverse": (kernel(name).inverse_dynamics(q, qd, qdd), fa.dynamics.inverse(arm, q, qd, qdd)),
        "bias": (kernel(name).bias(q, qd), fa.dynamics.bias(arm, q, qd)),
        "gravity": (kernel(name).gravity(q), fa.dynamics.gravity(arm, q)),
        "at rest": (
            kernel(name).inverse_dynamics(q, 0.0 * qd, qdd),
            fa.dynamics.inverse(arm, q, 0.0 * qd, qdd),
        ),
        "inertia": (kernel(name).inertia_matrix(q), fa.dynamics.inertia_matrix(arm, q)),
    }
    for what, (found, truth) in made.items():
        assert np.abs(found - truth).max() <= DOUBLE * np.abs(truth).max(), what


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
    q, qd, tau = states(name, 37, 2)
    tau *= 10.0 ** np.linspace(-2, 3, 37)[:, None]  # some need more steps than their neighbours
    together = kernel(name).forward_dynamics(q, qd, tau)
    for k in range(0, 37, 5):
        assert np.array_equal(kernel(name).forward_dynamics(q[k], qd[k], tau[k]), together[k])
    order = np.random.default_rng(0).permutation(37)
    assert np.array_equal(kernel(name).forward_dynamics(q[order], qd[order], tau[order]), together[order])
    for size in (1, 2, 3, 8, 9):
        assert np.array_equal(
            kernel(name).forward_dynamics(q[5 : 5 + size], qd[5 : 5 + size], tau[5 : 5 + size]),
            together[5 : 5 + size],
        )
    torques = kernel(name).inverse_dynamics(q, qd, together)
    assert np.array_equal(kernel(name).inverse_dynamics(q[3], qd[3], together[3]), torques[3])
    assert np.array_equal(kernel(name).forward_dynamics(q, qd, tau, threads=2), together)


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 4, 2, 8])
@pytest.mark.sweep(first=2)
def test_any_number_of_lanes(lanes: int) -> None:
    traced = trace(Tracing(ARMS["chain"], {}), [FUNCTIONS["forward_dynamics"]])
    target = host("float64", lanes)
    text = function_text("solve", traced, target)
    call = compiled(text, "solve", 4, target)
    given = [np.ascontiguousarray(x) for x in states("chain", 19, 3)]
    out = np.full_like(given[0], 7.0)
    call(*(x.ctypes.data for x in given), out.ctypes.data, len(out))
    assert np.array_equal(out, kernel("chain").forward_dynamics(given[0], given[1], given[2]))


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
arm = loaded_arm("chain", 6, 2)
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
@EVERY
@pytest.mark.sweep(first=2)
def test_nan_stays_in_its_row(name: str) -> None:
    q, qd, tau = states(name, 11, 4)
    clean = kernel(name).forward_dynamics(q, qd, tau)
    q[2, 0], qd[5, -1], tau[7, 0], tau[9, -1] = np.nan, np.nan, np.nan, np.inf
    spoilt = [2, 5, 7, 9]
    for found in (kernel(name).forward_dynamics(q, qd, tau), kernel(name).inverse_dynamics(q, qd, tau)):
        assert np.isnan(found[spoilt]).all()
        assert np.isfinite(np.delete(found, spoilt, axis=0)).all()
    assert np.array_equal(
        np.delete(kernel(name).forward_dynamics(q, qd, tau), spoilt, axis=0), np.delete(clean, spoilt, axis=0)
    )
    assert np.isnan(kernel(name).forward_dynamics(q[2], qd[2], tau[2])).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chain", "followers"])
@pytest.mark.sweep(first=1)
def test_single_precision(name: str) -> None:
    arm, (q, qd, qdd) = ARMS[name], states(name, 11)
    tau = fa.dynamics.inverse(arm, q, qd, qdd)
    found = kernel(name, "float32").inverse_dynamics(q, qd, qdd)
    assert found.dtype == np.float32
    assert np.abs(found - tau).max() <= SINGLE * np.abs(tau).max()
    back = fa.dynamics.inverse(arm, q, qd, kernel(name, "float32").forward_dynamics(q, qd, tau).astype(float))
    assert np.abs(back - tau).max() <= SINGLE_SOLVED * np.abs(tau).max()


def slopes(function: Any, x: Array) -> Array:
    """d function_i / d x_j of every row, by seven points."""
    h = 1e-2  # of the seven points' own step: corners and Stribeck's curve are near
    columns = [
        sum(w * function(x + h * o * e) for w, o in zip(SEVEN_POINTS, OFFSETS, strict=True)) / h
        for e in np.eye(x.shape[1])
    ]
    return np.stack(columns, axis=-1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one", "chain", "bad gears", "tree"])
@pytest.mark.sweep(first=1)
def test_slopes_of_torques(name: str) -> None:
    """Away from corners: rows whose differences with another step agree."""
    arm, (q, qd, qdd) = ARMS[name], states(name, 9, 5)
    by_q, by_qd, M = kernel(name).inverse_dynamics_derivatives(q, qd, qdd)
    for found, truth in (
        (by_q, slopes(lambda x: fa.dynamics.inverse(arm, x, qd, qdd), q)),
        (by_qd, slopes(lambda x: fa.dynamics.inverse(arm, q, x, qdd), qd)),
    ):
        assert np.abs(found - truth).max() <= SLOPE * np.abs(truth).max()
    # not the inertia matrix: friction follows the load
    truth = slopes(lambda x: fa.dynamics.inverse(arm, q, qd, x), qdd)
    assert np.abs(M - truth).max() <= SLOPE * np.abs(truth).max()


@pytest.mark.long
def test_slopes_of_accelerations() -> None:
    arm, (q, qd, tau) = ARMS["chain"], states("chain", 9, 5)
    by_q, by_qd, by_tau = kernel("chain").forward_dynamics_derivatives(q, qd, tau)
    for found, truth in (
        (by_q, slopes(lambda x: fa.dynamics.forward(arm, x, qd, tau), q)),
        (by_qd, slopes(lambda x: fa.dynamics.forward(arm, q, x, tau), qd)),
        (by_tau, slopes(lambda x: fa.dynamics.forward(arm, q, qd, x), tau)),
    ):
        assert np.abs(found - truth).max() <= 1e-5 * np.abs(truth).max()
