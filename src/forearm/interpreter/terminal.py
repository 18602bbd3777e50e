"""Lines typed at a terminal, with history and completion if the system has readline."""

from __future__ import annotations

import glob
import sys

from forearm.interpreter.interpreter import completions
from forearm.interpreter.lines import bounded


class Terminal:
    """Typed lines. The history lasts as long as the session."""

    is_terminal = True

    def __init__(self) -> None:
        self.number = 0
        self._shows_prompts = sys.stdout.isatty()
        if self._shows_prompts:
            _complete_names()

    def line(self, prompt: str) -> str:
        """The next line; Ctrl-D ends the input, or a prompting command."""
        self.number += 1
        try:
            return bounded(input(prompt if self._shows_prompts else ""))
        except EOFError:
            print()
            raise


def complete(line: str, word: str) -> list[str]:
    """Names of commands, variables and built-in arms; after a command, files too."""
    names = completions(line, word)
    is_first = not line[: len(line) - len(word)].strip()
    return names if is_first else names + sorted(glob.glob(glob.escape(word) + "*"))


def _complete_names() -> None:
    try:
        import readline
    except ImportError:
        return

    def completer(word: str, state: int) -> str | None:
        if state == 0:
            found[:] = complete(readline.get_line_buffer()[: readline.get_endidx()], word)
        return found[state] if state < len(found) else None

    found: list[str] = []
    readline.set_completer(completer)
    readline.set_completer_delims(" \t=,")
    readline.parse_and_bind(
        "bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete"
    )
