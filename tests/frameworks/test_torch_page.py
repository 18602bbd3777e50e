"""The examples of docs/pytorch.md run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from frameworks.torch_states import torch

pytestmark = [pytest.mark.frameworks, pytest.mark.slow]
PAGE = Path(__file__).parent.parent.parent / "docs" / "pytorch.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.M | re.S)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_runs(number: int) -> None:
    torch.manual_seed(0)
    exec(compile(EXAMPLES[number], f"pytorch.md-{number + 1}", "exec"), {"__name__": "example"})
