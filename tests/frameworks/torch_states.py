"""States as tensors, for tests of `k.torch`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import forearm as fa

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-frameworks")


def states(arm: fa.Arm, *batch: int, count: int = 3, seed: int = 0, dtype: str = "float64") -> list[Any]:
    """So many arguments (..., n) between -1 and 1."""
    rng = np.random.default_rng(seed)
    return [torch.from_numpy(rng.uniform(-1.0, 1.0, (*batch, arm.n)).astype(dtype)) for _ in range(count)]


def variables(*tensors: Any) -> list[Any]:
    """Copies that derivatives are asked of."""
    return [t.detach().clone().requires_grad_() for t in tensors]
