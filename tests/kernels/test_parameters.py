"""Kernels with parameters left open: what a kernel of the changed arm gives,
with one set of values or one a state.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pytest
from arms import posture, random_arm
from codegen.test_parameters import other_values, with_values
from dynamics.cases import simple_drives

import forearm as fa
from forearm.kernels.kernel import Kernel
from forearm.kernels.thread_pool import WORTH

DOUBLE = 1e-12  # relative to the largest entry
SINGLE = 1e-4
ARMS = {
    "puma560-akb": fa.load("puma560-akb"),
    "tree": simple_drives(random_arm(31, 3, "frames", tree=True, mimic=True)),
    "table": simple_drives(random_arm(34, 3, "modified", prismatic=False, fixed=False)),
}
ASKED: dict[str, tuple[str, Any]] = {
    "all of PUMA": ("puma560-akb", "all"),
    "links and gravity of PUMA": ("puma560-akb", ["link6", "link2.mass", "gravity"]),
    "geometry of PUMA": ("puma560-akb", ["joint2.d", "joint3.alpha"]),
    "all of a tree": ("tree", "all"),
    "gravity of a tree": ("tree", "gravity"),
    "all of a table": ("table", "all"),
}
FUNCTIONS = {
    "inverse_dynamics": 3,
    "forward_dynamics": 3,
    "inertia_matrix": 1,
    "bias": 2,
    "gravity": 1,
    "forward_kinematics": 1,
    "jacobian": 1,
}


@cache
def kernel_for(asked: str, dtype: str = "float64") -> Kernel:
    arm, parameters = ASKED[asked]
    return fa.compile(ARMS[arm], dtype, parameters=parameters)


def states(arm: fa.Arm, count: int, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [
        posture(arm, seed, count),
        rng.uniform(-2.0, 2.0, (count, arm.n)),
        rng.uniform(-3.0, 3.0, (count, arm.n)),
    ]


def table_of(kernel: Kernel, count: int) -> Any:
    """Other values, one row a state, all of them an arm's."""
    return np.array(
        [list(other_values(kernel.arm, list(kernel.parameters), seed).values()) for seed in range(count)]
    )


def row_of(kernel: Kernel, row: Any) -> dict[str, float]:
    return dict(zip(kernel.parameters, row.tolist(), strict=True))


def assert_close(got: Any, want: Any, tolerance: float = DOUBLE) -> None:
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= tolerance * np.abs(want).max()


REFERENCE: dict[str, Callable[..., Any]] = {
    "inverse_dynamics": fa.dynamics.inverse,
    "bias": fa.dynamics.bias,
    "gravity": fa.dynamics.gravity,
    "forward_dynamics": lambda arm, q, qd, tau: fa.dynamics.forward(arm, q, qd, tau, method="composite-body"),
    "inertia_matrix": fa.dynamics.inertia_matrix,
    "forward_kinematics": fa.kinematics.forward,
    "jacobian": fa.kinematics.jacobian,
}


def truth(arm: fa.Arm, function: str, *given: Any) -> Any:
    """The reference, which knows nothing of parameters."""
    return REFERENCE[function](arm, *given)


def allowed(arm: fa.Arm, function: str, q: Any, eps: float = DOUBLE) -> float:
    return (
        eps * float(np.linalg.cond(fa.dynamics.inertia_matrix(arm, q)).max())
        if function == "forward_dynamics"
        else eps
    )


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.sweep
def test_values_make_another_arm(asked: str, function: str) -> None:
    """Its own values, other ones for all states, other ones for each state,
    all against arms that really have them.
    """
    kernel = kernel_for(asked)
    arm, call = kernel.arm, getattr(kernel, function)
    given = states(arm, 11)[: FUNCTIONS[function]]
    assert_close(call(*given), truth(arm, function, *given), allowed(arm, function, given[0]))
    table = table_of(kernel, 11)
    other = with_values(arm, row_of(kernel, table[0]))
    assert_close(
        call(*given, parameters=table[0]), truth(other, function, *given), allowed(other, function, given[0])
    )
    each = call(*given, parameters=table)
    for k in (0, 5, 10):
        other, row = with_values(arm, row_of(kernel, table[k])), [x[k] for x in given]
        assert_close(each[k], truth(other, function, *row), allowed(other, function, row[0]))


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["gravity of a tree", "all of a table"])
@pytest.mark.sweep(first=1)
def test_another_kernel_says_the_same(asked: str) -> None:
    kernel = kernel_for(asked)
    given = states(kernel.arm, 9)
    values = table_of(kernel, 1)[0]
    other = fa.compile(with_values(kernel.arm, row_of(kernel, values)))
    assert_close(kernel.inverse_dynamics(*given, parameters=values), other.inverse_dynamics(*given))
    found = kernel.inverse_dynamics_derivatives(*given, parameters=values)
    for got, want in zip(found, other.inverse_dynamics_derivatives(*given), strict=True):
        assert_close(got, want)
    found = kernel.forward_dynamics_derivatives(*given, parameters=values)
    condition = float(np.linalg.cond(other.inertia_matrix(given[0])).max())
    for got, want in zip(found, other.forward_dynamics_derivatives(*given), strict=True):
        assert_close(got, want, DOUBLE * condition)


@pytest.mark.slow
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.sweep(first=3)
def test_the_ways_to_give_values(asked: str) -> None:
    """A row, a table by name of all or some of them, numbers and arrays mixed;
    nothing at all is the arm's own.
    """
    kernel = kernel_for(asked)
    q = states(kernel.arm, 5)[0]
    own, names = np.array(list(kernel.parameters.values())), list(kernel.parameters)
    want = kernel.gravity(q)
    ways: list[Any] = [None, {}, own, own.tolist(), dict(kernel.parameters), np.tile(own, (5, 1))]
    for nothing in ways:
        assert_close(kernel.gravity(q, parameters=nothing), want)
        if np.ndim(nothing) < 2:
            assert np.array_equal(kernel.gravity(q, parameters=nothing), want)
    table = np.tile(own, (5, 1))
    first, other = names[0], "gravity.z" if "gravity.z" in names else names[-1]
    j = names.index(other)
    table[:, 0], table[:, j] = other_values(kernel.arm, names)[first], np.linspace(1.0, 2.0, 5)
    mixed = {other: table[:, j], first: table[0, 0]}
    assert np.array_equal(kernel.gravity(q, parameters=mixed), kernel.gravity(q, parameters=table))
    assert not np.allclose(kernel.gravity(q, parameters=table), want)
    for strange in (
        np.asfortranarray(table),
        table.tolist(),
        np.repeat(table, 2, axis=1)[:, ::2],
        table.astype(">f8"),
    ):
        assert np.array_equal(kernel.gravity(q, parameters=strange), kernel.gravity(q, parameters=table))
    alone = kernel.gravity(q[2], parameters={other: table[2, j], first: table[2, 0]})
    assert alone.shape == (kernel.arm.n,)
    assert np.array_equal(alone, kernel.gravity(q[2], parameters=table[2]))


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("asked", ["all of PUMA", "links and gravity of PUMA", "all of a tree"])
@pytest.mark.sweep
def test_bits_are_the_same_wherever_a_state_stands(asked: str, function: str) -> None:
    kernel = kernel_for(asked)
    call = getattr(kernel, function)
    given = states(kernel.arm, 21, seed=4)[: FUNCTIONS[function]]
    table = table_of(kernel, 21)
    shared, each = call(*given, parameters=table[3]), call(*given, parameters=table)
    for k in (0, 7, 8, 20):
        one = [x[k] for x in given]
        assert np.array_equal(call(*one, parameters=table[3]), shared[k])
        assert np.array_equal(call(*(x[k:] for x in given), parameters=table[k:])[0], each[k])
    assert np.array_equal(call(*(x[:0] for x in given), parameters=table[:0]), each[:0])


@pytest.mark.slow
@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics", "inertia_matrix", "jacobian"])
@pytest.mark.sweep(first=2)
def test_values_of_its_own_give_a_state_the_bits_it_has_alone(function: str) -> None:
    kernel = kernel_for("all of PUMA")
    call, table = getattr(kernel, function), table_of(kernel, 20)
    given = states(kernel.arm, 20)[: FUNCTIONS[function]]
    each = call(*given, parameters=table)
    alone = [call(*(x[k] for x in given), parameters=table[k]) for k in range(20)]
    assert np.array_equal(each, alone)


@pytest.mark.slow
def test_threads_change_no_bit() -> None:
    kernel: Any = kernel_for("links and gravity of PUMA")
    given = states(kernel.arm, WORTH + 5)
    own = np.array(list(kernel.parameters.values()))
    table = own * np.random.default_rng(1).uniform(0.9, 1.1, (WORTH + 5, len(own)))
    for values in (own, table):
        one = kernel.inverse_dynamics(*given, threads=1, parameters=values)
        for threads in (None, 3):
            assert np.array_equal(kernel.inverse_dynamics(*given, threads=threads, parameters=values), one)


@pytest.mark.slow
def test_many_threads_each_with_values_of_its_own() -> None:
    kernel = fa.compile(ARMS["puma560-akb"], parameters="link6")
    given = states(kernel.arm, 3)
    table = table_of(kernel, 8)
    begin = threading.Barrier(8)

    def work(k: int) -> list[Any]:
        begin.wait()
        return [kernel.inverse_dynamics(*given, parameters=table[k]) for _ in range(50)]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(work, range(8)))
    for k, some in enumerate(answers):
        want = kernel.inverse_dynamics(*given, parameters=table[k])
        assert all(np.array_equal(a, want) for a in some)
    assert not np.array_equal(answers[0][0], answers[1][0])


@pytest.mark.slow
def test_single_precision() -> None:
    kernel = kernel_for("all of PUMA", "float32")
    given = [x.astype(np.float32) for x in states(kernel.arm, 17)]
    table = table_of(kernel, 17)
    found = kernel.inverse_dynamics(*given, parameters=table)
    assert found.dtype == np.float32
    for k in (0, 16):
        other = with_values(kernel.arm, row_of(kernel, table[k]))
        assert_close(found[k], fa.dynamics.inverse(other, *(x[k].astype(float) for x in given)), SINGLE)


def test_out_is_filled() -> None:
    kernel = kernel_for("links and gravity of PUMA")
    q = states(kernel.arm, 4)[0]
    out = np.zeros((4, 6, 6))
    values = table_of(kernel, 4)
    assert kernel.inertia_matrix(q, out=out, parameters=values) is out
    assert np.array_equal(out, kernel.inertia_matrix(q, parameters=values))


def test_the_arms_own_values_are_told_in_order() -> None:
    kernel = fa.compile(ARMS["puma560-akb"], parameters=["gravity.z", "link2.mass"])
    assert kernel.parameters == {"link2.mass": ARMS["puma560-akb"].link("link2").mass, "gravity.z": -9.81}
    assert list(kernel.parameters) == ["link2.mass", "gravity.z"]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_spoils_the_states_it_is_given_to(bad: float) -> None:
    """Nothing that depends on it looks known; other states keep their bits."""
    kernel = kernel_for("links and gravity of PUMA")
    given = states(kernel.arm, 12)
    table = table_of(kernel, 12)
    clean = kernel.inverse_dynamics(*given, parameters=table)
    for name in ("link6.mass", "link6.inertia.xx", "gravity.z"):
        spoilt = table.copy()
        spoilt[5, list(kernel.parameters).index(name)] = bad
        found = kernel.inverse_dynamics(*given, parameters=spoilt)
        assert np.isnan(found[5]).all()
        assert np.array_equal(np.delete(found, 5, axis=0), np.delete(clean, 5, axis=0))
        assert np.isnan(kernel.inverse_dynamics(*given, parameters={name: bad})).all()
        assert np.isnan(kernel.forward_dynamics(*given, parameters={name: bad})).all()


def test_a_state_that_is_no_number_spoils_only_itself() -> None:
    kernel = kernel_for("links and gravity of PUMA")
    given = states(kernel.arm, 10)
    given[1][4, 2] = np.nan
    for values in (None, table_of(kernel, 10)):
        found = kernel.inverse_dynamics(*given, parameters=values)
        assert np.isnan(found[4]).all()
        assert np.isfinite(np.delete(found, 4, axis=0)).all()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            np.zeros(2),
            (
                r"parameters: 3 are left open; expected shape \(3,\), or \(4, 3\) with one "
                r"row per state, got \(2,\)"
            ),
        ),
        (np.zeros((3, 3)), r"got \(3, 3\)"),
        (np.zeros((4, 2)), r"got \(4, 2\)"),
        (np.zeros((1, 3)), r"got \(1, 3\)"),
        (np.zeros((4, 3, 1)), r"got \(4, 3, 1\)"),
        (1.0, r"got \(\)"),
        ({"gravity.x": [1.0, 2.0]}, r"expected for each one number, or one per state \(shape \(4,\)\)"),
        ({"gravity.x": np.ones((4, 1))}, "or one per state"),
        (["a", "b", "c"], "parameters: expected an array of real numbers"),
        ([1j, 2.0, 3.0], "parameters: expected an array of real numbers"),
        ({"gravity.x": "down"}, "parameters, gravity.x: expected an array of real numbers"),
    ],
)
def test_values_that_do_not_fit_are_told(values: Any, message: str) -> None:
    kernel = kernel_for("gravity of a tree")
    with pytest.raises(fa.InputError, match=message):
        kernel.gravity(np.zeros((4, 3)), parameters=values)


@pytest.mark.parametrize(
    "values", [[None] * 3, ["1", "2", "3"], {"gravity.x": "1"}, {"gravity.x": None}, {"gravity.x": 1j}]
)
def test_what_only_looks_like_numbers_is_told(values: Any) -> None:
    with pytest.raises(fa.InputError, match=r"parameters.*: expected an array of real numbers"):
        kernel_for("gravity of a tree").gravity(np.zeros((4, 3)), parameters=values)


@pytest.mark.slow
def test_names_that_are_not_there() -> None:
    arm, z = ARMS["tree"], np.zeros(3)
    with pytest.raises(
        fa.NameNotFound,
        match=r"parameters left open: expected one of .*, got 'gravity\.w'; did you mean 'gravity\.[xyz]'",
    ):
        kernel_for("gravity of a tree").gravity(z, parameters={"gravity.w": 1.0})
    with pytest.raises(fa.NameNotFound, match=r"parameters left open: expected one of .*, got 'link1\.mass'"):
        kernel_for("gravity of a tree").gravity(z, parameters={"link1.mass": 1.0})
    with pytest.raises(fa.NameNotFound, match=r"there is no 'gravty' in .*did you mean 'gravity'"):
        fa.compile(arm, parameters=["gravty"])
    closed = fa.compile(arm)
    for given in ({}, {"gravity.x": 1.0}, np.zeros(3)):
        with pytest.raises(
            fa.InputError,
            match=r"parameters: this kernel has no open parameters; compile it with fa\.compile",
        ):
            closed.gravity(z, parameters=given)
    assert closed.parameters == {}


@pytest.mark.slow
def test_a_fused_set_takes_them_too() -> None:
    kernel = kernel_for("links and gravity of PUMA")
    given = states(kernel.arm, 6)
    values = table_of(kernel, 6)
    both = kernel.fused(["inverse_dynamics", "inertia_matrix"])
    assert both.inputs == ("q", "qd", "qdd")
    found = both(*given, parameters=values)
    assert_close(found["tau"], kernel.inverse_dynamics(*given, parameters=values))
    assert_close(found["M"], kernel.inertia_matrix(given[0], parameters=values))


def test_kernels_pickle_with_what_is_open() -> None:
    kernel = kernel_for("links and gravity of PUMA")
    again = pickle.loads(pickle.dumps(kernel))
    q, values = states(kernel.arm, 3)[0], table_of(kernel, 3)
    assert again.parameters == kernel.parameters
    assert np.array_equal(again.gravity(q, parameters=values), kernel.gravity(q, parameters=values))


def test_one_joint_and_one_parameter() -> None:
    """Where (P,) and (B, P) are hardest to tell apart."""
    arm = random_arm(2, 1, drives=False, prismatic=False).rigid()
    kernel = fa.compile(arm, parameters="gravity.z")
    for gravity in (0.0, 1.62):
        other = arm.replace(gravity=np.array([arm.gravity[0], arm.gravity[1], gravity]))
        want = fa.dynamics.gravity(other, np.full((1, 1), 0.3))
        for values in ([gravity], [[gravity]], {"gravity.z": gravity}, {"gravity.z": [gravity]}):
            assert_close(kernel.gravity(np.full((1, 1), 0.3), parameters=values), want)
        assert_close(kernel.gravity(np.full(1, 0.3), parameters=[gravity]), want[0])
