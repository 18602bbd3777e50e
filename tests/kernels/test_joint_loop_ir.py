"""Functions of long arms as loops over joints: the reference's answers, in any number of lanes,
the same bits everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from arms import every_kind, posture, random_arm
from dynamics.cases import simple_drives, with_kinds
from kernels.compiling import compiled

import forearm as fa
from forearm.drives.joint import rotor_inertia
from forearm.kernels import compile_request
from forearm.kernels.joint_carry import can_carry
from forearm.kernels.joint_loop import LOOPS, Looped
from forearm.kernels.joint_loop_ir import MOST, MOST_ALONE, lanes_for, loop_text, memory
from forearm.kernels.kernel import Kernel
from forearm.kernels.native import host
from forearm.kernels.vectors import Target

DOUBLE = 1e-12  # relative to the largest entry
SINGLE = 1e-4
FORWARD = 1e-12  # times the condition number of M
FUNCTIONS = tuple(LOOPS)
SMALL: dict[str, fa.Arm] = {f"kind {k}": every_kind(12, 4)[k] for k in (0, 1, 2, 3, 4, 5, 9)}
SMALL |= {f"one, kind {k}": every_kind(7, 1)[k] for k in (0, 2)}
SMALL |= {kinds: with_kinds(random_arm(60, len(kinds)), kinds) for kinds in ("P", "PP", "RPPR")}
LONG: dict[str, fa.Arm] = {
    "9 frames tree": random_arm(4, 9, tree=True),
    "17 modified": random_arm(5, 17, "modified"),
    "33 turning": random_arm(6, 33, "standard", prismatic=False),
    "100 tree": random_arm(7, 100, tree=True),
}
ARMS = {name: simple_drives(arm) for name, arm in (SMALL | LONG).items()}


class Loop:
    """One function in loop form, compiled beside the package's own way to it."""

    def __init__(
        self,
        arm: fa.Arm,
        function: str,
        dtype: str = "float64",
        lanes: int | None = None,
        is_gpu: bool = False,
    ) -> None:
        self.looped, self.dtype = LOOPS[function](arm), np.dtype(dtype)
        target = replace(host(dtype, lanes), is_gpu=is_gpu)
        self.lanes = lanes_for(self.looped, target)
        self.call = compiled(
            loop_text("loop", self.looped, target), "loop", len(self.looped.inputs) + 1, target
        )

    def __call__(self, given: list[Any]) -> Any:
        states = [np.ascontiguousarray(x, dtype=self.dtype) for x in given[: len(self.looped.inputs)]]
        count, n = states[0].shape
        guard = 32
        memory = np.full(count * self.looped.given + 2 * guard, 7.0, dtype=self.dtype)
        out = memory[guard : len(memory) - guard]
        self.call(*(x.ctypes.data for x in states), out.ctypes.data, count)
        assert (memory[:guard] == 7.0).all()
        assert (memory[len(memory) - guard :] == 7.0).all()
        return out.reshape((count, n) if self.looped.walk is None else (count, n, n))


@cache
def loop_of(name: str, function: str, dtype: str = "float64", lanes: int | None = None) -> Loop:
    return Loop(ARMS[name], function, dtype, lanes)


def states(arm: fa.Arm, count: int, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    q, qd, x = (
        posture(arm, seed, count),
        rng.uniform(-2.0, 2.0, (count, arm.n)),
        rng.uniform(-3.0, 3.0, (count, arm.n)),
    )
    return [q, qd, x]


REFERENCE: dict[str, Callable[..., Any]] = {
    "inverse_dynamics": fa.dynamics.inverse,
    "bias": lambda arm, q, qd, _: fa.dynamics.bias(arm, q, qd),
    "gravity": lambda arm, q, *_: fa.dynamics.gravity(arm, q),
    "forward_dynamics": lambda arm, q, qd, tau: fa.dynamics.forward(arm, q, qd, tau, method="composite-body"),
    "inertia_matrix": lambda arm, q, *_: fa.dynamics.inertia_matrix(arm, q),
}


def assert_close(got: Any, want: Any, tolerance: float) -> None:
    """Each state by itself, by its largest entry."""
    assert got.shape == want.shape
    for a, b in zip(got, want, strict=True):
        assert np.abs(a - b).max() <= tolerance * np.abs(b).max()


def tolerance(arm: fa.Arm, function: str, q: Any) -> float:
    if function != "forward_dynamics":
        return DOUBLE
    return FORWARD * float(np.linalg.cond(fa.dynamics.inertia_matrix(arm, q)).max())


def assert_true(found: Any, arm: fa.Arm, function: str, given: list[Any]) -> None:
    """Of many states the first, one in the middle and the last, by the reference."""
    rows = sorted({0, len(found) // 2, len(found) - 1})
    some = [x[rows] for x in given]
    assert_close(found[rows], REFERENCE[function](arm, *some), tolerance(arm, function, some[0]))
    assert np.isfinite(found).all()


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", ARMS)
@pytest.mark.sweep
def test_every_function_is_the_reference(name: str, function: str) -> None:
    arm = ARMS[name]
    lanes = host("float64").lanes
    given = states(arm, 2 * lanes + 3, seed=3)
    one = loop_of(name, function, lanes=1)(given)
    assert_true(one, arm, function, given)
    wide = loop_of(name, function)
    room = MOST // memory(wide.looped, host("float64"))
    assert wide.lanes == 2 ** int(np.log2(min(lanes, arm.n, room)))
    assert np.array_equal(wide(given), one), "a state has the same bits in a lane as alone"


CHAINS = {
    "turning and sliding": simple_drives(with_kinds(random_arm(61, 5), "RPRRP")),
    "one": simple_drives(random_arm(62, 1)),
    "tree": simple_drives(random_arm(63, 4, tree=True)),
}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.sweep
def test_a_gpu_that_carries_from_joint_to_joint_has_the_same_bits(
    name: str, function: str, dtype: str
) -> None:
    arm = CHAINS[name]
    given = states(arm, 3, seed=8)
    given[0][1, 0] = np.nan
    found, want = (Loop(arm, function, dtype, 1, is_gpu)(given) for is_gpu in (True, False))
    np.testing.assert_array_equal(found.view(f"i{found.itemsize}")[::2], want.view(f"i{want.itemsize}")[::2])
    assert np.isnan(found[1]).all()
    assert can_carry(LOOPS[function](arm)) is (name != "tree" and function != "inertia_matrix")


def test_the_arms_have_everything_in_them() -> None:
    made = [LOOPS["inverse_dynamics"](arm) for arm in ARMS.values()]
    assert any(p != k - 1 for looped in made for k, p in enumerate(looped.parents))
    assert any(set(looped.turning) == {True, False} for looped in made)
    assert {True} in [set(looped.turning) for looped in made]
    assert {False} in [set(looped.turning) for looped in made]
    assert any(rotor_inertia(arm).min() > 0.0 for arm in ARMS.values())
    moving = ARMS["100 tree"]
    q, qd, x = states(moving, 1)
    assert np.abs(fa.dynamics.bias(moving, q, qd) - fa.dynamics.bias(moving.rigid(), q, qd)).min() > 1e-3, (
        "friction is in it"
    )
    assert (
        np.abs(
            fa.dynamics.inverse(moving, q, 0.0 * qd, x) - fa.dynamics.inverse(moving.rigid(), q, 0.0 * qd, x)
        ).min()
        > 1e-3
    )


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [2, 4, 16])
@pytest.mark.parametrize("name", ["kind 3", "9 frames tree", "33 turning"])
@pytest.mark.sweep
def test_every_width_has_the_same_bits(name: str, lanes: int) -> None:
    given = states(ARMS[name], 2 * lanes + 3, seed=lanes)
    for function in FUNCTIONS:
        other = loop_of(name, function, lanes=lanes)
        assert other.lanes == lanes or other.lanes > ARMS[name].n // 2
        assert np.array_equal(other(given), loop_of(name, function, lanes=1)(given)), function


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", ["kind 5", "17 modified", "33 turning"])
@pytest.mark.sweep
def test_single_precision(name: str, function: str) -> None:
    arm = ARMS[name]
    given = [x.astype(np.float32) for x in states(arm, 37, seed=4)]
    found = loop_of(name, function, "float32")(given)
    assert np.array_equal(loop_of(name, function, "float32", 1)(given), found)
    exact = [x.astype(float) for x in given]
    if function != "forward_dynamics":
        assert_close(found, REFERENCE[function](arm, *exact), SINGLE)
    else:  # torques come back, measured by the parts they are made of
        parts = np.abs(fa.dynamics.inertia_matrix(arm, exact[0])) @ np.abs(found.astype(float))[:, :, None]
        back = fa.dynamics.inverse(arm, exact[0], exact[1], found.astype(float))
        assert (np.abs(back - exact[2]).max(axis=1) <= SINGLE * parts.max(axis=(1, 2))).all()


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(("name", "lanes"), [("9 frames tree", 8), ("33 turning", 4), ("one, kind 0", 8)])
@pytest.mark.sweep
def test_any_number_of_states(name: str, lanes: int, function: str) -> None:
    wide, one = loop_of(name, function, lanes=lanes), loop_of(name, function, lanes=1)
    given = states(ARMS[name], 3 * lanes + 5, seed=5)
    want = one(given)
    for count in (0, 1, lanes - 1, lanes, lanes + 1, 3 * lanes + 5):
        assert np.array_equal(wide([x[:count] for x in given]), want[:count])
    for k in (0, lanes, 3 * lanes + 4):
        assert np.array_equal(wide([x[k : k + 1] for x in given])[0], want[k])


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, None])
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", ["9 frames tree", "17 modified"])
@pytest.mark.sweep
def test_nan_and_infinity_spoil_a_state_and_no_other(name: str, function: str, lanes: int | None) -> None:
    """All of it: on a tree also the entries of M between branches, which are 0 otherwise,
    and torques of other branches.
    """
    loop = loop_of(name, function, lanes=lanes)
    n = ARMS[name].n
    given = states(ARMS[name], 13, seed=6)
    clean = loop(given)
    assert np.isfinite(clean).all()
    for k in range(len(loop.looped.inputs)):
        # 12 is not in a full block
        for row, joint, bad in ((4, 0, np.nan), (9, n - 1, np.inf), (12, n // 2, -np.inf)):
            spoilt = [x.copy() for x in given]
            spoilt[k][row, joint] = bad
            found = loop(spoilt)
            assert np.isnan(found[row]).all()
            assert np.array_equal(np.delete(found, row, axis=0), np.delete(clean, row, axis=0))


def test_entries_between_branches_are_zero() -> None:
    name = "9 frames tree"
    given = states(ARMS[name], 5)
    M, want = loop_of(name, "inertia_matrix")(given), fa.dynamics.inertia_matrix(ARMS[name], given[0])
    apart = (want == 0.0).all(axis=0)
    assert apart.any()
    assert (M[:, apart] == 0.0).all()
    assert np.array_equal(M, M.transpose(0, 2, 1))


@pytest.mark.slow
def test_angles_of_many_turns_and_speeds_of_zero() -> None:
    name = "33 turning"
    arm = ARMS[name]
    q, qd, x = states(arm, 9)
    far = q + 2e4 * np.random.default_rng(1).uniform(-1.0, 1.0, q.shape)
    found = loop_of(name, "gravity")([far, qd, x])
    # q and a constant are added before the sine is taken
    assert_close(found, fa.dynamics.gravity(arm, far), 1e-9)
    rest = np.zeros_like(qd)
    assert np.array_equal(loop_of(name, "bias")([q, rest, x]), loop_of(name, "gravity")([q, qd, x]))


def chain(n: int, **changes: Any) -> fa.Arm:
    return simple_drives(random_arm(8, n, "modified", prismatic=False, fixed=False, **changes))


@pytest.fixture
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREARM_CACHE", "off")  # which knows nothing of what is patched below


def own_way(kernel: Kernel, function: str, given: list[Any]) -> Any:
    names = [slot.name for slot in kernel.compiled(function).inputs]
    return getattr(kernel, function)(*given[: len(names)])


@pytest.mark.usefixtures("no_cache")
@pytest.mark.long
def test_a_chain_of_sixty_through_the_public_door() -> None:
    arm = chain(60)
    kernel, given = fa.compile(arm), states(arm, 11)
    for function in FUNCTIONS:
        found = own_way(kernel, function, given)
        assert_true(found, arm, function, given)
        single = own_way(kernel, function, [x[10] for x in given])
        assert np.array_equal(single, found[10])
        assert np.array_equal(own_way(kernel, function, [x[10] for x in given]), single)  # called directly
        expected = Loop(arm, function)(given)
        if compile_request.LONG[function] <= 60:
            assert np.array_equal(found, expected), "this is the loop"
    assert_close(kernel.forward_kinematics(given[0]), fa.kinematics.forward(arm, given[0]), DOUBLE)
    assert_close(kernel.jacobian(given[0]), fa.kinematics.jacobian(arm, given[0]), DOUBLE)


@pytest.mark.slow
@pytest.mark.usefixtures("no_cache")
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.sweep(first=1)
def test_the_switch_and_what_both_forms_say(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arm = ARMS["9 frames tree"]
    given = states(arm, 21)
    found = {}
    for joints in (9, 10):
        monkeypatch.setitem(compile_request.LONG, function, joints)
        kernel = fa.compile(arm)
        found[joints] = own_way(kernel, function, given)
        looped = np.array_equal(found[joints], loop_of("9 frames tree", function)(given))
        assert looped == (joints == 9)
        assert (kernel.counts[function] == LOOPS[function](arm).counts) == looped
    assert_close(found[9], found[10], tolerance(arm, function, given[0]))


@pytest.mark.slow
@pytest.mark.usefixtures("no_cache")
def test_followers_are_never_gone_through_in_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = simple_drives(random_arm(9, 3, tree=True, mimic=True))
    given = states(arm, 10)
    for function in FUNCTIONS:
        monkeypatch.setitem(compile_request.LONG, function, 2)
        found = own_way(fa.compile(arm), function, given)
        assert_true(found, arm, function, given)


@pytest.mark.slow
@pytest.mark.usefixtures("no_cache")
def test_open_parameters_and_fused_sets_are_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = ARMS["kind 3"]
    q, qd, x = states(arm, 4)
    monkeypatch.setitem(compile_request.LONG, "inverse_dynamics", 1)
    monkeypatch.setitem(compile_request.LONG, "inertia_matrix", 1)
    want = fa.dynamics.inverse(arm, q, qd, x)
    assert_close(fa.compile(arm, parameters="gravity").inverse_dynamics(q, qd, x), want, DOUBLE)
    both = fa.compile(arm).fused(["inverse_dynamics", "inertia_matrix"])(q, qd, x)
    assert_close(both["tau"], want, DOUBLE)
    assert_close(both["M"], fa.dynamics.inertia_matrix(arm, q), DOUBLE)


@pytest.mark.usefixtures("no_cache")
@pytest.mark.long
def test_three_hundred_joints() -> None:
    arm = chain(300)
    kernel, given = fa.compile(arm), states(arm, 9)
    for function in FUNCTIONS:
        found = own_way(kernel, function, given)
        if function == "forward_dynamics":  # M cannot be inverted to any digit: the torques must come back
            q, qd, tau = (x[-1] for x in given)
            parts = np.abs(fa.dynamics.inertia_matrix(arm, q)) @ np.abs(found[-1])
            assert np.abs(fa.dynamics.inverse(arm, q, qd, found[-1]) - tau).max() <= 1e-11 * parts.max()
        else:
            assert_true(found, arm, function, given)


def _bytes(looped: Looped, target: Target) -> int:
    """What a block is declared to keep, from the text itself."""
    text = loop_text("loop", looped, target)
    wide = text.split("@loop_block(")[-1].split("@loop_one(")[0] if "@loop_block(" in text else text
    sizes = [int(line.split("[")[1].split(" ")[0]) for line in wide.split("\n") if " alloca " in line]
    return target.size * sum(sizes)


@pytest.mark.long
def test_memory_bounds_the_lanes() -> None:
    target = Target("double", 8, True)
    short, long = (LOOPS["forward_dynamics"](chain(n)) for n in (20, 2000))
    assert lanes_for(short, target) == 8
    lanes = lanes_for(long, target)
    assert lanes < 8
    assert memory(long, target) * 2 * lanes > MOST or lanes == 4, "no more is given up than must be"
    assert lanes == 1 or lanes * memory(long, target) <= MOST
    for looped in (short, long):
        used = _bytes(looped, replace(target, lanes=lanes_for(looped, target)))
        assert used <= 1.1 * lanes_for(looped, target) * memory(looped, target) + 4096
    assert lanes_for(LOOPS["bias"](chain(3)), target) == 2


def test_a_large_matrix_is_written_where_it_belongs() -> None:
    """A result that is larger than any stack: one state at a time needs no memory for it."""
    looped = replace(LOOPS["inertia_matrix"](chain(20)), parents=list(range(-1, 1499)))
    target = host("float64")
    assert memory(looped, target) > 2 * MOST_ALONE
    assert lanes_for(looped, target) == 1
    assert "%out = alloca" not in loop_text(
        "loop", LOOPS["inertia_matrix"](chain(20)), replace(target, lanes=1)
    )


@pytest.mark.slow
def test_fewer_lanes_for_memory_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "33 turning"
    given = states(ARMS[name], 19)
    full = loop_of(name, "inertia_matrix", lanes=8)
    need = memory(full.looped, host("float64"))
    for lanes in (4, 2, 1):
        monkeypatch.setattr("forearm.kernels.joint_loop_ir.MOST", lanes * need)
        fewer = Loop(ARMS[name], "inertia_matrix", lanes=8)
        assert fewer.lanes == lanes
        assert np.array_equal(fewer(given), full(given))


@pytest.mark.usefixtures("no_cache")
def test_an_arm_too_long_for_a_stack_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    looped = LOOPS["forward_dynamics"](ARMS["33 turning"])
    target = host("float64")
    alone = memory(looped, target) - target.size * looped.given
    assert alone < MOST_ALONE
    monkeypatch.setattr("forearm.kernels.joint_loop_ir.MOST_ALONE", alone - 1)
    monkeypatch.setattr("forearm.kernels.joint_loop_ir.MOST", 0)
    with pytest.raises(fa.ModelError, match=r"compile: 33 joints exceed a thread's stack; use fa\.dynamics"):
        fa.compile(ARMS["33 turning"]).forward_dynamics(*states(ARMS["33 turning"], 1))


def operations(lines: list[str]) -> Any:
    """Multiplications, additions, divisions in LLVM's text."""
    named = {
        "@llvm.fma": (1, 1, 0),
        " fmul ": (1, 0, 0),
        " fadd ": (0, 1, 0),
        " fsub ": (0, 1, 0),
        " fdiv ": (0, 0, 1),
    }
    return np.sum(
        [kind for line in lines for text, kind in named.items() if text in line] or [(0, 0, 0)], axis=0
    )


def between(text: str, first: str, last: str) -> list[str]:
    """The lines of LLVM's text from one label to another."""
    return text[text.index(f"\n{first}:") : text.index(f"\n{last}:")].split("\n")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_counts_are_those_of_the_text(function: str) -> None:
    """What stands in each loop, as often as it is gone through;
    less what makes results NaN of states that are.
    """
    n = 23
    looped = LOOPS[function](chain(n))
    text = loop_text("loop", looped, host("float64", 1)).split("@loop_one(")[1]
    passes = range(len(looped.passes))
    found: Any = np.sum([n * operations(between(text, f"pass{k}", f"pass{k}.done")) for k in passes], axis=0)
    if looped.walk is None:
        found -= (0, n, 0)
    else:
        found += n * (operations(between(text, "joints", "way.before")) - (0, 2, 0))
        found += n * (n - 1) // 2 * (operations(between(text, "way", "way.done")) - (0, 2, 0))
    counts = looped.counts
    assert found.tolist() == [counts.mul, counts.add, counts.div]
    assert (counts.trig, counts.sqrt) == (2 * n, 0)
