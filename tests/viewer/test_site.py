"""Pages of the studio in the documentation: every chapter that is named exists, and its page begins with a
posture that its arm has.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import forearm as fa
from forearm.viewer.arm_code import LAWS

DOCS = Path(__file__).parents[2] / "docs"


def _hooks() -> Any:
    spec = importlib.util.spec_from_file_location("site_hooks", DOCS / "site_hooks.py")
    assert spec is not None
    assert spec.loader is not None
    made = sys.modules["site_hooks"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


HOOKS = _hooks()


@pytest.mark.parametrize("chapter", HOOKS.CHAPTERS)
def test_a_chapter_and_its_arm_are_there(chapter: str) -> None:
    touch = HOOKS.CHAPTERS[chapter]
    assert (DOCS / chapter).is_file()
    arm = fa.load(touch.arm)
    for key in ("q", "q1"):
        assert len(touch.ask.get(key, [0.0] * arm.n)) == arm.n
    assert touch.ask.get("mode", "fall") in ("fall", "plan", "track")
    assert touch.ask.get("controller", {"name": "pd_gravity"})["name"] in LAWS
    assert touch.ask.get("tab", "pose") in ("pose", "world", "move", "see", "take")


def test_a_chapter_gets_its_frame_before_its_first_section() -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="documents/mata.md"))
    made = HOOKS.on_page_markdown("# Mata\n\nWords.\n\n## First\n\nMore.\n", page, None, None)
    frame = made.index('<div class="stage" data-page="../studio/documents-mata.html"')
    assert made.index("Words.") < frame < made.index("## First")
    assert made.count("<svg") == 1  # the poster
    other = SimpleNamespace(file=SimpleNamespace(src_uri="glossary.md"))
    assert HOOKS.on_page_markdown("# G", other, None, None) == "# G"


def test_the_gallery_shows_every_page() -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="gallery.md"))
    made = HOOKS.on_page_markdown((DOCS / "gallery.md").read_text(encoding="utf-8"), page, None, None)
    assert all(f'href="studio/{HOOKS.page_name(chapter)}"' in made for chapter in HOOKS.CHAPTERS)


def test_a_poster_has_every_joint_in_its_box() -> None:
    text = HOOKS.poster(HOOKS.CHAPTERS["index.md"])
    left, top, width, height = map(float, re.search(r'viewBox="([^"]+)"', text)[1].split())  # type: ignore[index]
    places = re.findall(r'cx="([-\d.]+)" cy="([-\d.]+)"', text)
    assert len(places) == 8  # seven joints and the hand
    assert all(left < float(x) < left + width and top < float(y) < top + height for x, y in places)


@pytest.mark.long
@pytest.mark.parametrize("chapter", HOOKS.CHAPTERS)
def test_the_page_of_a_chapter_is_made(chapter: str) -> None:
    text = HOOKS.page_of(HOOKS.CHAPTERS[chapter])
    assert "</html>" in text
    assert len(text) < 2_000_000
