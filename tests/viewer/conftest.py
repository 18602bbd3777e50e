"""Pages of the studio, opened in the browser of all tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from viewer.browser import LOCAL, Open
from viewer.stand_in import page


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens a page of arms; what it says on the console or asks of a network fails the test."""
    said: list[str] = []
    contexts = []

    def open_page(arms: list[dict[str, Any]], script: str = "", text: str = "", **more: Any) -> Any:
        settings = {"viewport": {"width": 840, "height": 660}, "reduced_motion": "reduce"}
        context = browser.new_context(**settings | more.pop("context", {}))
        contexts.append(context)
        file = tmp_path / f"page{len(contexts)}.html"
        file.write_text(text or page(arms, **more), encoding="utf-8")
        shown = context.new_page()
        shown.on("console", lambda message: said.append(message.text))
        shown.on("pageerror", lambda error: said.append(str(error)))
        shown.on("request", lambda sent: said.extend(() if sent.url.startswith(LOCAL) else (sent.url,)))
        if script:
            shown.add_init_script(script)
        shown.goto(file.as_uri())
        shown.evaluate("forearmStudio.ready")
        return shown

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
