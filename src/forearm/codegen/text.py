"""Programs as text, for every language with infix expressions: expressions, numbers, long lines, comments."""

from __future__ import annotations

import math
import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from forearm.codegen.program import END, REPEAT, Op, Ref, Statement, Tree
from forearm.errors import InputError
from forearm.symbols.table import LookupTable

NOTHING, SUM, PRODUCT, ATOM = range(-1, 3)
CODE_WIDTH = 110
COMMENT_WIDTH = 100
DEEPEST = 20  # columns of indentation that a comment line keeps
TableNames = Mapping[LookupTable, str]
# A long line may be broken before an operator, after a comma and after an equals sign.
BREAKS = re.compile(r" (?=[-+*/?:<] )|(?<=,) |(?<= =) ")
LOOK_ALIKES = str.maketrans(
    "\u2010\u2011\u2012\u2013\u2014\u2212\u2018\u2019\u201c\u201d\u00b5\u03bc\u00d7\u00b7", "------''\"\"uu**"
)


@dataclass(frozen=True)
class Dialect:
    """How a language writes numbers, entries, functions, choices and look-ups."""

    number: Callable[[float], str]
    entry: Callable[[Ref], str]
    call: Callable[[str, str], str]  # name of the function, text of its arguments
    choose: Callable[[str, str, str, str], str]  # a, b, x, y: x where a < b, else y
    tables: TableNames  # the name of each table

    def look_up(self, table: LookupTable, x: str) -> str:
        """A table's value at x."""
        return self.call("look_up", f"{self.tables[table]}, {len(table.breaks)}, {table.order}, {x}")


def expression(tree: Tree, dialect: Dialect) -> str:
    """The text of an expression, with the fewest parentheses that preserve the order of operations."""
    return _text(tree, dialect)[0]


def _text(tree: Tree, dialect: Dialect) -> tuple[str, int]:
    if isinstance(tree, float | int):
        return dialect.number(tree), ATOM if math.copysign(1.0, tree) > 0.0 else SUM
    if isinstance(tree, Ref):
        return dialect.entry(tree), ATOM
    if tree.operator == "neg":
        return f"-{_inside(tree.operands[0], dialect, PRODUCT)}", SUM
    if tree.table is not None:
        return dialect.look_up(tree.table, expression(tree.operands[0], dialect)), ATOM
    if tree.operator == "choose":
        a, b = (_inside(operand, dialect, SUM) for operand in tree.operands[:2])
        x, y = (expression(operand, dialect) for operand in tree.operands[2:])
        return dialect.choose(a, b, x, y), ATOM
    if len(tree.operands) == 1:
        return dialect.call(tree.operator, expression(tree.operands[0], dialect)), ATOM
    first, second = tree.operands
    if tree.operator == "atan2":
        return dialect.call("atan2", f"{expression(first, dialect)}, {expression(second, dialect)}"), ATOM
    if tree.operator == "<":
        return f"{_inside(first, dialect, SUM)} < {_inside(second, dialect, SUM)}", NOTHING
    if tree.operator in "*/":
        return f"{_inside(first, dialect, PRODUCT)} {tree.operator} {_inside(second, dialect, ATOM)}", PRODUCT
    return f"{_inside(first, dialect, SUM)} {tree.operator} {_inside(second, dialect, PRODUCT)}", SUM


def _inside(tree: Tree, dialect: Dialect, least: int) -> str:
    text, binding = _text(tree, dialect)
    return text if binding >= least else f"({text})"


def passed(statement: Statement, dialect: Dialect) -> list[str]:
    """The entries of a new array, or what a routine is called with: its operands, and k if it reads that."""
    assert isinstance(statement.value, Op)
    kept = ["k"] if statement.routine is not None and statement.routine.needs_kept else []
    return [*(expression(operand, dialect) for operand in statement.value.operands), *kept]


def number(value: float) -> str:
    """A number that reads back bit for bit, with a decimal point or an exponent."""
    if not math.isfinite(value):
        raise InputError(
            f"{value} cannot be written as a number in a program; expected a finite number.", "codegen"
        )
    return repr(float(value))


def call(name: str, argument: str) -> str:
    """A function under its own name, as in sin(x);
    the sign is one that the file defines, -1, 0 or 1, and NaN for NaN.
    """
    return f"sign_of({argument})" if name == "sign" else f"{name}({argument})"


def functions(statements: Iterable[Statement]) -> set[str]:
    """Functions that the statements use besides + - * /:
    sqrt, cos, sin, sign, abs, exp, atan2, choose, lookup, rint.
    """
    called = {op.operator for s in statements for op in parts(s.value) if isinstance(op, Op)}
    return called - {"+", "-", "*", "/", "<", "neg", "array", "call"}


def tables(statements: Iterable[Statement]) -> dict[LookupTable, str]:
    """The tables used by the statements, with a name for each."""
    found = dict.fromkeys(
        op.table for s in statements for op in parts(s.value) if isinstance(op, Op) and op.table is not None
    )
    return {table: f"table_{k}" for k, table in enumerate(found, 1)}


def read(statements: Iterable[Statement]) -> set[str]:
    """The names on the right-hand sides of the statements."""
    return {ref.name for s in statements for ref in parts(s.value) if isinstance(ref, Ref)}


def parts(tree: Tree) -> list[Tree]:
    """A tree and all its subtrees."""
    return (
        [tree, *(part for operand in tree.operands for part in parts(operand))]
        if isinstance(tree, Op)
        else [tree]
    )


def rounds(statement: Statement) -> int:
    """The maximum number of iterations of the loop that a statement begins."""
    assert isinstance(statement.value, float)
    return int(statement.value)


def sectioned(
    statements: Iterable[Statement], comment: Callable[[str], str], written: Callable[[Statement], list[str]]
) -> list[str]:
    """The lines of the statements, with a comment at the start of each section;
    those of loops are indented.
    """
    lines: list[str] = []
    section, further = "", ""
    for statement in statements:
        if statement.section != section:
            section = statement.section
            lines += ([""] if lines else []) + [comment(line) for line in paragraphs([section]) if line]
        further = further[4:] if statement.role == END else further
        lines += [further + line for line in written(statement)]
        further += "    " if statement.role == REPEAT else ""
    return lines


def folded(line: str, indent: str = "", end: str = "", width: int = CODE_WIDTH) -> list[str]:
    """A line of code as one or more of at most `width` columns; all but the last close with `end`."""
    first, *rest = BREAKS.split(line)
    lines = [indent + first]
    for piece in rest:
        if len(lines[-1]) + 1 + len(piece) + len(end) <= width:
            lines[-1] += f" {piece}"
        else:
            lines[-1] += end
            lines.append(f"{indent}    {piece}")
    return lines


def plain(text: str) -> str:
    """Words for a comment:
    one line of printable ASCII without backslashes, which could continue the comment.
    """
    spelt = unicodedata.normalize("NFKD", text.translate(LOOK_ALIKES))
    ascii_only = "".join(c for c in spelt if not unicodedata.combining(c)).encode("ascii", "replace").decode()
    return re.sub(r"[\x00-\x1f\x7f]", " ", ascii_only).replace("\\", "/")


def paragraphs(lines: Iterable[str], width: int = COMMENT_WIDTH) -> list[str]:
    """Lines for a comment, each plain and of at most `width` columns;
    continuation lines are indented further.
    """
    made: list[str] = []
    for line in (part for whole in lines for part in whole.splitlines() or [""]):
        words = plain(line)
        indent = " " * min(len(words) - len(words.lstrip()), DEEPEST)
        made += textwrap.wrap(
            words.strip(),
            width,
            initial_indent=indent,
            subsequent_indent=f"{indent}    ",
            break_on_hyphens=False,
        ) or [""]
    return made
