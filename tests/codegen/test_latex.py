"""Closed forms equal what the graph computes, read as in the books, and make documents that hold together."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forearm as fa
from forearm import Arm
from forearm.codegen.closed_form import PARAMETER, Factor, Sum, Trig, closed_form, polynomial
from forearm.codegen.closed_form.expansion import Expansion
from forearm.codegen.closed_form.polynomial import FLAT, MOST_STORED, ONE, Polynomial, Ring, Wave
from forearm.codegen.closed_form.shortening import Writing, shortest
from forearm.codegen.closed_form.sums import NoClosedForm
from forearm.codegen.closed_form.writing import written
from forearm.codegen.languages.latex import LANGUAGE, document
from forearm.codegen.program import Argument, Op, Program, Ref, program_of
from forearm.codegen.typesetting.escaping import escape
from forearm.dynamics.closed_form import closed_form as numeric_closed_form
from forearm.dynamics.newton_euler import newton_euler
from forearm.model import model_of
from forearm.symbols import Expr, Graph, derivative, evaluate, gradient

TOLERANCE = 1e-12  # relative to the largest entry: sums in another order
RIGHT = math.pi / 2.0
FUNCTIONS: dict[str, Callable[[float], float]] = {
    "inverse": lambda x: 1.0 / x, "sqrt": math.sqrt, "sign": np.sign, "cos": math.cos, "sin": math.sin,
    "abs": abs, "exp": math.exp,
}  # fmt: skip


def generic_arm(name: str, table: Any, word: str, planar: bool = False, gravity: Any = (0.0, -9.81, 0.0)) -> Arm:
    """Full tensors and centres, or those that matter in a plane."""
    rng, n = np.random.default_rng(7), len(word)
    halves = rng.normal(size=(n, 3, 3))
    second = halves @ halves.transpose(0, 2, 1)
    inertia = np.trace(second, axis1=1, axis2=2)[:, None, None] * np.eye(3) - second
    com = rng.uniform(0.05, 0.3, (n, 3))
    if planar:
        com[:, 2] = 0.0
        inertia = inertia * np.eye(3)
    mass = rng.uniform(1.0, 5.0, n)
    return fa.from_dh(name, table, convention="standard", joints=word, mass=mass, com=com, inertia=inertia, gravity=gravity)


PLANAR_2 = generic_arm("planar2", [(0.4, 0, 0, 0), (0.3, 0, 0, 0)], "RR", planar=True)
ARMS = [
    generic_arm("pendulum", [(0.4, 0, 0, 0)], "R"),
    PLANAR_2,
    generic_arm("planar3", [(0.4, 0, 0, 0), (0.3, 0, 0, 0), (0.2, 0, 0, 0)], "RRR", planar=True),
    generic_arm("turning and sliding", [(0, RIGHT, 0, 0), (0, 0, 0.2, 0)], "RP"),
    generic_arm("with an offset", [(0, RIGHT, 0, 0.3), (0, 0, 0.2, 0)], "RP"),
    generic_arm("two axes", [(0.1, RIGHT, 0.2, 0), (0.3, 0, 0, 0)], "RR", gravity=(0.3, 1.2, -9.7)),
    generic_arm("upright", [(0, RIGHT, 0.5, 0), (0.4, 0, 0, 0), (0.3, 0, 0, 0)], "RRR", gravity=(0, 0, -9.81)),
    fa.load("ascher2"),
]


def traced(arm: Arm, symbolic: bool = False) -> tuple[Graph, list[Any], Program]:
    """Newton-Euler on the graph; `symbolic` keeps masses, centres, inertias and gravity as parameters, as far as not 0."""
    graph, model, parameters = Graph(), model_of(arm), dict[str, float]()

    def symbol(name: str, value: float) -> Any:
        if value == 0.0 or not symbolic:
            return float(value)
        if name not in parameters:
            parameters[name] = float(value)
            symbols[name] = graph.parameter(name)
        return symbols[name]

    symbols: dict[str, Expr] = {}
    bodies = []
    for i, body in enumerate(model.bodies, 1):
        r = np.array([symbol(f"link{i}.com.{x}", v) for x, v in zip("xyz", body.r, strict=True)], dtype=object)
        inertia = [
            [symbol(f"link{i}.inertia.{''.join(sorted(a + b))}", body.I["xyz".index(a), "xyz".index(b)]) for a in "xyz"]
            for b in "xyz"
        ]
        bodies.append(replace(body, m=symbol(f"link{i}.mass", body.m), r=r, I=np.array(inertia, dtype=object)))
    g = np.array([symbol(f"gravity.{x}", v) for x, v in zip("xyz", model.g, strict=True)], dtype=object)
    q, qd, qdd = ([graph.input(f"{name}[{i}]") for i in range(arm.n)] for name in ("q", "qd", "qdd"))
    section = ["outwards"]

    def note(name: str, link: int, value: Any) -> None:
        graph.name(f"{name}{link + 1}", value)
        graph.section = f"link {link + 1}, {section[0]}"

    tau = newton_euler(replace(model, bodies=tuple(bodies), g=g), q, qd, qdd, note=note)
    inputs = tuple(Argument(name, (arm.n,), f"{name} of the joints") for name in ("q", "qd", "qdd"))
    outputs = (Argument("tau", (arm.n,), "joint torques, N m"),)
    return graph, tau, program_of(graph, {"tau": tau}, "inverse", (f"Torques of {arm.name}.",), inputs, outputs, parameters)


def made_of(results: dict[str, Any], graph: Graph, parameters: dict[str, float] | None = None, **inputs: int) -> Program:
    """A program with inputs of the given sizes."""
    shapes = {name: np.shape(np.asarray(value, dtype=object)) for name, value in results.items()}
    return program_of(
        graph, results, "made", ("Made for a test.",), tuple(Argument(n, (size,), n) for n, size in inputs.items()),
        tuple(Argument(n, shape, n) for n, shape in shapes.items()), parameters,
    )  # fmt: skip


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
        powers = [f"{_told(f, program)}^{p}" if p != 1 else _told(f, program) for f, p in factors.items() if p]
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
        return program.parameters[factor.index] if factor.name == PARAMETER else f"{factor.name}{factor.index + 1}"
    if isinstance(factor, Trig):
        plain = all(c == 1 for _, c in factor.angle)
        angle = "".join(str((v.index or 0) + 1) if plain else f"{c:+}q{(v.index or 0) + 1}" for v, c in factor.angle)
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
            rates = [f for f, p in term.factors for _ in range(p) if isinstance(f, Ref) and f.name in ("qd", "qdd")]
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


def planar_by_lagrange() -> tuple[Graph, dict[str, Any], Program]:
    """Two links in a plane from their energies: d/dt dK/dqd - dK/dq + dP/dq. Lengths, masses, centres, inertias are symbols."""
    graph = Graph()
    q, qd, qdd = ([graph.input(f"{name}[{i}]") for i in range(2)] for name in ("q", "qd", "qdd"))
    values = {
        "link1.mass": 2.0, "link2.mass": 3.0, "link1.a": 0.5, "link1.com.x": 0.2, "link2.com.x": 0.3,
        "link1.inertia.zz": 0.1, "link2.inertia.zz": 0.2, "gravity.y": -9.81,
    }  # fmt: skip
    m1, m2, a, r1, r2, I1, I2, g = (graph.parameter(name) for name in values)
    turned = q[0] + q[1]
    v1 = [-(r1 * q[0].sin()) * qd[0], r1 * q[0].cos() * qd[0]]
    w2 = qd[0] + qd[1]
    v2 = [-(a * q[0].sin() * qd[0]) - r2 * turned.sin() * w2, a * q[0].cos() * qd[0] + r2 * turned.cos() * w2]
    K = 0.5 * (m1 * (v1[0] * v1[0] + v1[1] * v1[1]) + m2 * (v2[0] * v2[0] + v2[1] * v2[1]) + I1 * qd[0] * qd[0] + I2 * w2 * w2)
    P = -(m1 * g * r1 * q[0].sin()) - m2 * g * (a * q[0].sin() + r2 * turned.sin())
    momenta = gradient(graph, K, qd)
    rates = derivative(graph, momenta, dict(zip([*q, *qd], [*qd, *qdd], strict=True)))
    by_q = [k - p for k, p in zip(gradient(graph, K, q), gradient(graph, P, q), strict=True)]
    tau = [rate - force for rate, force in zip(rates, by_q, strict=True)]
    M = [derivative(graph, momenta, {x: 1.0}) for x in qd]
    results: dict[str, Any] = {"tau": tau, "M": M}
    return graph, results, made_of(results, graph, values, q=2, qd=2, qdd=2)


def test_planar_arm_comes_out_as_in_the_books() -> None:
    graph, results, program = planar_by_lagrange()
    assert_equal_to_graph(graph, results, program)
    tau_1, tau_2 = (told(entry, program) for entry in closed_form(program).outputs["tau"])
    m1, m2, a, r1, r2, I1, I2, g = program.parameters
    M_11 = [f"1 {I1}", f"1 {I2}", f"1 {r1}^2 {m1}", f"1 {a}^2 {m2}", f"1 {r2}^2 {m2}", f"2 c2 {a} {r2} {m2}"]
    M_12 = [f"1 {I2}", f"1 {r2}^2 {m2}", f"1 c2 {a} {r2} {m2}"]
    M_22 = [f"1 {I2}", f"1 {r2}^2 {m2}"]

    def times(terms: list[str], rate: str) -> set[str]:
        return {" ".join([t.split()[0], *sorted([*t.split()[1:], rate])]) for t in terms}

    def term(coefficient: int, *factors: str) -> str:
        return " ".join([str(coefficient), *sorted(factors)])

    assert tau_1 == times(M_11, "qdd1") | times(M_12, "qdd2") | {
        term(-2, m2, a, r2, "s2", "qd1", "qd2"), term(-1, m2, a, r2, "s2", "qd2^2"),
        term(-1, m1, r1, g, "c1"), term(-1, m2, a, g, "c1"), term(-1, m2, r2, g, "c12"),
    }  # fmt: skip
    assert tau_2 == times(M_12, "qdd1") | times(M_22, "qdd2") | {
        term(1, m2, a, r2, "s2", "qd1^2"), term(-1, m2, r2, g, "c12"),
    }  # fmt: skip


def test_planar_arm_is_typeset_as_in_the_books() -> None:
    text = document(planar_by_lagrange()[2])
    lines = [
        r"\tau_{1} &= \bigl[m_{1} r_{1x}^{2} + m_{2} (a_{1}^{2} + 2 a_{1} r_{2x} c_{2} + r_{2x}^{2}) + I_{1zz} + I_{2zz}\bigr]",
        r"- 2 m_{2} a_{1} r_{2x} s_{2} \, \dot{q}_{1} \dot{q}_{2} - m_{2} a_{1} r_{2x} s_{2} \, \dot{q}_{2}^{2} \\",
        r"- g_{y} \bigl[m_{1} r_{1x} c_{1} + m_{2} (a_{1} c_{1} + r_{2x} c_{12})\bigr] \\",
        r"+ m_{2} a_{1} r_{2x} s_{2} \, \dot{q}_{1}^{2} - m_{2} r_{2x} g_{y} c_{12}",
        r"m_{2} (a_{1} r_{2x} c_{2} + r_{2x}^{2}) + I_{2zz} & m_{2} r_{2x}^{2} + I_{2zz} \\",
        r"$c_{1} = \cos(q_{1})$, $c_{12} = \cos(q_{1} + q_{2})$",
    ]  # fmt: skip
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


@pytest.mark.parametrize("seed", range(20))
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
        "x": [(a * b + a * c) / (b + c) * q, a * b / b * q, root * root * q, (a * a - b * b) / (a - b), a / b * q],
        "y": [q / (a + b), (a + 0.5).sqrt() * q, (b + q * q).sqrt(), (q * q).sin() + q.sin(), q.sign() * a, 1.0 / q.cos()],
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
    results = {"qdd": [(M_22 * tau[0] - M_12 * tau[1]) / determinant, (M_11 * tau[1] - M_12 * tau[0]) / determinant]}
    program = made_of(results, graph, q=2, tau=2)
    assert_equal_to_graph(graph, results, program)
    text = document(program)
    assert r"\ddot{q}_{1} &= \frac{1}{\Delta_{1}} \bigl[0.47 \, \tau_{1} - (0.47 + 0.45 c_{2}) \, \tau_{2}\bigr]" in text
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


def test_an_offset_beyond_a_quarter_turn_is_what_is_beyond_it() -> None:
    graph = Graph()
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


def test_large_arms_are_refused_after_little_work() -> None:
    program = traced(fa.load("panda"))[2]
    expansion = Expansion(program)
    with pytest.raises(NoClosedForm):
        written(expansion.ring, expansion.output(program.outputs[0]), {"qd", "qdd"})
    assert expansion.ring.work < 200_000
    done = [value for value in expansion.values.values() if value is not None]
    assert max(map(len, done)) <= MOST_STORED


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


# Documents.

ENVIRONMENTS = {"document", "longtable", "align*", "equation*", "bmatrix"}
COMMANDS = set(
    """
    documentclass usepackage setlength parindent parskip allowdisplaybreaks begin end section subsubsection par hline textwidth
    cos sin exp frac sqrt operatorname dot ddot bar tau omega Omega alpha lambda theta vartheta
    Delta mathrm times cdot quad qquad
    bigl bigr Bigl Bigr textbackslash textasciicircum textasciitilde textless textgreater textbar H
    """.split()  # noqa: SIM905
)


def assert_whole(text: str) -> None:
    """Braces, brackets of sizes, dollars and environments pair up; nothing is there but what a document here needs."""
    text.encode("ascii")
    code = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    assert set(re.findall(r"\\([A-Za-z]+)", code)) <= COMMANDS
    bare = re.sub(r"\\[^A-Za-z]", "", code)  # without \{ and \$
    depth = 0
    for c in bare:
        depth += (c == "{") - (c == "}")
        assert depth >= 0
    assert depth == 0
    assert "%" not in bare
    open_ones: list[str] = []
    for way, name in re.findall(r"\\(begin|end)\{([^}]*)\}", code):
        assert name in ENVIRONMENTS
        if way == "begin":
            open_ones.append(name)
        else:
            assert open_ones.pop() == name
    assert not open_ones
    for line in bare.splitlines():
        assert line.count("$") % 2 == 0, line
    for equation in re.findall(r"\\begin\{align\*\}(.*?)\\end\{align\*\}", code, flags=re.S):
        assert len(re.findall(r"\\[bB]igl", equation)) == len(re.findall(r"\\[bB]igr", equation))
        assert equation.count("(") == equation.count(")")
        assert all(row.count("&") == 1 for row in re.split(r"\\\\(?:\[1ex\])?", equation))


@pytest.mark.parametrize("symbolic", [False, True], ids=["numbers", "symbols"])
@pytest.mark.parametrize("arm", [*ARMS, fa.load("stanford"), fa.load("panda")], ids=lambda arm: arm.name)
def test_documents_hold_together(arm: Arm, symbolic: bool) -> None:
    program = traced(arm, symbolic)[2]
    text, header = LANGUAGE.write(program)
    assert header == ""
    assert_whole(text)
    assert LANGUAGE.write(program)[0] == text
    for word in (r"\tau", "joint torques, N m", *program.about, *program.parameters):
        assert word in text


def test_statements_are_listed_where_there_is_no_closed_form() -> None:
    program = traced(fa.load("panda"))[2]
    text = document(program)
    rows = re.findall(r"^  (\S+) &= (.*?)(?: \\\\)?$", text, flags=re.M)
    assert len({name for name, _ in rows}) == len(rows)
    left_out = [s for s in program.statements if isinstance(s.value, Op) and s.value.operator in ("cos", "sin")]
    assert len(rows) >= len(program.statements) - len(left_out) - 7  # an output may be a value that has its name already
    names = {name for name, _ in rows}
    wanted = [
        r"\omega_{3x}",
        r"\dot{\omega}_{3x}",
        r"\dot{v}_{3x}",
        r"\dot{v}_{\mathrm{c}3x}",
        "F_{3x}",
        "N_{3x}",
        r"\tau_{1}",
        "t_{13}",
    ]
    assert not [w for w in wanted if w not in names and rf"\bar{{{w.split('_')[0]}}}_{w.split('_', 1)[1]}" not in names]
    assert any(name.startswith(r"\bar{") for name in names)
    assert r"$\bar{x} = -x$" in text
    assert re.search(r"\\subsubsection\*\{link 3, outwards\}", text)


def test_angles_without_an_abbreviation_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polynomial, "MOST_WORK", -1)
    graph = Graph()
    q = [graph.input(f"q[{i}]") for i in range(2)]
    results = {"x": [(q[0] + 0.3).cos() - ((q[0] + 0.1).cos() - (q[0] + q[1] + 0.3).sin() * 2.5)]}
    text = document(made_of(results, graph, q=2))
    (other,) = re.findall(r"(\S+) &= \\cos\(q_\{1\} \+ 0\.1\)", text)
    assert r"\cos(q_{1} + 0.3)" not in text
    assert rf"x_{{1}} &= c_{{1}} - ({other} - 2.5 s_{{12}})" in text
    assert r"$\theta_{1} = q_{1} + 0.3$" in text


TOKEN = re.compile(
    r"(?P<number>\d+(?:\.\d+)?)|(?P<name>(?:\\(?:bar|dot|ddot)\{(?:\\\w+|[A-Za-z])(?:\{(?:\\\w+|\w)\})?\}|\\?[A-Za-z]+)_\{(?:\\mathrm\{\w+\}|[^{}])*\})"
    r"|\^\{(?P<power>-?\d+)\}|(?P<times>\\times|\\cdot)|(?P<function>\\cos|\\sin)|(?P<open>\()|(?P<other>[)+-])|\s+"
)  # fmt: skip


def read_back(tex: str, known: dict[str, float]) -> float:
    """The value of a formula as a reader would take it: what stands side by side is multiplied."""
    tex = re.sub(r"\\qquad|\\,|\\[bB]ig[lr]|(?<![\\\w])\{\}", "", tex)
    tex = re.sub(r"\\\{|\[", "(", re.sub(r"\\\}|\]", ")", tex))
    code, place, value_before = "", 0, False
    while place < len(tex):
        match = TOKEN.match(tex, place)
        assert match, tex[place:]
        place = match.end()
        kind, text = match.lastgroup, match[0]
        if kind in ("number", "name", "function", "open") and value_before:
            code += "*"
        if kind == "name":
            code += f"({float(_value_of_name(text, known))!r})"
        elif kind == "power":
            code += f"**({match['power']})"
        elif kind is not None:
            code += {"times": "*", "function": text[1:]}.get(kind, text)
        value_before = kind in ("number", "name", "power") or text == ")" or (kind is None and value_before)
    return float(eval(code, {"cos": math.cos, "sin": math.sin}))


def _value_of_name(name: str, known: dict[str, float]) -> float:
    short = re.fullmatch(r"([cs])_\{(\d+)\}", name)
    if name in known or short is None:
        return known[name]
    angle = sum(known[rf"\theta_{{{i}}}"] for i in short[2])
    return math.cos(angle) if short[1] == "c" else math.sin(angle)


@pytest.mark.parametrize("symbolic", [False, True], ids=["numbers", "symbols"])
@pytest.mark.parametrize("arm", [*ARMS, fa.load("panda"), fa.load("puma560")], ids=lambda arm: arm.name)
def test_the_printed_equations_give_the_values(arm: Arm, symbolic: bool) -> None:
    """The text itself, closed forms and lists of statements, read and computed, with all digits printed."""
    graph, tau, program = traced(arm, symbolic)
    text = document(program, digits=17)
    rng, known, leaves = np.random.default_rng(11), dict[str, float](), dict[str, float]()
    for name, letter in (("q", "q"), ("qd", r"\dot{q}"), ("qdd", r"\ddot{q}")):
        for i, value in enumerate(rng.uniform(-2.0, 2.0, arm.n)):
            known[f"{letter}_{{{i + 1}}}"] = leaves[f"{name}[{i}]"] = value
    known |= {f"\\theta_{{{i + 1}}}": leaves[f"q[{i}]"] + float(m) for i, m in enumerate(_offsets(text, arm.n))}
    table = dict(re.findall(r"^\$(\S+)\$ & (\S+) & \$[^$]*\$ ", text, flags=re.M))
    parameters = dict(zip(program.parameters, program.defaults, strict=True))
    known |= {symbol: parameters[name] for symbol, name in table.items() if name in parameters}
    for equations in re.findall(r"\\begin\{align\*\}\n(.*?)\n\\end\{align\*\}", text, flags=re.S):
        for row in re.split(r" \\\\(?:\[1ex\])?\n", equations.replace(" \\\\\n  &\\quad {}", " ")):
            name, _, value = row.strip().partition(" &= ")
            assert name not in known
            known[name] = read_back(value, known)
    made = np.array([known[rf"\tau_{{{i + 1}}}"] for i in range(arm.n)])
    expected = np.array(evaluate(graph, tau, leaves | parameters), dtype=float)
    assert np.abs(made - expected).max() <= TOLERANCE * np.abs(expected).max()


def _offsets(text: str, n: int) -> list[float]:
    told_ones = dict(re.findall(r"\$\\theta_\{(\d+)\} = q_\{\d+\} ([+-] \S+)\$", text))
    return [float(told_ones.get(str(i + 1), "0").replace(" ", "")) for i in range(n)]


HOSTILE = (
    "two\nlines \\input{/etc/passwd}", "% \\end{document}", "$x$ & # _ ^ ~ {", "}}} \\\\ \\write18{ls}", "^^5cinput ^^M ^^0a",
    "\r\u2028\u2029\x0b\x00\x85\\begin{x}", "[1ex] *", "\u00e9\u00fc\u0151 \u03a9 \u4e2d \ud800 \u202e", "!TEX program = sh",
    '"`<>|--- ?`', "\\def\\tau{}",
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_texts_from_outside_stay_texts(text: str) -> None:
    """The equations are the same whatever the texts say, and the texts bring no command with them."""

    def made(words: str) -> str:
        graph, size = Graph(), 2
        graph.section = words
        q = [graph.input(f"q[{i}]") for i in range(size)]
        mass = graph.parameter(f"{words}1.mass")
        long = math.prod((x.sin() + mass * i for i, x in enumerate(q * 7, 1)), start=mass)
        inputs, outputs = (Argument("q", (size,), words),), (Argument("tau", (), words), Argument("h", (), words))
        results = {"tau": mass * q[0].cos(), "h": long}
        return document(program_of(graph, results, words, (words, f"Of {words}"), inputs, outputs, {f"{words}1.mass": 2.0}))

    document_made = made(text)
    assert_whole(document_made)
    equations = re.findall(r"\\begin\{align\*\}.*?\\end\{align\*\}", document_made, flags=re.S)
    assert len(equations) >= 2
    assert [
        e.replace("m_{1}", "p_{1}") for e in re.findall(r"\\begin\{align\*\}.*?\\end\{align\*\}", made("words"), flags=re.S)
    ] == [e.replace("m_{1}", "p_{1}") for e in equations]
    comments = [line for line in document_made.splitlines() if line.startswith("%")]
    assert all(line.startswith("%   |") for line in comments[1:])
    assert "\\" not in "".join(comments)


def test_escaped_text_reads_as_it_was() -> None:
    assert escape("50 % of m\u00b2 & {x_1}") == r"50 \% of m$^{2}$ \& \{x\_1\}"
    assert escape("M\u00fcller, e\u0301") == r"M\"{u}ller, \'{e}"
    assert escape("\u03a9\n") == "{[}U+03A9{]} "


def test_numbers_are_said_to_be_rounded_only_where_they_are() -> None:
    def made(value: float) -> str:
        graph = Graph()
        return document(made_of({"x": [graph.input("q[0]") * value]}, graph, q=1))

    assert "x_{1} &= 1.23457 q_{1}" in made(1.23456789)
    assert "rounded to 6 significant digits" in made(1.23456789)
    assert "rounded to" not in made(1.25)
    assert r"1.5 \times 10^{-8} q_{1}" in made(1.5e-8)
    assert r"x_{1} &= 10^{9} q_{1}" in made(1e9)
    graph = Graph()
    assert "1.234568 q_{1}" in document(made_of({"x": [graph.input("q[0]") * 1.23456789]}, graph, q=1), digits=7)


def test_matrices_as_a_whole_or_by_their_upper_triangle() -> None:
    program = planar_by_lagrange()[2]
    assert "\\begin{bmatrix}" in document(program)
    graph = Graph()
    q = [graph.input(f"q[{i}]") for i in range(12)]
    wide = [[sum((1.5 + i * j) * (x + q[i] + q[j]).cos() for x in q) for j in range(3)] for i in range(3)]
    text = document(made_of({"M": wide}, graph, q=12))
    assert "$M$ is symmetric: $M_{ij} = M_{ji}$." in text
    assert "M_{13} &=" in text
    assert "M_{31} &=" not in text
    assert "c_{1,2,12}" in text, "indices of two digits are set apart"
    assert_whole(text)


def test_abbreviations_give_way_to_arguments_of_their_name() -> None:
    graph = Graph()
    q = graph.input("q[0]")
    assert "c_{1} &= C_{1}" in document(made_of({"c": [q.cos()]}, graph, q=1))
    assert r"C_{1} &= \cos(q_{1})" in document(made_of({"c": [q.sin()], "C": [q.cos()]}, graph, q=1))


def test_the_text_does_not_depend_on_the_order_of_hashing() -> None:
    code = (
        "import hashlib, sys; sys.path[:0] = sys.argv[1:]; from codegen.test_latex import ARMS, traced, document;"
        "texts = [document(traced(arm, symbolic)[2]) for arm in ARMS[1:4] for symbolic in (False, True)];"
        "print(hashlib.sha256(''.join(texts).encode()).hexdigest())"
    )
    tests = str(Path(__file__).parent.parent)
    made = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code, tests], env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(made) == 1


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("symbolic", [False, True], ids=["numbers", "symbols"])
@pytest.mark.parametrize("arm", [PLANAR_2, fa.load("panda")], ids=lambda arm: arm.name)
def test_documents_compile(arm: Arm, symbolic: bool, tmp_path: Path) -> None:
    (tmp_path / "made.tex").write_text(document(traced(arm, symbolic)[2]), encoding="ascii")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "made.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
