"""Generated programs in every language: many written, compiled and called at once.

CUDA C is compiled as C++ with its own words defined away, and called through its kernel, row by row;
MATLAB runs in Octave; Structured Text in the interpreter of `structured_text`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from codegen.running import (
    LANGUAGES,
    STRICT,
    Floats,
    State,
    caller,
    compiled,
    fortran_symbol,
    needs,
    runner,
    shim,
)
from codegen.structured_text import units

from forearm.codegen.languages import cuda, describing, matlab, rust, st
from forearm.codegen.languages.language import Language
from forearm.codegen.program import Argument, Program

MORE: dict[str, Language] = {m.LANGUAGE.name: m.LANGUAGE for m in (rust, cuda, matlab, st)}
ALL = LANGUAGES | MORE
RUSTC = ["rustc", "--edition", "2021", "-D", "warnings"]
FEATURES = ["--check-cfg", 'cfg(feature, values("libm"))']
# What CUDA C has beside C++; blocks of three threads.
WORDS = """
#include <stddef.h>
#define __host__
#define __device__
#define __global__
struct Index { unsigned x; };
static Index blockIdx, blockDim = {3}, threadIdx;
"""
# The functions that generated code asks of the crate libm, from the library of C.
LIBM = ("sin", "cos", "sqrt", "fabs", "exp", "atan2", "rint")
EVERY_LANGUAGE = pytest.mark.parametrize("language", ALL)
EVERY_OTHER = pytest.mark.parametrize("language", MORE)
# No double where there should be none.
ONLY_FLOATS = ("-Wdouble-promotion", "-Wfloat-conversion", "-Wunsuffixed-float-constants")


@dataclass
class Job:
    """A program and what to call it with: states, and its parameters."""

    program: Program
    states: Sequence[State]
    p: Floats | None = None


Results = list[list[dict[str, Floats]]]


def write_all(language: str, program: Program, folder: Path) -> str:
    """The program as files in a folder; the text of all of them."""
    wanted = ALL[language]
    text, header = wanted.write(program)
    files = {f"{program.name}.{wanted.ending}": text, **wanted.others(program)}
    files |= {f"{program.name}.{wanted.header_ending}": header} if header else {}
    for name, content in files.items():
        (folder / name).write_text(content, encoding="ascii")
    return "".join(files.values())


def run_jobs(language: str, jobs: Sequence[Job], folder: Path) -> Results:
    """For each job and each of its states the outputs; what a program leaves unset is NaN."""
    needs(language)
    if language in ("python", "javascript"):
        with np.errstate(all="ignore"):
            calls = [runner(job.program, language, folder) for job in jobs]
            return [[call(s, job.p) for s in job.states] for call, job in zip(calls, jobs, strict=True)]
    texts = [write_all(language, job.program, folder) for job in jobs]
    if language == "c":
        more = ONLY_FLOATS if all(job.program.single for job in jobs) else ()
        sources = [f"{job.program.name}.c" for job in jobs]
        return _called(jobs, compiled("c", sources[0], folder, *more, *sources[1:]), str)
    if language == "fortran":
        sources = [f"{job.program.name}.f90" for job in jobs]
        library = compiled("fortran", sources[0], folder, *sources[1:])
        return _called(jobs, library, fortran_symbol, "F")
    if language == "cpp":
        return _cpp(jobs, texts, folder)
    ways: dict[str, Callable[[Sequence[Job], Path], Results]] = {
        "rust": _rust,
        "cuda": _cuda,
        "matlab": _matlab,
        "st": _st,
    }
    return ways[language](jobs, folder)


def _cpp(jobs: Sequence[Job], texts: Sequence[str], folder: Path) -> Results:
    """All headers in one source, each of them more than once, which adds nothing."""
    scalar = jobs[0].program.scalar
    headers = [f"{job.program.name}.hpp" for job in jobs]
    shims = [shim(job.program.name, text, scalar, folder) for job, text in zip(jobs, texts, strict=True)]
    lines = [f'#include "{name}"' for name in (*headers, *headers, *shims)]
    (folder / "all_headers.cpp").write_text("\n".join(lines) + "\n", encoding="ascii")
    library = compiled("cpp", "all_headers.cpp", folder, "-Wdouble-promotion")
    return _called(jobs, library, lambda name: f"{name}_{scalar}")


def _called(
    jobs: Sequence[Job],
    library: Path,
    symbol: Callable[[str], str] = lambda name: f"{name}_c",
    order: Any = "C",
) -> Results:
    """By functions of a library, which take pointers."""
    call = caller(library, symbol)
    found: Results = []
    for job in jobs:
        program, dtype, before = job.program, dtype_of(job.program), list[Any]()
        if program.parameters:
            before = [np.full(max(program.kept, 1), np.nan, dtype)]
            p = np.array(program.defaults if job.p is None else job.p, dtype)
            call(f"{program.name}_prepare", [p, *before])
        rows = []
        for state in job.states:
            given = [np.array(state[a.name], dtype, order=order) for a in program.inputs]
            made: list[Any] = [np.full(a.shape, np.nan, dtype, order=order) for a in program.outputs]
            call(program.name, [*given, *before, *made])
            rows.append({a.name: array for a, array in zip(program.outputs, made, strict=True)})
        found.append(rows)
    return found


def checked(command: list[str], folder: Path) -> str:
    """The output of a command, which succeeds and warns of nothing."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def dtype_of(program: Program) -> Any:
    return np.float32 if program.single else np.float64


def _signatures(program: Program) -> list[tuple[str, tuple[Argument, ...], tuple[Argument, ...]]]:
    """Name, inputs and outputs of each function of a program."""
    given = describing.given(program)
    made = [(program.name, given, program.outputs)]
    if program.parameters:
        p, k = describing.parameters(program), describing.kept(program)
        made.insert(0, (f"{program.name}_prepare", (p,), (k,)))
    return made


def rust_crate(programs: Sequence[Program]) -> str:
    """A crate of the modules, with functions that C can call."""
    lines = []
    for program in programs:
        scalar = "f32" if program.single else "f64"
        lines += ["#[allow(non_snake_case)]", f"pub mod {program.name};"]
        for name, taken, made in _signatures(program):
            arguments = ", ".join(
                [f"a{i}: *const {scalar}" for i in range(len(taken))]
                + [f"b{i}: *mut {scalar}" for i in range(len(made))]
            )
            given = [
                f"&*(a{i} as *const {_rust_type(a, scalar)})" if a.shape else f"*a{i}"
                for i, a in enumerate(taken)
            ]
            given += [f"&mut *(b{i} as *mut {_rust_type(a, scalar)})" for i, a in enumerate(made)]
            lines += ["#[allow(unused_unsafe, non_snake_case, clippy::missing_safety_doc)]", "#[no_mangle]"]
            lines += [f'pub unsafe extern "C" fn {name}_c({arguments}) {{']
            lines += [f"    unsafe {{ {program.name}::{name}({', '.join(given)}); }}", "}"]
    return "\n".join(lines) + "\n"


def _rust_type(argument: Argument, scalar: str) -> str:
    text = scalar
    for size in reversed(argument.shape):
        text = f"[{text}; {size}]"
    return text


def _rust(jobs: Sequence[Job], folder: Path) -> Results:
    (folder / "lib.rs").write_text(rust_crate([job.program for job in jobs]), encoding="ascii")
    checked([*RUSTC, *FEATURES, "--crate-type", "cdylib", "lib.rs", "-o", "lib.so"], folder)
    return _called(jobs, folder / "lib.so")


def rust_without_std(programs: Sequence[Program], folder: Path) -> Path:
    """A library of the modules in a crate without std, with a stand-in for the crate libm."""
    lines = ["#![no_std]"]
    for name in LIBM:
        for own, scalar in ((name, "f64"), (f"{name}f", "f32")):
            taken = f"y: {scalar}, x: {scalar}" if name == "atan2" else f"x: {scalar}"
            given = "y, x" if name == "atan2" else "x"
            lines += [f"pub fn {own}({taken}) -> {scalar} {{"]
            lines += [
                f'    extern "C" {{ fn {own}({taken}) -> {scalar}; }}',
                f"    unsafe {{ {own}({given}) }}",
                "}",
            ]
    (folder / "libm.rs").write_text("\n".join(lines) + "\n", encoding="ascii")
    checked(["rustc", "--edition", "2021", "--crate-type", "rlib", "-C", "panic=abort", "libm.rs"], folder)
    (folder / "bare.rs").write_text(f"#![no_std]\n{rust_crate(programs)}", encoding="ascii")
    command = [*RUSTC, *FEATURES, "--cfg", 'feature="libm"', "--extern", "libm=liblibm.rlib", "-O"]
    checked([*command, "-C", "panic=abort", "--crate-type", "rlib", "--emit", "obj", "bare.rs"], folder)
    return folder / "bare.o"


def _cuda(jobs: Sequence[Job], folder: Path) -> Results:
    """Through the kernel: a thread that has no row does nothing."""
    lines = [WORDS]
    for program in (job.program for job in jobs):
        scalar = program.scalar
        lines += [f'#include "{program.name}.cu"']
        for name, taken, made in _signatures(program):
            arguments = [f"const {scalar} *a{i}" for i in range(len(taken))]
            arguments += [f"{scalar} *b{i}" for i in range(len(made))]
            names = ", ".join([*(f"a{i}" for i in range(len(taken))), *(f"b{i}" for i in range(len(made)))])
            lines += [f'extern "C" void {name}_c({", ".join(arguments)});']
            lines += [f"void {name}_c({', '.join(arguments)})", "{"]
            if name == program.name:
                lines += [
                    "    for (unsigned thread = 0; thread < 3; thread++) {",
                    "        threadIdx.x = thread;",
                ]
                lines += [f"        {name}_batch({names}{', ' if names else ''}1);", "    }"]
            else:
                lines += [f"    {name}({names});"]
            lines += ["}"]
    (folder / "all.cpp").write_text("\n".join(lines) + "\n", encoding="ascii")
    strict = [flag for flag in STRICT if flag != "-Wshadow"]
    checked(
        [
            "g++",
            "-std=c++17",
            "-Wconversion",
            "-Wdouble-promotion",
            *strict,
            "all.cpp",
            "-o",
            "all.so",
            "-lm",
        ],
        folder,
    )
    return _called(jobs, folder / "all.so")


def octave_value(array: Any, single: bool) -> str:
    """An array as MATLAB writes it, bit for bit: vectors are columns."""
    array = np.asarray(array, dtype=float)
    columns = array.reshape(-1, 1) if array.ndim < 2 else array
    rows = "; ".join(", ".join(_octave_number(x) for x in row) for row in columns)
    text = f"[{rows}]" if array.size else f"zeros({columns.shape[0]}, {columns.shape[1]})"
    return f"{'single' if single else 'double'}({text})"


def _octave_number(x: float) -> str:
    return "NaN" if np.isnan(x) else f"{'-' if x < 0 else ''}Inf" if np.isinf(x) else repr(float(x))


def _matlab(jobs: Sequence[Job], folder: Path) -> Results:
    lines = ["1;"]
    for job in jobs:
        program, kept = job.program, ""
        if program.parameters:
            p = octave_value(program.defaults if job.p is None else job.p, program.single)
            lines += [f"k = {program.name}_prepare({p});"]
            kept = "k"
        for state in job.states:
            given = [octave_value(state[a.name], program.single) for a in program.inputs]
            names = ", ".join(f"b{i}" for i in range(len(program.outputs)))
            results = f"[{names}] = " if names else ""
            lines += [f"{results}{program.name}({', '.join([*given, *([kept] if kept else [])])});"]
            for i, _ in enumerate(program.outputs):  # row by row
                lines += [
                    f'printf("%s %d %d", class(b{i}), size(b{i})); printf(" %.17g", b{i}.\'); printf("\\n");'
                ]
    (folder / "drive.m").write_text("\n".join(lines) + "\n", encoding="ascii")
    command = ["octave", "--no-gui", "--no-init-file", "--norc", "--quiet", "drive.m"]
    printed = iter(checked(command, folder).splitlines())
    return [[_printed(job.program, printed) for _ in job.states] for job in jobs]


def _printed(program: Program, lines: Any) -> dict[str, Floats]:
    found = {}
    for a in program.outputs:
        kind, rows, columns, *numbers = next(lines).split()
        assert kind == ("single" if program.single else "double"), a.name
        assert (int(rows), int(columns)) == (*a.shape, 1, 1)[: max(2, len(a.shape))], a.name
        found[a.name] = np.array([float(x) for x in numbers], dtype_of(program)).reshape(a.shape)
    return found


def _st(jobs: Sequence[Job], folder: Path) -> Results:
    """By the block, and again by the method around it, which gives the same."""
    found: Results = []
    for job in jobs:
        program = job.program
        text = "".join(
            (folder / f"{program.name}{more}.st").read_text(encoding="ascii") for more in ("", "_methods")
        )
        declared = units(text)
        with np.errstate(all="ignore"):
            found.append([_by_block(declared, job, state) for state in job.states])
    return found


def _by_block(declared: dict[str, Any], job: Job, state: State) -> dict[str, Floats]:
    program = job.program
    name, dtype = program.name.lower(), dtype_of(program)
    given, kept, methods = st_arguments(program, state), {}, declared[f"{name}_methods"]()
    if program.parameters:
        p = np.array(program.defaults if job.p is None else job.p, dtype)
        prepare = declared[f"{name}_prepare"]()
        prepare(p=p)
        kept = {"k": prepare.k}
        assert methods.prepare(p) == (True, [])
    block = declared[name]()
    block(**given, **kept)
    legal = st.legal_names(program)
    made = [np.array(getattr(block, a.name.lower())) for a in legal.outputs]
    done, again = methods.evaluate(*given.values())
    assert done
    for one, other in zip(made, again, strict=True):
        np.testing.assert_array_equal(one, np.array(other))
    shaped = [x if a.size else np.zeros(a.shape, dtype) for a, x in zip(program.outputs, made, strict=True)]
    return {a.name: x for a, x in zip(program.outputs, shaped, strict=True)}


def st_arguments(program: Program, state: State) -> dict[str, Any]:
    """The inputs under the names that Structured Text has for them; an empty array has one entry there."""
    legal, dtype = st.legal_names(program), dtype_of(program)
    pairs = zip(program.inputs, legal.inputs, strict=True)
    return {
        new.name.lower(): np.array(state[old.name], dtype) if old.size else np.zeros(1, dtype)
        for old, new in pairs
    }
