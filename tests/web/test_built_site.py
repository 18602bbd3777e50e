"""The documentation as mkdocs builds it, and used in a browser from a disk."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from viewer.browser import LOCAL
from web.docs_module import DOCS

pytestmark = pytest.mark.long  # a build takes half a minute
LARGEST_INDEX = 1_600_000  # bytes


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation, built with warnings as errors."""
    config_module = pytest.importorskip("mkdocs.config", reason="the extra docs is not installed")
    building = pytest.importorskip("mkdocs.commands.build", reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    config = config_module.load_config(str(DOCS.parent / "mkdocs.yml"), site_dir=str(folder), strict=True)
    config.plugins.on_startup(command="build", dirty=False)
    building.build(config)
    return folder


def test_the_site_is_built_without_a_warning_and_fetches_nothing(site: Path) -> None:
    pages = [page for page in site.rglob("*.html") if page.parent.name != "studio"]
    assert len(pages) > 70
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(?:https?:)?//', text), page
        for target in re.findall(r'(?:href|src|data-page)="([^"#]+)', text):
            if not target.startswith(("http", "data:", "/")):
                assert (page.parent / target).exists(), f"{page.name}: {target}"
    assert (site / "search_index.js").stat().st_size < LARGEST_INDEX


def test_search_theme_and_live_pages_work_from_a_file(site: Path, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 1300, "height": 900}, color_scheme="light")
    said: list[str] = []
    shown = context.new_page()
    shown.on("pageerror", lambda error: said.append(str(error)))
    shown.on("request", lambda sent: said.extend(() if sent.url.startswith(LOCAL) else (sent.url,)))
    shown.goto((site / "documents" / "mata.html").as_uri())

    shown.keyboard.press("/")
    shown.wait_for_function("globalThis.forearmIndex")
    shown.keyboard.type("fa.dynamics.inverse")
    shown.wait_for_selector("#found mark")
    assert shown.evaluate("document.querySelector('#found a').href").endswith("#forearm.dynamics.inverse")
    shown.keyboard.press("ArrowDown")
    shown.keyboard.press("ArrowUp")
    shown.keyboard.press("Enter")
    shown.wait_for_url("**/api/dynamics.html#forearm.dynamics.inverse")

    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    shown.click(".theme")
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 25, 28)"

    shown.goto((site / "documents" / "mata.html").as_uri())
    assert shown.evaluate("document.documentElement.dataset.theme") == "dark"  # remembered
    shown.evaluate("document.querySelector('.live').scrollIntoView()")
    shown.wait_for_selector(".live .loaded")
    (frame,) = shown.frames[1:]
    frame.evaluate("forearmStudio.ready")
    frame.wait_for_function("document.documentElement.style.colorScheme === 'dark'")
    context.close()
    assert said == []
