"""LLVM IR for the threads of a schedule: a function each, shared memory, and a progress counter per thread.

The counter in evaluation e (from 0) after i tasks is e * turn + i, and (e + 1) * turn at its end: it only
grows, so that nothing is reset between evaluations. An evaluation begins when all threads have ended the one
before.
"""

from __future__ import annotations

from typing import Any

from forearm.kernels.ir import compute, intrinsics, result
from forearm.kernels.llvm import IRFunction, Value, declared, joined
from forearm.kernels.vectors import Body, Target
from forearm.schedules.threaded_plan import Threads, ThreadStep, kept_places
from forearm.symbols import Expr

LINE = 128  # bytes between the counters of two threads: two cache lines
HASTY = 2000  # polls without yielding; after that a thread yields between polls
PAUSE = "llvm.x86.sse2.pause"
SUMS = 4  # partial sums that check inputs for values that are not finite


def module_of(threads: Threads, target: Target, pause: bool) -> str:
    """All functions and their callees:
    `i64 lane<k>(inputs..., outputs..., shared, numbers, count, patience, yield)`.

    They return 0, or 1 if another thread did not reach a count within `patience` polls.
    """
    functions = [_Lane(threads, k, target).text() for k in range(len(threads.steps))]
    return joined([*intrinsics(target), waiting_text(pause), *functions])


class _Lane:
    """Builds the function of one thread: a loop over evaluations around its steps."""

    def __init__(self, threads: Threads, k: int, target: Target) -> None:
        self.threads, self.k = threads, k
        self.arrays = (*threads.traced.inputs, *threads.traced.outputs)
        kinds = dict.fromkeys([*(a.name for a in self.arrays), "shared", "numbers"], "ptr")
        kinds |= {"count": "i64", "patience": "i64", "yield": "ptr"}
        self.f = f = IRFunction(f"lane{k}", kinds, "i64")
        self.body, self.lost = Body(target, f=f), f.label()
        *_, numbers, self.count, self.patience, self.let_others = f.arguments
        self.stop = f.at(numbers, LINE * len(threads.steps), "i8")
        self.numbers = [f.at(numbers, LINE * j, "i8") for j in range(len(threads.steps))]

    def text(self) -> str:
        """The IR of the function."""
        f, turn = self.f, self.threads.turn
        with f.unless(f.compared("sle", self.count, 0)), f.repeat(0) as evaluation:
            (at,) = evaluation.now
            base, after = f.op("mul", at, turn), f.op("add", at, 1)
            end = f.op("mul", after, turn)
            for j in range(len(self.numbers)):
                if j != self.k:
                    self._wait(j, base)
            scalar = self.body.target.scalar
            rows = {a.name: f.at(f"%{a.name}", at, scalar, a.size) for a in self.arrays}
            self._evaluation(rows, base)
            f.store(end, self.numbers[self.k], "release")
            evaluation.again(after, where=f.compared("slt", after, self.count))
        f.ret(0)
        f.begin(self.lost)
        f.ret(1)
        return f.text()

    def _evaluation(self, rows: dict[str, Value], base: Value) -> None:
        """The steps of a thread for one state."""
        body, threads, k = self.body, self.threads, self.k
        traced = threads.traced
        places = {leaf: place for place, leaf in traced.graph.leaves.items()}
        values: dict[int, Any] = {
            places[f"{a.name}[{i}]"]: body.load(rows[a.name], i, 1)
            for a in traced.inputs
            for i in range(a.size)
        }
        # Every other thread writes from the end: two that write the same rows at the same time would
        # contend for cache lines.
        mine = _results_of(threads, k)[:: -1 if k % 2 else 1]
        unknown = _unknown(body, list(values.values())) if mine else None
        for step, keep in zip(threads.steps[k], kept_places(threads, k), strict=True):
            self._step(step, keep, values, base)
            for name, index, entry in mine:
                if isinstance(entry, Expr) and entry.node in keep:
                    body.store(rows[name], index, body.op("fadd", result(body, entry, values), unknown), 1)
        for name, index, entry in mine:
            if not isinstance(entry, Expr) or entry.node not in threads.writer:
                body.store(rows[name], index, body.op("fadd", result(body, entry, values), unknown), 1)

    def _step(self, step: ThreadStep, keep: set[int], values: dict[int, Any], base: Value) -> None:
        f, body, threads = self.f, self.body, self.threads
        graph = threads.traced.graph
        for other, number in step.waits:
            self._wait(other, f.op("add", base, number))
        for place in step.loads:
            values[place] = body.load("%shared", threads.slots[place], 1)
        compute(body, graph, [Expr(graph, place, False) for place in sorted(keep)], values)
        for place in step.stores:
            body.store("%shared", threads.slots[place], body.ready(values[place]), 1)
        if step.done is not None:
            f.store(f.op("add", base, step.done), self.numbers[self.k], "release")

    def _wait(self, other: int, number: Value) -> None:
        """Wait until another thread's counter reaches a number: poll once, then call `waiting`."""
        f, seen = self.f, self.numbers[other]
        with f.unless(f.compared("sge", f.load("i64", seen, "acquire"), number)):
            given = (seen, number, self.patience, self.stop, self.let_others)
            f.go(self.lost, unless=f.call("waiting", *given, kind="i1"))


def _results_of(threads: Threads, k: int) -> list[tuple[str, int, Any]]:
    """(array, index, value) of a thread's results; the first thread also writes constants and inputs."""
    return [
        (a.name, index, entry)
        for a in threads.traced.outputs
        for index, entry in enumerate(threads.traced.results[a.name].flat)
        if threads.writer.get(entry.node if isinstance(entry, Expr) else -1, 0) == k
    ]


def _unknown(body: Body, states: list[Value]) -> Value:
    """0 if all inputs are finite, else NaN: added to every result."""
    sums = [body.constant(0.0)] * SUMS
    for at, state in enumerate(states):
        sums[at % SUMS] = body.fma(state, body.constant(0.0), sums[at % SUMS])
    while len(sums) > 1:
        sums = [body.op("fadd", a, b) for a, b in zip(sums[::2], sums[1::2], strict=True)]
    return sums[0]


def waiting_text(pause: bool) -> str:
    """`i1 waiting(number, target, patience, stop, yield)`: poll until the counter reaches the target; give up
    after `patience` polls or when `stop` is set.

    A thread that gives up sets `stop`, so that all others do too. `yield` may be null.
    """
    kinds = {"number": "ptr", "target": "i64", "patience": "i64", "stop": "ptr", "yield": "ptr"}
    f = IRFunction("waiting", kinds, "i1", internal=True)
    number, target, patience, stop, let_others = f.arguments
    came = f.label()
    with f.repeat(0) as look:
        (looks,) = look.now
        f.go(came, where=f.compared("sge", f.load("i64", number, "acquire"), target))
        stopped = f.compared("ne", f.load("i64", stop, "monotonic"), 0)
        f.go(look.end, where=f.op("or", stopped, f.compared("sge", looks, patience)))
        if pause:
            f.call(PAUSE)
        patient, polite = f.compared("sge", looks, HASTY), f.compared("ne", let_others, None)
        with f.when(f.op("and", patient, polite)):
            f.call(let_others, kind="i32")
        look.again(f.op("add", looks, 1))
    f.store(1, stop, "monotonic")
    f.ret(False)
    f.begin(came)
    f.ret(True)
    return "\n\n".join([*([declared(PAUSE, "void")] if pause else []), f.text()])
