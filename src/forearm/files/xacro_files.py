"""The files that a xacro file may read, below given folders only: XML to include, and YAML.

PyYAML's parser gives the tree of nodes of a YAML file; the values are made here, so that no tag constructs an
object and repeated aliases count as often as they are used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from forearm.errors import InputError, shorten
from forearm.files.urdf_shapes import package_around
from forearm.files.xacro_expressions import MAX_SIZE, MAX_VALUE_DEPTH, RefusedExpression, StepBudget, Value
from forearm.reading.textfile import read_bytes
from forearm.reading.xml import MAX_XML_BYTES, Element, parse_xml

MAX_YAML_BYTES = 1_000_000
STEPS_PER_BYTE = 4  # of YAML, of which PyYAML reads some 100 kB per second
STANDARD = "tag:yaml.org,2002:"
UNITS = {
    "!radians": 1.0,
    "!degrees": math.pi / 180.0,
    "!meters": 1.0,
    "!millimeters": 0.001,
    "!foot": 0.3048,
    "!inches": 0.0254,
}


class XacroFiles:
    """The files that an expansion may read: those below the folder of the file or the ROS package around it,
    below `packages`, and below ROS packages around the file that it names.
    """

    def __init__(self, path: Path, packages: Mapping[str, Path], budget: StepBudget) -> None:
        self.budget = budget
        self.folder = path.parent.resolve()
        self.packages = {name: folder.resolve() for name, folder in packages.items()}
        own = next((f for f in (self.folder, *self.folder.parents) if _is_ros_package(f)), self.folder)
        self.allowed = [own, *self.packages.values()]
        self.open = [self.folder / path.name]  # the file being read, behind those that include it
        self.trees: dict[Path, Element] = {}
        self.values: dict[Path, Value] = {}

    def package(self, name: str) -> Path:
        """The folder of a package."""
        if name not in self.packages:
            folder = package_around(self.folder, name)
            if folder is None or not _is_ros_package(folder.resolve()):
                raise RefusedExpression(
                    f"the package {shorten(name)} was not found; give its folder with "
                    f"packages={{{name!r:.80}: FOLDER}} (--package {name:.80}=FOLDER)."
                )
            self.packages[name] = folder.resolve()
            self.allowed.append(self.packages[name])
        return self.packages[name]

    def path(self, name: str) -> Path:
        """The path of a file named in a file, relative to the one that is being read."""
        self.budget.spend(20)  # the system is asked about each folder on the way
        if "://" in name or re.search(r"[*?\[]", name):
            raise RefusedExpression(
                f"{shorten(name)}: expected the path of one file, such as $(find PACKAGE)/arm.xacro."
            )
        try:
            path = (self.open[-1].parent / name).resolve()
        except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a NUL
            raise RefusedExpression(f"{shorten(name)} is not the name of a file.") from error
        if not any(path.is_relative_to(folder) for folder in self.allowed):
            raise RefusedExpression(
                f"{shorten(name)} is outside the folders that this file may read, its own and those of its "
                "packages; give its folder with packages={name: FOLDER} (--package NAME=FOLDER)."
            )
        return path

    def tree(self, path: Path) -> Element:
        """The XML of a file, read once."""
        if path not in self.trees:
            data = read_bytes(path, MAX_XML_BYTES)
            self.budget.spend(len(data) // 16)
            self.trees[path] = parse_xml(data, path.name)
        return self.trees[path]

    def value(self, path: Path, evaluate: Callable[[str], Value]) -> Value:
        """The value in a YAML file, read once."""
        if path not in self.values:
            self.values[path] = _read_yaml(path, self.budget, evaluate)
        return self.values[path]


def _is_ros_package(folder: Path) -> bool:
    return (folder / "package.xml").is_file()


def _read_yaml(path: Path, budget: StepBudget, evaluate: Callable[[str], Value]) -> Value:
    """The value in a YAML file; `evaluate` computes numbers with a unit, which may be expressions."""
    try:
        import yaml  # imported here: an optional extra
    except ImportError as error:
        raise InputError(
            "load_yaml needs PyYAML; install it with pip install 'forearm[xacro]'.", path.name
        ) from error
    data = read_bytes(path, MAX_YAML_BYTES)
    budget.spend(STEPS_PER_BYTE * len(data))
    try:
        loader = yaml.SafeLoader(data.decode("utf-8-sig"))
        root = loader.get_single_node()
        return None if root is None else _YamlValues(path.name, loader, evaluate).value(root, 0)
    except (yaml.YAMLError, ValueError, ArithmeticError, RecursionError) as error:
        raise InputError(f"cannot be read as YAML: {shorten(str(error), 200)}.", path.name) from error


class _YamlValues:
    """Values of the nodes of one file."""

    def __init__(self, name: str, loader: Any, evaluate: Callable[[str], Value]) -> None:
        self.name = name
        self.evaluate = evaluate
        self.count = 0
        self.scalars = {
            "str": lambda node: node.value,
            "timestamp": lambda node: node.value,
            "int": loader.construct_yaml_int,
            "float": loader.construct_yaml_float,
            "bool": loader.construct_yaml_bool,
            "null": loader.construct_yaml_null,
        }

    def value(self, node: Any, depth: int) -> Value:
        """The value of a node, each time that an alias refers to it."""
        self.count += 1
        if self.count > MAX_SIZE or depth > MAX_VALUE_DEPTH:
            raise self._refused(
                node, f"more than {MAX_SIZE} values (with aliases) or nested deeper than {MAX_VALUE_DEPTH}"
            )
        kind = node.tag.removeprefix(STANDARD)
        if kind == "seq" and node.id == "sequence":
            return [self.value(item, depth + 1) for item in node.value]
        if kind == "map" and node.id == "mapping":
            return self._mapping(node, depth + 1)
        if node.id == "scalar" and node.tag in UNITS:
            try:
                return float(self.evaluate(node.value)) * UNITS[node.tag]
            except (RefusedExpression, TypeError) as error:
                raise self._refused(node, f"{shorten(node.value)}: {error}") from error
        if node.id == "scalar" and node.tag.startswith(STANDARD) and kind in self.scalars:
            return self.scalars[kind](node)
        raise self._refused(node, f"the tag {shorten(node.tag)} is not allowed; leave it out")

    def _mapping(self, node: Any, depth: int) -> dict[Value, Value]:
        """The dictionary of a mapping; keys merged with << give way to its own."""
        own: dict[Value, Value] = {}
        merged: dict[Value, Value] = {}
        for key_node, item in node.value:
            if key_node.tag == f"{STANDARD}merge":
                for source in item.value if item.id == "sequence" else [item]:
                    for key, value in self._dictionary(source, depth).items():
                        merged.setdefault(key, value)
                continue
            key = self.value(key_node, depth)
            if isinstance(key, list | dict):
                raise self._refused(key_node, "a key must be a number or text")
            own[key] = self.value(item, depth)
        return merged | own

    def _dictionary(self, node: Any, depth: int) -> dict[Value, Value]:
        value = self.value(node, depth)
        if not isinstance(value, dict):
            raise self._refused(node, "<< must refer to a mapping")
        return value

    def _refused(self, node: Any, reason: str) -> InputError:
        return InputError(f"{reason.rstrip('.')}.", self.name, f"line {node.start_mark.line + 1}")
