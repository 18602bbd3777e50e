"""Shared objects for CasADi, called by hand: values as the kernel's, derivatives as differences of them and
as each other.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from frameworks.casadi_protocol import CalledByHand
from sweeps import long

import forearm as fa
from forearm.codegen.functions import FUNCTIONS
from forearm.frameworks import casadi_functions
from forearm.frameworks.casadi_c import write_c
from forearm.frameworks.casadi_external import write_shared_object
from forearm.kernels import shared_object
from forearm.kernels.dispatch import Call, run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shared_object.is_possible(), reason="no shared object is written on this machine"),
]
STEP, CLOSE = 1e-6, 2e-7  # of central differences, and what they leave of values near 1
ARM = random_arm(5, 3, drives=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("casadi")


@pytest.fixture(scope="module")
def torques(folder: Path) -> Path:
    return write_shared_object(fa.compile(ARM), "inverse_dynamics", folder / "torques.so")


def states(count: int, size: int = ARM.n, seed: int = 1) -> list[Any]:
    return list(np.random.default_rng(seed).uniform(-1.0, 1.0, (count, size)))


def close(made: Any, expected: Any) -> None:
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(np.asarray(made) / scale, np.asarray(expected) / scale, atol=CLOSE)


def slope(function: CalledByHand, given: list[Any], rates: list[Any]) -> list[Any]:
    """How the outputs change along rates of the inputs, by differences."""
    ahead, back = (
        function([x + s * STEP * v for x, v in zip(given, rates, strict=True)]) for s in (1.0, -1.0)
    )
    return [(a - b) / (2.0 * STEP) for a, b in zip(ahead, back, strict=True)]


def test_values_are_the_kernels_bit_for_bit(torques: Path) -> None:
    f, given = CalledByHand(torques, "inverse_dynamics"), states(3)
    assert (f.names_in, f.names_out) == (["q", "qd", "qdd"], ["tau"])
    (tau,) = f(given)
    assert tau.ravel().tobytes() == fa.compile(ARM).inverse_dynamics(*given).tobytes()


def test_jacobian_agrees_with_the_kernels_and_with_differences(torques: Path) -> None:
    f, jac, given = (
        CalledByHand(torques, "inverse_dynamics"),
        CalledByHand(torques, "jac_inverse_dynamics"),
        states(3),
    )
    assert jac.names_in == ["q", "qd", "qdd", "out_tau"]
    assert jac.names_out == ["jac_tau_q", "jac_tau_qd", "jac_tau_qdd"]
    assert jac.patterns_in[3] == ((ARM.n, 1), [])
    blocks = jac([*given, None])
    for block, expected in zip(blocks, fa.compile(ARM).inverse_dynamics_derivatives(*given), strict=True):
        np.testing.assert_allclose(block, expected, rtol=1e-11, atol=1e-11)
    for k, block in enumerate(blocks):
        for j in range(ARM.n):
            rates = [np.eye(ARM.n)[j] if i == k else 0.0 * x for i, x in enumerate(given)]
            close(block[:, j : j + 1], slope(f, given, rates)[0])


def test_jacobian_leaves_out_what_is_always_zero(folder: Path) -> None:
    """Torques do not depend on where the first joint stands, if its axis is upright."""
    arm = fa.load("puma560-dhanaraj3")
    path = write_shared_object(fa.compile(arm), "inverse_dynamics", folder / "puma.so", derivatives=1)
    jac = CalledByHand(path, "jac_inverse_dynamics")
    shape, places = jac.patterns_out[0]
    assert shape == (3, 3)
    assert 0 < len(places) <= 6
    assert all(j != 0 for _, j in places)
    given = states(3)
    expected = fa.compile(arm).inverse_dynamics_derivatives(*given)[0]
    np.testing.assert_allclose(jac([*given, None])[0], expected, rtol=1e-11, atol=1e-11)


def check_first(path: Path, name: str, given: list[Any]) -> None:
    """`fwd1_` against differences, `adj1_` and, if it is there, `jac_` against `fwd1_`."""
    f, ahead, back = (CalledByHand(path, f"{way}{name}") for way in ("", "fwd1_", "adj1_"))
    rng = np.random.default_rng(7)
    rates = [rng.uniform(-1.0, 1.0, shape) for shape, _ in f.patterns_in]
    weights = [rng.uniform(-1.0, 1.0, shape) for shape, _ in f.patterns_out]
    nothing = [None] * len(weights)
    given = [np.reshape(x, shape, order="F") for x, (shape, _) in zip(given, f.patterns_in, strict=True)]
    moved = ahead([*given, *nothing, *rates])
    for a, b in zip(moved, slope(f, given, rates), strict=True):
        close(a, b)
    pulled = back([*given, *nothing, *weights])
    here = sum((w * m).sum() for w, m in zip(weights, moved, strict=True))
    there = sum((p * r).sum() for p, r in zip(pulled, rates, strict=True))
    np.testing.assert_allclose(there, here, rtol=1e-9)
    if hasattr(f.library, f"jac_{name}"):
        blocks = iter(CalledByHand(path, f"jac_{name}")([*given, *nothing]))
        for m in moved:
            total = sum(next(blocks) @ r.reshape(-1, 1, order="F") for r in rates)
            close(total.ravel(), m.ravel(order="F"))


QUICK = ["forward_kinematics", "jacobian", "kinetic_energy", "reactions"]
REST = [name for name in FUNCTIONS if name not in QUICK and "inverse_kinematics" not in name]


@pytest.mark.parametrize("name", [*QUICK, *long(REST)])
def test_every_function_in_the_order_of_columns(name: str, folder: Path) -> None:
    arm = random_arm(8, 2)
    kernel = fa.compile(arm)
    path = write_shared_object(kernel, name, folder / f"{name}.so", derivatives=1)
    f, compiled = CalledByHand(path, name), kernel.compiled(name)
    given = states(len(f.names_in), arm.n, 3)
    expected = run(compiled, tuple(given), Call({}, None, 1))
    for made, array, slot in zip(f(given), expected, compiled.outputs, strict=True):
        assert made.shape == (*slot.shape, 1)[:2]
        np.testing.assert_allclose(made.reshape(slot.shape), array, rtol=1e-12, atol=1e-12)
    check_first(path, name, given)


@pytest.mark.long
def test_inverse_kinematics_takes_a_pose_in_the_order_of_columns(folder: Path) -> None:
    arm = fa.load("puma560")
    kernel, q = fa.compile(arm), np.array([0.3, -0.5, 0.8, 0.4, 0.9, -0.7])
    T = kernel.forward_kinematics(q)
    path = write_shared_object(kernel, "inverse_kinematics", folder / "ik.so", derivatives=1)
    f, ahead = (CalledByHand(path, f"{way}inverse_kinematics") for way in ("", "fwd1_"))
    assert f.patterns_in[0][0] == (4, 4)
    (branches,) = f([T])
    np.testing.assert_array_equal(branches, kernel.inverse_kinematics(T))
    far = np.abs(np.angle(np.exp(1j * (branches - q)))).max(axis=1)
    nearest = int(np.nanargmin(far))
    assert far[nearest] < 1e-9
    # Along a motion of the hand that q makes the branch moves as q does.
    rate = states(1, 6, 9)[0]
    T_rate = (kernel.forward_kinematics(q + STEP * rate) - kernel.forward_kinematics(q - STEP * rate)) / (
        2 * STEP
    )
    (moved,) = ahead([T, None, T_rate])
    np.testing.assert_allclose(moved[nearest], rate, atol=1e-6)


@pytest.mark.long
def test_what_iterates_has_no_derivatives(folder: Path) -> None:
    kernel = fa.compile(random_arm(2, 3, prismatic=False, drives=False))
    path = write_shared_object(kernel, "numeric_inverse_kinematics", folder / "nik.so")
    f = CalledByHand(path, "numeric_inverse_kinematics")
    (q,) = states(1)
    found, error = f([q + 0.01, kernel.forward_kinematics(q)])
    assert not hasattr(f.library, "jac_numeric_inverse_kinematics")
    assert error.max() < 1e-9
    np.testing.assert_allclose(found.ravel(), q, atol=1e-6)


def test_hessians_agree_with_differences_of_gradients(torques: Path) -> None:
    back, twice = (CalledByHand(torques, f"{way}inverse_dynamics") for way in ("adj1_", "jac_adj1_"))
    q, qd, qdd, weight = states(4)
    assert twice.names_in == [*back.names_in, "out_adj_q", "out_adj_qd", "out_adj_qdd"]
    assert len(twice.names_out) == 15
    assert twice.names_out[:5] == [f"jac_adj_q_{x}" for x in ("q", "qd", "qdd", "out_tau", "adj_tau")]
    blocks = dict(zip(twice.names_out, twice([q, qd, qdd, None, weight, None, None, None]), strict=True))
    for k, name in {0: "q", 1: "qd", 2: "qdd", 4: "adj_tau"}.items():
        for j in range(ARM.n):
            given = [q, qd, qdd, 0.0 * q, weight]
            rates = [np.eye(ARM.n)[j] if i == k else 0.0 * q for i in range(5)]
            for of, column in zip(("q", "qd", "qdd"), slope(back, given, rates), strict=True):
                block = blocks[f"jac_adj_{of}_{name}"]
                close(block[:, j : j + 1], column)


@pytest.fixture(scope="module")
def directions(folder: Path) -> Path:
    """A function none of whose Jacobians is written out."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(casadi_functions, "MOST_OPERATIONS", 0)
        changed.setenv("FOREARM_CACHE", "off")
        return write_shared_object(fa.compile(ARM), "bias", folder / "directions.so")


@pytest.mark.parametrize("way", ["adj1_", "fwd1_"])
def test_second_derivatives_one_direction_at_a_time(way: str, directions: Path) -> None:
    """Of gradients and of rates, forwards against differences, backwards against forwards."""
    once, ahead, back = (CalledByHand(directions, f"{two}{way}bias") for two in ("", "fwd1_", "adj1_"))
    assert not hasattr(once.library, "jac_bias")
    assert not hasattr(once.library, "jac_adj1_bias")
    rng = np.random.default_rng(8)
    there = [bool(places) for _, places in once.patterns_in]  # all but what stands for outputs
    given, rates = ([rng.uniform(-1.0, 1.0, shape) for shape, _ in once.patterns_in] for _ in range(2))
    rates = [x if used else 0.0 * x for x, used in zip(rates, there, strict=True)]
    weights = [rng.uniform(-1.0, 1.0, shape) for shape, _ in once.patterns_out]
    nothing = [None] * len(weights)
    moved = ahead([*given, *nothing, *rates])
    for made, expected in zip(moved, slope(once, given, rates), strict=True):
        close(made, expected)
    pulled = back([*given, *nothing, *weights])
    here = sum((w * m).sum() for w, m in zip(weights, moved, strict=True))
    np.testing.assert_allclose(
        sum((p * r).sum() for p, r in zip(pulled, rates, strict=True)), here, rtol=1e-9
    )


def test_open_parameters_are_the_last_input(folder: Path) -> None:
    kernel = fa.compile(ARM, parameters=[f"{ARM.links[-1].name}.mass", "gravity"])
    path = write_shared_object(kernel, "inverse_dynamics", folder / "open.so", derivatives=1)
    f, given, values = (
        CalledByHand(path, "inverse_dynamics"),
        states(3),
        np.array(list(kernel.parameters.values())),
    )
    assert f.names_in == ["q", "qd", "qdd", "parameters"]
    (tau,) = f([*given, values * 1.1])
    np.testing.assert_allclose(
        tau.ravel(), kernel.inverse_dynamics(*given, parameters=values * 1.1), rtol=1e-13
    )
    check_first(path, "inverse_dynamics", [*given, values])
    assert np.isnan(f.default(3)), "zeros in the place of masses would look like an answer"
    assert f.default(0) == 0.0


@pytest.mark.parametrize("name", ["inverse_dynamics", *long(["forward_dynamics"])])
def test_friction_that_depends_on_the_load_is_differentiated(name: str, folder: Path) -> None:
    arm = fa.load(Path(__file__).parent.parent / "data" / "geared.toml")
    path = write_shared_object(fa.compile(arm), name, folder / f"geared_{name}.so", derivatives=1)
    check_first(path, name, states(3, arm.n, 4))


def test_several_functions_are_one(folder: Path) -> None:
    kernel = fa.compile(ARM)
    path = write_shared_object(kernel, ["inertia_matrix", "bias"], folder / "both.so", derivatives=1)
    f, (q, qd) = CalledByHand(path, "inertia_matrix_and_bias"), states(2)
    M, bias = f([q, qd])
    np.testing.assert_allclose(M, kernel.inertia_matrix(q), rtol=1e-12)
    np.testing.assert_allclose(bias.ravel(), kernel.bias(q, qd), rtol=1e-12)
    check_first(path, "inertia_matrix_and_bias", [q, qd])


def test_null_pointers_are_zeros_and_what_is_not_wanted(torques: Path) -> None:
    f, jac = CalledByHand(torques, "inverse_dynamics"), CalledByHand(torques, "jac_inverse_dynamics")
    (q,) = states(1)
    still = 0.0 * q
    np.testing.assert_array_equal(f([q, None, None])[0], f([q, still, still])[0])
    whole, some = jac([q, q, q, None]), jac([q, q, q, None], wanted=[1])
    assert some[0] is some[2] is None
    np.testing.assert_array_equal(some[1], whole[1])


def test_what_is_not_finite_gives_no_number(torques: Path) -> None:
    q, qd, qdd = states(3)
    q[1] = np.inf
    for name in ("inverse_dynamics", "jac_inverse_dynamics"):
        f = CalledByHand(torques, name)
        given = [q, qd, qdd, None][: len(f.names_in)]
        for made, (_, places) in zip(f(given), f.patterns_out, strict=True):
            assert all(np.isnan(made[place]) for place in places)


def test_threads_share_a_function(torques: Path) -> None:
    f, many = (
        CalledByHand(torques, "jac_inverse_dynamics"),
        np.random.default_rng(2).uniform(-1, 1, (4, 50, 3, ARM.n)),
    )
    expected = [[np.concatenate(f([*x, None])) for x in some] for some in many]
    made: list[Any] = [None] * len(many)

    def work(k: int) -> None:
        made[k] = [np.concatenate(f([*x, None])) for x in many[k]]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(many))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(made, expected)


def test_c_says_the_same(folder: Path) -> None:
    """What other systems compile, as text: every name that the shared object has is there."""
    kernel = fa.compile(ARM)
    text = write_c(kernel, "inverse_dynamics", folder / "torques.c", 1).read_text(encoding="utf-8")
    for name in ("inverse_dynamics", "jac_inverse_dynamics", "adj1_inverse_dynamics"):
        assert f"EXPORT int {name}(const double **arg" in text
        assert f"EXPORT const long long *{name}_sparsity_out(long long i)" in text
    assert "cc -O2 -shared -fPIC -o inverse_dynamics.so" in text


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["inverse_dynamics", "forward_kinematics", "inertia_matrix", "inverse_kinematics"]
)
def test_c_computes_the_same(name: str, folder: Path) -> None:
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("no C compiler")
    arm = fa.load("puma560")
    opened = [] if name == "inverse_kinematics" else [f"{arm.links[-1].name}.mass", "gravity.z"]
    kernel = fa.compile(arm, parameters=opened)
    source = write_c(kernel, name, folder / f"{name}.c", 1)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]
    subprocess.run([compiler, *strict, source.name, "-o", f"{name}_c.so", "-lm"], cwd=folder, check=True)
    made = write_shared_object(kernel, name, folder / f"{name}_made.so", 1)
    rng = np.random.default_rng(6)
    for way in ("", "jac_", "fwd1_", "adj1_"):
        if way == "jac_" and name == "inverse_kinematics":
            continue
        f, g = (CalledByHand(path, f"{way}{name}") for path in (made, folder / f"{name}_c.so"))
        assert (f.names_in, f.names_out) == (g.names_in, g.names_out)
        assert (f.patterns_in, f.patterns_out) == (g.patterns_in, g.patterns_out)
        given = [rng.uniform(-1.0, 1.0, shape) for shape, _ in f.patterns_in]
        if name == "inverse_kinematics":
            given[0] = kernel.forward_kinematics(rng.uniform(-1.0, 1.0, 6))
        for a, b in zip(f(given), g(given), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
        assert np.isnan(g.default(0)) == np.isnan(f.default(0))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"function": "inverse_dinamics"}, "casadi, function: .*did you mean 'inverse_dynamics'"),
        ({"function": 3}, "casadi: expected one function name or several, got 3"),
        ({"function": []}, "casadi: expected one function name or several"),
        ({"derivatives": 3}, "casadi, derivatives: expected 0, 1 or 2, got 3"),
        ({"derivatives": True}, "casadi, derivatives: expected 0, 1 or 2, got True"),
        ({"file": None}, "casadi, file: expected a path such as panda.so, got None"),
        ({"file": "missing/folder/arm.so"}, "missing/folder/arm.so: cannot be written"),
    ],
)
def test_wrong_arguments_are_told(given: dict[str, Any], message: str) -> None:
    wanted: dict[str, Any] = {"function": "gravity", "file": "arm.so", "derivatives": 0} | given
    with pytest.raises(fa.InputError, match=message):
        write_shared_object(fa.compile(ARM), **wanted)


def test_float32_and_a_missing_casadi_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(fa.InputError, match="casadi: CasADi computes in float64, and this kernel in float32"):
        fa.compile(ARM, "float32").casadi("gravity")
    monkeypatch.setitem(sys.modules, "casadi", None)
    with pytest.raises(
        fa.ForearmError,
        match=r"casadi: CasADi is not installed; install it with `pip install forearm\[casadi\]`",
    ):
        fa.compile(ARM).casadi("gravity")


def test_without_a_compiler_the_command_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_object, "is_possible", lambda: False)
    with pytest.raises(
        fa.ForearmError, match="shared objects can be written on Linux for 64-bit x86 and Arm only; write C"
    ):
        write_shared_object(fa.compile(ARM), "gravity", folder / "no.so")
    monkeypatch.setitem(sys.modules, "casadi", object())
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(fa.ForearmError, match=r"compile it: cc -O2 -shared -fPIC -o arm.so arm.c -lm\.$"):
        fa.compile(ARM).casadi("gravity", file=folder / "arm.so", derivatives=0)
    assert (folder / "arm.c").is_file()
