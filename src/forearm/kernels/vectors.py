"""LLVM IR for straight-line code: values are vectors, one lane per state, every operation explicit.

Fused multiply-adds are chosen here and LLVM must not reassociate: a state has the same bits in every lane,
with any number of lanes.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from forearm.kernels.elementary import DOUBLE, SINGLE, TAN_EIGHTH, Series
from forearm.kernels.llvm import SIZES, TABLE, Hoisted, IRFunction, Operand, Value, number, vector
from forearm.symbols.table import LookupTable

CHOSEN_BREAKS = 4  # breaks of a table up to which it needs no memory
COUNTED_BREAKS = 32  # breaks of a table beyond which binary search is faster
TWO_OVER_PI = 0.6366197723675814
LARGEST = {"double": 1024, "float": 128}  # the power of 2 that overflows


@dataclass(frozen=True)
class Target:
    """The target of the code: the scalar type, the number of lanes, whether the machine has fused
    multiply-add, whether it is a GPU, whose threads have one lane each and many registers, whether sines and
    quotients use its fast approximations, and the operations from which on a function is written in parts.
    """

    scalar: str  # "double" or "float"
    lanes: int
    fused: bool
    is_gpu: bool = False
    is_fast: bool = False
    longest: int = 28_000

    @property
    def vector(self) -> str:
        """The type of a value."""
        return f"<{self.lanes} x {self.scalar}>"

    @property
    def size(self) -> int:
        """Bytes of a scalar."""
        return SIZES[self.scalar]

    def wide(self, count: int) -> str:
        """The type of a vector of this many scalars."""
        return f"<{count} x {self.scalar}>"

    @property
    def whole(self) -> str:
        """The type of a vector of integers as wide as the values."""
        return f"<{self.lanes} x {'i64' if self.scalar == 'double' else 'i32'}>"

    @property
    def mask(self) -> str:
        """The type of a vector of flags, one per lane."""
        return f"<{self.lanes} x i1>"

    @property
    def suffix(self) -> str:
        """The vector type's suffix in names of LLVM's intrinsics."""
        return f"v{self.lanes}f{64 if self.scalar == 'double' else 32}"

    @property
    def series(self) -> Series:
        """Constants of sine, cosine, exponential and angle."""
        return DOUBLE if self.scalar == "double" else SINGLE


@dataclass(frozen=True)
class InMemory:
    """A value in memory, at this offset (in scalars) from a pointer."""

    pointer: str
    place: int


class Body:
    """Arithmetic on lanes within a function `f`, or as separate lines, besides operators of values."""

    def __init__(self, target: Target, f: IRFunction | None = None) -> None:
        self.target, self.f = target, f or IRFunction()
        self.lines = self.f.lines

    def emit(self, text: str, kind: str | None = None) -> Value:
        """Emit an instruction with a result, one value per lane unless it is of another kind."""
        return self.f.emit(text, kind or self.target.vector)

    def widened(self, lanes: int) -> Body:
        """The same block, continued with another vector width."""
        return Body(replace(self.target, lanes=lanes), self.f)

    def space(self, name: str, count: int) -> None:
        """Stack memory for this many scalars, allocated once in a function."""
        self.f.space(self.target.scalar, count, name.removeprefix("%"))

    def constant(self, value: float) -> Value:
        """A constant in every lane."""
        return vector(self.target.scalar, [value] * self.target.lanes, self.f)

    def op(self, name: str, a: Operand, b: Operand) -> Value:
        """fadd, fsub, fmul, fdiv: quotients by a fast approximation if the target has them."""
        return self.f.op(f"{name} afn" if self.target.is_fast and name == "fdiv" else name, a, b)

    def fma(self, a: str | float, b: str | float, c: str | float) -> Value:
        """a b + c, rounded once where the machine can."""
        if not self.target.fused:
            return self.op("fadd", self.op("fmul", a, b), c)
        v, given = self.target.vector, (x if isinstance(x, str) else self.constant(x) for x in (a, b, c))
        return self.emit(f"call {v} @llvm.fma.{self.target.suffix}({', '.join(f'{v} {x}' for x in given)})")

    def shuffled(self, a: str, b: str, size: int, order: list[int]) -> Value:
        """Entries of two concatenated vectors of this size, in this order."""
        wide, mask = self.target.wide(size), ", ".join(f"i32 {k}" for k in order)
        text = f"shufflevector {wide} {a}, {wide} {b}, <{len(order)} x i32> <{mask}>"
        return self.emit(text, self.target.wide(len(order)))

    def joined(self, parts: list[Value], size: int) -> Value:
        """Vectors of this size, a power of two of them, concatenated."""
        while len(parts) > 1:
            order = list(range(2 * size))
            parts = [self.shuffled(a, b, size, order) for a, b in zip(parts[::2], parts[1::2], strict=True)]
            size *= 2
        return parts[0]

    def part(self, a: Value, size: int, start: int, count: int) -> Value:
        """Some entries of a vector of this size."""
        return a if count == size else self.shuffled(a, a, size, list(range(start, start + count)))

    def at(self, pointer: str, place: int) -> str:
        """A pointer advanced by this many scalars."""
        return self.f.at(pointer, place, self.target.scalar) if place else pointer

    def load(self, pointer: str, place: int, count: int) -> Value:
        """Load this many scalars."""
        t = self.target
        return self.f.load(t.wide(count), self.at(pointer, place), align=t.size)

    def splat(self, pointer: str, place: int) -> Value:
        """Load one scalar into every lane."""
        return self.repeat(self.load(pointer, place, 1))

    def repeat(self, one: str) -> Value:
        """The entry of a vector of one in every lane."""
        return self.shuffled(one, one, 1, [0] * self.target.lanes)

    def spread(self, scalar: str) -> Value:
        """Broadcast a scalar to every lane."""
        t = self.target
        return self.repeat(self.emit(f"insertelement <1 x {t.scalar}> poison, {t.scalar} {scalar}, i32 0"))

    def store(self, pointer: str, place: int, value: str, count: int) -> None:
        """Store this many scalars."""
        t = self.target
        self.f.store(Value(value, t.wide(count)), self.at(pointer, place), align=t.size)

    def vectors(self, pointer: str, count: int) -> list[Value]:
        """Load this many consecutive values."""
        return [self.load(pointer, k * self.target.lanes, self.target.lanes) for k in range(count)]

    def keep(self, pointer: str, values: Sequence[str]) -> None:
        """Store consecutive values."""
        for k, value in enumerate(values):
            self.store(pointer, k * self.target.lanes, value, self.target.lanes)

    def call(self, name: str, a: str) -> Value:
        """Call a unary intrinsic."""
        v = self.target.vector
        return self.emit(f"call {v} @llvm.{name}.{self.target.suffix}({v} {a})")

    def polynomial(self, coefficients: tuple[float, ...], x: Value) -> Value:
        """Horner's scheme, from the highest power down."""
        value = self.constant(coefficients[0])
        for c in coefficients[1:]:
            value = self.fma(value, x, c)
        return value

    def sine_and_cosine(self, x: Value) -> tuple[Value, Value]:
        """(sin x, cos x) with the constants of `elementary`; NaN beyond its limit, for NaN and infinity."""
        t = self.target
        r, whole = self._reduced(x, t.series.digits)
        sine, cosine = self._approximate(r) if t.is_fast else self._series(r)
        odd = self.f.cast("trunc", whole, t.mask)
        one, other = self.chosen(odd, cosine, sine), self.chosen(odd, sine, cosine)
        following = whole + 1
        return self._signed(one, whole), self._signed(other, following)

    def _reduced(self, x: Value, digits: int) -> tuple[Value, Value]:
        """r = x - k pi/2 with k the nearest integer, NaN if k has more binary digits than this; and an
        integer whose last bits are those of k.
        """
        f, t, series = self.f, self.target, self.target.series
        if t.scalar == "float" and not t.fused:  # k times a part of pi/2 is exact in double precision
            wide = Body(replace(t, scalar="double"), f)
            r, whole = wide._reduced(f.cast("fpext", x, wide.target.vector), digits)
            r = f.cast("fptrunc", r, t.vector)
            return r, f.cast("trunc", whole, t.whole)
        shifted = self.fma(x, TWO_OVER_PI, series.shift)  # k in the last bits
        k = shifted - series.shift
        r = x
        for part in series.parts if t.fused else series.short_parts:
            r = self.fma(k, -part, r)
        far = k * math.ldexp(1.0, LARGEST[t.scalar] - digits)
        r = self.fma(far, 0.0, r)  # infinity times 0 is NaN
        return r, f.cast("bitcast", shifted, t.whole)

    def _series(self, r: Value) -> tuple[Value, Value]:
        """(sin r, cos r) within an eighth of a turn."""
        series, r2 = self.target.series, r * r
        sine = self.fma(r * r2, self.polynomial(series.sine, r2), r)
        half = self.fma(r2, -0.5, 1.0)
        return sine, self.fma(r2 * r2, self.polynomial(series.cosine, r2), half)

    def _approximate(self, r: Value) -> tuple[Value, Value]:
        """(sin r, cos r) by a GPU's special function units."""
        x = self.f.lane(r, 0)
        sine, cosine = (
            self.emit(f"insertelement {r.kind} poison, float {self.f.call(name, x, kind='float')}, i32 0")
            for name in ("llvm.nvvm.sin.approx.f", "llvm.nvvm.cos.approx.f")
        )
        return sine, cosine

    def _signed(self, value: Value, whole: Value) -> Value:
        """The value, negated in the quadrants 2 and 3: the second bit of the quadrant becomes the sign."""
        f, t, bits = self.f, self.target, 8 * self.target.size
        sign = (whole << bits - 2) & -(2 ** (bits - 1))
        return f.cast("bitcast", f.cast("bitcast", value, t.whole) ^ sign, t.vector)

    def exponential(self, x: Value) -> Value:
        """e^x: x = k ln 2 + r, a Taylor series in r, and k added to the exponent;
        x is clamped to the bounds of `elementary`; NaN stays NaN.
        """
        f, t, e = self.f, self.target, self.target.series.exponent
        x = self.chosen(x > e.highest, e.highest, x)
        x = self.chosen(x < e.lowest, e.lowest, x)
        shifted = self.fma(x, 1.4426950408889634, t.series.shift)
        k = shifted - t.series.shift
        r = x
        for part in e.parts if t.fused else e.short_parts:
            r = self.fma(k, -part, r)
        value = self.polynomial(e.series, r)
        raised = f.cast("bitcast", shifted, t.whole) << e.place
        return f.cast("bitcast", f.cast("bitcast", value, t.whole) + raised, t.vector)

    def angle(self, y: Value, x: Value) -> Value:
        """The angle of (x, y), from -pi to pi:
        s atan r + k pi/4, r the ratio of the legs or of their difference and sum.
        """
        t = self.target
        tall, wide = self.call("fabs", y), self.call("fabs", x)
        steep = tall > wide
        most, least = self.chosen(steep, tall, wide), self.chosen(steep, wide, tall)
        turned = least > most * TAN_EIGHTH
        below = self.chosen(turned, least + most, most)
        none = below.equals(0.0)
        above = self.chosen(turned, least - most, least)
        r = self.op("fdiv", above, self.chosen(none, 1.0, below))
        z = r * r
        value = self.fma(-r * z, self.polynomial(t.series.angle.series, z), r)
        k = self.chosen(turned, 1.0, self.constant(0.0))
        for mirrored, turns in ((steep, 2.0), (self._is_negative(x), 4.0)):
            k = self.chosen(mirrored, turns - k, k)
            value = self.chosen(mirrored, -value, value)
        for part in reversed(t.series.angle.parts):
            value = self.fma(k, part, value)
        return self.chosen(self._is_negative(y), -value, value)

    def outside(self, mask: Value) -> Value:
        """The complement of a mask."""
        return mask ^ ("<" + ", ".join(["i1 true"] * self.target.lanes) + ">")

    def chosen(self, mask: Value, a: Operand, b: Operand) -> Value:
        """a in the lanes of the mask, b in others."""
        return self.f.chosen(mask, a, b)

    def look_up(self, table: LookupTable, x: Value) -> Value:
        """Evaluate a table. With few breaks the piece is selected break by break; otherwise each lane loads
        it from an index found by counting the breaks <= x, or by binary search.
        """
        if len(table.breaks) <= CHOSEN_BREAKS:
            start, value, *rest = self._chosen_piece(table, x)
        else:
            name = self._kept(table)
            at = self._reached(table, name, x) * (table.order + 1) + len(table.breaks)
            start, value, *rest = self._entries(name, at, table.order + 1)
        u = x - start
        for c in rest:
            value = self.fma(value, u, c)
        return value

    def _chosen_piece(self, table: LookupTable, x: Value) -> list[Value]:
        """The start of the piece, and its coefficients from the highest power down."""
        first, *others = zip((table.breaks[0], *table.breaks), table.pieces, strict=True)
        now = [first[0], *reversed(first[1])]
        values = [self.constant(c) for c in now]
        for start, piece in others:
            reached = self.constant(start) <= x
            then = [start, *reversed(piece)]
            values = [
                value if c == before else self.chosen(reached, c, value)
                for value, before, c in zip(values, now, then, strict=True)
            ]
            now = then
        return values

    def _kept(self, table: LookupTable) -> str:
        """The name of a table in memory; joining a module moves the line to its place."""
        scalar = self.target.scalar
        numbers = ", ".join(f"{scalar} {number(c, scalar)}" for c in table.numbers)
        content = f"[{len(table.numbers)} x {scalar}] [{numbers}]"
        name = f"@table.{hashlib.sha256(content.encode()).hexdigest()[:16]}"
        self.lines.append(f"{TABLE}{name} = private unnamed_addr constant {content}, align 64")
        return name

    def _reached(self, table: LookupTable, name: str, x: Value) -> Value:
        """The number of breaks <= x, as integers."""
        f, t, count = self.f, self.target, len(table.breaks)
        place = vector(t.whole.split()[-1][:-1], [0] * t.lanes, f)
        if count <= COUNTED_BREAKS:
            for b in table.breaks:
                place += f.cast("zext", self.constant(b) <= x, t.whole)
            return place
        while count:
            half = (count + 1) // 2
            (middle,) = self._entries(name, place + (half - 1), 1)
            reached = middle <= x
            place = f.chosen(reached, place + half, place)
            count -= half
        return place

    def _entries(self, name: str, place: Value, count: int) -> list[Value]:
        """This many numbers of a table, from each lane's index on."""
        t = self.target
        values: list[Any] = ["poison"] * count
        for lane in range(t.lanes):
            at = self.f.lane(place, lane)
            pointer = self.emit(f"getelementptr {t.scalar}, ptr {name}, {at.kind} {at}", "ptr")
            for k in range(count):
                entry = self.f.load(t.scalar, self.at(pointer, k), align=t.size)
                values[k] = self.emit(f"insertelement {t.vector} {values[k]}, {t.scalar} {entry}, i32 {lane}")
        return values

    def repeated(
        self,
        state: list[Value],
        going: Callable[[list[Value]], Value],
        step: Callable[[list[Value]], list[Value]],
        most: int,
    ) -> list[Value]:
        """The state after at most this many iterations: a lane that is no longer `going` keeps its values."""
        f = self.f
        first = going(state)
        with f.when(self._any(first)) as end, f.inside(), f.repeat(0, first, *state) as turn:
            count, active, *now = turn.now
            kept = step(now)
            if self.target.lanes > 1:  # a single lane is always active here
                kept = [self.chosen(active, x, y) for x, y in zip(kept, now, strict=True)]
            goes = active & going(kept)
            after = count + 1
            turn.again(after, goes, *kept, where=self._any(goes) & (after < most))
        return [f.phi(end, x, y) for x, y in zip(state, kept, strict=True)]

    def _any(self, mask: Value) -> Value:
        """Whether any lane is in the mask."""
        return self.f.cast("bitcast", mask, f"i{self.target.lanes}").differs(0)

    def ready(self, value: Value | InMemory) -> Value:
        """A value; one in memory is loaded again for each use, so that it occupies no register in between."""
        if isinstance(value, InMemory):
            return self.load(value.pointer, value.place, self.target.lanes)
        return value

    def called(self, function: Hoisted, given: Sequence[Value | InMemory], count: int) -> list[InMemory]:
        """Call a function, which reads its arguments at %given and writes this many results to %made; joining
        a module moves it to its place.

        Arguments that an earlier call left at %given are not stored again.
        """
        f, lanes = self.f, self.target.lanes
        name = function.name
        f.lines += function.lines
        there, made = f"%given.{f.within}.{name}", f"%made{len(self.lines)}"
        self.space(made, count * lanes)
        if (left := f.left.get(there)) is None:
            left = f.left[there] = [None] * len(given)
            self.space(there, len(given) * lanes)
        for k, value in enumerate(given):
            if left[k] != value:
                self.store(there, k * lanes, self.ready(value), lanes)
                left[k] = value
        f.call(name, there, made)
        return [InMemory(made, k * lanes) for k in range(count)]

    def _is_negative(self, x: Value) -> Value:
        """The mask of lanes whose sign bit is set, also by a negative zero."""
        return self.f.cast("bitcast", x, self.target.whole) < 0

    def rounded(self, x: Value) -> Value:
        """Round to the nearest integer, ties to even: add and subtract a number so large that only integers
        remain. Values as large as that are integers already.
        """
        whole = float(1 << (52 if self.target.scalar == "double" else 23))
        size = self.call("fabs", x)
        near = size + whole - whole
        small = size < whole
        return self.chosen(small, near, size) * self.sign(x)

    def sign(self, x: Value) -> Value:
        """-1, 0, 1; NaN for NaN."""
        up, down = x > 0.0, x < 0.0
        return self.chosen(up, 1.0, self.chosen(down, -1.0, x))
