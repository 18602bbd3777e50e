"""LaTeX: the equations for people to read, in closed form for small arms, as a list of statements for others."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from itertools import groupby

import numpy as np

from forearm.codegen.closed_form import (
    MOST_TERMS,
    NOISE,
    PARAMETER,
    SAME_ANGLE,
    Affine,
    ClosedForm,
    Factor,
    Function,
    Sum,
    Term,
    Trig,
    affine,
    affine_values,
    all_statements,
    closed_form,
    needed,
)
from forearm.codegen.languages.language import Language
from forearm.codegen.program import Argument, Op, Program, Ref, Statement, Tree
from forearm.codegen.text import ATOM, PRODUCT, SUM, paragraphs

DIGITS = 6  # significant digits of numbers
WIDTH = 91.0  # of an equation, in digits
INDENT = 6.0  # of lines that go on
TOGETHER = 75.0  # a bracket in a bracket is broken only if it is wider
SHORT = 24.0  # of an argument of a function; longer ones get a name
MOST_COLUMNS = 10  # of a matrix, as amsmath has it

LETTERS = {
    "qd": r"\dot{q}", "qdd": r"\ddot{q}", "tau": r"\tau", "bias": "b", "gravity": "g", "Jd": r"\dot{J}", "kinetic": "K",
    "potential": "P", "w": r"\omega", "wd": r"\dot{\omega}", "vd": r"\dot{v}", "O": r"\Omega", "Omega": r"\Omega",
    "alpha": r"\alpha", "lambda": r"\lambda", "theta": r"\vartheta",
}  # fmt: skip
ENERGIES = ("kinetic", "potential")  # arrays of one entry, which needs no index
MASSES = {"mass": "m", "com": "r", "inertia": "I", "a": "a", "d": "d", "alpha": r"\alpha"}
FUNCTIONS = {"cos": r"\cos", "sin": r"\sin", "sign": r"\operatorname{sgn}"}
BRACKETS = (("(", ")"), (r"\bigl[", r"\bigr]"), (r"\Bigl\{", r"\Bigr\}"))  # by how many are nested inside
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
    """A document that compiles by itself: what it is about, notation, arguments, equations."""
    page = _Page(program, closed_form(program), digits)
    equations = page.equations()
    lines = [
        "% A LaTeX document for amsmath; it compiles by itself.",
        *(f"%   | {line}".rstrip() for line in paragraphs(program.about)),
        *PREAMBLE,
        rf"\section*{{{escape(program.name)}}}",
        *(escape(line) + r"\par" for line in program.about if line.strip()),
        *page.arguments(),
        *page.notation(),
        *equations,
        r"\end{document}",
    ]
    return "\n".join(lines) + "\n"


# Text from outside.

SPECIAL = {c: f"\\{c}" for c in "#$%&_{}"} | {
    "\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''", "`": "{`}", "-": "{-}", "[": "{[}", "]": "{]}",
    "\u2013": "--", "\u2014": "---", "\u2018": "{`}", "\u2019": "'", "\u201c": "``", "\u201d": "''",
    "\u00b0": r"$^{\circ}$", "\u00b2": r"$^{2}$", "\u00b3": r"$^{3}$", "\u00b1": r"$\pm$",
    "\u00b7": r"$\cdot$", "\u00d7": r"$\times$", "\u00df": r"{\ss}", "\u00e6": r"{\ae}", "\u00c6": r"{\AE}",
    "\u00f8": r"{\o}", "\u00d8": r"{\O}", "\u0153": r"{\oe}", "\u0152": r"{\OE}",
}  # fmt: skip
ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c",
}  # fmt: skip


def escape(text: str) -> str:
    """Text that means itself and nothing else to LaTeX; characters that its fonts lack are named by their number."""
    return "".join(_escaped(c) for c in unicodedata.normalize("NFC", text))


def _escaped(c: str) -> str:
    if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp"):  # controls, among them all ends of lines
        return " "
    if c in SPECIAL:
        return SPECIAL[c]
    if c.isascii():
        return c
    apart = unicodedata.normalize("NFD", c)
    letter, mark = apart[0], ACCENTS.get(apart[1:])
    if letter.isascii() and letter.isalpha() and mark:
        return rf"\{mark}{{{letter}}}"
    return f"{{[}}U+{ord(c):04X}{{]}}"


# Names.


class _Names:
    """What each value is called, each name once."""

    def __init__(self, program: Program) -> None:
        self.arguments = {a.name: a for a in (*program.inputs, *program.outputs)}
        self.made: dict[Ref, str] = {}
        self.bars = False  # whether a value is the negative of the one whose name it has
        self.taken: set[str] = set()
        for argument in self.arguments.values():
            for index in range(argument.size):
                self._take(Ref(argument.name, index), self._entry(argument, index), "")
        for index, name in enumerate(program.parameters):
            self._take(Ref(PARAMETER, index), _parameter(name), f"p_{{{index + 1}}}")
        for index in range(program.kept):
            self._take(Ref("k", index), f"k_{{{index + 1}}}", rf"\mathrm{{k}}_{{{index + 1}}}")

    def __getitem__(self, ref: Ref) -> str:
        return self.made[ref]

    def temporary(self, ref: Ref, same_as: Ref | None = None) -> None:
        """A name for a value on the way; it may have that of an output which is this value."""
        wanted = self._temporary(ref.name)
        if same_as is not None and wanted == self.made[same_as]:
            self.made[ref] = self.made[same_as]
        else:
            self._take(ref, wanted, _word(ref.name))

    def share(self, ref: Ref, name: str) -> None:
        """A name that several values may have: they are the same."""
        self.taken.add(name)
        self.made[ref] = name

    def whole(self, argument: Argument) -> str:
        """The name of an array."""
        return _letter(argument.name)

    def _take(self, ref: Ref, wanted: str | None, otherwise: str) -> None:
        name = otherwise if wanted is None or wanted in self.taken else wanted
        while not name or name in self.taken:
            name = f"{{{name or wanted}}}'"
        self.taken.add(name)
        self.made[ref] = name

    def _entry(self, argument: Argument, index: int) -> str:
        if not argument.shape or argument.name in ENERGIES:
            return _letter(argument.name)
        places = [int(i) + 1 for i in np.unravel_index(index, argument.shape)]
        return f"{_letter(argument.name)}_{{{_indices(places)}}}"

    def _temporary(self, name: str) -> str | None:
        """w3x, t12, f_in3x, and w3xn for the negative of w3x; a copy of a name, w3x_2, has its number behind a comma."""
        match = re.fullmatch(r"([A-Za-z]+?)(?:_([A-Za-z]+))?(\d+)([xyz]*)(n?)(?:_(\d+))?", name)
        if match is None:
            return None
        stem, mark, link, axes, negative, copy = match.groups()
        if stem == "vdc":  # vd*, the acceleration of the centre
            stem, mark = "vd", "c"
        letter = _letter(stem)
        if negative:
            self.bars = True
            letter = rf"\bar{{{letter}}}"
        below = (rf"\mathrm{{{mark}}}" if mark else "") + link + axes + (f",{copy}" if copy else "")
        return f"{letter}_{{{below}}}"


def _letter(name: str) -> str:
    """A letter for a name, tau^base for tau_base, or else the name itself in upright letters."""
    stem, _, mark = name.partition("_")
    letter = LETTERS.get(stem) or (stem if re.fullmatch("[A-Za-z]", stem) else None)
    if letter is None:
        return _word(name)
    return f"{letter}^{{{_word(mark)}}}" if mark else letter


def _word(name: str) -> str:
    """A name in upright letters; what is no letter or digit becomes an underscore."""
    return rf"\mathrm{{{re.sub('[^A-Za-z0-9]', lambda _: chr(92) + '_', name)}}}"


def _indices(places: Iterable[int]) -> str:
    """12 for 1 and 2; with commas where one has two digits."""
    texts = [str(i) for i in places]
    return ("" if all(len(t) == 1 for t in texts) else ",").join(texts)


def _parameter(name: str) -> str | None:
    """m_2 for link2.mass, r_2x for link2.com.x, I_2xx for link2.inertia.xx, g_z for gravity.z; None for others."""
    gravity = re.fullmatch(r"gravity\.([xyz])", name)
    if gravity:
        return f"g_{{{gravity[1]}}}"
    match = re.fullmatch(r"([A-Za-z_ -]*)(\d*)\.(\w+)(?:\.([xyz]{1,2}))?", name, flags=re.ASCII)
    if match is None or match[3] not in MASSES:
        return None
    owner = match[2] or (rf"\mathrm{{{match[1]}}}" if match[1].isalpha() else None)
    return None if owner is None else f"{MASSES[match[3]]}_{{{owner}{match[4] or ''}}}"


# Equations.


class _Page:
    """The text of one program, and what has to be explained of it."""

    def __init__(self, program: Program, form: ClosedForm, digits: int) -> None:
        self.program, self.form, self.digits = program, form, digits
        self.names = _Names(program)
        self.rates = {a.name for a in program.inputs if a.name != "q"}
        self.letters = next((pair for pair in ("cs", "CS") if not set(pair) & self.names.arguments.keys()), None)
        self.short: dict[str, Trig] = {}  # abbreviations in use
        self.rounded = False
        self.named: dict[Sum, str] = {}  # long arguments of functions

    def equations(self) -> list[str]:
        """The outputs in closed form, then the statements for those that have none."""
        lines: list[str] = []
        for output in self.program.outputs:
            if output.name in self.form.outputs:
                lines += ["", *self._output(output, self.form.outputs[output.name])]
        lines += self._where()
        left = [o for o in self.program.outputs if o.name not in self.form.outputs]
        return [*lines, *self._statements(left)] if left else lines

    def arguments(self) -> list[str]:
        """What goes in and comes out, and the parameters with the values of the arm."""
        rows = [(a, "in") for a in self.program.inputs] + [(a, "out") for a in self.program.outputs]
        lines = [r"\begin{longtable}[l]{@{}llp{0.7\textwidth}@{}}", r"& size & meaning \\ \hline"]
        for a, way in rows:
            size = r" \times ".join(str(n) for n in a.shape) or "1"
            lines.append(rf"${self.names.whole(a)}$ ({way}) & ${size}$ & {escape(a.meaning)} \\")
        lines.append(r"\end{longtable}")
        if self.program.parameters:
            lines += [r"\begin{longtable}[l]{@{}lp{0.6\textwidth}r@{}}", r"& parameter & value of the arm, SI \\ \hline"]
            for i, (name, value) in enumerate(zip(self.program.parameters, self.program.defaults, strict=True)):
                lines.append(rf"${self.names[Ref(PARAMETER, i)]}$ & {escape(name)} & ${self.number(value)}$ \\")
            lines.append(r"\end{longtable}")
        return lines

    def notation(self) -> list[str]:
        """A line for each kind of abbreviation in use."""
        lines: list[str] = []
        examples = sorted(self.short.items(), key=lambda item: (len(item[1].angle), item[0]))
        chosen = {len(trig.angle): (name, trig) for name, trig in reversed(examples)}
        if chosen:
            told = [f"${name} = {self._spelled(trig)}$" for _, (name, trig) in sorted(chosen.items())]
            lines.append(rf"Cosines and sines are written short: {', '.join(told)}, and so on.\par")
        if self.form.offsets and (chosen or self.form.outputs):
            told = [f"${self._angle(v)} = {self.names[v]} {self._signed(offset)}$" for v, offset in self.form.offsets.items()]
            lines.append(rf"Angles: {', '.join(told)}; for all other joints $\theta_{{i}} = q_{{i}}$.\par")
        if self.names.bars:
            lines.append(r"A bar marks a value that is kept with its sign changed: $\bar{x} = -x$.\par")
        if self.rounded:
            lines.append(rf"Numbers are rounded to {self.digits} significant digits.\par")
        if self.form.outputs:
            lines.append(
                "Closed forms leave out terms whose coefficient is below "
                rf"${self.number(NOISE)}$ of the largest of the same output: rounding.\par"
            )
        return lines

    def _output(self, output: Argument, entries: tuple[Sum, ...]) -> list[str]:
        name = self.names.whole(output)
        if len(output.shape) == 2 and min(output.shape) > 1:
            matrix = self._matrix(output, entries)
            if matrix:
                return [r"\begin{equation*}", f"{name} =", *matrix, r"\end{equation*}"]
        kept = list(range(output.size))
        lines: list[str] = []
        if _is_symmetric(output, entries):
            kept = [i for i in kept if i // output.shape[1] <= i % output.shape[1]]
            lines.append(rf"${name}$ is symmetric: ${name}_{{ij}} = {name}_{{ji}}$.")
        names = [self.names[Ref(output.name, i)] for i in kept]
        room = WIDTH - max(map(_width, names), default=0.0)
        return lines + self._align([(name, self._lines(entries[i], room)) for i, name in zip(kept, names, strict=True)])

    def _matrix(self, output: Argument, entries: tuple[Sum, ...]) -> list[str]:
        """The matrix as a whole, if it is small enough."""
        rows, columns = output.shape
        texts = [" ".join(self._flat(entry)) for entry in entries]
        widths = [max(_width(t) for t in texts[j::columns]) for j in range(columns)]
        if columns > MOST_COLUMNS or sum(widths) + 4 * columns > WIDTH:
            return []
        inside = [" & ".join(texts[i * columns : (i + 1) * columns]) + r" \\" for i in range(rows)]
        return [r"\begin{bmatrix}", *inside, r"\end{bmatrix}"]

    def _where(self) -> list[str]:
        """The arguments that got a name; they may need further ones."""
        told: list[tuple[str, list[str]]] = []
        while len(told) < len(self.named):
            argument, name = list(self.named.items())[len(told)]
            told.append((name, self._lines(argument, WIDTH - _width(name))))
        return ["Here", *self._align(told)] if told else []

    def _align(self, equations: list[tuple[str, list[str]]], apart: str = "[1ex]") -> list[str]:
        rows = [f"  {name} &= " + " \\\\\n  &\\quad {}".join(lines) for name, lines in equations]
        return [r"\begin{align*}", f" \\\\{apart}\n".join(rows), r"\end{align*}"] if rows else []

    # Sums.

    def _flat(self, terms: Sum, together: float = 0.0) -> list[str]:
        """The pieces of a sum, without the sign of the first if it is plus; terms up to the width `together` are one piece."""
        pieces: list[str] = []
        for term in terms:
            run = self._term(term)
            pieces += [" ".join(run)] if _width(" ".join(run)) <= together else run
        return [pieces[0].removeprefix("+ "), *pieces[1:]] if pieces else ["0"]

    def _lines(self, terms: Sum, room: float) -> list[str]:
        """A sum in lines: broken between its terms, and inside their brackets where these are long."""
        whole = " ".join(self._flat(terms))
        if _width(whole) <= room:
            return [whole]
        lines: list[str] = []
        line, kind = "", self._kind(terms[0])
        for term in terms:
            run = self._term(term)
            long = _width(" ".join(run)) > room
            if line and (long or self._kind(term) != kind or _width(f"{line} {' '.join(run)}") > room):
                lines.append(line)
                line = ""
            kind = self._kind(term)
            for piece in run:
                if long and line and _width(f"{line} {piece}") > room - INDENT:
                    lines.append(line)
                    line = r"\qquad {}"
                line = f"{line} {piece}".strip()
            if long:
                lines.append(line)
                line = ""
        lines += [line] if line else []
        return [lines[0].removeprefix("+ "), *lines[1:]]

    def _kind(self, term: Term) -> list[str]:
        """With what inputs a term goes: accelerations, products of rates, none."""
        return sorted(f.name for f, p in term.factors for _ in range(abs(p)) if isinstance(f, Ref) and f.name in self.rates)

    def _is_rate(self, factor: Factor) -> bool:
        return isinstance(factor, Ref) and factor.name in self.rates

    def _term(self, term: Term) -> list[str]:
        """A term with its sign in front; a bracket comes as one piece for each of its own."""
        below = [(f, p) for f, p in term.factors if _is_below(f, p)]
        rates = [(f, p) for f, p in term.factors if self._is_rate(f) and not _is_below(f, p)]
        others = [(f, p) for f, p in term.factors if not self._is_rate(f) and not _is_below(f, p)]
        front = " ".join(self._power(f, p) for f, p in sorted(others, key=lambda item: _class(item[0])))
        behind = " ".join(self._power(f, p) for f, p in rates)
        size = abs(term.coefficient)
        if size != 1.0 or not (others or rates or below or term.bracket):
            front = f"{self.number(size)} {front}".rstrip()
        if below:
            front = rf"\frac{{{front or '1'}}}{{{' '.join(self._power(f, p) for f, p in below)}}}"
        sign = "-" if term.coefficient < 0.0 else "+"
        behind = rf"\, {behind}" if behind and (front or term.bracket) else behind
        if not term.bracket:
            return [" ".join(filter(None, (sign, front, behind)))]
        opening, closing = BRACKETS[min(_height(term.bracket), 2)]
        inside = self._flat(term.bracket, TOGETHER)
        inside[0] = " ".join(filter(None, (sign, front, opening + inside[0])))
        inside[-1] = f"{inside[-1]}{closing} {behind}".rstrip()
        return inside

    def _power(self, factor: Factor, power: int) -> str:
        """A factor to a power; where it stands says whether above or below."""
        up = "" if abs(power) == 1 else f"^{{{abs(power)}}}"
        if isinstance(factor, Ref):
            return self.names[factor] + up
        if isinstance(factor, Trig):
            name = self._abbreviated(factor)
            if name is None:
                return self._spelled(factor, up)
            self.short[name] = factor
            return name + up
        if factor.name == "inverse" and len(factor.argument) > 1:
            return self._named(factor.argument) + up
        argument = self._argument(factor.argument)
        if factor.name == "inverse":
            return f"({argument}){up}" if up else argument
        if factor.name == "sqrt":
            return rf"{{\sqrt{{{argument}}}}}{up}"
        return f"{FUNCTIONS[factor.name]}{up}({argument})"

    def _argument(self, terms: Sum) -> str:
        text = " ".join(self._flat(terms))
        return text if _width(text) <= SHORT else self._named(terms)

    def _named(self, terms: Sum) -> str:
        """The name of a sum that is written elsewhere."""
        return self.named.setdefault(terms, rf"\Delta_{{{len(self.named) + 1}}}")

    def _abbreviated(self, trig: Trig) -> str | None:
        """c_2 or s_23, if the angle is a plain sum of joint angles."""
        if self.letters is None or any(v.name != "q" or c != 1 for v, c in trig.angle):
            return None
        return f"{self.letters[trig.sine]}_{{{_indices((v.index or 0) + 1 for v, _ in trig.angle)}}}"

    def _spelled(self, trig: Trig, up: str = "") -> str:
        r"""\cos(2 q_2 + q_3)"""
        text = ""
        for v, c in trig.angle:
            size = "" if abs(c) == 1 else f"{self.number(float(abs(c)))} "
            text += f" {'-' if c < 0 else '+'} {size}{self._angle(v)}"
        text = text.removeprefix(" + ")
        function = FUNCTIONS["sin" if trig.sine else "cos"]
        return f"{function}{up}({text})"

    def number(self, value: float) -> str:
        """A number in as many digits as the page has."""
        text = f"{value:.{self.digits}g}"
        self.rounded = self.rounded or float(text) != value
        mantissa, _, exponent = text.partition("e")
        if not exponent:
            return mantissa
        power = f"10^{{{int(exponent)}}}"
        return power if mantissa == "1" else rf"{mantissa} \times {power}"

    def _signed(self, value: float) -> str:
        return f"{'-' if value < 0.0 else '+'} {self.number(abs(value))}"

    def _angle(self, variable: Ref) -> str:
        """A joint's angle: its coordinate, or that with its offset if there are any offsets."""
        if self.form.offsets and variable.name == "q":
            return rf"\theta_{{{(variable.index or 0) + 1}}}"
        return self.names[variable]

    # Statements.

    def _statements(self, outputs: list[Argument]) -> list[str]:
        """The statements that compute these outputs, in order, by sections."""
        statements = all_statements(self.program)
        targets = [Ref(o.name, i) for o in outputs for i in range(o.size)]
        short = self._short_ones(statements)
        wanted = needed(statements, targets, frozenset(short))
        listed = [s for s in statements if s.target in wanted and s.target not in short]
        for target, trig in short.items():
            if target in wanted:
                self.names.share(target, self._power(trig, 1))
        same = {s.value: s.target for s in listed if s.target in targets and isinstance(s.value, Ref)}
        for statement in listed:
            if statement.target.index is None:
                self.names.temporary(statement.target, same.get(statement.target))
        names = ", ".join(f"${self.names.whole(o)}$" for o in outputs)
        lines = ["", f"No closed form of {names} is given: an equation would have more than {MOST_TERMS} terms."]
        lines.append("These statements compute the same, one after the other.")
        for section, group in groupby(listed, key=lambda s: s.section):
            rows = [(self.names[s.target], [self._tree(s.value)[0]]) for s in group if not self._says_nothing(s)]
            if rows:
                lines += [rf"\subsubsection*{{{escape(section)}}}"] if section else []
                lines += self._align(rows, "")
        return lines

    def _short_ones(self, statements: tuple[Statement, ...]) -> dict[Ref, Trig]:
        """The statements that are cosines and sines with an abbreviation."""
        known, made = affine_values(statements), {s.target for s in statements}
        found: dict[Ref, Trig] = {}
        for s in statements:
            if s.target.index is None and isinstance(s.value, Op) and s.value.operator in ("cos", "sin"):
                angle = affine(s.value.operands[0], known, made)
                if angle is not None and self._has_no_rest(angle):
                    joints = sorted(angle.coefficients.items(), key=lambda item: item[0].index or 0)
                    trig = Trig(s.value.operator == "sin", tuple(joints))
                    if self._abbreviated(trig) is not None:
                        found[s.target] = trig
        return found

    def _has_no_rest(self, angle: Affine) -> bool:
        """Whether an angle's offset is that of its joints."""
        own = sum(float(c) * self.form.offsets.get(v, 0.0) for v, c in angle.coefficients.items())
        return abs(angle.offset - own) <= SAME_ANGLE

    def _says_nothing(self, statement: Statement) -> bool:
        """Whether it only gives a value the name that it has."""
        return isinstance(statement.value, Ref) and self.names[statement.value] == self.names[statement.target]

    def _tree(self, tree: Tree) -> tuple[str, int]:
        """The text of an expression, and what binds it."""
        if isinstance(tree, float | int):
            return self.number(tree), ATOM if tree >= 0.0 else SUM
        if isinstance(tree, Ref):
            return self.names[tree], ATOM
        if tree.operator == "neg":
            return f"-{self._inside(tree.operands[0], PRODUCT)}", SUM
        if tree.operator == "sqrt":
            return rf"\sqrt{{{self._tree(tree.operands[0])[0]}}}", ATOM
        if len(tree.operands) == 1:
            return f"{FUNCTIONS[tree.operator]}({self._tree(tree.operands[0])[0]})", ATOM
        a, b = tree.operands
        if tree.operator == "/":
            return rf"\frac{{{self._tree(a)[0]}}}{{{self._tree(b)[0]}}}", PRODUCT
        if tree.operator == "*" and a == b:
            base = self._inside(a, ATOM)
            return f"{base}^{{2}}" if isinstance(a, Ref) and not set(base) & set("'^") else f"{{{base}}}^{{2}}", ATOM
        if tree.operator == "*":
            a, b = (b, a) if isinstance(b, float) and not isinstance(a, float) else (a, b)
            second = self._inside(b, PRODUCT)
            between = r" \cdot " if second[0].isdigit() else " "
            return f"{self._inside(a, PRODUCT)}{between}{second}", PRODUCT
        return f"{self._inside(a, SUM)} {tree.operator} {self._inside(b, SUM if tree.operator == '+' else PRODUCT)}", SUM

    def _inside(self, tree: Tree, least: int) -> str:
        text, binding = self._tree(tree)
        return text if binding >= least and not text.startswith("-") else f"({text})"


def _is_below(factor: Factor, power: int) -> bool:
    """Whether a factor stands below the line of a fraction."""
    return (power < 0) is not (isinstance(factor, Function) and factor.name == "inverse")


def _class(factor: Factor) -> int:
    """Parameters first, then coordinates, functions, cosines and sines."""
    if isinstance(factor, Ref):
        return 0 if factor.name == PARAMETER else 1
    return 2 if isinstance(factor, Function) else 3


def _height(terms: Sum) -> int:
    """How deep brackets are nested in a sum."""
    return max((1 + _height(t.bracket) for t in terms if t.bracket), default=0)


def _width(text: str) -> float:
    """About how wide a formula is, in digits."""
    text = re.sub(r"\\(frac|mathrm|dot|ddot|bar|bigl|bigr|Bigl|Bigr|operatorname|quad|,)", "", text)
    small = sum(0.75 * len(re.sub(r"\\[A-Za-z]+|[{}]", "x", inner)) for inner in re.findall(r"[_^]\{([^{}]*)\}", text))
    text = re.sub(r"[_^]\{[^{}]*\}", "", text)
    text = re.sub(r"\\[A-Za-z]+", "xx", text)
    signs = len(re.findall(r"[+=-]", text))
    return small + 1.5 * signs + len(re.sub(r"[{}\\ ]", "", text))


def _is_symmetric(output: Argument, entries: tuple[Sum, ...]) -> bool:
    if len(output.shape) != 2 or output.shape[0] != output.shape[1] or output.size == 1:
        return False
    n = output.shape[0]
    return all(_alike(entries[i * n + j], entries[j * n + i]) for i in range(n) for j in range(i))


def _alike(a: Sum, b: Sum) -> bool:
    """Whether two sums are the same but for rounding."""
    return len(a) == len(b) and all(
        x.factors == y.factors and math.isclose(x.coefficient, y.coefficient, rel_tol=1e-12) and _alike(x.bracket, y.bracket)
        for x, y in zip(a, b, strict=True)
    )


LANGUAGE = Language("latex", "LaTeX", "tex", "", write)
