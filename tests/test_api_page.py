"""docs/api.md is what the docstrings of the public names say today."""

from __future__ import annotations

import importlib.util
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import forearm as fa

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_api", DOCS / "make_api.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(maker: ModuleType) -> None:
    assert (DOCS / "api.md").read_text(encoding="utf-8") == maker.page(), "run: python docs/make_api.py"


def test_every_public_name_has_a_heading_and_a_sentence(maker: ModuleType) -> None:
    entries = dict(re.findall(r"^### (\S+)\n\n(.*?)(?=^##|\Z)", maker.page(), flags=re.M | re.S))
    wanted = {f"forearm.{name}" for name in fa.__all__ if name not in (*maker.ROOMS, "__version__")}
    for room in maker.ROOMS:
        wanted |= {f"forearm.{room}.{name}" for name in import_module(f"forearm.{room}").__all__}
    assert set(entries) == wanted
    silent = [name for name, text in entries.items() if not re.search(r"^[^\s-].* .*\.$", text, flags=re.M)]
    assert silent == ["forearm.reproduce.DOCUMENTS"], "a constant has no docstring, everything else has"


def test_every_room_that_the_package_shows_is_on_the_page(maker: ModuleType) -> None:
    shown = {name for name in fa.__all__ if isinstance(getattr(fa, name), ModuleType)}
    assert shown == set(maker.ROOMS)


def test_no_address_of_a_machine_and_no_bare_sign_of_markdown(maker: ModuleType) -> None:
    text = maker.page()
    assert " at 0x" not in text
    assert maker._markdown("a *b* [c] `d_e` f_g") == r"a \*b\* \[c\] `d_e` f\_g"
