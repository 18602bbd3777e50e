"""The grammar of `structured_text`: from words to declared units, whose statements are lines of Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

TOKEN = re.compile(
    r"(?P<space>\s+|\(\*.*?\*\))"
    r"|(?P<number>(?:L?REAL#[+-]?)?\d+\.\d+(?:E[+-]?\d+)?|\d+(?!\.\d|\w))"
    r"|(?P<name>[A-Za-z](?:_?[A-Za-z0-9])*(?!\w))"
    r"|(?P<mark>:=|\.\.|<=|>=|<>|[-+*/()<>\[\];:,.=])",
    re.S,
)
WORDS = frozenset(
    """
    array bool constant dint do else elsif end_for end_function end_function_block end_if end_method
    end_var end_while exit false for function function_block if lreal method not of public real then to true
    var var_input var_output while
    """.split()  # noqa: SIM905
)
DTYPES: dict[str, Any] = {"LREAL": np.float64, "REAL": np.float32}
BUILTIN: dict[str, Any] = {
    "sin": np.sin,
    "cos": np.cos,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "exp": np.exp,
    "atan": np.arctan,
}


class NotStructuredText(AssertionError):
    """Text outside the grammar, or used against the rules."""


@dataclass(frozen=True)
class Type:
    """A type of one value, or of an array with the largest subscript of each axis; or a block by its name."""

    name: str
    last: tuple[int, ...] = ()


@dataclass
class Unit:
    """A function, a function block or a method, as it is declared."""

    name: str
    kind: str
    types: dict[str, Type] = field(default_factory=dict)
    sections: dict[str, list[str]] = field(default_factory=dict)
    initial: dict[str, list[float]] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    methods: dict[str, Unit] = field(default_factory=dict)
    result: str = ""


def tokens(text: str) -> list[str]:
    """The words and marks of a text, names in lower case; all of it is read."""
    found, place = [], 0
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None:
            raise NotStructuredText(f"no word or mark: {text[place : place + 30]!r}")
        comment = match[0] if match["space"] and match[0].startswith("(*") else ""
        if "(*" in comment[2:] or "*)" in comment[:-2]:
            raise NotStructuredText(f"a comment in a comment: {comment[:40]!r}")
        found += [] if match["space"] else [match[0].lower() if match["name"] else match[0]]
        place = match.end()
    return found


class Reader:
    """Reads one unit after the other; what breaks a rule is an error."""

    def __init__(self, words: list[str]) -> None:
        self.rest = words[::-1]
        self.units: dict[str, Unit] = {}
        self.now: Unit
        self.outer: Unit | None = None
        self.loops = 0

    def take(self, *expected: str) -> str:
        """The next word, which is one of those expected, if any are named."""
        if not self.rest:
            raise NotStructuredText("the text ends too early")
        word = self.rest.pop()
        if expected and word not in expected:
            raise NotStructuredText(f"expected {' or '.join(expected)}, got {word!r} before {self.rest[-5:]}")
        return word

    def name(self) -> str:
        word = self.take()
        if not word[0].isalpha() or word in WORDS or word in BUILTIN or "#" in word:
            raise NotStructuredText(f"expected a name, got {word!r}")
        return word

    def unit(self) -> Unit:
        kind = self.take("function", "function_block")
        unit = self.now = Unit(self.name(), kind)
        if unit.name in self.units:
            raise NotStructuredText(f"{unit.name} is declared twice")
        if kind == "function":
            self.take(":")
            unit.result = self.take("lreal", "real").upper()
            unit.types[unit.name] = Type(unit.result)
        self.variables()
        while kind == "function_block" and self.rest[-1] == "method":
            self.method(unit)
        unit.lines = self.statements(f"end_{kind}", "    " if kind == "function" else "        ")
        self.take(f"end_{kind}")
        self.units[unit.name] = unit
        return unit

    def method(self, block: Unit) -> None:
        self.take("method"), self.take("public")
        unit = self.now = Unit(self.name(), "method", result="BOOL")
        self.take(":"), self.take("bool")
        unit.types[unit.name] = Type("BOOL")
        self.outer = block
        self.variables()
        unit.lines = self.statements("end_method", "        ")
        self.take("end_method")
        block.methods[unit.name] = unit
        self.now, self.outer = block, None

    def variables(self) -> None:
        while self.rest[-1] in ("var", "var_input", "var_output"):
            section = self.take()
            if section == "var" and self.rest[-1] == "constant":
                section = self.take()
            while self.rest[-1] != "end_var":
                self.declaration(section)
            self.take("end_var")

    def declaration(self, section: str) -> None:
        names = [self.name()]
        while self.rest[-1] == ",":
            self.take()
            names.append(self.name())
        self.take(":")
        of = self.type()
        for name in names:
            if name in self.now.types or name in self.units:
                raise NotStructuredText(f"{name} is declared twice")
            self.now.types[name] = of
            self.now.sections.setdefault(section, []).append(name)
        if self.rest[-1] == ":=":
            self.take(), self.take("[")
            values = [self.literal(of.name)]
            while self.take(",", "]") == ",":
                values.append(self.literal(of.name))
            if len(names) != 1 or len(of.last) != 1 or len(values) != of.last[0] + 1:
                raise NotStructuredText(f"{names}: as many values as entries are needed")
            self.now.initial[names[0]] = values
        elif section == "constant":
            raise NotStructuredText(f"{names}: a constant without a value")
        self.take(";")

    def type(self) -> Type:
        word, last = self.take(), []
        if word == "array":
            self.take("[")
            while True:
                self.take("0"), self.take("..")
                last.append(int(self.take()))
                if self.take(",", "]") == "]":
                    break
            self.take("of")
            word = self.take("lreal", "real")
        if word not in ("lreal", "real", "dint", *self.units):
            raise NotStructuredText(f"no type: {word!r}")
        return Type(word.upper() if word not in self.units else word, tuple(last))

    def literal(self, kind: str) -> float:
        sign = -1.0 if self.rest[-1] == "-" else 1.0
        if sign < 0.0:
            self.take("-")
        text, of = self.value(self.take())
        if of.name != kind:
            raise NotStructuredText(f"expected a number of type {kind}, got {text}")
        return sign * float(re.sub(r"^np\.float(?:32|64)\((.*)\)$", r"\1", text))

    def value(self, word: str) -> tuple[str, Type]:
        """A number as Python, with its type; one that does not say it is LREAL."""
        if re.fullmatch(r"\d+", word):
            return word, Type("DINT")
        if word.startswith("REAL#"):
            return f"np.float32({word[5:]})", Type("REAL")
        return f"np.float64({word.removeprefix('LREAL#')})", Type("LREAL")

    def statements(self, end: str, indent: str) -> list[str]:
        lines: list[str] = []
        ends = (end, "else", "elsif") if end == "end_if" else (end,)
        while self.rest and self.rest[-1] not in ends:
            lines += self.statement(indent)
        return lines or [f"{indent}pass"]

    def statement(self, indent: str) -> list[str]:
        word = self.rest[-1]
        if word == ";":
            self.take()
            return []
        special = {"if": self.branch, "for": self.counted, "while": self.conditional, "exit": self.leave}
        if word in special:
            return special[word](indent)
        name = self.name()
        if self.rest[-1] == "(":
            return [f"{indent}{self.call_of_block(name)}"]
        target, of = self.reference(name, writing=True)
        self.take(":=")
        value, kind = self.expression()
        if kind != of:
            raise NotStructuredText(f"{name} of {of} is given {kind}: {value[:60]}")
        self.take(";")
        return [f"{indent}{target}[...] = {value}" if of.last else f"{indent}{target} = {value}"]

    def branch(self, indent: str) -> list[str]:
        lines = []
        word = self.take("if")
        while word in ("if", "elsif"):
            lines += [f"{indent}{'if' if word == 'if' else 'elif'} {self.condition()}:"]
            self.take("then")
            lines += self.statements("end_if", f"{indent}    ")
            word = self.take("elsif", "else", "end_if")
        if word == "else":
            lines += [f"{indent}else:", *self.statements("end_if", f"{indent}    ")]
            self.take("end_if")
        self.take(";")
        return lines

    def counted(self, indent: str) -> list[str]:
        self.take("for")
        name = self.name()
        target, of = self.reference(name, writing=True)
        self.take(":=")
        first, one = self.expression()
        self.take("to")
        last, two = self.expression()
        self.take("do")
        if {of.name, one.name, two.name} != {"DINT"}:
            raise NotStructuredText(f"FOR {name}: whole numbers are needed")
        return [f"{indent}for {target} in range({first}, {last} + 1):", *self.body("end_for", indent)]

    def conditional(self, indent: str) -> list[str]:
        self.take("while")
        condition = self.condition()
        self.take("do")
        return [f"{indent}while {condition}:", *self.body("end_while", indent)]

    def body(self, end: str, indent: str) -> list[str]:
        self.loops += 1
        lines = self.statements(end, f"{indent}    ")
        self.loops -= 1
        self.take(end), self.take(";")
        return lines

    def leave(self, indent: str) -> list[str]:
        self.take("exit"), self.take(";")
        if not self.loops:
            raise NotStructuredText("EXIT outside a loop")
        return [f"{indent}break"]

    def condition(self) -> str:
        text, kind = self.expression()
        if kind != Type("BOOL"):
            raise NotStructuredText(f"expected a condition, got {text[:60]}")
        return text

    def call_of_block(self, name: str) -> str:
        target, of = self.reference(name)
        if of.name not in self.units:
            raise NotStructuredText(f"{name} is no block")
        inputs, given = self.units[of.name].sections.get("var_input", []), []
        self.take("(")
        while self.rest[-1] != ")":
            given += [self.name()]
            self.take(":=")
            value, kind = self.expression()
            if given[-1] not in inputs or self.units[of.name].types[given[-1]] != kind:
                raise NotStructuredText(f"{name} takes no {given[-1]} of {kind}")
            given[-1:] = [f"{given[-1]}={value}"]
            if self.rest[-1] == ",":
                self.take()
        self.take(")"), self.take(";")
        return f"{target}({', '.join(given)})"

    def reference(self, name: str, writing: bool = False) -> tuple[str, Type]:
        """A variable, an entry of an array or an output of a block, with its type."""
        unit = self.now if name in self.now.types or self.outer is None else self.outer
        if name not in unit.types:
            raise NotStructuredText(f"{name} is not declared")
        if writing and name in (*unit.sections.get("var_input", ()), *unit.sections.get("constant", ())):
            raise NotStructuredText(f"{name} is not to be written")
        of = unit.types[name]
        kept = unit.kind == "function_block" and (of.last or of.name in self.units or self.outer is unit)
        is_member = kept or (unit.kind == "function_block" and name in unit.sections.get("var_output", ()))
        text = f"self.{name}" if is_member else f"v_{name}"
        if self.rest[-1] == "." and of.name in self.units:
            self.take()
            member = self.name()
            if member not in self.units[of.name].sections.get("var_output", []):
                raise NotStructuredText(f"{name} has no output {member}")
            return f"{text}.{member}", self.units[of.name].types[member]
        return self.entry(text, of) if self.rest[-1] == "[" else (text, of)

    def entry(self, text: str, of: Type) -> tuple[str, Type]:
        self.take("[")
        places = [self.expression()]
        while self.take(",", "]") == ",":
            places.append(self.expression())
        for (place, kind), last in zip(places, of.last, strict=True):
            if kind.name != "DINT" or (place.isdigit() and int(place) > last):
                raise NotStructuredText(f"{text}: no subscript {place}")
        return f"{text}[{', '.join(place for place, _ in places)}]", Type(of.name)

    def expression(self) -> tuple[str, Type]:
        if self.rest[-1] == "not":
            self.take(), self.take("(")
            text = self.condition()
            self.take(")")
            return f"not ({text})", Type("BOOL")
        text, kind = self.sum()
        if self.rest[-1] in ("<", "<=", ">", ">=", "="):
            mark = self.take()
            right, other = self.sum()
            self.same(kind, other, text)
            return f"{text} {'==' if mark == '=' else mark} {right}", Type("BOOL")
        return text, kind

    def sum(self) -> tuple[str, Type]:
        return self.chain(self.product, ("+", "-"))

    def product(self) -> tuple[str, Type]:
        return self.chain(self.factor, ("*", "/"))

    def chain(self, part: Callable[[], tuple[str, Type]], marks: tuple[str, ...]) -> tuple[str, Type]:
        text, kind = part()
        while self.rest[-1] in marks:
            mark = self.take()
            right, other = part()
            self.same(kind, other, text)
            mark = "//" if mark == "/" and kind.name == "DINT" else mark
            text = f"{text} {mark} {right}"
        return text, kind

    def same(self, kind: Type, other: Type, text: str) -> None:
        if kind != other or kind.last or kind.name not in ("LREAL", "REAL", "DINT"):
            raise NotStructuredText(f"{kind} and {other} do not go together behind {text[:60]}")

    def factor(self) -> tuple[str, Type]:
        word = self.take()
        if word == "-":
            text, kind = self.factor()
            return f"(-{text})", kind
        if word == "(":
            text, kind = self.expression()
            self.take(")")
            return f"({text})", kind
        if word[0].isdigit() or "#" in word:
            return self.value(word)
        if word == "true":
            return "True", Type("BOOL")
        return self.call(word) if self.rest[-1] == "(" else self.reference(word)

    def call(self, name: str) -> tuple[str, Type]:
        self.take("(")
        given = [self.expression()]
        while self.take(",", ")") == ",":
            given.append(self.expression())
        texts, kinds = ", ".join(text for text, _ in given), [kind for _, kind in given]
        if name == "sel":
            self.same(kinds[1], kinds[2], texts)
            if kinds[0] != Type("BOOL") or len(given) != 3:
                raise NotStructuredText("SEL takes a condition and two values")
            return f"choose({texts})", kinds[1]
        if name in BUILTIN:
            if len(given) != 1 or kinds[0].name not in DTYPES or kinds[0].last:
                raise NotStructuredText(f"{name} takes one number")
            return f"{name}({texts})", kinds[0]
        unit = self.units.get(name)
        if unit is None or unit.kind != "function":
            raise NotStructuredText(f"{name} is not declared")
        if kinds != [unit.types[x] for x in unit.sections["var_input"]]:
            raise NotStructuredText(f"{name} is given {kinds}")
        return f"{name}({texts})", Type(unit.result)
