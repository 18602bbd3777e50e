"""C++: one header of templates on the scalar, for double, float and automatic differentiation types alike."""

from __future__ import annotations

from forearm.codegen.languages import c_family
from forearm.codegen.languages.language import Language
from forearm.codegen.languages.naming import legal
from forearm.codegen.program import Program, Statements
from forearm.codegen.text import Dialect, TableNames, call, functions, number, tables


def write(program: Program) -> tuple[str, str]:
    """Write the header, as the text."""
    program = legal(program)
    guard, scalar = f"{program.name.upper()}_HPP", _scalar(program)
    arithmetic = (
        f"all of one scalar {scalar}, such as double, float, or a number of automatic differentiation"
    )
    about = [
        *c_family.description(program, arithmetic),
        "",
        "Containers of Eigen and std are passed by their data().",
    ]
    lines = [*c_family.comment(about), f"#ifndef {guard}", f"#define {guard}", "", "#include <cmath>", ""]
    named = tables(program.every_statement)
    dialect = Dialect(
        lambda value: f"{scalar}({number(value)})",
        c_family.entry,
        lambda name, argument: call(f"{program.name}_{name}" if name == "look_up" else name, argument),
        lambda a, b, x, y: c_family.choice(a, b, f"{scalar}({x})", f"{scalar}({y})"),
        named,
    )
    lines += [*_look_up(program.name, scalar), ""] if named else []
    lines += c_family.definitions(
        program,
        dialect,
        scalar,
        f"template <typename {scalar}>",
        lambda statements: _opening(statements, scalar, named),
        inside="",
    )
    return "\n".join([*lines, "", "#endif"]) + "\n", ""


def _scalar(program: Program) -> str:
    """T, unless that is the name of a pose."""
    names = {program.name, *(a.name for a in (*program.inputs, *program.outputs))}
    names |= {s.target.name for s in program.every_statement}
    return "Scalar" if "T" in names else "T"


def _look_up(name: str, scalar: str) -> list[str]:
    """The function that finds the piece of a table, and evaluates it."""
    T = scalar
    return [
        *c_family.comment(c_family.LAYOUT),
        f"template <typename {T}>",
        f"{T} {name}_look_up(const double *table, int breaks, int order, const {T}& x)",
        "{",
        "    int low = 0, high = breaks;",
        "    while (low < high) {",
        "        const int middle = (low + high) / 2;",
        f"        if ({T}(table[middle]) <= x) low = middle + 1; else high = middle;",
        "    }",
        "    const double *piece = table + breaks + low * (order + 1);",
        f"    {T} value = {T}(piece[1]);",
        f"    for (int i = 2; i <= order; i++) value = value * (x - {T}(piece[0])) + {T}(piece[i]);",
        "    return value;",
        "}",
    ]


def _opening(statements: Statements, scalar: str, named: TableNames) -> list[str]:
    """The functions called: std's for plain numbers, by argument-dependent lookup for other types."""
    called = functions(statements)
    lines = [f"    using std::{name};" for name in sorted(called - {"sign", "choose", "lookup"})]
    for table in tables(statements):
        lines += c_family.constant_array(named[table], table, c_family.INDENT)
    if "sign" in called:
        T = scalar
        lines += [
            f"    const auto sign_of = [](const {T}& x) -> {T} {{",
            f"        if (x > {T}(0.0)) return {T}(1.0);",
            f"        if (x < {T}(0.0)) return {T}(-1.0);",
            f"        return {T}(0.0) * x;",
            "    };",
        ]
    return lines


LANGUAGE = Language("cpp", "hpp", "", write)
