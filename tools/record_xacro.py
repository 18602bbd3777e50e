"""Record what xacro makes of the cases in tests/data/xacro, for tests of forearm's own expansion.

Each line of cases.txt is the content of one file's <robot>; expected.json has the trees, or null where xacro
refuses. xacro (BSD, Open Source Robotics Foundation) is no dependency of forearm, and runs what it is given.
To record anew, in an environment of its own: pip install xacro; python tools/record_xacro.py. forearm itself
is not imported.
"""

from __future__ import annotations

import contextlib
import io
import json
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.dom.minidom import Element

import recording

FOLDER = Path(__file__).parent.parent / "tests" / "data" / "xacro"
HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'


def main() -> None:
    """Write the file."""
    xacro = import_module("xacro")  # by name, as the types and tests of forearm do without it
    cases = (FOLDER / "cases.txt").read_text(encoding="utf-8").splitlines()
    source = recording.source("xacro", "xacro", __file__)
    trees = ",\n".join(json.dumps(expanded(xacro, FOLDER / "case.xacro", case)) for case in cases)
    text = f'{{\n"source": {json.dumps(source)},\n"trees": [\n{trees}\n]\n}}\n'
    (FOLDER / "expected.json").write_text(text, encoding="utf-8")


def expanded(xacro: Any, path: Path, case: str) -> Any:
    """The tree that xacro makes of a case; None where it refuses it."""
    path.write_text(f"{HEAD}{case}</robot>", encoding="utf-8")
    try:
        return xacro_tree(xacro, path)
    except Exception:  # it raises what it likes
        return None
    finally:
        path.unlink()


def xacro_tree(xacro: Any, path: Path) -> list[Any]:
    """The tree that xacro makes of a file."""
    xacro.init_stacks(str(path))
    with contextlib.redirect_stderr(io.StringIO()):
        return tree(xacro.process_file(str(path)).documentElement)


def tree(element: Element) -> list[Any]:
    """Tag, attributes without namespaces, text where there are no children, children."""
    children = [child for child in element.childNodes if isinstance(child, Element)]
    texts = [
        node.data for node in element.childNodes if node.nodeType in (node.TEXT_NODE, node.CDATA_SECTION_NODE)
    ]
    text = "" if children else "".join(texts).strip()
    attributes = {key: str(value) for key, value in element.attributes.items() if not key.startswith("xmlns")}
    return [element.tagName, attributes, text, [tree(child) for child in children]]


if __name__ == "__main__":
    main()
