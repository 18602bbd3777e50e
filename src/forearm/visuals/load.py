"""`fa.load_visuals`: the visual shapes of an arm, from the names and files that `fa.load` accepts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from forearm.errors import InputError, NameNotFound, shorten, suggest
from forearm.files.builtin import CHAIN, arms, builtin_file, is_builtin
from forearm.files.load import XML, located_file
from forearm.reading.textfile import read_bytes
from forearm.visuals.parts_visuals import armfile_visuals
from forearm.visuals.visual import VisualSet


def load_visuals(
    source: str | os.PathLike[str],
    *,
    root: str | None = None,
    packages: Mapping[str, str | os.PathLike[str]] | None = None,
) -> VisualSet:
    """The visual shapes of an arm's links, from a name or file that `fa.load` accepts.

    They are the <visual> shapes of a URDF, the geoms of an MJCF file that MuJoCo's viewer shows, or the
    solids of the parts file of an arm file; empty if there are none. Meshes that cannot be read are listed in
    `missing` and raise no error.

    Args:
        source: a built-in name such as "cmu-dd", or the path of a file.
        root: body of an MJCF file that is the arm's base, as for `fa.load`; None: the only one.
        packages: folders of `package://` and `$(find ...)` by name.
    """
    if not isinstance(source, str | os.PathLike):
        raise InputError(f"expected a name or a path, got {shorten(source)}.", "load_visuals")
    if isinstance(source, str) and is_builtin(source):
        return VisualSet(()) if CHAIN.fullmatch(source) else armfile_visuals(builtin_file(source))
    path, folders = located_file(source, packages or {})
    if path.suffix.lower() == ".toml":
        return armfile_visuals(path)
    if path.suffix.lower() not in XML:
        raise NameNotFound(
            f"{shorten(os.fspath(source))} is neither a built-in arm nor a .toml, .urdf or "
            f".xml file; {suggest(os.fspath(source), (*arms(), 'chain7'))}",
            "load_visuals",
        )
    return _xml_visuals(path, folders, root)


def _xml_visuals(path: Path, folders: Mapping[str, Path], root: str | None) -> VisualSet:
    from forearm.files.mjcf.include import MOST_OF_TAG as MOST_OF_MJCF
    from forearm.files.urdf_read import MOST_OF_TAG, expanded_robot
    from forearm.reading.xml import MAX_XML_BYTES, parse_xml

    data = read_bytes(path, MAX_XML_BYTES)
    element = parse_xml(data, path.name, MOST_OF_TAG | MOST_OF_MJCF)
    if element.tag == "mujoco":
        from forearm.visuals.mjcf_visuals import mjcf_visuals

        return mjcf_visuals(element, path.name, path, root)
    from forearm.visuals.urdf_visuals import urdf_visuals

    robot = expanded_robot(element, path, folders)
    return urdf_visuals(robot, path.parent, folders)
