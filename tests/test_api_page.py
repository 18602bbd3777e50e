"""docs/api.md and docs/api are what the docstrings of the public names say today."""

from __future__ import annotations

import enum
import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from web.docs_module import docs_module

import forearm as fa

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def maker() -> Any:
    return docs_module("make_api")


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


@pytest.mark.parametrize(
    ("name", "pieces"),
    [
        (
            "forearm.dynamics.inverse",
            [
                "```python\nforearm.dynamics.inverse(\n    arm: Arm,\n    q: ArrayLike,\n",
                "\n) -> Floats\n```",
                "\n- `q`, `qd`, `qdd` (`ArrayLike`): ",
                "\n- `formulation` (`str`, default `'newton-euler'`): ",
                "\n**Returns** `Floats`",
            ],
        ),
        (
            "forearm.Arm",
            [
                "\n- `n` (`int`): ",
                '<a id="forearm.Arm.with_payload"></a>\n### with_payload\n\n```python\nwith_payload(',
            ],
        ),
        ("forearm.plan", ["trajectories.md#forearm.trajectories.plan"]),  # described on the page of its room
        ("forearm.trajectories.plan", ["**Arguments**"]),
    ],
)
def test_an_entry_has_signature_types_defaults_members_and_anchors(
    name: str, pieces: list[str], entries: dict[str, str]
) -> None:
    assert all(piece in entries[name] for piece in pieces)
    assert name != "forearm.plan" or "**Arguments**" not in entries[name]


def test_pages_say_what_types_stand_for_and_need_no_machine(maker: ModuleType, pages: dict[str, str]) -> None:
    verdicts = "'exact', 'within rounding', 'differs', 'not reproducible'"
    assert f"\n- `Verdict`: `Literal[{verdicts}]`\n" in pages["api/reproduce.md"]  # of a name in code
    assert "\n- `Driving`: `ArrayLike | Schedule | " in pages["api/simulation.md"]
    assert "\n- `StudioPage`: A page that was written.\n" in pages["api/forearm.md"]
    assert not any(" at 0x" in text for text in pages.values())
    assert maker._markdown("a *b* [c] `d_e` f_g") == r"a \*b\* \[c\] `d_e` f\_g"
    assert {n for n in fa.__all__ if isinstance(getattr(fa, n), ModuleType)} == set(maker.ROOMS)


def parameters(thing: Any) -> list[str]:
    """What a caller gives, in order; of a class that extends another one, what it adds."""
    named = [name for name in inspect.signature(thing).parameters if not name.startswith("_")]
    init: Any = getattr(thing, "__init__", None)
    if hasattr(init, "records"):  # its own arguments, then the fields of its records
        own = list(inspect.signature(inspect.unwrap(init)).parameters)
        named = [*own, *(name for name in named if name not in own)]
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
            inherited = set(inspect.signature(thing).parameters) - set(wanted)  # records list these too
            listed = [name for name in listed if name not in inherited]
            # fields of records stand behind the own arguments, or where the signature has them
            signed = [name for name in inspect.signature(thing).parameters if name in wanted]
            assert listed in (wanted, signed), f"{name}: list each argument once, in order"
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


def test_the_stub_for_editors_shows_every_keyword_of_today() -> None:
    stub = docs_module("make_stub")
    text = stub.STUB.read_text(encoding="utf-8")
    assert text == stub.Stub().text(), "python docs/make_stub.py"
    assert "    velocity: " in text.partition("def time_optimal(")[2].partition("-> ")[0]
