"""Swartz's program `sim`: variables, commands and prompts, from a terminal, a script or a pipe.

`Interpreter` reads lines and writes to a stream; `variables` defines what can be set, `commands` what can be
run.
"""

from forearm.interpreter.interpreter import Interpreter
from forearm.interpreter.lines import TextLines
from forearm.interpreter.variables import Variables

__all__ = ["Interpreter", "TextLines", "Variables"]
