"""One door for every arm: a built-in name, an arm file, a URDF, an MJCF file."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from forearm.arm.arm import Arm
from forearm.checking.links import inertia_without_mass, triangle_violations
from forearm.errors import InputError, ModelWarning, NameNotFound, shorten, suggest
from forearm.files.armfile_read import read_armfile
from forearm.files.builtin import arms, is_builtin, load_builtin
from forearm.reading.textfile import read_bytes

XML = (".urdf", ".xml", ".mjcf")


def load(source: str | os.PathLike[str], hand: str | None = None, root: str | None = None) -> Arm:
    """The arm of a built-in name, or in a .toml, .urdf or .xml (MJCF) file.
    `hand` names the hand's link where it is another, in MJCF also a site. `root` names the body of an MJCF
    file that is the arm's base, where there are several arms or the base is not fixed.

    Refuses what no arm can be; warns (ModelWarning) on principal moments that no body has and on inertia
    without mass, and (IgnoredWarning) on every kind of content of a URDF or MJCF that it ignored.
    """
    arm = _read(source, hand, root)
    for finding in (*triangle_violations(arm), *inertia_without_mass(arm)):
        warnings.warn(f"{arm.name}: {finding.text}", ModelWarning, stacklevel=2)
    return arm


def _read(source: str | os.PathLike[str], hand: str | None, root: str | None) -> Arm:
    if not isinstance(source, str | os.PathLike):
        raise InputError(f"load: expected a name or a path, got {shorten(source)}.")
    text = os.fspath(source)
    path = Path(text)
    is_name = isinstance(source, str) and is_builtin(source)
    if not is_name and path.suffix.lower() in XML:
        return _read_xml(path, hand, root)
    if root is not None:
        raise InputError(
            "load: root= is for MJCF files; in other files the base is the link that nothing moves."
        )
    if is_name:
        return load_builtin(text, hand)
    if path.suffix.lower() == ".toml":
        return read_armfile(path, hand)
    if text == "chainN":
        raise InputError("load: put a number in place of the N of 'chainN', such as 'chain7'.")
    if os.path.sep not in text and not os.path.exists(text):
        raise NameNotFound(
            f"load: {shorten(text)} is neither a built-in arm nor a .toml, .urdf or .xml file; "
            f"{suggest(text, (*arms(), 'chain7'))}"
        )
    raise InputError(
        f"load: {shorten(text)}: the file must end in .toml (arm file), .urdf or .xml (MJCF), so that it is "
        "clear which."
    )


def _read_xml(path: Path, hand: str | None, root: str | None) -> Arm:
    """URDF or MJCF, as the root element says: both may end in .xml."""
    from forearm.files.mjcf.include import (
        MOST_OF_TAG as MOST_OF_MJCF,
    )  # where used: loading is part of every start
    from forearm.files.urdf_read import MOST_OF_TAG, arm_from_robot
    from forearm.reading.xml import MAX_XML_BYTES, parse_xml

    element = parse_xml(read_bytes(path, MAX_XML_BYTES), path.name, MOST_OF_TAG | MOST_OF_MJCF)
    if element.tag == "mujoco":
        from forearm.files.mjcf.read import arm_from_mujoco_element

        return arm_from_mujoco_element(element, path.name, path, hand, root)
    if root is not None:
        raise InputError(
            f"load: {path.name}: root= is for MJCF files; in a URDF the base is the link that nothing moves."
        )
    return arm_from_robot(element, path.name, hand)
