"""Code for other processors: the levels of x86-64, one result each on every machine that has them."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import forearm as fa
from forearm.errors import InputError
from forearm.kernels import cpu
from forearm.kernels.cache_key import surroundings

ARM = fa.load("chain4")
RNG = np.random.default_rng(7)
STATES = RNG.uniform(-2.0, 2.0, (3, 37, 4))
ROUNDING = 1e-13  # relative: a hundred operations, with fused multiply-add or without


def here() -> list[str]:
    """The processors whose code this machine runs."""
    found = []
    for name in cpu.NAMES:
        try:
            cpu.processor(name)
        except InputError:
            continue
        found.append(name)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", here())
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.sweep
def test_every_level_computes_the_reference_alone_and_in_a_batch(name: str, dtype: str) -> None:
    k = fa.compile(ARM, dtype, cpu=name)
    q, qd, qdd = STATES.astype(dtype)
    tau = k.inverse_dynamics(q, qd, qdd)
    reference = fa.dynamics.inverse(ARM, *STATES)
    rounding = ROUNDING if dtype == "float64" else 1e-4
    assert np.abs(tau - reference).max() <= rounding * np.abs(reference).max()
    assert all((k.inverse_dynamics(q[i], qd[i], qdd[i]) == tau[i]).all() for i in range(len(q)))
    assert (k.inverse_dynamics(q, qd, qdd, threads=2) == tau).all()


@pytest.mark.slow
@pytest.mark.skipif("x86-64-v3" not in here(), reason="needs AVX2 and fused multiply-add")
def test_the_width_of_vectors_changes_no_bit_and_fused_multiply_add_does() -> None:
    """All machines of level v3 give one result, those of level v4 the same, and older ones another."""
    tau = {name: fa.compile(ARM, cpu=name).inverse_dynamics(*STATES) for name in here()}
    assert all((tau[name] == tau["x86-64-v3"]).all() for name in here() if name in ("x86-64-v4", "host"))
    assert (tau["x86-64"] == tau["x86-64-v2"]).all()
    assert (tau["x86-64"] == tau["generic"]).all()
    assert (tau["x86-64"] != tau["x86-64-v3"]).any()


def test_code_is_kept_under_the_level_that_it_is_for_and_not_under_this_machine() -> None:
    keys = {cpu.processor(name).name: surroundings(name) for name in here() if name != "host"}
    assert len({tuple(key) for key in keys.values()}) == len(keys)
    assert all(key[0] == name for name, key in keys.items())
    assert surroundings("host")[0] not in keys


@pytest.mark.slow
def test_the_variable_is_for_all_code_of_a_process() -> None:
    program = (
        "import forearm as fa; k = fa.compile(fa.load('chain1')); print(k.cpu, k.gravity([0.1]).shape); "
        "print(fa.simulate(fa.load('chain1'), [0.1], [0.0], 0.01, torque=[0.0]).status)"
    )
    environment = {**os.environ, "FOREARM_CPU": "generic", "FOREARM_COMPILE": "quick"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.split()[0] == "generic"


def test_kernels_keep_their_processor() -> None:
    k = fa.compile(ARM, cpu="generic")
    assert k.cpu == "generic"
    assert "generic" in repr(k)
    again = pickle.loads(pickle.dumps(k))
    assert again.cpu == "generic"
    assert (again.gravity(STATES[0]) == k.gravity(STATES[0])).all()
    assert "host" not in repr(fa.compile(ARM))


def test_others_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        InputError, match=r"compile, cpu: expected one of host, generic, x86-64, .*, got 'i386'"
    ):
        fa.compile(ARM, cpu="i386")
    with pytest.raises(InputError, match="compile, cpu: expected one of"):
        fa.compile(ARM, cpu=3)  # type: ignore[arg-type]
    monkeypatch.setenv("FOREARM_CPU", "cray")
    with pytest.raises(InputError, match=r"FOREARM_CPU: expected one of .*, got 'cray'"):
        fa.compile(ARM)
    missing = next((name for name in cpu.LEVELS if name not in here()), None)
    if missing is not None:
        with pytest.raises(InputError, match=f"{missing}"):
            fa.compile(ARM, cpu=missing).gravity(STATES[0])
