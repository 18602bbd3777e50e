"""Load an arm from a built-in name, an arm file, a URDF or an MJCF file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from forearm.arm.arm import Arm
from forearm.checking.links import inertia_without_mass, no_mass, triangle_violations
from forearm.errors import InputError, ModelWarning, NameNotFound, shorten, suggest
from forearm.files.armfile import SCHEMA
from forearm.files.armfile_read import read_armfile
from forearm.files.builtin import arms, is_builtin, load_builtin
from forearm.reading.formats import refuse_known_format
from forearm.reading.textfile import read_bytes, read_json_table
from forearm.values import check_kind, check_number

if TYPE_CHECKING:
    from forearm.files.urdf_read import Options

XML = (".urdf", ".xml", ".mjcf", ".xacro")


def load(
    source: str | os.PathLike[str],
    hand: str | None = None,
    *,
    root: str | None = None,
    strict: bool = True,
    density: float | None = None,
    packages: Mapping[str, str | os.PathLike[str]] | None = None,
) -> Arm:
    """Load an arm by its built-in name or from a .toml, .urdf, .xml (MJCF) or .xacro file. xacro is
    expanded in files named .xacro only, without running any of it.

    Invalid arms raise an error. Warnings report implausible arms (ModelWarning: impossible inertias, inertia
    without mass, no mass at all), repairs to a URDF (RepairWarning) and ignored content (IgnoredWarning),
    each once per file. Built-in arms load without warnings. Names of the package robot_descriptions, such as
    "panda_description", work if it is installed; it may download the description.

    Args:
        source: a built-in name such as "puma560" or "chain7", or the path of a file.
        hand: name of the hand link, or of a site in MJCF; None: the hand of the file, else the leaf with the
            most degrees of freedom on its path, or the link before its fingers.
        root: body of an MJCF file to use as the base, if the file has several arms or the base is not fixed;
            None: the only one there is.
        strict: whether to refuse a physically impossible inertia in a URDF; if False, the nearest possible
            one is used and reported.
        density: kg/m^3, used to compute the mass of URDF links without one from their shapes; None: these
            links have no mass.
        packages: folders for `package://` and `$(find ...)`, by package name; a xacro file may include files
            below these, its own folder and the ROS package around it.
    """
    if isinstance(source, str) and is_builtin(source):
        _refuse_root(root)
        return load_builtin(source, hand)
    arm = _read(source, hand, root, strict, density, packages or {})
    for finding in (*triangle_violations(arm), *inertia_without_mass(arm), *no_mass(arm)):
        warnings.warn(f"{arm.name}: {finding.text}", ModelWarning, stacklevel=2)
    return arm


def _read(
    source: str | os.PathLike[str],
    hand: str | None,
    root: str | None,
    strict: bool,
    density: float | None,
    packages: Mapping[str, str | os.PathLike[str]],
) -> Arm:
    if not isinstance(source, str | os.PathLike):
        raise InputError(f"expected a name or a path, got {shorten(source)}.", "load")
    text = os.fspath(source)
    path, folders = located_file(source, packages)
    ending = path.suffix.lower()
    if ending in XML:
        from forearm.files.urdf_read import Options  # imported here: every start loads an arm

        if density is not None:
            density = check_number(density, "load, density (kg/m^3)", above=0.0)
        return _read_xml(path, hand, root, Options(strict=strict, density=density, packages=folders))
    _refuse_root(root)
    if density is not None or packages:
        raise InputError(f"{shorten(text)}: density and packages are for URDF files; leave them out.", "load")
    if ending == ".toml":
        return read_armfile(path, hand)
    if ending == ".json" and path.is_file():
        refuse_known_format(read_json_table(path, "format"), path.name, SCHEMA)
    if text == "chainN":
        raise InputError("replace the N of 'chainN' with a number, such as 'chain7'.", "load")
    if os.path.sep not in text and not os.path.exists(text):
        raise NameNotFound(
            f"{shorten(text)} is neither a built-in arm nor a .toml, .urdf or .xml file; {_known(text)}",
            "load",
        )
    raise InputError(f"{shorten(text)}: the file must end in .toml (arm file), .urdf or .xml (MJCF).", "load")


def located_file(
    source: str | os.PathLike[str], packages: Mapping[str, str | os.PathLike[str]]
) -> tuple[Path, dict[str, Path]]:
    """The path of a source or of a robot_descriptions name, and the folders of its packages."""
    folders = _folders(packages)
    text = os.fspath(source)
    if isinstance(source, str) and text.endswith("_description"):
        from forearm.files.described import description, is_described  # imported here: an optional package

        if is_described(text):
            path, own = description(text)
            return path, own | folders
    return Path(text), folders


def _known(text: str) -> str:
    own = text.removesuffix("_description")
    if own == text:
        return suggest(text, (*arms(), "chain7"))
    if own in arms():
        return f"{own!r} is built in."
    from forearm.files.described import described

    names = described()
    if names is None:
        return "names of robot_descriptions need that package: pip install robot_descriptions."
    return f"robot_descriptions has no such name; {suggest(text, names)}"


def _folders(packages: Mapping[str, str | os.PathLike[str]]) -> dict[str, Path]:
    check_kind(packages, Mapping, "load, packages")
    for name, folder in packages.items():
        check_kind(folder, (str, os.PathLike), f"load, packages, {shorten(name)}")
    return {name: Path(folder) for name, folder in packages.items()}


def _refuse_root(root: str | None, name: str = "") -> None:
    if root is not None:
        raise InputError(
            f"{name}root= is for MJCF files; in other files the base is the link that no joint moves.", "load"
        )


def _read_xml(path: Path, hand: str | None, root: str | None, options: Options) -> Arm:
    """Read URDF or MJCF, depending on the root element: both may end in .xml."""
    from forearm.files.mjcf.include import MOST_OF_TAG as MOST_OF_MJCF  # imported here, as above
    from forearm.files.urdf_read import MOST_OF_TAG, arm_from_robot
    from forearm.reading.xml import MAX_XML_BYTES, parse_xml

    data = read_bytes(path, MAX_XML_BYTES)
    element = parse_xml(data, path.name, MOST_OF_TAG | MOST_OF_MJCF)
    if element.tag != "mujoco":
        _refuse_root(root, f"{path.name}: ")
        return arm_from_robot(element, path.name, hand, options, path)
    from forearm.files.mjcf.read import arm_from_mujoco_element

    if options.density is not None or options.packages:
        raise InputError(f"{path.name}: density and packages are for URDF files; leave them out.", "load")
    return arm_from_mujoco_element(element, path.name, path, hand, root)
