"""A program as LLVM's text: a loop over blocks of states, a lane a state, rows transposed in registers.

Every operation is written out, fused multiply-adds too, and nothing may be reassociated: a state gives the same bits in
every lane, in every block and alone. A block that is not full is copied to and from a buffer.
"""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass
from typing import Any

from forearm.codegen.functions import Traced
from forearm.codegen.program import Argument
from forearm.kernels.sines import DOUBLE, SINGLE, Series
from forearm.symbols import Expr, Graph
from forearm.symbols.graph import ADD, COS, DIV, MUL, SIGN, SIN, SQRT, SUB, expressions

EIGHTH = 0.8  # of a turn, and a little: beyond it r is only where x is too large to say in which quadrant it lies


@dataclass(frozen=True)
class Target:
    """What the code is written for: the scalar, how many lanes a vector has, and whether the machine has fused multiply-add."""

    scalar: str  # "double" or "float"
    lanes: int
    fused: bool

    @property
    def vector(self) -> str:
        """The type of a value."""
        return f"<{self.lanes} x {self.scalar}>"

    @property
    def size(self) -> int:
        """Bytes of a scalar."""
        return 8 if self.scalar == "double" else 4

    def wide(self, count: int) -> str:
        """The type of a vector of so many scalars."""
        return f"<{count} x {self.scalar}>"

    @property
    def whole(self) -> str:
        """The type of a vector of whole numbers as wide as the values."""
        return f"<{self.lanes} x {'i64' if self.scalar == 'double' else 'i32'}>"

    @property
    def suffix(self) -> str:
        """How LLVM's intrinsics call the vector."""
        return f"v{self.lanes}f{64 if self.scalar == 'double' else 32}"

    @property
    def series(self) -> Series:
        """The polynomials of sine and cosine."""
        return DOUBLE if self.scalar == "double" else SINGLE


class Body:
    """Lines of one block of code, each value with a name of its own."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.lines: list[str] = []
        self.count = 0

    def emit(self, text: str) -> str:
        """A line that makes a value; its name."""
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def constant(self, value: float) -> str:
        """The same number in every lane."""
        t = self.target
        if t.scalar == "float":
            value = struct.unpack("f", struct.pack("f", value))[0]
        text = f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"
        return "<" + ", ".join([f"{t.scalar} {text}"] * t.lanes) + ">"

    def op(self, name: str, a: str, b: str) -> str:
        """fadd, fsub, fmul, fdiv."""
        return self.emit(f"{name} {self.target.vector} {a}, {b}")

    def negated(self, a: str) -> str:
        """-a."""
        return self.emit(f"fneg {self.target.vector} {a}")

    def fma(self, a: str, b: str, c: str) -> str:
        """a b + c, rounded once where the machine can."""
        v = self.target.vector
        if not self.target.fused:
            return self.op("fadd", self.op("fmul", a, b), c)
        return self.emit(f"call {v} @llvm.fma.{self.target.suffix}({v} {a}, {v} {b}, {v} {c})")

    def shuffled(self, a: str, b: str, size: int, order: list[int]) -> str:
        """Entries of two vectors of this size, one behind the other, in this order."""
        wide, mask = self.target.wide(size), ", ".join(f"i32 {k}" for k in order)
        return self.emit(f"shufflevector {wide} {a}, {wide} {b}, <{len(order)} x i32> <{mask}>")

    def call(self, name: str, a: str) -> str:
        """An intrinsic of one value."""
        v = self.target.vector
        return self.emit(f"call {v} @llvm.{name}.{self.target.suffix}({v} {a})")

    def polynomial(self, coefficients: tuple[float, ...], x: str) -> str:
        """From the highest power down."""
        value = self.constant(coefficients[0])
        for c in coefficients[1:]:
            value = self.fma(value, x, self.constant(c))
        return value

    def sine_and_cosine(self, x: str) -> tuple[str, str]:
        """(sin x, cos x) by `sines`; NaN of NaN and of infinity."""
        t, series = self.target, self.target.series
        k = self.call("rint", self.op("fmul", x, self.constant(0.6366197723675814)))
        first, second, third = series.parts
        near = self.fma(k, self.constant(-first), x)
        step = self.op("fmul", k, self.constant(second))
        r = self._within(self.op("fsub", near, step), EIGHTH)
        rest = self.op("fsub", self.op("fsub", near, r), step)  # what rounding took from r
        rest = self._within(self.fma(k, self.constant(-third), rest), 1e-3)
        r2 = self.op("fmul", r, r)
        sine = self.op("fadd", self.fma(self.op("fmul", r, r2), self.polynomial(series.sine, r2), rest), r)
        half = self.fma(r2, self.constant(-0.5), self.constant(1.0))
        small = self.op("fmul", self.negated(r), rest)
        cosine = self.op("fadd", self.fma(self.op("fmul", r2, r2), self.polynomial(series.cosine, r2), small), half)
        whole = self.emit(f"freeze {t.whole} {self.emit(f'fptosi {t.vector} {k} to {t.whole}')}")
        odd = self.emit(f"trunc {t.whole} {whole} to <{t.lanes} x i1>")
        one = self.emit(f"select <{t.lanes} x i1> {odd}, {t.vector} {cosine}, {t.vector} {sine}")
        other = self.emit(f"select <{t.lanes} x i1> {odd}, {t.vector} {sine}, {t.vector} {cosine}")
        next_one = self.emit(f"add {t.whole} {whole}, {self._whole(1)}")
        return self._signed(one, whole), self._signed(other, next_one)

    def _within(self, x: str, bound: float) -> str:
        """x, or the bound where it is beyond; NaN stays NaN."""
        t = self.target
        for test, limit in (("ogt", bound), ("olt", -bound)):
            beyond = self.emit(f"fcmp {test} {t.vector} {x}, {self.constant(limit)}")
            x = self.emit(f"select <{t.lanes} x i1> {beyond}, {t.vector} {self.constant(limit)}, {t.vector} {x}")
        return x

    def _whole(self, value: int) -> str:
        kind = "i64" if self.target.scalar == "double" else "i32"
        return "<" + ", ".join([f"{kind} {value}"] * self.target.lanes) + ">"

    def _signed(self, value: str, whole: str) -> str:
        """The value, negated in the quadrants 2 and 3: the second bit of the quadrant becomes the sign."""
        t, bits = self.target, 8 * self.target.size
        moved = self.emit(f"shl {t.whole} {whole}, {self._whole(bits - 2)}")
        sign = self.emit(f"and {t.whole} {moved}, {self._whole(-(2 ** (bits - 1)))}")
        plain = self.emit(f"bitcast {t.vector} {value} to {t.whole}")
        return self.emit(f"bitcast {t.whole} {self.emit(f'xor {t.whole} {plain}, {sign}')} to {t.vector}")

    def sign(self, x: str) -> str:
        """-1, 0, 1; NaN of NaN."""
        t, zero = self.target, self.constant(0.0)
        up = self.emit(f"fcmp ogt {t.vector} {x}, {zero}")
        down = self.emit(f"fcmp olt {t.vector} {x}, {zero}")
        value = self.emit(f"select <{t.lanes} x i1> {down}, {t.vector} {self.constant(-1.0)}, {t.vector} {x}")
        return self.emit(f"select <{t.lanes} x i1> {up}, {t.vector} {self.constant(1.0)}, {t.vector} {value}")


def function_text(name: str, traced: Traced, target: Target) -> str:
    """`void name(inputs..., outputs..., i64 count)`: arrays of `count` rows one after the other."""
    scalar, size = target.scalar, target.size
    parameters = ", ".join([*(f"ptr noalias nocapture %{a.name}" for a in traced.arrays), "i64 %count"])
    lines = [f"define void @{name}({parameters}) nounwind {{", "entry:"]
    lines += [f"  %buffer.{a.name} = alloca [{a.size * target.lanes} x {scalar}], align 64" for a in traced.arrays]
    lines += [
        "  %none = icmp sle i64 %count, 0", "  br i1 %none, label %done, label %head",
        "head:", "  %at = phi i64 [ 0, %entry ], [ %next, %tail ]", "  %left = sub i64 %count, %at",
        f"  %full = icmp sge i64 %left, {target.lanes}", f"  %rows = select i1 %full, i64 {target.lanes}, i64 %left",
    ]  # fmt: skip
    for a in traced.arrays:
        lines += [f"  %row.{a.name} = mul i64 %at, {a.size}"]
        lines += [f"  %there.{a.name} = getelementptr {scalar}, ptr %{a.name}, i64 %row.{a.name}"]
        lines += [f"  %bytes.{a.name} = mul i64 %rows, {a.size * size}"]
    lines += ["  br i1 %full, label %body, label %copied", "copied:"]
    for a in traced.inputs:
        whole = a.size * target.lanes * size
        lines += [f"  call void @llvm.memset.p0.i64(ptr %buffer.{a.name}, i8 0, i64 {whole}, i1 false)"]
        lines += [_copy(f"%buffer.{a.name}", f"%there.{a.name}", f"%bytes.{a.name}")]
    lines += ["  br label %body", "body:"]
    lines += [f"  %at.{a.name} = phi ptr [ %there.{a.name}, %head ], [ %buffer.{a.name}, %copied ]" for a in traced.arrays]
    lines += _block(traced, target)
    lines += ["  br i1 %full, label %tail, label %back", "back:"]
    lines += [_copy(f"%there.{a.name}", f"%buffer.{a.name}", f"%bytes.{a.name}") for a in traced.outputs]
    lines += [
        "  br label %tail", "tail:", "  %next = add i64 %at, %rows", "  %more = icmp slt i64 %next, %count",
        "  br i1 %more, label %head, label %done", "done:", "  ret void", "}",
    ]  # fmt: skip
    return "\n".join(lines)


def _copy(to: str, there: str, size: str) -> str:
    return f"  call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {there}, i64 {size}, i1 false)"


def _block(traced: Traced, target: Target) -> list[str]:
    """One block of states: loaded, computed, stored."""
    body = Body(target)
    values = _loaded(body, traced)
    unknown = _unknown(body, list(values.values()))
    _compute(body, traced.graph, traced.results, values)
    for a in traced.outputs:
        _store(body, a, [body.op("fadd", _result(body, e, values), unknown) for e in traced.results[a.name].flat])
    return body.lines


def _unknown(body: Body, states: list[str]) -> str:
    """0 in the lanes of states that are finite, NaN in others: added to results, it lets none of them look known."""
    total = body.constant(0.0)
    for state in states:
        total = body.fma(state, body.constant(0.0), total)
    return total


def _loaded(body: Body, traced: Traced) -> dict[int, str]:
    """Each entry of the inputs as a vector, one lane a state: whole rows loaded and taken apart."""
    t = body.target
    places = {leaf: place for place, leaf in traced.graph.leaves.items()}
    values: dict[int, str] = {}
    for a in traced.inputs:
        block = body.emit(f"load {t.wide(a.size * t.lanes)}, ptr %at.{a.name}, align {t.size}")
        for i in range(a.size):
            lanes = [lane * a.size + i for lane in range(t.lanes)]
            values[places[f"{a.name}[{i}]"]] = body.shuffled(block, block, a.size * t.lanes, lanes)
    return values


def _store(body: Body, a: Argument, columns: list[str]) -> None:
    """Columns put together two and two, then shuffled into rows."""
    t = body.target
    parts = [(column, t.lanes) for column in columns]
    while len(parts) > 1:
        pairs = [_joined(body, *parts[i], *parts[i + 1]) for i in range(0, len(parts) - 1, 2)]
        parts = pairs + ([parts[-1]] if len(parts) % 2 else [])
    whole, total = parts[0]
    order = [column * t.lanes + lane for lane in range(t.lanes) for column in range(a.size)]
    rows = body.shuffled(whole, whole, total, order)
    body.lines.append(f"  store {t.wide(total)} {rows}, ptr %at.{a.name}, align {t.size}")


def _joined(body: Body, x: str, n: int, y: str, m: int) -> tuple[str, int]:
    """Two vectors as one; the second is never longer than the first."""
    if m < n:
        y = body.shuffled(y, y, m, [k if k < m else 0 for k in range(n)])
    return body.shuffled(x, y, n, [*range(n), *range(n, n + m)]), n + m


def _result(body: Body, e: Any, values: dict[int, str]) -> str:
    if not isinstance(e, Expr):
        return body.constant(float(e))
    return body.negated(values[e.node]) if e.negative else values[e.node]


def _compute(body: Body, graph: Graph, results: dict[str, Any], values: dict[int, str]) -> None:
    needed = graph.needed(results)
    absorbed = _absorbed(graph, results, needed)
    inside = set(absorbed.values())
    pairs: dict[int, tuple[str, str]] = {}
    for place in needed:
        kind, a, b = graph.kinds[place], graph.left[place], graph.right[place]
        if place in graph.values:
            values[place] = body.constant(graph.values[place])
        elif kind in (COS, SIN):
            if a not in pairs:
                pairs[a] = body.sine_and_cosine(values[a])
            values[place] = pairs[a][kind == COS]
        elif kind == MUL and place not in inside:
            values[place] = body.op("fmul", values[a], values[b])
        elif kind in (ADD, SUB):
            values[place] = _sum(body, graph, values, place, absorbed.get(place))
        elif kind == DIV:
            values[place] = body.op("fdiv", values[a], values[b])
        elif kind == SQRT:
            values[place] = body.call("sqrt", values[a])
        elif kind == SIGN:
            values[place] = body.sign(values[a])


def _absorbed(graph: Graph, results: dict[str, Any], needed: list[int]) -> dict[int, int]:
    """For each sum the product that is added in the same instruction: one that nothing else needs."""
    uses: Counter[int] = Counter(e.node for e in expressions(results))
    for place in needed:
        if graph.kinds[place] >= MUL:
            uses.update(p for p in (graph.left[place], graph.right[place]) if p >= 0)
    found = {}
    for place in needed:
        if graph.kinds[place] in (ADD, SUB):
            products = [p for p in (graph.right[place], graph.left[place]) if graph.kinds[p] == MUL and uses[p] == 1]
            if products:
                found[place] = products[0]
    return found


def _sum(body: Body, graph: Graph, values: dict[int, str], place: int, product: int | None) -> str:
    a, b, minus = graph.left[place], graph.right[place], graph.kinds[place] == SUB
    if product is None:
        return body.op("fsub" if minus else "fadd", values[a], values[b])
    x, y = values[graph.left[product]], values[graph.right[product]]
    if product == b:
        return body.fma(body.negated(x) if minus else x, y, values[a])
    return body.fma(x, y, body.negated(values[b]) if minus else values[b])


def module_text(functions: list[str], target: Target) -> str:
    """Functions, and what they call."""
    v, s = target.vector, target.suffix
    declared = [f"declare {v} @llvm.{name}.{s}({v})" for name in ("rint", "sqrt")]
    declared += [
        f"declare {v} @llvm.fma.{s}({v}, {v}, {v})",
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)", "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
    ]  # fmt: skip
    return "\n\n".join(["\n".join(declared), *functions]) + "\n"
