"""Rust: one module for crates with or without std; no allocation, no panics, no unsafe code."""

from __future__ import annotations

from forearm.codegen.languages import c_family, describing
from forearm.codegen.languages.describing import Shapes, TextFunction
from forearm.codegen.languages.language import Language
from forearm.codegen.languages.naming import legal
from forearm.codegen.program import (
    ARRAY,
    END,
    NEXT,
    REPEAT,
    VARIABLE,
    WHILE,
    Argument,
    Program,
    Ref,
    Statement,
)
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
from forearm.symbols.table import LookupTable

INDENT = "    "
# Case-insensitive: words of Rust besides those of other languages, and names that the module itself uses.
WORDS = frozenset(
    """
    abstract become box choose core crate dyn edge edges extern f32 f64 fn impl let libm loop macro
    macro_rules match math mod move mut override pieces place priv pub ref rest self sized some start
    static std super trait type unsafe unsized use usize value where yield
    """.split()  # noqa: SIM905
)
# Functions missing in core: their names in std, and in the crate libm.
FUNCTIONS = {
    "sin": ("sin", "sin"),
    "cos": ("cos", "cos"),
    "sqrt": ("sqrt", "sqrt"),
    "abs": ("abs", "fabs"),
    "exp": ("exp", "exp"),
    "atan2": ("atan2", "atan2"),
    "rint": ("round_ties_even", "rint"),
}
OWN = {"sign": "sign_of", "look_up": "look_up"}
ALLOWED = "#![allow(non_snake_case, unexpected_cfgs, clippy::all)]"
SIGN = """
#[inline]
fn sign_of(x: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        x
    }
}
"""
CHOOSE = """
#[inline]
fn choose(condition: bool, x: f64, y: f64) -> f64 {
    if condition {
        x
    } else {
        y
    }
}
"""
LOOK_UP = """
// The value of a table at x: its breaks, in order; then, for what lies before the first and from each of
// them on, where the piece begins and the coefficients of a polynomial, the highest power first.
fn look_up<const N: usize>(edges: &[f64], pieces: &[[f64; N]], x: f64) -> f64 {
    let place = edges.partition_point(|edge| *edge <= x);
    match pieces.get(place).map(|piece| &piece[..]) {
        Some([start, first, rest @ ..]) => rest.iter().fold(*first, |value, c| value * (x - *start) + *c),
        _ => f64::NAN,
    }
}
"""


class _RustDialect(Dialect):
    """Tables are two arrays: the breakpoints, and one row per piece."""

    def look_up(self, table: LookupTable, x: str) -> str:
        """A table's value at x."""
        name = self.tables[table]
        return f"look_up(&{name}_BREAKS, &{name}_PIECES, {x})"


def write(program: Program) -> tuple[str, str]:
    """The module."""
    program = legal(program, also=WORDS)
    scalar = "f32" if program.single else "f64"
    about = describing.full_description(
        program, f"all {scalar}", lambda a: _declared(a, scalar), c_family.entry, _example(program, scalar)
    )
    about += ["", "Without std, give the crate a feature libm that depends on the crate libm."]
    statements = program.every_statement
    named = {table: name.upper() for table, name in tables(statements).items()}
    lines = [*describing.marked(about, "//"), ALLOWED, *_mathematics(functions(statements), scalar)]
    for table, name in named.items():
        lines += ["", *_constants(table, name, scalar)]
    routines, prepare, evaluation = describing.functions_of(program)
    for function in (*routines, *prepare, evaluation):
        lines += ["", *_written(function, named, scalar)]
    for own, text in (("sign", SIGN), ("choose", CHOOSE), ("lookup", LOOK_UP)):
        lines += text.replace("f64", scalar).rstrip().splitlines() if own in functions(statements) else []
    return "\n".join(lines) + "\n", ""


def _mathematics(called: set[str], scalar: str) -> list[str]:
    """The functions that core lacks, from std or from the crate libm."""
    needed = [name for name in FUNCTIONS if name in called]
    if not needed:
        return []
    ending = "f" if scalar == "f32" else ""
    lines = [
        "",
        f"use self::math::{{{', '.join(needed)}}};" if needed[1:] else f"use self::math::{needed[0]};",
    ]
    lines += ["", '#[cfg(feature = "libm")]', "mod math {"]
    for name in needed:
        theirs = FUNCTIONS[name][1] + ending
        lines += [f"    pub use libm::{theirs}{f' as {name}' if theirs != name else ''};"]
    lines += ["}", "", '#[cfg(not(feature = "libm"))]', "mod math {", "    extern crate std;"]
    for name in needed:
        more = ", x" if name == "atan2" else ""
        first = "y" if more else "x"
        taken = f"{first}: {scalar}" + (f", x: {scalar}" if more else "")
        lines += ["", "    #[inline]", f"    pub fn {name}({taken}) -> {scalar} {{"]
        lines += [f"        {scalar}::{FUNCTIONS[name][0]}({first}{more})", "    }"]
    return [*lines, "}"]


def _constants(table: LookupTable, name: str, scalar: str) -> list[str]:
    """A table as two constants."""
    count, width = len(table.breaks), table.order + 1
    numbers = [number(value) for value in table.numbers]
    rows = [", ".join(numbers[k : k + width]) for k in range(count, len(numbers), width)]
    breaks = f"static {name}_BREAKS: [{scalar}; {count}] = [{', '.join(numbers[:count])}];"
    lines = [*folded(breaks), f"static {name}_PIECES: [[{scalar}; {width}]; {len(rows)}] = ["]
    return [*lines, *(line for row in rows for line in folded(f"[{row}],", INDENT)), "];"]


def _written(function: TextFunction, named: TableNames, scalar: str) -> list[str]:
    taken = [f"{a.name}: {_reference('&', a, scalar)}" for a in function.taken]
    made = [f"{a.name}: &mut {_type(a, scalar)}" for a in function.made]
    signature = f"{'' if function.is_routine else 'pub '}fn {function.name}({', '.join([*taken, *made])}) {{"
    idle = [f"{INDENT}let _ = {name};" for name in function.unused]
    return [*folded(signature), *idle, *_body(function, named, scalar), "}"]


def _body(function: TextFunction, named: TableNames, scalar: str) -> list[str]:
    known = function.shapes
    single = {a.name for a in function.made if not a.shape}
    changed = {s.target.name for s in function.statements if s.role == NEXT}

    def written(statement: Statement) -> list[str]:
        target, role = _entry(statement.target, known, single), statement.role
        if role == REPEAT:
            return [f"{INDENT}for _ in 0..{rounds(statement)} {{"]
        if role == END:
            return [f"{INDENT}}}"]
        if role == ARRAY or statement.routine is not None:
            return _array(statement, dialect, scalar)
        value = expression(statement.value, dialect)
        if role == WHILE:
            return folded(f"if !({value}) {{ break; }}", INDENT)
        if statement.target.index is not None or role == NEXT:
            return folded(f"{target} = {value};", INDENT)
        mutable = "mut " if role == VARIABLE and target in changed else ""
        return folded(f"let {mutable}{target}: {scalar} = {value};", INDENT)

    dialect = _RustDialect(
        number,
        lambda ref: _entry(ref, known, single),
        lambda name, argument: f"{OWN.get(name, name)}({argument})",
        lambda a, b, x, y: f"choose({a} < {b}, {x}, {y})",
        named,
    )
    return sectioned(function.statements, lambda section: f"{INDENT}// {section}", written)


def _array(statement: Statement, dialect: Dialect, scalar: str) -> list[str]:
    """A new array of values, or the result of a routine."""
    values = ", ".join(passed(statement, dialect))
    name, kind = statement.target.name, f"[{scalar}; {statement.size}]"
    if statement.routine is None:
        return folded(f"let {name}: {kind} = [{values}];", INDENT)
    lines = [f"{INDENT}let mut {name}: {kind} = [0.0; {statement.size}];"]
    return [*lines, *folded(f"{statement.routine.name}(&{values}, &mut {name});", INDENT)]


def _entry(ref: Ref, known: Shapes, single: set[str]) -> str:
    """q[2], M[0][1], or the name alone; a scalar output is dereferenced."""
    places = "".join(f"[{i}]" for i in describing.subscripts(ref, known))
    return f"*{ref.name}" if ref.name in single else f"{ref.name}{places}"


def _type(argument: Argument, scalar: str) -> str:
    """[f64; 6], or [[f64; 4]; 3] with three rows, or f64."""
    text = scalar
    for size in reversed(argument.shape):
        text = f"[{text}; {size}]"
    return text


def _reference(mark: str, argument: Argument, scalar: str) -> str:
    return f"{mark if argument.shape else ''}{_type(argument, scalar)}"


def _declared(argument: Argument, scalar: str) -> str:
    return f"{argument.name}: {_type(argument, scalar)}"


def _parameter(ref: Ref) -> str:
    return f"{ref.name}[{ref.index}]"


def _zeros(argument: Argument) -> str:
    text = "0.0"
    for size in reversed(argument.shape):
        text = f"[{text}; {size}]"
    return text


def _example(program: Program, scalar: str) -> list[str]:
    name, given = program.name, describing.given(program)
    p, k = describing.parameters(program), describing.kept(program)
    functions = [f"{name}_prepare", name] if program.parameters else [name]
    lines = [f"use {name}::{{{', '.join(functions)}}};" if functions[1:] else f"use {name}::{name};"]
    lines += [f"let {_declared(a, scalar)} = {_zeros(a)};" for a in program.inputs]
    lines += [f"let mut {_declared(a, scalar)} = {_zeros(a)};" for a in program.outputs]
    if program.parameters:
        values = ", ".join(number(value) for value in program.defaults)
        lines += [
            f"let {_declared(p, scalar)} = [{values}];",
            f"let mut {_declared(k, scalar)} = {_zeros(k)};",
        ]
        lines += [f"{name}_prepare(&p, &mut k);"]
    taken = [f"{'&' if a.shape else ''}{a.name}" for a in given]
    return [*lines, f"{name}({', '.join([*taken, *(f'&mut {a.name}' for a in program.outputs)])});"]


LANGUAGE = Language("rust", "rs", "", write)
