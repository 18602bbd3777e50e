"""Names of the package in the pages of the site: each leads to its entry in the reference, and each entry
to the pages that use it.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from pathlib import Path
from typing import Any

REFERENCE = "api"  # the folder of its pages
MOST_USES = 8  # pages that an entry names
ENTRY = re.compile(r'^<a id="(forearm\.[\w.]+)"></a>\n(#+ \S+)$', flags=re.M)
SAME = re.compile(r"In full: \[`(forearm\.[\w.]+)`\]")
CALLED = re.compile(r"\b(?:fa|forearm)((?:\.\w+)+)")
# Links and headings are left as they are.
KEPT = r"(?P<kept><a\b.*?</a>|<h[1-6]\b.*?</h[1-6]>|<figure\b.*?</figure>)"
TEXT = r"(?P<text>(?<=<code>)(?:fa|forearm)(?:\.\w+)+)"
DOTTED = r'(?:<span class="o">\.</span><span class="n\w*">\w+</span>)+'
BLOCK = rf'(?P<block><span class="n">(?:fa|forearm)</span>{DOTTED})'
CODE = re.compile(f"{KEPT}|{TEXT}|{BLOCK}", flags=re.S)
TYPE = r'(?<!<span class="o">\.</span>)<span class="n">[A-Z]\w+</span>'  # not the name of the entry itself
TYPES = re.compile(f"{KEPT}|{TYPE}|<code>[^<]*</code>", flags=re.S)

_pages: dict[str, str] = {}  # of the reference, the page of each name
_same: dict[str, str] = {}  # names under which `forearm` shows what is at home in a room
_uses: dict[str, list[tuple[int, str, str]]] = {}  # pages (times, path, title) by name


def on_files(files: Any, config: Any) -> None:
    """Reads which names the reference has, and which pages use them."""
    for kept in (_pages, _same, _uses):
        kept.clear()
    texts = {
        file.src_uri: Path(file.abs_src_path).read_text(encoding="utf-8")
        for file in files.documentation_pages()
    }
    for path, text in texts.items():
        if posixpath.dirname(path) == REFERENCE:
            learn_entries(path, text)
    for path, text in texts.items():
        if not path.startswith(REFERENCE):
            learn_uses(path, text)


def learn_entries(path: str, text: str) -> None:
    """The names of a page of the reference."""
    found = [*ENTRY.finditer(text)]
    for entry, following in zip(found, [*found[1:], None], strict=True):
        _pages[entry[1]] = path
        if same := SAME.search(text[entry.end() : following.start() if following else len(text)]):
            _same[entry[1]] = same[1]


def learn_uses(path: str, text: str) -> None:
    """The names that a page has in its code, in marks or blocks."""
    title = re.sub(r"^# ", "", text.partition("\n")[0])
    times = Counter(known(f"forearm{called}") for called in CALLED.findall(text))
    for name, count in times.items():
        _uses.setdefault(name, []).append((count, path, title))


def listed(name: str) -> str:
    """The longest beginning of a dotted name that has an entry, or nothing."""
    while name and name not in _pages:
        name = name.rpartition(".")[0]
    return name


def known(name: str) -> str:
    """The same, under the name where it is at home."""
    return _same.get(listed(name), listed(name))


def address(name: str, page: str) -> str:
    """Of an entry, seen from a page: both are paths of Markdown files."""
    return (
        posixpath.relpath(_pages[name], posixpath.dirname(page) or ".").replace(".md", ".html") + f"#{name}"
    )


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Entries of the reference with their anchors in the headings, and with the pages that use them."""
    path = page.file.src_uri
    if posixpath.dirname(path) != REFERENCE:
        return markdown
    found = [*ENTRY.finditer(markdown)]
    parts = [markdown[: found[0].start()] if found else markdown]
    for entry, following in zip(found, [*found[1:], None], strict=True):
        body = markdown[entry.end() : following.start() if following else len(markdown)]
        parts.append(f"{entry[2]} {{: #{entry[1]} }}{with_uses(body, entry[1])}")
    return "".join(parts)


def with_uses(body: str, name: str) -> str:
    """An entry with links to the pages that use the name most, before the next heading."""
    uses = sorted(_uses.get(name, []), key=lambda use: -use[0])[:MOST_USES]
    if not uses:
        return body
    links = ", ".join(f'<a href="../{path.replace(".md", ".html")}">{title}</a>' for _, path, title in uses)
    own, heading, rest = body.partition("\n## ")
    return f'{own.rstrip()}\n\n<p class="uses">In use: {links}</p>\n\n{heading}{rest}'


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Names in code as links, types in the reference."""
    path = page.file.src_uri
    if posixpath.dirname(path) == REFERENCE:
        html = TYPES.sub(lambda found: _with_types(found, path), html)
    return CODE.sub(lambda found: _with_link(found, path), html)


def _with_link(found: re.Match[str], page: str) -> str:
    """The part of a dotted name that has an entry, as a link; what follows it is left."""
    in_signature = found["block"] and posixpath.dirname(page) == REFERENCE
    if found["kept"] or in_signature:
        return found[0]
    plain = re.sub(r"<[^>]*>", "", found[0])
    name = listed(f"forearm.{plain.partition('.')[2]}")
    if not name:
        return found[0]
    dot = '<span class="o">.</span>' if found["block"] else "."
    pieces = found[0].split(dot)
    steps = name.count(".") + 1
    rest = "".join(dot + piece for piece in pieces[steps:])
    return f'<a href="{address(known(name), page)}">{dot.join(pieces[:steps])}</a>{rest}'


def _with_types(found: re.Match[str], page: str) -> str:
    """Public types in the code of the reference, as links."""
    if found["kept"]:
        return found[0]
    return re.sub(r"(?<![\w.&])[A-Z]\w+", lambda word: _type_link(word[0], page), found[0])


def _type_link(word: str, page: str) -> str:
    room = posixpath.basename(page).removesuffix(".md")
    for name in (f"forearm.{room}.{word}", f"forearm.{word}"):
        if name in _pages:
            target = known(name)
            return f'<a href="{address(target, page)}">{word}</a>'
    return word
