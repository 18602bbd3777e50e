"""Escape text from outside, such as the name of an arm, for LaTeX."""

from __future__ import annotations

import unicodedata

SPECIAL = {c: f"\\{c}" for c in "#$%&_{}"} | {
    "\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''", "`": "{`}", "-": "{-}", "[": "{[}", "]": "{]}",
    "\u2013": "--", "\u2014": "---", "\u2018": "{`}", "\u2019": "'", "\u201c": "``", "\u201d": "''",
    "\u00b0": r"$^{\circ}$", "\u00b2": r"$^{2}$", "\u00b3": r"$^{3}$", "\u00b1": r"$\pm$",
    "\u00b7": r"$\cdot$", "\u00d7": r"$\times$", "\u00df": r"{\ss}", "\u00e6": r"{\ae}", "\u00c6": r"{\AE}",
    "\u00f8": r"{\o}", "\u00d8": r"{\O}", "\u0153": r"{\oe}", "\u0152": r"{\OE}",
}  # fmt: skip
ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c",
}  # fmt: skip


def escape(text: str) -> str:
    """Text escaped for LaTeX; characters that its fonts lack are replaced by their code points."""
    return "".join(_escaped(c) for c in unicodedata.normalize("NFC", text))


def _escaped(c: str) -> str:
    # control characters, including all line endings
    if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return " "
    if c in SPECIAL:
        return SPECIAL[c]
    if c.isascii():
        return c
    apart = unicodedata.normalize("NFD", c)
    letter, mark = apart[0], ACCENTS.get(apart[1:])
    if letter.isascii() and letter.isalpha() and mark:
        return rf"\{mark}{{{letter}}}"
    return f"{{[}}U+{ord(c):04X}{{]}}"
