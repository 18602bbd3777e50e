"""JavaScript: one ES module on typed arrays, without dependencies, for browsers and Node.js."""

from __future__ import annotations

from forearm.codegen.languages import c_family, describing
from forearm.codegen.languages.describing import TextFunction
from forearm.codegen.languages.language import Language
from forearm.codegen.languages.naming import legal
from forearm.codegen.program import ARRAY, END, NEXT, REPEAT, VALUE, WHILE, Argument, Program, Ref, Statement
from forearm.codegen.text import (
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
    routines, prepare, evaluation = describing.functions_of(program)
    for function in (*routines, *prepare, evaluation):
        lines += _function(function, named)
    return "\n".join(lines) + "\n", ""


def _function(function: TextFunction, named: TableNames) -> list[str]:
    """A function that fills and returns its output arrays, new ones if none are given;
    routines' arrays are reused between calls.
    """
    name, made, exported = function.name, function.made, not function.is_routine
    lines = [""]
    lines += [
        f"const {name}_{array} = new Float64Array({size});" for array, (size,) in function.arrays.items()
    ]
    outputs = [f"{a.name} = new Float64Array({a.size})" if exported else a.name for a in made]
    start = f"{'export ' if exported else ''}function {name}"
    lines += folded(f"{start}({', '.join([*(a.name for a in function.taken), *outputs])}) {{")
    lines += _body(function, named)
    if exported:
        names = describing.names(made)
        lines += [f"{INDENT}return {names if len(made) == 1 else f'{{ {names} }}'};"]
    return [*lines, "}"]


def _body(function: TextFunction, named: TableNames) -> list[str]:
    own = function.arrays

    def entry(ref: Ref) -> str:
        return c_family.entry(Ref(f"{function.name}_{ref.name}", ref.index) if ref.name in own else ref)

    def written(statement: Statement) -> list[str]:
        name, role, routine = entry(statement.target), statement.role, statement.routine
        if role == REPEAT:
            return [f"{INDENT}for (let {name} = 0; {name} < {rounds(statement)}; {name}++) {{"]
        if role == END:
            return [f"{INDENT}}}"]
        if role == ARRAY:
            return [
                line
                for i, x in enumerate(passed(statement, dialect))
                for line in folded(f"{name}[{i}] = {x};", INDENT)
            ]
        if routine is not None:
            arguments = ", ".join([*passed(statement, dialect), name])
            return folded(f"{routine.name}({arguments});", INDENT)
        value = expression(statement.value, dialect)
        if role == WHILE:
            return folded(f"if (!({value})) break;", INDENT)
        is_new = statement.target.index is None and role != NEXT
        kind = ("const " if role == VALUE else "let ") if is_new else ""
        return folded(f"{kind}{name} = {value};", INDENT)

    dialect = Dialect(number, entry, _call, c_family.choice, named)
    return sectioned(
        function.statements, lambda section: f"{INDENT}/* {c_family.harmless(section)} */", written
    )


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
    outputs = describing.names(program.outputs)
    made = outputs if len(program.outputs) == 1 else f"{{ {outputs} }}"
    return [*lines, f"const {made} = {name}({describing.names(describing.given(program))});"]


LANGUAGE = Language("javascript", "mjs", "", write)
