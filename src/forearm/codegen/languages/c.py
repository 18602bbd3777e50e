"""C99: a header and a source, no allocation, no dependency but math.h."""

from __future__ import annotations

import re
from collections.abc import Sequence

from forearm.codegen.languages import c_family
from forearm.codegen.languages.describing import title
from forearm.codegen.languages.language import Language
from forearm.codegen.languages.naming import legal
from forearm.codegen.program import Program
from forearm.codegen.text import Dialect, call, functions, tables

SIGN = """\
static double sign_of(double x)
{
    return x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : x);
}
"""
LOOK_UP = """\
static double look_up(const double *table, int breaks, int order, double x)
{
    const double *piece;
    double value;
    int i, low = 0, high = breaks;

    while (low < high) {
        i = (low + high) / 2;
        if (table[i] <= x)
            low = i + 1;
        else
            high = i;
    }
    piece = table + breaks + low * (order + 1);
    value = piece[1];
    for (i = 2; i <= order; i++)
        value = value * (x - piece[0]) + piece[i];
    return value;
}
"""
OWN = ("sign", "look_up")  # functions that the file defines


def write(program: Program) -> tuple[str, str]:
    """The source and the header."""
    program = legal(program)
    return source(program), header(program)


def header(program: Program) -> str:
    """Declarations with everything that a caller must know."""
    about = c_family.description(program, arithmetic(program))
    return c_family.header(f"{program.name.upper()}_H", about, c_family.declarations(program, program.scalar))


def arithmetic(program: Program) -> str:
    """A note for callers about the scalar type."""
    bits = 32 if program.single else 64
    return f"all {program.scalar}, float{bits} arithmetic throughout"


def source(program: Program) -> str:
    """The definitions."""
    lines = c_family.comment([title(program), f"{program.name}.h has arguments, units and an example."])
    lines += [f'#include "{program.name}.h"', "", "#include <math.h>", ""]
    return "\n".join([*lines, *bodies([program])]) + "\n"


def bodies(programs: Sequence[Program], before: str = "") -> list[str]:
    """The functions of programs of one scalar, and the tables and functions that they share;
    `before` precedes each.
    """
    scalar = programs[0].scalar
    statements = tuple(s for program in programs for s in program.every_statement)
    lines = [of_scalar(SIGN, scalar)] if "sign" in functions(statements) else []
    named = tables(statements)
    lines += (
        [*c_family.comment(c_family.LAYOUT), *of_scalar(LOOK_UP, scalar).splitlines(), ""] if named else []
    )
    for table, name in named.items():
        lines += [*c_family.constant_array(name, table, scalar=scalar), ""]
    dialect = Dialect(
        lambda value: c_family.literal(value, scalar),
        c_family.entry,
        lambda name, argument: call(called(name, scalar), argument),
        c_family.choice,
        named,
    )
    for k, program in enumerate(programs):
        lines += [*([""] if k else []), *c_family.definitions(program, dialect, scalar, before)]
    return lines


def called(name: str, scalar: str) -> str:
    """The name of a function in math.h for this scalar; C's own abs is for integers."""
    if name in OWN:
        return name
    return ("fabs" if name == "abs" else name) + ("f" if scalar == "float" else "")


def of_scalar(text: str, scalar: str) -> str:
    """The text of a function on double, converted to the scalar."""
    if scalar == "double":
        return text
    return re.sub(r"\b\d+\.\d+\b", r"\g<0>f", text.replace("double", scalar))


LANGUAGE = Language("c", "c", "h", write)
