"""Outputs in closed form: a matrix as a whole if it is small, otherwise an equation for each entry."""

from __future__ import annotations

import math

from forearm.codegen.closed_form import Sum
from forearm.codegen.program import Argument, Program, Ref
from forearm.codegen.typesetting.formulas import Page, width
from forearm.codegen.typesetting.names import letter
from forearm.portable import total

WIDTH = 91.0  # width of an equation, in digits
MOST_COLUMNS = 10  # columns of a matrix, the maximum of amsmath


def equations(program: Program, page: Page) -> list[str]:
    """The outputs that have a closed form, then the arguments that were given names;
    they may need further ones.
    """
    lines: list[str] = []
    for output in program.outputs:
        if output.name in page.form.outputs:
            lines += ["", *_output(output, page.form.outputs[output.name], page)]
    told: list[tuple[str, list[str]]] = []
    while len(told) < len(page.named):
        argument, name = list(page.named.items())[len(told)]
        told.append((name, page.lines(argument, WIDTH - width(name))))
    return [*lines, "Here", *aligned(told)] if told else lines


def aligned(rows: list[tuple[str, list[str]]], apart: str = "[1ex]", relation: str = "=") -> list[str]:
    """Equations one below the other, each with a name and the lines of its value."""
    texts = [f"  {name} &{relation} " + " \\\\\n  &\\quad {}".join(lines) for name, lines in rows]
    return [r"\begin{align*}", f" \\\\{apart}\n".join(texts), r"\end{align*}"] if texts else []


def _output(output: Argument, entries: tuple[Sum, ...], page: Page) -> list[str]:
    name = letter(output.name)
    if len(output.shape) == 2 and min(output.shape) > 1:
        matrix = _matrix(output, entries, page)
        if matrix:
            return [r"\begin{equation*}", f"{name} =", *matrix, r"\end{equation*}"]
    kept = list(range(output.size))
    lines: list[str] = []
    if _is_symmetric(output, entries):
        kept = [i for i in kept if i // output.shape[1] <= i % output.shape[1]]
        lines.append(rf"${name}$ is symmetric: ${name}_{{ij}} = {name}_{{ji}}$.")
    names = [page.names[Ref(output.name, i)] for i in kept]
    room = WIDTH - max(map(width, names), default=0.0)
    return lines + aligned(
        [(name, page.lines(entries[i], room)) for i, name in zip(kept, names, strict=True)]
    )


def _matrix(output: Argument, entries: tuple[Sum, ...], page: Page) -> list[str]:
    """The matrix as a whole, if it is small enough."""
    rows, columns = output.shape
    texts = [page.text(entry) for entry in entries]
    widths = [max(width(t) for t in texts[j::columns]) for j in range(columns)]
    if columns > MOST_COLUMNS or total(widths) + 4 * columns > WIDTH:
        return []
    inside = [" & ".join(texts[i * columns : (i + 1) * columns]) + r" \\" for i in range(rows)]
    return [r"\begin{bmatrix}", *inside, r"\end{bmatrix}"]


def _is_symmetric(output: Argument, entries: tuple[Sum, ...]) -> bool:
    if len(output.shape) != 2 or output.shape[0] != output.shape[1] or output.size == 1:
        return False
    n = output.shape[0]
    return all(_alike(entries[i * n + j], entries[j * n + i]) for i in range(n) for j in range(i))


def _alike(a: Sum, b: Sum) -> bool:
    """Whether two sums are the same up to rounding."""
    return len(a) == len(b) and all(
        x.factors == y.factors
        and math.isclose(x.coefficient, y.coefficient, rel_tol=1e-12)
        and _alike(x.bracket, y.bracket)
        for x, y in zip(a, b, strict=True)
    )
