"""A small XML tree with line numbers, from a parser that expands no entities and fetches nothing.

Document type declarations are refused, so there is nothing to expand; size, depth and number of elements are
bounded, so no file can occupy the reader for long.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from forearm.errors import InputError, shorten
from forearm.values import LARGEST, number_in

MAX_XML_BYTES = 32_000_000
MAX_ELEMENTS = 500_000
MAX_DEPTH = 200
TEXT_BUFFER = 1 << 20


@dataclass
class Element:
    """One element: its tag, attributes, line and file, text and children."""

    tag: str
    attributes: dict[str, str]
    line: int
    file: str = ""
    text: str = ""
    children: list[Element] = field(default_factory=list)

    @property
    def place(self) -> str:
        """Its location for messages: `arm.xml, line 12`."""
        return f"{self.file}, line {self.line}"

    def all(self, tag: str) -> Iterator[Element]:
        """The children with this tag, in file order."""
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> Element | None:
        """The first child with this tag, or None."""
        return next(self.all(tag), None)


def parse_xml(data: bytes, name: str, max_of_tag: dict[str, int] | None = None) -> Element:
    """The root element of XML text; `max_of_tag` limits the number of elements by tag."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.buffer_size = TEXT_BUFFER  # long texts arrive in few pieces, which are concatenated
    stack: list[Element] = []
    roots: list[Element] = []
    seen: dict[str, int] = {}
    count = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        line = parser.CurrentLineNumber
        if count > MAX_ELEMENTS:
            raise InputError(
                f"more than {MAX_ELEMENTS} elements; the file is too large.", name, f"line {line}"
            )
        if len(stack) >= MAX_DEPTH:
            raise InputError(f"elements nested deeper than {MAX_DEPTH}.", name, f"line {line}")
        limit = (max_of_tag or {}).get(tag)
        if limit is not None:
            seen[tag] = seen.get(tag, 0) + 1
            if seen[tag] > limit:
                raise InputError(
                    f"more than {limit} <{tag}> elements; the file is too large.", name, f"line {line}"
                )
        element = Element(tag, attributes, line, name)
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)

    def end(_tag: str) -> None:
        stack.pop()

    def text(piece: str) -> None:
        if stack and not stack[-1].children:
            stack[-1].text += piece

    def doctype(*_args: object) -> None:
        raise InputError(
            "a document type declaration (<!DOCTYPE ...>) is not allowed, as it can define "
            "entities; remove it.",
            name,
            f"line {parser.CurrentLineNumber}",
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = doctype
    parser.EntityDeclHandler = doctype
    try:
        parser.Parse(_tidied(data), True)
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        raise InputError(
            f"not valid XML: {what}.", name, f"line {error.lineno}", f"column {error.offset + 1}"
        ) from error
    except (ValueError, LookupError) as error:  # an encoding unknown to expat or Python
        raise InputError(f"cannot be read as XML: {shorten(str(error))}.", name) from error
    return roots[0]


def _tidied(data: bytes) -> bytes:
    """Remove remains of editors and exporters: NUL at the end, space before the declaration.

    The space is moved after the declaration, so that line numbers stay valid.
    """
    data = data.rstrip(b"\0")
    bare = data.lstrip()
    end = bare.find(b"?>") + 2
    if bare is data or not bare.startswith(b"<?xml ") or end < 2:
        return data
    return bare[:end] + data[: len(data) - len(bare)] + bare[end:]


def number(text: str, what: str, where: str) -> float:
    """The finite number in an attribute or text; `what` and `where` name it in messages."""
    value = _parsed(text, what, where)
    if not abs(value) <= LARGEST:
        allowed = f"not exceed {LARGEST:g}" if math.isfinite(value) else "be finite"
        raise InputError(f"{what} must {allowed}, got {shorten(text)}.", where)
    return value


def bound(text: str, what: str, where: str) -> float:
    """A number that is infinite from LARGEST on."""
    value = _parsed(text, what, where)
    if math.isnan(value):
        raise InputError(f"{what} must be a number, got {shorten(text)}.", where)
    return math.copysign(math.inf, value) if abs(value) >= LARGEST else value


def _parsed(text: str, what: str, where: str) -> float:
    value = number_in(text)
    if value is None:
        remedy = "; xacro is expanded in files named .xacro only" if "$" in text else ""
        raise InputError(f"{what} must be a number, got {shorten(text)}{remedy}.", where)
    return value
