"""Tools that tests use where they are there and start: some are only stand-ins that look for the real one."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache


@cache
def starts(tool: str) -> bool:
    """Whether a program is found and tells its version."""
    if shutil.which(tool) is None:
        return False
    try:
        done = subprocess.run([tool, "--version"], capture_output=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
