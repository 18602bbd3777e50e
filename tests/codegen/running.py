"""Generated programs, compiled or imported and called with NumPy arrays."""

from __future__ import annotations

import ctypes
import importlib.util
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from codegen import node
from numpy.typing import NDArray

from forearm.codegen.functions import Traced
from forearm.codegen.languages import c, cpp, fortran, javascript, python
from forearm.codegen.languages.language import Language
from forearm.codegen.program import Argument, Program
from forearm.codegen.program_writer import program_of
from forearm.symbols import Counts, Expr, Graph, evaluate
from tools import starts

Floats = NDArray[np.float64]
State = Mapping[str, Floats]
LANGUAGES: dict[str, Language] = {m.LANGUAGE.name: m.LANGUAGE for m in (c, cpp, fortran, python, javascript)}
STRICT = "-Wall -Wextra -Wpedantic -Wshadow -Werror -ffp-contract=off -shared -fPIC".split()  # noqa: SIM905
COMPILERS = {
    "c": ["gcc", "-std=c99", "-Wconversion", "-Wstrict-prototypes", *STRICT],
    "cpp": ["g++", "-std=c++17", "-Wconversion", *STRICT],
    "fortran": [
        "gfortran",
        "-std=f2008",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-ffp-contract=off",
        "-shared",
        "-fPIC",
    ],
}
TOOLS = {"c": "gcc", "cpp": "g++", "fortran": "gfortran", "javascript": "node"}
TOOLS |= {"rust": "rustc", "cuda": "g++", "matlab": "octave"}
# The same operations in the same order; what is left is the last digit of sin and cos,
# which libraries round differently.
TOLERANCE = 1e-14
EVERY = pytest.mark.parametrize("language", LANGUAGES)
ABOUT = ("An arm of no make.", "Frames: base and hand.")


@dataclass
class Case:
    """A graph with its inputs and parameters by name, and what comes out of it."""

    name: str
    inputs: dict[str, tuple[int, ...]]
    about: tuple[str, ...] = ABOUT
    graph: Graph = field(default_factory=Graph)
    results: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, float] = field(default_factory=dict)
    meaning: str = "position, rad"
    given: dict[str, Expr] = field(default_factory=dict)

    def input(self, name: str) -> list[Expr]:
        """The entries of an input, row by row."""
        size = int(np.prod(self.inputs[name]))
        for leaf in (f"{name}[{i}]" for i in range(size)):
            self.given.setdefault(leaf, self.graph.input(leaf))
        return [self.given[f"{name}[{i}]"] for i in range(size)]

    def parameter(self, name: str, value: float) -> Expr:
        self.parameters[name] = value
        self.given[name] = self.graph.parameter(name)
        return self.given[name]

    def program(self) -> Program:
        inputs = tuple(Argument(name, shape, self.meaning) for name, shape in self.inputs.items())
        outputs = tuple(
            Argument(n, np.shape(np.asarray(r, dtype=object)), "torque, N m") for n, r in self.results.items()
        )
        return program_of(
            Traced(self.graph, self.results, inputs, outputs), self.name, self.about, self.parameters
        )

    def expected(self, state: State, p: Floats) -> dict[str, Floats]:
        given = {
            f"{name}[{i}]": value for name, array in state.items() for i, value in enumerate(np.ravel(array))
        }
        made = evaluate(self.graph, self.results, given | dict(zip(self.parameters, p, strict=True)))
        return {name: np.array(value, dtype=float) for name, value in made.items()}


def random_state(program: Program, seed: int = 0) -> dict[str, Floats]:
    """Generic values for every input."""
    rng = np.random.default_rng(seed)
    return {a.name: np.asarray(rng.uniform(-1.5, 1.5, a.shape)) for a in program.inputs}


def assert_close(made: dict[str, Floats], expected: dict[str, Floats], tolerance: float = TOLERANCE) -> None:
    assert made.keys() == expected.keys()
    for name, array in expected.items():
        assert made[name].shape == array.shape, name
        error = np.abs(made[name] - array) / np.maximum(np.abs(array), 1.0)
        assert np.all(error <= tolerance), f"{name}: {made[name]} and not {array}"


def write(program: Program, language: str, folder: Path) -> str:
    """The program as files in a folder, named as users would have them; the text of all of them."""
    wanted = LANGUAGES[language]
    text, header = wanted.write(program)
    (folder / f"{program.name}.{wanted.ending}").write_text(text, encoding="ascii")
    if header:
        (folder / f"{program.name}.{wanted.header_ending}").write_text(header, encoding="ascii")
    return text + header


def needs(language: str) -> None:
    """Skip where there is no compiler for the language, or nothing that runs it."""
    tool = TOOLS.get(language)
    if tool is not None and not starts(tool):
        pytest.skip(f"{tool} is not installed")


def compiled(language: str, source: str, folder: Path, *more: str) -> Path:
    """A shared library of a source in the folder; any warning is an error."""
    library = folder / f"{Path(source).stem}_{language}.so"
    command = [*COMPILERS[language], *more, source, "-o", str(library), "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return library


def run(
    program: Program, language: str, folder: Path, state: State, p: Floats | None = None
) -> dict[str, Floats]:
    """The outputs of the generated program; what it leaves unset is NaN."""
    return runner(program, language, folder)(state, p)


def runner(program: Program, language: str, folder: Path) -> Callable[..., dict[str, Floats]]:
    """The same for many states: the program is written, and compiled, once."""
    needs(language)
    if language == "python":
        write(program, language, folder)
        return partial(run_python, imported(program.name, folder), program)
    call = written(program, language, folder)
    order: Any = "F" if language == "fortran" else "C"

    def called(state: State, p: Floats | None = None) -> dict[str, Floats]:
        arrays = [np.array(state[a.name], dtype=float, order=order) for a in program.inputs]
        if program.parameters:
            k = np.full(max(program.kept, 1), np.nan)
            call(f"{program.name}_prepare", [np.array(program.defaults if p is None else p), k])
            arrays.append(k)
        made = [np.full(a.shape, np.nan, order=order) for a in program.outputs]
        call(program.name, [*arrays, *made])
        return {a.name: array for a, array in zip(program.outputs, made, strict=True)}

    return called


Call = Callable[[str, list[Floats]], None]


def written(program: Program, language: str, folder: Path) -> Call:
    """The functions of a program that needs a compiler."""
    needs(language)
    text = write(program, language, folder)
    ways = {"c": _c, "cpp": _cpp, "fortran": _fortran, "javascript": _javascript}
    return ways[language](program, folder, text)


def caller(library: Path, symbol: Callable[[str], str]) -> Call:
    """Functions of a library, each taking nothing but arrays of doubles."""
    loaded = ctypes.CDLL(str(library))

    def call(name: str, arrays: list[Floats]) -> None:
        function = getattr(loaded, symbol(name))
        function.restype = None
        function(*(a.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for a in arrays))

    return call


def _c(program: Program, folder: Path, _text: str) -> Call:
    return caller(compiled("c", f"{program.name}.c", folder), str)


def _cpp(program: Program, folder: Path, text: str) -> Call:
    source = shim(program.name, text, "double", folder)
    return caller(compiled("cpp", source, folder), lambda name: f"{name}_double")


def _fortran(program: Program, folder: Path, _text: str) -> Call:
    return caller(compiled("fortran", f"{program.name}.f90", folder), fortran_symbol)


def fortran_symbol(name: str) -> str:
    """Of a program, or of what prepares it."""
    return f"__{name.removesuffix('_prepare')}_module_MOD_{name}".lower().replace("_mod_", "_MOD_")


def _javascript(program: Program, folder: Path, _text: str) -> Call:
    def call(name: str, arrays: list[Floats]) -> None:
        made = 1 if name.endswith("_prepare") else len(program.outputs)
        node.call(folder / f"{program.name}.mjs", name, arrays, made)

    return call


def shim(name: str, text: str, scalar: str, folder: Path) -> str:
    """A source that instantiates the templates of a header for a scalar, as name_scalar with C linkage."""
    lines = [f'#include "{name}.hpp"']
    for function, arguments in re.findall(r"^void (\w+)\(([^)]*)\)", text, flags=re.M):
        sizes = re.findall(r"(const )?\w+ \w+\[\d+\]", arguments)
        declared = ", ".join(f"{const}{scalar}* a{i}" for i, const in enumerate(sizes))
        names = ", ".join(f"a{i}" for i in range(len(sizes)))
        call = f"{function}({names})" if sizes else f"{function}<{scalar}>()"
        lines.append(f'extern "C" void {function}_{scalar}({declared}) {{ {call}; }}')
    source = f"{name}_{scalar}.cpp"
    (folder / source).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return source


def imported(name: str, folder: Path) -> ModuleType:
    """A module out of a folder, under its own name but not among the modules of the process."""
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_python(module: ModuleType, program: Program, state: State, p: Any = None) -> dict[str, Floats]:
    given: list[Any] = [state[a.name] for a in program.inputs]
    if program.parameters:
        given.append(getattr(module, f"{program.name}_prepare")(program.defaults if p is None else p))
    made = getattr(module, program.name)(*given)
    return dict(
        zip((a.name for a in program.outputs), [made] if len(program.outputs) == 1 else made, strict=True)
    )


def by_hand(
    name: str, statements: Any, inputs: tuple[Argument, ...], outputs: tuple[Argument, ...], **more: Any
) -> Program:
    """A program of statements as they are, for what no graph would make."""
    return Program(name, more.pop("about", ABOUT), inputs, outputs, tuple(statements), Counts(), **more)
