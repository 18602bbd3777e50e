"""Work to time: one call in a Python loop, our own kernels called in every way, and arms with drives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from timeit import Timer
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.benchmarks.timing import Work
from forearm.kernels.kernel import Kernel

Array = NDArray[Any]
CALLS = 5000
NEAR = 2048  # states whose arrays stay in the nearest caches
ARGUMENTS = {"inertia_matrix": 1}  # of (q, qd, third); the other functions take all three


def calls(
    who: str, statement: str, names: Mapping[str, Any], answer: Callable[[Any], Array] = np.asarray
) -> Work:
    """A statement repeated in a Python loop, as a user would write it."""
    timer = Timer(statement, globals=dict(names))
    kept: list[Any] = []
    last = Timer(f"kept.append({statement.rsplit('; ', 1)[-1]})", globals={**names, "kept": kept})

    def answered() -> Array:
        last.timeit(1)
        return answer(kept.pop())

    return Work(who, lambda: timer.timeit(CALLS), CALLS, answered)


class KernelWork:
    """A kernel on many states (3, B, n), one thread."""

    def __init__(self, kernel: Kernel, states: Array) -> None:
        self.kernel = kernel
        self.states = [np.ascontiguousarray(v, dtype=kernel.dtype) for v in states]

    def one_call(self, name: str, out: bool) -> Work:
        """The first state from Python, with `out` or with a new array each time."""
        given = {"q": 0, "qd": 1, "third": 2}
        names: dict[str, Any] = {
            key: self.states[k][0].copy() for key, k in given.items() if k < ARGUMENTS.get(name, 3)
        }
        first = getattr(self.kernel, name)(*names.values())
        called = ", ".join(names) + (", out=out" if out else "")
        names |= {"f": getattr(self.kernel, name)} | ({"out": first} if out else {})
        return calls("forearm", f"f({called})", names)

    def batch(self, name: str) -> Work:
        """All states in one call."""
        function, given = getattr(self.kernel, name), self.states[: ARGUMENTS.get(name, 3)]
        out = function(*given, threads=1)

        def run() -> None:
            function(*given, threads=1, out=out)

        return Work("forearm", run, len(given[0]), lambda: np.asarray(out))

    def at_c_level(self, name: str) -> Work:
        """The code for one state, looped over few states in machine code."""
        given = [np.ascontiguousarray(v[:NEAR]) for v in self.states[: ARGUMENTS.get(name, 3)]]
        out = getattr(self.kernel, name)(*given, threads=1)
        call, pointers = self.kernel.compiled(name).part("single").call, pointers_to(*given, out)
        return Work("forearm", lambda: call(*pointers, len(given[0])), len(given[0]), lambda: out)


def each_joint(arm: Arm, **parts: Any) -> Arm:
    """The arm with these parts, such as friction, at every movable joint."""
    return arm.replace(tree=tuple(j if j.kind == "fixed" else replace(j, **parts) for j in arm.tree))


def pointers_to(*arrays: Array) -> Sequence[int]:
    """Addresses of the arrays' data."""
    return [array.ctypes.data for array in arrays]
