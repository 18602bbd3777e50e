"""The search index of the site: a script, so that pages that were opened as files can load it too."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

LEVELS = ("h1", "h2", "h3", "h4")
UNSEEN = ("svg", "figure", "script", "style")
NAME = "search_index.js"
BETWEEN = " / "  # headings

Section = tuple[str, str, str]  # anchor, headings, text

_order: list[Any] = []
_sections: dict[str, list[Section]] = {}


class Sections(HTMLParser):
    """A page apart at its headings; the first section is what stands before the second heading."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, list[str], list[str]]] = [("", [], [])]  # anchor, headings, texts
        self._heading: list[str] | None = None
        self._above: list[str] = []
        self._unseen = ""
        self._mark = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A heading begins a section."""
        given = dict(attrs)
        self._unseen = self._unseen or (tag if tag in UNSEEN else "")
        self._mark = self._mark or "headerlink" in (given.get("class") or "")
        if tag in LEVELS:
            self._heading = []
            if tag != "h1":
                self.found.append((given.get("id") or "", [], []))

    def handle_endtag(self, tag: str) -> None:
        """A heading that ends gives the section its path of headings."""
        if tag == self._unseen:
            self._unseen = ""
        if tag == "a":
            self._mark = False
        if tag in LEVELS and self._heading is not None:
            if tag != "h1":
                depth = LEVELS.index(tag) - 1
                self._above = [*self._above[:depth], squeezed("".join(self._heading))]
                self.found[-1][1].extend(self._above)
            self._heading = None

    def handle_data(self, data: str) -> None:
        """Text of the heading or of the section."""
        if self._unseen or self._mark:
            return
        (self.found[-1][2] if self._heading is None else self._heading).append(data)


def squeezed(text: str) -> str:
    """With single spaces."""
    return re.sub(r"\s+", " ", text).strip()


def sections_of(html: str) -> list[Section]:
    """Sections of a page; names of the reference are headings in full."""
    parser = Sections()
    parser.feed(html)
    return [
        (
            anchor,
            anchor if anchor.startswith("forearm.") else BETWEEN.join(headings),
            squeezed("".join(texts)),
        )
        for anchor, headings, texts in parser.found
    ]


def script(pages: list[tuple[str, str, list[Section]]]) -> str:
    """The index as JavaScript, of pages with address and title."""
    index = {
        "pages": [(url, title) for url, title, _ in pages],
        "sections": [(k, *section) for k, (_, _, sections) in enumerate(pages) for section in sections],
    }
    text = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    # Lines may not end inside a string of a script, and U+2028 ends one for old readers.
    return f"globalThis.forearmIndex = {text.replace(chr(0x2028), ' ')};\n"


def on_nav(nav: Any, config: Any, files: Any) -> None:
    """Pages in the order of the navigation, which breaks ties of a search."""
    _order[:] = nav.pages
    _sections.clear()


def on_page_content(html: str, page: Any, config: Any, files: Any) -> None:
    """Collects the page."""
    _sections[page.file.src_uri] = sections_of(html)


def on_post_build(config: Any) -> None:
    """Writes the index."""
    pages = [(page.url, page.title, _sections[page.file.src_uri]) for page in _order]
    (Path(config["site_dir"]) / NAME).write_text(script(pages), encoding="utf-8")
