"""Kernels with parameters left open: what a kernel of the changed arm gives,
with one set of values or one a state.
"""

from __future__ import annotations

import pickle
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from codegen.test_parameters import other_values, with_values
from dynamics.cases import simple_drives
from kernels.truths import DOUBLE, FUNCTIONS, REFERENCE, SINGLE, allowed, assert_close, states
from sweeps import long

import forearm as fa
from forearm.kernels.kernel import Kernel
from forearm.kernels.thread_pool import WORTH

ARMS = {
    "chain": fa.load("stanford-dhanaraj3"),
    "tree": simple_drives(random_arm(31, 2, "frames", tree=True, mimic=True)),
    "table": simple_drives(random_arm(34, 2, "modified", prismatic=False, fixed=False)),
}
ASKED: dict[str, tuple[str, Any]] = {
    "all of a chain": ("chain", "all"),
    "links and gravity of a chain": ("chain", ["link3", "link2.mass", "gravity"]),
    "geometry of a table": ("table", ["joint2.d", "joint2.alpha"]),
    "all of a tree": ("tree", "all"),
    "gravity of a tree": ("tree", "gravity"),
    "all of a table": ("table", "all"),
}
SOME = "links and gravity of a chain"


@cache
def kernel_for(asked: str, dtype: str = "float64") -> Kernel:
    arm, parameters = ASKED[asked]
    return fa.compile(ARMS[arm], dtype, parameters=parameters)


def table_of(kernel: Kernel, count: int) -> Any:
    """Other values, one row a state, all of them an arm's."""
    return np.array(
        [list(other_values(kernel.arm, list(kernel.parameters), seed).values()) for seed in range(count)]
    )


def changed(kernel: Kernel, row: Any) -> fa.Arm:
    """The arm that really has these values."""
    return with_values(kernel.arm, dict(zip(kernel.parameters, row.tolist(), strict=True)))


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.sweep
def test_values_make_another_arm(asked: str, function: str) -> None:
    """Its own values, other ones for all states, other ones for each state, all against arms that really
    have them; the same bits wherever a state stands.
    """
    kernel = kernel_for(asked)
    call, given, table = (
        getattr(kernel, function),
        states(kernel.arm, 21)[: FUNCTIONS[function]],
        table_of(kernel, 21),
    )
    shared, each = call(*given, parameters=table[0]), call(*given, parameters=table)
    other = changed(kernel, table[0])
    for arm, found in ((kernel.arm, call(*given)), (other, shared)):
        assert_close(found, REFERENCE[function](arm, *given), allowed(arm, function, given[0]))
    for k in (0, 7, 20):
        other, row = changed(kernel, table[k]), [x[k] for x in given]
        assert_close(each[k], REFERENCE[function](other, *row), allowed(other, function, row[0]))
        assert np.array_equal(call(*row, parameters=table[0]), shared[k])
        assert np.array_equal(call(*row, parameters=table[k]), each[k])
        assert np.array_equal(call(*(x[k:] for x in given), parameters=table[k:])[0], each[k])
    assert np.array_equal(call(*(x[:0] for x in given), parameters=table[:0]), each[:0])


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["gravity of a tree", "all of a table"])
@pytest.mark.sweep(first=1)
def test_derivatives_are_those_of_another_kernel(asked: str) -> None:
    kernel = kernel_for(asked)
    given, values = states(kernel.arm, 9), table_of(kernel, 1)[0]
    other = fa.compile(changed(kernel, values))
    condition = float(np.linalg.cond(other.inertia_matrix(given[0])).max())
    for name, growth in (("inverse_dynamics_derivatives", 1.0), ("forward_dynamics_derivatives", condition)):
        found, truth = getattr(kernel, name)(*given, parameters=values), getattr(other, name)(*given)
        for got, want in zip(found, truth, strict=True):
            assert_close(got, want, DOUBLE * growth)


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["gravity of a tree", SOME, *long(["all of a chain", "all of a table"])])
def test_the_ways_to_give_values(asked: str) -> None:
    """A row, a table by name of all or some of them, numbers and arrays mixed;
    nothing at all is the arm's own.
    """
    kernel = kernel_for(asked)
    q = states(kernel.arm, 5)[0]
    own, names = np.array(list(kernel.parameters.values())), list(kernel.parameters)

    def gravity(values: Any, q: Any = q, **others: Any) -> Any:
        return kernel.gravity(q, parameters=values, **others)

    want = kernel.gravity(q)
    for nothing in (None, {}, own, own.tolist(), dict(kernel.parameters)):
        assert np.array_equal(gravity(nothing), want)
    table = np.tile(own, (5, 1))
    assert_close(gravity(table), want)
    first, other = names[0], "gravity.z"
    j = names.index(other)
    table[:, 0], table[:, j] = other_values(kernel.arm, names)[first], np.linspace(1.0, 2.0, 5)
    found, out = gravity({other: table[:, j], first: table[0, 0]}), np.empty_like(q)
    assert np.array_equal(gravity(table), found)
    assert not np.allclose(found, want)
    spread = np.repeat(table, 2, axis=1)[:, ::2]
    for strange in (np.asfortranarray(table), table.tolist(), spread, table.astype(">f8")):
        assert np.array_equal(gravity(strange), found)
    assert gravity(table, out=out) is out
    assert np.array_equal(out, found)
    alone = gravity({other: table[2, j], first: table[2, 0]}, q[2])
    assert np.array_equal(alone, gravity(table[2], q[2]))


@pytest.mark.slow
def test_threads_change_no_bit() -> None:
    kernel = kernel_for(SOME)
    given = states(kernel.arm, WORTH + 5)
    own = np.array(list(kernel.parameters.values()))
    for values in (own, own * np.random.default_rng(1).uniform(0.9, 1.1, (WORTH + 5, len(own)))):
        one, *others = (
            kernel.inverse_dynamics(given[0], given[1], given[2], threads=threads, parameters=values)
            for threads in (1, None, 3)
        )
        assert all(np.array_equal(other, one) for other in others)


@pytest.mark.slow
def test_many_threads_each_with_values_of_its_own() -> None:
    kernel = fa.compile(ARMS["table"], parameters="gravity")
    given, table, begin = states(kernel.arm, 3), table_of(kernel, 8), threading.Barrier(8)

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
    kernel = kernel_for("all of a table", "float32")
    given, table = [x.astype(np.float32) for x in states(kernel.arm, 17)], table_of(kernel, 17)
    found = kernel.inverse_dynamics(*given, parameters=table)
    assert found.dtype == np.float32
    for k in (0, 16):
        truth = fa.dynamics.inverse(changed(kernel, table[k]), *(x[k].astype(float) for x in given))
        assert_close(found[k], truth, SINGLE)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_spoils_the_states_it_is_given_to(bad: float) -> None:
    """Nothing that depends on it looks known; other states keep their bits."""
    kernel = kernel_for(SOME)
    given, table = states(kernel.arm, 12), table_of(kernel, 12)
    clean = kernel.inverse_dynamics(*given, parameters=table)

    def check(found: Any) -> None:
        assert np.isnan(found[5]).all()
        assert np.array_equal(np.delete(found, 5, axis=0), np.delete(clean, 5, axis=0))

    for name in ("link3.mass", "link3.inertia.xx", "gravity.z"):
        spoilt = table.copy()
        spoilt[5, list(kernel.parameters).index(name)] = bad
        check(kernel.inverse_dynamics(*given, parameters=spoilt))
        assert np.isnan(kernel.inverse_dynamics(*given, parameters={name: bad})).all()
        assert np.isnan(kernel.forward_dynamics(*given, parameters={name: bad})).all()
    given[1][5, 2] = bad
    check(kernel.inverse_dynamics(*given, parameters=table))


NUMBERS = "expected an array of real numbers"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            np.zeros(2),
            r"3 are left open; expected shape \(3,\), or \(4, 3\) with one row per state, got \(2,\)",
        ),
        *(
            (np.zeros(shape), f"got {re.escape(str(shape))}")
            for shape in ((3, 3), (4, 2), (1, 3), (4, 3, 1), ())
        ),
        ({"gravity.x": [1.0, 2.0]}, r"expected for each one number, or one per state \(shape \(4,\)\)"),
        ({"gravity.x": np.ones((4, 1))}, "or one per state"),
        *((bad, NUMBERS) for bad in (["a", "b", "c"], ["1", "2", "3"], [1j, 2.0, 3.0], [None] * 3)),
        *(({"gravity.x": bad}, NUMBERS) for bad in ("down", "1", None, 1j)),
    ],
)
def test_values_that_do_not_fit_are_told(values: Any, message: str) -> None:
    with pytest.raises(fa.InputError, match=f"^parameters.*{message}"):
        kernel_for("gravity of a tree").gravity(np.zeros((4, 2)), parameters=values)


@pytest.mark.slow
def test_names_that_are_not_there() -> None:
    arm, z = ARMS["tree"], np.zeros(2)
    for name, said in (("gravity.w", r"; did you mean 'gravity\.[xyz]'"), ("link1.mass", "")):
        with pytest.raises(
            fa.NameNotFound, match=rf"parameters left open: expected one of .*, got '{name}'{said}"
        ):
            kernel_for("gravity of a tree").gravity(z, parameters={name: 1.0})
    with pytest.raises(fa.NameNotFound, match=r"there is no 'gravty' in .*did you mean 'gravity'"):
        fa.compile(arm, parameters=["gravty"])
    closed = fa.compile(arm)
    assert closed.parameters == {}
    some: list[Any] = [{}, np.zeros(3)]
    for given in some:
        with pytest.raises(
            fa.InputError, match=r"this kernel has no open parameters; compile it with fa\.compile"
        ):
            closed.gravity(z, parameters=given)


@pytest.mark.slow
def test_a_fused_set_takes_them_too() -> None:
    kernel = kernel_for("all of a table")
    given, values = states(kernel.arm, 6), table_of(kernel, 6)
    found = kernel.fused(["inverse_dynamics", "inertia_matrix"])(*given, parameters=values)
    assert_close(found["tau"], kernel.inverse_dynamics(*given, parameters=values))
    assert_close(found["M"], kernel.inertia_matrix(given[0], parameters=values))


def test_kernels_pickle_with_what_is_open_in_order() -> None:
    arm = ARMS["chain"]
    kernel = fa.compile(arm, parameters=["gravity.z", "link2.mass"])
    again = pickle.loads(pickle.dumps(kernel))
    assert list(again.parameters.items()) == [
        ("link2.mass", arm.link("link2").mass),
        ("gravity.z", arm.gravity[2]),
    ]
    q, values = states(arm, 3)[0], table_of(kernel, 3)
    assert np.array_equal(again.gravity(q, parameters=values), kernel.gravity(q, parameters=values))


def test_one_joint_and_one_parameter() -> None:
    """Where (P,) and (B, P) are hardest to tell apart."""
    arm = random_arm(2, 1, drives=False, prismatic=False).rigid()
    kernel, q = fa.compile(arm, parameters="gravity.z"), np.full((1, 1), 0.3)
    for gravity in (0.0, 1.62):
        want = fa.dynamics.gravity(arm.replace(gravity=np.array([*arm.gravity[:2], gravity])), q)
        for values in ([gravity], [[gravity]], {"gravity.z": gravity}, {"gravity.z": [gravity]}):
            assert_close(kernel.gravity(q, parameters=values), want)
        assert_close(kernel.gravity(q[0], parameters=[gravity]), want[0])
