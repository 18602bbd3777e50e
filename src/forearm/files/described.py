"""Descriptions of the package robot_descriptions, if installed: its modules locate the files."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules

from forearm.errors import InputError, shorten

PACKAGE = "robot_descriptions"


def is_described(name: str) -> bool:
    """Whether robot_descriptions is installed and has a module of this name, such as panda_description."""
    return (
        re.fullmatch(r"[a-z0-9_]{1,100}_description", name) is not None
        and find_spec(PACKAGE) is not None
        and find_spec(f"{PACKAGE}.{name}") is not None
    )


def described() -> list[str] | None:
    """The names that robot_descriptions has; None if it is not installed."""
    found = find_spec(PACKAGE)
    if found is None:
        return None
    modules = iter_modules(found.submodule_search_locations)
    return sorted(module.name for module in modules if module.name.endswith("_description"))


def description(name: str) -> tuple[Path, dict[str, Path]]:
    """The file of a description and the folder of its package.

    Importing the module downloads the description unless robot_descriptions has cached it.
    """
    try:
        module = import_module(f"{PACKAGE}.{name}")
    except Exception as error:  # no network, no git
        raise InputError(
            f"robot_descriptions could not provide {name!r}: {shorten(str(error), 200)}. "
            "Descriptions are downloaded on first use: try again with a network connection, "
            "or give the path of a file.",
            "load",
        ) from error
    found = getattr(module, "URDF_PATH", None) or getattr(module, "MJCF_PATH", None)
    if found is None:
        raise InputError(f"robot_descriptions has {name!r} as xacro only; expand it to a .urdf file.", "load")
    folder = Path(getattr(module, "PACKAGE_PATH", Path(found).parent))
    return Path(found), {folder.name: folder}
