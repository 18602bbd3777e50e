"""From an arm to code in the user's language: functions traced on the graph, refined, written as a program.

`generate` is the entry point; a language is one small file in `languages`.
"""

from forearm.codegen.generate import LANGUAGES, generate
from forearm.codegen.source import Source

__all__ = ["LANGUAGES", "Source", "generate"]
