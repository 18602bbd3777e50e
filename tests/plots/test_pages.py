"""Pages without a browser: every colour they name is there for light and for dark, nothing is
fetched, paper stays white.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from simulation.making import sines

from forearm import palette
from forearm.pages import PICTURES, filled_in, html_page
from forearm.palette import COLOURS, DASHES, ON_DARK
from forearm.svg import INKS, INKS_ON_DARK
from forearm.viewer.door import recording_page
from forearm.viewer.studio_page import LOOK, scripts

SOURCE = Path(palette.__file__).parent


def variables(css: str) -> tuple[set[str], set[str], set[str]]:
    """Names that a style sheet sets for light and for dark pages, and those that it uses."""
    light = re.search(r"^:root \{(.*)\}", css, re.M)
    dark = re.search(r"@media screen and \(prefers-color-scheme: dark\) \{\s*:root \{(.*?)\}", css, re.S)
    assert light is not None
    assert dark is not None
    set_light, set_dark = (set(re.findall(r"--(\w+):", found[1])) for found in (light, dark))
    return set_light, set_dark, set(re.findall(r"var\(--(\w+)\)", css))


@pytest.fixture(scope="module")
def studio() -> str:
    return recording_page(sines("stanford"))


def test_the_studio_has_every_colour_it_uses_light_and_dark(studio: str) -> None:
    light, dark, used = variables(studio.partition("</style>")[0])
    assert light == dark
    assert used <= light | {"count", "own"}, "a joint's own colour is set by the script"
    assert len(used) > 8
    inks = set(re.findall(r"\binks\.(\w+)", scripts())) - {"light", "dark"}
    assert len(inks) > 8
    assert inks <= set(LOOK["inks"]["light"]) & set(LOOK["inks"]["dark"])  # type: ignore[index]


def test_the_studio_draws_with_the_palette_of_the_pictures(studio: str) -> None:
    data = re.search(r'id="studio-data">(.*?)</script>', studio, re.S)
    assert data is not None
    look = json.loads(data[1])["look"]
    assert look["dashes"] == [list(lengths) for lengths in DASHES]
    for name, colours in (("light", COLOURS), ("dark", ON_DARK)):
        assert [look["inks"][name][f"curve{k}"] for k in range(look["curves"])] == list(colours)


def test_the_other_pages_have_every_colour_they_use() -> None:
    own = palette.page_colours(INKS, INKS_ON_DARK)
    for made in (
        html_page("reproduce", "", SOURCE / "cli" / "reproduce_report.css"),
        html_page("demo", "", SOURCE / "cli" / "demo_report" / "report.css", own),
    ):
        light, dark, used = variables(made)
        assert used <= light == dark


def test_a_page_is_made_of_its_parts_and_its_title_is_escaped(tmp_path: Path) -> None:
    style, template = tmp_path / "own.css", tmp_path / "own.html"
    style.write_text("p { color: var(--ink); }\n", encoding="utf-8")
    template.write_text("<p>{{first}} and {{second}}</p>\n", encoding="utf-8")
    body = filled_in(template, {"first": "{{second}}", "second": "2"})
    assert body == "<p>{{second}} and 2</p>"
    made = html_page("a < b", body, style, rules="b {}", policy=PICTURES)
    assert "<title>a &lt; b</title>" in made
    assert f"<body>\n{body}\n</body>\n</html>\n" in made
    assert "p { color: var(--ink); }\nb {}\n</style>" in made, "its own rules come last"
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:\"" in made


def test_nothing_is_fetched_and_paper_has_rules_of_its_own(studio: str) -> None:
    head = studio.partition("<body>")[0]
    assert "default-src 'none'" in head
    assert not re.search(r"(?:src|href)=|url\(|@import", head)
    for name in (
        "viewer/page/studio.css",
        "cli/demo_report/report.css",
        "cli/reproduce_report.css",
        "pages.css",
    ):
        assert "@media print" in (SOURCE / name).read_text(encoding="utf-8")
