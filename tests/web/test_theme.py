"""The theme of the documentation: colours that can be read, nothing from a network, parts that fit."""

from __future__ import annotations

import re
from itertools import product
from types import SimpleNamespace

import pytest
from contrast import contrast
from web.docs_module import DOCS, docs_module

from forearm.palette import PAGE, PAGE_ON_DARK

THEME = DOCS / "theme"
STYLE = (THEME / "site.css").read_text(encoding="utf-8")
OWN = dict(re.findall(r"--(\w+): light-dark\((.*?)\);", STYLE))
CODE = ("keyword", "string", "number", "comment", "name")
LEAST = 4.5  # WCAG 2.2, 1.4.3, level AA, for text


# Text and its ground.
PAIRS = [*product(("ink", "quiet", "link"), ("paper", "block", "mark")), *product(CODE, ("block", "paper"))]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_and_focus_stand_out_from_their_ground(dark: bool) -> None:
    colours = (PAGE_ON_DARK if dark else PAGE) | {name: two.split(", ")[dark] for name, two in OWN.items()}
    for text, ground in (*PAIRS, ("ink", "hit")):
        assert contrast(colours[text], colours[ground]) >= LEAST, (text, ground)
    assert contrast(colours["focus"], colours["paper"]) >= 3.0


def test_every_colour_of_the_style_sheet_is_defined() -> None:
    defined = {*re.findall(r"--(\w+):", STYLE), *PAGE}
    assert set(re.findall(r"var\(--(\w+)\)", STYLE)) <= defined


@pytest.mark.parametrize("name", ["main.html", "404.html", "site.css", "site.js", "search.js"])
def test_nothing_is_fetched(name: str) -> None:
    text = (THEME / name).read_text(encoding="utf-8")
    assert not re.search(r"https?://|//[a-z]+\.|@import|url\(|fetch\(|XMLHttpRequest|import\(", text)


def test_what_the_scripts_look_for_is_in_the_template() -> None:
    template = (THEME / "main.html").read_text(encoding="utf-8")
    script = (THEME / "site.js").read_text(encoding="utf-8")
    for kind, name in re.findall(r'\bone\("([.#])([\w-]+)', script):
        assert re.search(rf'class="[^"]*\b{name}\b' if kind == "." else f'id="{name}"', template), name


def test_tables_scroll_and_alerts_are_notes() -> None:
    hooks = docs_module("site_hooks")
    page = SimpleNamespace(file=SimpleNamespace(src_uri="x.md"))
    html = "<table><tr></tr></table><blockquote>\n<p>[!WARNING]\nCare.</p>\n</blockquote>"
    made = hooks.on_page_content(html, page, None, None)
    assert made.startswith('<div class="table" tabindex="0"')
    assert '<div class="note warning" role="note"><b>Warning</b><p>Care.</p>' in made


def test_anchors_are_those_of_github() -> None:
    slug = docs_module("site_hooks").github_slug
    assert slug("Many states: --from and --to", "-") == "many-states---from-and---to"
