"""Every language computes what the graph says, to the last digits, whatever the program is made of."""

from __future__ import annotations

import math
import operator
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from codegen.programs import CASES, bends, matrices, numbers, operators, parameters, partly, random_graph
from codegen.running import (
    EVERY,
    LANGUAGES,
    Case,
    Floats,
    assert_close,
    by_hand,
    caller,
    compiled,
    imported,
    needs,
    random_state,
    run,
    run_python,
    shim,
    write,
)

from forearm.codegen.program import Argument, Op, Ref, Statement, Tree
from forearm.errors import InputError
from forearm.symbols import derivative, evaluate


@pytest.mark.slow
@EVERY
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.sweep
def test_generated_code_gives_what_the_graph_gives(language: str, case: Case, tmp_path: Path) -> None:
    program = case.program()
    state = random_state(program)
    for p in (np.array(program.defaults), 1.1 + np.array(program.defaults))[: 1 + bool(program.parameters)]:
        assert_close(run(program, language, tmp_path, state, p), case.expected(state, p))


SIZES = {"c": "fabs(", "cpp": "abs(", "fortran": "abs(", "python": "np.abs(", "javascript": "Math.abs("}


@EVERY
def test_sizes_and_exponentials_as_the_language_has_them(language: str, tmp_path: Path) -> None:
    """C's own abs is for whole numbers; none is defined where none is used."""
    text = write(bends().program(), language, tmp_path)
    assert SIZES[language] in text
    assert ("np.exp(" if language == "python" else "exp(") in text
    if language == "c":
        assert " abs(" not in text
    plain = write(matrices().program(), language, tmp_path)
    assert "abs" not in plain.replace("ABOUT", "")
    assert "exp(" not in plain


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


@pytest.mark.slow
@EVERY
def test_parentheses_of_any_tree(language: str, tmp_path: Path) -> None:
    """Minus signs and negative numbers inside, where no graph puts them.
    Without sin and cos, every bit is the same.
    """
    rng = np.random.default_rng(5)
    trees = [random_tree(rng, 1 + i % 4) for i in range(200)]
    q, tau = Argument("q", (4,), "rad"), Argument("tau", (len(trees),), "N m")
    program = by_hand(
        "trees", (Statement(Ref("tau", i), tree, "") for i, tree in enumerate(trees)), (q,), (tau,)
    )
    state = random_state(program, seed=3)
    made = run(program, language, tmp_path, state)["tau"]
    np.testing.assert_array_equal(made, [value_of(tree, state) for tree in trees])


@pytest.mark.slow
@EVERY
def test_numbers_read_back_bit_for_bit(language: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    values = [
        0.1,
        1.0 / 3.0,
        math.pi,
        5e-324,
        sys.float_info.max,
        sys.float_info.min,
        1e16,
        1e22,
        123456789.0,
        -0.0,
        -1e-300,
    ]
    values += [np.float64(0.3), *(rng.normal(size=50) * 10.0 ** rng.integers(-200, 200, size=50))]
    outputs = (Argument("tau", (len(values),), "N m"),)
    program = by_hand("digits", (Statement(Ref("tau", i), v, "") for i, v in enumerate(values)), (), outputs)
    assert run(program, language, tmp_path, {})["tau"].tobytes() == np.array(values).tobytes()


@EVERY
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused(language: str, value: float) -> None:
    program = by_hand("digits", [Statement(Ref("tau", 0), value, "")], (), (Argument("tau", (1,), "N m"),))
    with pytest.raises(
        InputError,
        match=rf"codegen: {value} cannot be written as a number in a program; expected a finite number\.",
    ):
        LANGUAGES[language].write(program)


@pytest.mark.slow
@EVERY
def test_sign_at_zero_and_of_nan(language: str, tmp_path: Path) -> None:
    case = Case("signs", {"q": (5,)})
    case.results = {"tau": [x.sign() for x in case.input("q")]}
    made = run(case.program(), language, tmp_path, {"q": np.array([0.0, -0.0, math.nan, -1e-300, math.inf])})
    np.testing.assert_array_equal(made["tau"], [0.0, 0.0, math.nan, -1.0, 1.0])


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


@pytest.mark.slow
def test_cpp_headers_stand_together_and_serve_float(tmp_path: Path) -> None:
    """Both define a sign of their own; the second time a header is included it adds nothing."""
    needs("cpp")
    cases = [operators(), parameters(), bends()]
    sources = [shim(case.name, write(case.program(), "cpp", tmp_path), "float", tmp_path) for case in cases]
    (tmp_path / "both.cpp").write_text(
        "".join(f'#include "{s}"\n'.replace("_float.cpp", ".hpp") for s in sources) * 2, encoding="utf-8"
    )
    both = "".join(
        (tmp_path / s).read_text(encoding="utf-8").replace("typedef float S;", "") for s in sources
    )
    (tmp_path / "both.cpp").write_text(
        f"{(tmp_path / 'both.cpp').read_text(encoding='utf-8')}typedef float S;\n{both}", encoding="utf-8"
    )
    call = caller(compiled("cpp", "both.cpp", tmp_path, "-Wdouble-promotion"), lambda name: f"{name}_float")
    case, program = cases[0], cases[0].program()
    state, tau = random_state(program), np.full(program.outputs[0].size, np.nan, dtype=np.float32)
    call("operators", [*(state[a.name].astype(np.float32) for a in program.inputs), tau])  # type: ignore[list-item]
    assert_close({"tau": tau.astype(float)}, case.expected(state, np.array([])), tolerance=1e-6)


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


@pytest.mark.parametrize(
    "make", [operators, bends, matrices, parameters, numbers, partly, lambda: random_graph(9)]
)
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


def test_python_takes_a_batch_of_parameters(tmp_path: Path) -> None:
    case = parameters()
    program, p = case.program(), np.random.default_rng(2).uniform(0.5, 2.0, (3, 4))
    write(program, "python", tmp_path)
    state = random_state(program)
    made = run_python(imported(program.name, tmp_path), program, state, p)
    single = [case.expected(state, row) for row in p]
    assert_close(made, {name: np.stack([s[name] for s in single]) for name in single[0]})


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
