"""Loops over joints as LLVM's text: one block of states at a time, a lane a state,
what is kept for each joint in memory.

`name_block` does one block: inputs transposed, sines and cosines, the passes, results transposed back. `name`
goes through the blocks, and through the states left over one at a time with the same code for one lane.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from forearm.errors import ModelError
from forearm.kernels.ir import BYTES_AT_ONCE, compute, copy_text, result
from forearm.kernels.joint_loop import Looped, Pass, Step, Walk
from forearm.kernels.transpose import load_square, store_square
from forearm.kernels.vectors import Body, Target

# bytes of memory for a block: fewer lanes are used where joints are so many that it would be more
MOST = 1 << 19
MOST_ALONE = 6 << 20  # bytes for one lane: more does not fit on a thread's stack


def loop_text(name: str, looped: Looped, target: Target) -> str:
    """`void name(inputs..., output, i64 count)`: arrays of `count` rows one after the
    other, and what it needs.
    """
    lanes = lanes_for(looped, target)
    wide, alone = replace(target, lanes=lanes), replace(target, lanes=1)
    texts = [_tables(name, looped, target)]
    if lanes > 1:
        texts.append(Block(f"{name}_block", name, looped, wide).text())
    texts.append(Block(f"{name}_one", name, looped, alone).text())
    return "\n\n".join([*texts, _through(name, looped, wide)])


def lanes_for(looped: Looped, target: Target) -> int:
    """As many lanes as the memory for a block allows; squares of rows need as many joints."""
    lanes = target.lanes
    while lanes > 1 and (lanes > looped.n or lanes * memory(looped, target) > MOST):
        lanes //= 2
    # one state's results are written where they belong
    alone = memory(looped, target) - target.size * looped.given
    if lanes == 1 and alone > MOST_ALONE:
        raise ModelError(
            f"compile: {looped.n} joints are more than a thread's stack holds; "
            "fa.dynamics computes such arms."
        )
    return lanes


def memory(looped: Looped, target: Target) -> int:
    """Bytes that a block keeps for each lane."""
    return target.size * (looped.n * (len(slots(looped)) + len(looped.inputs) + 2) + looped.given)


def slots(looped: Looped) -> dict[str, int]:
    """Where each value that is kept for a joint lies in its row."""
    steps = [step for p in looped.passes for step in p.steps.values()]
    if looped.walk is not None:
        steps += looped.walk.starts.values()
    names = [name.partition(".") for step in steps for name in (*step.results, *step.graph.leaves.values())]
    return {
        name: k for k, name in enumerate(sorted({what for where, _, what in names if where in ("own", "up")}))
    }


def _tables(name: str, looped: Looped, target: Target) -> str:
    """Constants of the joints, row by row, offsets of their angles, their parents' rows,
    and which of them turn.
    """
    body = Body(replace(target, lanes=1))

    def numbers(what: str, values: list[float]) -> str:
        entries = (
            ", ".join(f"{target.scalar} {body.number(v)}" for v in values)
            if values
            else f"{target.scalar} 0.0"
        )
        return (
            f"@{name}_{what} = internal constant [{max(1, len(values))} x {target.scalar}] "
            f"[{entries}], align 64"
        )

    table = [float(column[i]) for i in range(looped.n) for column in looped.columns]
    parents = ", ".join(f"i64 {p + 1}" for p in looped.parents)
    turning = ", ".join(f"i1 {int(t)}" for t in looped.turning)
    return "\n".join(
        [
            numbers("table", table),
            numbers("offsets", looped.offsets + [0.0] * BYTES_AT_ONCE),
            f"@{name}_parents = internal constant [{looped.n} x i64] [{parents}]",
            f"@{name}_turning = internal constant [{looped.n} x i1] [{turning}]",
        ]
    )


def _through(name: str, looped: Looped, target: Target) -> str:
    """All blocks, then what is left."""
    arrays = [*looped.inputs, looped.output]
    sizes = [looped.n] * len(looped.inputs) + [looped.given]
    lanes, scalar = target.lanes, target.scalar
    lines = [
        f"define void @{name}({', '.join(f'ptr nocapture %{a}' for a in arrays)}, i64 %count) nounwind {{",
        "entry:",
    ]
    lines += [
        "  br label %head",
        "head:",
        "  %at = phi i64 [ 0, %entry ], [ %after, %block ], [ %next, %one ]",
    ]
    lines += [f"  %{a}.row = mul i64 %at, {size}" for a, size in zip(arrays, sizes, strict=True)]
    lines += [f"  %{a}.at = getelementptr {scalar}, ptr %{a}, i64 %{a}.row" for a in arrays]
    given = ", ".join(f"ptr %{a}.at" for a in arrays)
    lines += [
        "  %left = sub i64 %count, %at",
        f"  %full = icmp sge i64 %left, {lanes if lanes > 1 else 2**62}",
    ]
    lines += ["  br i1 %full, label %block, label %rest", "rest:", "  %some = icmp sgt i64 %left, 0"]
    lines += ["  br i1 %some, label %one, label %done", "block:"]
    if lanes > 1:
        lines += [f"  call void @{name}_block({given})"]
    lines += [
        f"  %after = add i64 %at, {lanes}",
        "  br label %head",
        "one:",
        f"  call void @{name}_one({given})",
    ]
    return "\n".join([*lines, "  %next = add i64 %at, 1", "  br label %head", "done:", "  ret void", "}"])


class Block:
    """The text of the function for one block of states."""

    def __init__(self, name: str, tables: str, looped: Looped, target: Target) -> None:
        self.name, self.tables, self.looped, self.target = name, tables, looped, target
        self.slots = slots(looped)
        self.lines: list[str] = []
        self.bodies = 0
        self.label = "entry"

    def text(self) -> str:
        """All of it."""
        looped, t = self.looped, self.target
        lanes, n = t.lanes, looped.n
        arrays = [*looped.inputs, looped.output]
        padded = n * lanes + BYTES_AT_ONCE
        self.lines += [
            (
                "define internal void "
                f"@{self.name}({', '.join(f'ptr nocapture %{a}' for a in arrays)}) nounwind {{"
            ),
            "entry:",
        ]
        sizes = {f"in.{a}": padded for a in (*looped.inputs, "c", "s")}
        sizes |= {"rows": (n + 1) * len(self.slots) * lanes, "walk": 6 * lanes}
        sizes |= {"out": looped.given * lanes} if lanes > 1 else {}
        self.lines += [f"  %{what} = alloca [{size} x {t.scalar}], align 64" for what, size in sizes.items()]
        body = self._body()
        for slot, value in looped.base.items():
            if slot in self.slots:
                body.store("%rows", self.slots[slot] * lanes, body.constant(value), lanes)
        self.lines += body.lines
        self._inputs()
        unknown = self._unknown()
        self._angles()
        for k, one in enumerate(looped.passes):
            self._pass(f"pass{k}", one, unknown)
        if looped.walk is not None:
            self._walk(looped.walk, unknown)
        if lanes > 1:
            self._outputs()
        return "\n".join([*self.lines, "  ret void", "}"])

    def _body(self, lanes: int | None = None) -> Body:
        self.bodies += 1
        target = self.target if lanes is None else replace(self.target, lanes=lanes)
        return Body(target, f"b{self.bodies}.")

    def _loop(self, label: str, first: int, last: int, step: int, inside: Callable[[str], None]) -> None:
        """`inside` for first, first + step, ... to last."""
        before = f"{label}.before"
        self.lines += [f"  br label %{before}", f"{before}:", f"  br label %{label}", f"{label}:"]
        self.lines += [f"  %{label}.i = phi i64 [ {first}, %{before} ], [ %{label}.next, %{label}.end ]"]
        inside(f"%{label}.i")
        self.lines += [
            f"  br label %{label}.end",
            f"{label}.end:",
            f"  %{label}.next = add i64 %{label}.i, {step}",
        ]
        self.lines += [f"  %{label}.more = icmp {'sle' if step > 0 else 'sge'} i64 %{label}.next, {last}"]
        self.lines += [f"  br i1 %{label}.more, label %{label}, label %{label}.done", f"{label}.done:"]

    def _squares(self, label: str, columns: int, inside: Callable[[str], None]) -> None:
        """`inside` for the first column of every square; the last square ends with the last column."""
        last = columns - self.target.lanes

        def one(index: str) -> None:
            self.lines += [f"  %{label}.far = icmp sgt i64 {index}, {last}"]
            self.lines += [f"  %{label}.start = select i1 %{label}.far, i64 {last}, i64 {index}"]
            inside(f"%{label}.start")

        self._loop(label, 0, columns - 1, self.target.lanes, one)

    def _inputs(self) -> None:
        """Rows to columns; one state alone is copied, with zeros behind it."""
        lanes, n, scalar = self.target.lanes, self.looped.n, self.target.scalar
        if lanes == 1:
            for a in self.looped.inputs:
                self.lines.append(copy_text(f"%in.{a}", f"%{a}", str(n), n + BYTES_AT_ONCE))
            return

        def square(start: str) -> None:
            for a in self.looped.inputs:
                self.lines += [f"  %from.{a} = getelementptr {scalar}, ptr %{a}, i64 {start}"]
                self.lines += [f"  %place.{a} = mul i64 {start}, {lanes}"]
                self.lines += [f"  %to.{a} = getelementptr {scalar}, ptr %in.{a}, i64 %place.{a}"]
                body = self._body()
                body.keep(f"%to.{a}", load_square(body, f"%from.{a}", n, 0, lanes, lanes // 2))
                self.lines += body.lines

        self._squares("columns", n, square)

    def _unknown(self) -> str:
        """0 in the lanes of states that are finite, NaN in others."""
        t = self.target
        zero = self._body().constant(0.0)

        def add(index: str) -> None:
            self.lines += [
                f"  %sum = phi {t.vector} [ {zero}, %unknown.before ], [ %unknown.total, %unknown.end ]"
            ]
            body = self._body()
            total = "%sum"
            self.lines += [f"  %unknown.at = mul i64 {index}, {t.lanes}"]
            for a in self.looped.inputs:
                pointer = body.emit(f"getelementptr {t.scalar}, ptr %in.{a}, i64 %unknown.at")
                total = body.fma(body.load(pointer, 0, t.lanes), zero, total)
            self.lines += [*body.lines, f"  %unknown.total = bitcast {t.vector} {total} to {t.vector}"]

        self._loop("unknown", 0, self.looped.n - 1, 1, add)
        return "%unknown.total"

    def _angles(self) -> None:
        """Cosine and sine of every joint's angle; for one state several joints side by side."""
        t, scalar = self.target, self.target.scalar
        lanes = t.lanes if t.lanes > 1 else BYTES_AT_ONCE // t.size

        def some(index: str) -> None:
            body = self._body(lanes)
            self.lines += [f"  %angle.at = mul i64 {index}, {t.lanes}"]
            self.lines += [
                f"  %{a}.angle = getelementptr {scalar}, ptr %in.{a}, i64 %angle.at" for a in "qcs"
            ]
            self.lines += [f"  %offset.at = getelementptr {scalar}, ptr @{self.tables}_offsets, i64 {index}"]
            offset = body.splat("%offset.at", 0) if t.lanes > 1 else body.load("%offset.at", 0, lanes)
            sine, cosine = body.sine_and_cosine(body.op("fadd", body.load("%q.angle", 0, lanes), offset))
            body.store("%c.angle", 0, cosine, lanes)
            body.store("%s.angle", 0, sine, lanes)
            self.lines += body.lines

        self._loop("angles", 0, self.looped.n - 1, 1 if t.lanes > 1 else lanes, some)

    def _pass(self, label: str, one: Pass, unknown: str) -> None:
        first, last, step = (0, self.looped.n - 1, 1) if one.outwards else (self.looped.n - 1, 0, -1)
        self._loop(
            label,
            first,
            last,
            step,
            lambda i: self._joint(label, i, one.steps, lambda b, v: self._give(b, i, v, unknown)),
        )

    def _give(self, body: Body, index: str, value: str, unknown: str) -> None:
        """An entry of the result."""
        t = self.target
        place = body.emit(f"mul i64 {index}, {t.lanes}")
        pointer = body.emit(
            f"getelementptr {t.scalar}, ptr %{'out' if t.lanes > 1 else self.looped.output}, i64 {place}"
        )
        body.store(pointer, 0, body.op("fadd", value, unknown), t.lanes)

    def _joint(
        self, label: str, index: str, steps: dict[bool, Step], give_out: Callable[[Body, str], None]
    ) -> None:
        """The step of a joint, by its kind."""
        t = self.target
        self.lines += [
            f"  %{label}.parents.at = getelementptr i64, ptr @{self.tables}_parents, i64 {index}",
            f"  %{label}.parent = load i64, ptr %{label}.parents.at",
            f"  %{label}.own = add i64 {index}, 1",
        ]
        for what in ("own", "parent"):
            self.lines += [f"  %{label}.{what}.at = mul i64 %{label}.{what}, {len(self.slots) * t.lanes}"]
            self.lines += [
                f"  %{label}.{what}.row = getelementptr {t.scalar}, ptr %rows, i64 %{label}.{what}.at"
            ]
        self.lines += [f"  %{label}.table.at = mul i64 {index}, {len(self.looped.columns)}"]
        self.lines += [
            f"  %{label}.table = getelementptr {t.scalar}, ptr @{self.tables}_table, i64 %{label}.table.at"
        ]
        self.lines += [f"  %{label}.in.at = mul i64 {index}, {t.lanes}"]
        for a in (*self.looped.inputs, "c", "s"):
            self.lines += [f"  %{label}.in.{a} = getelementptr {t.scalar}, ptr %in.{a}, i64 %{label}.in.at"]
        if len(steps) == 1:
            (step,) = steps.values()
            self._write(label, step, give_out)
            return
        self.lines += [
            f"  %{label}.kind.at = getelementptr i1, ptr @{self.tables}_turning, i64 {index}",
            f"  %{label}.kind = load i1, ptr %{label}.kind.at",
            f"  br i1 %{label}.kind, label %{label}.turns, label %{label}.slides",
        ]
        for kind, step in steps.items():
            self.lines += [f"{label}.{'turns' if kind else 'slides'}:"]
            self._write(label, step, give_out)
            self.lines += [f"  br label %{label}.both"]
        self.lines += [f"{label}.both:"]

    def _write(self, label: str, step: Step, give_out: Callable[[Body, str], None]) -> None:
        """A step: what it reads, computes and keeps."""
        body, lanes = self._body(), self.target.lanes
        values = {place: body.splat(f"%{label}.table", column) for place, column in step.columns.items()}
        for place in step.graph.needed(step.results):
            if place in values or place in step.graph.values:
                continue
            if step.graph.offline[place]:
                values[place] = ""  # nothing but the table was made of it
            elif place in step.graph.leaves:
                values[place] = self._read(body, label, step.graph.leaves[place])
        compute(body, step.graph, step.results, values)
        made = {name: result(body, e, values) for name, e in step.results.items()}
        for name, value in made.items():
            where, _, what = name.partition(".")
            if where == "out":
                give_out(body, value)
            elif where == "walk":
                body.store("%walk", self._walking(what) * lanes, value, lanes)
            elif where == "own":
                body.store(f"%{label}.own.row", self.slots[what] * lanes, value, lanes)
            elif step.results[name] is not None and not _is_zero(step.results[name]):
                there = self.slots[what] * lanes
                before = body.load(f"%{label}.parent.row", there, lanes)
                body.store(f"%{label}.parent.row", there, body.op("fadd", before, value), lanes)
        self.lines += body.lines

    def _read(self, body: Body, label: str, leaf: str) -> str:
        where, _, what = leaf.partition(".")
        lanes = self.target.lanes
        if where == "in":
            return body.load(f"%{label}.in.{what}", 0, lanes)
        if where == "walk":
            return body.load("%walk", self._walking(what) * lanes, lanes)
        return body.load(
            f"%{label}.{'own' if where == 'own' else 'parent'}.row", self.slots[what] * lanes, lanes
        )

    @staticmethod
    def _walking(what: str) -> int:
        """f0, f1, f2, n0, n1, n2."""
        return (3 if what[0] == "n" else 0) + int(what[1])

    def _outputs(self) -> None:
        """Columns to rows."""
        lanes, columns, scalar = self.target.lanes, self.looped.given, self.target.scalar

        def square(start: str) -> None:
            self.lines += [f"  %back = getelementptr {scalar}, ptr %{self.looped.output}, i64 {start}"]
            self.lines += [f"  %out.place = mul i64 {start}, {lanes}"]
            self.lines += [f"  %out.at = getelementptr {scalar}, ptr %out, i64 %out.place"]
            body = self._body()
            store_square(body, "%back", columns, body.vectors("%out.at", lanes), 0, lanes // 2)
            self.lines += body.lines

        self._squares("answers", columns, square)

    def _walk(self, walk: Walk, unknown: str) -> None:
        """The matrix, entry by entry, and the same entry mirrored."""
        n, looped = self.looped.n, self.looped

        def empty(place: str) -> None:
            body = self._body()
            self._give(body, place, body.constant(0.0), unknown)
            self.lines += body.lines

        # pairs on different branches: 0, or not known
        if any(p != k - 1 for k, p in enumerate(looped.parents)):
            self._loop("empty", 0, n * n - 1, 1, empty)

        def entry(i: str, j: str, body: Body, value: str) -> None:
            for a, b in ((i, j), (j, i)):
                row = body.emit(f"mul i64 {a}, {n}")
                self._give(body, body.emit(f"add i64 {row}, {b}"), value, unknown)

        def joint(j: str) -> None:
            self._joint("start", j, walk.starts, lambda body, value: entry(j, j, body, value))
            self.lines += ["  br label %way.before", "way.before:", "  br label %way", "way:"]
            self.lines += [f"  %way.i = phi i64 [ {j}, %way.before ], [ %way.up, %felt.end ]"]
            self.lines += [f"  %way.at = getelementptr i64, ptr @{self.tables}_parents, i64 %way.i"]
            self.lines += ["  %way.row = load i64, ptr %way.at", "  %way.up = sub i64 %way.row, 1"]
            self.lines += [
                "  %way.over = icmp slt i64 %way.up, 0",
                "  br i1 %way.over, label %way.done, label %way.on",
                "way.on:",
            ]
            self._joint("step", "%way.i", walk.steps, lambda *_: None)
            self._joint("felt", "%way.up", walk.feels, lambda body, value: entry("%way.up", j, body, value))
            self.lines += ["  br label %felt.end", "felt.end:", "  br label %way", "way.done:"]

        self._loop("joints", 0, n - 1, 1, joint)


def _is_zero(value: object) -> bool:
    return isinstance(value, float | int) and value == 0
