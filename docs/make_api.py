"""Write docs/api.md and docs/api/*.md from the docstrings of the public names: an index, a page for `forearm`
itself, and one for each of the rooms that it shows.

    python docs/make_api.py

Signatures are the annotations as written, so the pages are the same for every version of Python.
"""

from __future__ import annotations

import ast
import enum
import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from textwrap import indent
from types import ModuleType
from typing import Any, ForwardRef

import forearm as fa

HERE = Path(__file__).parent
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
PAGES = ("forearm", *ROOMS)
INTRODUCTION = """# API reference

Every public name, from its docstring. Units are SI and radians; `q`, `qd`, `qdd`, `tau` are (n,), and (B, n) where it says so. `ArrayLike` is whatever
NumPy reads as an array, `Floats` an array of float64. All errors are [`ForearmError`](api/forearm.md#forearm.ForearmError); wrong arguments are its
[`InputError`](api/forearm.md#forearm.InputError). Names of [forearm](api/forearm.md) are used as `fa.load`, those of a room as `fa.dynamics.inverse`.

| page | what is in it |
| --- | --- |
"""  # noqa: E501
LONGEST_SIGNATURE = 90  # characters of a line


def pages() -> dict[str, str]:
    """The text of every page, by its path below docs."""
    return {"api.md": _index()} | {f"api/{title}.md": _room_page(title) for title in PAGES}


def names_of(title: str) -> list[str]:
    """The public names of a page."""
    hidden = (*ROOMS, "__version__") if title == "forearm" else ()
    return [name for name in _module(title).__all__ if name not in hidden]


def _module(title: str) -> ModuleType:
    return fa if title == "forearm" else import_module(f"forearm.{title}")


def _path(title: str) -> str:
    """What stands before the names of a page."""
    return title if title == "forearm" else f"forearm.{title}"


@cache
def _homes() -> dict[int, tuple[str, str]]:
    """Page and name of every public thing: those that forearm shows too are at home in their room."""
    named = [(title, name) for title in PAGES for name in names_of(title)]
    return {id(getattr(_module(title), name)): (title, name) for title, name in named}


def _link(title: str, name: str, up: str = "") -> str:
    return f"[`{name}`]({up}{title}.md#{_path(title)}.{name})"


def _index() -> str:
    rows = []
    sections = []
    for title in PAGES:
        said = (
            _sentence(inspect.getdoc(_module(title)) or "")
            if title != "forearm"
            else "Arms, files and shortcuts."
        )
        rows.append(f"| [{_path(title)}](api/{title}.md) | {said} |")
        links = ", ".join(_link(title, name, "api/") for name in sorted(names_of(title), key=str.lower))
        sections.append(f"## {_path(title)}\n\n{links}")
    return INTRODUCTION + "\n".join(rows) + "\n\n" + "\n\n".join(sections) + "\n"


def _room_page(title: str) -> str:
    module, path = _module(title), _path(title)
    parts = [f"# {path}", _markdown(inspect.getdoc(module) or "")]
    for name in names_of(title):
        thing = getattr(module, name)
        home = _homes()[id(thing)]
        parts.append(_heading(2, f"{path}.{name}"))
        parts += [_entry(f"{path}.{name}", thing)] if home[0] == title else [_elsewhere(thing, *home)]
    return "\n\n".join([*parts, *_types("\n".join(parts), title)]) + "\n"


def _elsewhere(thing: Any, title: str, name: str) -> str:
    full = f"{_path(title)}.{name}"
    return f"{_sentence(inspect.getdoc(thing) or '')} In full: [`{full}`]({title}.md#{full})."


def _heading(level: int, anchor: str) -> str:
    """A heading with an anchor of its own, for the site and wherever else Markdown is shown."""
    return f'<a id="{anchor}"></a>\n{"#" * level} {anchor.rpartition(".")[2]}'


def _entry(path: str, thing: Any) -> str:
    if callable(thing):  # functions that remember their answers, but not those that take records
        thing = inspect.unwrap(thing, stop=lambda f: hasattr(f, "__signature__"))
    if isinstance(thing, dict):
        return f"A table by name: {', '.join(f'`{key}`' for key in thing)}."
    if not (inspect.isclass(thing) or inspect.isfunction(thing)):
        return f"`{thing!r}`"
    if inspect.isfunction(thing):
        return f"{_signature(path, thing)}\n\n{_described(thing)}"
    if issubclass(thing, enum.Enum):
        values = "\n".join(f"- `{member.name}`: {_markdown(_said(member))}" for member in thing)
        return f"{_described(thing)}\n\n{values}"
    is_made = not (issubclass(thing, Exception) or getattr(thing, "_is_protocol", False))
    made = [_signature(path, thing)] if is_made else []
    return "\n\n".join([*made, _described(thing), *_properties(thing), *_methods(path, thing)])


def arguments_of(doc: str) -> tuple[str, str, dict[str, str]]:
    """A docstring apart: its prose, the word over its list (Args, Attributes, or none), and the list, whose
    entries may name several arguments with one meaning.
    """
    prose, title, lines = [*re.split(r"\n\n(Args|Attributes):\n", doc, maxsplit=1), "", ""][:3]
    entries = re.findall(r"^    (\S[^:]*): (.*(?:\n {8}.*)*)$", lines, flags=re.M)
    return prose, title, {names: re.sub(r"\s+", " ", meaning) for names, meaning in entries}


def _described(thing: Any) -> str:
    """The docstring as Markdown, then arguments with their types and defaults, and what is returned."""
    prose, title, entries = arguments_of(inspect.getdoc(thing) or "")
    parts = [_markdown(prose)]
    if entries:
        word = {"Args": "Arguments", "Attributes": "Attributes"}[title]
        parts.append(f"**{word}**\n\n{_bullets(thing, entries)}")
    returned = _annotation(inspect.signature(thing).return_annotation) if inspect.isfunction(thing) else ""
    if returned not in ("", "None"):
        parts.append(f"**Returns** `{returned}`")
    return "\n\n".join(parts)


def _bullets(thing: Any, entries: dict[str, str]) -> str:
    return "\n".join(
        f"- {_typed(thing, names.split(', '))}: {_markdown(meaning)}" for names, meaning in entries.items()
    )


def _typed(thing: Any, names: list[str]) -> str:
    """Names with type and default; those that have the same ones share them."""
    groups: list[tuple[str, list[str]]] = []
    for name in names:
        said = _type_and_default(thing, name.lstrip("*"))
        if not groups or groups[-1][0] != said:
            groups.append((said, []))
        groups[-1][1].append(f"`{name}`")
    return ", ".join(", ".join(shown) + (f" ({said})" if said else "") for said, shown in groups)


def _type_and_default(thing: Any, name: str) -> str:
    parameter = inspect.signature(thing).parameters.get(name)
    if parameter is None:  # what a class computes of what it is given
        value = getattr(thing, name, None)
        of_value = getattr(value, "fget", getattr(value, "func", None))
        kind = inspect.signature(of_value).return_annotation if of_value else _fields(thing).get(name, "")
        return f"`{_annotation(kind)}`" if _annotation(kind) else ""
    kind = _annotation(parameter.annotation)
    has_default = parameter.default is not parameter.empty
    default = f"default `{_value(parameter.default)}`" if has_default else ""
    return ", ".join(said for said in (f"`{kind}`" if kind else "", default) if said)


def _fields(thing: Any) -> dict[str, Any]:
    return {
        name: kind
        for owner in reversed(inspect.getmro(thing))
        for name, kind in vars(owner).get("__annotations__", {}).items()
    }


def _said(member: Any) -> str:
    return str(getattr(member, "reason", "") or member.value)


def _members(thing: type) -> Iterator[tuple[str, Any, Any]]:
    """Name, member and function of what the class itself defines in public."""
    for name, value in vars(thing).items():
        plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if not name.startswith("_"):
            yield name, value, plain


def _properties(thing: type) -> list[str]:
    """Properties, each with its type and its docstring as one paragraph."""
    lines = []
    for name, value, _ in _members(thing):
        function = value.fget if isinstance(value, property) else getattr(value, "func", None)
        if function is not None:
            kind = _annotation(inspect.signature(function).return_annotation)
            said = _markdown(re.sub(r"\s+", " ", inspect.getdoc(value) or ""))
            lines.append(f"- `{name}`" + (f" (`{kind}`)" if kind else "") + (f": {said}" if said else ""))
    return ["**Properties**\n\n" + "\n".join(lines)] if lines else []


def _methods(path: str, thing: type) -> list[str]:
    return [
        f"{_heading(3, f'{path}.{name}')}\n\n{_signature(name, plain)}\n\n{_described(plain)}".rstrip()
        for name, _, plain in _members(thing)
        if inspect.isfunction(plain)
    ]


def _signature(name: str, thing: Any) -> str:
    """A block of code: in one line where it fits, else one for each parameter."""
    parameters, result = _parameters(thing)
    text = f"{name}({', '.join(parameters)}){result}"
    if len(text) > LONGEST_SIGNATURE:
        text = (
            f"{name}(\n"
            + indent("".join(f"{parameter},\n" for parameter in parameters), "    ")
            + f"){result}"
        )
    return f"```python\n{text}\n```"


def _parameters(thing: Any) -> tuple[list[str], str]:
    """What is given, as written, and what is returned."""
    signature = inspect.signature(thing)
    shown, starred = [], False
    for parameter in signature.parameters.values():
        if parameter.name in ("self", "cls") or parameter.name.startswith("_"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            shown.append("*")
        starred |= parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        stars = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(parameter.kind.name, "")
        kind = _annotation(parameter.annotation)
        text = stars + parameter.name + (f": {kind}" if kind else "")
        if parameter.default is not parameter.empty:
            text += f" = {_value(parameter.default)}"
        shown.append(text)
    result = "" if inspect.isclass(thing) else _annotation(signature.return_annotation)
    return shown, f" -> {result}" if result else ""


def _annotation(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    if isinstance(annotation, ForwardRef):  # of a NamedTuple
        annotation = annotation.__forward_arg__
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return text.strip("'\"")


def _value(default: Any) -> str:
    plain = default is None or isinstance(default, bool | int | float | str | tuple)
    return repr(default) if plain and "0x" not in repr(default) and len(repr(default)) < 60 else "..."


# ---- types that signatures name and that are not public -------------------------------------------------


def _types(text: str, title: str) -> list[str]:
    """A section about the types that the signatures of a page name and no page describes."""
    public = {name for page in PAGES for name in names_of(page)}
    code = " ".join(re.findall(r"```python\n(.*?)```", text, flags=re.S))
    code = re.sub(r"'[^']*'|\"[^\"]*\"", "", code)
    lines = []
    for name in sorted(set(re.findall(r"(?<![\w.])[A-Z]\w+", code)) - public, key=str.lower):
        meanings = dict.fromkeys(_meaning(name, module) for module in _modules_of(title))
        said = "; or: ".join(filter(None, meanings))
        lines += [f"- `{name}`: {said}"] if said else []
    return ["## Types on this page", "\n".join(lines)] if lines else []


def _modules_of(title: str) -> list[str]:
    """The modules in which the names of a page are defined, in the order of the names."""
    module = _module(title)
    things = (inspect.unwrap(thing) for name in names_of(title) if callable(thing := getattr(module, name)))
    return list(dict.fromkeys(str(getattr(thing, "__module__", "")) for thing in things))


def _meaning(name: str, module: str) -> str:
    """What a name stands for in a module of ours: an alias's definition, a class's first sentence."""
    if not module.startswith("forearm"):
        return ""
    node = _definitions(module).get(name)
    if isinstance(node, ast.ImportFrom):
        original = next(each.name for each in node.names if name in (each.asname, each.name))
        return _meaning(original, node.module or "")
    if isinstance(node, ast.ClassDef):
        return _sentence(inspect.cleandoc(ast.get_docstring(node) or ""))
    return f"`{' '.join(ast.unparse(node.value).split())}`" if isinstance(node, ast.Assign) else ""


@cache
def _definitions(module: str) -> dict[str, ast.stmt]:
    """The statement that gives each name of a module, imports for type checkers included."""
    source = Path(str(import_module(module).__file__)).read_text(encoding="utf-8")
    found: dict[str, ast.stmt] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            found |= {each.asname or each.name: node for each in node.names}
        elif isinstance(node, ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            found |= {to.id: node for to in node.targets if isinstance(to, ast.Name)}
    return found


# ---- words -----------------------------------------------------------------------------------------------


def _sentence(doc: str) -> str:
    """The first paragraph, as one line."""
    return _markdown(arguments_of(doc)[0].split("\n\n")[0].replace("\n", " "))


def _markdown(text: str) -> str:
    """A docstring as paragraphs, with what Markdown would read as its own signs kept as they are."""
    pieces = re.split(r"(`[^`\n]*`)", text)
    for i in range(0, len(pieces), 2):
        pieces[i] = re.sub(r"([*_<\[\]])", r"\\\1", pieces[i])
    return "".join(pieces).strip()


def main() -> None:
    """Write the pages, and remove those of rooms that are gone."""
    texts = pages()
    (HERE / "api").mkdir(exist_ok=True)
    for path in (HERE / "api").glob("*.md"):
        if f"api/{path.name}" not in texts:
            path.unlink()
    for name, text in texts.items():
        (HERE / name).write_text(text, encoding="utf-8")
    print(f"written: api.md and {len(PAGES)} pages in api")


if __name__ == "__main__":
    main()
