"""xacro expanded to URDF by the package xacrodoc (extra `xacro`), which evaluates the file's expressions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from forearm.errors import InputError, shorten
from forearm.files.urdf_shapes import package_around


def expand_xacro(data: bytes, path: Path, packages: Mapping[str, Path]) -> bytes:
    """The URDF that a xacro file stands for. `packages` says where the folders of $(find ...) are;
    others are looked for among the folders around the file.
    """
    try:
        from xacrodoc import XacroDoc  # where used: an extra
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
    except Exception as error:  # it raises what the file's expressions raise
        raise InputError(
            f"{path.name}: xacro cannot expand it: {shorten(str(error), 300)}. Packages of $(find ...) are "
            "given by packages={name: folder} (--package NAME=FOLDER)."
        ) from error
    return expanded.encode()
