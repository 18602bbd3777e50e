"""CUDA C: a header with host and device functions, and a kernel that runs one thread per state."""

from __future__ import annotations

from forearm.codegen.languages import c, c_family, describing
from forearm.codegen.languages.c_family import INDENT
from forearm.codegen.languages.describing import title
from forearm.codegen.languages.language import Language
from forearm.codegen.languages.naming import legal
from forearm.codegen.program import Argument, Program, Statements
from forearm.codegen.text import Dialect, folded, functions, tables

BEFORE = "static inline __host__ __device__"
THREADS = 128  # per block in the example
# Case-insensitive: names that CUDA adds to C++, and those that the kernel itself uses.
WORDS = frozenset("blockdim blockidx dim3 griddim row rows size_t threadidx warpsize".split())  # noqa: SIM905
OWN = ("sign", "look_up")  # functions that the file defines


def write(program: Program) -> tuple[str, str]:
    """Write the kernel, and the header with the functions that it calls."""
    program = _legal(program)
    return _kernel(program), _header(program)


def _legal(program: Program) -> Program:
    name = program.name.lower()
    return legal(program, also=WORDS | {f"{name}_{own}" for own in ("sign", "batch")})


def _header(program: Program) -> str:
    guard, scalar = f"{program.name.upper()}_CUH", program.scalar
    about = [*c_family.description(program, c.arithmetic(program)), "", *_batch_lines(program)]
    lines = [*c_family.comment(about), f"#ifndef {guard}", f"#define {guard}", ""]
    lines += ["#ifndef __CUDACC_RTC__", "#include <math.h>", "#include <stddef.h>", "#endif", ""]
    statements = program.every_statement
    named = tables(statements)
    if "sign" in functions(statements):
        lines += [BEFORE, *_of_program(c.SIGN, program), ""]
    if named:
        lines += [*c_family.comment(c_family.LAYOUT), BEFORE, *_of_program(c.LOOK_UP, program), ""]

    def opening(some: Statements) -> list[str]:
        return [
            line
            for table in tables(some)
            for line in c_family.constant_array(named[table], table, INDENT, scalar)
        ]

    dialect = Dialect(
        lambda value: c_family.literal(value, scalar),
        c_family.entry,
        lambda name, argument: f"{_called(name, program)}({argument})",
        c_family.choice,
        named,
    )
    lines += c_family.definitions(program, dialect, scalar, BEFORE, opening, inside="")
    return "\n".join([*lines, "", "#endif"]) + "\n"


def _called(name: str, program: Program) -> str:
    return f"{program.name}_{name}" if name in OWN else c.called(name, program.scalar)


def _of_program(text: str, program: Program) -> list[str]:
    """A C function for the program's scalar type, under a name that does not clash with other headers."""
    renamed = text.replace("sign_of(", f"{program.name}_sign(").replace(
        "look_up(", f"{program.name}_look_up("
    )
    return [line.removeprefix("static ") for line in c.of_scalar(renamed, program.scalar).splitlines()]


def _kernel(program: Program) -> str:
    """One thread per state; rows are contiguous, and all threads share k."""
    given, scalar = describing.given(program), program.scalar
    about = [title(program), f"{program.name}.cuh has arguments, units and an example."]
    taken = [f"const {scalar} *__restrict__ {a.name}" for a in given]
    made = [f"{scalar} *__restrict__ {a.name}" for a in program.outputs]
    names = ", ".join(_of_row(a, program) for a in (*given, *program.outputs))
    lines = [*c_family.comment(about), f'#include "{program.name}.cuh"', ""]
    lines += folded(
        f'extern "C" __global__ void {program.name}_batch({", ".join([*taken, *made, "size_t rows"])})'
    )
    lines += ["{", f"{INDENT}const size_t row = blockIdx.x * (size_t)blockDim.x + threadIdx.x;", ""]
    lines += [f"{INDENT}if (row < rows)", *folded(f"{program.name}({names});", 2 * INDENT), "}"]
    return "\n".join(lines) + "\n"


def _of_row(a: Argument, program: Program) -> str:
    is_kept = bool(program.parameters) and a == describing.kept(program)
    return a.name if is_kept or a.size == 0 else f"{a.name} + {a.size} * row"


def _batch_lines(program: Program) -> list[str]:
    names = describing.names((*describing.given(program), *program.outputs))
    blocks = f"(rows + {THREADS - 1}) / {THREADS}, {THREADS}"
    kept = "; k is one for all of them" if program.parameters else ""
    return [
        f"A kernel is in {program.name}.cu: one thread per state, the arrays of states one behind the "
        f"other{kept}. With arrays on the device:",
        f"  {program.name}_batch<<<{blocks}>>>({names}, rows);",
    ]


LANGUAGE = Language("cuda", "cu", "cuh", write)
