"""HTML building blocks shared by the sections: tables, sections, copyable commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from html import escape
from itertools import pairwise

from forearm.tables import number

DIGITS = 4
LONGEST = 28  # characters of a label
Heading = tuple[str, str]  # text, and the class of the column


def section(name: str, title: str, inside: str) -> str:
    """A section with its heading; `inside` is HTML."""
    return f'<section id="{name}"><h2>{escape(title)}</h2>\n{inside}\n</section>' if inside else ""


def paragraph(text: str) -> str:
    """A paragraph of plain text, if there is any."""
    return f"<p>{escape(text)}</p>" if text else ""


def table(said: str, header: Sequence[Heading], rows: Sequence[Sequence[str]]) -> str:
    """A table that scrolls horizontally if too wide; the first cell of a row is its heading.

    Args:
        said: its content, for screen readers.
        header: text and class of each column.
        rows: HTML of every cell.
    """
    kinds = [f' class="{kind}"' if kind else "" for _, kind in header]
    head = "".join(
        f'<th scope="col"{kind}>{breakable(text)}</th>' for (text, _), kind in zip(header, kinds, strict=True)
    )
    lines = []
    for first, *rest in rows:
        cells = "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(rest, kinds[1:], strict=True))
        lines.append(f'<tr><th scope="row"{kinds[0]}>{first}</th>{cells}</tr>')
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(said)}"><table>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{chr(10).join(lines)}</tbody></table></div>"
    )


def value(x: float, digits: int = DIGITS) -> str:
    """A value with few digits, or "failed"."""
    return number(x, digits).replace("nan", "NaN")


def grouped(count: int) -> str:
    """A count with thousands separators."""
    return f"{count:,}".replace(",", " ")


def rows_said(count: int) -> str:
    """A number of rows in words."""
    return f"{grouped(count)} row{'' if count == 1 else 's'}"


def shortened(name: str, most: int = LONGEST) -> str:
    """A label shortened in the middle, as names often begin alike."""
    return name if len(name) <= most else f"{name[: most // 2 - 3]}...{name[-(most - most // 2) :]}"


def breakable(text: str) -> str:
    """Text as HTML with optional line breaks after dots and underscores."""
    return re.sub(r"([._])(?=\w)", r"\1<wbr>", escape(text))


def row_command(command: str, row: int) -> str:
    """The command that simulates one row again.

    Args:
        command: the study's own, which names the results or the study file.
        row: number of the row.
    """
    return str(row).join(command_parts(command))


def command_parts(command: str) -> list[str]:
    """The texts around the row number in the command that simulates it again."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    pairs = [*pairwise(words)]
    named = [after for word, after in pairs if word in ("-o", "--output")]
    read = [after for word, after in pairs if word == "sweep" and not after.startswith("-")]
    place = shlex.quote((named or read or ["RESULTS"])[-1])
    return [f"forearm sweep {place} --row ", " --html row-", ".html"]
