"""Expand xacro to URDF with the package xacrodoc (extra `xacro`), which evaluates the file's expressions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from forearm.errors import InputError, shorten
from forearm.files.urdf_shapes import package_around


def expand_xacro(data: bytes, path: Path, packages: Mapping[str, Path]) -> bytes:
    """The URDF expanded from a xacro file. `packages` maps the names in $(find ...) to folders; other
    packages are searched for among the folders around the file.
    """
    try:
        from xacrodoc import XacroDoc  # imported here: an optional extra
        from xacrodoc import packages as finder
    except ImportError as error:
        raise InputError(
            f"{path.name}: this is a xacro file; expand it first: xacro {path.name} > arm.urdf, or let "
            "forearm do so: pip install 'forearm[xacro]'."
        ) from error
    wanted = set(re.findall(r"\$\(find\s+([\w.-]+)\s*\)", data.decode("utf-8", "replace")))
    around = {name: found for name in wanted if (found := package_around(path.parent, name))}
    finder.update_package_cache(around | dict(packages))
    try:
        expanded: str = XacroDoc.from_file(path, resolve_packages=False).to_urdf_string(pretty=False)
    except Exception as error:  # it raises whatever the file's expressions raise
        raise InputError(
            f"{path.name}: xacro cannot expand it: {shorten(str(error), 300)}. Give the packages of "
            "$(find ...) with packages={name: folder} (--package NAME=FOLDER)."
        ) from error
    return expanded.encode()
