"""Pages for a browser: one skeleton for all of them.

A page is one file that fetches nothing, light or dark as the reader's system is, and white on paper.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from pathlib import Path

from forearm.palette import page_colours

STYLE = Path(__file__).with_name("pages.css")  # what all of them share
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
SCRIPTS, PICTURES = "script-src 'unsafe-inline'", "img-src data:"


def html_page(
    title: str, body: str, style: Path, colours: str = "", rules: str = "", policy: str = ""
) -> str:
    """The text of a page: its own style sheet, colours and further rules of it, and what its
    Content-Security-Policy allows beyond styles. `body` is HTML; the title is escaped.
    """
    from forearm import __version__  # where used: the package imports the rooms

    sheets = (file.read_text(encoding="utf-8") for file in (STYLE, style))
    css = "\n".join(part.strip() for part in (colours or page_colours(), *sheets, rules) if part)
    allowed = f"{POLICY}; {policy}" if policy else POLICY
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{allowed}">
<meta name="generator" content="forearm {escape(__version__)}">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>
{css}
</style>
</head>
<body>
{body}
</body>
</html>
"""


def filled_in(template: Path, parts: Mapping[str, str]) -> str:
    """The text of a file with {{names}} replaced, in one pass: what is put in stays as it is."""
    return re.sub(
        r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template.read_text(encoding="utf-8").strip()
    )
