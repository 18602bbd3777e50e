"""What a language is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from forearm.codegen.program import Program


@dataclass(frozen=True)
class Language:
    """`write` gives the text and the header ("" where the language has none) of a program;
    endings are those of their files. `others` are further files of a program by name, such as a wrapper.
    """

    name: str
    ending: str
    header_ending: str
    write: Callable[[Program], tuple[str, str]]
    others: Callable[[Program], dict[str, str]] = lambda _: {}
