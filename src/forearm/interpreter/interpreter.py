"""The main loop: read, parse and execute lines until the input ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from forearm.arm.arm import Arm
from forearm.drives.motor import DAC
from forearm.errors import ForearmError, InputError
from forearm.interpreter.commands import COMMANDS
from forearm.interpreter.lines import Answers, LineSource, assignment_of, numbers_of, words_of
from forearm.interpreter.names import matching, meant
from forearm.interpreter.output import Output
from forearm.interpreter.session import Session
from forearm.interpreter.variables import NAMES, SCALARS, Variables

PROMPT = "sim> "


class Interpreter:
    """Swartz's `sim` for an arm: lines in, text out.

    At a terminal an error is reported and the session continues. Otherwise the first error ends it, reported
    with its line number, since later lines may be answers to a prompt that was never issued.
    """

    def __init__(
        self,
        arm: Arm,
        lines: LineSource,
        out: TextIO,
        complain: Callable[[str], None],
        dac: DAC | None = None,
        width: int | None = 100,
    ) -> None:
        self.session = Session(Variables.of(arm, dac=dac), lines, Output(out, width))
        self.complain = complain

    def run(self) -> int:
        """Execute all lines; return 0, or 2 if an error ended the session."""
        try:
            return self._loop()
        finally:
            self.session.output.close()

    def _loop(self) -> int:
        lines = self.session.lines
        while not self.session.is_over:
            try:
                self.obey(lines.line(PROMPT))
            except EOFError:
                break
            except ForearmError as error:
                if not lines.is_terminal:
                    self.complain(f"line {lines.number}: {error}")
                    return 2
                self.complain(str(error))
            except KeyboardInterrupt:
                if not lines.is_terminal:
                    raise
                self.complain("interrupted; quit ends the session.")
        return 0

    def obey(self, line: str) -> None:
        """Execute one line; prompts read their answers from the following lines."""
        assignment = assignment_of(line)
        if assignment is not None:
            name = meant(assignment[0], NAMES, "variable")
            count = 1 if name in SCALARS else self.session.variables.arm.n
            self.session.assign(name, numbers_of(assignment[1], count, name))
            return
        words = words_of(line)
        if not words:
            return
        name = meant(words[0], (*COMMANDS, *NAMES), "command or variable")
        if name in COMMANDS:
            self._command(name, words[1:])
        elif len(words) > 1:
            raise InputError(f"use '{name} = ...' to set a variable, and its name alone to show it.", name)
        else:
            self.session.show(name)

    def _command(self, name: str, words: list[str]) -> None:
        command = COMMANDS[name]
        if len(words) > command.most:
            allowed = f"at most {command.most} words" if command.most else "no words"
            raise InputError(f"expected {allowed} after it, got {len(words)}; see 'help {name}'.", name)
        command.run(self.session, Answers(words, self.session.lines))


def completions(line: str, word: str) -> list[str]:
    """Completions of a word at the end of a line, except file names."""
    before = line[: len(line) - len(word)].split()
    first = matching(before[0], COMMANDS) if before else []
    if not before or first == ["help"]:
        return matching(word, (*COMMANDS, *NAMES)) if word else [*COMMANDS, *NAMES]
    if first == ["database_read"]:
        from forearm.files.builtin import arms

        return [name for name in arms() if name.startswith(word)]
    return []
