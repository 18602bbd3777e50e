"""C of a controller, compiled with every warning an error and called with NumPy arrays."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

COMPILER = shutil.which("gcc")
STRICT = (
    "-std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Werror "
    "-ffp-contract=off -shared -fPIC"
)


def library(files: Mapping[str, str], folder: Path, *more: str) -> Any:
    """The loaded library of the files' one source; skipped where there is no compiler."""
    if COMPILER is None:
        pytest.skip("gcc is not installed")
    for name, text in files.items():
        (folder / name).write_text(text, encoding="ascii")
    (source,) = (name for name in files if name.endswith(".c"))
    command = [COMPILER, *STRICT.split(), *more, source, "-o", "made.so", "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / "made.so"))


def call(function: Any, *arrays: Any) -> None:
    """A function of arrays that returns nothing; arrays are contiguous and of the type that it takes."""
    function.restype = None
    function(*(a.ctypes.data_as(ctypes.c_void_p) for a in arrays))
