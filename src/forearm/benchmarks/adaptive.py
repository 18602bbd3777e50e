"""Simulations to a tolerance,
compared with SciPy's solve_ivp on our own forward dynamics: 1 s of several arms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from forearm.arm.arm import Arm
from forearm.benchmarks.peers import wanted
from forearm.benchmarks.peers.scipy import ivp_of
from forearm.benchmarks.timing import BenchmarkRow, Work, beside
from forearm.files.builtin import load_builtin
from forearm.simulation.arguments import Accuracy
from forearm.simulation.run import simulate
from forearm.spatial import Floats

DURATION = 1.0
ACCURACY = Accuracy(rtol=1e-6, atol=1e-9)
# Results are compared where both are accurate, and before friction stops a joint.
COMPARED = (0.02, Accuracy(rtol=1e-9, atol=1e-12))
FASTER = 10.0
TORQUE = np.array([48.0, 90.0, 48.0, 12.0, 12.0, 12.0])  # N m


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
        theirs = _work("SciPy RK45", ivp_of(arm, q, qd, torque)) if wanted("SciPy", peers) else None
        for method, bar in (("dp45", at_least), ("dp87", None)):
            ours = _work("ours", partial(_simulated, arm, q, qd, torque, method))
            yield beside(f"1 s of {name}, {method}", ours, theirs, group="simulation", at_least=bar)


def _simulated(
    arm: Arm, q: Floats, qd: Floats, torque: Floats, method: str, duration: float, accuracy: Accuracy
) -> Floats:
    found = simulate(arm, q, qd, duration, torque=torque, method=method, accuracy=accuracy)
    return np.asarray(found.q[-1])


def _work(who: str, at: Callable[[float, Accuracy], Floats]) -> Work:
    """A run, compared by another one that ends earlier and is more accurate."""
    return Work(who, lambda: at(DURATION, ACCURACY), 1, lambda: at(*COMPARED))
