"""Modules of the folder docs, which is no package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"


def docs_module(name: str) -> Any:
    """A fresh docs/NAME.py."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
