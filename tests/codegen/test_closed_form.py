"""Closed forms equal what the graph computes, read as in the books, and are as short as they can be."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from codegen.closed_forms import (
    ARMS,
    FUNCTIONS,
    RIGHT,
    TOLERANCE,
    assert_whole,
    made_of,
    planar_by_lagrange,
    traced,
)

import forearm as fa
from forearm import Arm
from forearm.codegen.closed_form import PARAMETER, Factor, Sum, Trig, closed_form
from forearm.codegen.closed_form.expansion import Expansion
from forearm.codegen.closed_form.polynomial import FLAT, MOST_STORED, ONE, Polynomial, Ring, Wave
from forearm.codegen.closed_form.shortening import Writing, shortest
from forearm.codegen.closed_form.sums import NoClosedForm
from forearm.codegen.closed_form.writing import written
from forearm.codegen.languages.latex import document
from forearm.codegen.program import Program, Ref
from forearm.dynamics.closed_form import closed_form as numeric_closed_form
from forearm.symbols import Expr, Graph, evaluate


def value_of(terms: Sum, given: dict[str, Any], offsets: dict[Ref, float]) -> float:
    """A sum at a state."""
    return math.fsum(
        t.coefficient
        * math.prod(_factor(f, given, offsets) ** p for f, p in t.factors)
        * (value_of(t.bracket, given, offsets) if t.bracket else 1.0)
        for t in terms
    )


def _factor(factor: Factor, given: dict[str, Any], offsets: dict[Ref, float]) -> float:
    if isinstance(factor, Ref):
        return float(given[factor.name][factor.index])
    if isinstance(factor, Trig):
        angle = sum(float(c) * (given[v.name][v.index] + offsets.get(v, 0.0)) for v, c in factor.angle)
        return math.sin(angle) if factor.sine else math.cos(angle)
    return float(FUNCTIONS[factor.name](value_of(factor.argument, given, offsets)))


def assert_equal_to_graph(graph: Graph, results: dict[str, Any], program: Program, seed: int = 0) -> None:
    """The closed forms and the graph, at random states and parameters."""
    form, rng = closed_form(program), np.random.default_rng(seed)
    assert form.outputs.keys() == results.keys()
    for _ in range(5):
        given = {a.name: rng.uniform(-3.0, 3.0, a.size) for a in program.inputs}
        p = np.array(program.defaults) * rng.uniform(0.5, 1.5, len(program.defaults))
        leaves = {f"{name}[{i}]": v for name, array in given.items() for i, v in enumerate(array)}
        truth = evaluate(graph, results, leaves | dict(zip(program.parameters, p, strict=True)))
        for name, entries in form.outputs.items():
            made = np.array([value_of(e, given | {PARAMETER: p}, form.offsets) for e in entries])
            expected = np.ravel(np.array(truth[name], dtype=float))
            assert np.abs(made - expected).max() <= TOLERANCE * np.abs(expected).max(), name


def told(terms: Sum, program: Program) -> set[str]:
    """A sum multiplied out again, a text for each term, such as "-2 c12 link2.mass qd1"."""
    texts = set()
    for coefficient, factors in _multiplied(terms):
        powers = [
            f"{_told(f, program)}^{p}" if p != 1 else _told(f, program) for f, p in factors.items() if p
        ]
        texts.add(" ".join([f"{coefficient:.12g}", *sorted(powers)]))
    return texts


def _multiplied(terms: Sum) -> list[tuple[float, dict[Factor, int]]]:
    made = []
    for t in terms:
        for c, inner in _multiplied(t.bracket) if t.bracket else [(1.0, {})]:
            factors = dict(t.factors)
            for f, p in inner.items():
                factors[f] = factors.get(f, 0) + p
            made.append((t.coefficient * c, factors))
    return made


def _told(factor: Factor, program: Program) -> str:
    if isinstance(factor, Ref):
        assert factor.index is not None
        return (
            program.parameters[factor.index]
            if factor.name == PARAMETER
            else f"{factor.name}{factor.index + 1}"
        )
    if isinstance(factor, Trig):
        plain = all(c == 1 for _, c in factor.angle)
        angle = "".join(
            str((v.index or 0) + 1) if plain else f"{c:+}q{(v.index or 0) + 1}" for v, c in factor.angle
        )
        return ("s" if factor.sine else "c") + (angle if plain else f"({angle})")
    return f"{factor.name}({' + '.join(sorted(told(factor.argument, program)))})"


# What the closed forms say.


@pytest.mark.parametrize("symbolic", [False, True], ids=["numbers", "symbols"])
@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: arm.name)
def test_closed_form_is_what_the_graph_computes(arm: Arm, symbolic: bool) -> None:
    graph, tau, program = traced(arm, symbolic)
    assert_equal_to_graph(graph, {"tau": tau}, program)


@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: arm.name)
def test_coefficients_are_those_of_the_closed_form_by_lagrange(arm: Arm) -> None:
    """Entry by entry: D of the accelerations, h of the products of rates, c of what is left."""
    form, rng = closed_form(traced(arm)[2]), np.random.default_rng(3)
    q = rng.uniform(-3.0, 3.0, arm.n)
    truth = numeric_closed_form(arm, q)
    size = max(np.abs(truth.D).max(), np.abs(truth.h).max(), np.abs(truth.c).max())
    ones = {"q": q, "qd": np.ones(arm.n), "qdd": np.ones(arm.n)}
    for i, terms in enumerate(form.outputs["tau"]):
        D, h, c = np.zeros(arm.n), np.zeros((arm.n, arm.n)), 0.0
        for term in terms:
            rates = [
                f for f, p in term.factors for _ in range(p) if isinstance(f, Ref) and f.name in ("qd", "qdd")
            ]
            value = value_of((term,), ones, form.offsets)
            places = [f.index for f in rates]
            if [f.name for f in rates] == ["qdd"]:
                D[places[0]] += value
            elif rates:
                h[places[0], places[1]] += value
            else:
                c += value
        products = truth.h[i] + truth.h[i].T - np.diag(np.diag(truth.h[i]))  # qd_k qd_m and qd_m qd_k are one
        np.testing.assert_allclose(D, truth.D[i], atol=TOLERANCE * size, rtol=0)
        np.testing.assert_allclose(h, np.triu(products), atol=TOLERANCE * size, rtol=0)
        np.testing.assert_allclose(c, truth.c[i], atol=TOLERANCE * size, rtol=0)


def test_planar_arm_is_typeset_as_in_the_books() -> None:
    graph, results, program = planar_by_lagrange()
    assert_equal_to_graph(graph, results, program)
    text = document(program)
    lines = [
        (
            r"\tau_{1} &= \bigl[m_{1} r_{1x}^{2} + m_{2} (a_{1}^{2} + 2 a_{1} r_{2x} c_{2} + r_{2x}^{2}) + "
            r"I_{1zz} + I_{2zz}\bigr]"
        ),
        (
            r"- 2 m_{2} a_{1} r_{2x} s_{2} \, \dot{q}_{1} \dot{q}_{2} - m_{2} a_{1} r_{2x} s_{2} "
            r"\, \dot{q}_{2}^{2} \\"
        ),
        r"- g_{y} \bigl[m_{1} r_{1x} c_{1} + m_{2} (a_{1} c_{1} + r_{2x} c_{12})\bigr] \\",
        r"+ m_{2} a_{1} r_{2x} s_{2} \, \dot{q}_{1}^{2} - m_{2} r_{2x} g_{y} c_{12}",
        r"m_{2} (a_{1} r_{2x} c_{2} + r_{2x}^{2}) + I_{2zz} & m_{2} r_{2x}^{2} + I_{2zz} \\",
        r"$c_{1} = \cos(q_{1})$, $c_{12} = \cos(q_{1} + q_{2})$",
    ]
    for line in lines:
        assert line in text, line


# How sums of cosines and sines are shortened.


def wave(sine: bool, *coefficients: int) -> Wave:
    return sine, tuple((i, c) for i, c in enumerate(coefficients) if c)


def back(writing: Writing) -> dict[Wave, float]:
    """A writing multiplied out into waves."""
    ring, total = Ring([]), dict[Any, float]()
    for product, c in writing.items():
        value: Polynomial = {ONE: c}
        for factor, power in product:
            for _ in range(power):
                value = ring.times(value, {(factor, ()): 1.0})
        total = ring.plus(total, value)
    return {w: c for (w, _), c in total.items()}


C1, S1, C2, S2, C3 = wave(False, 1), wave(True, 1), wave(False, 0, 1), wave(True, 0, 1), wave(False, 0, 0, 1)
C23 = wave(False, 0, 1, 1)


@pytest.mark.parametrize(
    "shorter",
    [
        {(): 3.0},
        {((C1, 2),): 2.5},
        {((S1, 2),): -0.7},
        {((C1, 1), (S1, 1)): 3.0},
        {((C2, 1), (C23, 1)): 2.0},
        {((C2, 1), (C23, 1)): 2.0, ((C3, 1),): 0.3},
        {((C1, 1), (S2, 1)): 1.5},
        {((S1, 1), (S2, 1)): -1.5},
        {((C1, 1), (C2, 1), (C3, 1)): 4.0},
        {((C1, 2), (C2, 2)): 1.0},
        {((S1, 2), (C2, 1)): 0.5, ((C3, 1),): 2.0},
        {(): 5.0, ((C1, 2),): 1.0},
        {((wave(False, 1, 1), 1),): 0.4, ((wave(True, 1, 1, 1), 1),): -0.3},
    ],
)
def test_a_short_writing_is_found_again(shorter: Writing) -> None:
    assert shortest(back(shorter), 1e-13) == pytest.approx({tuple(sorted(p)): c for p, c in shorter.items()})


@pytest.mark.parametrize("seed", range(8))
def test_shortening_changes_nothing_and_never_lengthens(seed: int) -> None:
    """Waves of different angles are independent: equal coefficients prove equality."""
    rng = np.random.default_rng(seed)
    waves: dict[Wave, float] = {FLAT: 1.0}
    for _ in range(25):
        angle = tuple((i, int(c)) for i, c in enumerate(rng.integers(-2, 3, 3)) if c)
        if angle and angle[0][1] > 0:
            waves[bool(rng.integers(2)), angle] = float(rng.choice([1.0, -1.0, 0.5, 2.0, rng.normal()]))
    made = shortest(waves, 1e-13)
    again = {w: c for w, c in back(made).items() if abs(c) > 1e-12}
    assert again == pytest.approx(waves, rel=1e-12)
    assert len(made) <= len(waves)


# What does not multiply out, what is noise, and what is too much.


def test_quotients_and_roots_cancel_where_they_can() -> None:
    graph, values = Graph(), {"a": 1.3, "b": 0.7, "c": 2.1}
    a, b, c = (graph.parameter(name) for name in values)
    (q,) = [graph.input("q[0]")]
    root = (a + b).sqrt()
    results = {
        "x": [
            (a * b + a * c) / (b + c) * q,
            a * b / b * q,
            root * root * q,
            (a * a - b * b) / (a - b),
            a / b * q,
        ],
        "y": [
            q / (a + b),
            (a + 0.5).sqrt() * q,
            (b + q * q).sqrt(),
            (q * q).sin() + q.sin(),
            q.sign() * a,
            1.0 / q.cos(),
        ],
    }
    program = made_of(results, graph, values, q=1)
    assert_equal_to_graph(graph, results, program)
    told_x = [told(entry, program) for entry in closed_form(program).outputs["x"]]
    assert told_x == [{"1 a q1"}, {"1 a q1"}, {"1 a q1", "1 b q1"}, {"1 a", "1 b"}, {"1 a b^-1 q1"}]
    assert r"\frac{p_{1} q_{1}}{p_{2}}" in document(program)
    assert r"\frac{1}{c_{1}}" in document(program)
    assert_whole(document(program))


def test_sizes_and_exponentials() -> None:
    graph, values = Graph(), {"a": -1.3}
    a, (q, v) = graph.parameter("a"), [graph.input(f"q[{i}]") for i in range(2)]
    results = {"x": [abs(q - v) * a, (-(q * q)).exp() + q, abs(a) * v, abs(q * v + 1.0) * (a * v).exp()]}
    program = made_of(results, graph, values, q=2)
    assert_equal_to_graph(graph, results, program)
    text = document(program)
    assert r"\operatorname{abs}" in text
    assert r"\exp" in text
    assert_whole(text)


def test_forward_dynamics_stands_over_one_denominator() -> None:
    graph = Graph()
    q, tau = ([graph.input(f"{name}[{i}]") for i in range(2)] for name in ("q", "tau"))
    M_11, M_12, M_22 = 1.4 + 0.9 * q[1].cos(), 0.47 + 0.45 * q[1].cos(), 0.47
    determinant = M_11 * M_22 - M_12 * M_12
    results = {
        "qdd": [(M_22 * tau[0] - M_12 * tau[1]) / determinant, (M_11 * tau[1] - M_12 * tau[0]) / determinant]
    }
    program = made_of(results, graph, q=2, tau=2)
    assert_equal_to_graph(graph, results, program)
    text = document(program)
    assert (
        r"\ddot{q}_{1} &= \frac{1}{\Delta_{1}} \bigl[0.47 \, \tau_{1} - (0.47 + 0.45 c_{2}) \, \tau_{2}\bigr]"
        in text
    )
    assert r"\Delta_{1} &= 0.2346 + 0.2025 s_{2}^{2}" in text


def test_angles_with_offsets_and_multipliers() -> None:
    graph = Graph()
    q = [graph.input(f"q[{i}]") for i in range(3)]
    results = {
        "x": [
            (q[0] + 0.3).cos() * (q[0] + q[1] + 0.3).sin(),  # q1 has an offset, q2 none
            (q[1] - RIGHT).cos() + (q[0] + 0.3 + math.pi).sin(),
            (q[0] + 0.1).cos(),  # not the same offset: multiplied out
            (0.4 * q[2]).cos() * (0.4 * q[2]).cos() + 0.5 * (q[2] * 1.2 - q[1]).sin(),
        ]
    }
    program = made_of(results, graph, q=3)
    form = closed_form(program)
    assert_equal_to_graph(graph, results, program)
    assert form.offsets == pytest.approx({Ref("q", 0): 0.3})
    assert [len(_multiplied(entry)) for entry in form.outputs["x"]] == [1, 2, 2, 2]
    text = document(program)
    assert r"$\theta_{1} = q_{1} + 0.3$" in text
    assert r"\cos^{2}(0.4 \theta_{3})" in text
    graph = Graph()  # an offset beyond a quarter of a turn is what is beyond it
    results = {"x": [(graph.input("q[0]") + (0.3 + RIGHT)).cos()]}
    program = made_of(results, graph, q=1)
    assert closed_form(program).offsets == pytest.approx({Ref("q", 0): 0.3})
    assert_equal_to_graph(graph, results, program)
    assert "x_{1} &= - s_{1}" in document(program)


def test_the_sign_that_most_terms_have_goes_outside() -> None:
    graph = Graph()
    q, qd = graph.input("q[0]"), graph.input("qd[0]")
    text = document(made_of({"x": [-(0.5 * q.cos() + 0.25 * q.sin()) * qd + q]}, graph, q=1, qd=1))
    assert r"x_{1} &= - (0.5 c_{1} + 0.25 s_{1}) \, \dot{q}_{1} + q_{1}" in text


def test_rounding_is_dropped_and_small_terms_are_not() -> None:
    graph = Graph()
    q = [graph.input(f"q[{i}]") for i in range(2)]
    noise = 0.1 * q[0] + 0.2 * q[0] - 0.3 * q[0]
    assert isinstance(noise, Expr)
    results = {"x": [noise * q[1] + 5.0 * q[1].sin(), 1e-11 * q[0] + q[1]], "y": [1e-20 * q[0]]}
    program = made_of(results, graph, q=2)
    form = closed_form(program)
    assert [told(e, program) for e in form.outputs["x"]] == [{"5 s2"}, {"1e-11 q1", "1 q2"}]
    assert [told(e, program) for e in form.outputs["y"]] == [{"1e-20 q1"}]  # small, but all there is
    assert "rounding" in document(program)


@pytest.mark.slow
def test_large_arms_are_refused_after_little_work() -> None:
    program = traced(fa.load("panda"))[2]
    expansion = Expansion(program)
    with pytest.raises(NoClosedForm):
        written(expansion.ring, expansion.output(program.outputs[0]), {"qd", "qdd"})
    assert expansion.ring.work < 200_000
    done = [value for value in expansion.values.values() if value is not None]
    assert max(map(len, done)) <= MOST_STORED


@pytest.mark.slow
def test_one_output_may_be_short_where_another_is_not() -> None:
    graph = Graph()
    q = [graph.input(f"q[{i}]") for i in range(12)]
    long: Any = 1.0
    for i, x in enumerate(q):
        long = long * (x + 0.5 + i)
    program = made_of({"g": [q[0].cos()], "h": [long]}, graph, q=12)
    text = document(program)
    assert closed_form(program).outputs.keys() == {"g"}
    assert r"g_{1} &= c_{1}" in text
    assert "No closed form of $h$ is given: an equation would have more than 120 terms." in text
