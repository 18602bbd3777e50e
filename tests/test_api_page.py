"""docs/api.md and docs/api are what the docstrings of the public names say today."""

from __future__ import annotations

import enum
import importlib.util
import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

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


@pytest.fixture(scope="module")
def pages(maker: ModuleType) -> dict[str, str]:
    made: dict[str, str] = maker.pages()
    return made


@pytest.fixture(scope="module")
def entries(pages: dict[str, str]) -> dict[str, str]:
    """What stands under the heading of every public name."""
    return {
        name: text
        for page in pages.values()
        for name, text in re.findall(
            r'^<a id="(\S+)"></a>\n## \S+\n\n(.*?)(?=^<a id="[^"]*"></a>\n## |\Z)', page, flags=re.M | re.S
        )
    }


@pytest.mark.slow
def test_the_pages_are_up_to_date(pages: dict[str, str]) -> None:
    there = [DOCS / "api.md", *(DOCS / "api").glob("*.md")]
    assert {path.relative_to(DOCS).as_posix() for path in there} == pages.keys()
    for name, text in pages.items():
        assert (DOCS / name).read_text(encoding="utf-8") == text, f"{name}: run: python docs/make_api.py"


def test_every_public_name_has_an_entry_with_a_sentence_and_is_in_the_index(
    maker: ModuleType, pages: dict[str, str], entries: dict[str, str]
) -> None:
    wanted = {f"forearm.{name}" for name in fa.__all__ if name not in (*maker.ROOMS, "__version__")}
    for room in maker.ROOMS:
        wanted |= {f"forearm.{room}.{name}" for name in import_module(f"forearm.{room}").__all__}
    assert entries.keys() == wanted
    silent = [name for name, text in entries.items() if not re.search(r"^[^\s-].*\.$", text, flags=re.M)]
    assert silent == ["forearm.reproduce.DOCUMENTS"], "a constant has no docstring, everything else has"
    assert set(re.findall(r"\(api/\w+\.md#([\w.]+)\)", pages["api.md"])) == wanted


def test_an_entry_has_signature_types_defaults_and_what_is_returned(entries: dict[str, str]) -> None:
    text = entries["forearm.dynamics.inverse"]
    assert "```python\nforearm.dynamics.inverse(\n    arm: Arm,\n    q: ArrayLike,\n" in text
    assert "\n) -> Floats\n```" in text
    assert "\n- `q`, `qd`, `qdd` (`ArrayLike`): " in text
    assert "\n- `formulation` (`str`, default `'newton-euler'`): " in text
    assert "\n**Returns** `Floats`" in text


def test_a_class_has_its_properties_and_an_anchor_for_each_method(entries: dict[str, str]) -> None:
    text = entries["forearm.Arm"]
    assert "\n- `n` (`int`): " in text
    assert '<a id="forearm.Arm.with_payload"></a>\n### with_payload\n\n```python\nwith_payload(' in text


def test_a_name_of_two_pages_is_described_on_that_of_its_room(entries: dict[str, str]) -> None:
    assert "trajectories.md#forearm.trajectories.plan" in entries["forearm.plan"]
    assert "**Arguments**" not in entries["forearm.plan"]
    assert "**Arguments**" in entries["forearm.trajectories.plan"]


def test_a_page_says_what_types_of_its_signatures_stand_for(pages: dict[str, str]) -> None:
    assert (
        "\n- `Verdict`: `Literal['exact', 'within rounding', 'differs', 'not reproducible']`\n"
        in pages["api/reproduce.md"]
    )  # of a name in code
    assert "\n- `Driving`: `ArrayLike | Schedule | " in pages["api/simulation.md"]
    assert "\n- `StudioPage`: A page that was written.\n" in pages["api/forearm.md"]


def test_every_room_that_the_package_shows_is_on_the_page(maker: ModuleType) -> None:
    shown = {name for name in fa.__all__ if isinstance(getattr(fa, name), ModuleType)}
    assert shown == set(maker.ROOMS)


def test_no_address_of_a_machine_and_no_bare_sign_of_markdown(
    maker: ModuleType, pages: dict[str, str]
) -> None:
    assert not any(" at 0x" in text for text in pages.values())
    assert maker._markdown("a *b* [c] `d_e` f_g") == r"a \*b\* \[c\] `d_e` f\_g"


def parameters(thing: Any) -> list[str]:
    """What a caller gives, in order; of a class that extends another one, what it adds."""
    named = [name for name in inspect.signature(thing).parameters if not name.startswith("_")]
    base = thing.__base__ if inspect.isclass(thing) else object
    inherited = [] if base in (object, tuple) else parameters(base)
    return [name for name in named if name not in ("self", "cls", *inherited)]


def public_callables(maker: ModuleType) -> dict[str, Any]:
    """Every public function, class and method by its name, once; exceptions and protocols are not called."""
    modules = {"forearm": fa} | {room: import_module(f"forearm.{room}") for room in maker.ROOMS}
    found: dict[int, tuple[str, Any]] = {}
    for title, module in modules.items():
        for name in module.__all__:
            thing = getattr(module, name)
            thing = inspect.unwrap(thing) if callable(thing) else thing
            is_record = inspect.isclass(thing) and not issubclass(thing, Exception | enum.Enum)
            if inspect.isfunction(thing) or (is_record and not getattr(thing, "_is_protocol", False)):
                found.setdefault(id(thing), (f"{title}.{name}", thing))
            for member, value in vars(thing).items() if is_record else ():
                plain = inspect.unwrap(getattr(value, "__func__", value))
                if inspect.isfunction(plain) and not member.startswith("_"):
                    found.setdefault(id(plain), (f"{title}.{name}.{member}", plain))
    return dict(found.values())


def test_every_argument_is_in_the_list_of_the_docstring(maker: ModuleType) -> None:
    """In the order of the signature: Args of what is called, Attributes of results, which functions make."""
    for name, thing in public_callables(maker).items():
        doc, wanted = inspect.getdoc(thing) or "", parameters(thing)
        _, title, entries = maker.arguments_of(doc)
        if title or len(wanted) > 1:
            listed = [given.lstrip("*") for names in entries for given in names.split(", ")]
            assert listed == wanted, f"{name}: list each argument once, in order"
            assert title in (("Args", "Attributes") if inspect.isclass(thing) else ("Args",)), name
            assert all(meaning.endswith(".") for meaning in entries.values()), name
            last = doc.partition(f"\n\n{title}:\n")[2].splitlines()
            assert all(line.startswith("    ") for line in last), f"{name}: nothing stands behind the list"


def test_a_list_of_arguments_is_taken_apart(maker: ModuleType) -> None:
    doc = "One.\n\nTwo.\n\nArgs:\n    a, b: first,\n        and more.\n    **c: other: last."
    assert maker.arguments_of(doc) == (
        "One.\n\nTwo.",
        "Args",
        {"a, b": "first, and more.", "**c": "other: last."},
    )
    assert maker.arguments_of("One.\n\nTwo.") == ("One.\n\nTwo.", "", {})
