"""Rows of states to columns and back: every size in every number of lanes,
and nothing outside the arrays is touched.
"""

from __future__ import annotations

import ctypes
import mmap
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forearm.kernels.ir import module_text
from forearm.kernels.native import host, loaded, object_code
from forearm.kernels.transpose import load_columns, store_columns
from forearm.kernels.vectors import Body

SIZES = (*range(1, 19), 31, 32, 33)
WIDTHS = [(dtype, lanes) for dtype in ("float64", "float32") for lanes in (1, 2, 4, 8, 16)]
GUARD = 64


@cache
def functions(dtype: str, lanes: int) -> Any:
    """Of every size `columnsN`, rows to columns, and `rowsN`, columns to rows."""
    target = host(dtype, lanes)
    texts = []
    for size in SIZES:
        body = Body(target)
        for k, column in enumerate(load_columns(body, "%from", size)):
            body.store("%to", k * lanes, column, lanes)
        texts.append(function(f"columns{size}", body))
        body = Body(target)
        store_columns(body, "%to", [body.load("%from", k * lanes, lanes) for k in range(size)], size)
        texts.append(function(f"rows{size}", body))
    names = [f"{kind}{size}" for size in SIZES for kind in ("columns", "rows")]
    made = loaded(object_code(module_text(texts, target)), names)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    return {name: kind(made.addresses[name]) for name in names}, made


def function(name: str, body: Body) -> str:
    return "\n".join(
        [f"define void @{name}(ptr %from, ptr %to) nounwind {{", "entry:", *body.lines, "  ret void", "}"]
    )


def guarded(block: Any, value: float = 7.0) -> tuple[Any, Any]:
    """A block within a larger array of guard values."""
    memory = np.full(block.size + 2 * GUARD, value, dtype=block.dtype)
    inside = memory[GUARD : GUARD + block.size]
    inside[:] = block.ravel()
    return memory, inside


def applied(function: Any, block: Any) -> Any:
    """The block after the function; what lies around it, and what went in, must be as it was."""
    given, inside = guarded(block)
    memory, out = guarded(np.full_like(block, -1.0))
    function(inside.ctypes.data, out.ctypes.data)
    assert (memory[:GUARD] == 7.0).all()
    assert (memory[GUARD + block.size :] == 7.0).all()
    assert given.tobytes() == guarded(block)[0].tobytes()
    return out.reshape(block.shape[::-1]).copy()


class Protected:
    """Memory with a page on either side of it that ends the process when it is touched."""

    def __init__(self, size: int) -> None:
        page = mmap.PAGESIZE
        self.size = -(-size // page) * page
        self.memory = mmap.mmap(-1, self.size + 2 * page)
        first = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.start = first + page
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        for place in (first, self.start + self.size):
            assert protect(place, page, 0) == 0

    def edges(self, size: int) -> tuple[int, int]:
        """Where a block lies right behind the one page, and right before the other."""
        return self.start, self.start + self.size - size


def at_edges(function: Any, block: Any, given: Protected, out: Protected) -> list[Any]:
    found = []
    for there, here in zip(given.edges(block.nbytes), out.edges(block.nbytes), strict=True):
        ctypes.memmove(there, block.ctypes.data, block.nbytes)
        function(there, here)
        found.append(
            np.frombuffer(ctypes.string_at(here, block.nbytes), dtype=block.dtype).reshape(block.shape[::-1])
        )
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "lanes"), WIDTHS)
@pytest.mark.sweep
def test_every_size_and_nothing_outside_is_touched(dtype: str, lanes: int) -> None:
    made, _ = functions(dtype, lanes)
    most = lanes * SIZES[-1] * np.dtype(dtype).itemsize
    pages = (Protected(most), Protected(most)) if sys.platform.startswith("linux") else None
    for size in SIZES:
        rows = np.arange(1.0, lanes * size + 1.0, dtype=dtype).reshape(lanes, size)  # every entry differs
        columns = np.ascontiguousarray(rows.T)
        for name, given, want in (("columns", rows, columns), ("rows", columns, rows)):
            function = made[f"{name}{size}"]
            assert np.array_equal(applied(function, given), want), (name, size)
            if pages is not None:
                assert all(np.array_equal(found, want) for found in at_edges(function, given, *pages)), (
                    name,
                    size,
                )
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-40, 3.4e38, 1.0], dtype=dtype)
    for size in (1, 3, 8, 11):
        rows = np.resize(special, (lanes, size))
        assert applied(made[f"columns{size}"], rows).tobytes() == rows.T.tobytes()


@pytest.mark.slow
def test_pages_are_indeed_protected() -> None:
    """Where this is not so, the test above proves nothing: a process that reads one
    scalar too many is ended.
    """
    if not sys.platform.startswith("linux"):
        pytest.skip("pages are protected as Linux does it")
    reader = (
        "import ctypes; from kernels.test_transpose import Protected; p = Protected(8); "
        "ctypes.string_at(p.edges(8)[1], 9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", reader], cwd=Path(__file__).parent.parent, capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGSEGV
