"""Compiled functions:
one call, a state of a large batch on one thread, one state at a time in machine code; compared with peers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from forearm.benchmarks import start
from forearm.benchmarks.peers import problem
from forearm.benchmarks.peers.casadi import CasADi
from forearm.benchmarks.peers.mujoco import MuJoCo
from forearm.benchmarks.peers.pinocchio import Pinocchio
from forearm.benchmarks.peers.toolbox import Toolbox
from forearm.benchmarks.roofline import operations, peak_share
from forearm.benchmarks.timing import BenchmarkRow, beside
from forearm.benchmarks.work import KernelWork
from forearm.files.builtin import load_builtin
from forearm.kernels.kernel import compile as compile_arm

BATCH = 100_000
PEERS = {"Pinocchio": Pinocchio, "CasADi": CasADi, "MuJoCo": MuJoCo, "Robotics Toolbox": Toolbox}
# The arms and their peers; MuJoCo rejects the PUMA for its massless first link.
ARMS = {"panda": tuple(PEERS), "puma560-akb": ("Pinocchio", "CasADi", "Robotics Toolbox")}
CHAINS = (24, 50, 100)  # joints
CALLS, SHORT_LOOPS, LONG_BATCHES = 15, 101, 3  # repetitions, where not 11
SHORT = {
    "inverse_dynamics": "inverse",
    "forward_dynamics": "forward",
    "inertia_matrix": "inertia",
    "inverse_dynamics_derivatives": "d(inverse)",
    "forward_dynamics_derivatives": "d(forward)",
}
BOTH = ("inverse_dynamics", "forward_dynamics")
# Target ratios to peers, by arm, measurement and peer.
AT_LEAST = {
    ("panda", "inverse, one call, out=", "pin.rnea"): 6.0,
    ("panda", "inverse, one call, new array", "pin.rnea"): 4.5,
    ("panda", "d(inverse), one call, out=", "pin.RNEA deriv."): 8.0,
    ("panda", "inverse, batch", "Pinocchio batch"): 40.0,
    ("panda", "forward, batch", "Pinocchio batch"): 45.0,
    ("panda", "inverse, batch", "CasADi C, loop"): 6.0,
    ("panda", "forward, batch", "CasADi C, loop"): 6.0,
    ("panda", "inverse, one at C level", "CasADi C"): 1.8,
    ("panda", "forward, one at C level", "CasADi C"): 1.8,
    ("chains", "chain of 50, inverse, batch", "Pinocchio batch"): 15.0,
}
STAY_UNDER = {("panda", "inverse, batch, float32"): 12e-9}  # s


@dataclass(frozen=True)
class Subject:
    """An arm under test: our kernel on its states, and the available peers."""

    name: str
    ours: KernelWork
    peers: Mapping[str, Any]
    prefix: str = ""  # prefix of its rows' names

    def rows(
        self, way: str, function: str, ending: str, asked: tuple[str, ...] = (), repeats: int = 11, **how: Any
    ) -> Iterator[BenchmarkRow]:
        """One function called in one way: a row for every available peer, or one for ours alone."""
        title = f"{self.prefix}{SHORT[function]}, {ending}"
        ours = getattr(self.ours, way)(function, **how)
        there = [getattr(self.peers[peer], way)(function) for peer in asked if peer in self.peers]
        for theirs in there or [None]:
            row = beside(title, ours, theirs, repeats, group=self.name)
            row = replace(row, bar=STAY_UNDER.get((self.name, title)))
            row = replace(row, at_least=AT_LEAST.get((self.name, title, row.peer or "")))
            if way == "batch":
                counts = self.ours.kernel.counts[function]
                share = peak_share(counts, row.seconds, self.ours.kernel.dtype)
                row = replace(row, operations=operations(counts), peak_share=share)
            yield row


def rows(peers: bool) -> Iterator[BenchmarkRow]:
    """The Panda with full inertia tensors, the PUMA, chains, and a fresh process; all arms rigid."""
    for name, asked in ARMS.items():
        double = _subject(name, asked if peers else ())
        yield from _one_call(double)
        for function in BOTH:
            yield from double.rows("at_c_level", function, "one at C level", ("CasADi",), repeats=SHORT_LOOPS)
        for function in BOTH:
            yield from double.rows("batch", function, "batch", ("Pinocchio", "CasADi"))
        for function in ("inertia_matrix", "inverse_dynamics_derivatives"):
            yield from double.rows("batch", function, "batch")
        single = _subject(name, (), "float32")
        for function in (*BOTH, "inertia_matrix"):
            yield from single.rows("batch", function, "batch, float32")
    for n in CHAINS:
        chain = replace(
            _subject(f"chain{n}", ("Pinocchio",) if peers else ()), name="chains", prefix=f"chain of {n}, "
        )
        yield from chain.rows("batch", "inverse_dynamics", "batch", ("Pinocchio",), repeats=LONG_BATCHES)
    yield from start.rows()


def _one_call(subject: Subject) -> Iterator[BenchmarkRow]:
    for function in (*BOTH, "inertia_matrix"):
        asked = ("Pinocchio", "MuJoCo", "Robotics Toolbox") if function in BOTH else ("Pinocchio",)
        yield from subject.rows("one_call", function, "one call, out=", asked, repeats=CALLS, out=True)
        yield from subject.rows(
            "one_call", function, "one call, new array", ("Pinocchio",), repeats=CALLS, out=False
        )
    for function in ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
        for ending, out in (("one call, out=", True), ("one call, new arrays", False)):
            yield from subject.rows("one_call", function, ending, ("Pinocchio",), repeats=CALLS, out=out)


def _subject(name: str, asked: tuple[str, ...], dtype: str = "float64") -> Subject:
    arm = load_builtin(name).rigid()
    states = np.random.default_rng(1).uniform(-1.0, 1.0, (3, BATCH, arm.n))
    peers = {peer: PEERS[peer](arm, states) for peer in asked if problem(peer) is None}
    return Subject(name, KernelWork(compile_arm(arm, dtype=dtype), states), peers)
