"""The search of the documentation: its index in Python, and what it finds in Node."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from tools import starts
from web.docs_module import DOCS, docs_module

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


def in_node(test: Any) -> Any:
    """A test that starts Node, which takes a tenth of a second each time."""
    return pytest.mark.slow(pytest.mark.skipif(not starts("node"), reason="Node is not installed")(test))


def run(code: str) -> Any:
    """What an expression of JavaScript gives, with the search's functions and an index at hand."""
    functions = json.dumps(str(DOCS / "theme" / "search.js"))
    script = (
        f"const {{ excerpt, marked, search, wordsOf }} = require({functions});"
        f"{SEARCH.script(PAGES)} const index = globalThis.forearmIndex;"
        f"console.log(JSON.stringify({code}));"
    )
    done = subprocess.run(
        ["node", "-"], input=script, capture_output=True, text=True, check=True, timeout=60, encoding="utf-8"
    )
    return json.loads(done.stdout)


def found(query: str) -> list[str]:
    return [each["url"] for each in run(f"search(index, {json.dumps(query)})")]


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


@in_node
def test_a_query_is_words_without_signs() -> None:
    assert run("wordsOf('  Fa.simulate, (a-b) a-b ... fa.load!')") == ["simulate", "a", "b", "load"]


@in_node
def test_headings_come_before_text_and_whole_words_before_beginnings() -> None:
    assert found("simulate")[0].startswith("api/forearm.html#")
    assert found("simulate")[-1] == "simulation.html#joints-that-stand"
    assert found("fa.simulate")[0] == "api/forearm.html#forearm.simulate"
    assert found("forearm.simulate")[0] == "api/forearm.html#forearm.simulate"


@in_node
def test_a_title_comes_before_everything() -> None:
    assert found("simulation")[0] == "simulation.html"
    assert found("simulation")[-1] == "friction.html"
    assert found("friction")[0] == "friction.html"


@in_node
def test_every_word_has_to_be_there_and_may_be_a_beginning() -> None:
    assert found("fric brist") == ["friction.html#b"]
    assert found("bristles nowhere") == []
    assert found("ristles") == []
    assert found("") == found("?!") == []


@in_node
def test_an_excerpt_shows_the_first_hit_and_marks_every_one() -> None:
    (best,) = run("search(index, 'bristles')")
    assert best["page"] == "Friction"
    assert best["heading"] == "LuGre"
    assert best["excerpt"].startswith("… x ")
    assert best["excerpt"].endswith(" …")
    assert "bristles of friction" in best["excerpt"]
    assert len(best["excerpt"]) < 230
    pieces = run("marked('A joint, many joints', 'joint many')")
    assert "".join(text for text, _ in pieces) == "A joint, many joints"
    assert [text for text, hit in pieces if hit] == ["joint", "many", "joint"]


@in_node
def test_signs_of_regular_expressions_are_letters() -> None:
    assert found("closed-form") == ["forms.html"]
    assert found(".* ( [a-z]+ \\ $") == []
    assert run("marked('a.b aXb', 'a.b')") == [["a.b", True], [" aXb", False]]
