"""Names of the package become links to the reference, whose entries name the pages that use them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from web.docs_module import DOCS, docs_module

ROOM = """# room

<a id="forearm.room.f"></a>
## f

It.

<a id="forearm.room.Tool"></a>
## Tool

A type.

## Types

x
"""


@pytest.fixture
def links() -> Any:
    module = docs_module("site_links")
    top = (
        '<a id="forearm.f"></a>\n## f\n\nIt. In full: [`forearm.room.f`](room.md#forearm.room.f).\n\n'
        '<a id="forearm.Arm"></a>\n## Arm\n\nAn arm.\n'
    )
    module.learn_entries("api/room.md", ROOM)
    module.learn_entries("api/forearm.md", top)
    module.learn_uses("use.md", "# Using\n\n`fa.f(arm)` and `fa.room.Tool.of`.\n")
    return module


def at(path: str) -> Any:
    return SimpleNamespace(file=SimpleNamespace(src_uri=path))


@pytest.mark.parametrize(
    ("html", "linked"),
    [
        ("<code>fa.Arm</code>", '<code><a href="api/forearm.html#forearm.Arm">fa.Arm</a></code>'),
        ("<code>fa.Arm.n</code>", '<code><a href="api/forearm.html#forearm.Arm">fa.Arm</a>.n</code>'),
        ("<code>fa.f(x)</code>", '<code><a href="api/room.html#forearm.room.f">fa.f</a>(x)</code>'),
        ("<code>fa.other</code>", "<code>fa.other</code>"),
        ('<a href="x"><code>fa.Arm</code></a>', '<a href="x"><code>fa.Arm</code></a>'),
        ('<h2 id="x"><code>fa.Arm</code></h2>', '<h2 id="x"><code>fa.Arm</code></h2>'),
    ],
)
def test_a_name_in_code_leads_to_its_entry(links: Any, html: str, linked: str) -> None:
    assert links.on_page_content(html, at("page.md"), None, None) == linked


def test_a_name_in_a_coloured_block_leads_there_too(links: Any) -> None:
    dot, name = '<span class="o">.</span>', '<span class="n">{}</span>'
    html = f"{name.format('fa')}{dot}{name.format('room')}{dot}{name.format('Tool')}{dot}{name.format('n')}"
    linked = links.on_page_content(html, at("documents/page.md"), None, None)
    assert linked == (
        f'<a href="../api/room.html#forearm.room.Tool">{name.format("fa")}{dot}{name.format("room")}{dot}'
        f"{name.format('Tool')}</a>{dot}{name.format('n')}"
    )


def test_types_in_the_reference_are_links(links: Any) -> None:
    own = '<span class="n">forearm</span><span class="o">.</span><span class="n">Arm</span>'
    html = f'<code>Arm | Tool | None</code> <span class="n">Arm</span> {own}'
    made = links.on_page_content(html, at("api/room.md"), None, None)
    assert made.count('<a href="forearm.html#forearm.Arm">Arm</a>') == 2
    assert '<a href="room.html#forearm.room.Tool">Tool</a> | None' in made
    assert made.endswith(own)
    assert '">Arm</a>' not in links.on_page_content(html, at("page.md"), None, None)


def test_an_entry_names_the_pages_that_use_it(links: Any) -> None:
    made = links.on_page_markdown(ROOM, at("api/room.md"), None, None)
    uses = '<p class="uses">In use: <a href="../use.html">Using</a></p>'
    f = f"# room\n\n## f {{: #forearm.room.f }}\n\nIt.\n\n{uses}\n\n"
    tool = f"## Tool {{: #forearm.room.Tool }}\n\nA type.\n\n{uses}\n\n\n## Types\n\nx\n"
    assert made == f + tool


def test_every_entry_of_the_reference_is_known(links: Any) -> None:
    text = (DOCS / "api" / "dynamics.md").read_text(encoding="utf-8")
    links.learn_entries("api/dynamics.md", text)
    assert links.known("forearm.dynamics.inverse") == "forearm.dynamics.inverse"
    assert (
        links.address("forearm.dynamics.inverse", "index.md") == "api/dynamics.html#forearm.dynamics.inverse"
    )
