"""What tests of pages share: a dotted name that a page mentions, found."""

from __future__ import annotations

from importlib import import_module


def resolve(path: str) -> object:
    """A module, or a name in one."""
    try:
        return import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        return getattr(import_module(module), name)
