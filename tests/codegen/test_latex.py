"""Closed forms as LaTeX: documents that hold together, whose equations read back give the values."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from codegen.closed_forms import ARMS, PLANAR_2, TOLERANCE, assert_whole, made_of, planar_by_lagrange, traced

import forearm as fa
from forearm import Arm
from forearm.codegen.closed_form import polynomial
from forearm.codegen.functions import Traced
from forearm.codegen.languages.latex import LANGUAGE, document
from forearm.codegen.program import Argument, Op
from forearm.codegen.program_writer import program_of
from forearm.codegen.typesetting.escaping import escape
from forearm.symbols import Graph, evaluate


@pytest.mark.slow
@pytest.mark.parametrize("symbolic", [False, True], ids=["numbers", "symbols"])
@pytest.mark.parametrize("arm", [*ARMS, fa.load("stanford"), fa.load("panda")], ids=lambda arm: arm.name)
@pytest.mark.sweep
def test_documents_hold_together(arm: Arm, symbolic: bool) -> None:
    program = traced(arm, symbolic)[2]
    text, header = LANGUAGE.write(program)
    assert header == ""
    assert_whole(text)
    assert LANGUAGE.write(program)[0] == text
    for word in (r"\tau", "joint torques, N m", *program.about, *program.parameters):
        assert word in text


@pytest.mark.slow
def test_statements_are_listed_where_there_is_no_closed_form() -> None:
    program = traced(fa.load("panda"))[2]
    text = document(program)
    rows = re.findall(r"^  (\S+) &= (.*?)(?: \\\\)?$", text, flags=re.M)
    assert len({name for name, _ in rows}) == len(rows)
    left_out = [
        s for s in program.statements if isinstance(s.value, Op) and s.value.operator in ("cos", "sin")
    ]
    # an output may be a value that has its name already
    assert len(rows) >= len(program.statements) - len(left_out) - 7
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
    assert not [
        w
        for w in wanted
        if w not in names and rf"\bar{{{w.split('_')[0]}}}_{w.split('_', 1)[1]}" not in names
    ]
    assert any(name.startswith(r"\bar{") for name in names)
    assert r"$\bar{x} = -x$" in text
    assert re.search(r"\\subsubsection\*\{link 3, outwards\}", text)


@pytest.mark.slow
def test_angles_of_points_are_said_to_be_why_there_is_no_closed_form() -> None:
    text = fa.generate(fa.load("stanford"), "inverse_kinematics", language="latex").text
    assert "is given: angles of points do not multiply out." in text
    assert r"\operatorname{atan2}" in text


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
    r"(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<name>(?:\\(?:bar|dot|ddot)\{(?:\\\w+|[A-Za-z])(?:\{(?:\\\w+|\w)\})?\}"
    r"|\\?[A-Za-z]+)_\{(?:\\mathrm\{\w+\}|[^{}])*\})"
    r"|\^\{(?P<power>-?\d+)\}|(?P<times>\\times|\\cdot)"
    r"|(?P<function>\\cos|\\sin)|(?P<open>\()|(?P<other>[)+-])|\s+"
)


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


@pytest.mark.slow
@pytest.mark.parametrize("symbolic", [False, True], ids=["numbers", "symbols"])
@pytest.mark.parametrize("arm", [*ARMS, fa.load("panda"), fa.load("puma560")], ids=lambda arm: arm.name)
@pytest.mark.sweep
def test_the_printed_equations_give_the_values(arm: Arm, symbolic: bool) -> None:
    """The text itself, closed forms and lists of statements, read and computed, with all digits printed."""
    graph, tau, program = traced(arm, symbolic)
    text = document(program, digits=17)
    rng, known, leaves = np.random.default_rng(11), dict[str, float](), dict[str, float]()
    for name, letter in (("q", "q"), ("qd", r"\dot{q}"), ("qdd", r"\ddot{q}")):
        for i, value in enumerate(rng.uniform(-2.0, 2.0, arm.n)):
            known[f"{letter}_{{{i + 1}}}"] = leaves[f"{name}[{i}]"] = value
    known |= {
        f"\\theta_{{{i + 1}}}": leaves[f"q[{i}]"] + float(m) for i, m in enumerate(_offsets(text, arm.n))
    }
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
    "two\nlines \\input{/etc/passwd}",
    "% \\end{document}",
    "$x$ & # _ ^ ~ {",
    "}}} \\\\ \\write18{ls}",
    "^^5cinput ^^M ^^0a",
    "\r\u2028\u2029\x0b\x00\x85\\begin{x}",
    "[1ex] *",
    "\u00e9\u00fc\u0151 \u03a9 \u4e2d \ud800 \u202e",
    "!TEX program = sh",
    '"`<>|--- ?`',
    "\\def\\tau{}",
)


@cache
def told(words: str) -> str:
    graph, size = Graph(), 2
    graph.section = words
    q = [graph.input(f"q[{i}]") for i in range(size)]
    mass = graph.parameter(f"{words}1.mass")
    long = math.prod((x.sin() + mass * i for i, x in enumerate(q * 4, 1)), start=mass)
    inputs, outputs = (
        (Argument("q", (size,), words),),
        (Argument("tau", (), words), Argument("h", (), words)),
    )
    results = {"tau": mass * q[0].cos(), "h": long}
    return document(
        program_of(
            Traced(graph, results, inputs, outputs), words, (words, f"Of {words}"), {f"{words}1.mass": 2.0}
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.sweep(first=4)
def test_texts_from_outside_stay_texts(text: str) -> None:
    """The equations are the same whatever the texts say, and the texts bring no command with them."""
    document_made = told(text)
    assert_whole(document_made)
    equations = re.findall(r"\\begin\{align\*\}.*?\\end\{align\*\}", document_made, flags=re.S)
    assert len(equations) >= 2
    assert [
        e.replace("m_{1}", "p_{1}")
        for e in re.findall(r"\\begin\{align\*\}.*?\\end\{align\*\}", told("words"), flags=re.S)
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
    assert "1.234568 q_{1}" in document(
        made_of({"x": [graph.input("q[0]") * 1.23456789]}, graph, q=1), digits=7
    )


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


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("symbolic", [False, True], ids=["numbers", "symbols"])
@pytest.mark.parametrize("arm", [PLANAR_2, fa.load("panda")], ids=lambda arm: arm.name)
def test_documents_compile(arm: Arm, symbolic: bool, tmp_path: Path) -> None:
    (tmp_path / "made.tex").write_text(document(traced(arm, symbolic)[2]), encoding="ascii")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "made.tex"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
