"""Object files on emulated processors: the reference's numbers, the kernels' bits, the stack that headers
state.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from targets.cases import CASES, CLOSE, case, kernel, state
from targets.emulator import PROCESSORS, Emulator, evaluated

import forearm as fa
from forearm.kernels.cpu import HOST, processor
from forearm.targets.machines import TARGETS

KINDS = [(target, dtype) for target in PROCESSORS for dtype in TARGETS[target].dtypes]
LEFT = (
    24  # bytes of a stated stack that a function may leave: its last value may be short, and ends are rounded
)


def host_is_fused() -> bool:
    """Whether kernels of this machine have fused multiply-adds, as these targets do."""
    return processor(HOST).fused


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("target", "dtype"), KINDS)
@pytest.mark.sweep
def test_results_are_the_reference_and_bits_those_of_kernels(name: str, target: str, dtype: str) -> None:
    one = case(name)
    emulator = Emulator(one.source(target, dtype))
    found, used = evaluated(emulator, one.inputs, [truth.shape for truth in one.truth])
    one.check(found, dtype)
    stated = emulator.source.figures["stack_bytes"]
    assert used <= stated, "the header states all of the stack"
    assert stated <= used + max(LEFT, used // 10), "and not much more"
    if host_is_fused():
        expected = kernel(name, dtype, HOST)(*(np.asarray(x, dtype) for x in one.inputs))
        assert np.array_equal(found[0], expected)


@pytest.mark.slow
@pytest.mark.parametrize("target", [target for target in PROCESSORS if "float64" in TARGETS[target].dtypes])
@pytest.mark.sweep(first=1)
def test_numeric_inverse_kinematics_reaches_a_pose(target: str) -> None:
    arm = fa.load("puma560")
    T = fa.kinematics.forward(arm, np.array([0.3, -0.9, 1.1, 0.4, 0.7, -0.2]))
    start = np.array([0.1, -0.7, 0.9, 0.2, 0.5, 0.0])
    source = fa.generate(arm, "numeric_inverse_kinematics", target=target)
    (q, error), used = evaluated(Emulator(source), [start, T], [(6,), (2,)])
    assert (error < CLOSE).all()
    assert np.abs(fa.kinematics.forward(arm, q) - T).max() < 10 * CLOSE
    assert used <= source.figures["stack_bytes"]


@pytest.mark.slow
@pytest.mark.parametrize(("target", "dtype"), KINDS)
@pytest.mark.sweep(first=1)
def test_open_parameters_are_prepared_once(target: str, dtype: str) -> None:
    arm, names = fa.load("puma560-dhanaraj3"), ["link3.mass", "link3.com.x", "gravity.z"]
    source = fa.generate(arm, "inverse_dynamics", target=target, dtype=dtype, parameters=names)
    size = int(re.findall(r"const \w+ k\[(\d+)\]", source.header)[0])
    emulator = Emulator(source)
    q, qd, qdd = (x.astype(dtype) for x in state(arm.n, 6))
    p, k, tau = np.array([2.5, 0.11, -3.7], dtype), np.zeros(size + 1, dtype), np.zeros(arm.n, dtype)
    k[size] = 77.0
    used = emulator(f"{source.name}_prepare", p, k)
    assert k[size] == 77.0, "nothing is written behind the end"
    used = max(used, emulator(source.name, q, qd, qdd, k, tau))
    assert used <= source.figures["stack_bytes"]
    link = arm.link("link3")
    other = replace(link, mass=float(p[0]), com=np.array([float(p[1]), *link.com[1:]]))
    links = tuple(other if x is link else x for x in arm.links)
    changed = arm.replace(links=links, gravity=(*arm.gravity[:2], float(p[2])))
    truth = fa.dynamics.inverse(changed, q.astype(float), qd.astype(float), qdd.astype(float))
    assert np.abs(tau - truth).max() <= (1e-12 if dtype == "float64" else 2e-5) * np.abs(truth).max()
    p[0] = np.nan
    emulator(f"{source.name}_prepare", p, k)
    emulator(source.name, q, qd, qdd, k, tau)
    assert np.isnan(tau).all()


@pytest.mark.slow
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_gives_nan(bad: float) -> None:
    one = case("pose of a tree")
    emulator = Emulator(one.source("riscv64", "float64"))
    for k in range(one.arm.n):
        q = one.inputs[0].copy()
        q[k] = bad
        (T,), _ = evaluated(emulator, [q], [(4, 4)])
        assert np.isnan(T).all()


@pytest.mark.slow
@pytest.mark.parametrize(("target", "dtype"), KINDS)
@pytest.mark.sweep
def test_a_step_of_a_simulation(target: str, dtype: str) -> None:
    """Functions called at every stage are functions of the object file, too."""
    arm, h = fa.load("puma560-dhanaraj3"), 1e-3
    q, qd, tau = state(arm.n, 8)
    source = fa.generate(arm, "integration_step", target=target, dtype=dtype, method="rk4")
    made, used = evaluated(Emulator(source), [q, qd, tau, np.array([h])], [(arm.n,), (arm.n,)])
    assert used <= source.figures["stack_bytes"]
    run = fa.simulate(arm, q, qd, h, torque=lambda t: tau, method="rk4", step=h)
    for found, truth in zip(made, (run.q[-1], run.qd[-1]), strict=True):
        share = 1e-12 if dtype == "float64" else 1e-5
        assert np.abs(found - truth).max() <= share * np.abs(truth).max()
