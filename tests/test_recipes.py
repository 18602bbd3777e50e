"""Recipes: all are in the index, each has code, links and mistakes whose messages are quoted as they come;
each group has a notebook.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recipe_mistakes import MISTAKES

import forearm as fa

ROOT = Path(__file__).parent.parent
INDEX = ROOT / "docs" / "recipes" / "index.md"
GROUPS = sorted(path for path in INDEX.parent.glob("*.md") if path != INDEX)
WRONG = "**If it goes wrong**"


def recipes(page: Path) -> dict[str, str]:
    """The text of each recipe by its title."""
    parts = re.split(r"^## (.*)$", page.read_text(encoding="utf-8"), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


ALL = {title: text for page in GROUPS for title, text in recipes(page).items()}


def quotes(title: str) -> list[str]:
    """What a recipe quotes of its mistakes."""
    return re.findall(r"^- `([^`]+)`: ", ALL[title].partition(WRONG)[2], flags=re.M)


def said(mistake: Callable[[], Any]) -> str:
    """What comes of a mistake: its answer, its error and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = mistake()
        except fa.ForearmError as error:
            answer = str(error)
    found = [answer] if isinstance(answer, str) else list(answer or ())
    return "\n".join([*found, *(str(one.message) for one in caught)])


def test_there_are_enough_and_each_has_its_parts() -> None:
    assert len(GROUPS) == 5
    for page in GROUPS:
        assert f"notebooks/{page.stem}.ipynb" in page.read_text(encoding="utf-8")
    assert len(ALL) >= 20
    for title, text in ALL.items():
        assert "```python" in text, title
        assert len(quotes(title)) >= 1, title
        assert re.search(r"^More: \[.*\]\(\.\./.*\)", text, flags=re.M), title
        assert "assert " in text or "```text" in text, f"{title}: nothing is checked"


def test_the_index_has_every_recipe_by_its_title_in_the_order_of_the_pages() -> None:
    listed = re.findall(r"\| \[(.*?)\]\(", INDEX.read_text(encoding="utf-8"))
    in_order = ("describing-an-arm", "motions", "speed", "learning-from-logs", "control-and-boards")
    assert listed == [title for name in in_order for title in recipes(INDEX.parent / f"{name}.md")]


def test_every_quoted_message_has_its_mistake() -> None:
    assert {title: len(quotes(title)) for title in ALL} == {t: len(MISTAKES[t]) for t in ALL}
    assert MISTAKES.keys() == ALL.keys()


@pytest.mark.slow
@pytest.mark.parametrize(("title", "name"), [(title, name) for title in MISTAKES for name in MISTAKES[title]])
def test_a_mistake_leaves_the_message_that_the_page_quotes(
    title: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    check_quote(title, name)


def check_quote(title: str, name: str) -> None:
    """A quote may leave out pieces by three dots."""
    message = said(MISTAKES[title][name])
    quote = quotes(title)[list(MISTAKES[title]).index(name)]
    pattern = "[^\n]*".join(re.escape(piece) for piece in re.split(r" ?\.\.\. ?", quote))
    assert re.search(pattern, message), f"{quote!r} is not in {message!r}"
