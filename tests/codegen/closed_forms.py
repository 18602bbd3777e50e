"""Small generic arms, functions of them traced for closed forms, and what a document of them must keep to."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import forearm as fa
from forearm import Arm
from forearm.codegen.functions import Traced
from forearm.codegen.program import Argument, Program
from forearm.codegen.program_writer import program_of
from forearm.dynamics.newton_euler import newton_euler
from forearm.model import model_of
from forearm.symbols import Expr, Graph, derivative, gradient

TOLERANCE = 1e-12  # relative to the largest entry: sums in another order
RIGHT = math.pi / 2.0
FUNCTIONS: dict[str, Callable[[float], float]] = {
    "inverse": lambda x: 1.0 / x,
    "sqrt": math.sqrt,
    "sign": np.sign,
    "cos": math.cos,
    "sin": math.sin,
    "abs": abs,
    "exp": math.exp,
}


def generic_arm(
    name: str, table: Any, word: str, planar: bool = False, gravity: Any = (0.0, -9.81, 0.0)
) -> Arm:
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
    return fa.from_dh(
        name, table, convention="standard", joints=word, mass=mass, com=com, inertia=inertia, gravity=gravity
    )


PLANAR_2 = generic_arm("planar2", [(0.4, 0, 0, 0), (0.3, 0, 0, 0)], "RR", planar=True)
ARMS = [
    generic_arm("pendulum", [(0.4, 0, 0, 0)], "R"),
    PLANAR_2,
    generic_arm("planar3", [(0.4, 0, 0, 0), (0.3, 0, 0, 0), (0.2, 0, 0, 0)], "RRR", planar=True),
    generic_arm("turning and sliding", [(0, RIGHT, 0, 0), (0, 0, 0.2, 0)], "RP"),
    generic_arm("with an offset", [(0, RIGHT, 0, 0.3), (0, 0, 0.2, 0)], "RP"),
    generic_arm("two axes", [(0.1, RIGHT, 0.2, 0), (0.3, 0, 0, 0)], "RR", gravity=(0.3, 1.2, -9.7)),
    generic_arm(
        "upright", [(0, RIGHT, 0.5, 0), (0.4, 0, 0, 0), (0.3, 0, 0, 0)], "RRR", gravity=(0, 0, -9.81)
    ),
    fa.load("ascher2"),
]


def traced(arm: Arm, symbolic: bool = False) -> tuple[Graph, list[Any], Program]:
    """Newton-Euler on the graph; `symbolic` keeps masses, centres, inertias and gravity as
    parameters, as far as not 0.
    """
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
        r = np.array(
            [symbol(f"link{i}.com.{x}", v) for x, v in zip("xyz", body.r, strict=True)], dtype=object
        )
        inertia = [
            [
                symbol(f"link{i}.inertia.{''.join(sorted(a + b))}", body.I["xyz".index(a), "xyz".index(b)])
                for a in "xyz"
            ]
            for b in "xyz"
        ]
        bodies.append(
            replace(body, m=symbol(f"link{i}.mass", body.m), r=r, I=np.array(inertia, dtype=object))
        )
    g = np.array([symbol(f"gravity.{x}", v) for x, v in zip("xyz", model.g, strict=True)], dtype=object)
    q, qd, qdd = ([graph.input(f"{name}[{i}]") for i in range(arm.n)] for name in ("q", "qd", "qdd"))
    section = ["outwards"]

    def note(name: str, link: int, value: Any) -> None:
        graph.name(f"{name}{link + 1}", value)
        graph.section = f"link {link + 1}, {section[0]}"

    tau = newton_euler(replace(model, bodies=tuple(bodies), g=g), q, qd, qdd, note=note)
    inputs = tuple(Argument(name, (arm.n,), f"{name} of the joints") for name in ("q", "qd", "qdd"))
    outputs = (Argument("tau", (arm.n,), "joint torques, N m"),)
    return (
        graph,
        tau,
        program_of(
            Traced(graph, {"tau": tau}, inputs, outputs), "inverse", (f"Torques of {arm.name}.",), parameters
        ),
    )


def made_of(
    results: dict[str, Any], graph: Graph, parameters: dict[str, float] | None = None, **inputs: int
) -> Program:
    """A program with inputs of the given sizes."""
    return program_of(Traced.of(graph, inputs, results, {}), "made", ("Made for a test.",), parameters or {})


def planar_by_lagrange() -> tuple[Graph, dict[str, Any], Program]:
    """Two links in a plane from their energies: d/dt dK/dqd - dK/dq + dP/dq.
    Lengths, masses, centres, inertias are symbols.
    """
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
    K = 0.5 * (
        m1 * (v1[0] * v1[0] + v1[1] * v1[1])
        + m2 * (v2[0] * v2[0] + v2[1] * v2[1])
        + I1 * qd[0] * qd[0]
        + I2 * w2 * w2
    )
    P = -(m1 * g * r1 * q[0].sin()) - m2 * g * (a * q[0].sin() + r2 * turned.sin())
    momenta = gradient(graph, K, qd)
    rates = derivative(graph, momenta, dict(zip([*q, *qd], [*qd, *qdd], strict=True)))
    by_q = [k - p for k, p in zip(gradient(graph, K, q), gradient(graph, P, q), strict=True)]
    tau = [rate - force for rate, force in zip(rates, by_q, strict=True)]
    M = [derivative(graph, momenta, {x: 1.0}) for x in qd]
    results: dict[str, Any] = {"tau": tau, "M": M}
    return graph, results, made_of(results, graph, values, q=2, qd=2, qdd=2)


ENVIRONMENTS = {"document", "longtable", "align*", "equation*", "bmatrix"}
COMMANDS = set(
    """
    documentclass usepackage setlength parindent parskip allowdisplaybreaks begin end section subsubsection par hline textwidth
    cos sin exp frac sqrt operatorname dot ddot bar tau omega Omega alpha lambda theta vartheta
    Delta mathrm times cdot quad qquad
    bigl bigr Bigl Bigr textbackslash textasciicircum textasciitilde textless textgreater textbar H
    """.split()  # noqa: E501, SIM905
)


def assert_whole(text: str) -> None:
    """Braces, brackets of sizes, dollars and environments pair up;
    nothing is there but what a document here needs.
    """
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
