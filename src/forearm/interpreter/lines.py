"""Input lines: their sources, their parsing, and prompts answered by the following lines."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Protocol, TextIO, TypeVar

from forearm.errors import InputError, shorten
from forearm.interpreter.names import meant
from forearm.values import LARGEST, number_in

MAX_LINE = 10_000  # characters
NO_TEXT = "the input is not UTF-8 text; write the script as plain text."
ASSIGNMENT = re.compile(r"\s*([^\s=\"'#]*)\s*=([^#]*)")
T = TypeVar("T")


class LineSource(Protocol):
    """A source of lines: a terminal, or a text."""

    number: int  # number of the last line read, from 1
    is_terminal: bool

    def line(self, prompt: str) -> str:
        """The next line without its end; EOFError at the end. A terminal shows the prompt, a text does
        not.
        """
        ...


class TextLines:
    """The lines of a script or pipe; no prompts."""

    is_terminal = False

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.number = stream, 0

    def line(self, prompt: str) -> str:
        """The next line, of bounded length."""
        self.number += 1
        try:
            text = self.stream.readline(MAX_LINE + 2)
        except UnicodeDecodeError as error:
            raise InputError(NO_TEXT) from error
        if not text:
            raise EOFError
        return bounded(text.removesuffix("\n").removeprefix("\ufeff" if self.number == 1 else ""))


class Answers:
    """Answers of a command: first the words after its name, then separate lines."""

    def __init__(self, words: list[str], lines: LineSource) -> None:
        self._words, self._lines = list(words), lines
        self.given = len(words)

    def text(self, question: str, default: str | None = None) -> str:
        """The answer as typed; an empty line means the default, if there is one."""
        if self._words:
            return self._words.pop(0)
        usual = f" [{default}]" if default is not None else ""
        try:
            line = self._lines.line(f"{question}{usual} ")
            while is_comment(line):
                line = self._lines.line(f"{question}{usual} ")
        except EOFError:
            raise InputError(f"the input ended before an answer to: {question}") from None
        answer = " ".join(words_of(line)) or default
        if answer is None:
            raise InputError(f"expected an answer, got an empty line: {question}")
        return answer

    def choice(self, question: str, allowed: Mapping[str, T]) -> T:
        """One of the allowed words, or a prefix of one."""
        answer = self.text(question)
        found = {allowed[name] for name in allowed if name.startswith(answer.lower())}
        if len(found) == 1:
            return found.pop()
        return allowed[meant(answer, allowed, "answer")]

    def number(self, question: str, default: float) -> float:
        """A finite number."""
        return numbers_of(self.text(question, f"{default:g}"), 1, question)[0]


def words_of(line: str) -> list[str]:
    """The words of a line without its comment; quotes protect blanks and # in a word."""
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split, lexer.escape, lexer.commenters = True, "", "#"
    try:
        return list(lexer)
    except ValueError:
        raise InputError(f"unclosed quote: {shorten(line)}.") from None


def assignment_of(line: str) -> tuple[str, str] | None:
    """Name and values of `name = values`; None for any other line."""
    found = ASSIGNMENT.match(line)
    return (found[1], found[2]) if found else None


def is_comment(line: str) -> bool:
    """Whether a line holds only a comment."""
    return line.lstrip().startswith("#")


def numbers_of(text: str, count: int, what: str) -> list[float]:
    """This many finite numbers, separated by blanks or commas."""
    words = text.replace(",", " ").split()
    expected = "one number" if count == 1 else f"{count} numbers, one per joint"
    if len(words) != count:
        raise InputError(f"expected {expected}, got {len(words)}: {shorten(text.strip())}.", what)
    return [_number(word, what) for word in words]


def whole_number(text: str) -> int | None:
    """The integer that a text represents, or None."""
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else None


def bounded(line: str) -> str:
    """The line, unless it is too long or not valid text."""
    if len(line) > MAX_LINE:
        raise InputError(f"expected a line of at most {MAX_LINE} characters.")
    try:
        line.encode()
    except UnicodeEncodeError as error:  # Python represents undecodable bytes of standard input as surrogates
        raise InputError(NO_TEXT) from error
    return line


def _number(word: str, what: str) -> float:
    value = number_in(word)
    if value is None:
        raise InputError(f"{shorten(word)} is not a number; write it like 0.5, -2 or 1e-3.", what)
    if not abs(value) <= LARGEST:
        raise InputError(f"expected a finite number of at most {LARGEST:g}, got {shorten(word)}.", what)
    return value
