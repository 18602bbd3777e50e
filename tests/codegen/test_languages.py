"""Every language computes what the graph says, to the last digits, whatever the program is made of."""

from __future__ import annotations

import math
import operator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from codegen.batch_running import ALL, EVERY_LANGUAGE, Job, run_jobs
from codegen.programs import (
    CASES,
    bends,
    decisions,
    loops,
    matrices,
    numbers,
    operators,
    parameters,
    partly,
    random_graph,
)
from codegen.running import (
    Case,
    Floats,
    assert_close,
    by_hand,
    caller,
    compiled,
    imported,
    needs,
    random_state,
    run_python,
    shim,
    write,
)
from codegen.test_texts import hostile, wide

from forearm.codegen.generate import SINGLE as SINGLE_LANGUAGES
from forearm.codegen.program import Argument, Op, Program, Ref, Statement, Tree
from forearm.errors import InputError
from forearm.symbols import derivative, evaluate

TREES, DIGITS, SIGNS = "trees", "digits", "signs"
# Of numbers near 1, after some tens of operations in single precision.
SINGLE = 2e-5
ROUGH = (operators, bends, decisions, loops, matrices, parameters, partly)
MEANING: dict[str, Any] = {
    "*": operator.mul,
    "+": operator.add,
    "-": operator.sub,
    "/": operator.truediv,
    "neg": operator.neg,
    "sqrt": math.sqrt,
    "sign": np.sign,
    "abs": abs,
    "exp": math.exp,
}


def value_of(tree: Tree, given: dict[str, Floats]) -> float:
    if isinstance(tree, float | int):
        return tree
    if isinstance(tree, Ref):
        return float(given[tree.name].flat[tree.index or 0])
    values = [value_of(operand, given) for operand in tree.operands]
    return float(MEANING[tree.operator](*values))


def random_tree(rng: np.random.Generator, depth: int) -> Tree:
    if depth == 0:
        return (
            Ref("q", int(rng.integers(4)))
            if rng.random() < 0.7
            else float(rng.choice([-2.5, -0.75, 1.25, 3.0, -0.0]))
        )
    kind = str(rng.choice(["*", "+", "-", "/", "neg", "neg", "sign", "sqrt"]))
    q = Ref("q", int(rng.integers(4)))
    if kind == "/":  # by something that is not 0
        below: list[Tree] = [
            Op("+", (Op("*", (q, q)), 0.5)),
            Op("*", (q, 3)),
            Op("/", (-1.75, q)),
            Op("neg", (q,)),
            -1.75,
            q,
        ]
        return Op("/", (random_tree(rng, depth - 1), below[rng.integers(6)]))
    if kind == "sqrt":
        return Op("sqrt", (Op("*", (q, q)),))
    return Op(kind, tuple(random_tree(rng, depth - 1) for _ in range(2 if kind in "*+-" else 1)))


def trees() -> tuple[Program, list[Any]]:
    """Minus signs and negative numbers where no graph puts them."""
    rng = np.random.default_rng(5)
    made = [random_tree(rng, 1 + i % 4) for i in range(200)]
    tau = Argument("tau", (len(made),), "N m")
    statements = (Statement(Ref("tau", i), tree, "") for i, tree in enumerate(made))
    return by_hand(TREES, statements, (Argument("q", (4,), "rad"),), (tau,)), made


def digits() -> tuple[Program, list[float]]:
    """Numbers that must read back bit for bit."""
    rng = np.random.default_rng(1)
    values = [0.1, 1.0 / 3.0, math.pi, 5e-324, 1.7976931348623157e308, 2.2250738585072014e-308, 1e16, 1e22]
    values += [123456789.0, -0.0, -1e-300, *(rng.normal(size=50) * 10.0 ** rng.integers(-200, 200, size=50))]
    statements = (Statement(Ref("tau", i), v, "") for i, v in enumerate(values))
    return by_hand(DIGITS, statements, (), (Argument("tau", (len(values),), "N m"),)), values


def signs() -> Case:
    """Signs at zero, and of what is no number; the root of what is negative."""
    case = Case(SIGNS, {"q": (5,)})
    q = case.input("q")
    case.results = {"tau": [x.sign() for x in q], "roots": [x.sqrt() for x in q]}
    return case


@pytest.mark.slow
@EVERY_LANGUAGE
def test_generated_code_gives_what_the_graph_gives(language: str, tmp_path: Path) -> None:
    """Every case with its own parameters and others; trees without sin and cos to the last bit."""
    cases = [*CASES, hostile(), wide()]
    jobs = []
    for case in cases:
        program = case.program()
        p = np.array(program.defaults)
        jobs.append(Job(program, [random_state(program, seed) for seed in (0, 1)], p))
        if program.parameters and case.name != "hostile":
            other = replace(program, name=f"{program.name}_other")
            jobs.append(Job(other, [random_state(program, 2)], 1.1 + p))
    (forest, made), (numbers, values), edges = trees(), digits(), signs().program()
    state = random_state(forest, seed=3)
    odd = {"q": np.array([0.0, -0.0, math.nan, -1e-300, math.inf])}
    jobs += [Job(forest, [state]), Job(numbers, [{}]), Job(edges, [odd])]
    found = {
        job.program.name: rows for job, rows in zip(jobs, run_jobs(language, jobs, tmp_path), strict=True)
    }
    named = {case.name: case for case in cases}
    for job in jobs[:-3]:
        case = named[job.program.name.removesuffix("_other")]
        assert job.p is not None
        for state_of, outputs in zip(job.states, found[job.program.name], strict=True):
            assert_close(outputs, case.expected(state_of, job.p))
    np.testing.assert_array_equal(found[TREES][0]["tau"], [value_of(tree, state) for tree in made])
    assert found[DIGITS][0]["tau"].tobytes() == np.array(values).tobytes()
    np.testing.assert_array_equal(found[SIGNS][0]["tau"], [0.0, 0.0, math.nan, -1.0, 1.0])
    np.testing.assert_array_equal(found[SIGNS][0]["roots"], [0.0, 0.0, math.nan, math.nan, math.inf])


@pytest.mark.slow
@pytest.mark.parametrize("language", [name for name in SINGLE_LANGUAGES if name in ALL])
def test_single_precision(language: str, tmp_path: Path) -> None:
    cases = [make() for make in ROUGH]
    programs = [replace(case.program(), single=True) for case in cases]
    jobs = [Job(program, [random_state(program)]) for program in programs]
    for case, job, (made,) in zip(cases, jobs, run_jobs(language, jobs, tmp_path), strict=True):
        assert all(array.dtype == np.float32 for array in made.values())
        expected = case.expected(job.states[0], np.array(job.program.defaults))
        assert_close({name: array.astype(float) for name, array in made.items()}, expected, SINGLE)


@EVERY_LANGUAGE
def test_what_is_no_number_is_refused(language: str) -> None:
    for value in (math.nan, math.inf, -math.inf):
        tau = Argument("tau", (1,), "N m")
        program = by_hand(DIGITS, [Statement(Ref("tau", 0), value, "")], (), (tau,))
        with pytest.raises(InputError, match=f"codegen: {value} cannot be written as a number in a program"):
            ALL[language].write(program)


def test_c_header_serves_cpp(tmp_path: Path) -> None:
    needs("c")
    needs("cpp")
    write(parameters().program(), "c", tmp_path)
    (tmp_path / "user.cpp").write_text(
        '#include "parameters.h"\n'
        "void user(const double* q, double* y) { parameters_prepare(q, y); parameters(q, q, y, y, y, y); }\n",
        encoding="utf-8",
    )
    library = compiled("cpp", "user.cpp", tmp_path, "-Wl,--unresolved-symbols=ignore-all")
    assert b"parameters_prepare" in library.read_bytes()
    assert b"_Z18parameters_prepare" not in library.read_bytes(), "the names are those of C"


DUAL = """
namespace ad {
struct Dual {
    double x, d;
    explicit Dual(double value) : x(value), d(0.0) {}
    Dual(double value, double rate) : x(value), d(rate) {}
};
inline Dual operator-(const Dual& a) { return Dual(-a.x, -a.d); }
inline Dual operator+(const Dual& a, const Dual& b) { return Dual(a.x + b.x, a.d + b.d); }
inline Dual operator-(const Dual& a, const Dual& b) { return Dual(a.x - b.x, a.d - b.d); }
inline Dual operator*(const Dual& a, const Dual& b) { return Dual(a.x * b.x, a.d * b.x + a.x * b.d); }
inline Dual operator/(const Dual& a, const Dual& b) { return Dual(a.x / b.x, (a.d - a.x / b.x * b.d) / b.x); }
inline bool operator<(const Dual& a, const Dual& b) { return a.x < b.x; }
inline bool operator>(const Dual& a, const Dual& b) { return a.x > b.x; }
inline Dual sin(const Dual& a) { return Dual(__builtin_sin(a.x), __builtin_cos(a.x) * a.d); }
inline Dual cos(const Dual& a) { return Dual(__builtin_cos(a.x), -__builtin_sin(a.x) * a.d); }
inline Dual sqrt(const Dual& a) { return Dual(__builtin_sqrt(a.x), a.d / (2.0 * __builtin_sqrt(a.x))); }
}
typedef ad::Dual Dual;
"""


@pytest.mark.slow
def test_cpp_serves_automatic_differentiation(tmp_path: Path) -> None:
    """Numbers with their rate of change, of a type that turns into nothing else by itself;
    also where a sign is at 0.
    """
    needs("cpp")
    case = operators()
    program = case.program()
    source = tmp_path / shim("operators", write(program, "cpp", tmp_path), "Dual", tmp_path)
    source.write_text(DUAL + source.read_text(encoding="utf-8"), encoding="utf-8")
    call = caller(compiled("cpp", source.name, tmp_path), lambda name: f"{name}_Dual")
    for seed in range(2):
        state, rates = random_state(program, seed), random_state(program, seed + 10)
        if seed:
            state["qd"][1] = state["qd"][0]
        tau = np.full((program.outputs[0].size, 2), np.nan)
        call("operators", [*(np.stack([state[name], rates[name]], axis=-1) for name in case.inputs), tau])
        direction = {x: rates[leaf[:-3]][int(leaf[-2])] for leaf, x in case.given.items()}
        given = {leaf: state[leaf[:-3]][int(leaf[-2])] for leaf in case.given}
        changes = evaluate(case.graph, derivative(case.graph, case.results["tau"], direction), given)
        assert_close({"tau": tau[:, 0]}, case.expected(state, np.array([])))
        assert_close({"tau": tau[:, 1]}, {"tau": np.array(changes, dtype=float)}, tolerance=1e-13)


@pytest.mark.parametrize("make", [operators, matrices, parameters, numbers, partly, lambda: random_graph(9)])
def test_python_takes_batches(make: Any, tmp_path: Path) -> None:
    """A batch gives what its states give one by one, results that are numbers included;
    one state serves a whole batch.
    """
    case = make()
    program = case.program()
    write(program, "python", tmp_path)
    module = imported(program.name, tmp_path)
    states = [random_state(program, seed) for seed in range(6)]
    first, *others = program.inputs
    for shape in ((6,), (2, 3)):
        batch = {
            a.name: np.stack([s[a.name] for s in states]).reshape(*shape, *a.shape) for a in program.inputs
        }
        one_of_them = {first.name: batch[first.name], **{a.name: states[0][a.name] for a in others}}
        for given, chosen in (
            (batch, states),
            (one_of_them, [{**states[0], first.name: s[first.name]} for s in states]),
        ):
            made = run_python(module, program, given)
            single = [run_python(module, program, s) for s in chosen]
            expected = {
                a.name: np.stack([s[a.name] for s in single]).reshape(*shape, *a.shape)
                for a in program.outputs
            }
            assert_close(made, expected, tolerance=1e-15)


def test_python_returns_new_arrays_and_refuses_wrong_shapes(tmp_path: Path) -> None:
    case = Case("straight", {"q": (2,), "A": (2, 2)})
    case.results = {"x": case.input("q")}
    write(case.program(), "python", tmp_path)
    straight = imported("straight", tmp_path).straight
    q = np.array([0.3, 0.7])
    x = straight(q, np.eye(2))
    x[:] = 5.0
    assert q.tolist() == [0.3, 0.7]
    assert straight([1, 2], [[0, 0], [0, 0]]).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match=r"^q: expected shape \(\.\.\., 2\), got \(2, 3\)\.$"):
        straight(np.zeros((2, 3)), np.eye(2))
    with pytest.raises(ValueError, match=r"^A: expected shape \(\.\.\., 2, 2\), got \(2,\)\.$"):
        straight(q, np.zeros(2))
