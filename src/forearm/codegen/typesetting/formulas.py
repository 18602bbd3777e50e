"""Sums and their terms as LaTeX, broken into lines if long."""

from __future__ import annotations

import re
from collections.abc import Iterable

from forearm.codegen.closed_form import PARAMETER, Factor, FunctionCall, Sum, SymbolicClosedForm, Term, Trig
from forearm.codegen.program import Ref
from forearm.codegen.typesetting.names import Names, indices
from forearm.portable import total
from forearm.symbols.table import LookupTable

INDENT = 6.0  # of continuation lines, in digits
TOGETHER = 75.0  # a nested bracket is broken only if it is wider
SHORT = 24.0  # of a function's argument; longer ones get a name
FUNCTIONS = {
    "cos": r"\cos",
    "sin": r"\sin",
    "sign": r"\operatorname{sgn}",
    "abs": r"\operatorname{abs}",
    "exp": r"\exp",
    "rint": r"\operatorname{round}",
}
BRACKETS = (("(", ")"), (r"\bigl[", r"\bigr]"), (r"\Bigl\{", r"\Bigr\}"))  # by nesting depth


class Page:
    """The formulas of one program, and the notation to be explained."""

    def __init__(self, names: Names, form: SymbolicClosedForm, digits: int) -> None:
        self.names, self.form, self.digits = names, form, digits
        self.short: dict[str, Trig] = {}  # abbreviations in use
        self.rounded = False
        self.named: dict[Sum, str] = {}  # long arguments of functions
        self.tables: dict[LookupTable, str] = {}  # in statements with look-ups

    def text(self, terms: Sum) -> str:
        """A sum in one line."""
        return " ".join(self._pieces(terms, 0.0))

    def lines(self, terms: Sum, room: float) -> list[str]:
        """A sum in lines: broken between its terms, and inside long brackets."""
        whole = self.text(terms)
        if width(whole) <= room:
            return [whole]
        lines: list[str] = []
        line, kind = "", self._kind(terms[0])
        for term in terms:
            run = self._term(term)
            long = width(" ".join(run)) > room
            if line and (long or self._kind(term) != kind or width(f"{line} {' '.join(run)}") > room):
                lines.append(line)
                line = ""
            kind = self._kind(term)
            for piece in run:
                if long and line and width(f"{line} {piece}") > room - INDENT:
                    lines.append(line)
                    line = r"\qquad {}"
                line = f"{line} {piece}".strip()
            if long:
                lines.append(line)
                line = ""
        lines += [line] if line else []
        return [lines[0].removeprefix("+ "), *lines[1:]]

    def factor(self, factor: Factor, power: int = 1) -> str:
        """A factor to a power; the sign of its exponent is handled by the caller."""
        up = "" if abs(power) == 1 else f"^{{{abs(power)}}}"
        if isinstance(factor, Ref):
            return self.names[factor] + up
        if isinstance(factor, Trig):
            name = self.abbreviated(factor)
            if name is None:
                return self.spelled(factor, up)
            self.short[name] = factor
            return name + up
        if factor.name == "inverse" and len(factor.argument) > 1:
            return self._named(factor.argument) + up
        argument = self.text(factor.argument)
        if width(argument) > SHORT:
            argument = self._named(factor.argument)
        if factor.name == "inverse":
            return f"({argument}){up}" if up else argument
        if factor.name == "sqrt":
            return rf"{{\sqrt{{{argument}}}}}{up}"
        return f"{FUNCTIONS[factor.name]}{up}({argument})"

    def abbreviated(self, trig: Trig) -> str | None:
        """c_2 or s_23, if the angle is a plain sum of joint angles."""
        if self.names.cos_sin is None or any(v.name != "q" or c != 1 for v, c in trig.angle):
            return None
        return f"{self.names.cos_sin[trig.sine]}_{{{indices((v.index or 0) + 1 for v, _ in trig.angle)}}}"

    def spelled(self, trig: Trig, up: str = "") -> str:
        r"""\cos(2 q_2 + q_3)"""
        text = ""
        for v, c in trig.angle:
            size = "" if abs(c) == 1 else f"{self.number(float(abs(c)))} "
            text += f" {'-' if c < 0 else '+'} {size}{self.angle(v)}"
        return f"{FUNCTIONS['sin' if trig.sine else 'cos']}{up}({text.removeprefix(' + ')})"

    def angle(self, variable: Ref) -> str:
        """A joint's angle: its coordinate, or the coordinate plus its offset if there are offsets."""
        if self.form.offsets and variable.name == "q":
            return rf"\theta_{{{(variable.index or 0) + 1}}}"
        return self.names[variable]

    def number(self, value: float) -> str:
        """A number with the document's number of digits."""
        text = f"{value:.{self.digits}g}"
        self.rounded = self.rounded or float(text) != value
        mantissa, _, exponent = text.partition("e")
        if not exponent:
            return mantissa
        power = f"10^{{{int(exponent)}}}"
        return power if mantissa == "1" else rf"{mantissa} \times {power}"

    def _pieces(self, terms: Sum, together: float) -> list[str]:
        """The pieces of a sum, without a leading plus; terms up to the width `together` are one piece."""
        pieces: list[str] = []
        for term in terms:
            run = self._term(term)
            pieces += [" ".join(run)] if width(" ".join(run)) <= together else run
        return [pieces[0].removeprefix("+ "), *pieces[1:]] if pieces else ["0"]

    def _term(self, term: Term) -> list[str]:
        """A term preceded by its sign; a bracket is returned as one piece per term inside."""
        below = [x for x in term.factors if _is_below(*x)]
        rates = self._rates(term)
        others = [x for x in term.factors if x not in below and x not in rates]
        front = self._product(sorted(others, key=lambda item: _class(item[0])))
        behind = self._product(x for x in rates if x not in below)
        size = abs(term.coefficient)
        if size != 1.0 or not (term.factors or term.bracket):
            front = f"{self.number(size)} {front}".rstrip()
        if below:
            front = rf"\frac{{{front or '1'}}}{{{self._product(below)}}}"
        sign = "-" if term.coefficient < 0.0 else "+"
        behind = rf"\, {behind}" if behind and (front or term.bracket) else behind
        if not term.bracket:
            return [" ".join(filter(None, (sign, front, behind)))]
        opening, closing = BRACKETS[min(_height(term.bracket), 2)]
        inside = self._pieces(term.bracket, TOGETHER)
        inside[0] = " ".join(filter(None, (sign, front, opening + inside[0])))
        inside[-1] = f"{inside[-1]}{closing} {behind}".rstrip()
        return inside

    def _product(self, factors: Iterable[tuple[Factor, int]]) -> str:
        return " ".join(self.factor(f, p) for f, p in factors)

    def _rates(self, term: Term) -> list[tuple[Ref, int]]:
        return [(f, p) for f, p in term.factors if isinstance(f, Ref) and f.name in self.form.rates]

    def _kind(self, term: Term) -> list[str]:
        """The inputs that a term multiplies: accelerations, products of rates, none."""
        return sorted(f.name for f, p in self._rates(term) for _ in range(abs(p)))

    def _named(self, terms: Sum) -> str:
        """The name of a sum that is defined elsewhere."""
        return self.named.setdefault(terms, rf"\Delta_{{{len(self.named) + 1}}}")


def _is_below(factor: Factor, power: int) -> bool:
    """Whether a factor is in the denominator."""
    return (power < 0) is not (isinstance(factor, FunctionCall) and factor.name == "inverse")


def _class(factor: Factor) -> int:
    """Parameters first, then coordinates, functions, cosines and sines."""
    if isinstance(factor, Ref):
        return 0 if factor.name == PARAMETER else 1
    return 2 if isinstance(factor, FunctionCall) else 3


def _height(terms: Sum) -> int:
    """The nesting depth of brackets in a sum."""
    return max((1 + _height(t.bracket) for t in terms if t.bracket), default=0)


def width(text: str) -> float:
    """Approximate width of a formula, in digits."""
    text = re.sub(r"\\(frac|mathrm|dot|ddot|bar|bigl|bigr|Bigl|Bigr|operatorname|quad|,)", "", text)
    small: float = total(
        0.75 * len(re.sub(r"\\[A-Za-z]+|[{}]", "x", inner)) for inner in re.findall(r"[_^]\{([^{}]*)\}", text)
    )
    text = re.sub(r"[_^]\{[^{}]*\}", "", text)
    text = re.sub(r"\\[A-Za-z]+", "xx", text)
    signs = len(re.findall(r"[+=-]", text))
    return small + 1.5 * signs + len(re.sub(r"[{}\\ ]", "", text))
