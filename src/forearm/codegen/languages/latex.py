"""LaTeX: the equations for readers, in closed form for small arms, as a list of statements for others."""

from __future__ import annotations

from forearm.codegen.closed_form import NOISE, PARAMETER, closed_form
from forearm.codegen.languages.language import Language
from forearm.codegen.program import Program, Ref
from forearm.codegen.text import paragraphs
from forearm.codegen.typesetting.equations import equations
from forearm.codegen.typesetting.escaping import escape
from forearm.codegen.typesetting.formulas import Page
from forearm.codegen.typesetting.names import Names, letter
from forearm.codegen.typesetting.statements import statements

DIGITS = 6  # significant digits of numbers
PREAMBLE = (
    r"\documentclass[a4paper]{article}",
    r"\usepackage[margin=20mm]{geometry}",
    r"\usepackage{amsmath}",
    r"\usepackage{longtable}",
    r"\setlength{\parindent}{0pt}",
    r"\setlength{\parskip}{4pt}",
    r"\allowdisplaybreaks",
    r"\begin{document}",
)


def write(program: Program) -> tuple[str, str]:
    """The document; there is no header."""
    return document(program), ""


def document(program: Program, digits: int = DIGITS) -> str:
    """A complete document: subject, arguments, notation, equations."""
    page = Page(Names(program), closed_form(program), digits)
    # before the notation, which explains what they use
    body = [*equations(program, page), *statements(program, page)]
    lines = [
        "% A LaTeX document for amsmath; it compiles by itself.",
        *(f"%   | {line}".rstrip() for line in paragraphs(program.about)),
        *PREAMBLE,
        rf"\section*{{{escape(program.name)}}}",
        *(escape(line) + r"\par" for line in program.about if line.strip()),
        *_arguments(program, page),
        *_notation(page),
        *body,
        r"\end{document}",
    ]
    return "\n".join(lines) + "\n"


def _arguments(program: Program, page: Page) -> list[str]:
    """Inputs and outputs, and the parameters with the arm's values."""
    rows = [(a, "in") for a in program.inputs] + [(a, "out") for a in program.outputs]
    lines = [r"\begin{longtable}[l]{@{}llp{0.7\textwidth}@{}}", r"& size & meaning \\ \hline"]
    for a, way in rows:
        size = r" \times ".join(str(n) for n in a.shape) or "1"
        lines.append(rf"${letter(a.name)}$ ({way}) & ${size}$ & {escape(a.meaning)} \\")
    lines.append(r"\end{longtable}")
    if program.parameters:
        lines += [
            r"\begin{longtable}[l]{@{}lp{0.6\textwidth}r@{}}",
            r"& parameter & value of the arm, SI \\ \hline",
        ]
        for i, (name, value) in enumerate(zip(program.parameters, program.defaults, strict=True)):
            lines.append(rf"${page.names[Ref(PARAMETER, i)]}$ & {escape(name)} & ${page.number(value)}$ \\")
        lines.append(r"\end{longtable}")
    return lines


def _notation(page: Page) -> list[str]:
    """A line for each kind of abbreviation in use."""
    lines: list[str] = []
    offsets, outputs = page.form.offsets, page.form.outputs
    examples = sorted(page.short.items(), key=lambda item: (len(item[1].angle), item[0]))
    chosen = {len(trig.angle): (name, trig) for name, trig in reversed(examples)}
    if chosen:
        told = [f"${name} = {page.spelled(trig)}$" for _, (name, trig) in sorted(chosen.items())]
        lines.append(rf"Cosines and sines are written short: {', '.join(told)}, and so on.\par")
    if offsets and (chosen or outputs):
        told = [
            f"${page.angle(v)} = {page.names[v]} {'-' if offset < 0.0 else '+'} {page.number(abs(offset))}$"
            for v, offset in offsets.items()
        ]
        lines.append(rf"Angles: {', '.join(told)}; for all other joints $\theta_{{i}} = q_{{i}}$.\par")
    if page.names.bars:
        lines.append(r"A bar marks a value that is kept with its sign changed: $\bar{x} = -x$.\par")
    if page.rounded:
        lines.append(rf"Numbers are rounded to {page.digits} significant digits.\par")
    if outputs:
        lines.append(
            "Closed forms leave out terms whose coefficient is below "
            rf"${page.number(NOISE)}$ of the largest of the same output: rounding.\par"
        )
    return lines


LANGUAGE = Language("latex", "tex", "", write)
