"""How answers of other packages are written into files, for the tests that compare."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np


def source(name: str, package: str, script: str) -> str:
    """Where recorded answers come from."""
    return f"{name} {version(package)} (pip package {package}), recorded by tools/{Path(script).name}"


def write(recorded: Any, target: Path, *starts: str) -> None:
    """Write JSON with every bit of its numbers, a line for each piece that starts so; into another file
    where the command line names one.
    """
    text = json.dumps(recorded, separators=(",", ":"), default=lambda value: np.asarray(value).tolist())
    for start in starts:
        text = text.replace(start, f"\n{start}")
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else target
    target.write_text(text + "\n", encoding="utf-8")
    print(f"{target.name}: {len(text) // 1000} KB")
