"""A shared object called as CasADi calls it, by hand: names, patterns and values through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

Array = Any


class CalledByHand:
    """One function of the file: `names_in`, `names_out`, and values by calling it."""

    def __init__(self, path: Path, name: str) -> None:
        self.library = ctypes.CDLL(str(path))
        self.name = name
        self.evaluate = self._function("", ctypes.c_int, [ctypes.c_void_p] * 4 + [ctypes.c_int])
        count_in, count_out = (self._function(f"_n_{way}", ctypes.c_longlong, [])() for way in ("in", "out"))
        asked = [ctypes.c_longlong]
        name_in, name_out = (self._function(f"_name_{way}", ctypes.c_char_p, asked) for way in ("in", "out"))
        self.names_in = [name_in(k).decode() for k in range(count_in)]
        self.names_out = [name_out(k).decode() for k in range(count_out)]
        assert name_in(count_in) is None
        assert name_out(-1) is None
        self.patterns_in = [self._pattern("in", k) for k in range(count_in)]
        self.patterns_out = [self._pattern("out", k) for k in range(count_out)]
        sizes = (ctypes.c_longlong * 4)(-1, -1, -1, -1)
        pointers = [ctypes.byref(sizes, 8 * k) for k in range(4)]
        assert self._function("_work", ctypes.c_int, None)(*pointers) == 0
        assert list(sizes) == [count_in, count_out, 0, 0]
        assert self._function("_work", ctypes.c_int, [ctypes.c_void_p] * 4)(None, None, None, None) == 0

    def _function(self, ending: str, result: Any, arguments: Any) -> Any:
        function = getattr(self.library, self.name + ending)
        function.restype = result
        if arguments is not None:
            function.argtypes = arguments
        return function

    def _pattern(self, way: str, k: int) -> tuple[tuple[int, int], list[tuple[int, int]]]:
        """(rows, columns), and row and column of every entry."""
        numbers = self._function(f"_sparsity_{way}", ctypes.POINTER(ctypes.c_longlong), [ctypes.c_longlong])(
            k
        )
        rows, columns = numbers[0], numbers[1]
        if numbers[2] == 1:  # dense, as no pattern begins its first column at 1
            return (rows, columns), [(i, j) for j in range(columns) for i in range(rows)]
        starts = [numbers[2 + j] for j in range(columns + 1)]
        owners = [j for j in range(columns) for _ in range(starts[j], starts[j + 1])]
        return (rows, columns), [(numbers[3 + columns + at], j) for at, j in enumerate(owners)]

    def default(self, k: int) -> float:
        value: float = self._function("_default_in", ctypes.c_double, [ctypes.c_longlong])(k)
        return value

    def __call__(self, given: Sequence[Array | None], wanted: Sequence[int] | None = None) -> list[Any]:
        """The outputs as arrays of their shapes, None for those that are not wanted."""
        assert len(given) == len(self.names_in)
        arrays = [None if x is None else np.asarray(x, dtype=float).flatten(order="F") for x in given]
        made = [np.full(len(places) + 1, 7e77) for _, places in self.patterns_out]
        keep = range(len(made)) if wanted is None else wanted
        arg = (ctypes.c_void_p * (len(arrays) + 1))(*[None if a is None else a.ctypes.data for a in arrays])
        res = (ctypes.c_void_p * len(made))(
            *[m.ctypes.data if k in keep else None for k, m in enumerate(made)]
        )
        assert self.evaluate(ctypes.addressof(arg), ctypes.addressof(res), None, None, 0) == 0
        results: list[Any] = []
        for k, (values, (shape, places)) in enumerate(zip(made, self.patterns_out, strict=True)):
            assert values[-1] == 7e77, "written beyond the end"
            table = np.zeros(shape)
            for (i, j), value in zip(places, values, strict=False):
                table[i, j] = value
            results.append(table if k in keep else None)
        return results
