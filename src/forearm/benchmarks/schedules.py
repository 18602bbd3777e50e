"""One evaluation on several threads compared with one thread:
by a schedule with its waits, and by threads that share nothing.

Times are the minimum of many short runs, for all alike: threads that wait for each other measure the load of
a busy machine rather than their own speed. The time of a run without evaluations, such as starting threads,
is subtracted.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from forearm.arm.arm import Arm
from forearm.benchmarks.timing import BenchmarkRow, relative
from forearm.codegen.functions import Traced
from forearm.codegen.program import Argument
from forearm.files.builtin import load_builtin
from forearm.kernels.compiled import Native
from forearm.kernels.kernel import compile as compile_arm
from forearm.schedules.automatic import operations, traced_function
from forearm.schedules.duplicating import apart
from forearm.schedules.grouping import grouped
from forearm.schedules.schedule import TaskSchedule
from forearm.schedules.search import schedule_by_search
from forearm.schedules.threaded import Threaded, compiled_threads, cores, on_core
from forearm.schedules.threaded_plan import planned_threads
from forearm.spatial import Floats
from forearm.symbols import Graph

FUNCTIONS = {
    "inverse_dynamics": ("puma560", "chain20", "chain50", "chain100"),
    "inertia_matrix": ("puma560", "chain20", "chain40"),
    "inverse_dynamics_derivatives": ("puma560", "chain12"),
}
SIZE = 4.0  # cost of a scheduled task, in operations
REPEATS = 60
SHORT = 0.7e-3  # s per run, approximately: shorter than a time slice of the system
HOPS = 32
MOST_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class ThreadedTiming:
    """A measurement:
    s per evaluation, its waits, threads, and the deviation of the results from the kernel's.
    """

    seconds: float
    threads: int
    waits: int
    agreement: float


class Case:
    """A function of an arm with states to evaluate it at, and its kernel on one thread."""

    def __init__(self, arm: Arm, function: str) -> None:
        self.traced = traced_function(arm, function)
        self.native: Native = compile_arm(arm).compiled(function).part("single")
        rng = np.random.default_rng(1)
        self.rows = 64
        self._fill(rng)
        self.rows = int(np.clip(SHORT / self.kernel, 64, MOST_ROWS))
        self._fill(rng)
        self.native.call(*self.pointers(), self.rows)
        self.expected = [out.copy() for out in self.outputs]

    def _fill(self, rng: np.random.Generator) -> None:
        self.inputs = [rng.uniform(-1.0, 1.0, (self.rows, *a.shape)) for a in self.traced.inputs]
        self.outputs = [np.zeros((self.rows, *a.shape)) for a in self.traced.outputs]

    def pointers(self, first: int = 0) -> list[int]:
        """Addresses of the arrays, from a row on."""
        return [a[first:].ctypes.data for a in (*self.inputs, *self.outputs)]

    @property
    def kernel(self) -> float:
        """s per evaluation on one thread."""
        return least(lambda count: self.native.call(*self.pointers(), count), self.rows)

    @cached_property
    def cost(self) -> float:
        """The cost of all operations."""
        return operations(self.traced).graph.total

    def side_by_side(self, threads: int) -> float:
        """s per evaluation if this many threads each do complete evaluations of their own."""

        def run(count: int) -> None:
            each = count // threads

            def work(k: int) -> None:
                with on_core(k, threads):
                    self.native.call(*self.pointers(k * each), each)

            others = [threading.Thread(target=work, args=(k,)) for k in range(1, threads)]
            for other in others:
                other.start()
            work(0)
            for other in others:
                other.join()

        return least(run, self.rows)

    def measured(self, threaded: Threaded) -> ThreadedTiming:
        """The same evaluations by threads of a schedule."""
        for out in self.outputs:
            out[:] = np.nan
        threaded.run(self.pointers(), self.rows)
        agreement = apart_by(self.outputs, self.expected)
        seconds = least(lambda count: threaded.run(self.pointers(), count), self.rows)
        return ThreadedTiming(seconds, len(threaded.lanes), threaded.threads.waits, agreement)


def apart_by(found: Sequence[Floats], expected: Sequence[Floats]) -> float:
    """max|found - expected| / max|expected|; NaN in both counts as equal, in one only as infinite."""
    size = (
        max((float(np.abs(right[np.isfinite(right)]).max(initial=0.0)) for right in expected), default=0.0)
        or 1.0
    )
    worst = 0.0
    for a, b in zip(found, expected, strict=True):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        far = np.abs(np.subtract(a, b, where=~same, out=np.zeros_like(a)))
        worst = max(worst, float(np.where(np.isnan(far), np.inf, far).max(initial=0.0)))
    return worst / size


def least(run: Callable[[int], object], count: int) -> float:
    """s for one of many: the minimum of short runs, less the minimum of empty runs."""
    shortest = [np.inf, np.inf]
    for _ in range(REPEATS):
        for k, size in enumerate((0, count)):
            start = time.perf_counter()
            run(size)
            shortest[k] = min(shortest[k], time.perf_counter() - start)
    return max(float(shortest[1] - shortest[0]) / count, 1e-12)


def hand_over() -> float:
    """s to pass a value to another thread: a chain of products, computed alternately by two threads."""
    graph = Graph()
    x = graph.input("x[0]")
    y = x
    for k in range(HOPS):
        y = y * x if k % 2 else x - y
    argument = Argument("x", (1,), ""), Argument("y", (1,), "")
    division = operations(Traced(graph, {"y": np.array([y], dtype=object)}, argument[:1], argument[1:]))
    n = len(division.graph)
    schedule = TaskSchedule(
        division.graph, 2, tuple(map(float, range(n))), tuple(k % 2 for k in range(n)), "turns"
    )
    threaded = compiled_threads(planned_threads(division, schedule))
    rows = 400
    inputs, outputs = np.full((rows, 1), 0.5), np.zeros((rows, 1))
    return least(lambda count: threaded.run([inputs.ctypes.data, outputs.ctypes.data], count), rows) / n


def rows(peers: bool) -> Iterator[BenchmarkRow]:
    """The results of docs/schedules.md: two threads, or none on a single core."""
    if cores() < 2:
        return
    hop = hand_over()
    yield BenchmarkRow("a value handed to another thread", hop)
    for function, arms in FUNCTIONS.items():
        for name in arms:
            yield from _case_rows(function, load_builtin(name).rigid(), hop)


def _case_rows(function: str, arm: Arm, hop: float) -> Iterator[BenchmarkRow]:
    """The peer is one thread:
    the kernel, or the same straight-line code if the kernel uses a loop and is slower.

    The schedule knows the cost of passing a value here, in operations of this function: it may choose one
    thread. Time beyond the plan, divided by its waits, is the cost of synchronisation.
    """
    case = Case(arm, function)
    title, straight = f"{function}, {arm.n} joints", case.measured(compiled_threads(apart(case.traced, 1)))
    kernel = min(case.kernel, straight.seconds)
    division = grouped(operations(case.traced, fused=True), SIZE)
    unit = kernel / case.cost
    schedule = schedule_by_search(division.graph, 2, hop / unit)
    made = case.measured(compiled_threads(planned_threads(division, schedule)))
    words = f"scheduled, {made.waits} waits" if made.threads > 1 else "scheduled on one"
    yield _beside_kernel(f"{title}: {words}", made, kernel)
    if made.waits:
        yield BenchmarkRow(
            "  a wait, beyond what it expects", max(made.seconds - schedule.length * unit, 0.0) / made.waits
        )
    alone = case.measured(compiled_threads(apart(case.traced, 2)))
    words = "two that share nothing" if alone.threads > 1 else "sharing nothing: one does all"
    yield _beside_kernel(f"  {words}", alone, kernel)
    yield relative("  whole states side by side", case.side_by_side(2), "one thread", kernel, None)


def _beside_kernel(name: str, timing: ThreadedTiming, kernel: float) -> BenchmarkRow:
    return relative(name, timing.seconds, "one thread", kernel, None, agreement=timing.agreement)
