"""MATLAB and Octave: a function with fixed sizes, as MATLAB Coder requires, and a Level-2 S-function."""

from __future__ import annotations

from collections.abc import Iterable

from forearm.codegen.languages import describing, matlab_block
from forearm.codegen.languages.describing import TextFunction
from forearm.codegen.languages.language import Language
from forearm.codegen.languages.naming import LONGEST, legal
from forearm.codegen.program import ARRAY, END, REPEAT, WHILE, Argument, Program, Ref, Statement
from forearm.codegen.text import (
    CODE_WIDTH,
    COMMENT_WIDTH,
    Dialect,
    TableNames,
    expression,
    folded,
    functions,
    number,
    passed,
    rounds,
    sectioned,
    tables,
)

LONGEST_NAME = LONGEST - len("_prepare")  # characters: MATLAB allows 63
# Case-insensitive: words of MATLAB and Octave besides those of other languages, and names that the code uses.
WORDS = frozenset(
    """
    all ans assert block case choose continue do double e elseif end end_try_catch end_unwind_protect
    endfor endfunction endif endparfor endswitch endwhile eps eval false fix function global i if inf
    isa j na nargin nargout numel ones otherwise outputs parfor persistent pi postpropagationsetup
    reshape return rint root round setup single size spmd start switch terminate true until unwind_protect
    unwind_protect_cleanup varargin varargout while zeros
    """.split()  # noqa: SIM905
)
OWN = {"sqrt": "root"}  # functions that the file defines itself, as MATLAB's behave differently
CHOOSE = """
function value = choose(condition, x, y)
if condition
    value = x;
else
    value = y;
end
end
"""
ROOT = """
function value = root(x)
% NaN of a negative number, where sqrt would be complex.
if x < 0
    value = x * NaN;
else
    value = sqrt(x);
end
end
"""
RINT = """
function value = rint(x)
% To the nearest whole number, halves to the even one.
if abs(x - fix(x)) == 0.5
    value = 2 * round(x / 2);
else
    value = round(x);
end
end
"""
LOOK_UP = """
function value = look_up(table, breaks, order, x)
% The breaks, in order; then, for what lies before the first and from each of them on, where the piece
% begins and the coefficients of a polynomial, the highest power first.
low = 0;
high = breaks;
while low < high
    middle = floor((low + high) / 2);
    if table(middle + 1) <= x
        low = middle + 1;
    else
        high = middle;
    end
end
piece = breaks + low * (order + 1) + 1;
value = table(piece + 1);
for power = 2:order
    value = value * (x - table(piece)) + table(piece + power);
end
end
"""


def write(program: Program) -> tuple[str, str]:
    """Write the file of the function; `others` writes the further files."""
    program = legal(program, LONGEST_NAME, WORDS)
    scalar = _scalar(program)
    about = describing.full_description(
        program, f"all {scalar}, columns and matrices", _array, describing.one_based, _example(program)
    )
    return _file(program, describing.functions_of(program)[2], about), ""


def others(program: Program) -> dict[str, str]:
    """The function that prepares parameters, which MATLAB requires in a separate file, and the S-function."""
    program = legal(program, LONGEST_NAME, WORDS)
    made = {f"{program.name}_sfun.m": matlab_block.s_function(program, _scalar(program))}
    for prepare in describing.functions_of(program)[1]:
        about = [f"What {program.name} needs of the parameters p, here with the values of the arm:", ""]
        about += describing.parameter_lines(program, describing.one_based)
        made = {f"{prepare.name}.m": _file(program, prepare, about), **made}
    return made


def _scalar(program: Program) -> str:
    return "single" if program.single else "double"


def _file(program: Program, function: TextFunction, about: Iterable[str]) -> str:
    """A function with the help text that MATLAB shows, and its local functions."""
    scalar = _scalar(program)
    lines = [*_signature(function), "%#codegen", *describing.marked(about, "%"), ""]
    for a in function.taken:
        lines += [f"assert(isa({a.name}, '{scalar}'));", f"assert(all(size({a.name}) == [{_size(a)}]));"]
    lines += _inside(function, scalar)
    every, needed = list(function.statements), _needed(function.statements)
    for routine in describing.functions_of(program)[0]:
        if routine.name in needed:
            lines += ["", *_signature(routine), *_inside(routine, scalar)]
            every += routine.statements
    called = functions(every)
    for own, text in (("choose", CHOOSE), ("sqrt", ROOT), ("rint", RINT), ("lookup", LOOK_UP)):
        lines += text.rstrip().splitlines() if own in called else []
    return "\n".join(lines) + "\n"


def _needed(statements: Iterable[Statement]) -> set[str]:
    """The routines that statements call, directly or indirectly."""
    waiting, found = list(statements), set[str]()
    while waiting:
        routine = waiting.pop().routine
        if routine is not None and routine.name not in found:
            found.add(routine.name)
            waiting += routine.statements
    return found


def _inside(function: TextFunction, scalar: str) -> list[str]:
    """The body of a function: its tables, its outputs, its statements."""
    named, lines = tables(function.statements), list[str]()
    for table, called in named.items():
        lines += _folded(f"{called} = [{', '.join(_number(value, scalar) for value in table.numbers)}];")
    lines += [f"{a.name} = zeros({_size(a, ', ')}, '{scalar}');" for a in function.made]
    return [*lines, "", *_body(function, named, scalar), "end"]


def _signature(function: TextFunction) -> list[str]:
    made, results = function.made, describing.names(function.made)
    before = f"[{results}] = " if len(made) > 1 else f"{results} = " if made else ""
    return _folded(f"function {before}{function.name}({describing.names(function.taken)})")


def _body(function: TextFunction, named: TableNames, scalar: str) -> list[str]:
    known = function.shapes

    def entry(ref: Ref) -> str:
        places = [i + 1 for i in describing.subscripts(ref, known)]
        return f"{ref.name}({', '.join(map(str, places))})" if places else ref.name

    def written(statement: Statement) -> list[str]:
        name = entry(statement.target)
        if statement.role == REPEAT:
            return [f"for {name} = 1:{rounds(statement)}"]
        if statement.role == END:
            return ["end"]
        if statement.role == ARRAY or statement.routine is not None:
            return _folded(f"{name} = {_array_of(statement, dialect)};")
        value = expression(statement.value, dialect)
        if statement.role == WHILE:
            return [*_folded(f"if ~({value})"), "    break", "end"]
        return _folded(f"{name} = {value};")

    dialect = Dialect(
        lambda value: _number(value, scalar),
        entry,
        lambda name, argument: f"{OWN.get(name, name)}({argument})",
        lambda a, b, x, y: f"choose({a} < {b}, {x}, {y})",
        named,
    )
    return sectioned(function.statements, lambda section: f"% {section}", written)


def _array_of(statement: Statement, dialect: Dialect) -> str:
    """A column of values, or the result of a routine."""
    values = ", ".join(passed(statement, dialect))
    if statement.routine is None:
        return f"[{values}].'" if values else "zeros(0, 1)"
    return f"{statement.routine.name}({values})"


def _number(value: float, scalar: str) -> str:
    return f"single({number(value)})" if scalar == "single" else number(value)


def _size(argument: Argument, between: str = " ") -> str:
    """The two dimensions that every MATLAB array has."""
    return between.join(map(str, (*argument.shape, 1, 1)[: max(len(argument.shape), 2)]))


def _array(argument: Argument) -> str:
    return f"{argument.name} ({_size(argument, ' x ')})"


def _parameter(ref: Ref) -> str:
    return f"{ref.name}({(ref.index or 0) + 1})"


def _folded(line: str, width: int = CODE_WIDTH) -> list[str]:
    return folded(line, "", " ...", width)


def _example(program: Program) -> list[str]:
    name, scalar = program.name, _scalar(program)
    lines = [f"{a.name} = zeros({_size(a, ', ')}, '{scalar}');" for a in program.inputs]
    if program.parameters:
        values = ", ".join(number(value) for value in program.defaults)
        lines += [f"k = {name}_prepare({scalar}([{values}]'));"]
    results = describing.names(program.outputs)
    call = f"{name}({describing.names(describing.given(program))});"
    lines += [f"[{results}] = {call}" if program.outputs[1:] else f"{results} = {call}" if results else call]
    return [piece for line in lines for piece in _folded(line, COMMENT_WIDTH - 2)]


LANGUAGE = Language("matlab", "m", "", write, others)
