"""Python: one module that needs only NumPy, for one state or a batch."""

from __future__ import annotations

from collections.abc import Iterable

from forearm.codegen.languages import c_family, describing
from forearm.codegen.languages.describing import TextFunction
from forearm.codegen.languages.language import Language
from forearm.codegen.languages.naming import legal
from forearm.codegen.program import (
    ARRAY,
    END,
    NEXT,
    REPEAT,
    WHILE,
    Argument,
    Program,
    Ref,
    Statement,
    Statements,
)
from forearm.codegen.text import (
    CODE_WIDTH,
    Dialect,
    TableNames,
    expression,
    folded,
    number,
    paragraphs,
    passed,
    rounds,
    sectioned,
    tables,
)

CALLED = {"atan2": "np.arctan2", "look_up": "_look_up"}
HEAD = """
from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def _given(name: str, value: ArrayLike, *shape: int) -> Floats:
    array = np.asarray(value, dtype=np.float64)
    if array.shape[array.ndim - len(shape) :] != shape:
        wanted = ", ".join(["...", *map(str, shape)])
        raise ValueError(f"{name}: expected shape ({wanted}), got {array.shape}.")
    return array
""".splitlines()
LOOK_UP = """

def _look_up(table: Floats, breaks: int, order: int, x: Floats) -> Floats:
    # The breaks, in order; then, for what lies before the first and from each of them on, where the piece
    # begins and the coefficients of a polynomial, the highest power first.
    piece = table[breaks:].reshape(-1, order + 1)[np.searchsorted(table[:breaks], x, side="right")]
    value = piece[..., 1]
    for k in range(2, order + 1):
        value = value * (x - piece[..., 0]) + piece[..., k]
    return np.asarray(value)
""".splitlines()
ROWS = """

def _rows(*values: ArrayLike) -> Floats:
    # What a routine is given: values of a batch side by side.
    return np.stack(np.broadcast_arrays(*values), axis=-1)
""".splitlines()


def write(program: Program) -> tuple[str, str]:
    """The module."""
    program = legal(program)
    routines, prepare, evaluation = describing.functions_of(program, lambda r: f"_{r}")
    lines = [*_docstring(program.about or [program.name], ""), *HEAD]
    named = tables(program.every_statement)
    lines += LOOK_UP if named else []
    lines += ROWS if program.routines else []
    for table, name in named.items():
        numbers = ", ".join(map(number, table.numbers))
        lines += ["", f"_{name} = np.array(", *folded(f"[{numbers}]", "    "), ")"]
    for function in prepare:
        about = [f"What {program.name} needs of the parameters p, here with the values of the arm:", ""]
        about += describing.parameter_lines(program, c_family.entry)
        lines += _function(function, about, named)
    about = [
        describing.title(program),
        "",
        "Arguments, float64; axes before those of the shapes are a batch, and broadcast:",
    ]
    about += [
        *describing.argument_lines(program, _array),
        "",
        "Call:",
        *(f"  {line}" for line in _example(program)),
    ]
    for routine, function in zip(program.routines, routines, strict=True):
        lines += _function(function, [f"The routine {routine.title!r}."], named)
    lines += _function(evaluation, about, named)
    return "\n".join(lines) + "\n", ""


def _function(function: TextFunction, about: Iterable[str], named: TableNames) -> list[str]:
    name, taken, made = function.name, function.taken, function.made
    returned = "Floats" if len(made) == 1 else f"tuple[{', '.join(['Floats'] * len(made)) or '()'}]"
    arguments = ", ".join(f"{a.name}: ArrayLike" for a in taken)
    lines = ["", "", *folded(f"def {name}({arguments}) -> {returned}:"), *_docstring(about, "    ")]
    lines += [f'    {a.name} = _given("{a.name}", {", ".join([a.name, *map(str, a.shape)])})' for a in taken]
    batches = [f"{a.name}.shape" + (f"[:-{len(a.shape)}]" if a.shape else "") for a in taken]
    lines += folded(f"batch = np.broadcast_shapes({', '.join(batches)})", "    ")
    lines += [f"    {a.name} = np.empty({_shape('*batch', a) if a.shape else 'batch'})" for a in made]
    lines += ["", *_body(function, named)]
    return [*lines, f"    return {describing.names(made) or '()'}"]


def _body(function: TextFunction, named: TableNames) -> list[str]:
    known = function.shapes

    def entry(ref: Ref) -> str:
        places = "".join(f", {i}" for i in describing.subscripts(ref, known))
        return ref.name if ref.index is None else f"{ref.name}[...{places}]"

    def written(statement: Statement) -> list[str]:
        target, role = entry(statement.target), statement.role
        if role == REPEAT:
            return [f"    for {target} in range({rounds(statement)}):"]
        if role == END:
            return []
        if role == ARRAY:
            return assigned(target, f"_rows({', '.join(passed(statement, dialect))})")
        if statement.routine is not None:
            return assigned(target, f"_{statement.routine.name}({', '.join(passed(statement, dialect))})")
        value = expression(statement.value, dialect)
        if role == WHILE:
            return [
                *assigned(f"going_{target}", value),
                f"    if not np.any(going_{target}):",
                "        break",
            ]
        if role == NEXT:
            value = f"np.where(going_{loops[statement.target]}, {value}, {target})"
        return assigned(target, value)

    def assigned(target: str, value: str) -> list[str]:
        if len(f"    {target} = {value}") <= CODE_WIDTH:
            return [f"    {target} = {value}"]
        return [f"    {target} = (", *folded(value, "        "), "    )"]

    loops = _loops(function.statements)
    dialect = Dialect(
        number,
        entry,
        lambda name, argument: f"{CALLED.get(name, f'np.{name}')}({argument})",
        lambda a, b, x, y: f"np.where({a} < {b}, {x}, {y})",
        {table: f"_{name}" for table, name in named.items()},
    )
    return sectioned(function.statements, lambda section: f"    # {section}", written)


def _loops(statements: Statements) -> dict[Ref, str]:
    """For each variable the counter of the loop that updates it."""
    found: dict[Ref, str] = {}
    inside: list[str] = []
    for s in statements:
        if s.role == REPEAT:
            inside.append(s.target.name)
        elif s.role == END:
            inside.pop()
        elif s.role == NEXT:
            found[s.target] = inside[-1]
    return found


def _docstring(lines: Iterable[str], indent: str) -> list[str]:
    """A docstring that no text can close, and in which no text is a doctest."""
    words = [line.replace('"', "'").replace(">>>", "> > >") for line in paragraphs(lines)]
    return [f'{indent}"""{words[0]}', *(f"{indent}{line}".rstrip() for line in words[1:]), f'{indent}"""']


def _array(argument: Argument) -> str:
    return f"{argument.name} {_shape('...', argument)}"


def _shape(before: str, argument: Argument) -> str:
    return f"({', '.join([before, *map(str, argument.shape)])})"


def _example(program: Program) -> list[str]:
    name = program.name
    functions = [name, *([f"{name}_prepare"] if program.parameters else [])]
    lines = ["import numpy as np", f"from {name} import {', '.join(functions)}"]
    lines += [f"{a.name} = np.zeros({a.shape})" for a in program.inputs]
    lines += (
        [f"k = {name}_prepare([{', '.join(map(number, program.defaults))}])"] if program.parameters else []
    )
    outputs = describing.names(program.outputs)
    return [*lines, f"{outputs} = {name}({describing.names(describing.given(program))})"]


LANGUAGE = Language("python", "py", "", write)
