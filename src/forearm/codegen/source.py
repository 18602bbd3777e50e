"""Generated code and its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forearm.errors import InputError, shorten
from forearm.reading.textfile import write_bytes, write_text
from forearm.symbols import Counts


@dataclass(frozen=True)
class Source:
    """Generated code.

    Attributes:
        text: the code; for an object file, its assembly listing.
        header: its header, "" if the language has none.
        counts: operations of one evaluation.
        name: name of the function.
        language: its language, "assembly" for an object file.
        others: further files by name, such as the S-function around a MATLAB function.
        object: the object file for a target machine; None for code in a language.
        module: the WebAssembly module, ready to run; None except for the target wasm32.
        target: the target machine of the object file; None for code in a language.
        figures: sizes of an object file, by name: bytes of code, constants and stack; on Cortex-M also
            cycles.
    """

    text: str
    header: str
    counts: Counts
    name: str
    language: str
    others: Mapping[str, str] = field(default_factory=dict, hash=False)
    object: bytes | None = None
    module: bytes | None = None
    target: str | None = None
    figures: dict[str, int] = field(default_factory=dict, hash=False)

    def __repr__(self) -> str:
        if self.object is not None:
            sizes = f"{self.figures['code_bytes']} bytes of code, {self.figures['stack_bytes']} of stack"
            has = ".object, .module" if self.module is not None else ".object"
            return (
                f"<Source {self.name!r}, {self.target}: {sizes}, {self.counts}; its {has}, .header, "
                ".save(folder)>"
            )
        lines = self.text.count("\n")
        return (
            f"<Source {self.name!r}, {self.language}: {lines} lines, {self.counts}; its .text, "
            ".header, .save(folder)>"
        )

    def _repr_latex_(self) -> str | None:
        """The typeset form of LaTeX code in a notebook;
        None for other code, which notebooks show by `repr`.
        """
        from forearm.codegen.typesetting.notebook import formulas

        return formulas(self.text) if self.language == "latex" else None

    def files(self) -> dict[str, Any]:
        """File names and contents: text, or bytes for object files and modules."""
        if self.object is not None:
            binary = {f"{self.name}.o": self.object, f"{self.name}.wasm": self.module}
            return {name: data for name, data in binary.items() if data} | {f"{self.name}.h": self.header}
        from forearm.codegen.generate import language_of

        language = language_of(self.language)
        made = {f"{self.name}.{language.ending}": self.text}
        if language.header_ending:
            made[f"{self.name}.{language.header_ending}"] = self.header
        return made | dict(self.others)

    def save(self, folder: str | Path) -> list[Path]:
        """Write the files into a folder, which is created if missing."""
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except (OSError, TypeError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise InputError(
                f"cannot be a folder to write to ({why}); name another.", shorten(folder, 300)
            ) from error
        paths = [Path(folder) / name for name in self.files()]
        for path, content in zip(paths, self.files().values(), strict=True):
            (write_bytes if isinstance(content, bytes) else write_text)(path, content)
        return paths
