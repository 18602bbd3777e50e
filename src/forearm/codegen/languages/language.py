"""The definition of a language."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from forearm.codegen.program import Program


@dataclass(frozen=True)
class Language:
    """`write` returns the text and the header ("" if the language has none) of a program, with their file
    extensions. `others` returns further files of a program by name, such as a wrapper.
    """

    name: str
    ending: str
    header_ending: str
    write: Callable[[Program], tuple[str, str]]
    others: Callable[[Program], dict[str, str]] = lambda _: {}
