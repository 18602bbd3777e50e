"""Expand a xacro file to a URDF tree, without running anything that is in it.

The elements of the file are copied into a new tree; `<xacro:...>` elements act on properties, macros and
arguments, or are replaced by what they stand for, in file order and with xacro's rules for scopes and for
values that are evaluated when they are first used. Every element keeps the file and line where it is written.
Expressions are evaluated by `xacro_expressions`. Only files below the folders of `XacroFiles` are read.
"""

from __future__ import annotations

import keyword
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from forearm.errors import IgnoredWarning, InputError, located, shorten, suggest
from forearm.files.urdf_values import attribute
from forearm.files.xacro_expressions import (
    MAX_SIZE,
    Evaluator,
    Namespace,
    RefusedExpression,
    StepBudget,
    Value,
    global_names,
    tokenize,
)
from forearm.files.xacro_files import XacroFiles
from forearm.reading.xml import Element

MAX_DEPTH = 150  # of elements, macros and includes together
MAX_PENDING = 50  # properties that wait for one another
MAX_PARAMETERS = 8000  # characters of a macro's parameters
XML_NAME = re.compile(r"[^\W\d][\w:.-]*")
PIECE = re.compile(
    r"(?P<escaped>\$\$+[{(])|\$\{(?P<expression>[^}]*)\}|\$\((?P<command>[^)]*)\)|(?P<text>[^$]+|\$[^{($]+|\$\Z)"
)
# One parameter of a macro: its name, and its default behind = or :=, where ^ stands for the caller's value.
PARAMETER = re.compile(
    r"\s*+(?P<name>[^\s:=]+)(?:\s*+(?P<given>:?=)\s*+(?P<forward>\^\|?)?"
    r"(?P<default>\$\{[^}]*\}(?!\S)|\$\([^)]*\)(?!\S)|(?:'[^']*'|\"[^\"]*\"|[^\s'\"])*+))?(?!\S)"
)


def expand_xacro(
    root: Element, path: Path, packages: Mapping[str, Path], most_of_tag: Mapping[str, int]
) -> Element:
    """The URDF tree that a xacro file expands to.

    `packages` maps the names in $(find ...) to folders; `most_of_tag` bounds elements by tag.
    """
    try:
        return _Expansion(path, packages, most_of_tag).root(root)
    except RecursionError as error:
        raise InputError("elements, macros or properties are nested too deeply.", path.name) from error


@dataclass(frozen=True)
class _Macro:
    body: Element
    # by name: whether the caller's value of this name is taken, and the text otherwise, if any
    parameters: Mapping[str, tuple[bool, str]]


@dataclass(frozen=True)
class _Unevaluated:
    """The text of a property that has not been used yet, and where it stands."""

    text: str
    where: str


class _Expansion:
    """The state of one expansion: files, arguments, what is left of the budget.

    Directives take the element, the element that receives the result, properties and macros.
    """

    def __init__(self, path: Path, packages: Mapping[str, Path], most_of_tag: Mapping[str, int]) -> None:
        self.budget = StepBudget()
        self.files = XacroFiles(path, packages, self.budget)
        self.most_of_tag = most_of_tag
        self.count_of_tag = dict.fromkeys(most_of_tag, 0)
        self.arguments: dict[str, str] = {}
        self.depth = 0
        self.pending: list[tuple[str, _Unevaluated]] = []
        self.where = ""
        self.evaluator = Evaluator(self.budget, self.look_up)
        self.known = global_names(
            self.evaluator,
            {
                "arg": self.argument,
                "load_yaml": self.load_yaml,
                "dotify": lambda pairs: pairs,
                "tokenize": tokenize,
                "message": lambda *words: "",
                "warning": self.warn,
                "error": self.warn,
                "fatal": self.stop,
            },
        )

    def root(self, source: Element) -> Element:
        """The expanded root element; its attributes may use arguments that are declared inside."""
        properties, macros = Namespace(self.known), Namespace()
        content = Element(source.tag, {}, source.line, source.file)
        self.content(source, content, properties, macros)
        content.attributes = self.attributes(source, properties) | content.attributes
        return content

    # --- elements ------------------------------------------------------------------------------------------

    def content(self, source: Element, result: Element, properties: Namespace, macros: Namespace) -> None:
        """Expand the text and children of an element into the result."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise InputError(
                f"elements, macros and includes nested deeper than {MAX_DEPTH}; does one call "
                "or include itself?",
                source.place,
            )
        self.spend(source, 1 + len(source.attributes) + len(source.children) + len(source.text) // 64)
        if source.text.strip() and not result.children:
            self.add_text(source, result, properties)
        for child in source.children:
            if child.tag == "xacro:element":
                child = self.renamed(child, properties)
            if child.tag in DIRECTIVES:
                DIRECTIVES[child.tag](self, child, result, properties, macros)
            elif child.tag.startswith("xacro:"):
                self.call(child, result, properties, macros)
            else:
                result.children.append(self.element(child, properties, macros))
        self.depth -= 1

    def spend(self, source: Element, steps: int) -> None:
        """Count steps for an element."""
        try:
            self.budget.spend(steps)
        except RefusedExpression as refusal:
            raise InputError(f"{refusal}", source.place) from None

    def add_text(self, source: Element, result: Element, properties: Namespace) -> None:
        """Expand the text of an element into the result."""
        text, where = source.text, f"{_place(source)}"
        if "$" in text:
            text = self.text(text, properties, where)
        if result.text and len(result.text) + len(text) > MAX_SIZE:
            raise InputError(f"text of more than {MAX_SIZE} characters.", where)
        result.text += text

    def element(self, source: Element, properties: Namespace, macros: Namespace) -> Element:
        """An ordinary element, expanded."""
        if source.tag in self.count_of_tag:
            self.count_of_tag[source.tag] += 1
            if self.count_of_tag[source.tag] > self.most_of_tag[source.tag]:
                limit = self.most_of_tag[source.tag]
                raise InputError(f"expands to more than {limit} <{source.tag}> elements.", source.place)
        result = Element(source.tag, self.attributes(source, properties), source.line, source.file)
        self.content(source, result, properties, macros)
        return result

    def attributes(self, source: Element, properties: Namespace) -> dict[str, str]:
        """The evaluated attributes of an ordinary element."""
        return {
            key: self.text(text, properties, _where(source, key)) if "$" in text else text
            for key, text in source.attributes.items()
            if not key.startswith("xacro:") and key != "xmlns:xacro"
        }

    def renamed(self, source: Element, properties: Namespace) -> Element:
        """<xacro:element>: the element with its computed tag."""
        tag = self.xml_name(source, "xacro:name", properties)
        rest = {key: text for key, text in source.attributes.items() if key != "xacro:name"}
        return Element(tag, rest, source.line, source.file, source.text, source.children)

    def add_attribute(self, source: Element, result: Element, properties: Namespace, _: Namespace) -> None:
        """<xacro:attribute>: one more attribute of the element around it."""
        name = self.xml_name(source, "name", properties)
        if "value" not in source.attributes:
            raise InputError("<xacro:attribute> needs the attribute 'value'.", source.place)
        result.attributes[name] = self.text(source.attributes["value"], properties, _where(source, "value"))

    def xml_name(self, source: Element, key: str, properties: Namespace) -> str:
        """The computed name of an element or attribute."""
        where = _where(source, key)
        name = self.text(attribute(source, key, source.place), properties, where)
        if not XML_NAME.fullmatch(name):
            raise InputError(
                f"expected a name of letters, digits, '_', '-', '.' and ':', got {shorten(name)}.", where
            )
        return name

    def condition(self, source: Element, result: Element, properties: Namespace, macros: Namespace) -> None:
        """<xacro:if>, <xacro:unless>: the content, or nothing."""
        attribute(source, "value", source.place)
        if self.truth(source, "value", "", properties) is (source.tag == "xacro:if"):
            self.content(source, result, properties, macros)

    def include(self, source: Element, result: Element, properties: Namespace, macros: Namespace) -> None:
        """<xacro:include>: the content of another file, with its properties and macros, in a namespace if
        it has one.
        """
        where = _where(source, "filename")
        name = self.text(attribute(source, "filename", source.place), properties, where)
        is_optional = self.truth(source, "optional", "false", properties)
        with self.refusals(where), located(where):
            path = self.files.path(name)
            if is_optional and not path.is_file():
                return
            tree = self.files.tree(path)
        if space := self.text(source.attributes.get("ns", ""), properties, _where(source, "ns")):
            _check_identifier(space, _where(source, "ns"))
            outer, properties = properties, Namespace(properties, is_include=True)
            outer.values[space] = properties
            outer, macros = macros, Namespace()
            outer.values[space] = macros
        self.files.open.append(path)
        self.content(tree, result, properties, macros)
        self.files.open.pop()

    # --- properties and arguments --------------------------------------------------------------------------

    def declare_argument(self, source: Element, _: Element, properties: Namespace, __: Namespace) -> None:
        """<xacro:arg>: the default of an argument, unless it has a value."""
        name = attribute(source, "name", source.place)
        if name not in self.arguments:
            default = source.attributes.get("default")
            if default is None:
                raise InputError(
                    f"the argument {shorten(name)} has no default; declare it with one in a "
                    "xacro file that includes this one.",
                    source.place,
                )
            self.arguments[name] = self.text(default, properties, _where(source, "default"))

    def define(self, source: Element, _: Element, properties: Namespace, __: Namespace) -> None:
        """<xacro:property>: a value, evaluated when it is first used, or a block of elements."""
        texts = source.attributes
        name = self.text(attribute(source, "name", source.place), properties, _where(source, "name"))
        _check_identifier(name, _where(source, "name"))
        is_removed, is_lazy = (
            self.truth(source, key, default, properties)
            for key, default in (("remove", "false"), ("lazy_eval", "true"))
        )
        if is_removed:
            while (owner := properties.owner(name)) is not None and owner is not self.known:
                del owner.values[name]
            return
        if "default" in texts and properties.owner(name) is not None:
            return
        key = next((key for key in ("value", "default") if key in texts), None)
        space = self.scope(source, properties)
        if key is None:
            space.values["**" + name] = source
            return
        text, where = texts[key], _where(source, key)
        if space is properties and is_lazy:
            with self.refusals(where):
                self.count(len(text), len(text))
            value = _literal(text)
            space.values[name] = _Unevaluated(value, where) if isinstance(value, str) else value
        else:
            space.values[name] = _literal(self.value(text, properties, where))

    def scope(self, source: Element, properties: Namespace) -> Namespace:
        """Where a property is defined: here, in the scope around this macro or included file, or for the
        whole.
        """
        name = source.attributes.get("scope")
        space = properties
        while name in ("parent", "global") and space.outer is not None and space.outer is not self.known:
            space = space.outer
            if name == "parent" and (properties.is_include or not space.is_include):
                break
        return space

    def names(self, space: Namespace | None) -> Iterator[str]:
        """The names that the file has defined."""
        while space is not None and space is not self.known:
            yield from (name for name in space.values if not name.startswith("*"))
            space = space.outer

    def truth(self, source: Element, key: str, default: str, properties: Namespace) -> bool:
        """An attribute that is true or false."""
        where = _where(source, key)
        with self.refusals(where):
            return _boolean(self.value(source.attributes.get(key, default), properties, where))

    def look_up(self, properties: Namespace, name: str) -> Value:
        """The value of a name, evaluated now if it has not been used before, in the scope where it stands."""
        space = properties.owner(name)
        if space is None:
            raise RefusedExpression(
                f"{shorten(name)} is not defined; {suggest(name, self.names(properties))}"
            )
        value = space.values[name]
        if not isinstance(value, _Unevaluated):
            return value
        if any(value is waiting for _, waiting in self.pending) or len(self.pending) >= MAX_PENDING:
            chain = " -> ".join([*(waiting for waiting, _ in self.pending[-5:]), name])
            raise RefusedExpression(
                f"properties that need one another, or more than {MAX_PENDING} in a row ({chain:.200}); "
                "evaluate one where it is defined, with lazy_eval='false'."
            )
        self.pending.append((name, value))
        space.values[name] = _literal(self.value(value.text, space, value.where))
        self.pending.pop()
        return space.values[name]

    # --- macros --------------------------------------------------------------------------------------------

    def define_macro(self, source: Element, _: Element, __: Namespace, macros: Namespace) -> None:
        """<xacro:macro>: its parameters, and its body for later."""
        name = attribute(source, "name", source.place).removeprefix("xacro:")
        if name == "call" or "." in name:
            raise InputError(f"{shorten(name)} cannot be the name of a macro.", _where(source, "name"))
        text = source.attributes.get("params", "")
        if len(text) > MAX_PARAMETERS:
            raise InputError(f"longer than {MAX_PARAMETERS} characters.", _where(source, "params"))
        self.spend(source, len(text) // 4)
        parameters: dict[str, tuple[bool, str]] = {}
        position = 0
        while text[position:].strip():
            found = PARAMETER.match(text, position)
            if found is None:
                rest = text[position:].strip()
                raise InputError(f"cannot be read from {shorten(rest)} on.", _where(source, "params"))
            parameters[found["name"]] = bool(found["forward"]), found["default"] or ""
            position = found.end()
        macros.values[name] = _Macro(source, parameters)

    def call(self, source: Element, result: Element, properties: Namespace, macros: Namespace) -> None:
        """<xacro:NAME>, <xacro:call macro="NAME">: the macro's body, with the values and blocks given."""
        given = dict(source.attributes)
        name = source.tag.removeprefix("xacro:")
        if name == "call":
            attribute(source, "macro", source.place)
            name = self.text(given.pop("macro"), properties, _where(source, "macro"))
        macro, outer_properties, outer_macros = self.macro(name, source, properties, macros)
        self.spend(source, len(macro.parameters))
        own = Namespace(outer_properties)
        for key, text in given.items():
            if key not in macro.parameters:
                raise InputError(
                    f"the macro has no parameter {shorten(key)}; {suggest(key, macro.parameters)}",
                    _place(source),
                )
            own.values[key] = _literal(self.value(text, properties, _where(source, key)))
        blocks = Element(source.tag, {}, source.line, source.file)
        self.content(source, blocks, properties, macros)
        for parameter in macro.parameters:
            if parameter.startswith("*"):
                if not blocks.children:
                    raise InputError(f"no block for {shorten(parameter)}.", _place(source))
                own.values[parameter] = blocks.children.pop(0)
            elif parameter not in given:
                own.values[parameter] = self.default(macro, parameter, source, properties)
        if blocks.children:
            raise InputError(
                f"the macro takes no <{blocks.children[0].tag:.60}>; its blocks are "
                f"{[p for p in macro.parameters if p.startswith('*')]!s:.100}.",
                _place(source),
            )
        self.content(macro.body, result, own, Namespace(outer_macros))

    def macro(
        self, name: str, source: Element, properties: Namespace, macros: Namespace
    ) -> tuple[_Macro, Namespace, Namespace]:
        """The macro of a name, as a.b in namespace a, and the properties and macros around it."""
        *spaces, last = name.split(".")
        for space in spaces:
            owners = properties.owner(space), macros.owner(space)
            inner = [owner.values[space] for owner in owners if owner is not None]
            if len(inner) < 2 or not all(isinstance(values, Namespace) for values in inner):
                raise InputError(f"there is no namespace {shorten(space)}.", _place(source))
            properties, macros = inner
        owner = macros.owner(last)
        macro = None if owner is None else owner.values[last]
        if not isinstance(macro, _Macro):
            raise InputError(
                f"there is no macro {shorten(name)} (is its file included?); "
                f"{suggest(last, self.names(macros))}",
                _place(source),
            )
        return macro, properties, macros

    def default(self, macro: _Macro, parameter: str, source: Element, properties: Namespace) -> Value:
        """The value of a parameter that a call leaves out."""
        is_forwarded, text = macro.parameters[parameter]
        where = f"{_place(source)}, {parameter:.60}"
        if is_forwarded and properties.owner(parameter) is not None:
            with self.refusals(where):
                return self.look_up(properties, parameter)
        if not text:
            raise InputError("this parameter of the macro is missing.", where)
        return _literal(self.value(text, properties, where))

    def insert_block(
        self, source: Element, result: Element, properties: Namespace, macros: Namespace
    ) -> None:
        """<xacro:insert_block>: the content of a ** block, or a * block itself."""
        name = attribute(source, "name", source.place)
        for key in (f"**{name}", f"*{name}"):
            owner = properties.owner(key)
            if owner is not None:
                block = owner.values[key]
                around = (
                    block if key.startswith("**") else Element("", {}, block.line, block.file, "", [block])
                )
                self.content(around, result, properties, macros)
                return
        raise InputError(f"{source.place}, <xacro:insert_block>: there is no block {shorten(name)}.")

    # --- text ----------------------------------------------------------------------------------------------

    def text(self, text: str, properties: Namespace, where: str) -> str:
        """The evaluated text."""
        return str(self.value(text, properties, where))

    def value(self, text: str, properties: Namespace, where: str) -> Value:
        """The value of a text: of its ${...} or $(...) if it is nothing else, otherwise text."""
        with self.refusals(where):
            self.count(len(text), len(text))
            words: list[str] = []
            position = size = 0
            while position < len(text):
                piece = PIECE.match(text, position)
                if piece is None:
                    raise RefusedExpression(
                        f"{shorten(text[position:])} has no end; write $${{ or $$( for the text."
                    )
                value = self.piece(piece, properties, where)
                if piece.span() == (0, len(text)):
                    return value
                words.append(str(value))
                size += len(words[-1])
                self.count(len(words[-1]), size)
                position = piece.end()
            return "".join(words)

    def count(self, characters: int, size: int) -> None:
        """Count characters of a text that has this size with them."""
        if size > MAX_SIZE:
            raise RefusedExpression(f"text of more than {MAX_SIZE} characters.")
        self.budget.spend(1 + characters // 4)

    def piece(self, piece: re.Match[str], properties: Namespace, where: str) -> Value:
        """The value of plain text, an expression or a command; commands inside expressions come first."""
        if piece["escaped"] is not None:
            return piece["escaped"][1:]
        if piece["text"] is not None:
            return piece["text"]
        if piece["command"] is not None:
            return self.command(self.text(piece["command"], properties, where))
        expression = self.text(piece["expression"], properties, where)
        outer, self.where = self.where, where
        try:
            return self.evaluator.evaluate(expression, properties)
        except RefusedExpression as refusal:
            raise RefusedExpression(f"${{{shorten(expression.strip())[1:-1]}}}: {refusal}") from refusal
        finally:
            self.where = outer

    def command(self, text: str) -> str:
        """The value of $(...)."""
        match text.split():
            case ["find", name]:
                return self.files.package(name).as_posix()
            case ["arg", name]:
                return self.argument(name)
            case ["optenv", _, *default]:
                return " ".join(default)  # as if the variable were not set
        raise RefusedExpression(
            f"$({text:.60}) is not allowed: only $(find PACKAGE), $(arg NAME) and $(optenv NAME DEFAULT), "
            "which is its default. Use <xacro:arg> for what differs between machines."
        )

    def argument(self, name: str) -> str:
        """The value of an argument."""
        if name not in self.arguments:
            raise RefusedExpression(
                f"the argument {shorten(name)} has no value; declare it with <xacro:arg name={name!r:.60} "
                "default=...> in this file or in one that includes it."
            )
        return self.arguments[name]

    def load_yaml(self, name: str) -> Value:
        """The value in a YAML file."""
        path = self.files.path(name)
        with located(self.where):
            return self.files.value(path, lambda text: self.evaluator.evaluate(text, self.known))

    def warn(self, *words: Value) -> str:
        """Pass a warning of the file on."""
        self.budget.spend(1000)  # no file fills the screen
        text = shorten(" ".join(map(str, words)), 300)
        warnings.warn(f"{self.where}: the file warns: {text}", IgnoredWarning, stacklevel=2)
        return ""

    def stop(self, *words: Value) -> str:
        """Stop where the file asks for it."""
        raise RefusedExpression(f"the file stops here: {shorten(' '.join(map(str, words)), 300)}.")

    @contextmanager
    def refusals(self, where: str) -> Iterator[None]:
        """Refusals of expressions, with their location."""
        try:
            yield
        except RefusedExpression as refusal:
            raise InputError(f"{refusal}", where) from None


DIRECTIVES: dict[str, Callable[[_Expansion, Element, Element, Namespace, Namespace], None]] = {
    "xacro:arg": _Expansion.declare_argument,
    "xacro:attribute": _Expansion.add_attribute,
    "xacro:if": _Expansion.condition,
    "xacro:include": _Expansion.include,
    "xacro:insert_block": _Expansion.insert_block,
    "xacro:macro": _Expansion.define_macro,
    "xacro:property": _Expansion.define,
    "xacro:unless": _Expansion.condition,
}


def _place(element: Element) -> str:
    """The location of an element for messages."""
    return f"{element.place}, <{element.tag:.60}>"


def _where(element: Element, key: str) -> str:
    """The location of an attribute for messages."""
    name = element.attributes.get("name")
    named = "" if name is None or key == "name" else f" name={name!r:.60}"
    return f"{element.place}, <{element.tag:.60}{named}>, {key:.60}"


def _check_identifier(name: str, where: str) -> None:
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("__"):
        raise InputError(
            "expected a name of letters, digits and underscores, with no digit and at most "
            f"one underscore in front, got {shorten(name)}.",
            where,
        )


def _literal(value: Value) -> Value:
    """Text as a value: without its single quotes, as an integer, a number, true or false, or as it is."""
    if not isinstance(value, str):
        return value
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1]
    if "_" not in value:
        for convert in (int, float, _boolean):
            try:
                return convert(value)
            except (ValueError, RefusedExpression):
                continue
    return value


def _boolean(value: Value) -> bool:
    """Whether a condition holds."""
    if not isinstance(value, str):
        return bool(value)
    if value in ("true", "True", "false", "False"):
        return value in ("true", "True")
    try:
        return bool(int(value))
    except ValueError:
        raise RefusedExpression(f"expected true, false or a number, got {shorten(value)}.") from None
