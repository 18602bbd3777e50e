"""Lets a tool that is run by itself import helpers of the tests (arms, urdf_making, texts), once imported."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "tests"))
