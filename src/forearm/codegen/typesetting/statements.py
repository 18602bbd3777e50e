"""The statements of a program, for outputs without a closed form."""

from __future__ import annotations

from itertools import groupby

from forearm.codegen.closed_form import MOST_TERMS, Trig
from forearm.codegen.closed_form.angles import SAME_ANGLE, affine, affine_values
from forearm.codegen.closed_form.expansion import all_statements, needed
from forearm.codegen.program import (
    END,
    NEXT,
    REPEAT,
    VALUE,
    VARIABLE,
    WHILE,
    Op,
    Program,
    Ref,
    Statement,
    Statements,
    Tree,
)
from forearm.codegen.text import ATOM, NOTHING, PRODUCT, SUM, functions, rounds, tables
from forearm.codegen.typesetting.equations import aligned
from forearm.codegen.typesetting.escaping import escape
from forearm.codegen.typesetting.formulas import FUNCTIONS, Page
from forearm.codegen.typesetting.names import letter
from forearm.symbols.table import LookupTable

ROWS = 20  # pieces of a table in one display


def statements(program: Program, page: Page) -> list[str]:
    """The statements that compute the outputs without a closed form, in order, by sections."""
    outputs = [o for o in program.outputs if o.name not in page.form.outputs]
    if not outputs:
        return []
    listed = _listed(program, [Ref(o.name, i) for o in outputs for i in range(o.size)], page)
    names = ", ".join(f"${letter(o.name)}$" for o in outputs)
    called = functions(listed)
    why = (
        "angles of points do not multiply out"
        if "atan2" in called
        else "choices, look-ups and roundings do not multiply out"
        if called & {"choose", "lookup", "rint"}
        else "repetitions do not multiply out"
        if any(s.role == REPEAT for s in listed)
        else f"an equation would have more than {MOST_TERMS} terms"
    )
    page.tables = tables(listed)
    lines = ["", f"No closed form of {names} is given: {why}."]
    lines.append("These statements compute the same, one after the other.")
    for section, group in groupby(listed, key=lambda s: s.section):
        shown = [line for line in (_line(s, page) for s in group) if line]
        if shown:
            lines += [rf"\subsubsection*{{{escape(section)}}}"] if section else []
        for role, some in groupby(shown, key=lambda line: line[0]):
            if role in (VALUE, NEXT):
                rows = [(name, [value]) for _, name, value in some]
                lines += aligned(rows, "", "=" if role == VALUE else r"\leftarrow")
            else:
                lines += [f"{text}\\par" for _, text, _ in some]
    for k, table in enumerate(page.tables, 1):
        lines += _table(k, table, page)
    return lines


def _line(s: Statement, page: Page) -> tuple[str, str, str] | None:
    """The display form of a statement, and its two sides, or the words of a loop;
    None for one without content.
    """
    if s.role == REPEAT:
        return REPEAT, f"Repeat at most {rounds(s)} times:", ""
    if s.role == END:
        return END, "This ends the repetition.", ""
    value = _text(s.value, page)[0]
    if s.role == WHILE:
        return WHILE, f"unless ${value}$, stop here;", ""
    if _says_nothing(s, page):
        return None
    return NEXT if s.role == NEXT else VALUE, page.names[s.target], value


def _table(k: int, table: LookupTable, page: Page) -> list[str]:
    """A table, piece by piece."""
    starts, rows = (table.breaks[0], *table.breaks), []
    for start, below, piece in zip(starts, (None, *table.breaks), table.pieces, strict=True):
        u = f"(x - {page.number(start)})" if start > 0.0 else f"(x + {page.number(-start)})" if start else "x"
        terms = [
            f"{page.number(c)}" + (f" {u}" if power else "") + (f"^{{{power}}}" if power > 1 else "")
            for power, c in enumerate(piece)
            if c
        ]
        end = rf"x < {page.number(start)}" if below is None else rf"{page.number(below)} \le x"
        rows.append(f"{' + '.join(terms).replace('+ -', '- ') or '0'} & {end}")
    lines = [rf"Table $T_{{{k}}}(x)$, the last line that holds:"]
    for first in range(0, len(rows), ROWS):
        part = r" \\ ".join(rows[first : first + ROWS])
        lines += [r"\[ \begin{cases} " + part + r" \end{cases} \]"]
    return lines


def _listed(program: Program, targets: list[Ref], page: Page) -> list[Statement]:
    """What the targets need except abbreviated cosines and sines; all of them get their names."""
    everything = all_statements(program)
    short = _short_ones(everything, page)
    wanted = needed(everything, targets, short)
    for target, trig in short.items():
        if target in wanted:
            page.names.share(target, page.factor(trig))
    listed = [s for s in everything if s.target in wanted and s.target not in short]
    same = {s.value: s.target for s in listed if s.target in targets and isinstance(s.value, Ref)}
    for statement in listed:
        if statement.target.index is None and statement.role in (VALUE, VARIABLE):
            page.names.temporary(statement.target, same.get(statement.target))
    return listed


def _short_ones(everything: Statements, page: Page) -> dict[Ref, Trig]:
    """The statements that are abbreviated cosines and sines,
    of angles whose offset is that of their joints.
    """
    known = affine_values(everything)
    found: dict[Ref, Trig] = {}
    for s in everything:
        if s.target.index is None and isinstance(s.value, Op) and s.value.operator in ("cos", "sin"):
            angle = affine(s.value.operands[0], known)
            if angle is not None and abs(angle.beyond(page.form.offsets)) <= SAME_ANGLE:
                joints = sorted(angle.coefficients.items(), key=lambda item: item[0].index or 0)
                trig = Trig(s.value.operator == "sin", tuple(joints))
                if page.abbreviated(trig) is not None:
                    found[s.target] = trig
    return found


def _says_nothing(statement: Statement, page: Page) -> bool:
    """Whether it only renames a value."""
    return isinstance(statement.value, Ref) and page.names[statement.value] == page.names[statement.target]


def _text(tree: Tree, page: Page) -> tuple[str, int]:
    """The text of an expression, and its precedence."""
    if isinstance(tree, float | int):
        return page.number(tree), ATOM if tree >= 0.0 else SUM
    if isinstance(tree, Ref):
        return page.names[tree], ATOM
    if tree.operator == "neg":
        return f"-{_inside(tree.operands[0], PRODUCT, page)}", SUM
    if tree.operator == "sqrt":
        return rf"\sqrt{{{_text(tree.operands[0], page)[0]}}}", ATOM
    if tree.table is not None:
        name = page.tables[tree.table].removeprefix("table_")
        return f"T_{{{name}}}({_text(tree.operands[0], page)[0]})", ATOM
    if tree.operator == "choose":
        p, q, x, y = (_text(operand, page)[0] for operand in tree.operands)
        return (rf"\begin{{cases}} {x} & {p} < {q} \\ {y} & \text{{otherwise}} \end{{cases}}", ATOM)
    if len(tree.operands) == 1:
        return f"{FUNCTIONS[tree.operator]}({_text(tree.operands[0], page)[0]})", ATOM
    a, b = tree.operands
    if tree.operator == "atan2":
        return (
            (
                rf"\operatorname{{atan2}}({_text(tree.operands[0], page)[0]}, "
                rf"{_text(tree.operands[1], page)[0]})"
            ),
            ATOM,
        )
    if tree.operator == "/":
        return rf"\frac{{{_text(a, page)[0]}}}{{{_text(b, page)[0]}}}", PRODUCT
    if tree.operator == "*" and a == b:
        base = _inside(a, ATOM, page)
        return f"{base}^{{2}}" if isinstance(a, Ref) and not set(base) & set(
            "'^"
        ) else f"{{{base}}}^{{2}}", ATOM
    if tree.operator == "*":
        a, b = (b, a) if isinstance(b, float) and not isinstance(a, float) else (a, b)
        second = _inside(b, PRODUCT, page)
        between = r" \cdot " if second[0].isdigit() else " "
        return f"{_inside(a, PRODUCT, page)}{between}{second}", PRODUCT
    if tree.operator == "<":
        return f"{_inside(a, SUM, page)} < {_inside(b, SUM, page)}", NOTHING
    least = SUM if tree.operator == "+" else PRODUCT
    return f"{_inside(a, SUM, page)} {tree.operator} {_inside(b, least, page)}", SUM


def _inside(tree: Tree, least: int, page: Page) -> str:
    text, binding = _text(tree, page)
    return text if binding >= least and not text.startswith("-") else f"({text})"
