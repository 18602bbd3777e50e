"""The parts of a LaTeX document that a notebook can typeset:
MathJax knows formulas, and treats all else as text.
"""

from __future__ import annotations

import re

PLAIN = {r"\_": "_", "{-}": "-", "{[}": "[", "{]}": "]", r"\&": "&", r"\#": "#", r"\%": "%"}


def formulas(document: str) -> str:
    """Notation and equations, without the tables of arguments; headings and paragraphs as plain lines."""
    body = document.rpartition(r"\end{longtable}")[2].partition(r"\end{document}")[0]
    body = re.sub(r"\\subsubsection\*\{(.*)\}", lambda heading: f"\n{_plain(heading[1])}:", body)
    return body.replace(r"\par", "\n").strip()


def _plain(text: str) -> str:
    for written, meant in PLAIN.items():
        text = text.replace(written, meant)
    return text
