"""JavaScript: one ES module on typed arrays, without dependencies, for browsers and Node.js."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from forearm.codegen.languages import c_family, describing
from forearm.codegen.languages.language import Language
from forearm.codegen.languages.naming import legal
from forearm.codegen.program import (
    ARRAY,
    END,
    NEXT,
    REPEAT,
    VALUE,
    WHILE,
    Argument,
    Op,
    Program,
    Ref,
    Statement,
)
from forearm.codegen.text import Dialect, expression, folded, functions, number, rounds, sectioned, tables
from forearm.symbols.table import LookupTable

INDENT = "    "
WORDS = frozenset(
    """
    arguments arraybuffer bigint boolean date debugger enum error eval export extends finally float64array function globalthis
    implements import in infinity instanceof interface let map math null number object package promise protected public rint
    set static string super symbol switch this throw typeof undefined var void window with yield
    """.split()  # noqa: E501, SIM905
)
RINT = """
function rint(x) {
    const nearest = Math.round(x);
    return Math.abs(x % 1) === 0.5 && nearest % 2 !== 0 ? nearest - 1 : nearest;
}""".splitlines()
LOOK_UP = """
function look_up(table, breaks, order, x) {
    let low = 0, high = breaks;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (table[middle] <= x) low = middle + 1;
        else high = middle;
    }
    const piece = breaks + low * (order + 1);
    let value = table[piece + 1];
    for (let i = 2; i <= order; i++) value = value * (x - table[piece]) + table[piece + i];
    return value;
}""".splitlines()


def write(program: Program) -> tuple[str, str]:
    """The module."""
    program = legal(program, also=WORDS)
    about = describing.full_description(
        program, "all Float64Array", _array, c_family.entry, _example(program)
    )
    lines = c_family.comment(about)
    named, used = tables(program.every_statement), functions(program.every_statement)
    lines += RINT if "rint" in used else []
    lines += ["", *c_family.comment(c_family.LAYOUT), *LOOK_UP[1:]] if named else []
    for table, name in named.items():
        numbers = ", ".join(map(number, table.numbers))
        lines += ["", *folded(f"const {name} = Float64Array.of({numbers});")]
    for routine in program.routines:
        taken = describing.routine_arguments(program, routine)
        lines += _function(routine.name, taken, (routine.made,), routine.statements, named, exported=False)
    if program.parameters:
        p, k = describing.parameters(program), describing.kept(program)
        lines += _function(f"{program.name}_prepare", (p,), (k,), program.prepare, named)
    lines += _function(program.name, describing.given(program), program.outputs, program.statements, named)
    return "\n".join(lines) + "\n", ""


def _function(
    name: str,
    taken: tuple[Argument, ...],
    made: tuple[Argument, ...],
    statements: tuple[Statement, ...],
    named: Mapping[LookupTable, str],
    exported: bool = True,
) -> list[str]:
    """A function that fills and returns its output arrays, new ones if none are given;
    routines' arrays are reused between calls.
    """
    own = describing.local_shapes(statements)
    lines = ["", *(f"const {name}_{array} = new Float64Array({size});" for array, (size,) in own.items())]
    outputs = [f"{a.name} = new Float64Array({a.size})" if exported else a.name for a in made]
    start = f"{'export ' if exported else ''}function {name}"
    lines += folded(f"{start}({', '.join([*(a.name for a in taken), *outputs])}) {{")
    lines += _body(name, statements, frozenset(own), named)
    if exported:
        names = ", ".join(a.name for a in made)
        lines += [f"{INDENT}return {names if len(made) == 1 else f'{{ {names} }}'};"]
    return [*lines, "}"]


def _body(
    function: str, statements: Iterable[Statement], own: frozenset[str], named: Mapping[LookupTable, str]
) -> list[str]:
    def entry(ref: Ref) -> str:
        return c_family.entry(Ref(f"{function}_{ref.name}", ref.index) if ref.name in own else ref)

    def values(statement: Statement) -> list[str]:
        assert isinstance(statement.value, Op)
        return [expression(operand, dialect) for operand in statement.value.operands]

    def written(statement: Statement) -> list[str]:
        name, role, routine = entry(statement.target), statement.role, statement.routine
        if role == REPEAT:
            return [f"{INDENT}for (let {name} = 0; {name} < {rounds(statement)}; {name}++) {{"]
        if role == END:
            return [f"{INDENT}}}"]
        if role == ARRAY:
            return [
                line
                for i, x in enumerate(values(statement))
                for line in folded(f"{name}[{i}] = {x};", INDENT)
            ]
        if routine is not None:
            given = [*values(statement), *(["k"] if routine.needs_kept else []), name]
            return folded(f"{routine.name}({', '.join(given)});", INDENT)
        value = expression(statement.value, dialect)
        if role == WHILE:
            return folded(f"if (!({value})) break;", INDENT)
        is_new = statement.target.index is None and role != NEXT
        kind = ("const " if role == VALUE else "let ") if is_new else ""
        return folded(f"{kind}{name} = {value};", INDENT)

    dialect = Dialect(number, entry, _call, c_family.choice, named)
    return sectioned(statements, lambda section: f"{INDENT}/* {c_family.harmless(section)} */", written)


def _call(name: str, argument: str) -> str:
    return f"{name}({argument})" if name in ("rint", "look_up") else f"Math.{name}({argument})"


def _array(argument: Argument) -> str:
    order = f"  ({' x '.join(map(str, argument.shape))}, row by row)" if len(argument.shape) > 1 else ""
    return f"{argument.name}[{argument.size}]{order}"


def _example(program: Program) -> list[str]:
    name = program.name
    imported = [name, *([f"{name}_prepare"] if program.parameters else [])]
    lines = [f'import {{ {", ".join(imported)} }} from "./{name}.mjs";']
    lines += [f"const {a.name} = new Float64Array({a.size});" for a in program.inputs]
    if program.parameters:
        values = ", ".join(map(number, program.defaults))
        lines += [f"const k = {name}_prepare(Float64Array.of({values}));"]
    outputs = ", ".join(a.name for a in program.outputs)
    made = outputs if len(program.outputs) == 1 else f"{{ {outputs} }}"
    return [*lines, f"const {made} = {name}({', '.join(a.name for a in describing.given(program))});"]


LANGUAGE = Language("javascript", "mjs", "", write)
