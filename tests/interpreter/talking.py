"""Sessions without a terminal: lines in, what was printed and complained of out."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import forearm as fa
from forearm.drives import DAC
from forearm.interpreter import Interpreter, TextLines
from forearm.interpreter.session import Session


@dataclass
class Talk:
    code: int
    out: str
    errors: list[str]
    session: Session


@cache
def swartz_arm() -> fa.Arm:
    return fa.load("cmu-dd")


class Typed:
    """A terminal as a test has it: prompts and what is typed show in the output."""

    is_terminal = True

    def __init__(self, lines: Sequence[str], out: io.StringIO) -> None:
        self._lines, self._out, self.number = list(lines), out, 0

    def line(self, prompt: str) -> str:
        self.number += 1
        if not self._lines:
            raise EOFError
        line = self._lines.pop(0)
        self._out.write(f"{prompt}{line}\n")
        return line


def talk(
    *lines: str,
    arm: fa.Arm | None = None,
    dac: DAC | None = None,
    typed: bool = False,
    width: int | None = 100,
) -> Talk:
    out, errors = io.StringIO(), list[str]()
    source = Typed(lines, out) if typed else TextLines(io.StringIO("\n".join(lines) + "\n" if lines else ""))
    interpreter = Interpreter(arm or swartz_arm(), source, out, errors.append, dac, width)
    code = interpreter.run()
    return Talk(code, out.getvalue(), errors, interpreter.session)


def fails(*lines: str, arm: fa.Arm | None = None) -> str:
    """The one error that ends a script."""
    ended = talk(*lines, arm=arm)
    assert ended.code == 2
    (error,) = ended.errors
    return error
