"""The xacro files of packages on PyPI, expanded by forearm beside xacro itself.

`make test-peers` installs xacro into an environment of its own, downloads the packages and runs this:
.venv-peers/bin/python tools/compare_xacro.py FOLDER. xacro runs what is in the files; forearm does not. Both
look for $(find NAME) among the folders of the same download. Every content counts once. Exit 1 where a tree
differs, or where only forearm refuses.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from record_xacro import xacro_tree

import forearm as fa
from forearm.files.urdf_read import expanded_robot
from forearm.reading.xml import Element, parse_xml


def main() -> int:
    """Compare all, one line for each file that differs or is refused."""
    warnings.simplefilter("ignore", fa.ForearmWarning)
    seen: Counter[str] = Counter()
    contents: set[bytes] = set()
    packages = [path.resolve() for folder in sys.argv[1:] for path in Path(folder).iterdir()]
    for package in sorted(packages):
        paths = sorted(package.rglob("*.xacro"))
        folders = {path.name: path for path in sorted(package.rglob("*")) if paths and path.is_dir()}
        for path in paths:
            if path.read_bytes() not in contents:
                contents.add(path.read_bytes())
                outcome, text = compared(path, folders)
                seen[outcome] += 1
                if text:
                    print(f"{path.name:44s} {outcome}: {text}")
    print("\n" + "\n".join(f"{count:5d} {what}" for what, count in sorted(seen.items())))
    return 0 if seen["equal"] and not seen["differs"] + seen["refused by forearm alone"] else 1


def compared(path: Path, folders: Mapping[str, Path]) -> tuple[str, str]:
    """What became of a file, and the words for it."""
    xacro = import_module("xacro")
    import_module("xacro.substitution_args")._eval_find = lambda name: str(folders[name])  # type: ignore[attr-defined]
    try:
        theirs = xacro_tree(xacro, path)
    except Exception:  # it raises what it likes
        theirs = None
    try:
        ours = tree(expanded_robot(parse_xml(path.read_bytes(), path.name), path, folders))
    except fa.ForearmError as error:
        return ("refused by both" if theirs is None else "refused by forearm alone"), str(error)
    if theirs is None:
        return "refused by xacro alone", ""
    if ours != theirs:
        return "differs", ""
    return ("equal" if len(ours[3]) else "equal, macros only"), ""


def tree(element: Element) -> list[Any]:
    """An element as `record_xacro.tree` writes it."""
    attributes = {key: text for key, text in element.attributes.items() if not key.startswith("xmlns")}
    text = "" if element.children else element.text.strip()
    return [element.tag, attributes, text, [tree(child) for child in element.children]]


if __name__ == "__main__":
    sys.exit(main())
