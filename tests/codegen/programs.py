"""Small programs to try the languages on: every operator, matrices, parameters, what is constant,
unused or badly named.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from codegen.running import Case

from forearm.symbols import Expr, Shared, iterate
from forearm.symbols.scalars import choose, look_up, maximum, minimum, quantised, rounded
from forearm.symbols.table import spline, straight


def operators() -> Case:
    """Every operator, and every nesting that needs its parentheses."""
    case = Case("operators", {"q": (3,), "qd": (3,)})
    (a, b, c), (u, v, w) = case.input("q"), case.input("qd")
    case.graph.section = "functions"
    sine, root = a.sin(), (b * b + 1.5).sqrt()
    case.graph.name("s1", sine)
    case.graph.section = "link 1, outwards"
    case.results = {
        "tau": [
            a - (b - c), (a - b) - c, a / (b * c), a / (u * v + 7.0), (a / (u + 9.0)) / (v + 3.5),
            a * (b / (w + 8.0)), -(a + b) * c, (a + b) * (u - v), -a, -(u * v), a - (b + (c - u)),
            sine * b.cos() - root, (u - v).sign() * w, (v - u).sign(), 0.3 * a - 0.7, 2.5 - a * b,
            1.0 / (w + 4.0), (a * u).sin().cos().sin(), -(a - b) / (c - 11.0),
        ]
    }  # fmt: skip
    return case


def bends() -> Case:
    """Sizes and exponentials, alone, nested and of parameters."""
    case = Case("bends", {"q": (3,), "qd": (2,)})
    (a, b, c), (u, v) = case.input("q"), case.input("qd")
    mass = case.parameter("mass", -1.3)
    case.graph.name("fabs", abs(a - b))
    case.graph.name("exp", (a * b).exp())
    case.results = {
        "tau": [
            abs(a - b), abs(b - a) * c, -abs(u * v), a.exp(), (-a).exp(), (-(u * u)).exp() * abs(v),
            abs(abs(a) - abs(c)), (a * b).exp() - abs(mass) * c, mass.exp() * u, 0.5 * (a + abs(a)),
            (abs(b) + 0.5).sqrt(), u / abs(v - 7.0),
        ]
    }  # fmt: skip
    return case


def decisions() -> Case:
    """Choices and look-ups, alone, nested, of parameters, with signs in every place."""
    case = Case("decisions", {"q": (3,), "qd": (2,)})
    (a, b, c), (u, v) = case.input("q"), case.input("qd")
    mass, level = case.parameter("mass", -1.3), case.parameter("level", 0.4)
    x = tuple(0.07 * k - 1.0 + 0.01 * (k % 3) for k in range(41))
    lines, long = straight((-0.5, 0.25, 1.0), (1.0, -2.0, 0.5)), spline(x, tuple(math.sin(5 * t) for t in x))
    case.results = {
        "tau": [
            choose(a, b, c, u), choose(-a, b, -c, u), choose(a, -b, c, -u), choose(-a, -b, -c, -u),
            choose(a, 0.0, -1.0, 1.0), choose(0.3, a, b, -2.0), maximum(a, b) - minimum(u, v),
            choose(a, b, choose(u, v, a, b), choose(mass, level, b, c)) * a,
            look_up(lines, a), look_up(lines, -a) * u, -look_up(long, 0.5 * v + b), look_up(lines, mass) + a,
            look_up(long, look_up(lines, c)), choose(look_up(long, a), a + b * u, a - b, c),
            rounded(7.0 * a), -rounded(-3.0 * b) * u, rounded(mass + 0.8) + c, quantised(v, 0.125, -4.0, 3.0),
        ]
    }  # fmt: skip
    return case


def loops() -> Case:
    """Iterations: of inputs, of parameters, one in another, with signs; and a function called twice."""
    case = Case("loops", {"q": (3,), "qd": (2,)})
    (a, b, c), (u, v) = case.input("q"), case.input("qd")
    mass = case.parameter("mass", -1.3)
    case.graph.section = "roots"

    def newton(of: Any, most: int = 50) -> Any:
        """The square root; NaN stays."""
        return iterate(
            lambda s: [0.5 * (s[0] + of / s[0]), abs(s[0] - of / s[0])],
            [of, 1.0],
            lambda s: (1e-13 * of, s[1]),
            most,
        )[0]

    def halved(x: Any) -> Any:
        """x halved until it is below 1, each time with another iteration inside; and how often."""
        return iterate(
            lambda s: [-(0.5 * s[0]) + 0.1 * newton(1.5 + s[0] * s[0], 3), s[1] + 1.0, s[1]],
            [x, 0.0, -1.0],
            lambda s: (1.0, abs(s[0])),
            9,
        )

    turned = Shared(lambda s: [s[0].cos() * s[1] + c if isinstance(s[0], Expr) else 0.0, s[1] - s[0] * b])
    far, count, before = halved(40.0 * a + u)
    case.results = {
        "tau": [
            newton(a * a + 2.0), -newton(b * b + mass * mass + 0.5) * c, newton(mass * mass) + v,
            far, count, before, *turned(turned([a, u])), newton(2.0) * a, *halved(v),
        ]
    }  # fmt: skip
    return case


def matrices() -> Case:
    """Arrays that are not square, with every entry different."""
    case = Case("matrices", {"A": (2, 3), "x": (3,), "s": ()})
    A, x = np.array(case.input("A"), dtype=object).reshape(2, 3), np.array(case.input("x"), dtype=object)
    (s,) = case.input("s")
    case.results = {
        "y": list(A @ x),
        "B": [[s * A[i, j] + 0.25 * j for i in range(2)] for j in range(3)],
        "z": s.cos(),
    }
    return case


def parameters() -> Case:
    """Some parameters prepared, some straight into a result, one not used; a result called p."""
    case = Case("parameters", {"q": (2,), "qdd": (2,)})
    m, d, l = (  # noqa: E741
        case.parameter("link 1, mass", 2.75),
        case.parameter("damping", 0.35),
        case.parameter("link 1, length", 0.4),
    )
    case.parameter("not used", 7.0)
    q, qdd = case.input("q"), case.input("qdd")
    inertia = m * l * l + (m + d).sqrt() / (l + 1.0)
    case.graph.name("I1", inertia)
    case.results = {
        "tau": [inertia * qdd[0] - m * l * 9.81 * q[0].cos(), -d * qdd[1], (m - d).sign() * q[1]],
        "K": [m * q[1]],
        "p": [[m, l * d], [-m, q[0] * l], [0.5, q[1] - l * d]],
    }
    return case


def numbers() -> Case:
    """Results that depend on nothing, and inputs on which nothing depends."""
    case = Case("numbers", {"q": (2,), "qd": (2,)})
    case.input("q")
    case.results = {"tau": [0.5, -0.25, 0.0, 2, case.graph.constant(-1.0 / 3.0)], "M": [[1e22, 1e-7]]}
    return case


def partly() -> Case:
    """A number beside what depends on the state; one input goes unused, and so do all parameters."""
    case = Case("partly", {"q": (1,), "qd": (2,)})
    case.parameter("mass", 3.0)
    case.results = {"tau": [case.input("q")[0] * 1.25, 0.75]}
    return case


def nothing() -> Case:
    """No results at all."""
    return Case("nothing", {"q": (2,)})


def no_arguments() -> Case:
    """Neither inputs nor results."""
    return Case("no_arguments", {}, about=())


def empty_arrays() -> Case:
    """Arrays without entries."""
    case = Case("empty_arrays", {"q": (0,)})
    case.results = {"tau": []}
    return case


def awkward_names() -> Case:
    """Values under words of the languages, names of other alphabets, and names too long for Fortran."""
    case = Case("awkward_names", {"lambda": (2,), "T": (2,)})
    (a, b), (c, d) = case.input("lambda"), case.input("T")
    product = case.parameter("mass", 1.2) * case.parameter("length", 0.7)
    case.graph.name("double", product)
    words = [
        "if", "int", "sin", "dp", "np", "batch", "sign_of", "t", "class", "real", "awkward_names", "_x", "9x",
        "q q", "gr\u00fc\u00df", "k", "p", "x" * 63, "x" * 80, "x" * 80 + "y", "std", "None", "none",
        "Scalar",
    ]  # fmt: skip
    parts: list[Expr] = []
    for i, word in enumerate(words):
        parts.append((parts[-1] if parts else a) * (0.5 + 0.01 * i) - b * c + (d if i % 2 else a))
        case.graph.name(word, parts[-1])
    case.results = {
        "tau": [parts[-1], parts[5].sin() + parts[2].sign()],
        "int": [parts[-3] * product - parts[7], parts[1] * product.sqrt()],
    }
    return case


def named_as_the_scalar() -> Case:
    """A program called T, as the scalar of C++ would be."""
    case = Case("T", {"q": (1,)})
    case.results = {"tau": [case.input("q")[0] * 0.5]}
    return case


def random_graph(seed: int) -> Case:
    """Sixty random operations on inputs, parameters and numbers, kept near 1 and away
    from where they break.
    """
    rng = np.random.default_rng(seed)
    case = Case(f"random_{seed}", {"q": (3,), "qd": (2, 2), "f": (2,)})
    case.parameter("mass", 1.3), case.parameter("length", 0.6)
    pool: list[Any] = [*case.input("q"), *case.input("qd"), *case.given.values()]
    for step in range(60):
        case.graph.section = f"step {step // 10}"
        a, b = (pool[i] for i in rng.integers(len(pool), size=2))
        number = float(rng.normal())
        made = [
            a * b,
            a + b,
            a - b,
            a / (b * b + 1.5),
            (a * a + 0.3).sqrt(),
            a.cos(),
            a.sin(),
            a - number,
            number * a * b,
            -a,
            (a + 0.1).sign() * b,
            0.5 * (a - (b - a * number)),
        ][rng.integers(12)]
        if not isinstance(made, Expr):
            continue
        made = made if step % 3 else made.sin()
        if rng.random() < 0.2:
            case.graph.name(str(rng.choice(["w", "W", "J1", "t3", "M"])), made)
        pool.append(made)
    case.results = {"tau": pool[-4:], "M": [[pool[-5], -pool[-6], 0.125], [pool[-7], pool[-5], -pool[2]]]}
    return case


CASES = [
    make()
    for make in (
        operators,
        bends,
        decisions,
        loops,
        matrices,
        parameters,
        numbers,
        partly,
        nothing,
        no_arguments,
        empty_arrays,
        awkward_names,
        named_as_the_scalar,
        *(lambda seed=seed: random_graph(seed) for seed in range(2)),
    )
]
