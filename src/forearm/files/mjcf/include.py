"""Files included by an MJCF file: each once, near the main file's folder, with bounded total size."""

from __future__ import annotations

import os
from pathlib import Path

from forearm.arm.tree import MAX_LINKS
from forearm.errors import InputError, shorten
from forearm.reading.textfile import read_bytes
from forearm.reading.xml import MAX_DEPTH, MAX_XML_BYTES, Element, parse_xml

MAX_INCLUDED = 100
MAX_UP = 3  # folders above that of the main file: packages keep scenes and parts in sibling folders
ENDINGS = (".xml", ".mjcf")
MOST_OF_TAG = {"body": MAX_LINKS, "joint": 2 * MAX_LINKS}


def with_includes(root: Element, path: Path | None) -> Element:
    """The root with every <include> replaced by the content of its file; `path` is the main file."""
    return _Including(path).expanded(root, path, 0)


class _Including:
    """Track what was included so far, so that no file includes itself or fills the memory."""

    def __init__(self, main: Path | None) -> None:
        self.main = main
        self.seen: set[Path] = set() if main is None else {main}
        self.left = MAX_XML_BYTES  # of all included files together

    def expanded(self, element: Element, path: Path | None, depth: int) -> Element:
        if depth >= MAX_DEPTH:
            raise InputError(f"elements nested deeper than {MAX_DEPTH}.", element.place)
        children: list[Element] = []
        for child in element.children:
            if child.tag == "include":
                children += self._content(child, path, depth)
            else:
                children.append(self.expanded(child, path, depth + 1) if child.children else child)
        element.children = children
        return element

    def _content(self, include: Element, path: Path | None, depth: int) -> list[Element]:
        name = include.attributes.get("file", "")
        if path is None or self.main is None:
            raise InputError("<include> needs a folder; load the file by its path.", include.place)
        if not name:
            raise InputError("<include> needs the attribute 'file'.", include.place)
        found = self._near(path, name, include)
        if not found.exists():  # MuJoCo also searches beside the main file
            found = self._near(self.main, name, include)
        if found in self.seen or len(self.seen) > MAX_INCLUDED:
            why = "is included twice" if found in self.seen else f"is one of more than {MAX_INCLUDED}"
            raise InputError(f"the file {shorten(name)} {why}; include each file once.", include.place)
        self.seen.add(found)
        data = read_bytes(found, self.left)
        self.left -= len(data)
        root = parse_xml(data, found.name, MOST_OF_TAG)
        if root.tag not in ("mujoco", "mujocoinclude"):
            raise InputError(
                "expected <mujoco> or <mujocoinclude> at the root of an included file, got <"
                f"{root.tag:.40}>.",
                root.place,
            )
        return self.expanded(root, found, depth).children

    def _near(self, path: Path, name: str, include: Element) -> Path:
        """The path of a file named by another; at most MAX_UP folders above that of the main file."""
        assert self.main is not None
        found = Path(os.path.normpath(path.parent / name))
        home = Path(os.path.normpath(self.main.parent))
        above = os.path.relpath(found, home).split(os.sep).count("..")
        if Path(name).is_absolute() or "\0" in name or above > MAX_UP or found.suffix.lower() not in ENDINGS:
            raise InputError(
                f"expected a file ending in {' or '.join(ENDINGS)}, below the folder of "
                f"{self.main.name} or at most {MAX_UP} folders above it, got {shorten(name)}. "
                "Copy or link it there, or give the compiled model to fa.from_mujoco.",
                include.place,
            )
        return found
