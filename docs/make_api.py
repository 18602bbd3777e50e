"""Write docs/api.md from the docstrings of the public names:
those of `forearm` and of the rooms that it shows.

    python docs/make_api.py

Signatures are the annotations as written, so the page is the same for every version of Python.
"""

from __future__ import annotations

import enum
import inspect
import re
from importlib import import_module
from pathlib import Path
from textwrap import indent
from types import ModuleType
from typing import Any, ForwardRef

import forearm as fa

PAGE = Path(__file__).parent / "api.md"
ROOMS = (
    "kinematics",
    "dynamics",
    "drives",
    "checking",
    "counting",
    "trajectories",
    "simulation",
    "identification",
    "control",
    "studies",
    "schedules",
    "reproduce",
    "visuals",
)
INTRODUCTION = """# API reference

Every public name, from its docstring, by `python docs/make_api.py`. Units are SI and radians; q, qd, qdd, tau are (n,), and
(B, n) where it says so. Names of the first section are used as `fa.load`, those of a room as `fa.dynamics.inverse`.
"""  # noqa: E501


def page() -> str:
    """The whole page."""
    parts = [
        INTRODUCTION,
        *_section(
            "forearm", fa, [name for name in fa.__all__ if name not in ROOMS and name != "__version__"]
        ),
    ]
    for room in ROOMS:
        module = import_module(f"forearm.{room}")
        parts += _section(f"forearm.{room}", module, list(module.__all__))
    return "\n".join(parts)


def _section(title: str, module: ModuleType, names: list[str]) -> list[str]:
    introduction = _markdown(inspect.getdoc(module) or "")
    parts = [f"## {title}\n\n{introduction}\n"]
    for name in names:
        parts.append(f"### {title}.{name}\n\n{_entry(name, getattr(module, name))}\n")
    return parts


def _entry(name: str, thing: Any) -> str:
    thing = inspect.unwrap(thing) if callable(thing) else thing  # functions that remember their answers
    if isinstance(thing, dict):
        return f"A table by name: {', '.join(f'`{key}`' for key in thing)}."
    if not (inspect.isclass(thing) or inspect.isfunction(thing)):
        return f"`{thing!r}`"
    text = _described(thing)
    if inspect.isfunction(thing):
        return f"{_code(name, thing)}\n\n{text}"
    if issubclass(thing, enum.Enum):
        return text + "\n\n" + "\n".join(f"- `{member.name}`: {_markdown(_said(member))}" for member in thing)
    made = (
        ""
        if issubclass(thing, Exception) or getattr(thing, "_is_protocol", False)
        else f"{_code(name, thing)}\n\n"
    )
    members = _members(thing)
    return f"{made}{text}" + (f"\n\nMembers:\n\n{members}" if members else "")


def arguments_of(doc: str) -> tuple[str, str, dict[str, str]]:
    """A docstring apart: its prose, the word over its list (Args, Attributes, or none), and the list, whose
    entries may name several arguments with one meaning.
    """
    prose, title, lines = [*re.split(r"\n\n(Args|Attributes):\n", doc, maxsplit=1), "", ""][:3]
    entries = re.findall(r"^    (\S[^:]*): (.*(?:\n {8}.*)*)$", lines, flags=re.M)
    return prose, title, {names: re.sub(r"\s+", " ", meaning) for names, meaning in entries}


def _described(thing: Any) -> str:
    """The docstring as Markdown, its arguments as a list of bullets."""
    prose, title, entries = arguments_of(inspect.getdoc(thing) or "")
    word = {"Args": "Arguments", "Attributes": "Attributes"}.get(title, "")
    return _markdown(prose) + (f"\n\n{word}:\n\n{_bullets(entries)}" if word else "")


def _bullets(entries: dict[str, str]) -> str:
    return "\n".join(
        f"- {', '.join(f'`{name}`' for name in names.split(', '))}: {_markdown(meaning)}"
        for names, meaning in entries.items()
    )


def _said(member: Any) -> str:
    return str(getattr(member, "reason", "") or member.value)


def _members(thing: type) -> str:
    """Public methods and properties that the class itself defines, each with its first sentence and its
    arguments.
    """
    lines = []
    for name, value in vars(thing).items():
        plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if name.startswith("_") or not (
            inspect.isfunction(plain) or isinstance(value, property) or hasattr(value, "func")
        ):
            continue
        shown = f"{name}{_parameters(plain)}" if inspect.isfunction(plain) else name
        prose, _, entries = arguments_of(inspect.getdoc(value) or "")
        sentence = _markdown(prose.split("\n\n")[0].replace("\n", " "))
        lines.append(f"- `{shown}`" + (f": {sentence}" if sentence else ""))
        lines += [indent(_bullets(entries), "    ")] if entries else []
    return "\n".join(lines)


def _code(name: str, thing: Any) -> str:
    text = f"{name}{_parameters(thing)}"
    if len(text) > 120:
        head, _, rest = text.partition("(")
        inner, _, tail = rest.rpartition(")")
        text = f"{head}(\n    " + ",\n    ".join(_split(inner)) + f",\n){tail}"
    return f"```text\n{text}\n```"


def _split(parameters: str) -> list[str]:
    """Parameters apart, at commas that stand in no bracket."""
    found, depth = [""], 0
    for character in parameters:
        depth += character in "([{"
        depth -= character in ")]}"
        if character == "," and depth == 0:
            found.append("")
        else:
            found[-1] += character
    return [parameter.strip() for parameter in found]


def _parameters(thing: Any) -> str:
    signature = inspect.signature(thing)
    shown, starred = [], False
    for parameter in signature.parameters.values():
        if parameter.name in ("self", "cls") or parameter.name.startswith("_"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            shown.append("*")
        starred |= parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        stars = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(parameter.kind.name, "")
        text = stars + parameter.name + _annotation(": ", parameter.annotation)
        if parameter.default is not parameter.empty:
            text += f" = {_value(parameter.default)}"
        shown.append(text)
    result = "" if inspect.isclass(thing) else _annotation(" -> ", signature.return_annotation)
    return f"({', '.join(shown)}){result}"


def _annotation(before: str, annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    if isinstance(annotation, ForwardRef):  # of a NamedTuple
        annotation = annotation.__forward_arg__
    return before + (
        annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    ).strip("'\"")


def _value(default: Any) -> str:
    plain = default is None or isinstance(default, bool | int | float | str | tuple)
    return repr(default) if plain and "0x" not in repr(default) and len(repr(default)) < 60 else "..."


def _markdown(text: str) -> str:
    """A docstring as paragraphs, with what Markdown would read as its own signs kept as they are."""
    pieces = re.split(r"(`[^`\n]*`)", text)
    for i in range(0, len(pieces), 2):
        pieces[i] = re.sub(r"([*_<\[\]])", r"\\\1", pieces[i])
    return "".join(pieces).strip()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"written: {PAGE.name}")
