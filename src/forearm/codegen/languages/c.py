"""C99: a header and a source, no allocation, nothing but math.h."""

from __future__ import annotations

from forearm.codegen.languages import c_family
from forearm.codegen.languages.describing import title
from forearm.codegen.languages.language import Language
from forearm.codegen.languages.naming import legal
from forearm.codegen.program import Program
from forearm.codegen.text import Dialect, call, functions, number, tables

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
""".splitlines()


def write(program: Program) -> tuple[str, str]:
    """The source and the header."""
    program = legal(program)
    return source(program), header(program)


def header(program: Program) -> str:
    """Declarations with all that a caller must know."""
    guard = f"{program.name.upper()}_H"
    about = c_family.description(program, "all double, float64 arithmetic throughout")
    lines = [*c_family.comment(about), f"#ifndef {guard}", f"#define {guard}", ""]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    lines += [
        *c_family.declarations(program, "double"),
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def source(program: Program) -> str:
    """The definitions."""
    lines = c_family.comment([title(program), f"{program.name}.h has arguments, units and an example."])
    lines += [f'#include "{program.name}.h"', "", "#include <math.h>", ""]
    statements = (*program.prepare, *program.statements)
    if "sign" in functions(statements):
        lines.append(SIGN)
    named = tables(statements)
    lines += [*c_family.comment(c_family.LAYOUT), *LOOK_UP, ""] if named else []
    for table, name in named.items():
        lines += [*c_family.constant_array(name, table), ""]
    # C's own abs is for whole numbers
    dialect = Dialect(
        number,
        c_family.entry,
        lambda name, argument: call("fabs" if name == "abs" else name, argument),
        c_family.choice,
        named,
    )
    return "\n".join([*lines, *c_family.definitions(program, dialect, "double")]) + "\n"


LANGUAGE = Language("c", "c", "h", write)
