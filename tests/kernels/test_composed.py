"""Derivatives that call other functions: those of long arms, and of friction under load, against
NumPy's inverse, slopes and the traced form; the same bits in one lane and for one state at a time.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from arms import posture, random_arm
from drives.making import loaded_arm
from dynamics.cases import simple_drives
from kernels.compiling import compiled
from kernels.truths import same

import forearm as fa
from forearm.kernels import compile_request
from forearm.kernels.compile_request import composed, is_composed
from forearm.kernels.compiled import CompileRequest
from forearm.kernels.native import host
from forearm.kernels.solve_ir import counts_of_solving, solve_text

DTYPES = ("float64", "float32")
TOLERANCES = {"float64": 1e-11, "float32": 2e-3}  # of the largest entry, times what M amplifies
INVERSE, FORWARD = compile_request.SLOPES
ARMS: dict[str, fa.Arm] = {
    "long": simple_drives(random_arm(32, 6, tree=True)),
    "short": simple_drives(random_arm(33, 3)),  # in the form of long ones
    "load": loaded_arm("turning", 7, 2),
}


@cache
def function(name: str, what: str, dtype: str, on_gpu: bool, left_open: str = "", each: bool = False) -> Any:
    """A function in the form of calls, for this machine's vectors or as a GPU's thread computes it: called
    with arrays of rows it gives its outputs.
    """
    request = CompileRequest(ARMS[name], (what,), dtype, (left_open,) if left_open else ())
    target = replace(host(dtype, 1), is_gpu=True) if on_gpu else host(dtype)
    text, inputs, outputs, _ = composed("f", request, target, each)
    call = compiled(text, "f", len(inputs) + len(outputs), target)

    def run(*given: Any) -> list[Any]:
        count = len(given[0])
        made = [np.empty((count, *a.shape), dtype=dtype) for a in outputs]
        if not on_gpu:
            call(*(x.ctypes.data for x in (*given, *made)), count)
            return made
        for row in range(count):
            rows = [x[row] if len(x) == count else x for x in (*given, *made)]
            call(*(x.ctypes.data for x in rows), 1)
        return made

    return run


def states(arm: fa.Arm, count: int, dtype: str = "float64") -> list[Any]:
    """Nothing near rest, where the sign of a rate would turn by rounding."""
    rng = np.random.default_rng([arm.n, 5])
    rates = rng.uniform(0.3, 1.4, (2, count, arm.n)) * rng.choice([-1.0, 1.0], (2, count, arm.n))
    return [np.ascontiguousarray(x, dtype=dtype) for x in (posture(arm, 3, count), *rates)]


def relative(found: Any, truth: Any) -> float:
    return float(np.abs(found - truth).max() / np.abs(truth).max())


def solved(matrices: list[Any], lanes: int, fused: bool = True) -> list[Any]:
    """-M^-1 B of each B, and the inverse of the last matrix, with vectors of so many lanes."""
    n, dtype = matrices[0].shape[-1], matrices[0].dtype
    target = replace(host(dtype.name, lanes), fused=fused and host(dtype.name).fused)
    name = "solve"
    text = solve_text(name, n, len(matrices) - 1, target).replace("define internal", "define")
    made = [np.ascontiguousarray(x) for x in np.array(matrices)]
    compiled(text, name, len(made), target)(*(x.ctypes.data for x in made), len(made[0]))
    return made


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 6, 37])
@pytest.mark.sweep
def test_solving_is_numpys_inverse(n: int, dtype: str) -> None:
    """Rows must change places: the largest entries are not on the diagonal. What has no inverse is not finite
    and spoils no other.
    """
    rng = np.random.default_rng(n)
    M, B = rng.uniform(-1.0, 1.0, (2, 5, n, n)).astype(dtype)
    M += 3.0 * np.eye(n, dtype=dtype)[rng.permutation(n)]
    truth = np.linalg.inv(M.astype(float))
    found = solved([B, M], 8)
    assert relative(found[1], truth) < TOLERANCES[dtype]
    assert relative(found[0], -truth @ B.astype(float)) < TOLERANCES[dtype]
    for lanes in (1, 2):
        assert same(solved([B, M], lanes), found)
    M[1], M[2, n // 2, n - 1] = 0.0, np.nan
    with np.errstate(all="ignore"):
        spoilt = solved([B, M], 4)
    for right, x in zip(found, spoilt, strict=True):
        assert not np.isfinite(x[1]).any()
        assert np.isnan(x[2]).all()
        assert np.array_equal(x[[0, 3, 4]], right[[0, 3, 4]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "what", "dtype"),
    [("short", INVERSE, "float32"), ("short", FORWARD, "float64"), ("load", FORWARD, "float64")],
)
def test_one_state_in_one_lane_has_the_bits_of_a_batch(name: str, what: str, dtype: str) -> None:
    given = states(ARMS[name], 21, dtype)
    given[1][3, -1] = np.nan
    wide, alone = (function(name, what, dtype, on_gpu)(*given) for on_gpu in (False, True))
    assert same(wide, alone)
    assert all(np.isnan(a[3]).all() and np.isfinite(np.delete(a, 3, axis=0)).all() for a in wide)


@pytest.mark.slow
def test_kernels_of_long_arms(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bits of one lane, by one thread or two, for one state or many; NumPy's inverse, and differences."""
    monkeypatch.setattr(compile_request, "LONGEST_FORWARD", 5)
    monkeypatch.setattr(compile_request, "LONGEST_TRACED", 5)
    arm = ARMS["long"]
    k: Any = fa.compile(arm)
    given = states(arm, 3)
    assert k.counts[FORWARD].mul > k.counts[INVERSE].mul + counts_of_solving(arm.n, 2).mul
    found = k.forward_dynamics_derivatives(*given, threads=1)
    assert same(found, function("long", FORWARD, "float64", True)(*given))
    assert same(found, k.forward_dynamics_derivatives(*given, threads=2))
    assert same([a[1] for a in found], k.forward_dynamics_derivatives(*(x[1] for x in given)))
    given[2] = k.forward_dynamics(given[0], given[1], given[2])
    slopes = k.inverse_dynamics_derivatives(*given)
    inverse = np.linalg.inv(slopes[2])
    for a, b in zip(found, (-inverse @ slopes[0], -inverse @ slopes[1], inverse), strict=True):
        assert relative(a, b) < 1e-9
    check_differences(k.inverse_dynamics, slopes, given, 2)


def check_differences(f: Any, slopes: Any, given: list[Any], every: int) -> None:
    """Columns of slopes against central differences, one of so many."""
    h, e = 1e-5, np.eye(given[0].shape[1])
    for which, found in enumerate(slopes):
        for j in range(0, len(e), every):
            ahead, back = (
                [x + s * h * e[j] if k == which else x for k, x in enumerate(given)] for s in (1.0, -1.0)
            )
            truth = (f(*ahead) - f(*back)) / (2.0 * h)
            assert np.abs(found[:, :, j] - truth).max() < 1e-6 * np.abs(found).max()


@pytest.mark.slow
def test_slopes_under_load() -> None:
    """Central differences of the reference's accelerations, which knows nothing of derivatives."""
    arm, given = ARMS["load"], states(ARMS["load"], 4)
    made = function("load", FORWARD, "float64", False)(*given)
    check_differences(lambda *x: fa.dynamics.forward(arm, *x), made, given, 1)


LONG_KINDS = {
    "friction at rest": simple_drives(random_arm(35, 2)).with_drives(
        friction=fa.Friction(viscous=0.4, coulomb=1.3, static=1.9, stribeck_speed=0.5)
    ),
    "followers": random_arm(36, 2, mimic=True, drives=False),
    "open parameters": random_arm(37, 2, drives=False),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", LONG_KINDS)
def test_long_arms_whose_joints_are_no_loop(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short ones in their form: central differences of the reference's accelerations."""
    monkeypatch.setattr(compile_request, "LONGEST_FORWARD", 1)
    arm = LONG_KINDS[kind]
    left_open = [f"{arm.links[-1].name}.mass"] if kind == "open parameters" else []
    assert is_composed(CompileRequest(arm, (FORWARD,), "float64", tuple(left_open)))
    k, given = fa.compile(arm, parameters=left_open), states(arm, 4)
    made = k.forward_dynamics_derivatives(*given)
    check_differences(lambda *x: fa.dynamics.forward(arm, *x), made, given, 1)
    assert same([a[1] for a in made], k.forward_dynamics_derivatives(*(x[1] for x in given)))


@pytest.mark.slow
def test_columns_are_those_of_the_traced_form() -> None:
    """An arm in both forms, its joints turning and sliding; both are slopes of the reference."""
    arm, given = ARMS["short"], states(ARMS["short"], 7)
    kernel = fa.compile(arm)
    for what, reference in ((INVERSE, fa.dynamics.inverse), (FORWARD, fa.dynamics.forward)):
        assert not is_composed(CompileRequest(arm, (what,), "float64"))
        made: Any = getattr(kernel, what)(*given)
        check_differences(lambda *x, reference=reference: reference(arm, *x), made, given, 1)
        for a, b in zip(made, function("short", what, "float64", False)(*given), strict=True):
            assert relative(a, b) < 1e-11


@pytest.mark.long
def test_open_parameters_under_load() -> None:
    """The arm's own values, shared and one row per state, give what the arm without open ones gives."""
    arm = ARMS["load"]
    name = f"{arm.links[-1].name}.mass"
    given, own = states(arm, 5), np.array([[arm.links[-1].mass]])
    truth = function("load", FORWARD, "float64", False)(*given)
    shared, rows = (
        function("load", FORWARD, "float64", False, name, each)(*given, np.repeat(own, 5 if each else 1, 0))
        for each in (False, True)
    )
    assert same(shared, rows)
    assert all(relative(a, b) < 1e-9 for a, b in zip(shared, truth, strict=True))
