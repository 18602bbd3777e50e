"""Fortran 2008: one module with a pure subroutine, real64 throughout, or real32."""

from __future__ import annotations

from collections.abc import Iterable

from forearm.codegen.languages import describing
from forearm.codegen.languages.describing import TextFunction
from forearm.codegen.languages.language import Language
from forearm.codegen.languages.naming import LONGEST_IN_FORTRAN, legal
from forearm.codegen.program import ARRAY, END, REPEAT, WHILE, Argument, Program, Ref, Statement
from forearm.codegen.text import (
    CODE_WIDTH,
    COMMENT_WIDTH,
    Dialect,
    TableNames,
    call,
    expression,
    folded,
    functions,
    number,
    passed,
    read,
    rounds,
    sectioned,
    tables,
)

ROW = 100  # numbers in a statement

SIGN = """
    pure real(dp) function sign_of(x)
        real(dp), intent(in) :: x

        sign_of = x
        if (x > 0.0_dp) sign_of = 1.0_dp
        if (x < 0.0_dp) sign_of = -1.0_dp
    end function sign_of"""
LOOK_UP = """
    ! The value of a table at x. It holds its breaks, in order; then, for what lies before the first and
    ! from each of them on, where the piece begins and the coefficients of a polynomial, the highest power
    ! first.
    pure real(dp) function look_up(table, breaks, order, x)
        integer, intent(in) :: breaks, order
        real(dp), intent(in) :: table(:), x
        integer :: i, low, high, piece

        low = 0
        high = breaks
        do while (low < high)
            i = (low + high) / 2
            if (table(i + 1) <= x) then
                low = i + 1
            else
                high = i
            end if
        end do
        piece = breaks + low * (order + 1) + 1
        look_up = table(piece + 1)
        do i = 2, order
            look_up = look_up * (x - table(piece)) + table(piece + i)
        end do
    end function look_up"""


def write(program: Program) -> tuple[str, str]:
    """Write the module."""
    program = legal(program, LONGEST_IN_FORTRAN)
    kind, real = ("sp", "real32") if program.single else ("dp", "real64")
    about = describing.full_description(
        program,
        f"all real({kind}), which is {real}",
        _array,
        describing.one_based,
        _example(program, kind, real),
    )
    routines, prepare, evaluation = describing.functions_of(program)
    name, every = program.name, [*prepare, evaluation, *routines]
    public = [name, *(f.name for f in prepare)]
    lines = [
        *describing.marked(about, "!"),
        f"module {name}_module",
        f"    use, intrinsic :: iso_fortran_env, only: {kind} => {real}",
    ]
    if "rint" in functions(program.every_statement):
        lines += ["    use, intrinsic :: ieee_arithmetic, only: ieee_rint"]
    lines += ["    implicit none", "    private", f"    public :: {', '.join(public)}", ""]
    named = tables(program.every_statement)
    for table, called in named.items():
        lines += _array_of(called, [_number(value, kind) for value in table.numbers], kind)
    lines += ["contains"]
    for function in every:
        lines += _subroutine(function, named, kind)
    if "sign" in functions(program.every_statement):
        lines += SIGN.replace("dp", kind).splitlines()
    lines += LOOK_UP.replace("dp", kind).splitlines() if named else []
    return "\n".join([*lines, "", f"end module {name}_module"]) + "\n", ""


def _subroutine(function: TextFunction, named: TableNames, kind: str) -> list[str]:
    lines = ["", *_folded(f"pure subroutine {function.name}({describing.names(function.arguments)})", 1)]
    for way, arguments in (("in", function.taken), ("out", function.made)):
        lines += [f"        real({kind}), intent({way}) :: {_array(a)}" for a in arguments]
    lines += _declared(function.values, kind)
    lines += [f"        real({kind}) :: {name}({size})" for name, (size,) in function.arrays.items()]
    lines += [f"        integer :: {name}" for name in function.counters]
    lines += [*_idle(function, kind), "", *_body(function, named, kind)]
    return [*lines, f"    end subroutine {function.name}"]


def _idle(function: TextFunction, kind: str) -> list[str]:
    """Mention unused arguments once, and set those without entries, as compilers require."""
    used, filled = read(function.statements), {s.target.name for s in function.statements}
    unused = [a.name for a in function.taken if a.name not in used]
    pairs = ", ".join(f"unused_{i} => {name}" for i, name in enumerate(unused, 1))
    lines = ["", *_folded(f"associate ({pairs})", 2), "        end associate"] if unused else []
    return lines + [f"        {a.name} = 0.0_{kind}" for a in function.made if a.name not in filled]


def _declared(names: Iterable[str], kind: str) -> list[str]:
    """Declarations in several statements, since continuation lines are limited."""
    lines: list[str] = []
    for name in names:
        if lines and len(lines[-1]) + 2 + len(name) <= CODE_WIDTH:
            lines[-1] += f", {name}"
        else:
            lines.append(f"        real({kind}) :: {name}")
    return lines


def _array_of(name: str, numbers: list[str], kind: str) -> list[str]:
    """A constant array; long ones in several statements, since continuation lines are limited."""
    parts = [numbers[k : k + ROW] for k in range(0, len(numbers), ROW)]
    names = [f"{name}_{k}" for k in range(1, len(parts) + 1)] if len(parts) > 1 else [name]
    lines: list[str] = []
    for part, own in zip(parts, names, strict=True):
        lines += _folded(f"real({kind}), parameter :: {own}({len(part)}) = [{', '.join(part)}]", 1)
    if len(parts) > 1:
        lines += _folded(f"real({kind}), parameter :: {name}({len(numbers)}) = [{', '.join(names)}]", 1)
    return [*lines, ""]


def _body(function: TextFunction, named: TableNames, kind: str) -> list[str]:
    known = function.shapes

    def entry(ref: Ref) -> str:
        places = ", ".join(str(i + 1) for i in describing.subscripts(ref, known))
        return f"{ref.name}({places})" if places else ref.name

    def written(statement: Statement) -> list[str]:
        name = entry(statement.target)
        if statement.role == REPEAT:
            return [f"        do {name} = 1, {rounds(statement)}"]
        if statement.role == END:
            return ["        end do"]
        if statement.role == ARRAY:
            return _filled(name, passed(statement, dialect))
        if statement.routine is not None:
            arguments = ", ".join([*passed(statement, dialect), name])
            return _folded(f"call {statement.routine.name}({arguments})", 2)
        value = expression(statement.value, dialect)
        return _folded(f"if (.not. ({value})) exit" if statement.role == WHILE else f"{name} = {value}", 2)

    dialect = Dialect(
        lambda value: _number(value, kind),
        entry,
        _call,
        lambda a, b, x, y: f"merge({x}, {y}, {a} < {b})",
        named,
    )
    return sectioned(function.statements, lambda section: f"        ! {section}", written)


def _filled(name: str, numbers: list[str]) -> list[str]:
    """Statements that fill an array, a few entries each, since continuation lines are limited."""
    lines: list[str] = []
    for start in range(0, len(numbers), ROW):
        part = numbers[start : start + ROW]
        lines += _folded(f"{name}({start + 1}:{start + len(part)}) = [{', '.join(part)}]", 2)
    return lines


def _number(value: float, kind: str) -> str:
    return f"{number(value)}_{kind}"


def _call(name: str, argument: str) -> str:
    return call("ieee_rint" if name == "rint" else name, argument)


def _array(argument: Argument) -> str:
    sizes = ", ".join(map(str, argument.shape))
    return f"{argument.name}({sizes})" if sizes else argument.name


def _parameter(ref: Ref) -> str:
    return f"{ref.name}({(ref.index or 0) + 1})"


def _folded(line: str, depth: int, width: int = CODE_WIDTH) -> list[str]:
    return folded(line, "    " * depth, " &", width)


def _example(program: Program, kind: str, real: str) -> list[str]:
    p, k = describing.parameters(program), describing.kept(program)
    lines = [f"use {program.name}_module", f"use, intrinsic :: iso_fortran_env, only: {kind} => {real}"]
    lines += [f"real({kind}) :: {_array(a)}" for a in (*program.inputs, *program.outputs)]
    lines += [f"real({kind}) :: {_array(p)}, {_array(k)}"] if program.parameters else []
    lines += [f"{a.name} = 0" for a in program.inputs]
    if program.parameters:
        values = ", ".join(_number(value, kind) for value in program.defaults)
        lines += [f"p = [{values}]", f"call {program.name}_prepare(p, k)"]
    names = describing.names((*describing.given(program), *program.outputs))
    return [
        piece
        for line in [*lines, f"call {program.name}({names})"]
        for piece in _folded(line, 0, COMMENT_WIDTH - 2)
    ]


LANGUAGE = Language("fortran", "f90", "", write)
