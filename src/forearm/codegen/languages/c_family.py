"""What C and C++ have in common: comments, signatures, statements, the example of a call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from forearm.codegen.languages import describing
from forearm.codegen.program import (
    ARRAY,
    END,
    NEXT,
    REPEAT,
    VALUE,
    WHILE,
    Argument,
    Program,
    Ref,
    Statement,
    Statements,
)
from forearm.codegen.text import Dialect, expression, folded, number, paragraphs, passed, rounds, sectioned
from forearm.symbols.table import LookupTable

# What would end or begin a comment, or form a trigraph.
MARKS = re.compile(r"(?<=\*)(?=/)|(?<=/)(?=\*)|(?<=\?)(?=\?)")
INDENT = "    "
LAYOUT = (
    "The value of a table at x. It holds its breaks, in order; then, for what lies before the first and "
    "from each of them on, where the piece begins and the coefficients of a polynomial, the highest power "
    "first.",
)


def entry(ref: Ref) -> str:
    """q[2], or the name alone."""
    return ref.name if ref.index is None else f"{ref.name}[{ref.index}]"


def choice(a: str, b: str, x: str, y: str) -> str:
    """x where a < b, else y."""
    return f"({a} < {b} ? {x} : {y})"


def constant_array(name: str, table: LookupTable, indent: str = "", scalar: str = "double") -> list[str]:
    """The definition of a table."""
    numbers = ", ".join(literal(value, scalar) for value in table.numbers)
    return folded(f"static const {scalar} {name}[] = {{{numbers}}};", indent)


def literal(value: float, scalar: str) -> str:
    """A number of the scalar type: 0.5, or 0.5f."""
    return f"{number(value)}f" if scalar == "float" else number(value)


def comment(lines: Iterable[str]) -> list[str]:
    """A comment on its own lines, which no text can close."""
    return ["/*", *(f" * {harmless(line)}".rstrip() for line in paragraphs(lines)), " */"]


def header(guard: str, about: Iterable[str], declared: Iterable[str], before: Iterable[str] = ()) -> str:
    """A header for C and C++: a comment, what comes `before`, and declarations."""
    lines = [*comment(about), f"#ifndef {guard}", f"#define {guard}", "", *before]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", "", *declared, ""]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", "", "#endif"]) + "\n"


def harmless(text: str) -> str:
    """Text that neither closes nor opens a comment."""
    return MARKS.sub(" ", text)


def description(program: Program, arithmetic: str) -> list[str]:
    """The lines at the head of the file that a caller includes."""

    def array(a: Argument) -> str:
        order = f"  ({' x '.join(map(str, a.shape))}, row by row)" if len(a.shape) > 1 else ""
        return f"{_array(a)}{order}"

    return describing.full_description(program, arithmetic, array, entry, _example(program))


def _example(program: Program) -> list[str]:
    scalar = program.scalar
    lines = [f"{scalar} {_array(a)} = {{0}};" for a in program.inputs] + [
        f"{scalar} {_array(a)};" for a in program.outputs
    ]
    if program.parameters:
        values = ", ".join(literal(value, scalar) for value in program.defaults)
        lines.append(
            f"{scalar} {_array(describing.parameters(program))} = {{{values}}}, "
            f"{_array(describing.kept(program))};"
        )
        lines.append(f"{program.name}_prepare(p, k);")
    names = describing.names((*describing.given(program), *program.outputs))
    return [*lines, f"{program.name}({names});"]


def _array(argument: Argument) -> str:
    """q[6]; an empty array still has the one entry that C requires."""
    return f"{argument.name}[{max(argument.size, 1)}]"


def declarations(program: Program, scalar: str) -> list[str]:
    """The functions of the program, without comments."""
    return [f"{_signature(f, scalar)};" for f in _functions(program) if not f.is_routine]


def definitions(
    program: Program,
    dialect: Dialect,
    scalar: str,
    before: str = "",
    opening: Callable[[Statements], list[str]] = lambda _: [],
    inside: str = "static ",
) -> list[str]:
    """The functions of the program. `before` precedes each, the lines of `opening` are at the start of each;
    `inside` precedes routines.
    """
    lines: list[str] = []
    for function in _functions(program):
        statements = function.statements
        first = [*(f"{INDENT}(void){name};" for name in function.unused), *opening(statements)]
        lines += [
            "",
            *([before] if before else []),
            f"{inside if function.is_routine else ''}{_signature(function, scalar)}",
            "{",
            *first,
            *([""] if first and statements else []),
            *_body(program, statements, dialect, scalar),
            "}",
        ]
    return lines[1:]


def _functions(program: Program) -> list[describing.TextFunction]:
    """The functions in order; routines are called NAME_routine."""
    routines, prepare, evaluation = describing.functions_of(program, lambda r: f"{program.name}_{r}")
    return [*routines, *prepare, evaluation]


def _signature(function: describing.TextFunction, scalar: str) -> str:
    arguments = [f"const {scalar} {_array(a)}" for a in function.taken]
    arguments += [f"{scalar} {_array(a)}" for a in function.made]
    return "\n".join(folded(f"void {function.name}({', '.join(arguments) or 'void'})"))


def _body(program: Program, statements: Statements, dialect: Dialect, scalar: str) -> list[str]:
    def written(statement: Statement) -> list[str]:
        name, role = entry(statement.target), statement.role
        if role == ARRAY:
            values = ", ".join(passed(statement, dialect))
            return folded(f"const {scalar} {name}[{max(statement.size, 1)}] = {{{values}}};", INDENT)
        if statement.routine is not None:
            arguments = ", ".join([*passed(statement, dialect), name])
            call = f"{program.name}_{statement.routine.name}({arguments});"
            return [f"{INDENT}{scalar} {name}[{statement.size}];", *folded(call, INDENT)]
        if role == REPEAT:
            most = rounds(statement)
            return [f"{INDENT}for (int {name} = 0; {name} < {most}; {name}++) {{"]
        if role == END:
            return [f"{INDENT}}}"]
        value = expression(statement.value, dialect)
        if role == WHILE:
            return folded(f"if (!({value})) break;", INDENT)
        kind = "" if statement.target.index is not None or role == NEXT else f"{scalar} "
        return folded(f"{'const ' if kind and role == VALUE else ''}{kind}{name} = {value};", INDENT)

    return sectioned(statements, lambda section: f"{INDENT}/* {harmless(section)} */", written)
