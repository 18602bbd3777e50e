"""Pinocchio through CasADi to C, the strongest peer:
the C code that tools/write_casadi.py has them write, compiled here.

No pip package includes `pinocchio.casadi`, and building the writer takes minutes; so the C code is written
once, by `make bench-peers`, into the environment of the peers.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.benchmarks.timing import Work
from forearm.benchmarks.work import NEAR, pointers_to

FOLDER = Path(sys.prefix) / "casadi"
FUNCTIONS = ("inverse_dynamics", "forward_dynamics")
FLAGS = ("-O3", "-march=native", "-fPIC", "-shared")
LOOP = """\
#include "{source}"
void loop(const double *q, const double *qd, const double *third, double *out, long long count)
{{
    for (long long k = 0; k < count; k++) {{
        const double *given[3] = {{q + k * {n}, qd + k * {n}, third + k * {n}}};
        double *result[1] = {{out + k * {n}}};
        {name}(given, result, 0, 0, 0);
    }}
}}
"""


class CasADi:
    """The C code of an arm, called in a loop in C."""

    def __init__(self, arm: Arm, states: NDArray[np.float64]) -> None:
        self.arm = arm
        self.states = [np.ascontiguousarray(v) for v in states]
        self.loops: dict[str, Any] = {}

    def batch(self, name: str) -> Work:
        """All states."""
        return self._loop("CasADi C, loop", name, self.states)

    def at_c_level(self, name: str) -> Work:
        """Few states, whose arrays stay in the nearest caches."""
        return self._loop("CasADi C", name, [np.ascontiguousarray(v[:NEAR]) for v in self.states])

    def _loop(self, who: str, name: str, given: list[NDArray[np.float64]]) -> Work:
        if name not in self.loops:
            self.loops[name] = compiled(FOLDER / f"{self.arm.name}.{name}.c", name, self.arm.n)
        out = np.zeros_like(given[0])
        loop, pointers = self.loops[name], pointers_to(*given, out)
        return Work(who, lambda: loop(*pointers, len(out)), len(out), lambda: out)


def compiled(source: Path, name: str, n: int) -> Any:
    """The loop around a function, by the system's C compiler."""
    with TemporaryDirectory() as folder:
        Path(folder, "loop.c").write_text(LOOP.format(source=source, name=name, n=n), encoding="utf-8")
        subprocess.run(
            ["cc", *FLAGS, "-o", "loop.so", "loop.c", "-lm"], cwd=folder, check=True, capture_output=True
        )
        loop = ctypes.CDLL(str(Path(folder, "loop.so"))).loop  # stays in memory when the file is deleted
    loop.argtypes, loop.restype = [ctypes.c_void_p] * 4 + [ctypes.c_int64], None
    return loop
