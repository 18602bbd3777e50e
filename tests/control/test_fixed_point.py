"""Fixed point against exact values: ranges hold, errors stay within their bounds,
and C computes what is emulated.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from control.compiled_c import COMPILER, call, library
from control.test_code import volts
from numpy.typing import NDArray

import forearm as fa
from forearm import Arm, Friction
from forearm.codegen.functions import Traced
from forearm.codegen.program import Argument
from forearm.control import fixed_point_sine as sines
from forearm.control.controllers.formulas import clamped
from forearm.control.fixed_code import FixedPoint, fixed_point, program_in_fixed_point
from forearm.control.gains import joint_gains
from forearm.symbols import Expr, Graph, choose, evaluate, maximum, minimum

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
# Rounding of the float64 evaluation that bounds are held against, relative to the largest value inside.
FLOAT = 1e-12
# Bounds add up what random rounding cancels, and ranges are wider than what is reached:
# some hundred times is what to expect.
ABSURD = 300.0


def bearing_free(seed: int, n: int) -> Arm:
    """A random arm with viscous and Coulomb friction."""
    arm = random_arm(seed, n)

    def changed(joint: Any) -> Any:
        friction = Friction(viscous=0.3, coulomb=(0.7, -0.4)) if joint.kind != "fixed" else None
        return replace(joint, friction=friction, bearings=(), transmission=None)

    return arm.replace(tree=tuple(changed(j) for j in arm.tree))


MOTION = {"q": 1.5, "q_wanted": 1.5, "qd": 1.5, "qd_wanted": 1.5, "qdd_wanted": 5.0}
CASES: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "puma560 inverse": (lambda: fa.load("puma560"), "inverse_dynamics", {"q": 3.2, "qd": 1.5, "qdd": 5.0}),
    "random inverse": (lambda: bearing_free(3, 4), "inverse_dynamics", {"qd": 1.0, "qdd": 3.0}),
    "followers": (
        lambda: random_arm(4, 3, tree=True, mimic=True).rigid(),
        "inverse_dynamics",
        {"qd": 1.0, "qdd": 3.0},
    ),
    "bearings": (lambda: random_arm(6, 2), "gravity", {}),
    "stanford gravity": (
        lambda: fa.load("stanford"),
        "gravity",
        {"q": [3.0, 3.0, (0.1, 0.9), 3.0, 2.0, 3.0]},
    ),
    "inertia": (lambda: fa.load("chain3"), "inertia_matrix", {"q": 3.2}),
    "forward": (lambda: random_arm(3, 3).rigid(), "forward_dynamics", {"qd": 1.0, "tau": 10.0}),
    "kinematics": (lambda: fa.load("ur5"), "forward_kinematics", {"q": 3.2}),
    "computed torque": (lambda: bearing_free(3, 3), "computed_torque", MOTION),
    "pid": (lambda: fa.load("puma560"), "pid_gravity", {**MOTION, "state": 20.0}),
}
_MADE: dict[tuple[str, int], FixedPoint] = {}


def made(case: str, word: int = 32) -> FixedPoint:
    """Each program once."""
    if (case, word) not in _MADE:
        arm, function, ranges = CASES[case]
        _MADE[case, word] = fixed_point(arm(), function, ranges, word=word, name="fixed")
    return _MADE[case, word]


def inputs_of(program: FixedPoint, seed: int, count: int) -> dict[str, Whole]:
    """Random states, states at corners of the ranges, and states with some entries at 0, as whole numbers."""
    rng = np.random.default_rng(seed)
    sizes = {name: len(bits) for name, bits in program.formats.items() if f"{name}[0]" in program.ranges}
    given = {}
    for name, size in sizes.items():
        low, high = np.array([program.ranges[f"{name}[{i}]"] for i in range(size)]).T
        inner = rng.uniform(low, high, (count, size))
        corners = np.where(rng.random((count, size)) < 0.5, low, high)
        still = np.where(rng.random((count, size)) < 0.4, np.clip(0.0, low, high), inner)
        given[name] = np.concatenate([inner, corners, still])
    return program.quantised(**given)


def exact(program: FixedPoint, inputs: dict[str, Whole], entries: Any) -> list[Floats]:
    """The graph's own values in float64 for whole-number inputs."""
    real = program.real(inputs)
    given = {f"{name}[{i}]": array[:, i] for name, array in real.items() for i in range(array.shape[1])}
    count = len(next(iter(real.values())))
    return [np.broadcast_to(v, (count,)) for v in evaluate(program.graph, list(entries), given)]


@pytest.mark.slow
@pytest.mark.parametrize("word", [32, 16])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.sweep
def test_no_value_leaves_its_range_and_no_number_its_word(case: str, word: int) -> None:
    program = made(case, word)
    inputs = inputs_of(program, 1, 250)
    values = program.values(inputs)
    truth = exact(program, inputs, [Expr(program.graph, place, False) for place in program.steps])
    for (place, step), value in zip(program.steps.items(), truth, strict=True):
        low, high = program.bounds.of[place]
        slack = FLOAT * max(abs(low), abs(high), 1e-3)
        assert value.min() >= low - slack, place
        assert value.max() <= high + slack, place
        assert np.abs(values[place]).max() < 2 ** (word - 1)
        assert step.down < 2 * word - 1
        wrong = np.abs(values[place] * 2.0**-step.bits - value).max()
        assert wrong <= program.inner_errors[place] + 10.0 * slack, place
        assert (max(abs(low), abs(high)) + program.inner_errors[place]) * 2.0**step.bits < 2 ** (word - 1), (
            place
        )


@pytest.mark.sweep(first=4)
@pytest.mark.slow
@pytest.mark.parametrize("word", [32, 16])
@pytest.mark.parametrize("case", CASES)
def test_errors_stay_within_their_bound_which_is_not_absurd(case: str, word: int) -> None:
    program = made(case, word)
    inputs = inputs_of(program, 2, 500)
    found = program.real(program.evaluate(inputs))
    for name, entries in program.results.items():
        truth = np.stack(exact(program, inputs, entries), axis=1)
        if name in program.ends:  # what is kept for the next call ends at its range
            truth = np.clip(
                truth, *(np.array(program.ends[name]).T * 2.0 ** -np.array(program.formats[name]))
            )
        wrong = np.abs(found[name] - truth).max(axis=0)
        slack = FLOAT * max(float(np.abs(truth).max()), 1.0)
        assert (wrong <= program.errors[name] + slack).all(), (wrong, program.errors[name])
        seen = wrong > 10.0 * slack
        assert (program.errors[name][seen] < ABSURD * wrong[seen]).all(), (wrong, program.errors[name])
    assert np.array_equal(program.error_bound, list(program.errors.values())[-1])


@pytest.mark.slow
@pytest.mark.parametrize("word", [32, 16])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.sweep
def test_c_computes_the_same_bits(case: str, word: int, tmp_path: Path) -> None:
    program = made(case, word)
    check_bits_of_c(program, inputs_of(program, 4, 60), word, tmp_path)


def check_bits_of_c(program: FixedPoint, inputs: dict[str, Whole], word: int, folder: Path) -> None:
    """All outputs of the compiled text at all inputs."""
    kind = np.int32 if word == 32 else np.int16
    expected = program.evaluate(inputs)
    function = library(program.files(), folder).fixed
    for row in range(len(next(iter(inputs.values())))):
        given = [np.ascontiguousarray(array[row].astype(kind)) for array in inputs.values()]
        outputs = [np.full(len(entries), -7, dtype=kind) for entries in program.results.values()]
        call(function, *given, *outputs)
        for name, out in zip(expected, outputs, strict=True):
            assert np.array_equal(out, expected[name][row]), (name, row)


MAIN = """\
#include <stdio.h>
#include "fixed.h"
int main(void)
{
    int32_t q[6], qd[6], qdd[6], tau[6];
    int32_t *all[3] = {q, qd, qdd};
    int i, k;
    for (;;) {
        for (k = 0; k < 3; k++)
            for (i = 0; i < 6; i++)
                if (scanf("%d", &all[k][i]) != 1)
                    return 0;
        fixed(q, qd, qdd, tau);
        printf("%d\\n", tau[0]);
    }
}
"""


@pytest.mark.slow
def test_nothing_overflows_under_the_compilers_own_watch(tmp_path: Path) -> None:
    if COMPILER is None:
        pytest.skip("gcc is not installed")
    program = made("puma560 inverse")
    program.save(tmp_path)
    (tmp_path / "main.c").write_text(MAIN, encoding="utf-8")
    flags = "-std=c99 -fsanitize=undefined -fno-sanitize-recover=all -o main main.c fixed.c"
    built = subprocess.run(
        [COMPILER, *flags.split()], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    if built.returncode != 0:
        pytest.skip("gcc has no sanitizer here")
    inputs = inputs_of(program, 5, 300)
    rows = np.concatenate([inputs[name] for name in ("q", "qd", "qdd")], axis=1)
    text = "\n".join(" ".join(map(str, row)) for row in rows)
    done = subprocess.run([str(tmp_path / "main")], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:500]
    assert np.array_equal(
        np.array(done.stdout.split(), dtype=np.int64), program.evaluate(inputs)["tau"][:, 0]
    )


def test_the_sine_is_as_good_as_it_says_all_the_way_round() -> None:
    fraction = 27
    angle = np.concatenate([np.linspace(-12.0, 12.0, 300_001), np.pi * np.arange(-3.5, 4.0, 0.5)])
    whole = np.round(angle * 2.0**fraction).astype(np.int64)
    at = whole * 2.0**-fraction
    for quarter, truth in ((0, np.sin(at)), (1, np.cos(at))):
        found = sines.sine(whole, fraction, quarter) * 2.0**-sines.FRACTION
        wrong = float(np.abs(found - truth).max())
        bound = sines.ERROR + sines.angle_error(12.0)
        assert wrong <= bound
        assert bound < 10.0 * wrong
        assert np.abs(found).max() <= 1.0


def hand_made(word: int) -> FixedPoint:
    """Divisions, roots, signs, clamped values and choices, of two inputs."""
    graph = Graph()
    x, y = (graph.input(f"x[{i}]") for i in range(2))
    square = x * x + y * y
    out = [
        x / (y + 3.5), (square + 0.3).sqrt(), square.sqrt(), x.sign() * y + abs(x - y),
        clamped(x, 0.4), -(1000.0 * x * y), 1e-4 * x, 0.25 / (y - 7.0), abs(x).sqrt(),
        choose(x, y, -x, 700.0 * y), choose(-x * y, 0.3, y, 1e-3 * x), choose(x, -2.5, square, -1e-4 * y),
        maximum(x * y, 1e-3 * y), minimum(-square, 1e-9), choose(x.sign(), y.sign(), -3e-4, x - y),
        0.0,
    ]  # fmt: skip
    traced = Traced(
        graph,
        {"out": np.array(out, dtype=object)},
        (Argument("x", (2,), "two"),),
        (Argument("out", (len(out),), "some"),),
    )
    return program_in_fixed_point(
        traced, {"x[0]": (-2.0, 2.0), "x[1]": (-1.0, 3.0)}, word, "fixed", ["By hand."]
    )


@pytest.mark.parametrize("word", [32, 16])
def test_divisions_roots_clamps_and_choices(word: int, tmp_path: Path) -> None:
    program = hand_made(word)
    inputs = inputs_of(program, 6, 400)
    truth = np.stack(exact(program, inputs, program.results["out"][:-1]), axis=1)
    found = program.real(program.evaluate(inputs))["out"]
    wrong = np.abs(found[:, :-1] - truth).max(axis=0)
    assert (wrong <= program.error_bound[:-1] + FLOAT).all()
    assert not found[:, -1].any()
    clamp = program.results["out"][4]
    assert isinstance(clamp, Expr)
    assert program.bounds.most(clamp.node) < 0.41  # the pattern is seen: no wider than the bound
    # what decides is exact, or known to be off by no more than what was compared
    for at in (4, 9, 12, 13, 14):
        assert program.error_bound[at] < 1e-3 * (1.0 if word == 32 else 1e3 if at == 9 else 10.0), at
    check_bits_of_c(program, inputs, word, tmp_path)


def test_a_divisor_that_may_be_nothing_is_refused() -> None:
    graph = Graph()
    x = graph.input("x[0]")
    some = Argument("x", (1,), "one")
    traced = Traced(
        graph, {"out": np.array([1.0 / x], dtype=object)}, (some,), (Argument("out", (1,), "one"),)
    )
    with pytest.raises(fa.InputError, match="may be 0 within these ranges"):
        program_in_fixed_point(traced, {"x[0]": (-1.0, 1.0)}, 32, "fixed", ["By hand."])
    share = np.array([1.0 / (0.3 * x + 0.1 * x * x)], dtype=object)
    with pytest.raises(fa.InputError, match="a divisor can be as small as its rounding"):
        program_in_fixed_point(
            replace(traced, results={"out": share}), {"x[0]": (7e-5, 1.0)}, 16, "fixed", ["By hand."]
        )


def test_the_header_says_what_a_caller_must_know() -> None:
    program = made("puma560 inverse")
    assert "q[1] from -3.2 to 3.2" in program.header
    assert "Results differ from the exact ones" in program.header
    bits = ", ".join(map(str, program.formats["tau"]))
    assert f"#define FIXED_TAU_BITS {{{bits}}}" in program.header
    assert "int32_t tau[6]" in program.header
    assert "double" not in program.text
    assert "float" not in program.text.replace("floating", "")


@pytest.mark.slow
def test_ranges_of_one_point_and_of_nothing() -> None:
    arm = fa.load("puma560").rigid()
    ranges = {
        "q": [(0.1, 0.1), (np.pi / 2, np.pi / 2), (-0.3, 0.4), 0.0, 1.0, 1.0],
        "qd": 0.0,
        "qdd": [1e-9, 0.0, 2.0, 1.0, 1.0, 1.0],
    }
    program = fixed_point(arm, "inverse_dynamics", ranges)
    inputs = inputs_of(program, 1, 100)
    real = program.real(inputs)
    tau = fa.dynamics.inverse(arm, real["q"], real["qd"], real["qdd"])
    found = program.real(program.evaluate(inputs))["tau"]
    assert (np.abs(found - tau) <= program.error_bound + 1e-10 * np.abs(tau).max()).all()
    for place, value in program.values(inputs).items():
        assert np.abs(value).max() < 2**31
        reached = program.bounds.most(place) + program.inner_errors[place]
        assert reached * 2.0 ** program.steps[place].bits < 2**31, place


@pytest.mark.slow
def test_the_sum_of_a_controller_is_handed_over_as_it_is_and_ends_at_its_range(tmp_path: Path) -> None:
    reach = [0.5, 0.3, (-0.2, 0.7), 20.0, 0.0, 1.0]
    program = fixed_point(fa.load("puma560"), "pid_gravity", {**MOTION, "state": reach}, name="fixed")
    assert program.formats["state"] == program.formats["state_next"]
    assert "state_next has the formats of state and ends at its range" in program.header
    low, high = np.array([program.ranges[f"state[{i}]"] for i in range(6)]).T
    unit = 2.0 ** -np.array(program.formats["state"], dtype=float)
    function, rng = library(program.files(), tmp_path).fixed, np.random.default_rng(3)
    state, total, ended = np.zeros(6, dtype=np.int64), np.zeros(6), 0
    for k in range(120):
        wanted = rng.uniform(-0.1, 0.1, 6) + (0.05 if k < 60 else -0.05)
        still = dict.fromkeys(("q", "qd", "qd_wanted", "qdd_wanted", "state"), np.zeros(6))
        inputs = program.quantised(**(still | {"q_wanted": wanted})) | {"state": state}
        outputs = program.evaluate(inputs)
        given = [np.ascontiguousarray(a.astype(np.int32)) for a in inputs.values()]
        after, volts = np.zeros(6, dtype=np.int32), np.zeros(6, dtype=np.int32)
        call(function, *given, after, volts)
        assert np.array_equal(after, outputs["state_next"])
        assert np.array_equal(volts, outputs["voltage"])
        state = outputs["state_next"]
        total = np.clip(total + program.real(inputs)["q_wanted"], low, high)
        ended += int(np.sum((total == low) | (total == high)))
        # one rounding a sample, and one unit where a range ends between whole numbers
        assert (np.abs(state * unit - total) <= (0.5 * (k + 1) + 1.0) * unit).all(), k
        assert ((state * unit >= low) & (state * unit <= high)).all(), k
    assert ended > 100


@pytest.mark.slow
def test_laws_take_the_settings_of_controllers_in_c() -> None:
    arm = fa.load("puma560")
    plain = fixed_point(arm, "pd_gravity", MOTION, bandwidth=30.0)
    gains = joint_gains(arm, 30.0, None, False)
    assert plain.text == fixed_point(arm, "pd_gravity", MOTION, gains=gains).text
    rng = np.random.default_rng(4)
    inputs = program_inputs(plain, rng)
    real = plain.real(inputs)
    tau = gains.kp * (real["q_wanted"] - real["q"]) + gains.kd * (real["qd_wanted"] - real["qd"])
    expected = volts(arm, tau + fa.dynamics.gravity(arm, real["q"]), real["qd"])
    found = plain.real(plain.evaluate(inputs))["voltage"]
    assert (np.abs(found - expected) <= plain.error_bound + 1e-9).all()
    weak = fixed_point(random_arm(3, 3, drives=False), "pd_gravity", MOTION, most=[1.0, 2.0, 3.0])
    assert (
        np.abs(weak.real(weak.evaluate(program_inputs(weak, rng)))["tau"]) <= np.array([1.0, 2.0, 3.0]) + 1e-6
    ).all()
    rough = bearing_free(3, 3)
    ideal = fixed_point(rough, "computed_torque", MOTION, friction=False)
    assert "> 0) - (" not in ideal.text  # a sign
    assert "> 0) - (" in made("computed torque").text
    slow, fast = (fixed_point(rough, "pid_gravity", {**MOTION, "state": 1.0}, period=p) for p in (1e-2, 1e-3))
    assert "once a period of 0.01 s" in slow.header
    assert slow.text != fast.text
    with pytest.raises(fa.InputError, match="fixed_point: only laws have gains"):
        fixed_point(arm, "gravity", bandwidth=30.0)


def program_inputs(program: FixedPoint, rng: np.random.Generator) -> dict[str, Whole]:
    """Two hundred states near a wanted motion."""
    n = len(program.formats["q"])
    q, qd = rng.uniform(-1.4, 1.4, (2, 200, n))
    near = {
        "q_wanted": q + rng.uniform(-0.05, 0.05, q.shape),
        "qd_wanted": qd + rng.uniform(-0.05, 0.05, q.shape),
    }
    return program.quantised(q=q, qd=qd, qdd_wanted=0.0 * q, **near)


@pytest.mark.slow
@pytest.mark.parametrize("ranges", [(0.0, 1.0, 0.0), (1e-9, 1e-9, 1e-9), (0.0, 0.0, 0.0), (1e-4, 1e-4, 1e-4)])
@pytest.mark.parametrize("word", [16, 32])
@pytest.mark.sweep(first=1)
def test_small_ranges_shift_no_further_than_the_word_goes(
    word: int, ranges: tuple[float, ...], tmp_path: Path
) -> None:
    arm = fa.load("chain3")
    program = fixed_point(
        arm, "inverse_dynamics", dict(zip(("q", "qd", "qdd"), ranges, strict=True)), word=word, name="fixed"
    )
    shifts = [
        s
        for step in program.steps.values()
        for s in (step.down, -step.up_a, -step.up_b, step.up_a, step.up_b)
    ]
    assert max(shifts) <= 2 * word - 2
    literals = [int(x) for x in re.findall(rf"INT{2 * word}_C\((\d+)\)", program.text)]
    assert max(literals, default=0) < 2 ** (2 * word - 1)
    inputs = inputs_of(program, 1, 20)
    expected, truth = (
        program.evaluate(inputs),
        np.stack(exact(program, inputs, program.results["tau"]), axis=1),
    )
    assert (
        np.abs(program.real(expected)["tau"] - truth) <= program.error_bound + FLOAT * np.abs(truth).max()
    ).all()
    check_bits_of_c(program, inputs, word, tmp_path)
