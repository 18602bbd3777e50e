"""What Rust, CUDA C, MATLAB and Structured Text have and ask beside what every language does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from codegen.batch_running import EVERY_OTHER, MORE, checked, rust_without_std, write_all
from codegen.programs import CASES, parameters
from codegen.running import Case, by_hand, needs, random_state
from codegen.structured_text import units
from codegen.structured_text_grammar import NotStructuredText
from codegen.test_languages import ROUGH

from forearm.errors import InputError
from tools import starts


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
    programs += [replace(p, single=True, name=f"{p.name}_f32") for p in programs[1:3]]
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


def test_the_interpreter_of_structured_text_is_strict() -> None:
    """What breaks a rule of the language is found."""
    head = "FUNCTION_BLOCK f VAR_INPUT q : ARRAY[0..1] OF LREAL; END_VAR VAR_OUTPUT t : LREAL; END_VAR "
    good = head + "{} END_FUNCTION_BLOCK"
    block = units(good.format("t := SEL(q[0] < 2.0, 1.0, -q[1]) * 0.5;"))["f"]()
    block(q=np.array([1.0, 4.0]))
    assert block.t == -2.0
    broken = (
        "t := q[2];|t := q[0] * 2;|t := 1e3;|t = 1.0;|t := u;|t := REAL#1.0;|q[0] := 1.0;|t := 1.0|"
        "EXIT;|t := q;|t := SIN(1.0, 2.0);|t := -(q[0];|IF q[0] THEN t := 1.0; END_IF;|"
        "(* (* *) t := 1.0;|t := t__u;"
    )
    for body in broken.split("|"):
        with pytest.raises((NotStructuredText, ValueError)):
            units(good.format(body))
