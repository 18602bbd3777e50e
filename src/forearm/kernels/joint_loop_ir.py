"""Loops over joints as LLVM IR:
one block of states at a time, one lane per state, per-joint values in memory.

`name_block` computes one block: inputs transposed, sines and cosines, the passes, results transposed back.
`name` iterates over the blocks, then over the remaining states one at a time with the same code for one lane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from forearm.errors import ModelError
from forearm.kernels.ir import BYTES_AT_ONCE, compute, result
from forearm.kernels.joint_carry import can_carry, carried_names, constants_of, remembered
from forearm.kernels.joint_loop import Looped, Pass, Step, Walk
from forearm.kernels.llvm import IRFunction, Value, constants
from forearm.kernels.transpose import load_square, store_square
from forearm.kernels.vectors import Body, Target
from forearm.symbols import Expr

# bytes of memory for a block: with many joints fewer lanes are used to stay below this
MOST = 1 << 19
MOST_ALONE = 6 << 20  # bytes for one lane: more does not fit on a thread's stack


def loop_text(name: str, looped: Looped, target: Target) -> str:
    """`void name(inputs..., output, i64 count)` on arrays of `count` consecutive rows,
    and the functions it calls.
    """
    lanes = lanes_for(looped, target)
    wide, alone = replace(target, lanes=lanes), replace(target, lanes=1)
    texts = [_tables(name, looped, target)]
    if lanes > 1:
        texts.append(Block(f"{name}_block", name, looped, wide).text())
    texts.append(Block(f"{name}_one", name, looped, alone).text())
    return "\n\n".join([*texts, _through(name, looped, wide)])


def lanes_for(looped: Looped, target: Target) -> int:
    """As many lanes as the memory for a block allows; square transposition needs at least as many joints."""
    lanes = target.lanes
    while lanes > 1 and (lanes > looped.n or lanes * memory(looped, target) > MOST):
        lanes //= 2
    # the results of a single state are written directly to their place
    alone = memory(looped, target) - target.size * looped.given
    if lanes == 1 and alone > MOST_ALONE:
        raise ModelError(
            f"{looped.n} joints exceed a thread's stack; use fa.dynamics for such arms.", "compile"
        )
    return lanes


def memory(looped: Looped, target: Target) -> int:
    """Bytes of memory per lane of a block."""
    return target.size * (looped.n * (len(slots(looped)) + len(looped.inputs) + 2) + looped.given)


def slots(looped: Looped) -> dict[str, int]:
    """The place of each stored value in a joint's row."""
    steps = [step for p in looped.passes for step in p.steps.values()]
    if looped.walk is not None:
        steps += looped.walk.starts.values()
    names = [name.partition(".") for step in steps for name in (*step.results, *step.graph.leaves.values())]
    return {
        name: k for k, name in enumerate(sorted({what for where, _, what in names if where in ("own", "up")}))
    }


def _tables(name: str, looped: Looped, target: Target) -> str:
    """Constants of the joints, row by row, offsets of their angles,
    their parents' rows, and which of them are revolute.
    """
    table = [float(column[i]) for i in range(looped.n) for column in looped.columns]
    offsets = looped.offsets + [0.0] * BYTES_AT_ONCE
    return "\n".join(
        [
            constants(f"{name}_table", target.scalar, table or [0.0]),
            constants(f"{name}_offsets", target.scalar, offsets),
            constants(f"{name}_parents", "i64", [p + 1 for p in looped.parents]),
            constants(f"{name}_turning", "i1", looped.turning),
        ]
    )


def _through(name: str, looped: Looped, target: Target) -> str:
    """All blocks, then the remaining states."""
    arrays = dict.fromkeys([*looped.inputs, looped.output], "ptr")
    sizes = [looped.n] * len(looped.inputs) + [looped.given]
    f = IRFunction(name, arrays | {"count": "i64"})
    *given, count = f.arguments
    with f.repeat(0) as turn:
        (at,) = turn.now
        rows = [f.at(a, at, target.scalar, size) for a, size in zip(given, sizes, strict=True)]
        left = count - at
        with f.unless(left >= (target.lanes if target.lanes > 1 else 2**62)):
            f.go(turn.end, unless=left > 0)
            f.call(f"{name}_one", *rows)
            turn.again(at + 1)
        if target.lanes > 1:
            f.call(f"{name}_block", *rows)
        turn.again(at + target.lanes)
    f.ret()
    return f.text()


class Block:
    """The function for one block of states."""

    def __init__(self, name: str, tables: str, looped: Looped, target: Target) -> None:
        self.tables, self.looped, self.target, self.slots = tables, looped, target, slots(looped)
        self.f = IRFunction(name, dict.fromkeys([*looped.inputs, looped.output], "ptr"), internal=True)
        self.body = Body(target, f=self.f)
        # A GPU thread has registers for what joints of a chain pass on, and little memory.
        self.carries = target.is_gpu and can_carry(looped)
        if self.carries:
            self.fixed = constants_of(looped)
            kept = remembered(looped) - set(self.fixed)
            self.slots = {name: k for k, name in enumerate(sorted(kept))}

    def text(self) -> str:
        """The text of the function."""
        looped, body, lanes, n = self.looped, self.body, self.target.lanes, self.looped.n
        alone = ("c", "s") if self.target.is_gpu else (*looped.inputs, "c", "s")
        sizes = {f"in.{a}": n * lanes + BYTES_AT_ONCE for a in alone}
        sizes |= {"rows": (n + 1) * len(self.slots) * lanes, "walk": 6 * lanes}
        sizes |= {"out": looped.given * lanes} if lanes > 1 else {}
        for what, size in sizes.items():
            body.space(f"%{what}", size)
        for slot, value in looped.base.items():
            if slot in self.slots:
                body.store("%rows", self.slots[slot] * lanes, body.constant(value), lanes)
        self._inputs()
        unknown = self._unknown()
        self._angles()
        for k, one in enumerate(looped.passes):
            (self._carried_pass if self.carries else self._pass)(f"pass{k}", one, unknown)
        if looped.walk is not None:
            self._walk(looped.walk, unknown)
        if lanes > 1:
            self._outputs()
        self.f.ret()
        return self.f.text()

    @contextmanager
    def _squares(self, columns: int) -> Iterator[Value]:
        """The first column of every square; the last square ends with the last column."""
        last = columns - self.target.lanes
        with self.f.loop(0, columns, self.target.lanes) as i:
            yield self.f.chosen(i > last, last, i)

    def _inputs(self) -> None:
        """Rows to columns; a single state is copied and padded with zeros."""
        f, body, lanes, n, scalar = self.f, self.body, self.target.lanes, self.looped.n, self.target.scalar
        if self.target.is_gpu:
            for a in self.looped.inputs:
                f.at(f"%{a}", 0, scalar, name=f"in.{a}")
            return
        if lanes == 1:
            for a in self.looped.inputs:
                f.call("copied", f"%in.{a}", f"%{a}", n, n + BYTES_AT_ONCE)
            return
        with self._squares(n) as start:
            for a in self.looped.inputs:
                source, to = f.at(f"%{a}", start, scalar), f.at(f"%in.{a}", start, scalar, lanes)
                body.keep(to, load_square(body, source, n, 0, lanes, lanes // 2))

    def _unknown(self) -> Value:
        """0 in the lanes of finite states, NaN in others."""
        f, t = self.f, self.target
        zero = self.body.constant(0.0)
        with f.repeat(0, zero) as turn:
            i, total = turn.now
            at = i * t.lanes
            for a in self.looped.inputs:
                total = self.body.fma(self.body.load(f.at(f"%in.{a}", at, t.scalar), 0, t.lanes), zero, total)
            after = i + 1
            turn.again(after, total, where=after < self.looped.n)
        return total

    def _angles(self) -> None:
        """Cosine and sine of every joint's angle; for a single state several joints side by side."""
        f, t = self.f, self.target
        lanes = t.lanes if t.lanes > 1 or t.is_gpu else BYTES_AT_ONCE // t.size
        body = self.body.widened(lanes)
        with f.loop(0, self.looped.n, 1 if t.lanes > 1 else lanes) as i:  # of a GPU's thread, one
            at = i * t.lanes
            q, c, s = (f.at(f"%in.{a}", at, t.scalar) for a in "qcs")
            there = f.at(f"@{self.tables}_offsets", i, t.scalar)
            offset = body.splat(there, 0) if t.lanes > 1 else body.load(there, 0, lanes)
            sine, cosine = body.sine_and_cosine(body.load(q, 0, lanes) + offset)
            body.store(c, 0, cosine, lanes)
            body.store(s, 0, sine, lanes)

    def _pass(self, name: str, one: Pass, unknown: Value) -> None:
        n = self.looped.n
        with self.f.loop(*((0, n, 1) if one.outwards else (n - 1, -1, -1)), name) as i:
            self._joint(i, one.steps, lambda value: self._give(i, value, unknown))

    def _carried_pass(self, name: str, one: Pass, unknown: Value) -> None:
        """Emit a pass for a chain, with the values passed between joints in registers."""
        f, n, names = self.f, self.looped.n, carried_names(one)
        first, last, step = (0, n, 1) if one.outwards else (n - 1, -1, -1)
        # A value that nothing is added to must stay the same to the last bit.
        starts = [self.looped.base.get(x, -0.0) if one.outwards else -0.0 for x in names]
        vectors = [self.body.constant(x) for x in starts]
        with f.repeat(first, *vectors, name=name) as turn:
            i, *now = turn.now
            handed = dict(zip(names, now, strict=True))
            made = self._joint(
                i, one.steps, lambda value: self._give(i, value, unknown), handed, one.outwards
            )
            after = i + step
            where = f.compared("slt" if one.outwards else "sgt", after, last)
            turn.again(after, *(made[x] for x in names), where=where)

    def _give(self, place: Value, value: Value, unknown: Value) -> None:
        """Store an entry of the result."""
        t, out = self.target, "out" if self.target.lanes > 1 else self.looped.output
        pointer = self.f.at(f"%{out}", place, t.scalar, t.lanes)
        self.body.store(pointer, 0, value + unknown, t.lanes)

    def _joint(
        self,
        i: Value,
        steps: dict[bool, Step],
        give_out: Callable[[Value], None],
        handed: dict[str, Value] | None = None,
        outwards: bool = True,
    ) -> dict[str, Value]:
        """The step of a joint, by its kind;
        takes what the previous joint passed on, and returns what it passes on.
        """
        f, t = self.f, self.target
        parent = f.entry("i64", f"@{self.tables}_parents", i)
        own = i + 1
        width = len(self.slots) * t.lanes
        rows = {"own": f.at("%rows", own, t.scalar, width), "up": f.at("%rows", parent, t.scalar, width)}
        rows["table"] = f.at(f"@{self.tables}_table", i, t.scalar, len(self.looped.columns))
        at = i * t.lanes
        rows |= {f"in.{a}": f.at(f"%in.{a}", at, t.scalar) for a in (*self.looped.inputs, "c", "s")}
        end = f.label()
        if len(steps) > 1:
            with f.unless(f.entry("i1", f"@{self.tables}_turning", i)):
                slid = self._write(rows, steps, False, give_out, handed, outwards)
                f.go(end)
        made = self._write(rows, steps, max(steps), give_out, handed, outwards)
        f.begin(end)
        if len(steps) > 1:
            made = {x: f.phi(end, slid[x], made[x]) for x in made}
        return made

    def _write(
        self,
        rows: dict[str, Value],
        steps: dict[bool, Step],
        turns: bool,
        give_out: Callable[[Value], None],
        handed: dict[str, Value] | None,
        outwards: bool,
    ) -> dict[str, Value]:
        """Emit a step: read, compute, store and pass on."""
        step = steps[turns]
        if handed is not None:
            return self._handed(rows, step, turns, give_out, handed, outwards)
        body, lanes = self.body, self.target.lanes
        values: dict[int, Any] = {
            place: body.splat(rows["table"], column) for place, column in step.columns.items()
        }
        for place in step.graph.needed(step.results):
            if place in values or place in step.graph.values:
                continue
            if step.graph.offline[place]:
                values[place] = ""  # it was used for the table only
            elif place in step.graph.leaves:
                values[place] = body.load(*self._kept(rows, step.graph.leaves[place]), lanes)
        compute(body, step.graph, step.results, values)
        made = {name: result(body, e, values) for name, e in step.results.items()}
        for name, value in made.items():
            where = name.partition(".")[0]
            if where == "out":
                give_out(value)
            elif where in ("walk", "own"):
                pointer, place = self._kept(rows, name)
                body.store(pointer, place, value, lanes)
            elif step.results[name] is not None and not _is_zero(step.results[name]):
                pointer, place = self._kept(rows, name)
                before = body.load(pointer, place, lanes)
                body.store(pointer, place, before + value, lanes)
        return {}

    def _handed(
        self,
        rows: dict[str, Value],
        step: Step,
        turns: bool,
        give_out: Callable[[Value], None],
        handed: dict[str, Value],
        outwards: bool,
    ) -> dict[str, Value]:
        """A step of a chain: outwards, the parent's values were passed on; inwards, the joint's own values
        are what it stored plus what its child adds.
        """
        body, graph = self.body, step.graph
        values: dict[int, Any] = {
            place: body.splat(rows["table"], column) for place, column in step.columns.items()
        }
        for place in graph.needed(step.results):
            if place in values or place in graph.values:
                continue
            if graph.offline[place]:
                values[place] = ""  # it was used for the table only
            elif place in graph.leaves:
                where, _, what = graph.leaves[place].partition(".")
                if what in handed and where == ("up" if outwards else "own"):
                    values[place] = handed[what]
                    if outwards:
                        continue
                    values[place] = self._own(rows, what, turns) + handed[what]
                elif where == "own":
                    values[place] = self._own(rows, what, turns)
                else:
                    values[place] = body.load(*self._kept(rows, graph.leaves[place]), 1)
        compute(body, graph, step.results, values)
        on: dict[str, Value] = {x: body.constant(-0.0) for x in handed}
        for name, e in step.results.items():
            where, _, what = name.partition(".")
            if where == "out":
                give_out(result(body, e, values))
            elif where == ("own" if outwards else "up") and what in handed and (outwards or not _is_zero(e)):
                on[what] = result(body, e, values)
            if where == "own" and what in self.slots:
                body.store(*self._kept(rows, name), result(body, e, values), 1)
        return on

    def _own(self, rows: dict[str, Value], what: str, turns: bool) -> str:
        """A joint's value, from its memory or from its row of the table."""
        body = self.body
        if what not in self.fixed:
            return body.load(*self._kept(rows, f"own.{what}"), 1)
        step, e = self.fixed[what][turns]
        if not isinstance(e, Expr):
            return body.constant(float(e))
        value = body.splat(rows["table"], step.columns[e.node])
        return (-value) if e.negative else value

    def _kept(self, rows: dict[str, Value], name: str) -> tuple[str, int]:
        """Where a value is stored: the memory, and the index in it."""
        where, _, what = name.partition(".")
        if where == "in":
            return rows[name], 0
        if where == "walk":  # f0, f1, f2, n0, n1, n2
            return "%walk", ((3 if what[0] == "n" else 0) + int(what[1])) * self.target.lanes
        return rows["own" if where == "own" else "up"], self.slots[what] * self.target.lanes

    def _outputs(self) -> None:
        """Columns to rows."""
        f, body, lanes, scalar = self.f, self.body, self.target.lanes, self.target.scalar
        with self._squares(self.looped.given) as start:
            to, source = f.at(f"%{self.looped.output}", start, scalar), f.at("%out", start, scalar, lanes)
            store_square(body, to, self.looped.given, body.vectors(source, lanes), 0, lanes // 2)

    def _walk(self, walk: Walk, unknown: Value) -> None:
        """Write the matrix entry by entry, and each entry mirrored."""
        f, n, looped = self.f, self.looped.n, self.looped
        # pairs on different branches: 0, or NaN
        if any(p != k - 1 for k, p in enumerate(looped.parents)):
            with f.loop(0, n * n) as place:
                self._give(place, self.body.constant(0.0), unknown)

        def entry(i: Value, j: Value, value: Value) -> None:
            for a, b in ((i, j), (j, i)):
                self._give(a * n + b, value, unknown)

        with f.loop(0, n, name="joints") as j:
            self._joint(j, walk.starts, lambda value: entry(j, j, value))
            with f.repeat(j, name="way") as way:
                (i,) = way.now
                up = f.entry("i64", f"@{self.tables}_parents", i) - 1
                f.go(way.end, where=up < 0)
                self._joint(i, walk.steps, lambda _: None)
                self._joint(up, walk.feels, lambda value: entry(up, j, value))
                way.again(up)


def _is_zero(value: object) -> bool:
    return isinstance(value, float | int) and value == 0
