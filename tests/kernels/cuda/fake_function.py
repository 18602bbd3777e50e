"""A function on the fake device: three numbers in from each of two arrays, a sum and a product out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from kernels.cuda.fake_arrays import memory_view
from kernels.cuda.fake_driver import FakeLibrary

from forearm.arm.arm import Arm
from forearm.kernels.compiled import Slot
from forearm.kernels.cuda.driver import Launcher, driver

PTX = ".version 6.0\n.visible .entry fake(\n.visible .entry fake_shared(\n.visible .entry fake_each("
N = 3


def expected(x: Any, y: Any, p: Any = (1.0, 0.0)) -> tuple[Any, Any]:
    """sum = p0 x + 2 y + p1, product = x y^T."""
    x, y = np.asarray(x), np.asarray(y)
    p = np.asarray(p, x.dtype)
    return p[..., :1] * x + 2 * y + p[..., 1:], x[..., :, None] * y[..., None, :]


class FakeFunction:
    """The function; `launches` are of the fake library."""

    def __init__(self, library: FakeLibrary, dtype: str = "float64", parameters: int = 0) -> None:
        self.dtype = dtype
        self.arm: Arm | None = None
        open_ones = (Slot("parameters", (2,)),) if parameters else ()
        self.inputs = (Slot("x", (N,)), Slot("y", (N,)), *open_ones)
        self.outputs = (Slot("sum", (N,)), Slot("product", (N, N)))
        self.name = "fake_shared" if parameters else "fake"
        for name, rows in (("fake", 0), ("fake_shared", 1), ("fake_each", -1)):
            library.define(name, 4 if name == "fake" else 5, self._act(rows))

    def _act(self, rows: int) -> Any:
        def act(addresses: Sequence[int], count: int) -> None:
            x, y = (memory_view(a, (count, N), self.dtype) for a in addresses[:2])
            p: Any = np.array([1.0, 0.0], self.dtype)
            if rows:
                p = memory_view(addresses[2], (2,) if rows == 1 else (count, 2), self.dtype)
            total, product = expected(x, y, p)
            memory_view(addresses[-2], (count, N), self.dtype)[...] = total
            memory_view(addresses[-1], (count, N, N), self.dtype)[...] = product

        return act

    def launcher(self, index: int, each: bool = False) -> Launcher:
        device = driver().device(index)
        name = "fake_each" if each else self.name
        function = device.loaded(device.assembled(PTX)).function(name)
        return function.launcher(32, 0, 4 if name == "fake" else 5)
