"""Rollouts as LLVM IR: the code of one arm's complete run, emitted for the lanes of a CPU's vectors or for a
thread of a GPU. Steps and the stages of a step are loops that carry the state as SSA values; memory holds
only inputs and results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

from forearm.codegen.differentiated import reverse_of
from forearm.codegen.functions import Traced
from forearm.codegen.rollout_step import HELD, STATES, RolloutStep
from forearm.kernels.compiled import Names
from forearm.kernels.ir import compute, module_text, result, unknown_of
from forearm.kernels.llvm import IRFunction, Value, number
from forearm.kernels.rollout_request import ROLLOUT
from forearm.kernels.rollout_summary import TracedSummary
from forearm.kernels.transpose import store_columns
from forearm.kernels.vectors import Body, InMemory, Target
from forearm.symbols import Graph
from forearm.symbols.ordering import order

# Arguments of a rollout in this order: arrays; numbers of arms, of steps, of steps between two records (0:
# the final state only) and between two updates of a controller; strides between rows, and between steps.
ARRAYS = ("q0", "qd0", "u", "parameters", "reference", "out_q", "out_qd", "out_sums")
COUNTS = ("count", "steps", "every", "period")
STRIDES = ("q0_row", "qd0_row", "u_row", "u_step", "p_row", "r_row", "r_step")


# For control laws, whose graphs get the symbols of weights only once: one law may serve several kernels.
_reversed: WeakKeyDictionary[Traced, Traced] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class RolloutProgram:
    """What a rollout computes: steps of an arm, and its controller, if any: `law` computes u (n,), and the
    next `state` if it has one, from t, q, qd, `reference`, `gains` and `state`; and the summaries, if any.
    """

    step: RolloutStep
    law: Traced | None = None
    summary: TracedSummary | None = None

    @cached_property
    def reversed_law(self) -> Traced:
        """The law in reverse mode, g^T J:
        takes `u_weight` as an additional input and returns the gradients of its inputs.
        """
        assert self.law is not None
        law = self.law
        if law not in _reversed:
            read = tuple(a for a in law.inputs if a.name in ("q", "qd", "reference") and a.size)
            _reversed[law] = reverse_of(Traced(law.graph, {"u": law.results["u"]}, read, law.outputs[:1]))
        return _reversed[law]

    @property
    def parameters(self) -> Names:
        """The open parameters of the arm by name, followed by the gains of the controller."""
        return *self.step.plant.parameters, *(f"gains[{k}]" for k in range(self._size("gains")))

    @property
    def operations(self) -> int:
        """Approximate number of operations per step."""
        region = self.step.accelerations.region
        return len(self.step.method.c) * int(region.counts.operations)

    @property
    def reference(self) -> int:
        """Width of the controller's reference rows."""
        return self._size("reference")

    @property
    def state(self) -> int:
        """Number of values that the controller stores between two updates; they start at 0."""
        return self._size("state")

    def _size(self, name: str) -> int:
        return 0 if self.law is None else sum(a.size for a in self.law.inputs if a.name == name)


def rollout_arguments(target: Target) -> dict[str, str]:
    """The arguments of the function, by name, with their types; `h` is the step size, s."""
    whole = dict.fromkeys((*COUNTS, *STRIDES), "i64")
    return dict.fromkeys(ARRAYS, "ptr") | whole | {"h": target.scalar}


def batch_rollout_text(program: RolloutProgram, target: Target) -> str:
    """The module for a CPU: `void batch_rollout(...)` with `rollout_arguments`.

    Initial states are q0 and qd0; results are written to out_q and out_qd, (count, steps / every + 1, n), or
    (count, n) for the final state only if every is 0, and summaries to out_sums, (count, sums). Inputs of a
    row and a step are at u + row u_row + step u_step, and likewise for the controller's reference.
    """
    f = IRFunction(ROLLOUT, rollout_arguments(target))
    given = dict(zip(rollout_arguments(target), f.arguments, strict=True))
    rows = RolloutRows(program, Body(target, f=f), given)
    with f.loop(0, given["count"], target.lanes) as at:
        rows.write(at)
    f.ret()
    return module_text([f.text()], target)


def rollout_kernel_text(name: str, program: RolloutProgram, target: Target, threads: int) -> str:
    """The same function as a GPU kernel, one thread per row in blocks of this many threads; the number of
    rows is its last argument.
    """
    return rows_kernel_text(
        name,
        rollout_arguments(target),
        threads,
        lambda f, given, at: RolloutRows(program, Body(target, f=f), given).write(at),
    )


def rows_kernel_text(
    name: str,
    arguments: Mapping[str, str],
    threads: int,
    write: Callable[[IRFunction, dict[str, Value], Value], None],
) -> str:
    """A GPU kernel in which each thread computes one row; `count` is its last argument."""
    given = {key: kind for key, kind in arguments.items() if key != "count"} | {"count": "i64"}
    f = IRFunction(name, given, on_device=True)
    named = dict(zip(given, f.arguments, strict=True))
    at = f.block() * threads + f.thread()
    with f.unless(at >= named["count"]):
        write(f, named, at)
    f.ret()
    return f.text()


class RolloutRows:
    """Emits the runs of as many rows as the target has lanes, from row `at` on, into the function of `body`;
    `given` are the function's arguments by name, `widest` is the largest number of values written at once.
    """

    def __init__(
        self, program: RolloutProgram, body: Body, given: Mapping[str, Value], widest: int = 0
    ) -> None:
        self.program, self.step, self.body, self.given = program, program.step, body, given
        self.f, self.target, self.n = body.f, body.target, program.step.n
        self.columns: dict[str, Value] = {}  # open parameters by name,
        self.known: dict[int, Any] = {}  # and what the accelerations need of them
        self.starts = () if program.summary is None else program.summary.start
        if self.target.lanes > 1:
            body.space("%lanes.u", self.n * self.target.lanes)
            body.space("%lanes.row", max(self.n, widest, len(self.starts)) * self.target.lanes)

    def write(self, at: Value) -> None:
        """Emit the complete run."""
        f, body, given = self.f, self.body, self.given
        unknown = self.begin(at)
        q, qd = (self.gathered(name, self.n, given[f"{name}_row"]) for name in ("q0", "qd0"))
        unknown = unknown_of(body, [*q, *qd], unknown)
        q, qd = ([x + unknown for x in some] for some in (q, qd))
        recording = given["every"] > 0
        every = given["every"]
        records = f.chosen(recording, given["steps"] // self._one(every) + 1, 1)
        self.records = records
        start = [*q, *qd, *self._held(qd)]
        with f.when(recording):
            self._record(start, 0)
        kept = self.n + self.program.state if self.program.law else 0
        driven = [body.constant(0.0)] * kept
        none = [body.constant(x) for x in self.starts]
        going = given["steps"] > 0
        with f.when(going) as end, f.inside(), f.repeat(0, every, 1, *driven, *none, *start) as turn:
            k, left, place, *rest = turn.now
            answer, sums, state = rest[:kept], rest[kept:][: len(none)], rest[kept + len(none) :]
            if kept:
                answer = self.answered(k, answer, state)
            u = answer[: self.n] if kept else self._inputs(k)
            made = self._stepped(state, u)
            sums = self._summed(k, sums, (state, made), u)
            after, left = k + 1, left - 1
            is_due = left.equals(0)
            with f.when(is_due):
                self._record(made, place)
            left = f.chosen(is_due, every, left)
            place = place + f.cast("zext", is_due, "i64")
            is_on = after < given["steps"]
            turn.again(after, left, place, *answer, *sums, *made, where=is_on)
        last = [f.phi(end, x, y) for x, y in zip(start, made, strict=True)]
        if none:
            total = [f.phi(end, x, y) for x, y in zip(none, sums, strict=True)]
            self.scattered("out_sums", total, f.op("add", 0, len(none)))
        with f.unless(recording):
            self._record(last, 0)

    def begin(self, at: Value) -> Value | None:
        """Load what does not depend on the state; NaN where an open parameter is not finite."""
        self.at, self.some = at, self._rows(at)
        self.h = self.body.spread(self.given["h"])
        self.columns, self.known = {}, {}
        names = self.program.parameters
        if not names:
            return None
        columns = self.gathered("parameters", len(names), self.given["p_row"])
        self.columns = dict(zip(names, columns, strict=True))
        if self.step.whole is None:
            region = self.step.accelerations.region
            self.known = self.offline(region.graph, list(region.results))
        return unknown_of(self.body, columns)

    def offline(self, graph: Graph, results: Any) -> dict[int, Any]:
        """The open parameters on a graph, and everything that depends on them alone, computed once."""
        made: dict[int, Any] = {
            place: self.columns[leaf] for place, leaf in graph.leaves.items() if leaf in self.columns
        }
        if made:
            compute(self.body, graph, graph.known_before(results), made)
        return made

    def _one(self, x: Value) -> Value:
        """x, or 1 where it is 0."""
        return self.f.chosen(x > 0, x, 1)

    def _rows(self, at: Value) -> Value | int:
        """The number of lanes that have a row."""
        f, lanes = self.f, self.target.lanes
        if lanes == 1:
            return 1
        left = self.given["count"] - at
        return f.chosen(left >= lanes, lanes, left)

    def gathered(self, name: str, size: int, row: Value, moved: Value | None = None) -> list[Value]:
        """Load this many numbers per row, one lane per row; lanes without a row load those of the first.

        `row` is the stride between two rows, `moved` the offset of a step from the first.
        """
        f, body, scalar = self.f, self.body, self.target.scalar
        pointers = []
        for lane in range(self.target.lanes):
            own = self.at
            if isinstance(self.some, Value) and lane:
                own = f.chosen(self.some > lane, self.at + lane, self.at)
            place = own * row if moved is None else own * row + moved
            pointers.append(f.at(self.given[name], place, scalar))
        return [body.joined([body.load(p, j, 1) for p in pointers], 1) for j in range(size)]

    def _held(self, qd: list[Value]) -> list[Value]:
        """Friction directions and free flags of joints that dry friction can hold: those at rest start stuck.
        Followed by the loads, initially unknown, where friction depends on them.
        """
        body, dry = self.body, self.step.dry
        zero, one = body.constant(0.0), body.constant(1.0)
        signs = [body.sign(qd[j]) for j in dry]
        free = [body.chosen(qd[j].equals(zero), zero, one) for j in dry]
        return [*signs, *free, *([zero] * (2 * self.step.plant.loads))]

    def _named(self, state: Sequence[Value]) -> dict[str, list[Value]]:
        """The carried values by the names of states, (n,) each;
        joints without dry friction are always free.
        """
        n, dry = self.n, self.step.dry
        q, qd, rest = state[:n], state[n : 2 * n], state[2 * n :]
        signs, free = [self.body.constant(0.0)] * n, [self.body.constant(1.0)] * n
        for k, j in enumerate(dry):
            signs[j], free[j] = rest[k], rest[len(dry) + k]
        made = [list(q), list(qd), signs, free, list(rest[2 * len(dry) :])]
        return dict(zip(STATES, made, strict=True))

    def _carried(self, named: Mapping[str, Sequence[Value]]) -> list[Value]:
        """The inverse of `_named`."""
        held = [named[name][j] for name in HELD for j in self.step.dry]
        return [*named["q"], *named["qd"], *held, *named["load_guess"]]

    def _inputs(self, k: Value) -> list[Any]:
        """The inputs of a step."""
        f, body, lanes, step = self.f, self.body, self.target.lanes, self.given["u_step"]

        def read() -> list[Value]:
            u = self.gathered("u", self.n, self.given["u_row"], k * step)
            unknown = unknown_of(body, u)
            return [x + unknown for x in u]

        if lanes == 1:
            return read()
        first = k.equals(0) | step.differs(0)
        with f.when(first):  # gathering rows is slow: inputs that are held are gathered once
            body.keep("%lanes.u", read())
        return [InMemory("%lanes.u", j * lanes) for j in range(self.n)]

    def answered(self, k: Value, before: Sequence[Value], state: Sequence[Value]) -> list[Value]:
        """The controller's output and stored state:
        computed at the first step of its period, held until the next.
        """
        f, body, law, n = self.f, self.body, self.program.law, self.n
        assert law is not None
        asked = self.is_asked(k)
        with f.when(asked) as end, f.inside():
            made = self.computed(law, self.read(k, state) | {"state": before[n:]})
            unknown = unknown_of(body, made["u"])
            u = [x + unknown for x in made["u"]]
            answer = [*u, *made.get("state_next", [])]
        return [f.phi(end, x, y) for x, y in zip(before, answer, strict=True)]

    def is_asked(self, k: Value) -> Value:
        """Whether the controller is updated at a step."""
        return (k % self.given["period"]).equals(0)

    def read(self, k: Value, state: Sequence[Value]) -> dict[str, Sequence[Value]]:
        """The inputs of a law at a step: time, state and the row of its reference."""
        n = self.n
        return {"t": [self._time(k)], "q": state[:n], "qd": state[n : 2 * n], "reference": self._reference(k)}

    def _time(self, k: Value) -> Value:
        f = self.f
        return self.body.spread(f.cast("sitofp", k, self.target.scalar) * self.given["h"])

    def _reference(self, k: Value) -> list[Value]:
        """The row of the reference at a step."""
        size, given = self.program.reference, self.given
        moved = k * given["r_step"]
        return self.gathered("reference", size, given["r_row"], moved) if size else []

    def _summed(
        self,
        k: Value,
        sums: Sequence[Value],
        states: tuple[Sequence[Value], Sequence[Value]],
        u: Sequence[Any],
    ) -> list[Value]:
        """The summaries updated by a step between two states."""
        summary, n = self.program.summary, self.n
        if summary is None:
            return []
        before, after = states
        t = self._time(k)
        given = {"t": [t], "h": [self.h], "q": before[:n], "qd": before[n : 2 * n], "u": u, "sums": sums}
        given |= {"q_next": after[:n], "qd_next": after[n : 2 * n]}
        if summary.reads_reference:
            given["reference"] = self._reference(k)
        return self.computed(summary.traced, given)["sums_next"]

    def _stepped(self, state: Sequence[Value], u: list[Any]) -> list[Value]:
        """The state after a step."""
        now, h = self._named(state), {"u": u, "h": [self.h]}
        if self.step.whole is not None:
            return self._carried(self.computed(self.step.whole, now | h))
        begin = [*now["q"], *now["qd"]]
        return [self.body.fma(self.h, x, y) for x, y in zip(self.stages(now, u), begin, strict=True)]

    def stages(self, now: Mapping[str, Sequence[Value]], u: Sequence[Any], keep: str = "") -> list[Value]:
        """The mean rates of q and qd over a step: a loop over a single copy of the acceleration code, which
        carries the stage's state, the partial sums for later stages and the sum for the step.

        Sums start at -0, so that adding the first product is exact. The states of the stages are stored at
        `keep`, if given.
        """
        f, body, method, n = self.f, self.body, self.step.method, self.n
        stages, far = len(method.c), farthest(method.a)
        begin = [*now["q"], *now["qd"]]
        none = [body.constant(-0.0)] * (2 * n)
        with f.repeat(0, *[*begin, *none * far]) as turn:
            s, *carried = turn.now
            at, *sums = (list(carried[k * 2 * n :][: 2 * n]) for k in range(far + 1))
            if keep:
                body.keep(f.at(keep, s, self.target.scalar, 2 * n * self.target.lanes), list(at))
            rates = [*at[n:], *self._accelerations(at[:n], at[n:], now, u)]
            total = self._added(s, method.b, rates, sums[-1])
            reached = []
            for d in range(1, far + 1):
                column = [method.a[r + d][r] if r + d < stages else None for r in range(stages)]
                reached.append(self._added(s, column, rates, sums[d - 1] if d < far else none))
            following = [body.fma(self.h, x, y) for x, y in zip(reached[0], begin, strict=True)]
            after = s + 1
            made = [*following, *(x for some in reached[1:] for x in some), *total]
            turn.again(after, *made, where=after < stages)
        return total

    def _added(
        self, s: Value, weights: Sequence[float | None], rates: Sequence[Value], sums: Sequence[Value]
    ) -> list[Value]:
        """Sums with the rates of a stage times its weight added;
        None is the weight of a rate that is not used.
        """
        weight = self.body.spread(self.by_stage(s, weights))
        return [self.body.fma(weight, rate, total) for rate, total in zip(rates, sums, strict=True)]

    def by_stage(self, s: Value, numbers: Sequence[float | None]) -> Value:
        """A value that depends on the stage number,
        selected by comparisons at the stages where it changes.
        """
        scalar = self.target.scalar
        known = [x for x in numbers if x is not None]
        last, *others = reversed([*known, *known[-1:] * (len(numbers) - len(known))])
        made = Value(number(last, scalar), scalar)
        for k, x in zip(range(len(others), 0, -1), others, strict=True):
            if x != last:
                made = self.f.chosen(s < k, Value(number(x, scalar), scalar), made)
            last = x
        return made

    def _accelerations(
        self, q: Sequence[Value], qd: Sequence[Value], now: Mapping[str, Sequence[Value]], u: Sequence[Any]
    ) -> list[Value]:
        function, body = self.step.accelerations, self.body
        named = {"q": q, "qd": qd, "u": u, **{name: now[name] for name in HELD}}
        values = dict(self.known)
        for x, name in zip(function.region.inputs, function.names, strict=True):
            if name not in self.columns:
                values[x.node] = entry_of(named, name)
        results = list(function.region.results)
        places = order(function.region.graph, results) if self.target.is_gpu else None
        compute(body, function.region.graph, results, values, places)
        return [result(body, e, values) for e in results]

    def computed(self, traced: Traced, named: Mapping[str, Sequence[Any]]) -> dict[str, list[Value]]:
        """The results of a part of the step, from values by name."""
        body, graph = self.body, traced.graph
        values: dict[int, Any] = {}
        for place in graph.needed(traced.results):
            if (leaf := graph.leaves.get(place)) is None:
                continue
            values[place] = self.columns[leaf] if leaf in self.columns else entry_of(named, leaf)
        compute(body, graph, traced.results, values)
        return {name: [result(body, e, values) for e in some] for name, some in traced.results.items()}

    def _record(self, state: Sequence[Value], place: Value | int) -> None:
        """Store positions and velocities into the record."""
        f, n = self.f, self.n
        row, moved = self.records * n, f.op("add", 0, place) * n
        for name, some in (("out_q", state[:n]), ("out_qd", state[n : 2 * n])):
            self.scattered(name, some, row, moved)

    def scattered(self, name: str, values: Sequence[Value], row: Value, moved: Value | None = None) -> None:
        """Store numbers to each row, the inverse of `gathered`."""
        f, body, scalar, size = self.f, self.body, self.target.scalar, len(values)
        place = self.at * row
        to = f.at(self.given[name], place if moved is None else (place + moved), scalar)
        if not isinstance(self.some, Value):
            store_columns(body, to, list(values), size)
            return
        store_columns(body, "%lanes.row", list(values), size)
        with f.loop(0, self.some) as lane:
            there = f.at(to, lane * row, scalar)
            f.call("copied", there, f.at("%lanes.row", lane, scalar, size), size, size)


def entry_of(named: Mapping[str, Sequence[Any]], leaf: str) -> Any:
    """A value by the name of its leaf, such as q[2]."""
    name, _, index = leaf.partition("[")
    return named[name][int(index[:-1])]


def farthest(a: Sequence[Sequence[float]]) -> int:
    """The largest distance, in stages, at which a rate is still used."""
    return max((r - s for r, row in enumerate(a) for s, x in enumerate(row) if x), default=1)
