"""What stands around the code: comments that no text can leave, long lines, names,
and an example of a call that runs.
"""

from __future__ import annotations

import ast
import doctest
import itertools
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from codegen.batch_running import EVERY_LANGUAGE, checked, write_all
from codegen.programs import awkward_names, parameters
from codegen.running import COMPILERS, EVERY, LANGUAGES, Case, by_hand, imported, needs, write
from codegen.structured_text import units

from forearm.codegen.program import Op, Ref
from forearm.codegen.text import COMMENT_WIDTH, Dialect, expression, folded, number, plain
from forearm.errors import InputError

ENDS = [
    "*/", "*\\", "*\\\n/", "*??/\n/", "/*", "\uff0a\uff0f", '"""', "'''", '"', "\\", "??/", "\\\n", "\r",
    "\x0b", "\u2028", "\x00", "\x85", "\n",
]  # fmt: skip
CODE = [
    "#error out",
    "int out(void) { return 1 }",
    "import out_of_the_docstring",
    "end module",
    ">>> raise SystemExit",
    "& out out",
]
HOSTILE = [
    end + code + other for end, code, other in zip(ENDS, itertools.cycle(CODE), ENDS[::-1], strict=False)
]
HOSTILE += [
    "Gr\u00f6\u00dfe \u2014 \u03b1\u00b2 \U0001f9be \ud800",
    "word " * 200,
    "x" * 5000,
    " " * 500 + "y",
    "*" * 300 + "/" * 300,
    "?" * 300 + "/",
]
COMMENTS = dict.fromkeys(("c", "cpp", "javascript", "cuda"), r"/\*.*?\*/") | {"st": r"\(\*.*?\*\)"}
LINES = {"fortran": r"^ *!.*\n", "rust": r"^ *//.*\n", "matlab": r"^ *%.*\n"}


def hostile() -> Case:
    """Every text that comes from outside tries to end the comment it stands in."""
    case = Case("hostile", {"q": (2,)}, about=tuple(HOSTILE), meaning=" ".join(HOSTILE))
    (a, b), total = case.input("q"), 0.5
    for i, text in enumerate(HOSTILE):
        case.graph.section = text
        total = total * a.sin() + b * case.parameter(text, 0.01 * i)
        case.graph.name(f"w{i}", total)
    case.results = {"tau": [total, b]}
    return case


def wide() -> Case:
    """Statements that are longer than a line."""
    case = Case("wide", {f"input_{i}": (2,) for i in range(12)}, about=("word " * 100,), meaning="word " * 50)
    total, values = 0.0, [x for name in case.inputs for x in case.input(name)]
    for i, (a, b) in enumerate(itertools.pairwise(values)):
        total = (total + a * b - 0.5) * (a - b) + (a * a - total) * b
        case.graph.name(f"{'long_' * 11}{i:03}", total)
    case.results = {"tau": [total]}
    return case


@pytest.mark.slow
@EVERY_LANGUAGE
def test_only_generated_lines_stand_outside_comments(language: str, tmp_path: Path) -> None:
    """Without its comments, the code is the same whatever the texts say."""

    def checked_text(case: Case) -> str:
        text = write_all(language, case.program(), tmp_path)
        assert text.isascii()
        assert "\\" not in text
        assert not set(re.findall(r"[\x00-\x1f]", text)) - {"\n"}
        return text

    def bare(words: str) -> Any:
        case = Case("bare", {"q": (1,)}, about=(words, f"Made of {words}"), meaning=words)
        case.graph.section = words
        case.results = {"tau": [case.input("q")[0].sin() * case.parameter(words, 0.5)]}
        text = checked_text(case)
        if language == "python":
            tree = ast.parse(text)
            for node in ast.walk(tree):
                if isinstance(node, ast.Module | ast.FunctionDef) and ast.get_docstring(node):
                    node.body = node.body[1:]
            return ast.dump(tree)
        code = re.sub(COMMENTS.get(language, "$^"), "", text, flags=re.S)
        code = re.sub(LINES.get(language, "$^"), "", code, flags=re.M)
        return [line for line in code.splitlines() if line.strip()]

    expected = bare("words")
    assert "tau" in str(expected)
    for text in HOSTILE:
        assert bare(text) == expected, text
    # In C a space goes between any two marks, so that a line of nothing but marks doubles.
    longest = (1 if language in ("fortran", "python") else 2) * (COMMENT_WIDTH + 12)
    assert max(map(len, checked_text(hostile()).splitlines())) <= longest


@EVERY_LANGUAGE
def test_comments_and_code_are_folded(language: str, tmp_path: Path) -> None:
    text = write_all(language, wide().program(), tmp_path)
    assert max(len(line) for line in text.splitlines()) <= 115
    assert re.search(r"[*+-] (&|\.\.\.)?\n|\n +[*+-] ", text), "some statement is longer than a line"


def test_no_text_is_an_example_to_run(tmp_path: Path) -> None:
    write(hostile().program(), "python", tmp_path)
    found = doctest.DocTestFinder(exclude_empty=False).find(imported("hostile", tmp_path))
    assert {test.name for test in found} >= {"hostile", "hostile.hostile", "hostile.hostile_prepare"}
    assert not [example for test in found for example in test.examples]


def test_expressions_have_no_parentheses_that_do_nothing() -> None:
    a, b, c = (Ref(name) for name in "abc")
    trees = {
        "a + b - c": Op("-", (Op("+", (a, b)), c)),
        "a - (b - c)": Op("-", (a, Op("-", (b, c)))),
        "a * b / c": Op("/", (Op("*", (a, b)), c)),
        "a / (b * c)": Op("/", (a, Op("*", (b, c)))),
        "a * b - b * c": Op("-", (Op("*", (a, b)), Op("*", (b, c)))),
        "-a * b + c": Op("+", (Op("neg", (Op("*", (a, b)),)), c)),
        "(-a) * b": Op("*", (Op("neg", (a,)), b)),
        "-(a + b)": Op("neg", (Op("+", (a, b)),)),
        "a - (-0.5)": Op("-", (a, -0.5)),
        "sin(a + b)": Op("sin", (Op("+", (a, b)),)),
    }
    dialect = Dialect(
        number,
        lambda ref: ref.name,
        lambda name, argument: f"{name}({argument})",
        lambda a, b, x, y: f"({a} < {b} ? {x} : {y})",
        {},
    )
    assert [expression(tree, dialect) for tree in trees.values()] == [*trees]


def test_words_stay_readable_in_ascii() -> None:
    assert (
        plain("M\u00fcller\u2019s \u201carm\u201d \u2013 5 \u00b5m\u00b2, \u03b1 \uff0a\uff0f")
        == 'Muller\'s "arm" - 5 um2, ? */'
    )


def test_two_of_the_longest_names_fit_a_line_of_fortran() -> None:
    lines = folded(f"{'a' * 63} = {'b' * 63}(10, 10) * {'c' * 63}", " " * 8, " &")
    assert lines == [f"{' ' * 8}{'a' * 63} = &", f"{' ' * 12}{'b' * 63}(10, 10) &", f"{' ' * 12}* {'c' * 63}"]


FLAT = ("p[0]", "p[6]  (3 x 2, row by row)")
SHAPES = dict.fromkeys(("c", "cpp", "javascript", "cuda"), FLAT) | {
    "fortran": ("p(1)", "p(3, 2)"),
    "python": ("p[0]", "p (..., 3, 2)"),
    "rust": ("p[0]", "p: [[f64; 2]; 3]"),
    "matlab": ("p(1)", "p (3 x 2)"),
    "st": ("p[0]", "p : ARRAY[0..2, 0..1] OF LREAL"),
}


@EVERY_LANGUAGE
def test_the_head_says_what_a_caller_must_know(language: str, tmp_path: Path) -> None:
    case = parameters()
    text = write_all(language, case.program(), tmp_path)
    first, shape = SHAPES[language]
    for words in (*case.about, "position, rad", "torque, N m", "damping = 0.35", "not used = 7.0"):
        assert words in text, words
    assert f"  {first}  link 1, mass = 2.75\n" in text
    assert f"out {shape}  torque, N m" in text
    assert max(map(len, text.splitlines())) <= 115


def many_parameters() -> Case:
    case = Case("example", {"q": (2,), "qd": (2, 2)})
    total = case.input("q")[0].sin() + case.input("qd")[1] + 0.125
    for i in range(30):
        total = total + case.parameter(f"parameter {i}", 0.1 * i + 1.0 / 3.0)
    case.results = {"tau": [total, -total], "M": [[1.0, total]]}
    return case


# How comments begin, what follows the lines under "Call:", and a small program around these.
EXAMPLES = {
    "c": (
        " *",
        " */",
        '#include "example.h"\n#include <stdio.h>\nint main(void) {{\n{}\nprintf("%.17g", tau[0]); }}',
    ),
    "cpp": (
        " *",
        " *",
        '#include "example.hpp"\n#include <stdio.h>\nint main() {{\n{}\nprintf("%.17g", tau[0]); }}',
    ),
    "cuda": (
        " *",
        " *",
        "#define __host__\n#define __device__\n#include <stdio.h>\n"
        '#include "example.cuh"\nint main() {{\n{}\nprintf("%.17g", tau[0]); }}',
    ),
    "fortran": (
        "!",
        "module example_module",
        "program main\n{}\nimplicit none\n{}\nprint *, tau(1)\nend program",
    ),
    "python": ("", '    """', "{}\nprint(repr(float(tau[0])))"),
    "javascript": (" *", " */", "{}\nconsole.log(tau[0]);"),
    "rust": (
        "//",
        "//",
        '#![allow(non_snake_case)]\nmod example;\nfn main() {{\n{}\nprint!("{{:e}}", tau[0]);\n}}',
    ),
    "matlab": ("%", "", '{}\nprintf("%.17g", tau(1));'),
    "st": (" *", " *)", "FUNCTION_BLOCK main\n{}\nEND_FUNCTION_BLOCK"),
}
# The file of the program around, and what builds and runs it.
BUILT = {
    "c": ("main.c", [[*COMPILERS["c"][:2], "main.c", "example.c", "-o", "main", "-lm"], ["./main"]]),
    "cpp": ("main.cpp", [[*COMPILERS["cpp"][:2], "main.cpp", "-o", "main"], ["./main"]]),
    "cuda": ("main.cpp", [["g++", "main.cpp", "-o", "main"], ["./main"]]),
    "fortran": (
        "main.f90",
        [["gfortran", "-std=f2008", "-finit-real=nan", "example.f90", "main.f90", "-o", "main"], ["./main"]],
    ),
    "python": ("main.py", [[sys.executable, "main.py"]]),
    "javascript": ("main.mjs", [["node", "main.mjs"]]),
    "rust": ("main.rs", [["rustc", "--edition", "2021", "-D", "warnings", "main.rs"], ["./main"]]),
    "matlab": ("main.m", [["octave", "--no-gui", "--norc", "--quiet", "main.m"]]),
}


@pytest.mark.slow
@EVERY_LANGUAGE
def test_the_example_of_a_call_runs(language: str, tmp_path: Path) -> None:
    """The lines under "Call:" compile as they stand, and give the result at rest."""
    needs(language)
    case = many_parameters()
    program = case.program()
    text = write_all(language, program, tmp_path)
    mark, ending, around = EXAMPLES[language]
    lines = text[text.index("Call:") :].splitlines()[1:]
    code = "\n".join(line.removeprefix(mark).strip() for line in lines[: lines.index(ending)])
    if language == "fortran":  # what is used stands first
        used, body = code.split("\nreal(dp)", 1)
        main = around.format(used, f"real(dp){body}")
    else:
        main = around.format(code)
    rest = {name: np.zeros(shape) for name, shape in case.inputs.items()}
    truth = case.expected(rest, np.array(program.defaults))["tau"][0]
    if language == "st":
        block = units(f"{text}\n{main}\n")["main"]()
        block.q[...], block.qd[...] = 0.0, 0.0
        block()
        printed = block.tau[0]
    else:
        name, commands = BUILT[language]
        (tmp_path / name).write_text(f"{main}\n", encoding="utf-8")
        printed = [checked(command, tmp_path) for command in commands][-1]
    assert float(printed) == pytest.approx(truth, rel=1e-12)


@EVERY
def test_a_program_under_an_impossible_name_is_refused(language: str) -> None:
    said = r"codegen: the program cannot be called .*; expected a letter followed by letters.* at most"
    for name in ("", "two words", "9lives", "_x", "int", "Lambda", "x" * 201, 'x"\n#include "y', "arm\u00e9"):
        with pytest.raises(InputError, match=said):
            LANGUAGES[language].write(by_hand(name, [], (), ()))


def test_fortran_limits_the_length_of_a_program_s_name() -> None:
    assert f"module {'x' * 55}_module\n" in LANGUAGES["fortran"].write(by_hand("x" * 55, [], (), ()))[0]
    assert f"void {'x' * 56}(" in LANGUAGES["c"].write(by_hand("x" * 56, [], (), ()))[0]
    with pytest.raises(InputError, match=r"the program cannot be called 'x+'; .* underscores, at most 55"):
        LANGUAGES["fortran"].write(by_hand("x" * 56, [], (), ()))


def test_names_that_are_fine_stay_and_the_others_are_the_same_in_every_language() -> None:
    def declared(language: str) -> set[str]:
        return set(re.findall(r"[A-Za-z]\w*", LANGUAGES[language].write(program)[0]))

    program = awkward_names().program()
    own = {s.target.name for s in program.statements}
    fine = {"tau", "x" * 63, "k_2", "p_2", "qcq"}
    assert fine <= own, own
    changed = {
        "if_2",
        "int_3",
        "sin_2",
        "v_x",
        "v9x",
        "grcc",
        "x" * 55,
        "x" * 55 + "_2",
        "lambda_2",
        "double_2",
    }
    for language in LANGUAGES:
        assert fine | changed <= declared(language), declared(language)
        assert not {"x" * 80, "x" * 80 + "y"} & declared(language)
