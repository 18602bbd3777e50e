"""The built-in arms: arm files in the folder `builtin`, and chains of any length."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from forearm.arm.arm import Arm
from forearm.arm.chain import chain
from forearm.files.armfile_read import read_armfile

CHAIN = re.compile(r"chain([0-9]{1,9})")


@cache
def folder() -> Path:
    """The folder of the built-in arm files."""
    return Path(__file__).parent.parent / "builtin"


def arms() -> list[str]:
    """The names of the built-in arms; in addition `chainN` loads a chain of N joints, such as chain7."""
    return sorted(
        p.name.removesuffix(".toml") for p in folder().glob("*.toml") if not p.name.endswith(".parts.toml")
    )


def is_builtin(name: str) -> bool:
    """Whether there is a built-in arm of this name."""
    return bool(CHAIN.fullmatch(name)) or (
        re.fullmatch(r"[a-z0-9-]{1,100}", name) is not None and builtin_file(name).is_file()
    )


def load_builtin(name: str, hand: str | None = None) -> Arm:
    """The built-in arm of this name."""
    if match := CHAIN.fullmatch(name):
        made = chain(int(match[1]))
        return made if hand is None else made.replace(hand=hand)
    return _kept(name) if hand is None else read_armfile(builtin_file(name), hand)


@cache
def _kept(name: str) -> Arm:
    """The arm of a built-in file, loaded once: results computed for an arm are cached with the arm."""
    return read_armfile(builtin_file(name), None)


def builtin_file(name: str) -> Path:
    """The arm file of a built-in arm; None for a chain."""
    return folder() / f"{name}.toml"
