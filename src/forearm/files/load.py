"""One door for every arm: a built-in name, an arm file, a URDF."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path

from forearm.arm.arm import Arm
from forearm.checking.links import inertia_without_mass, triangle_violations
from forearm.errors import InputError, ModelWarning, NameNotFound, shorten, suggest
from forearm.files.armfile_read import read_armfile
from forearm.files.builtin import arms, is_builtin, load_builtin


def load(source: str | os.PathLike[str], hand: str | None = None) -> Arm:
    """The arm of a built-in name, or in a .toml or .urdf file.

    Refuses what no arm can be; warns (ModelWarning) on principal moments that no body has and on inertia
    without mass, and (IgnoredWarning) on every kind of content of a URDF that it ignored.

    Args:
        source: a built-in name such as "puma560" or "chain7", or the path of a file.
        hand: name of the hand's link; None: as the file says, else the leaf behind the most freedoms.
    """
    arm = _read(source, hand)
    for finding in (*triangle_violations(arm), *inertia_without_mass(arm)):
        warnings.warn(f"{arm.name}: {finding.text}", ModelWarning, stacklevel=2)
    return arm


def _read(source: str | os.PathLike[str], hand: str | None) -> Arm:
    if not isinstance(source, str | os.PathLike):
        raise InputError(f"load: expected a name or a path, got {shorten(source)}.")
    text = os.fspath(source)
    if isinstance(source, str) and is_builtin(source):
        return load_builtin(source, hand)
    path = Path(text)
    if reader := _reader(path.suffix.lower()):
        return reader(path, hand)
    if text == "chainN":
        raise InputError("load: put a number in place of the N of 'chainN', such as 'chain7'.")
    if os.path.sep not in text and not os.path.exists(text):
        raise NameNotFound(
            f"load: {shorten(text)} is neither a built-in arm nor a .toml or .urdf file; "
            f"{suggest(text, (*arms(), 'chain7'))}"
        )
    raise InputError(
        f"load: {shorten(text)}: the file must end in .toml (arm file) or .urdf, so that it is clear which."
    )


def _reader(ending: str) -> Callable[[Path, str | None], Arm] | None:
    """What reads files that end like this."""
    if ending in (".urdf", ".xml"):
        from forearm.files.urdf_read import read_urdf  # where used: loading an arm is part of every start

        return read_urdf
    return read_armfile if ending == ".toml" else None
