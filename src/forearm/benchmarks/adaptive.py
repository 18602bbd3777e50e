"""Simulations to a tolerance,
compared with SciPy's solve_ivp on our own forward dynamics: 1 s of several arms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.benchmarks.peers import problem
from forearm.benchmarks.peers.scipy import SolveIVP
from forearm.benchmarks.timing import BenchmarkRow, Work, beside
from forearm.files.builtin import load_builtin
from forearm.simulation.arguments import Accuracy
from forearm.simulation.run import simulate

DURATION = 1.0
ACCURACY = Accuracy(rtol=1e-6, atol=1e-9)
# Results are compared where both are accurate, and before friction stops a joint.
COMPARED = (0.02, Accuracy(rtol=1e-9, atol=1e-12))
FASTER = 10.0
TORQUE = np.array([48.0, 90.0, 48.0, 12.0, 12.0, 12.0])  # N m

Floats = NDArray[np.float64]


def rows(peers: bool) -> Iterator[BenchmarkRow]:
    """The results of docs/performance.md, adaptive simulation."""
    puma, panda = load_builtin("puma560"), load_builtin("panda")
    cases: dict[str, tuple[Arm, Floats, float | None]] = {
        "the PUMA, rigid": (puma.rigid(), np.zeros(puma.n), FASTER),
        "the Panda, rigid": (panda.rigid(), np.zeros(panda.n), FASTER),
        "the PUMA with friction": (puma, TORQUE, None),
    }
    for name, (arm, torque, at_least) in cases.items():
        q, qd = np.random.default_rng(1).uniform(-1.0, 1.0, (2, arm.n))
        theirs = None
        if peers and problem("SciPy") is None:
            theirs = SolveIVP(arm, q, qd, torque).work(DURATION, ACCURACY, COMPARED)
        for method in ("dp45", "dp87"):
            work = _ours(arm, q, qd, torque, method)
            row = beside(f"1 s of {name}, {method}", work, theirs, group="simulation")
            yield replace(row, at_least=at_least if method == "dp45" else None)


def _ours(arm: Arm, q: Floats, qd: Floats, torque: Floats, method: str) -> Work:
    def at(duration: float, accuracy: Accuracy) -> Floats:
        made = simulate(arm, q, qd, duration, torque=torque, method=method, accuracy=accuracy)
        return np.asarray(made.q[-1])

    return Work("ours", lambda: at(DURATION, ACCURACY), 1, lambda: at(*COMPARED))
