"""The search of the documentation: its index in Python, and what it finds in Node."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from web.docs_module import DOCS, docs_module

from tools import starts

SEARCH = docs_module("site_search")
PAGE = """<h1 id="one">One</h1><p>Before <code>a_b</code>.</p>
<h2 id="two">Two &amp; more<a class="headerlink" href="#two">#</a></h2><p>First  text.</p>
<figure><p>Unseen</p></figure><h3 id="three">Three</h3><pre>code</pre><h2 id="four">Four</h2>"""
LONG = "x " * 100 + "bristles of friction" + " y" * 200
STAND = ("joints-that-stand", "Joints that stand", "They simulate.")
ONE = ("forearm.simulate", "forearm.simulate", "The motion of an arm.")
MANY = ("forearm.simulate_many", "forearm.simulate_many", "Motions; simulate many.")
# Pages as (address, title, sections).
PAGES = [
    ("simulation.html", "Simulation", [("", "", "Motion over time."), STAND]),
    ("api/forearm.html", "forearm", [ONE, MANY]),
    ("friction.html", "Friction", [("", "", "Friction and simulation of joints."), ("b", "LuGre", LONG)]),
    ("forms.html", "Closed-form solutions", [("", "", "Roots.")]),
]


def in_node(**code: str) -> dict[str, Any]:
    """What expressions of JavaScript give, with the search's functions and an index at hand."""
    functions = json.dumps(str(DOCS / "theme" / "search.js"))
    values = ", ".join(f"{name}: {expression}" for name, expression in code.items())
    script = (
        f"const {{ excerpt, marked, search, wordsOf }} = require({functions});"
        f"{SEARCH.script(PAGES)} const index = globalThis.forearmIndex;"
        f"console.log(JSON.stringify({{ {values} }}));"
    )
    done = subprocess.run(
        ["node", "-"], input=script, capture_output=True, text=True, check=True, timeout=60, encoding="utf-8"
    )
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def test_a_page_is_taken_apart_at_its_headings() -> None:
    assert SEARCH.sections_of(PAGE) == [
        ("", "", "Before a_b."),
        ("two", "Two & more", "First text."),
        ("three", "Two & more / Three", "code"),
        ("four", "Four", ""),
    ]


def test_names_of_the_reference_are_headings_in_full() -> None:
    html = '<h1 id="x">forearm</h1><h2 id="forearm.Arm">Arm</h2><p>An arm.</p>'
    assert SEARCH.sections_of(html)[1] == ("forearm.Arm", "forearm.Arm", "An arm.")


@pytest.mark.slow
@pytest.mark.skipif(not starts("node"), reason="Node is not installed")
def test_what_is_found_in_which_order_and_marked() -> None:
    queries = [
        "simulate", "fa.simulate", "forearm.simulate", "simulation", "friction", "fric brist",
        "bristles nowhere", "ristles", "", "?!", "closed-form", ".* ( [a-z]+ \\ $", "bristles",
    ]  # fmt: skip
    said = in_node(
        hits=f"{json.dumps(queries)}.map((query) => search(index, query))",
        words="wordsOf('  Fa.simulate, (a-b) a-b ... fa.load!')",
        joints="marked('A joint, many joints', 'joint many')",
        signs="marked('a.b aXb', 'a.b')",
    )
    assert said["words"] == ["simulate", "a", "b", "load"]
    found = {query: [hit["url"] for hit in hits] for query, hits in zip(queries, said["hits"], strict=True)}
    # headings come before text, whole words before beginnings, a title before everything
    assert found["simulate"][0].startswith("api/forearm.html#")
    assert found["simulate"][-1] == "simulation.html#joints-that-stand"
    assert found["fa.simulate"][0] == found["forearm.simulate"][0] == "api/forearm.html#forearm.simulate"
    assert (found["simulation"][0], found["simulation"][-1]) == ("simulation.html", "friction.html")
    assert found["friction"][0] == "friction.html"
    # every word has to be there and may be a beginning; signs of regular expressions are letters
    assert found["fric brist"] == ["friction.html#b"]
    assert not any(found[query] for query in ("bristles nowhere", "ristles", "", "?!", queries[11]))
    assert found["closed-form"] == ["forms.html"]
    # an excerpt shows the first hit, and every one is marked
    (best,) = said["hits"][-1]
    assert (best["page"], best["heading"]) == ("Friction", "LuGre")
    assert best["excerpt"].startswith("\u2026 x ")
    assert best["excerpt"].endswith(" \u2026")
    assert "bristles of friction" in best["excerpt"]
    assert len(best["excerpt"]) < 230
    assert "".join(text for text, _ in said["joints"]) == "A joint, many joints"
    assert [text for text, hit in said["joints"] if hit] == ["joint", "many", "joint"]
    assert said["signs"] == [["a.b", True], [" aXb", False]]
