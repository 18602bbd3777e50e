"""C++: one header of templates on the scalar, for double, float and the numbers of automatic
differentiation alike.
"""

from __future__ import annotations

from forearm.codegen.languages import c_family
from forearm.codegen.languages.language import Language
from forearm.codegen.languages.naming import legal
from forearm.codegen.program import Program, Statement
from forearm.codegen.text import Dialect, call, functions, number


def write(program: Program) -> tuple[str, str]:
    """The header, as the text."""
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
    dialect = Dialect(lambda value: f"{scalar}({number(value)})", c_family.entry, call)
    lines += c_family.definitions(
        program,
        dialect,
        scalar,
        f"template <typename {scalar}>",
        lambda statements: _opening(statements, scalar),
    )
    return "\n".join([*lines, "", "#endif"]) + "\n", ""


def _scalar(program: Program) -> str:
    """T, which is also what a pose likes to be called."""
    names = {program.name, *(a.name for a in (*program.inputs, *program.outputs))}
    names |= {s.target.name for s in (*program.prepare, *program.statements)}
    return "Scalar" if "T" in names else "T"


def _opening(statements: tuple[Statement, ...], scalar: str) -> list[str]:
    """The functions called: those of std for plain numbers, those beside the type for others."""
    called = functions(statements)
    lines = [f"    using std::{name};" for name in sorted(called - {"sign"})]
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
