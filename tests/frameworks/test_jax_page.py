"""The examples of docs/jax.md run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed: make test-frameworks")

pytestmark = [pytest.mark.frameworks, pytest.mark.slow]
PAGE = Path(__file__).parent.parent.parent / "docs" / "jax.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.M | re.S)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_runs(number: int) -> None:
    try:
        exec(compile(EXAMPLES[number], f"jax.md-{number + 1}", "exec"), {"__name__": "example"})
    finally:
        jax.config.update("jax_enable_x64", False)
