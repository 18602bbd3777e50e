"""What holds for every test: compiled code is kept in a folder of this run, never in the user's own cache."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest


def pytest_configure(config: pytest.Config) -> None:
    # Before anything is collected, as modules may compile when they are imported. The workers of xdist inherit it.
    if "PYTEST_XDIST_WORKER" not in os.environ:
        folder = tempfile.mkdtemp(prefix="forearm-tests-")
        os.environ["FOREARM_CACHE"] = folder
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
