"""Rust, CUDA C, MATLAB and Structured Text compute what the graph says: many programs at once in each."""

from __future__ import annotations

import math
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from codegen.batch_running import (
    EVERY_OTHER,
    MORE,
    Job,
    checked,
    needs,
    run_jobs,
    rust_without_std,
    write_all,
)
from codegen.programs import CASES, bends, decisions, loops, matrices, operators, parameters, partly
from codegen.running import Case, assert_close, by_hand, random_state
from codegen.structured_text import units
from codegen.structured_text_grammar import NotStructuredText
from codegen.test_languages import random_tree, value_of
from codegen.test_texts import HOSTILE, hostile, many_parameters
from tools import starts

from forearm.codegen.program import Argument, Program, Ref, Statement
from forearm.errors import InputError

TREES, DIGITS, SIGNS = "trees", "digits", "signs"
# Of numbers near 1, after some tens of operations in single precision.
SINGLE = 2e-5
ROUGH = (operators, bends, decisions, loops, matrices, parameters, partly)


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
@EVERY_OTHER
def test_generated_code_gives_what_the_graph_gives(language: str, tmp_path: Path) -> None:
    """Every case with its own parameters and others; trees without sin and cos to the last bit."""
    cases = [*CASES, hostile()]
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
@EVERY_OTHER
def test_single_precision(language: str, tmp_path: Path) -> None:
    cases = [make() for make in ROUGH]
    programs = [replace(case.program(), single=True) for case in cases]
    jobs = [Job(program, [random_state(program)]) for program in programs]
    for case, job, (made,) in zip(cases, jobs, run_jobs(language, jobs, tmp_path), strict=True):
        assert all(array.dtype == np.float32 for array in made.values())
        expected = case.expected(job.states[0], np.array(job.program.defaults))
        assert_close({name: array.astype(float) for name, array in made.items()}, expected, SINGLE)


@pytest.mark.slow
def test_rust_needs_neither_std_nor_panics(tmp_path: Path) -> None:
    needs("rust")
    programs = [case.program() for case in CASES]
    programs += [replace(make().program(), single=True, name=f"{make().name}_f32") for make in ROUGH]
    for program in programs:
        write_all("rust", program, tmp_path)
    needed = checked(["nm", "-u", rust_without_std(programs, tmp_path).name], tmp_path)
    names = [line.split()[-1] for line in needed.splitlines()]
    assert names
    assert all("libm" in name for name in names), names


@pytest.mark.slow
def test_cuda_compiles(tmp_path: Path) -> None:
    """As device code without warnings, all headers in one file."""
    if not starts("nvcc"):
        pytest.skip("nvcc is not installed")
    programs = [make().program() for make in ROUGH]
    programs += [replace(p, single=True, name=f"{p.name}_f32") for p in programs]
    for program in programs:
        write_all("cuda", program, tmp_path)
    source = "".join(f'#include "{p.name}.cuh"\n#include "{p.name}.cu"\n' for p in programs)
    (tmp_path / "all.cu").write_text(source, encoding="ascii")
    checked(
        ["nvcc", "-Werror", "all-warnings", "-arch=sm_80", "-cubin", "all.cu", "-o", "all.cubin"], tmp_path
    )
    assert all(f"{p.name}_batch".encode() in (tmp_path / "all.cubin").read_bytes() for p in programs)


BLOCK = """
classdef FakeBlock < handle
    properties
        NumInputPorts = 0; NumOutputPorts = 0; NumDialogPrms = 0; NumDworks = 0; SampleTimes = [];
        SimStateCompliance = ''; DialogPrmsTunable = {}; InputPort = struct(); OutputPort = struct();
        Dwork = struct(); DialogPrm = struct(); methods_ = struct();
    end
    methods
        function RegBlockMethod(self, name, handle)
            self.methods_.(name) = handle;
        end
    end
end
"""


@pytest.mark.slow
def test_the_s_function_of_matlab(tmp_path: Path) -> None:
    """A stand-in for Simulink's block: setup, work vector, one evaluation with the signals as rows."""
    needs("matlab")
    case = parameters()
    program = case.program()
    write_all("matlab", program, tmp_path)
    (tmp_path / "FakeBlock.m").write_text(BLOCK, encoding="ascii")
    state, p = random_state(program), 1.3 * np.array(program.defaults)
    lines = ["block = FakeBlock();", "parameters_sfun(block);", f"block.DialogPrm(1).Data = {p.tolist()};"]
    lines += ["block.methods_.PostPropagationSetup(block);", "block.methods_.Start(block);"]
    lines += [
        f"block.InputPort({i}).Data = {state[a.name].tolist()};" for i, a in enumerate(program.inputs, 1)
    ]
    lines += ["block.methods_.Outputs(block);", "block.methods_.Terminate(block);"]
    lines += ['printf("%d ", block.NumInputPorts, block.NumOutputPorts, block.NumDialogPrms);']
    lines += [
        'printf("%d ", block.InputPort(2).Dimensions, block.OutputPort(3).Dimensions, block.NumDworks);'
    ]
    lines += ['printf("\\n"); printf("%.17g ", block.OutputPort(1).Data); printf("\\n");']
    lines += ['printf("%.17g ", block.OutputPort(3).Data.\');']
    (tmp_path / "drive.m").write_text("\n".join(lines) + "\n", encoding="ascii")
    ports, tau, matrix = checked(
        ["octave", "--no-gui", "--norc", "--quiet", "drive.m"], tmp_path
    ).splitlines()
    expected = case.expected(state, p)
    assert ports.split() == ["2", "3", "1", "2", "3", "2", "1"]
    assert np.array(tau.split(), float) == pytest.approx(expected["tau"], rel=1e-14)
    assert np.array(matrix.split(), float) == pytest.approx(expected["p"].ravel(), rel=1e-14)


@EVERY_OTHER
@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_what_is_no_number_is_refused(language: str, value: float) -> None:
    program = by_hand("digits", [Statement(Ref("tau", 0), value, "")], (), (Argument("tau", (1,), "N m"),))
    with pytest.raises(InputError, match=f"codegen: {value} cannot be written as a number in a program"):
        MORE[language].write(program)


WORDS = {"rust": "impl", "cuda": "blockIdx", "matlab": "elseif", "st": "Var_Output"}


@EVERY_OTHER
def test_words_of_a_language_are_no_names(language: str, tmp_path: Path) -> None:
    """Neither of values nor of programs; other languages keep them."""
    word = WORDS[language]
    with pytest.raises(InputError, match=f"the program cannot be called '{word}'"):
        MORE[language].write(by_hand(word, [], (), ()))
    case = Case("words", {word: (1,)})
    named = case.input(word)[0] * 0.5
    case.graph.name(f"{word}_2", named)
    case.results = {"tau": [named * named]}
    text = write_all(language, case.program(), tmp_path)
    assert f"{word}_3" in text
    for other in MORE.keys() - {language}:
        assert f"{word}_3" not in MORE[other].write(case.program())[0]


def test_names_of_structured_text_have_single_underscores(tmp_path: Path) -> None:
    """Of values, and of a program whose file keeps its name."""
    case = Case("my__arm_", {"q__": (1,)})
    case.results = {"tau": [case.input("q__")[0] * 0.5]}
    text = write_all("st", case.program(), tmp_path)
    assert "__" not in text
    assert "FUNCTION_BLOCK my_arm\n" in text
    assert (tmp_path / "my__arm__methods.st").exists()


@pytest.mark.slow
def test_the_examples_of_rust_and_cuda_run(tmp_path: Path) -> None:
    """The lines under "Call:" compile as they stand, and give the result at rest."""
    case = many_parameters()
    program = case.program()
    rest = {name: np.zeros(shape) for name, shape in case.inputs.items()}
    truth = case.expected(rest, np.array(program.defaults))["tau"][0]
    for language, mark in (("rust", "//"), ("cuda", " *")):
        needs(language)
        text = write_all(language, program, tmp_path)
        lines = text[text.index("Call:") :].splitlines()[1:]
        code = "\n".join(line.removeprefix(mark) for line in lines[: lines.index(mark)])
        if language == "rust":
            main = f'mod example;\nfn main() {{\n{code}\nprint!("{{:e}}", tau[0]);\n}}\n'
            (tmp_path / "main.rs").write_text(f"#![allow(non_snake_case)]\n{main}", encoding="ascii")
            checked(["rustc", "--edition", "2021", "-D", "warnings", "main.rs", "-o", "main"], tmp_path)
        else:
            words = "#define __host__\n#define __device__\n#include <stdio.h>\n"
            main = f'int main(void) {{\n{code}\nprintf("%.17g", tau[0]); return 0; }}\n'
            (tmp_path / "main.cpp").write_text(f'{words}#include "example.cuh"\n{main}', encoding="ascii")
            checked(["g++", "main.cpp", "-o", "main"], tmp_path)
        printed = subprocess.run(["./main"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
        assert float(printed) == pytest.approx(truth, rel=1e-12)


@pytest.mark.slow
def test_the_example_of_matlab_runs(tmp_path: Path) -> None:
    needs("matlab")
    case = many_parameters()
    text = write_all("matlab", case.program(), tmp_path)
    lines = text[text.index("Call:") :].splitlines()[1:]
    code = "\n".join(line.removeprefix("%") for line in lines[: lines.index("")])
    (tmp_path / "drive.m").write_text(f'{code}\nprintf("%.17g", tau(1));\n', encoding="ascii")
    rest = {name: np.zeros(shape) for name, shape in case.inputs.items()}
    truth = case.expected(rest, np.array(case.program().defaults))["tau"][0]
    printed = checked(["octave", "--no-gui", "--norc", "--quiet", "drive.m"], tmp_path)
    assert float(printed) == pytest.approx(truth, rel=1e-12)


@pytest.mark.slow
def test_the_example_of_structured_text_runs() -> None:
    case = many_parameters()
    text = MORE["st"].write(case.program())[0]
    lines = text[text.index("Call:") :].splitlines()[1:]
    code = "\n".join(line.removeprefix(" *") for line in lines[: lines.index(" *)")])
    block = units(f"{text}\nFUNCTION_BLOCK main\n{code}\nEND_FUNCTION_BLOCK\n")["main"]()
    block.q[...], block.qd[...] = 0.0, 0.0
    block()
    rest = {name: np.zeros(shape) for name, shape in case.inputs.items()}
    truth = case.expected(rest, np.array(case.program().defaults))["tau"]
    assert block.tau == pytest.approx(truth, rel=1e-12)


COMMENTS = {"rust": r"^ *//.*\n", "cuda": r"/\*.*?\*/", "matlab": r"^ *%.*\n", "st": r"\(\*.*?\*\)"}


@pytest.mark.slow
@EVERY_OTHER
def test_only_generated_lines_stand_outside_comments(language: str, tmp_path: Path) -> None:
    """Without its comments, the code is the same whatever the texts say."""

    def bare(words: str) -> list[str]:
        case = Case("bare", {"q": (1,)}, about=(words, f"Made of {words}"), meaning=words)
        case.graph.section = words
        case.results = {"tau": [case.input("q")[0].sin() * case.parameter(words, 0.5)]}
        text = write_all(language, case.program(), tmp_path)
        assert text.isascii()
        assert "\\" not in text
        assert not set(re.findall(r"[\x00-\x1f]", text)) - {"\n"}
        code = re.sub(COMMENTS[language], "", text, flags=re.S if language in ("cuda", "st") else re.M)
        return [line for line in code.splitlines() if line.strip()]

    expected = bare("words")
    assert any("tau" in line for line in expected)
    for text in HOSTILE:
        assert bare(text) == expected, text


SHAPES = {
    "rust": ("p[0]", "p: [[f64; 2]; 3]"),
    "cuda": ("p[0]", "p[6]  (3 x 2, row by row)"),
    "matlab": ("p(1)", "p (3 x 2)"),
    "st": ("p[0]", "p : ARRAY[0..2, 0..1] OF LREAL"),
}


@EVERY_OTHER
def test_the_head_says_what_a_caller_must_know(language: str, tmp_path: Path) -> None:
    case = parameters()
    text = write_all(language, case.program(), tmp_path)
    for words in (*case.about, "position, rad", "torque, N m", "damping = 0.35", "not used = 7.0"):
        assert words in text, words
    first, shape = SHAPES[language]
    assert f"  {first}  link 1, mass = 2.75\n" in text
    assert f"out {shape}  torque, N m" in text
    assert max(map(len, text.splitlines())) <= 115


def test_the_interpreter_of_structured_text_is_strict() -> None:
    """What breaks a rule of the language is found."""
    head = "FUNCTION_BLOCK f VAR_INPUT q : ARRAY[0..1] OF LREAL; END_VAR VAR_OUTPUT t : LREAL; END_VAR "
    good = head + "{} END_FUNCTION_BLOCK"
    block = units(good.format("t := SEL(q[0] < 2.0, 1.0, -q[1]) * 0.5;"))["f"]()
    block(q=np.array([1.0, 4.0]))
    assert block.t == -2.0
    for body in (
        "t := q[2];",
        "t := q[0] * 2;",
        "t := 1e3;",
        "t = 1.0;",
        "t := u;",
        "t := REAL#1.0;",
        "q[0] := 1.0;",
        "t := 1.0",
        "t := SIN(1.0, 2.0);",
        "t := -(q[0];",
        "EXIT;",
        "t := q;",
        "IF q[0] THEN t := 1.0; END_IF;",
        "(* (* *) t := 1.0;",
        "t := t__u;",
    ):
        with pytest.raises((NotStructuredText, ValueError)):
            units(good.format(body))
