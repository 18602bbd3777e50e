"""Functions of long arms as loops over joints: the reference's answers, in any number of lanes,
the same bits everywhere.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from arms import every_kind, random_arm
from dynamics.cases import simple_drives, with_kinds
from kernels.compiling import compiled
from kernels.truths import DOUBLE, FUNCTIONS, REFERENCE, SINGLE, allowed, states
from sweeps import long

import forearm as fa
from forearm.kernels import compile_request
from forearm.kernels.joint_carry import can_carry
from forearm.kernels.joint_loop import LOOPS
from forearm.kernels.joint_loop_ir import MOST, MOST_ALONE, lanes_for, loop_text, memory
from forearm.kernels.native import host
from forearm.kernels.vectors import Target

ARMS: dict[str, fa.Arm] = {f"kind {k}": every_kind(12, 3)[k] for k in (0, 1, 2, 3, 4, 5, 9)}
ARMS |= {f"one, kind {k}": every_kind(7, 1)[k] for k in (0, 2)}
ARMS |= {kinds: with_kinds(random_arm(60, len(kinds)), kinds) for kinds in ("P", "PP", "RPPR")}
ARMS |= {"9 frames tree": random_arm(4, 9, tree=True), "17 modified": random_arm(5, 17, "modified")}
ARMS |= {
    "33 turning": random_arm(6, 33, "standard", prismatic=False),
    "100 tree": random_arm(7, 100, tree=True),
}
ARMS = {name: simple_drives(arm) for name, arm in ARMS.items()}


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
        text = loop_text("loop", self.looped, target)
        self.call = compiled(text, "loop", len(self.looped.inputs) + 1, target)

    def __call__(self, given: list[Any]) -> Any:
        states = [np.ascontiguousarray(x, dtype=self.dtype) for x in given[: len(self.looped.inputs)]]
        count, n = states[0].shape
        memory = np.full(count * self.looped.given + 64, 7.0, dtype=self.dtype)
        out = memory[32:-32]
        self.call(*(x.ctypes.data for x in states), out.ctypes.data, count)
        assert (memory[[*range(32), *range(-32, 0)]] == 7.0).all(), "nothing beside it is written"
        return out.reshape((count, n) if self.looped.walk is None else (count, n, n))


@cache
def loop_of(name: str, function: str, dtype: str = "float64", lanes: int | None = None) -> Loop:
    return Loop(ARMS[name], function, dtype, lanes)


def assert_close(got: Any, want: Any, tolerance: float = DOUBLE) -> None:
    """Each state by itself, by its largest entry."""
    assert got.shape == want.shape
    for a, b in zip(got, want, strict=True):
        assert np.abs(a - b).max() <= tolerance * np.abs(b).max()


def assert_true(found: Any, arm: fa.Arm, function: str, given: list[Any]) -> None:
    """Of many states the first, one in the middle and the last, by the reference."""
    rows = sorted({0, len(found) // 2, len(found) - 1})
    some = [x[rows] for x in given[: FUNCTIONS[function]]]
    assert_close(found[rows], REFERENCE[function](arm, *some), allowed(arm, function, some[0]))
    assert np.isfinite(found).all()


@pytest.mark.slow
@pytest.mark.parametrize("function", LOOPS)
@pytest.mark.parametrize("name", ARMS)
@pytest.mark.sweep
def test_every_function_is_the_reference(name: str, function: str) -> None:
    """Also in lanes that are not all full: a state has the same bits in a lane as alone."""
    arm, lanes = ARMS[name], host("float64").lanes
    given = states(arm, 2 * lanes + 3, seed=3)
    one, wide = loop_of(name, function, lanes=1)(given), loop_of(name, function)
    assert_true(one, arm, function, given)
    room = MOST // memory(wide.looped, host("float64"))
    assert wide.lanes == 2 ** int(np.log2(min(lanes, arm.n, room)))
    for count in (0, 1, wide.lanes - 1, wide.lanes + 1, len(one)):
        assert np.array_equal(wide([x[:count] for x in given]), one[:count])
    if function == "inertia_matrix":
        apart = (fa.dynamics.inertia_matrix(arm, given[0]) == 0.0).all(axis=0)  # other branches
        assert (one[:, apart] == 0.0).all()
        assert np.array_equal(one, one.transpose(0, 2, 1))


CHAINS = {
    "turning and sliding": simple_drives(with_kinds(random_arm(61, 3), "RPR")),
    "one": simple_drives(random_arm(62, 1)),
    "tree": simple_drives(random_arm(63, 4, tree=True)),
}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", LOOPS)
@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.sweep
def test_a_gpu_that_carries_from_joint_to_joint_has_the_same_bits(
    name: str, function: str, dtype: str
) -> None:
    arm = CHAINS[name]
    given = states(arm, 3, seed=8)
    given[0][1, 0] = np.nan
    found, want = (Loop(arm, function, dtype, 1, is_gpu)(given) for is_gpu in (True, False))
    assert found[::2].tobytes() == want[::2].tobytes()
    assert np.isnan(found[1]).all()
    assert can_carry(LOOPS[function](arm)) is (name != "tree" and function != "inertia_matrix")


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [2, 4, 16])
@pytest.mark.parametrize("function", LOOPS)
@pytest.mark.parametrize("name", ["kind 3", "9 frames tree", *long(["33 turning"])])
@pytest.mark.sweep
def test_every_width_has_the_same_bits(name: str, function: str, lanes: int) -> None:
    given = states(ARMS[name], 2 * lanes + 3, seed=lanes)
    other = loop_of(name, function, lanes=lanes)
    assert other.lanes == lanes or other.lanes > ARMS[name].n // 2
    assert np.array_equal(other(given), loop_of(name, function, lanes=1)(given))


@pytest.mark.slow
@pytest.mark.parametrize("function", LOOPS)
@pytest.mark.parametrize("name", ["kind 5", "17 modified"])
@pytest.mark.sweep
def test_single_precision(name: str, function: str) -> None:
    arm = ARMS[name]
    given = [x.astype(np.float32) for x in states(arm, 37, seed=4)]
    found = loop_of(name, function, "float32")(given)
    assert np.array_equal(loop_of(name, function, "float32", 1)(given), found)
    exact = [x.astype(float) for x in given]
    if function != "forward_dynamics":
        assert_close(found, REFERENCE[function](arm, *exact[: FUNCTIONS[function]]), SINGLE)
    else:  # torques come back, measured by the parts they are made of
        parts = np.abs(fa.dynamics.inertia_matrix(arm, exact[0])) @ np.abs(found.astype(float))[:, :, None]
        back = fa.dynamics.inverse(arm, exact[0], exact[1], found.astype(float))
        assert (np.abs(back - exact[2]).max(axis=1) <= SINGLE * parts.max(axis=(1, 2))).all()


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, None])
@pytest.mark.parametrize("function", LOOPS)
@pytest.mark.parametrize("name", ["9 frames tree", "17 modified"])
@pytest.mark.sweep
def test_nan_and_infinity_spoil_a_state_and_no_other(name: str, function: str, lanes: int | None) -> None:
    """All of it: on a tree also the entries of M between branches, which are 0 otherwise,
    and torques of other branches.
    """
    loop, n = loop_of(name, function, lanes=lanes), ARMS[name].n
    given = states(ARMS[name], 13, seed=6)
    clean, bad = loop(given), [4, 9, 12]  # 12 is not in a full block
    assert np.isfinite(clean).all()
    for k in range(len(loop.looped.inputs)):
        spoilt = [x.copy() for x in given]
        spoilt[k][bad, [0, n - 1, n // 2]] = np.nan, np.inf, -np.inf
        found = loop(spoilt)
        assert np.isnan(found[bad]).all()
        assert np.array_equal(np.delete(found, bad, axis=0), np.delete(clean, bad, axis=0))


@pytest.mark.slow
def test_angles_of_many_turns_and_speeds_of_zero() -> None:
    name = "17 modified"
    q, qd, x = states(ARMS[name], 9)
    far = q + 2e4 * np.random.default_rng(1).uniform(-1.0, 1.0, q.shape)
    # q and a constant are added before the sine is taken
    assert_close(loop_of(name, "gravity")([far, qd, x]), fa.dynamics.gravity(ARMS[name], far), 1e-9)
    rest = np.zeros_like(qd)
    assert np.array_equal(loop_of(name, "bias")([q, rest, x]), loop_of(name, "gravity")([q, qd, x]))


def chain(n: int, **changes: Any) -> fa.Arm:
    return simple_drives(random_arm(8, n, "modified", prismatic=False, fixed=False, **changes))


@pytest.fixture
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREARM_CACHE", "off")  # which knows nothing of what is patched below


@pytest.mark.slow
@pytest.mark.usefixtures("no_cache")
@pytest.mark.parametrize("function", LOOPS)
@pytest.mark.sweep(first=1)
def test_the_switch_and_what_both_forms_say(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Followers are never gone through in a loop."""
    arm = ARMS["RPPR"]
    given, found = states(arm, 21)[: FUNCTIONS[function]], {}
    for joints in (4, 5):
        monkeypatch.setitem(compile_request.LONG, function, joints)
        kernel = fa.compile(arm)
        found[joints] = getattr(kernel, function)(*given)
        looped = np.array_equal(found[joints], loop_of("RPPR", function)(given))
        assert looped == (joints == 4)
        assert (kernel.counts[function] == LOOPS[function](arm).counts) == looped
    assert_close(found[4], found[5], allowed(arm, function, given[0]))
    monkeypatch.setitem(compile_request.LONG, function, 2)
    followed = simple_drives(random_arm(9, 2, tree=True, mimic=True))
    given = states(followed, 10)[: FUNCTIONS[function]]
    assert_true(getattr(fa.compile(followed), function)(*given), followed, function, given)


@pytest.mark.slow
@pytest.mark.usefixtures("no_cache")
def test_open_parameters_and_fused_sets_are_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = ARMS["kind 3"]
    q, qd, x = states(arm, 4)
    monkeypatch.setitem(compile_request.LONG, "inverse_dynamics", 1)
    monkeypatch.setitem(compile_request.LONG, "inertia_matrix", 1)
    want = fa.dynamics.inverse(arm, q, qd, x)
    assert_close(fa.compile(arm, parameters="gravity").inverse_dynamics(q, qd, x), want)
    both = fa.compile(arm).fused(["inverse_dynamics", "inertia_matrix"])(q, qd, x)
    assert_close(both["tau"], want)
    assert_close(both["M"], fa.dynamics.inertia_matrix(arm, q))


@pytest.mark.usefixtures("no_cache")
@pytest.mark.long
def test_three_hundred_joints() -> None:
    arm = chain(300)
    kernel, given = fa.compile(arm), states(arm, 9)
    for function in LOOPS:
        found = getattr(kernel, function)(*given[: FUNCTIONS[function]])
        if function == "forward_dynamics":  # M cannot be inverted to any digit: the torques must come back
            q, qd, tau = (x[-1] for x in given)
            parts = np.abs(fa.dynamics.inertia_matrix(arm, q)) @ np.abs(found[-1])
            assert np.abs(fa.dynamics.inverse(arm, q, qd, found[-1]) - tau).max() <= 1e-11 * parts.max()
        else:
            assert_true(found, arm, function, given)


@pytest.mark.long
def test_memory_bounds_the_lanes() -> None:
    target = Target("double", 8, True)
    short, lengthy = (LOOPS["forward_dynamics"](chain(n)) for n in (20, 2000))
    assert lanes_for(short, target) == 8
    lanes = lanes_for(lengthy, target)
    assert lanes < 8
    assert memory(lengthy, target) * 2 * lanes > MOST or lanes == 4, "no more is given up than must be"
    assert lanes == 1 or lanes * memory(lengthy, target) <= MOST
    for looped, used in (
        (short, 8),
        (lengthy, lanes),
    ):  # what a block is declared to keep, from the text itself
        block = loop_text("loop", looped, replace(target, lanes=used)).split("@loop_block(")[-1]
        block = block.split("@loop_one(")[0] if used > 1 else block
        sizes = [int(line.split("[")[1].split(" ")[0]) for line in block.split("\n") if " alloca " in line]
        assert target.size * sum(sizes) <= 1.1 * used * memory(looped, target) + 4096
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
    name = "17 modified"
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
    looped = LOOPS["forward_dynamics"](ARMS["17 modified"])
    target = host("float64")
    alone = memory(looped, target) - target.size * looped.given
    assert alone < MOST_ALONE
    monkeypatch.setitem(compile_request.LONG, "forward_dynamics", 17)
    monkeypatch.setattr("forearm.kernels.joint_loop_ir.MOST_ALONE", alone - 1)
    monkeypatch.setattr("forearm.kernels.joint_loop_ir.MOST", 0)
    with pytest.raises(fa.ModelError, match=r"compile: 17 joints exceed a thread's stack; use fa\.dynamics"):
        fa.compile(ARMS["17 modified"]).forward_dynamics(*states(ARMS["17 modified"], 1))


KINDS = {
    "@llvm.fma": (1, 1, 0),
    " fmul ": (1, 0, 0),
    " fadd ": (0, 1, 0),
    " fsub ": (0, 1, 0),
    " fdiv ": (0, 0, 1),
}


def operations(text: str, first: str, last: str) -> Any:
    """Multiplications, additions, divisions in LLVM's text from one label to another."""
    lines = text[text.index(f"\n{first}:") : text.index(f"\n{last}:")].split("\n")
    return np.sum(
        [kind for line in lines for name, kind in KINDS.items() if name in line] or [(0, 0, 0)], axis=0
    )


@pytest.mark.parametrize("function", LOOPS)
def test_counts_are_those_of_the_text(function: str) -> None:
    """What stands in each loop, as often as it is gone through;
    less what makes results NaN of states that are.
    """
    n = 23
    looped = LOOPS[function](chain(n))
    text = loop_text("loop", looped, host("float64", 1)).split("@loop_one(")[1]
    parts = [operations(text, f"pass{k}", f"pass{k}.done") for k in range(len(looped.passes))]
    found: Any = n * np.sum(parts, axis=0)
    if looped.walk is None:
        found -= (0, n, 0)
    else:
        found += n * (operations(text, "joints", "way.before") - (0, 2, 0))
        found += n * (n - 1) // 2 * (operations(text, "way", "way.done") - (0, 2, 0))
    counts = looped.counts
    assert found.tolist() == [counts.mul, counts.add, counts.div]
    assert (counts.trig, counts.sqrt) == (2 * n, 0)
